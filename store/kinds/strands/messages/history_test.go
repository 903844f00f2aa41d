package messages

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"hindcast/model"
	"hindcast/store/media/journal"
)

// someHistory draws what entries say that often say the same.
func someHistory(t *rapid.T) (p *history, entries []*journal.Entry) {
	p = &history{fileOf: map[string]int32{}, number: map[contentKey]int32{}}
	number := func(k int) int32 {
		n := rapid.IntRange(-1, 2).Draw(t, "content")
		if n < 0 {
			return none
		}
		f, _ := fileOf(fmt.Sprintf("message_%d.json", k))
		return p.numberOf(f, journal.Version{SHA256: fmt.Sprintf("%d of %d", n, k), Mode: 0o600})
	}
	lists := [][]mention{nil}
	for range rapid.IntRange(1, 4).Draw(t, "lists") {
		var list []mention
		for k := range 6 {
			if !rapid.Bool().Draw(t, "is named") {
				continue
			}
			m := mention{before: number(k), after: number(k), copied: rapid.IntRange(0, 5).Draw(t, "copied") == 0}
			if m.before != none || m.after != none {
				list = append(list, m)
			}
		}
		lists = append(lists, list)
	}
	was := []*names{nil, namesFrom("0..9"), namesFrom("0,2..4")}
	rarely := func(what string) bool { return rapid.IntRange(0, 7).Draw(t, what) == 0 }
	for i := range rapid.IntRange(1, 12).Draw(t, "entries") {
		e := &journal.Entry{JournalEntry: model.JournalEntry{ID: int64(i + 1), Op: model.OpRestore, Undone: rarely("undone")}}
		if rarely("broken") {
			e.Broken = "yes"
		}
		e.TakenBack = e.Undone && rarely("taken back")
		if rarely("new") {
			e.NewSession = "new"
		}
		one := historyEntry{entry: i, changes: rapid.SampledFrom(lists).Draw(t, "changes"), was: rapid.SampledFrom(was).Draw(t, "was")}
		if len(p.contents) > 0 && rarely("forgets") {
			one.forgets = []int32{p.contents[rapid.IntRange(0, len(p.contents)-1).Draw(t, "forgotten")].as}
		}
		entries, p.entries = append(entries, e), append(p.entries, one)
	}
	return p, entries
}

// What came since the last entry is not in the log that it knew, and neither is what it
// changed; what stands behind such a file is.
func TestPredecessors_ofTheLogThatWas(t *testing.T) {
	p := &history{fileOf: map[string]int32{}, number: map[contentKey]int32{}}
	file := func(k int) messageFile {
		f, _ := fileOf(fmt.Sprintf("message_%d.json", k))
		return f
	}
	var changes []mention
	for _, k := range []int{3, 6} {
		changes = append(changes, mention{before: p.numberOf(file(k), journal.Version{SHA256: fmt.Sprint(k), Mode: 0o600}), after: none})
	}
	p.entries = []historyEntry{{changes: changes, was: namesFrom("0,2..4,6..8")}}
	var now []messageFile
	for k := range 10 {
		now = append(now, file(k))
	}
	p.predecessors(now)
	var got []messageFile
	for _, n := range p.log {
		got = append(got, p.files[n])
	}
	if want := []messageFile{file(0), file(2), file(4), file(7), file(8)}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

// What entries tell together, all at once, is what they tell one after the other.
func TestOutcome_ofManyAtOnce(t *testing.T) {
	passed := 0
	rapid.Check(t, func(r *rapid.T) {
		p, entries := someHistory(r)
		all := p.entries
		passed += len(p.toldAgain(entries, 0))
		at, last := p.outcome(entries), outcome{}
		p.now = outcome{}
		for n := range all {
			p.entries = all[:n+1]
			last = p.outcome(entries)
		}
		order := func(list []told) (order []int) {
			for v := range list {
				if list[v].known {
					order = append(order, v)
				}
			}
			slices.SortFunc(order, func(a, b int) int { return list[a].order - list[b].order })
			return order
		}
		if !slices.Equal(order(at.list), order(last.list)) || !slices.Equal(at.forgotten, last.forgotten) {
			r.Fatalf("%v, forgotten %v, and one after the other %v, %v", order(at.list), at.forgotten, order(last.list), last.forgotten)
		}
		for v := range at.list {
			a, b := at.list[v], last.list[v]
			if a.known != b.known || a.content != b.content || a.sure != b.sure || (a.reason == nil) != (b.reason == nil) || a.reason != nil && *a.reason != *b.reason {
				r.Fatalf("of content %d %+v is told, and one after the other %+v", v, a, b)
			}
		}
	})
	if passed == 0 {
		t.Error("none told the same as a later one")
	}
}

// The predecessors are the same whether entries are known to say the same or not.
func TestWorkOut_ofWhatIsAlike(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p, _ := someHistory(r)
		var now []int32
		for n := range p.files {
			if rapid.Bool().Draw(r, "is there") {
				now = append(now, int32(n))
			}
		}
		slices.SortFunc(now, func(a, b int32) int { return p.files[a].compare(p.files[b]) })
		alike := p.workOut(now)
		for k := range p.entries {
			p.entries[k].changes = slices.Clone(p.entries[k].changes)
		}
		if each := p.workOut(now); !slices.Equal(alike, each) {
			r.Fatalf("%v, and each by itself %v", alike, each)
		}
	})
}
