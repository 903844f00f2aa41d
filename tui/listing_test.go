package tui

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/store"
	"hindcast/store/sample"
	"hindcast/store/storetest/fake"
)

// manySessions is a store that lists many sessions, the newest change last.
type manySessions struct {
	store.Store
	n int
	// read counts those that were asked for, ended says that the listing has ended.
	read  int
	ended bool
}

func (s *manySessions) Sessions(context.Context) iter.Seq2[model.SessionInfo, error] {
	return func(yield func(model.SessionInfo, error) bool) {
		defer func() { s.ended = true }()
		for s.read < s.n {
			s.read++
			at := time.Unix(int64(s.read), 0)
			if !yield(model.SessionInfo{ID: fmt.Sprint("session-", s.read), Snapshots: 1, UpdatedAt: at}, nil) {
				return
			}
		}
	}
}

// listingOf returns a model whose store has begun to list n sessions, and what it answers
// first.
func listingOf(t *testing.T, n int) (m *Model, s *manySessions, first tea.Msg) {
	t.Helper()
	s = &manySessions{Store: fake.New(), n: n}
	closed := make(chan time.Time)
	close(closed)
	m, err := New(t.Context(), Options{Store: s, After: func(time.Duration) <-chan time.Time { return closed }})
	if err != nil {
		t.Fatal(err)
	}
	m.Update(tea.WindowSizeMsg{Width: 100, Height: 30})
	return m, s, m.listSessions()().(tea.BatchMsg)[0]()
}

// The first sessions show before the others are read. The cursor stays where it is: at the
// top, or on the session that it was moved to.
func TestSessions_showAsTheyAreRead(t *testing.T) {
	const n = 10 * firstSessions
	for _, moved := range []bool{false, true} {
		m, s, msg := listingOf(t, n)
		if s.read != firstSessions {
			t.Errorf("%d sessions are read before the first show", s.read)
		}
		_, cmd := m.Update(msg)
		want := fmt.Sprint("session-", n)
		if moved {
			m.sessions.Do(keymap.MoveDown)
			want = m.sessions.Name()
		}
		if view := m.View(); !strings.Contains(view, fmt.Sprint("session-", firstSessions)) {
			t.Fatalf("the first sessions do not show:\n%s", view)
		}
		parts := 0
		for ; cmd != nil; parts++ {
			_, cmd = m.Update(cmd())
		}
		if parts > 6 || m.sessions.Len() != n || !s.ended || m.tasks[listing].running {
			t.Errorf("after %d parts, %d of %d sessions show; ended: %t", parts, m.sessions.Len(), n, s.ended)
		}
		if got := m.sessions.Name(); got != want {
			t.Errorf("moved: %t: the cursor is on %s, want %s", moved, got, want)
		}
	}
}

// A list that shows already stays until all is read anew.
func TestSessions_stayUntilTheyAreListedAnew(t *testing.T) {
	m, s, msg := listingOf(t, 10*firstSessions)
	for cmd := tea.Cmd(func() tea.Msg { return msg }); cmd != nil; {
		_, cmd = m.Update(cmd())
	}
	s.read, s.ended = 0, false
	if m.listSessions()().(tea.BatchMsg)[0](); s.read != s.n || !s.ended {
		t.Errorf("%d sessions would show", s.read)
	}
}

// A listing ends when its answer is not awaited.
func TestSessions_endWhereNobodyWaits(t *testing.T) {
	m, s, msg := listingOf(t, 10*firstSessions)
	m.stop(listing)
	_, cmd := m.Update(msg)
	if cmd == nil || m.sessions.Len() > 0 {
		t.Fatalf("%d sessions show", m.sessions.Len())
	}
	if got := cmd(); got != nil || !s.ended {
		t.Errorf("%v follows, ended: %t", got, s.ended)
	}
}

// lonely is a store that is known to have one session.
type lonely struct{ manySessions }

func (s *lonely) Features() store.Features {
	f := s.Store.Features()
	f.Only = s.Only
	return f
}

func (s *lonely) Only(context.Context) string { return sample.Trip }

func (s *lonely) Sessions(context.Context) iter.Seq2[model.SessionInfo, error] {
	s.read++
	return func(yield func(model.SessionInfo, error) bool) {
		yield(model.SessionInfo{ID: sample.Trip, Snapshots: 14, Faults: 3}, nil)
	}
}

// The only session opens without being listed. It is when it has been read, for the faults
// that are not looked for in a long one.
func TestSessions_theOnlyOneOpensFirst(t *testing.T) {
	rows := fake.New()
	if _, err := rows.Import(t.Context(), sample.Rows()); err != nil {
		t.Fatal(err)
	}
	s := &lonely{manySessions{Store: rows}}
	m, err := New(t.Context(), Options{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	m.Update(tea.WindowSizeMsg{Width: 100, Height: 30})
	if m.Update(m.listSessions()().(tea.BatchMsg)[0]()); m.place != inSession || m.session != sample.Trip || !m.only || s.read > 0 {
		t.Errorf("session %q is open, only: %t, listed %d times", m.session, m.only, s.read)
	}
	count := m.countFaults()
	if m.Update(count()); m.info.countFaults() != 3 || s.read != 1 || m.tasks[listing].running {
		t.Errorf("%d faults, listed %d times", m.info.countFaults(), s.read)
	}
	if m.countFaults() != nil {
		t.Error("it is listed again")
	}
}
