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

// manySessions is a store that lists sessions, the newest change last: the others once more is closed.
type manySessions struct {
	store.Store
	first, others int
	more          chan struct{}
	// read counts the listings, ended says that the last one has ended.
	read  int
	ended bool
}

func (s *manySessions) Sessions(ctx context.Context) iter.Seq2[model.SessionInfo, error] {
	return func(yield func(model.SessionInfo, error) bool) {
		defer func() { s.ended = true }()
		for i := 1; i <= s.first+s.others; i++ {
			if i == s.first+1 {
				select {
				case <-s.more:
				case <-ctx.Done():
					return
				}
			}
			if !yield(model.SessionInfo{ID: fmt.Sprint("session-", i), Snapshots: 1, UpdatedAt: time.Unix(int64(i), 0)}, nil) {
				return
			}
		}
		if s.others == 0 {
			<-s.more
		}
	}
}

// listingOf returns a model whose store lists n sessions, and the first part of them.
func listingOf(t *testing.T, n, others int) (m *Model, s *manySessions, first tea.Msg) {
	t.Helper()
	s = &manySessions{Store: fake.New(), first: n, others: others, more: make(chan struct{})}
	closed := make(chan time.Time)
	close(closed)
	m, err := New(t.Context(), Options{Store: s, After: func(time.Duration) <-chan time.Time { return closed }})
	if err != nil {
		t.Fatal(err)
	}
	m.Update(tea.WindowSizeMsg{Width: 100, Height: 30})
	return m, s, m.listSessions()().(tea.BatchMsg)[0]()
}

// drain runs what follows a message until the sessions are listed.
func drain(m *Model, msg tea.Msg) {
	readOn(m, func() tea.Msg { return msg })
}

// readOn runs a command and what follows it until the sessions are listed.
func readOn(m *Model, cmd tea.Cmd) {
	for m.tasks[listing].running {
		cmd = readPart(m, cmd)
	}
}

// readPart runs a command, of several the one that reads, and returns what follows it.
func readPart(m *Model, cmd tea.Cmd) tea.Cmd {
	msg := cmd()
	if all, ok := msg.(tea.BatchMsg); ok {
		msg = all[0]()
	}
	_, cmd = m.Update(msg)
	return cmd
}

// The first sessions show before the others are read. The cursor stays where it is: at the
// top, or on the session that it was moved to.
func TestSessions_showAsTheyAreRead(t *testing.T) {
	for _, moved := range []bool{false, true} {
		m, s, msg := listingOf(t, 40, 1000)
		_, cmd := m.Update(msg)
		for m.list.Len() < 40 && m.tasks[listing].running { // a loaded machine reads them in several parts
			cmd = readPart(m, cmd)
		}
		if s.ended || m.list.Len() != 40 {
			t.Fatalf("%d sessions show, ended: %t", m.list.Len(), s.ended)
		}
		want := "session-1040"
		if moved {
			m.list.Do(keymap.MoveDown)
			want = m.list.Name().ID
		}
		if view := m.View(); !strings.Contains(view, "session-40") {
			t.Fatalf("the first sessions do not show:\n%s", view)
		}
		close(s.more)
		readOn(m, cmd)
		if m.list.Len() != 1040 || !s.ended || m.tasks[listing].running {
			t.Errorf("%d sessions show; ended: %t", m.list.Len(), s.ended)
		}
		if got := m.list.Name().ID; got != want {
			t.Errorf("moved: %t: the cursor is on %s, want %s", moved, got, want)
		}
	}
}

// A list that shows already stays until all is read anew.
func TestSessions_stayUntilTheyAreListedAnew(t *testing.T) {
	m, s, msg := listingOf(t, 40, 0)
	close(s.more)
	drain(m, msg)
	s.first, s.more = 10, make(chan struct{})
	_, cmd := m.Update(m.listSessions()().(tea.BatchMsg)[0]())
	if m.list.Len() != 40 {
		t.Errorf("%d sessions show while they are read", m.list.Len())
	}
	close(s.more)
	readOn(m, cmd)
	if m.list.Len() != 10 {
		t.Errorf("%d sessions show at last", m.list.Len())
	}
}

// A listing ends when its answer is not awaited.
func TestSessions_endWhereNobodyWaits(t *testing.T) {
	m, s, msg := listingOf(t, 40, 1000)
	m.stop(listing)
	_, cmd := m.Update(msg)
	if cmd == nil || m.list.Len() > 0 {
		t.Fatalf("%d sessions show", m.list.Len())
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
