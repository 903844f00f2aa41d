package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hindcast/model"
	"hindcast/model/printable"
	"hindcast/prices"
	"hindcast/query"
	"hindcast/query/ledger"
	"hindcast/store/home"
)

// writeBill adds up the sessions that are meant, with the ones that they started, and writes the sums. A session or a store
// that cannot be read is named behind them.
func (o *subject) writeBill(ctx context.Context, p *printer, list *prices.List, word, since string) error {
	by, known := ledger.ParseBy(word)
	if !known {
		return usagef("stats: --by %.40q: give one of %s", word, strings.Join(ledger.ByWords(), ", "))
	}
	from := time.Time{}.Local()
	if since != "" {
		var err error
		if from, err = query.ParseSince(since, time.Now()); err != nil {
			return usagef("stats: --since %w", err)
		}
	}
	sessions, failed := sortedSessions(ctx, o.home)
	if failed == nil && o.home.CountStores() == 0 {
		failed = noStore()
	}
	if len(sessions) == 0 && failed != nil {
		return failed
	}
	if o.session != "" {
		sessions = withAgents(sessions, o.in, o.session)
	}
	sessions = slices.DeleteFunc(sessions, func(s *home.Session) bool { return !s.UpdatedAt.IsZero() && s.UpdatedAt.Before(from) })
	entries, unread := o.app.readAccounts(ctx, sessions)
	if err := ctx.Err(); err != nil {
		return err
	}
	b := &bill{ledger.NewBill(by, list, from, entries), by, from, list}
	if p.json {
		return errors.Join(p.writeDocument(b.newDocument(unread)), failed, unreadError(unread))
	}
	p.writeBillText(b)
	return errors.Join(failed, unreadError(unread))
}

// withAgents returns a session of a store, and those that it started.
func withAgents(sessions []*home.Session, in *home.Store, id string) (list []*home.Session) {
	wanted := map[string]bool{id: true}
	for known := 0; known < len(wanted); { // until no session joins
		known = len(wanted)
		for _, s := range sessions {
			if s.Store == in && wanted[s.Parent] {
				wanted[s.ID] = true
			}
		}
	}
	for _, s := range sessions {
		if s.Store == in && wanted[s.ID] {
			list = append(list, s)
		}
	}
	return list
}

// unreadSession is a session that could not be read.
type unreadSession struct {
	home.Session
	err error
}

// unreadError returns an error that names sessions that could not be read, nil for an empty list.
func unreadError(unread []unreadSession) (err error) {
	for _, of := range unread {
		err = errors.Join(err, fmt.Errorf("stats: session %.80q of %s: %w", of.ID, printable.Addresses(of.Store.At), of.err))
	}
	return err
}

// readAccounts reads the accounts of sessions, some at once, and those that could not be read. On a terminal it shows
// how many it read.
func (a *App) readAccounts(ctx context.Context, sessions []*home.Session) (entries []ledger.Entry, unread []unreadSession) {
	accounts, errs := make([]*ledger.Account, len(sessions)), make([]error, len(sessions))
	var next atomic.Int64
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		readers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(sessions) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				accounts[i], errs[i] = a.Ledger.Account(ctx, *sessions[i])
				done <- struct{}{}
			}
		})
	}
	go func() {
		readers.Wait()
		close(done)
	}()
	shown := progress{out: a.Err}
	read := 0
	for range done {
		if read++; a.ErrTerminal && read%progressSessions == 0 {
			shown.writeLine(fmt.Sprintf("%d of %s added up", read, model.Count(len(sessions), "session")))
		}
	}
	shown.clearLine()
	a.Ledger.Keep()
	for i, s := range sessions {
		switch {
		case accounts[i] != nil:
			entries = append(entries, ledger.Entry{Session: *s, Account: accounts[i]})
		case errs[i] != nil:
			unread = append(unread, unreadSession{*s, errs[i]})
		}
	}
	return entries, unread
}

// progressSessions is after how many sessions the line of progress is written anew.
const progressSessions = 20

// bill is a bill with all that is said about it.
type bill struct {
	*ledger.Bill
	by     ledger.By
	since  time.Time
	prices *prices.List
}

// billJSON is `stats --json` of several sessions.
type billJSON struct {
	By       string       `json:"by"`
	Since    *time.Time   `json:"since,omitempty"`
	Currency string       `json:"currency,omitempty"`
	ListDate string       `json:"listDate,omitempty"`
	Sessions int          `json:"sessions"`
	Agents   int          `json:"agents"`
	Total    shareJSON    `json:"total"`
	Rows     []partJSON   `json:"rows"`
	States   int          `json:"unreadStates,omitempty"`
	Unread   []unreadJSON `json:"unread,omitempty"`
}

// shareJSON is the sum of a part of a bill.
type shareJSON struct {
	spentJSON
	Turns    int       `json:"turns"`
	Failures int       `json:"failures"`
	WaitedMs int64     `json:"waitedMs"`
	Branches int       `json:"branches"`
	Left     spentJSON `json:"left"`
	Dropped  spentJSON `json:"dropped"`
}

func shareOf(s *ledger.Sum) shareJSON {
	return shareJSON{spentOf(&s.Sum), s.Turns, s.Failures, s.Waited.Milliseconds(), s.Branches, spentOf(&s.Left), spentOf(&s.Dropped)}
}

// partJSON is a part of a bill.
type partJSON struct {
	Day       string  `json:"day,omitempty"`
	Project   *string `json:"project,omitempty"`
	Tool      string  `json:"tool,omitempty"`
	Model     *string `json:"model,omitempty"`
	Store     string  `json:"store,omitempty"`
	SessionID string  `json:"sessionId,omitempty"`
	Parent    string  `json:"parent,omitempty"`
	Title     string  `json:"title,omitempty"`
	Branch    string  `json:"branch,omitempty"`
	Why       string  `json:"why,omitempty"`
	Sessions  int     `json:"sessions"`
	shareJSON
}

// unreadJSON is a session that could not be read.
type unreadJSON struct {
	Store     string `json:"store"`
	SessionID string `json:"sessionId"`
	Error     string `json:"error"`
}

func (b *bill) newDocument(unread []unreadSession) billJSON {
	out := billJSON{
		By: b.by.String(), Currency: b.prices.Currency, ListDate: b.prices.ListDate, Sessions: b.Sessions, Agents: b.Agents,
		Total: shareOf(&b.Total), Rows: []partJSON{}, States: b.Bill.Unread,
	}
	if !b.since.IsZero() {
		out.Since = &b.since
	}
	for i := range b.Rows {
		r := &b.Rows[i]
		part := partJSON{Tool: r.Tool, Store: r.Store, Sessions: r.Sessions, shareJSON: shareOf(&r.Sum)}
		switch b.by {
		case ledger.ByDay:
			part.Day = r.Day.Format(time.DateOnly)
		case ledger.ByProject:
			part.Project = &r.Project
		case ledger.ByModel:
			part.Model = &r.Model
		}
		if r.Session != nil {
			part.SessionID, part.Title, part.Store = r.Session.ID, r.Session.Title, r.Session.Store.Name+":"+r.Session.Store.At
		}
		if r.Depth > 0 {
			part.Parent = r.Session.Parent
		}
		if r.Branch != nil {
			part.Branch, part.Why = r.Branch.Root, r.Branch.Why.String()
		}
		part.Store = printable.Addresses(part.Store)
		out.Rows = append(out.Rows, part)
	}
	for _, of := range unread {
		out.Unread = append(out.Unread, unreadJSON{printable.Addresses(of.Store.Name + ":" + of.Store.At), of.ID, printable.Addresses(of.err.Error())})
	}
	return out
}

// billHeads are the headings of the columns of a bill, behind the name of a row.
var billHeads = []string{"sessions", "turns", "in", "cached", "written", "out", "cost", "priced", "waited", "calls", "failed", "left", "cost left", "dropped", "cost dropped"}

// sparedHeads are the columns that are left out where a terminal is too narrow for all, the first ones first.
var sparedHeads = []string{"written", "cost dropped", "dropped", "sessions", "left", "cached", "calls", "waited", "failed", "cost left", "turns", "priced"}

// cellsOf returns the cells of a row of a bill.
func (b *bill) cellsOf(p *printer, name string, sessions int, s *ledger.Sum) []string {
	priced, waited := "", ""
	if s.Unpriced > 0 {
		priced = fmt.Sprintf("%d of %d", s.Answers-s.Unpriced, s.Answers)
	}
	if s.Waited > 0 {
		waited = s.Waited.Round(time.Second).String()
	}
	cells := []string{
		name, strconv.Itoa(sessions), strconv.Itoa(s.Turns), model.ShortCount(s.Input), model.ShortCount(s.CacheRead), model.ShortCount(s.CacheWrite),
		model.ShortCount(s.Output), b.costText(p, &s.Sum), priced, waited, strconv.Itoa(s.Calls), strconv.Itoa(s.Failures),
		model.ShortCount(s.Left.Input + s.Left.Output), b.costText(p, &s.Left),
		model.ShortCount(s.Dropped.Input + s.Dropped.Output), b.costText(p, &s.Dropped),
	}
	if b.by == ledger.ByModel && s != &b.Total { // a model has no turns and no tools
		for _, i := range []int{2, 10, 11} {
			cells[i] = ""
		}
	}
	return cells
}

// costText returns the price of a sum: "" without answers, and a dash where no price is known.
func (b *bill) costText(p *printer, s *query.Sum) string {
	switch {
	case s.Answers == 0:
		return ""
	case s.Unpriced == s.Answers:
		return p.glyphs.Sentence("–")
	}
	return s.CostText(printable.String(b.prices.Currency))
}

// rowName returns the name of a row.
func (b *bill) rowName(p *printer, r *ledger.Row) string {
	switch b.by {
	case ledger.ByDay:
		return r.Day.Format(time.DateOnly)
	case ledger.BySession:
		id := printable.String(r.Session.ID)
		if p.width > 0 {
			id = p.fitName(id, mostID)
		}
		return strings.Repeat("  ", r.Depth) + strings.TrimSpace(id+"  "+clipText(r.Session.Title, mostName, p.glyphs.Ellipsis))
	case ledger.ByBranch:
		if r.Branch == nil {
			return "not left"
		}
		return p.fitName(printable.String(r.Session.ID), mostName) + " " + printable.String(r.Branch.Root) + ", " + r.Branch.Why.InWords()
	case ledger.ByModel:
		return cmp.Or(printable.String(r.Model), "no model named")
	}
	return cmp.Or(printable.String(r.Project+r.Tool+printable.Addresses(r.Store)), "no project")
}

// leastName is how many cells a name has where columns are left out for it: enough for a day and its bar.
const leastName = 21

// barCells is how many cells the longest bar of a day has.
const barCells = 10

// mostName bounds the title of a session in a row of a bill, and mostID its id on a terminal.
const mostName, mostID = 32, 13

// writeBillText writes a bill for people: a table, and below it what was thrown away, whose prices these are, and what
// could not be read.
func (p *printer) writeBillText(b *bill) {
	t := table{numbers: true}
	t.addRow(slices.Concat([]string{b.by.String()}, billHeads)...)
	shares := b.RowShares()
	for i := range b.Rows {
		name := b.rowName(p, &b.Rows[i])
		if b.by == ledger.ByDay && p.width > 0 {
			name += " " + p.glyphs.DrawBlocks(shares[i], barCells)
		}
		t.addRow(b.cellsOf(p, name, b.Rows[i].Sessions, &b.Rows[i].Sum)...)
	}
	t.addRow(b.cellsOf(p, "total", b.Sessions, &b.Total)...)
	t.dropEmpty()
	spared := t.dropWide(p.width, leastName)
	t.writeTable(p)
	p.WriteByte('\n')
	say := func(format string, args ...any) {
		if line := fmt.Sprintf(format, args...); p.width > 0 {
			p.writeSentence("", line)
		} else {
			fmt.Fprintln(p, p.glyphs.Sentence(line))
		}
	}
	for _, part := range []struct {
		sum *query.Sum
		how string
	}{
		{&b.Total.Left, "on " + countBranches(b.Total.Branches) + " that " + isWere(b.Total.Branches) + " left"},
		{&b.Total.Dropped, "dropped by a compaction or a window"},
	} {
		if part.sum.Answers > 0 {
			say("thrown away: %s tokens, %s, %s", model.ShortCount(part.sum.Input+part.sum.Output), b.costText(p, part.sum), part.how)
		}
	}
	say("%s", pricesLine(&b.Total.Sum, b.prices))
	if b.Bill.Unread > 0 {
		say("%s could not be read, and is not counted; hindcast doctor says why", model.Count(b.Bill.Unread, "state"))
	}
	if len(spared) > 0 {
		say("no room for %s: a wider terminal or --json has them", strings.Join(spared, ", "))
	}
}

func countBranches(n int) string {
	if n == 1 {
		return "1 branch"
	}
	return strconv.Itoa(n) + " branches"
}

func isWere(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}
