package ledger

import (
	"context"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"hindcast/model/conversation"
	"hindcast/query"
	"hindcast/store"
	"hindcast/store/home"
	"hindcast/store/kinds"
	"hindcast/store/media/files"
	"hindcast/store/storetest/skip"
)

// perToken is a price for every model but those without a name.
type perToken float64

func (p perToken) Cost(u conversation.Usage) (float64, conversation.PriceSource) {
	if u.Model == "" {
		return 0, conversation.Unpriced
	}
	return float64(p) * (u.Input + u.Output), conversation.ListPrice
}

// testHome returns the home of the stores in testdata, and its sessions in order.
func testHome(t *testing.T) (*home.Home, []home.Session) {
	t.Helper()
	dir, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	h := home.New(kinds.All(nil, ""), home.Places{Around: store.Surroundings{Env: func(string) string { return "" }}, Below: []string{dir}})
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	var sessions []home.Session
	for s, err := range h.Sessions(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if s.Err == nil {
			sessions = append(sessions, *s)
		}
	}
	slices.SortFunc(sessions, func(a, b home.Session) int { return home.NewestFirst(&a, &b) })
	return h, sessions
}

// readAccount reads an account, without notes.
func readAccount(t *testing.T, s home.Session) (*Account, store.Store) {
	t.Helper()
	opened, err := s.Store.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a, err := ReadAccount(t.Context(), opened, &s.SessionInfo)
	if err != nil {
		t.Fatalf("%s %s: %v", s.Store.At, s.ID, err)
	}
	return a, opened
}

// An account adds up to the sums of the session, also after it was a note.
func TestAccount_isTheSumOfTheSession(t *testing.T) {
	skip.Sequential(t)
	_, sessions := testHome(t)
	answers, turns, waited, left := 0, 0, time.Duration(0), 0
	for _, s := range sessions {
		a, opened := readAccount(t, s)
		noted, ok := decodeAccount(a.encode())
		if !ok {
			t.Fatalf("%s %s: the note is damaged", s.Store.At, s.ID)
		}
		sum := a.Sum(perToken(1))
		if again := noted.Sum(perToken(1)); !reflect.DeepEqual(again, sum) {
			t.Errorf("%s %s: %+v, and of its note %+v", s.Store.At, s.ID, sum, again)
		}
		var want query.Sum
		timeline, err := query.ReadTimeline(t.Context(), opened, s.ID)
		if err != nil {
			t.Fatal(err)
		}
		for stat, err := range query.Open(opened, timeline).Stats(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			want.Add(stat, perToken(1))
		}
		if want.Answers == 0 {
			continue // see TestAccount_ofCountsAlone
		}
		if math.Abs(sum.Cost-want.Cost) < 1e-9 && math.Abs(sum.Milliseconds-want.Milliseconds) <= float64(want.Answers) {
			want.Cost, want.OwnCost, want.Milliseconds = sum.Cost, sum.OwnCost, sum.Milliseconds // added up in another order
		}
		if sum.Calls != want.Calls || sum.Errors != want.Errors || sum.Answers > want.Answers || sum.Input > want.Input {
			t.Errorf("%s %s: %+v, not %+v", s.Store.At, s.ID, sum.Sum, want)
		}
		if sum.Answers == want.Answers && sum.Sum != want {
			t.Errorf("%s %s: %+v, not %+v", s.Store.At, s.ID, sum.Sum, want)
		}
		answers, turns, waited, left = answers+sum.Answers, turns+sum.Turns, waited+sum.Waited, left+sum.Branches
	}
	if answers == 0 || turns == 0 || waited == 0 || left == 0 {
		t.Errorf("%d answers, %d turns, %d branches, %v waited", answers, turns, left, waited)
	}
}

// A damaged note is no account, whatever is damaged.
func TestDecodeAccount_damaged(t *testing.T) {
	skip.Sequential(t)
	a := &Account{Branches: []Branch{{Root: "#3"}}, Moments: []Moment{{Branch: 1, Answers: []Answer{{Key: 7}}}}}
	note := a.encode()
	for n := range note {
		if _, ok := decodeAccount(note[:n]); ok {
			t.Errorf("%d of %d bytes are an account", n, len(note))
		}
	}
	if _, ok := decodeAccount(append(note, 0)); ok {
		t.Error("what follows an account is taken")
	}
}

// A session that did not change is not read again, also by the next run; one that changed is.
func TestLedger_readsWhatChanged(t *testing.T) {
	_, sessions := testHome(t)
	sessions = slices.DeleteFunc(sessions, func(s home.Session) bool { return s.UpdatedAt.IsZero() })
	cache := files.NewCache(t.TempDir())
	first := New(cache)
	var all sync.WaitGroup
	for _, s := range sessions {
		all.Go(func() {
			if _, err := first.Account(t.Context(), s); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for range 2 { // what is kept once is not written again
		s := sessions[0]
		s.Size = 5 << 20
		if _, err := first.Account(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		first.Keep()
	}
	ended, end := context.WithCancel(t.Context())
	end()
	same := sessions[0]
	same.Size = 5 << 20
	if _, err := New(cache).Account(ended, same); err != nil {
		t.Errorf("it is read again: %v", err)
	}
	for name, change := range map[string]func(s *home.Session){
		"time":  func(s *home.Session) { s.UpdatedAt = s.UpdatedAt.Add(1) },
		"size":  func(s *home.Session) { s.Size++ },
		"count": func(s *home.Session) { s.Snapshots++ },
		"head":  func(s *home.Session) { s.Head.Index++ },
	} {
		other := same
		change(&other)
		if _, ok := New(cache).Recall(other); ok {
			t.Errorf("of another %s the account is as it was", name)
		}
	}
	young := same
	young.UpdatedAt = time.Now()
	if _, err := first.Account(t.Context(), young); err != nil {
		t.Fatal(err)
	}
	if _, ok := first.Recall(young); ok {
		t.Error("the account of a session that may change within a tick is kept")
	}
}
