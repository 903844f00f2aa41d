package tui

import (
	"cmp"
	"context"
	"iter"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/model"
	"hindcast/query"
	"hindcast/store"
	"hindcast/tui/picker"
	"hindcast/tui/results"
)

// homeHit is a hit of a search, or only its progress where of is nil. A nil hit is counted and not kept.
type homeHit struct {
	in  *picker.Content // the sessions that are searched
	of  *results.Session
	hit *results.Hit
	at  results.Progress
}

// restOfKeys is how long no key may come until the typed text is searched for.
const restOfKeys = 120 * time.Millisecond

// searchHome searches the sessions of a scope, and shows hits as they are found. Sessions that are unchanged since they were
// searched are left out; searched is nil for all.
func (m *Model) searchHome(what query.HomeSearch, in scope, searched *picker.Content) tea.Cmd {
	after, content, kept := m.o.After, m.sessionsToSearch(in), m.search.results.CountHits()
	return m.begin(searching, "", func(ctx context.Context, gen uint64, _ *progress) fact {
		select {
		case <-after(restOfKeys):
		case <-ctx.Done():
			return nil
		}
		r := &reply[homeHit]{make(chan item[homeHit], 256), after}
		go r.gatherAnswers(ctx, func(yield func(homeHit, error) bool) {
			list, err := content(ctx)
			if err != nil {
				yield(homeHit{}, err)
				return
			}
			findInHome(ctx, list, in, what, searched, kept)(yield)
		})
		return readReply(m, searching, gen, r, m.showFindings)
	})
}

// sessionsToSearch returns a function that returns the sessions: those of the list, or those that it reads while the
// list does not have all. It runs in a command.
func (m *Model) sessionsToSearch(in scope) func(context.Context) (*picker.Content, error) {
	content, now, zone, read := m.list.Content(), m.o.Now, m.o.Zone, m.home.Relist
	whole := !m.tasks[listing].running && content.Len() > 0
	return func(ctx context.Context) (*picker.Content, error) {
		if in.one != nil {
			return picker.Prepare([]picker.Row{*in.one}, now().In(zone)), nil
		}
		if whole {
			return content, nil
		}
		var rows []picker.Row
		for part, err := range read(ctx) {
			if err != nil {
				return nil, err
			}
			rows = append(rows, part...)
		}
		return picker.Prepare(rows, now().In(zone)), ctx.Err()
	}
}

// showFindings shows what a part of a search found.
func (m *Model) showFindings(got part[homeHit]) tea.Cmd {
	p := m.search.results
	var at results.Progress
	for i := range got.got {
		f := &got.got[i]
		at = f.at
		m.search.looksIn = f.in
		if f.of != nil {
			p.AddHit(f.of, f.hit)
		}
	}
	switch {
	case got.err != nil:
		p.ShowTrouble(got.err.Error())
	case len(got.got) > 0:
		p.ShowProgress(at)
	}
	if got.last {
		m.search.searched = nil
		if got.err == nil && !p.IsCut() && m.search.scopes[m.search.scope].one == nil {
			m.search.searched = m.search.looksIn
		}
	}
	m.dirty = m.dirty || m.search.open
	return nil
}

// findInHome yields the hits of the sessions of a scope, those that changed last first, and how far it is. Sessions of before,
// which may be nil, are searched where they changed since, and kept hits of them are there.
func findInHome(ctx context.Context, list *picker.Content, in scope, what query.HomeSearch, before *picker.Content, kept int) iter.Seq2[homeHit, error] {
	return func(yield func(homeHit, error) bool) {
		type name struct {
			store store.Store
			id    string
		}
		was := map[name]*picker.Row{}
		if before != nil {
			for i := range before.Rows() {
				row := before.Row(i)
				was[name{row.Store.Opened(), row.ID}] = row
			}
		}
		var sources []query.Source
		places := map[name]int{}
		all := 0
		for _, i := range list.NewestFirst() {
			row := list.Row(i)
			if opened := row.Store.Opened(); opened != nil && in.holds(row) {
				of, then := sourceOf(row), was[name{opened, row.ID}]
				if !what.Selects(&of.SessionInfo) || then != nil && then.UpdatedAt.Equal(of.UpdatedAt) && then.Size == of.Size {
					continue
				}
				sources = append(sources, of)
				if places[name{opened, row.ID}] = i; then == nil {
					all++
				}
			}
		}
		at := results.Progress{All: all, Ended: before != nil} // what came later is searched quietly
		more := yield(homeHit{in: list, at: at}, nil)
		what.Looked = func(of *query.Source) {
			if was[name{of.Store, of.ID}] == nil {
				at.Done++
			}
			more = more && yield(homeHit{in: list, at: at}, nil)
		}
		most := results.MostOfSession
		if in.one != nil {
			most = results.Most
		}
		each := func(yield func(query.Source, error) bool) {
			for _, of := range sources {
				if !yield(of, nil) {
					return
				}
			}
		}
		var of *results.Session
		ofSession := 0
		for hit, err := range query.SearchHome(ctx, each, what) {
			switch {
			case !more:
				return
			case err != nil:
				yield(homeHit{}, err)
				return
			case hit.Err != nil:
				at.Unread++
				continue
			case hit.Key: // of a field, which is not said
				continue
			case kept >= results.Most:
				at.Cut, at.Ended = true, true
				yield(homeHit{in: list, at: at}, nil)
				return
			}
			if i := places[name{hit.Store, hit.ID}]; of == nil || of.ID != hit.ID || of.Store != list.Row(i).Store {
				described := describeSession(list, i)
				of, ofSession = &described, 0
			}
			next := homeHit{in: list, of: of, at: at}
			if ofSession++; ofSession <= most {
				kept++
				next.hit = excerptOf(&hit, what.Orphaned)
				next.hit.File = what.File != ""
			}
			if !yield(next, nil) {
				return
			}
		}
		if more {
			at.Ended = true
			yield(homeHit{in: list, at: at}, nil)
		}
	}
}

// sourceOf returns a row as a session to search.
func sourceOf(row *picker.Row) query.Source {
	of := query.Source{Store: row.Store.Opened(), SessionInfo: row.SessionInfo}
	of.Kind = cmp.Or(of.Kind, row.Store.Name)
	return of
}

// excerptOf returns a hit as the pane keeps it. left says that only texts are searched for that no snapshot on the path
// has.
func excerptOf(hit *query.SessionHit, left bool) *results.Hit {
	h := &results.Hit{
		Ref: hit.Ref, Left: left || hit.IsLeft(),
		Message: hit.Message, Role: hit.Role, Tool: hit.Tool, Path: hit.Path,
	}
	h.Before, h.Match, h.After = results.CutExcerpt(hit.Text, hit.From, hit.To)
	h.Find = longestLine(hit.Text[hit.From:hit.To])
	if h.Ref == (model.Ref{}) {
		of := *hit
		of.Text = "" // it may be long
		h.Unread = &of
	}
	return h
}

// mostSettled is how many hits one command settles.
const mostSettled = 8

// settleHits locates hits in view, a few at a time, and signs those off the path. It ignores errors: opening a hit reports
// them.
func (m *Model) settleHits() tea.Cmd {
	if !m.isSearching() {
		m.stop(settling)
		return nil
	}
	if m.tasks[settling].running {
		return nil
	}
	hits := m.search.results.UnsettledHits(mostSettled)
	if len(hits) == 0 {
		return nil
	}
	return m.start(settling, "", func(ctx context.Context, _ *progress) fact {
		settled := map[*query.SessionHit]query.SessionHit{}
		for _, hit := range hits {
			of := *hit
			if _, err := of.Locate(ctx); err != nil {
				of = *hit
			}
			settled[hit] = of
		}
		return func() tea.Cmd {
			m.search.results.SettleHits(settled)
			m.dirty = true
			return nil
		}
	})
}

// mostFind bounds the bytes of a text that a tab is searched for.
const mostFind = 200

// longestLine returns the longest line of a text, at most mostFind bytes of it.
func longestLine(text string) (longest string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); len(line) > len(longest) {
			longest = line
		}
	}
	if len(longest) > mostFind {
		longest = strings.ToValidUTF8(longest[:mostFind], "")
	}
	return longest
}
