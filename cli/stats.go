package cli

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hindcast/model"
	"hindcast/model/printable"
	"hindcast/prices"
	"hindcast/query"
	"hindcast/query/ledger"
	"hindcast/store"
)

// statsCommand is `hindcast stats`.
func (a *App) statsCommand() *cobra.Command {
	var prune, snapshots bool
	var modelName, by, since string
	words := func() words {
		if prune || snapshots || modelName != "" {
			return oneSession
		}
		return oneOrAll
	}
	cmd := &cobra.Command{
		Use:   "stats [STORE...] [SESSION]",
		Short: "add up the tokens, the cost, the tools and the bytes of sessions",
		Long: `Stats adds up what sessions cost: tokens, time and price of the models, turns, tool
calls and those that failed. The tokens of a cache are among those of the input.

Without SESSION it adds up all sessions of the stores, without STORE those of all
stores, by day or as --by says, since a time that --since gives. An answer that
several sessions have, as a fork has those of its origin, counts once. A session that
another one started as a sub-agent is part of that one; --by session shows both. Left
is the share of branches that were left, and dropped the share of messages that a
compaction or a window dropped: what was thrown away. The sums are kept in the cache,
so that only sessions that changed are read again.

With SESSION it adds up the active path, its turns, each branch off it and each model.
An answer counts once, in the snapshot in which it came to its path.

Prices are those that the agent itself wrote, else those of a file of your own, else
the list prices of the vendors; the last lines say which. An agent's are in dollars, and
stand apart from prices in another currency. Your own file is
~/.config/hindcast/prices.toml (or hindcast/prices.toml in $XDG_CONFIG_HOME):

  currency = "USD"           # of another currency there are no list prices
  [[price]]                  # for a million tokens; the first that fits counts
  model = "sonnet-4*"        # * stands for any characters
  up_to = 200_000            # may be left out: the most tokens of input
  input = 3.0
  output = 15.0
  cache_read = 0.3
  cache_write = 3.75
  cache_write_1h = 6.0       # may be left out: what a cache keeps for an hour
  window = 200_000           # may be left out: the context window, in tokens

Nothing is guessed: an answer without a price, or of a model that nothing names,
has no cost, and the last lines say so. --model names the model of such answers.

Below that stand the keys of the states, the largest first: the bytes below each key at
the head, those of all snapshots together, and the distinct ones, where text that
several states share counts once. --prune tells how many distinct bytes it would free
to take away what is off the active path. It writes nothing.

What a coding agent gave the model beside the messages of the active path, such as files,
reminders and lists of skills, stands there by its kind, with its bytes.

What an agent itself counted for the whole session stands last. It is in none of the
sums, for the answers are counted in both.`,
		Example: `  hindcast stats
  hindcast stats --by project --since 7d
  hindcast stats trips.db trip-planner
  hindcast stats trips.db --snapshots --model sonnet-4.1
  hindcast stats trips.db trip-planner --json | jq .path.inputTokens`,
		Args:              func(cmd *cobra.Command, args []string) error { return a.argsCheck(words())(cmd, args) },
		ValidArgsFunction: a.completeSnapshot(0),
	}
	ofSession := func(ctx context.Context, p *printer, of *subject, list *prices.List) error {
		about, err := addUp(ctx, of.store, of.session, list, modelName)
		if err != nil {
			return err
		}
		if prune {
			freed, err := about.query.Freed(ctx)
			if err != nil {
				return fmt.Errorf("stats: %w", err)
			}
			about.freed = &freed
		}
		if p.json {
			return p.writeDocument(about.newDocument(snapshots))
		}
		p.writeStats(about, snapshots)
		return nil
	}
	about := func(ctx context.Context, p *printer, of *subject) error {
		list, err := prices.Load(prices.Path(a.Getenv))
		if err != nil {
			return err
		}
		if of.session != "" && by == "" && since == "" {
			return ofSession(ctx, p, of, list)
		}
		return of.writeBill(ctx, p, list, cmp.Or(by, ledger.ByDay.String()), since)
	}
	cmd.RunE = a.runReading(func(ctx context.Context, p *printer, args []string) error {
		return a.withSubject(words(), about)(ctx, p, args)
	})
	cmd.Flags().StringVar(&by, "by", "", "add up by `WHAT`: "+strings.Join(ledger.ByWords(), ", "))
	cmd.Flags().StringVar(&since, "since", "", "only since a `TIME`: today, yesterday, 12h, 7d, or 2026-11-01")
	err := cmd.RegisterFlagCompletionFunc("by", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return ledger.ByWords(), cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // the flag stands above
	}
	cmd.Flags().BoolVar(&prune, "prune", false, "tell how many bytes it would free to remove the snapshots off the active path; nothing is written")
	cmd.Flags().BoolVar(&snapshots, "snapshots", false, "also print each snapshot")
	cmd.Flags().StringVar(&modelName, "model", "", "the `NAME` of the model of answers that name none")
	return cmd
}

// sums is the result of stats for a session.
type sums struct {
	session string
	nouns   model.Nouns
	query   *query.Session
	*model.Timeline
	stats  []query.Stat
	totals query.Totals
	keys   []query.KeySize
	prices *prices.List
	// counted holds the store's own counts for the session; no sum includes them.
	counted []model.Fact
	// freed is nil where it was not asked for.
	freed *query.Freed
}

// addUp adds up a session. Answers that name no model are of the one that is given.
func addUp(ctx context.Context, s store.Store, session string, list *prices.List, modelName string) (*sums, error) {
	t, err := query.ReadTimeline(ctx, s, session)
	if err != nil {
		return nil, err
	}
	all := &sums{session: session, nouns: model.NounsOf(s.Kind()), query: query.Open(s, t), Timeline: t, prices: list}
	for stat, err := range all.query.Stats(ctx) {
		if err != nil {
			return nil, fmt.Errorf("stats: %w", err)
		}
		for i := range stat.Answers {
			stat.Answers[i].Model = cmp.Or(stat.Answers[i].Model, modelName)
		}
		all.stats = append(all.stats, stat)
	}
	all.totals = query.TotalsOf(t, all.stats, list)
	if all.keys, err = all.query.Keys(ctx, t.Head()); err != nil {
		return nil, fmt.Errorf("stats: %w", err)
	}
	if f := s.Features(); f.Facts != nil && t.Head() != model.NoNode {
		facts, err := f.Facts(ctx, t.Header(t.Head()).Ref())
		if err != nil {
			return nil, fmt.Errorf("stats: %w", err)
		}
		all.counted = slices.DeleteFunc(facts, func(f model.Fact) bool { return !f.IsCounted() })
	}
	return all, nil
}

// statsJSON is `stats --json`.
type statsJSON struct {
	SessionID string         `json:"sessionId"`
	Currency  string         `json:"currency,omitempty"`
	ListDate  string         `json:"listDate,omitempty"`
	Session   sumJSON        `json:"session"`
	Path      sumJSON        `json:"path"`
	Turns     []turnJSON     `json:"turns"`
	Branches  []branchJSON   `json:"branches"`
	Models    []modelJSON    `json:"models"`
	Keys      []keyJSON      `json:"keys"`
	Given     []givenJSON    `json:"given,omitempty"`
	Breaks    []breakJSON    `json:"cacheBreaks,omitempty"`
	Counted   any            `json:"counted,omitempty"`
	Snapshots []snapshotJSON `json:"snapshots,omitempty"`
	Prune     *pruneJSON     `json:"prune,omitempty"`
}

// sumJSON is a sum of snapshots.
type sumJSON struct {
	Snapshots int `json:"snapshots"`
	spentJSON
}

// spentJSON is a sum of answers and tools. Cost is absent where the price of no answer is known.
type spentJSON struct {
	Answers          int      `json:"answers"`
	InputTokens      float64  `json:"inputTokens"`
	OutputTokens     float64  `json:"outputTokens"`
	CacheReadTokens  float64  `json:"cacheReadTokens"`
	CacheWriteTokens float64  `json:"cacheWriteTokens"`
	LatencyMs        float64  `json:"latencyMs"`
	Cost             *float64 `json:"cost,omitempty"`
	Unpriced         int      `json:"unpriced"`
	OwnPriced        int      `json:"ownPriced,omitempty"`
	ListPriced       int      `json:"listPriced,omitempty"`
	OwnCost          float64  `json:"ownCost,omitempty"`
	ToolCalls        int      `json:"toolCalls"`
	ToolErrors       int      `json:"toolErrors"`
}

func sumOf(s *query.Sum) sumJSON { return sumJSON{s.Snapshots, spentOf(s)} }

func spentOf(s *query.Sum) spentJSON {
	out := spentJSON{
		s.Answers, s.Input, s.Output, s.CacheRead, s.CacheWrite, s.Milliseconds, nil, s.Unpriced, s.Own, s.Listed,
		s.OwnCost, s.Calls, s.Errors,
	}
	if s.Answers > s.Unpriced {
		out.Cost = &s.Cost
	}
	return out
}

type turnJSON struct {
	TurnIndex *int   `json:"turnIndex"`
	First     string `json:"first"`
	Last      string `json:"last"`
	sumJSON
}

type branchJSON struct {
	First string `json:"first"`
	Last  string `json:"last"`
	sumJSON
}

type modelJSON struct {
	Model string `json:"model"`
	sumJSON
}

type keyJSON struct {
	Key           string `json:"key"`
	Bytes         int64  `json:"bytes"`
	AllBytes      int64  `json:"allBytes"`
	DistinctBytes int64  `json:"distinctBytes"`
}

// breakJSON is a request for which the cache of the one before was of little use.
type breakJSON struct {
	Name   string   `json:"name"`
	ID     string   `json:"id"`
	Tokens float64  `json:"tokens"`
	Cause  string   `json:"cause"`
	Cost   *float64 `json:"cost,omitempty"`
}

type givenJSON struct {
	Kind  string `json:"kind"`
	Times int    `json:"times"`
	Bytes int64  `json:"bytes"`
}

// snapshotJSON is the share of one snapshot; a step counts as no snapshot.
type snapshotJSON struct {
	Name     string   `json:"name"`
	ID       string   `json:"id"`
	Orphaned bool     `json:"orphaned"`
	Size     int64    `json:"size,omitempty"`
	Models   []string `json:"models,omitempty"`
	Unread   string   `json:"unread,omitempty"`
	sumJSON
}

type pruneJSON struct {
	Snapshots int   `json:"snapshots"`
	Bytes     int64 `json:"bytes"`
	Of        int64 `json:"of"`
}

// turnsOfPath yields the turns of the active path.
func (s *sums) turnsOfPath() iter.Seq[*query.TurnSum] {
	return func(yield func(*query.TurnSum) bool) {
		for i := range s.totals.Turns {
			if turn := &s.totals.Turns[i]; s.OnPath(turn.First) && !yield(turn) {
				return
			}
		}
	}
}

func (s *sums) newDocument(snapshots bool) statsJSON {
	out := statsJSON{
		SessionID: s.session, Currency: s.prices.Currency, ListDate: s.prices.ListDate, Session: sumOf(&s.totals.Session), Path: sumOf(&s.totals.Path),
		Turns: []turnJSON{}, Branches: []branchJSON{}, Models: []modelJSON{}, Keys: []keyJSON{},
	}
	for turn := range s.turnsOfPath() {
		t := turnJSON{First: s.Name(turn.First), Last: s.Name(turn.Last), sumJSON: sumOf(&turn.Sum)}
		if index := s.Header(turn.First).TurnIndex; index != model.TurnUnknown {
			t.TurnIndex = &index
		}
		out.Turns = append(out.Turns, t)
	}
	for _, branch := range s.totals.Branches {
		out.Branches = append(out.Branches, branchJSON{s.Name(branch.Root), s.Name(branch.Last), sumOf(&branch.Sum)})
	}
	for _, m := range s.totals.Models {
		out.Models = append(out.Models, modelJSON{m.Model, sumOf(&m.Sum)})
	}
	for _, k := range s.keys {
		out.Keys = append(out.Keys, keyJSON{k.Key, k.Here, k.All, k.Distinct})
	}
	for _, g := range s.totals.Given {
		out.Given = append(out.Given, givenJSON{g.Is, g.Times, g.Bytes})
	}
	for i := range s.totals.Breaks {
		b := &s.totals.Breaks[i]
		is := breakJSON{Name: s.Name(b.Visit), ID: s.Header(b.Visit).ID, Tokens: b.Lost, Cause: b.Why}
		if b.Priced {
			is.Cost = &b.Cost
		}
		out.Breaks = append(out.Breaks, is)
	}
	out.Counted = sumFacts(s.counted)["counted"]
	if snapshots {
		for i := range s.stats {
			out.Snapshots = append(out.Snapshots, s.newSnapshot(&s.stats[i]))
		}
	}
	if s.freed != nil {
		out.Prune = (*pruneJSON)(s.freed)
	}
	return out
}

func (s *sums) newSnapshot(stat *query.Stat) snapshotJSON {
	out := snapshotJSON{Name: s.Name(stat.Visit), ID: s.Header(stat.Visit).ID, Orphaned: !s.OnPath(stat.Visit), Size: stat.Size}
	if stat.Unread != nil {
		out.Unread = stat.Unread.Error()
	}
	sum := s.sumOf(stat)
	for _, u := range stat.Answers {
		if u.Model != "" && !slices.Contains(out.Models, u.Model) {
			out.Models = append(out.Models, u.Model)
		}
	}
	out.sumJSON = sumOf(&sum)
	return out
}

// sumOf returns the share of one snapshot.
func (s *sums) sumOf(stat *query.Stat) (sum query.Sum) {
	if !s.IsStep(stat.Visit) {
		sum.Snapshots = 1
	}
	sum.Add(*stat, s.prices)
	return sum
}

// sumHeads are the headings of the columns of a sum.
var sumHeads = []string{"answers", "in", "out", "from cache", "into cache", "cost", "latency", "calls", "failed"}

// answerColumns returns the columns of a sum that are about answers: all but the last two.
func (s *sums) answerColumns(sum *query.Sum) []string {
	cost := ""
	if sum.Answers > sum.Unpriced {
		cost = sum.CostText(printable.String(s.prices.Currency))
		if sum.Unpriced > 0 {
			cost += " and more"
		}
	}
	latency := ""
	if sum.Milliseconds > 0 {
		latency = time.Duration(sum.Milliseconds * float64(time.Millisecond)).Round(time.Millisecond).String()
	}
	count := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
	return []string{
		strconv.Itoa(sum.Answers), count(sum.Input), count(sum.Output), count(sum.CacheRead), count(sum.CacheWrite),
		cost, latency,
	}
}

// writeStats writes the sums for people: a table for the parts of the session, one for the turns
// of the path, and one for the keys of the state.
func (p *printer) writeStats(s *sums, snapshots bool) {
	p.writeTitle(s.session, s.nouns, s.Timeline, "\n")
	t := table{numbers: true}
	row := func(name string, count int, sum *query.Sum) {
		t.addRow(slices.Concat([]string{name, strconv.Itoa(count)}, s.answerColumns(sum), []string{strconv.Itoa(sum.Calls), strconv.Itoa(sum.Errors)})...)
	}
	t.addRow(slices.Concat([]string{"", "snapshots"}, sumHeads)...)
	row("session", s.totals.Session.Snapshots, &s.totals.Session)
	row("  active path", s.totals.Path.Snapshots, &s.totals.Path)
	for _, b := range s.totals.Branches {
		row("  off it, from "+s.Name(b.Root), b.Snapshots, &b.Sum)
	}
	for _, m := range s.totals.Models {
		name := "no model named"
		if m.Model != "" {
			name = "model " + p.clipLine(m.Model, maxTitle)
		}
		t.addRow(slices.Concat([]string{"  " + name, ""}, s.answerColumns(&m.Sum), []string{"", ""})...) // its snapshots and tools are not counted
	}
	for turn := range s.turnsOfPath() {
		number := p.glyphs.Ellipsis
		if index := s.Header(turn.First).TurnIndex; index != model.TurnUnknown {
			number = strconv.Itoa(index)
		}
		name := "turn " + number + ", " + s.Name(turn.First)
		if turn.Last != turn.First {
			name += " to " + s.Name(turn.Last)
		}
		row(name, turn.Snapshots, &turn.Sum)
	}
	if snapshots {
		for i := range s.stats {
			sum := s.sumOf(&s.stats[i])
			row(s.Name(s.stats[i].Visit), sum.Snapshots, &sum)
		}
	}
	t.dropEmpty()
	t.writeTable(p)
	if len(s.keys) > 0 {
		p.WriteByte('\n')
		keysTable(s.keys, p).writeTable(p)
	}
	if len(s.totals.Given) > 0 {
		p.WriteByte('\n')
		givenTable(s.totals.Given, p).writeTable(p)
	}
	if len(s.counted) > 0 {
		p.WriteByte('\n')
		countedTable(s.counted).writeTable(p)
	}
	p.remarksOn(s)
}

// mostGiven bounds the kinds of context blocks in the table; the rest is one row.
const mostGiven = 20

// givenTable returns the context that an agent gave the model beside the messages, by kind.
func givenTable(given []query.GivenSum, p *printer) *table {
	t := table{numbers: true}
	row := func(name string, g *query.GivenSum) {
		t.addRow(name, strconv.Itoa(g.Times), string(model.AppendSize(nil, g.Bytes)))
	}
	t.addRow("given beside the messages", "times", "bytes")
	for i := range given[:min(len(given), mostGiven)] {
		row("  "+p.clipLine(given[i].Is, maxTitle), &given[i])
	}
	if len(given) > mostGiven {
		var others query.GivenSum
		for _, g := range given[mostGiven:] {
			others.Times, others.Bytes = others.Times+g.Times, others.Bytes+g.Bytes
		}
		row("  "+model.Count(len(given)-mostGiven, "other kind"), &others)
	}
	return &t
}

// countedTable returns the counts that the store itself keeps for a session.
func countedTable(facts []model.Fact) *table {
	t := table{numbers: true}
	t.addRow("", "counted by the agent")
	for _, fact := range facts {
		t.addRow(fact.Label, fact.Value)
	}
	return &t
}

// mostKeys is how many keys of the states a person is shown.
const mostKeys = 20

// keysTable returns the sizes of the largest keys, and of the others together.
func keysTable(keys []query.KeySize, p *printer) *table {
	size := func(n int64) string { return string(model.AppendSize(nil, n)) }
	t := table{numbers: true}
	row := func(name string, k *query.KeySize) { t.addRow(name, size(k.Here), size(k.All), size(k.Distinct)) }
	t.addRow("", "at the head", "all snapshots", "distinct")
	for i := range keys[:min(len(keys), mostKeys)] {
		row(p.clipLine(keys[i].Key, maxTitle), &keys[i])
	}
	if len(keys) > mostKeys {
		var others query.KeySize
		for _, k := range keys[mostKeys:] {
			others.Here, others.All, others.Distinct = others.Here+k.Here, others.All+k.All, others.Distinct+k.Distinct
		}
		row(model.Count(len(keys)-mostKeys, "other key"), &others)
	}
	return &t
}

// remarksOn tells the omissions of the sums, and the bytes that a prune would free.
func (p *printer) remarksOn(s *sums) {
	var lines []string
	unread := 0
	for i := range s.stats {
		if s.stats[i].Unread != nil {
			unread++
		}
	}
	if unread > 0 {
		lines = append(lines, fmt.Sprintf("%s could not be read, and is not counted; hindcast doctor says why", model.Count(unread, "state")))
	}
	if len(s.totals.Breaks) > 0 {
		lines = append(lines, s.breaksLine())
	}
	lines = append(lines, pricesLine(&s.totals.Session, s.prices))
	switch f := s.freed; {
	case f == nil:
	case f.Snapshots == 0:
		lines = append(lines, "nothing is off the path: a prune would free nothing")
	default:
		lines = append(lines, fmt.Sprintf("a prune of the %s off the path would free %s of %s of distinct text; nothing was written",
			model.Count(f.Snapshots, "snapshot"), model.AppendSize(nil, f.Bytes), model.AppendSize(nil, f.Of)))
	}
	if len(lines) > 0 {
		p.WriteByte('\n')
	}
	for _, line := range lines {
		fmt.Fprintln(p, line)
	}
}

// mostBroken is how many requests with a broken cache a line names.
const mostBroken = 6

// breaksLine returns a sentence about the caches that were of no use, and what that cost.
func (s *sums) breaksLine() string {
	lost, sum := 0.0, query.Sum{}
	var where []string
	for i := range s.totals.Breaks {
		b := &s.totals.Breaks[i]
		lost += b.Lost
		sum.Answers++
		if sum.Cost += b.Cost; !b.Priced {
			sum.Unpriced++
		}
		if len(where) < mostBroken {
			where = append(where, s.Name(b.Visit)+" "+printable.String(b.Why))
		}
	}
	text := fmt.Sprintf("the cache was broken %s: %s tokens read anew", model.Count(len(s.totals.Breaks), "time"), model.ShortCount(lost))
	if cost := sum.CostText(s.prices.Currency); cost != "" {
		text += ", " + cost + " more"
	}
	if rest := len(s.totals.Breaks) - len(where); rest > 0 {
		where = append(where, fmt.Sprintf("and %d more", rest))
	}
	return text + " (" + strings.Join(where, "; ") + ")"
}

// pricesLine returns a sentence about the prices of a sum: who set them, and how many answers have one.
func pricesLine(sum *query.Sum, list *prices.List) string {
	switch {
	case sum.Answers == 0:
		return "no answer tells of tokens"
	case sum.Answers == sum.Unpriced:
		return fmt.Sprintf("no price is known of %s; hindcast stats --help says how to give one", model.Count(sum.Answers, "answer"))
	}
	return "prices of " + sum.PricesText(list.ListDate)
}
