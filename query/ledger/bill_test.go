package ledger

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hindcast/model/conversation"
	"hindcast/query"
	"hindcast/store/storetest/skip"
)

// entriesOf returns the sessions of testdata with their accounts.
func entriesOf(t *testing.T) (entries []Entry) {
	t.Helper()
	_, sessions := testHome(t)
	for _, s := range sessions {
		a, _ := readAccount(t, s)
		entries = append(entries, Entry{s, a})
	}
	return entries
}

// naive adds up the answers of entries, those with one key once, in no particular order. repeated are the others.
func naive(entries []Entry) (sum, repeated query.Sum) {
	met := map[uint64]bool{}
	for _, e := range entries {
		for _, m := range e.Moments {
			for _, a := range m.Answers {
				if a.Key != 0 && met[a.Key] {
					repeated.AddAnswer(a.Usage, perToken(1))
					continue
				}
				met[a.Key] = true
				sum.AddAnswer(a.Usage, perToken(1))
			}
		}
	}
	return sum, repeated
}

// isAbout reports whether sums of answers are the same, but for the order in which they were added.
func isAbout(a, b query.Sum) bool {
	return a.Answers == b.Answers && a.Input == b.Input && a.Output == b.Output && a.CacheRead == b.CacheRead && a.CacheWrite == b.CacheWrite &&
		a.Unpriced == b.Unpriced && a.Own == b.Own && a.Listed == b.Listed && math.Abs(a.Cost-b.Cost) < 1e-6
}

// The sum of a home is that of its stores one by one, without the answers that several have; its rows add up to it,
// however it is parted, and no order of the sessions changes it.
func TestNewBill_isTheSumOfTheStores(t *testing.T) {
	skip.Sequential(t)
	entries := entriesOf(t)
	again := 0
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.SliceOfNDistinct(rapid.IntRange(0, len(entries)-1), 0, -1, rapid.ID[int]).Draw(t, "sessions")
		if rapid.Bool().Draw(t, "all") {
			some = rapid.Permutation(slices.Collect(func(yield func(int) bool) {
				for i := range entries {
					if !yield(i) {
						return
					}
				}
			})).Draw(t, "order")
		}
		var chosen []Entry
		stores := map[string][]Entry{}
		for _, i := range some {
			chosen = append(chosen, entries[i])
			at := entries[i].Store.Name + ":" + entries[i].Store.At
			stores[at] = append(stores[at], entries[i])
		}
		by := By(rapid.IntRange(0, len(ByWords())-1).Draw(t, "by"))
		bill := NewBill(by, perToken(1), time.Time{}, chosen)
		want, repeated := naive(chosen)
		again += repeated.Answers
		if !isAbout(bill.Total.Sum, want) {
			t.Fatalf("%+v, not %+v", bill.Total.Sum, want)
		}
		var each Sum
		for _, of := range stores {
			one := NewBill(ByDay, perToken(1), time.Time{}, of).Total
			each.AddSum(one.Sum)
			_, own := naive(of)
			repeated.AddSum(query.Sum{Answers: -own.Answers, Input: -own.Input, Output: -own.Output, CacheRead: -own.CacheRead, CacheWrite: -own.CacheWrite, Cost: -own.Cost, Unpriced: -own.Unpriced, Own: -own.Own, Listed: -own.Listed})
		}
		want.AddSum(repeated) // of other stores
		each.Calls, each.Errors, each.Milliseconds = 0, 0, 0
		if !isAbout(each.Sum, want) {
			t.Fatalf("the stores have %+v, and the home and what they repeat %+v", each.Sum, want)
		}
		var rows Sum
		for _, r := range bill.Rows {
			if r.Depth > 0 {
				continue
			}
			rows.AddSum(r.Sum.Sum)
			rows.Left.AddSum(r.Left)
			rows.Dropped.AddSum(r.Dropped)
			rows.Turns, rows.Failures, rows.Waited, rows.Branches = rows.Turns+r.Turns, rows.Failures+r.Failures, rows.Waited+r.Waited, rows.Branches+r.Branches
		}
		total := bill.Total
		if !isAbout(rows.Sum, total.Sum) || !isAbout(rows.Left, total.Left) || !isAbout(rows.Dropped, total.Dropped) {
			t.Fatalf("by %s the rows have %+v, and all %+v", by, rows, total)
		}
		if by == ByModel {
			total.Turns, total.Failures, total.Waited, total.Branches, total.Calls = 0, 0, 0, 0, 0
		}
		if rows.Turns != total.Turns || rows.Failures != total.Failures || rows.Waited != total.Waited || rows.Branches != total.Branches || rows.Calls != total.Calls {
			t.Fatalf("by %s the rows have %+v, and all %+v", by, rows, total)
		}
		slices.Reverse(chosen)
		if other := NewBill(by, perToken(1), time.Time{}, chosen); !reflect.DeepEqual(other, bill) {
			t.Fatalf("in another order %+v, not %+v", other, bill)
		}
	})
	if again == 0 {
		t.Error("no answer is in several sessions")
	}
}

// A session that another one started is in the sums of that one, and in a row of its own below it; no person waits for
// it or types to it.
func TestNewBill_bySession(t *testing.T) {
	skip.Sequential(t)
	bill := NewBill(BySession, perToken(1), time.Time{}, entriesOf(t))
	agents := 0
	for i, r := range bill.Rows {
		if r.Depth == 0 {
			continue
		}
		agents++
		if r.Turns != 0 || r.Waited != 0 {
			t.Errorf("%s: %d turns, and waited %v", r.Session.ID, r.Turns, r.Waited)
		}
		top := i - 1
		for bill.Rows[top].Depth > 0 {
			top--
		}
		if above := bill.Rows[top]; !strings.HasPrefix(r.Session.ID, above.Session.ID) || above.Input < r.Input {
			t.Errorf("%s with %v is below %s with %v", r.Session.ID, r.Input, above.Session.ID, above.Input)
		}
	}
	if agents < 3 || agents != bill.Agents {
		t.Errorf("%d sub-agents, and %d rows", bill.Agents, agents)
	}
}

// Days are those of the zone of the time, and nothing before that is in a bill.
func TestNewBill_days(t *testing.T) {
	skip.Sequential(t)
	zone := time.FixedZone("", 5*3600+1800)
	since := time.Date(2026, 11, 23, 0, 0, 0, 0, zone)
	at := func(hours int) Moment {
		return Moment{At: since.Add(time.Duration(hours) * time.Hour).UTC(), Turns: 1, Answers: []Answer{{Usage: conversation.Usage{Counted: true, Input: 1, Model: "m"}}}}
	}
	entries := entriesOf(t)[:1]
	entries[0].Account = &Account{Moments: []Moment{at(-1), at(0), at(23), at(24)}}
	bill := NewBill(ByDay, perToken(1), since, entries)
	var days []string
	for _, r := range bill.Rows {
		days = append(days, r.Day.Format(time.DateOnly))
	}
	if !slices.Equal(days, []string{"2026-11-24", "2026-11-23"}) || bill.Rows[1].Turns != 2 || bill.Total.Input != 3 {
		t.Errorf("%q: %+v", days, bill)
	}
}
