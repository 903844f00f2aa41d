package tui

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"sort"
	"strconv"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/query"
	"hindcast/tui/infotab"
	"hindcast/tui/timeline"
)

// What a session cost is added up off the loop: that takes all of its states. It is done
// for a small session by itself, so that the headers of its turns have the cost, and for any
// once it was asked for. Where the session changes, it is added up again, but never for more
// than a fifth of the time.
//
//	small, or asked ─▶ stats, some at a time ─▶ summed ─▶ headers of turns, column, Info
//	            ▲ the session changed, after a rest │

// usage holds the known cost of the session.
type usage struct {
	column bool // shows
	asked  bool // it did, in this session
	// begun is the extent that was added up last, or is being added up. A question that was given up or
	// failed does not begin it again.
	begun extent
	// of is the timeline that the bill is of.
	of *model.Timeline
	*bill
	coming []query.Stat // while they are read
	began  time.Time
	rests  bool
}

// extent is a timeline and how many visits it had.
type extent struct {
	of  *model.Timeline
	len int
}

// bill is the result of adding up. It is read-only.
type bill struct {
	tokens   []float64      // of each visit
	signs    []requestSigns // of each visit
	full     []float64      // of each visit, the share of the model's window that its newest answer has filled; 0 for unknown
	isFilled bool           // one is known
	added    map[model.Node]query.Stat
	totals   query.Totals
	turns    map[model.Node]*query.TurnSum // by their first visit
	branches []query.BranchSum             // in the order of their rows
	path     []model.Node                  // the active path, in the order of its rows
	chart    infotab.Path
	unread   int
	keys     []query.KeySize         // of all snapshots
	flags    map[model.Node][]string // of the active path, by the visits of their last calls
}

// noPrices knows no price.
type noPrices struct{}

func (noPrices) Cost(conversation.Usage) (float64, conversation.PriceSource) {
	return 0, conversation.Unpriced
}

// tokensWidth is how wide the column of tokens is.
const tokensWidth = 7

// tokensColumn returns the column with the tokens that each snapshot adds to its path, and each folded turn: with ▼ where
// messages left the request, and ! where the cache of the request before was of little use.
func (m *Model) tokensColumn() timeline.Column {
	return timeline.Column{Title: "tokens", Width: tokensWidth, Right: true, Text: func(n, last model.Node) (string, bool) {
		u := &m.usage
		if u.bill == nil || u.of != m.timeline.Timeline() || int(last) >= len(u.tokens) {
			return "", false
		}
		tokens := u.tokens[n]
		if turn := u.turns[n]; turn != nil && n != last {
			tokens = turn.Input + turn.Output + turn.Left.Input + turn.Left.Output
		}
		if tokens == 0 {
			return "", true
		}
		signs := signNone
		for at := n; at <= last; at++ {
			signs |= u.signs[at]
		}
		return model.ShortCount(tokens) + m.styles.Glyphs.Sentence(signs.text()), true
	}}
}

// fullColumn returns the column with how full the window of the model is at each answer, and at the last one of a folded
// turn.
func (m *Model) fullColumn() timeline.Column {
	return timeline.Column{Title: "full", Width: len("100%"), Right: true, Text: func(n, last model.Node) (string, bool) {
		u := &m.usage
		if u.bill == nil || u.of != m.timeline.Timeline() || int(last) >= len(u.full) {
			return "", false
		}
		for at := last; at >= n; at-- {
			if share := u.full[at]; share > 0 {
				return fmt.Sprintf("%.0f%%", max(1, 100*share)), true
			}
		}
		return "", true
	}}
}

// fill notes how full the windows of models are. recorded are those that the store tells.
func (b *bill) fill(stats []query.Stat, recorded map[string]float64, listed func(model string) float64) {
	b.full = make([]float64, len(stats))
	for i := range stats {
		for _, u := range stats[i].Answers {
			window := recorded[u.Model]
			if window == 0 {
				window = listed(u.Model)
			}
			if tokens := u.Input + u.Output; window > 0 && tokens > 0 {
				b.full[stats[i].Visit], b.isFilled = tokens/window, true
			}
		}
	}
}

// requestSigns are the signs of a request.
type requestSigns uint8

const (
	signDropped requestSigns = 1 << iota
	signBroken
	signNone requestSigns = 0
)

func (s requestSigns) text() string {
	return [...]string{"", "▼", "!", "▼!"}[s]
}

// flag finds the flags of the active path.
func (b *bill) flag(ctx context.Context, s *query.Session, t *model.Timeline, project string) error {
	b.flags = map[model.Node][]string{}
	if t.Head() == model.NoNode {
		return nil
	}
	run, err := s.ReadRun(ctx, t, t.Head(), project, nil)
	if err != nil {
		return err
	}
	for _, f := range run.Flags() {
		at := run.Calls[f.Calls[len(f.Calls)-1]].Visit
		text := conversation.OneLine(f.Text())
		if f.Tokens > 0 {
			text += ", " + model.ShortCount(f.Tokens) + " tokens"
		}
		b.flags[at] = append(b.flags[at], text)
	}
	return nil
}

// costOf returns the cost of the turn that a visit opens, with the branches that leave it; "" where it is not known.
func (m *Model) costOf(n model.Node) string {
	u := &m.usage
	if u.bill == nil || u.of != m.timeline.Timeline() || u.turns[n] == nil {
		return ""
	}
	cost := u.turns[n].Sum
	cost.AddSum(u.turns[n].Left)
	return cost.CostText(m.o.Currency)
}

// smallState is the most bytes that the head's state of a small session has.
const smallState = 4 << 20

// isSmall reports whether the open session can be added up by itself: it is a conversation, which is read about once.
func (m *Model) isSmall() bool {
	t := m.timeline.Timeline()
	head := t.Head()
	return m.content.Turns.HasPrompts() && head != model.NoNode && t.Header(head).Size <= smallState
}

// showTokens shows the column of tokens, or no longer.
func (m *Model) showTokens() tea.Cmd {
	u := &m.usage
	u.column = !u.column
	m.showColumns()
	if !u.column {
		return nil
	}
	u.asked = true
	if u.bill == nil {
		u.begun = extent{} // what was given up begins anew
	}
	if m.timeline.CountFitting() == 0 {
		m.say("the tokens have no room: make the timeline larger")
	}
	return m.refreshInfo()
}

// addUp adds up what the session cost, where that was asked for and is not known yet.
func (m *Model) addUp() tea.Cmd {
	t, u := m.timeline.Timeline(), &m.usage
	switch {
	case m.place != inSession || t.Len() == 0 || m.content.More:
		return nil
	case m.tasks[addingUp].running || u.rests || u.begun == extent{t, t.Len()}:
		return nil
	case !u.column && (!u.asked || m.tabs[m.current].scope != keymap.Info) && !m.isSmall():
		return nil
	}
	what := ""
	if u.asked && (u.bill == nil || u.of != t) {
		what = "adding up the tokens"
	}
	u.begun, u.coming, u.began = extent{t, t.Len()}, nil, m.o.Now()
	begun := u.begun
	return streamAnswers(m, addingUp, what, func(ctx context.Context, s *query.Session, done *progress) iter.Seq2[query.Stat, error] {
		done.of.Store(int64(begun.len))
		return func(yield func(query.Stat, error) bool) {
			for stat, err := range s.Stats(ctx) {
				done.Add(1)
				if !yield(stat, err) {
					return
				}
			}
		}
	}, func(got part[query.Stat]) tea.Cmd { return m.statsRead(t, got) })
}

// statsRead takes in the costs of visits. Once all are known, they are summed up.
func (m *Model) statsRead(of *model.Timeline, got part[query.Stat]) tea.Cmd {
	u := &m.usage
	u.coming = append(u.coming, got.got...)
	if !got.last {
		return nil
	}
	stats := u.coming
	u.coming = nil
	if got.err != nil {
		u.bill = nil
		m.fail(got.err)
		return nil
	}
	if of != m.timeline.Timeline() {
		return nil // of a session that was read anew
	}
	prices, window, past, lent := m.o.Prices, m.o.Window, m.past, m.lendTimeline()
	row, _ := m.list.FindSession(m.rowName(m.session))
	return m.startLent(addingUp, "", lent, func(ctx context.Context, _ *progress) fact {
		b, session := sumUp(of, stats, prices), past.sessionOf(of)
		recorded, err := session.RecordedWindows(ctx, stats)
		if err == nil {
			b.fill(stats, recorded, window)
			b.keys, err = session.Keys(ctx, model.NoNode)
		}
		if err == nil {
			err = b.flag(ctx, session, of, row.Project)
		}
		return func() tea.Cmd { return m.showSums(of, b, err) }
	})
}

// showSums shows the sums.
func (m *Model) showSums(of *model.Timeline, b *bill, err error) tea.Cmd {
	if of != m.timeline.Timeline() {
		return nil
	}
	u := &m.usage
	if err != nil {
		u.bill = nil
		m.fail(err)
		return nil
	}
	u.of, u.bill, u.rests = of, b, true
	m.timeline.SetFlags(b.flags)
	m.showColumns() // it may have more
	m.dirty = true
	took := m.o.Now().Sub(u.began)
	return tea.Batch(m.refreshInfo(), m.runLater(4*took, func() tea.Cmd {
		m.usage.rests = false
		return nil
	}))
}

// mostParts is how many parts of the path a chart has at the most: more than cells.
const mostParts = 256

// sumUp adds up the stats of a session.
func sumUp(t *model.Timeline, stats []query.Stat, prices query.Prices) *bill {
	b := &bill{tokens: make([]float64, len(stats)), signs: make([]requestSigns, len(stats)), added: map[model.Node]query.Stat{}, turns: map[model.Node]*query.TurnSum{}, totals: query.TotalsOf(t, stats, prices)}
	sizes := make([]int64, len(stats))
	for i := range stats {
		s := &stats[i]
		sizes[s.Visit] = s.Size
		for _, u := range s.Answers {
			b.tokens[s.Visit] += u.Input + u.Output
		}
		if s.Request.Dropped > 0 {
			b.signs[s.Visit] |= signDropped
		}
		if len(s.Answers) > 0 || s.Calls > 0 || s.Errors > 0 {
			b.added[s.Visit] = *s
		}
		if s.Unread != nil {
			b.unread++
		}
		if t.OnPath(s.Visit) {
			b.path = append(b.path, s.Visit)
		}
	}
	for i := range b.totals.Breaks {
		b.signs[b.totals.Breaks[i].Visit] |= signBroken
	}
	byRow := func(a, b model.Node) int { return cmp.Compare(t.RowOf(a), t.RowOf(b)) }
	slices.SortFunc(b.path, byRow)
	for i := range b.totals.Turns {
		b.turns[b.totals.Turns[i].First] = &b.totals.Turns[i]
	}
	b.branches = slices.Clone(b.totals.Branches)
	slices.SortFunc(b.branches, func(a, b query.BranchSum) int { return byRow(a.Root, b.Root) })
	parts := min(len(b.path), mostParts)
	for i := range parts {
		tokens := 0.0
		here := b.path[i*len(b.path)/parts : (i+1)*len(b.path)/parts]
		for _, n := range here {
			tokens += b.tokens[n]
		}
		b.chart.Sizes = append(b.chart.Sizes, float64(sizes[here[len(here)-1]]))
		b.chart.Tokens = append(b.chart.Tokens, tokens)
	}
	return b
}

// usageOf returns the cost of a snapshot for the Info tab.
func (m *Model) usageOf(n model.Node) *infotab.Usage {
	u, t := &m.usage, m.timeline.Timeline()
	switch {
	case !u.asked:
		return &infotab.Usage{Unknown: keymap.Label(m.keys.Keys(keymap.Session, keymap.Tokens)) + " adds it up"}
	case u.bill == nil || u.of != t || int(n) >= len(u.tokens):
		return &infotab.Usage{Unknown: "not added up yet"}
	}
	row := t.RowOf(n)
	out := &infotab.Usage{Currency: m.o.Currency, ListDate: m.o.ListDate, Unread: u.unread, Path: &u.chart, At: -1, Keys: u.keys}
	stat := u.added[n]
	var here query.Sum
	here.Add(stat, m.o.Prices)
	var models []string
	for _, answer := range stat.Answers {
		if answer.Model != "" && !slices.Contains(models, answer.Model) {
			models = append(models, answer.Model)
		}
	}
	out.Sums = append(out.Sums, infotab.NamedSum{Name: "here", Sum: here, Models: models})
	if turn, in := m.content.Turns.TurnOf(n); in && u.turns[turn.First] != nil {
		name := "turn"
		if index := t.Header(turn.First).TurnIndex; index != model.TurnUnknown {
			name += " " + strconv.Itoa(index)
		}
		out.Sums = append(out.Sums, infotab.NamedSum{Name: name, Sum: u.turns[turn.First].Sum})
	}
	if t.OnPath(n) {
		if i := lastUpTo(len(u.path), func(i int) int { return t.RowOf(u.path[i]) }, row); i >= 0 {
			out.At = float64(i) / float64(len(u.path))
		}
	} else if i := lastUpTo(len(u.branches), func(i int) int { return t.RowOf(u.branches[i].Root) }, row); i >= 0 {
		out.Sums = append(out.Sums, infotab.NamedSum{Name: "branch of " + t.Name(u.branches[i].Root), Sum: u.branches[i].Sum})
	}
	if len(u.branches) > 0 {
		out.Sums = append(out.Sums, infotab.NamedSum{Name: "path", Sum: u.totals.Path})
	}
	all := infotab.NamedSum{Name: "session", Sum: u.totals.Session}
	for _, of := range u.totals.Models[:min(len(u.totals.Models), mostModels)] {
		if of.Model != "" {
			all.Models = append(all.Models, of.Model)
		}
	}
	out.Sums = append(out.Sums, all)
	return out
}

// mostModels is how many models of a session are named.
const mostModels = 6

// lastUpTo returns the last of n places, ordered by row, at or before a row; -1 when all lie behind it.
func lastUpTo(n int, rowOf func(int) int, row int) int {
	return sort.Search(n, func(i int) bool { return rowOf(i) > row }) - 1
}
