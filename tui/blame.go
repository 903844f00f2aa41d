package tui

import (
	"context"
	"fmt"
	"iter"
	"strconv"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/query"
	"hindcast/tui/statetab"
	"hindcast/tui/when"
)

// blame is the margin of the State tab: which snapshot last set each value. It is worked out
// for the state that shows, and drawn as it comes, the newest values first.
type blame struct {
	on bool
	// shows are the subject that it is worked out for, of the timeline that its nodes are of.
	shows subjectKey
	of    *model.Timeline
	// at has the snapshots by JSON Pointer.
	at map[string]query.Blamed
}

// toggleBlame shows the margin, or takes it away.
func (m *Model) toggleBlame() {
	m.blame = blame{on: !m.blame.on}
	m.stop(blaming)
	m.setMargin()
}

// setMargin gives the State tab its margin.
func (m *Model) setMargin() {
	p := m.tabs[tabOf(keymap.ShowState)].pane.(*statetab.Pane)
	if !m.blame.on {
		p.SetMargin(0, nil)
		return
	}
	t, shown := m.timeline.Timeline(), m.subject()
	name := len(shown.name)
	for _, n := range m.timeline.InSight() {
		name = min(max(name, len(t.Name(n))), mostBlamed)
	}
	turn := len(strconv.Itoa(shown.header.TurnIndex))
	p.SetMargin(name+len(" t")+turn+len(" -99s"), func(path string) (string, bool) {
		set, known := m.blame.at[path]
		if !known {
			return "", false
		}
		return blameText(t, set, shown.header, name, turn), true
	})
}

// mostBlamed is how many cells the name of a snapshot takes in the margin at most.
const mostBlamed = 10

// blameText says which snapshot set a value, in which turn, and how long before the one that
// shows, in columns for the name and the turn.
func blameText(t *model.Timeline, set query.Blamed, shown model.Header, name, turn int) string {
	if set.Visit == model.NoNode {
		return "?"
	}
	h, who, in, age := t.Header(set.Visit), t.Name(set.Visit), "", ""
	if h.TurnIndex != model.TurnUnknown {
		in = "t" + strconv.Itoa(h.TurnIndex)
	}
	switch {
	case set.OrBefore:
		age = "or before"
	case h.Ref() != shown.Ref() && !h.CreatedAt.IsZero() && !shown.CreatedAt.IsZero():
		age = string(when.AppendShort(nil, h.CreatedAt.Sub(shown.CreatedAt)))
	}
	return fmt.Sprintf("%-*s %-*s %s", name, who, turn+1, in, age)
}

// askBlame has the margin worked out for the state that shows.
func (m *Model) askBlame() tea.Cmd {
	state := tabOf(keymap.ShowState)
	if !m.blame.on || m.place != inSession || m.current != state || m.tabs[state].shows == (subjectKey{}) {
		return nil
	}
	s, t, n := m.subject(), m.timeline.Timeline(), m.timeline.SelectedNode()
	if m.tabs[state].shows != s.subjectKey || m.blame.shows == s.subjectKey && m.blame.of == t {
		return nil
	}
	m.blame.shows, m.blame.of, m.blame.at = s.subjectKey, t, map[string]query.Blamed{}
	m.setMargin()
	return streamAnswers(m, blaming, "blame of "+s.name, func(ctx context.Context, q *query.Session, _ *progress) iter.Seq2[query.Blamed, error] {
		return q.Blame(ctx, n, query.Path{})
	}, m.valuesBlamed)
}

// valuesBlamed takes in which snapshots set some values.
func (m *Model) valuesBlamed(got part[query.Blamed]) tea.Cmd {
	m.dirty = true
	for _, b := range got.got {
		m.blame.at[b.Path] = b
	}
	if got.err != nil {
		m.fail(got.err)
	}
	return nil
}
