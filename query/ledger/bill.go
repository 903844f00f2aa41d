package ledger

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"hindcast/query"
	"hindcast/store/home"
)

// By is a division of a bill into rows.
type By uint8

// The divisions, with the words of [ParseBy].
const (
	ByDay By = iota
	ByProject
	ByTool
	ByModel
	BySession
	ByStore
	ByBranch
)

// ByWords returns the words for the divisions, in their order.
func ByWords() []string {
	return []string{"day", "project", "tool", "model", "session", "store", "branch"}
}

// ParseBy returns the division that a word names; false for an unknown word.
func ParseBy(word string) (By, bool) {
	i := slices.Index(ByWords(), word)
	return By(max(i, 0)), i >= 0
}

// String returns the word of a division.
func (b By) String() string { return ByWords()[b] }

// Entry is a session with its account.
type Entry struct {
	home.Session
	*Account
}

// Bill is the sum of many sessions, and of its parts.
type Bill struct {
	Total Sum
	// Sessions counts the sessions that a person or a program began, and Agents those that other sessions started.
	Sessions, Agents int
	// Rows are the parts: days the newest first, all others the dearest first. A session that another one started
	// follows it.
	Rows []Row
	// Unread counts the states that could not be read.
	Unread int
}

// Row is one part of a bill.
type Row struct {
	// Day, Project, Tool, Model or Store is the part, by the division of the bill. All texts are untrusted.
	Day                         time.Time
	Project, Tool, Model, Store string
	// Session is a session, by sessions and by branches. Branch is a branch of it, by branches.
	Session *home.Session
	Branch  *Branch
	// Depth is 1 for a session that another one started: its sums are in the row above, too.
	Depth int
	// Sessions counts the sessions with a share.
	Sessions int
	Sum
}

// partKey is the key of a row: a text, the number of a session or a day, and the number of a branch.
type partKey struct {
	text           string
	number, branch int
}

// biller makes a bill.
type biller struct {
	Bill
	by      By
	prices  query.Prices
	since   time.Time
	entries []Entry
	// top holds the index of the session that started a session, or of the session itself.
	top  []int
	rows map[partKey]int
	// shares holds the sessions with a share in each row.
	shares []map[int]bool
	met    map[uint64]bool
}

// NewBill adds up sessions from a time on; days begin at midnight of its zone. A session that another one of them started
// is part of that one. An answer that several sessions have counts once: on the active path of the session that changed
// first, or else where that session left it.
func NewBill(by By, prices query.Prices, since time.Time, entries []Entry) *Bill {
	w := biller{by: by, prices: prices, since: since, entries: slices.Clone(entries), rows: map[partKey]int{}, met: map[uint64]bool{}}
	slices.SortStableFunc(w.entries, func(a, b Entry) int { return home.NewestFirst(&b.Session, &a.Session) })
	w.findTops()
	for i := range w.entries {
		if w.top[i] == i {
			w.Sessions++
		} else {
			w.Agents++
		}
		w.Unread += w.entries[i].Unread
	}
	for _, onPath := range []bool{true, false} {
		for i := range w.entries {
			for k := range w.entries[i].Moments {
				if m := &w.entries[i].Moments[k]; (m.Branch == 0) == onPath && !m.At.Before(since.Truncate(quarter)) {
					w.addMoment(i, m)
				}
			}
		}
	}
	w.countBranches()
	w.sortRows()
	return &w.Bill
}

// RowShares returns for each row its share of the largest one, from 0 to 1: by cost, or by tokens where no cost is known
// of any.
func (b *Bill) RowShares() []float64 {
	shares := make([]float64, len(b.Rows))
	for i := range b.Rows {
		if shares[i] = b.Rows[i].Cost; b.Total.Cost <= 0 {
			shares[i] = b.Rows[i].Input + b.Rows[i].Output
		}
	}
	if len(shares) == 0 {
		return nil
	}
	if most := slices.Max(shares); most > 0 {
		for i := range shares {
			shares[i] /= most
		}
	}
	return shares
}

// mostNested bounds how often one session starts another.
const mostNested = 100

// findTops finds the session that started each session.
func (w *biller) findTops() {
	type name struct {
		store *home.Store
		id    string
	}
	at := map[name]int{}
	for i := range w.entries {
		at[name{w.entries[i].Store, w.entries[i].ID}] = i
	}
	for i := range w.entries {
		top := i
		for range mostNested {
			above, known := at[name{w.entries[top].Store, w.entries[top].Parent}]
			if w.entries[top].Parent == "" || !known {
				break
			}
			top = above
		}
		w.top = append(w.top, top)
	}
}

// addMoment adds a moment of a session to the total and to its rows.
func (w *biller) addMoment(i int, m *Moment) {
	answers := m.newAnswers(w.met)
	if len(m.Answers) > 0 && len(answers) == 0 {
		return // a copy
	}
	left := w.entries[i].isLeft(m)
	w.Total.addMoment(m, left, answers, w.prices)
	if w.by != ByModel {
		for _, row := range w.rowsOf(i, m) {
			row.addMoment(m, left, answers, w.prices)
		}
		return
	}
	shares := map[string][]*Answer{} // an answer has a model, a turn and a tool have none
	for _, a := range answers {
		shares[a.Model] = append(shares[a.Model], a)
	}
	for name, share := range shares {
		part := Moment{Branch: m.Branch, Dropped: m.Dropped}
		w.rowOf(partKey{text: name}, i, Row{Model: name}).addMoment(&part, left, share, w.prices)
	}
}

// rowsOf returns the rows of a moment: one, or two for a session that another one started.
func (w *biller) rowsOf(i int, m *Moment) []*Row {
	s, top := &w.entries[i], &w.entries[w.top[i]]
	one := func(key partKey, row Row) []*Row { return []*Row{w.rowOf(key, i, row)} }
	switch w.by {
	case ByProject:
		return one(partKey{text: top.Project}, Row{Project: top.Project})
	case ByTool:
		return one(partKey{text: s.Kind}, Row{Tool: s.Kind})
	case ByStore:
		name := s.Store.Name + ":" + s.Store.At
		return one(partKey{text: name}, Row{Store: name})
	case ByBranch:
		key, row := partKey{}, Row{}
		if s.isLeft(m) {
			key = partKey{number: 1 + i, branch: m.Branch}
			row = Row{Session: &s.Session, Branch: &s.Branches[m.Branch-1]}
		}
		return one(key, row)
	case BySession:
		w.rowOf(partKey{number: w.top[i]}, i, Row{Session: &top.Session})
		if w.top[i] != i {
			w.rowOf(partKey{number: i}, i, Row{Session: &s.Session, Depth: 1})
		}
		rows := []*Row{&w.Rows[w.rows[partKey{number: w.top[i]}]]} // a new row moves the others
		if w.top[i] != i {
			rows = append(rows, &w.Rows[w.rows[partKey{number: i}]])
		}
		return rows
	}
	at := m.At.In(w.since.Location())
	day := time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, at.Location())
	return one(partKey{number: int(day.Unix())}, Row{Day: day})
}

// rowOf returns the row of a key, which is made of row where it is not there yet. It counts the session of an entry.
func (w *biller) rowOf(key partKey, i int, row Row) *Row {
	at, known := w.rows[key]
	if !known {
		at = len(w.Rows)
		w.rows[key] = at
		w.Rows, w.shares = append(w.Rows, row), append(w.shares, map[int]bool{})
	}
	w.shares[at][w.top[i]] = true
	w.Rows[at].Sessions = len(w.shares[at])
	return &w.Rows[at]
}

// countBranches counts the branches that sessions left since the time.
func (w *biller) countBranches() {
	type branch struct{ entry, branch int }
	counted := map[branch]bool{}
	for i := range w.entries {
		for k := range w.entries[i].Moments {
			m := &w.entries[i].Moments[k]
			if !w.entries[i].isLeft(m) || m.At.Before(w.since.Truncate(quarter)) || counted[branch{i, m.Branch}] {
				continue
			}
			counted[branch{i, m.Branch}] = true
			w.Total.Branches++
			if w.by != ByModel {
				for _, row := range w.rowsOf(i, m) {
					row.Branches++
				}
			}
		}
	}
}

// sortRows sorts the rows, and sets each session behind the one that started it.
func (w *biller) sortRows() {
	dearest := func(a, b *Row) int {
		return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Input+b.Output, a.Input+a.Output), cmp.Compare(b.Calls, a.Calls))
	}
	tops := map[*home.Session]*Row{}
	if w.by == BySession {
		for key, at := range w.rows {
			tops[w.Rows[at].Session] = &w.Rows[w.rows[partKey{number: w.top[key.number]}]]
		}
	}
	order := make([]*Row, len(w.Rows))
	for i := range order {
		order[i] = &w.Rows[i]
	}
	slices.SortStableFunc(order, func(a, b *Row) int {
		if w.by == ByDay {
			return b.Day.Compare(a.Day)
		}
		if w.by == BySession && tops[a.Session] != tops[b.Session] {
			a, b = tops[a.Session], tops[b.Session]
		}
		return cmp.Or(cmp.Compare(a.Depth, b.Depth), dearest(a, b), strings.Compare(a.sortKey(), b.sortKey()))
	})
	sorted := make([]Row, len(order))
	for i, row := range order {
		sorted[i] = *row
	}
	w.Rows = sorted
}

// sortKey returns a text by which rows of one sum are in order.
func (r *Row) sortKey() string {
	name := r.Project + r.Tool + r.Model + r.Store
	if r.Session != nil {
		name += r.Session.ID + "\x00" + r.Session.Store.At
	}
	if r.Branch != nil {
		name += "\x00" + r.Branch.Root
	}
	return name
}
