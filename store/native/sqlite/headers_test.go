package sqlite_test

import (
	"reflect"
	"strings"
	"testing"

	"hindcast/store"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// TestHeaders_ofManyAreThoseOfFew: the headers of a long session, which are cut from the
// pages of the file, are those that SQLite gives one by one.
func TestHeaders_ofManyAreThoseOfFew(t *testing.T) {
	skip.Sequential(t)
	const count = 7_000
	s, _ := newStore(t)
	for _, session := range []string{"before", "long", "then"} {
		rows := func(yield func(store.Row, error) bool) {
			for row, err := range storetest.Grow(session, count, 40) {
				switch row.Header.Visit % 500 {
				case 3:
					row.Header.Title = strings.Repeat("a title that goes on on other pages, ", 300)
				case 4:
					row.Header.EventName, row.Header.Title = "an event of its own", "with \"quotes\""
				case 5:
					row.Header.ParentVisit = 1 // far from here
				}
				if !yield(row, err) {
					return
				}
			}
		}
		if n, err := s.Import(t.Context(), rows); err != nil || n != count {
			t.Fatal(n, err)
		}
	}
	for _, session := range []string{"before", "long", "then"} {
		want, _, err := s.Tail(t.Context(), session, count)
		if err != nil || len(want) != count {
			t.Fatal(len(want), err)
		}
		got := storetest.Headers(t, s, session)
		if len(got) != count {
			t.Fatalf("%d headers of %s instead of %d", len(got), session, count)
		}
		for i := range want {
			if !reflect.DeepEqual(got[i], want[i]) {
				t.Fatalf("%s: %+v\ninstead of\n%+v", session, got[i], want[i])
			}
		}
	}
}

// TestHeaders_takeFewAllocations: the driver takes nine of them a row, and the headers hardly more.
func TestHeaders_takeFewAllocations(t *testing.T) {
	skip.Counting(t)
	const count = 20_000
	s, _ := newStore(t)
	if _, err := s.Import(t.Context(), storetest.Grow("s", count, 40)); err != nil {
		t.Fatal(err)
	}
	n := 0
	took := allocated(t, func() {
		for _, err := range s.Headers(t.Context(), "s") {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
	})
	if n != count || took > 10*count {
		t.Errorf("%d headers take %d allocations", n, took)
	}
}
