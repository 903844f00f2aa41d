package model

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// randomPrompts returns random headers, and makes a prompt of every third.
func randomPrompts(rng *rand.Rand) []Header {
	headers := randomHeaders(rng)
	for i := range headers {
		if rng.IntN(3) == 0 {
			headers[i].Event, headers[i].EventName = SnapshotEventNamed, "user input"
		}
	}
	return headers
}

// lineOf returns the visits of a turn as plain walking finds them, and the visits that a fold of it hides.
func lineOf(t *Timeline, opens []bool, first Node) (line, hidden []Node) {
	last := first
	for n := t.Next(first); n != NoNode; n = t.Next(n) {
		if end := t.EndOf(n); end != NoNode && opens[end] {
			break
		}
		line, last = append(line, n), n
	}
	seen := false // a branch at the end begins with a prompt
	for _, n := range append([]Node{first}, line...) {
		for c := range t.Children(n) {
			end := t.EndOf(c)
			seen = seen || n == last && c != t.Next(n) && end != NoNode && opens[end]
			if c != t.Next(n) && !seen {
				hidden = append(hidden, c)
			}
		}
	}
	for i := 0; i < len(hidden); i++ {
		hidden = slices.AppendSeq(hidden, t.Children(hidden[i]))
	}
	return line, append(hidden, line...)
}

// Turns are found as plain walking finds them, and a fold of a turn hides exactly its rest.
func TestTurns_areAsPlainWalkingFindsThem(t *testing.T) {
	folded := 0
	for seed := range uint64(600) {
		rng := rand.New(rand.NewPCG(seed, 5))
		tl := NewTimeline(randomPrompts(rng))
		turns := FindTurns(tl)
		opens, n := make([]bool, tl.Len()), 0
		for i := range opens {
			h := tl.Header(Node(i))
			opens[i] = !tl.IsStep(Node(i)) && h.EventName == "user input" && (h.Reason == nil || h.Reason.Kind != ReasonSidechain)
			if opens[i] {
				n++
			}
		}
		if n == 0 {
			continue
		}
		if turns.Len() != n {
			t.Fatalf("seed %d: %d turns, not %d", seed, turns.Len(), n)
		}
		for i := range turns.Len() {
			turn := turns.Turn(i)
			line, hidden := lineOf(tl, opens, turn.First)
			if turn.Steps != len(line) || len(line) > 0 && turn.Last != line[len(line)-1] {
				t.Fatalf("seed %d: %+v, not of %v", seed, turn, line)
			}
			if turn.HidesRows() != (len(hidden) > 0) {
				t.Fatalf("seed %d: %+v hides %v", seed, turn, hidden)
			}
			if len(hidden) == 0 {
				continue
			}
			f := NewFolds(tl, turns)
			f.UnfoldAll()
			rows := f.Rows()
			f.Fold(turn.First)
			gone := 0
			for row := range tl.Rows() {
				if at := tl.Row(row).Node; at != NoNode && f.Row(f.Visible(row)) != row {
					gone++
					if !slices.Contains(hidden, at) {
						t.Fatalf("seed %d: a fold at %d hides %d", seed, turn.First, at)
					}
				}
			}
			if gone != len(hidden) {
				t.Fatalf("seed %d: a fold at %d hides %d visits, not %v", seed, turn.First, gone, hidden)
			}
			folded++
			if f.RevealRow(tl.RowOf(hidden[0])); f.Rows() != rows {
				t.Fatalf("seed %d: %d rows show again, not %d", seed, f.Rows(), rows)
			}
		}
	}
	if folded < 300 {
		t.Errorf("%d turns folded: the test is lopsided", folded)
	}
}

// Turns of a timeline that grew are those that are found anew, and a folded one hides what came to it.
func TestTurns_grow(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 6))
		var headers []Header
		more := func(n int) (fresh []Header) {
			for range n {
				i := len(headers)
				h := Header{ID: string(rune('a'+i%26)) + string(rune('a'+i/26)), SessionID: "s", Index: i, TurnIndex: i / 5, Visit: int64(i + 1), ParentVisit: int64(i)}
				if rng.IntN(6) == 0 && i > 8 {
					h.Event, h.EventName = SnapshotEventNamed, "user input"
				}
				headers, fresh = append(headers, h), append(fresh, h)
			}
			return fresh
		}
		more(6)
		if seed%2 == 0 {
			headers[2].Event, headers[2].EventName = SnapshotEventNamed, "user input"
		}
		tl := NewTimeline(slices.Clone(headers))
		turns := FindTurns(tl)
		f := NewFolds(tl, turns)
		for range 10 {
			f.FoldAll()
			from := Node(tl.Len())
			tl.Append(more(rng.IntN(4))...)
			if turns.AppendVisits(from) {
				f.Rebase(tl, turns)
			}
			anew := FindTurns(NewTimeline(slices.Clone(headers)))
			if !slices.Equal(turns.list, anew.list) || turns.prompted != anew.prompted || turns.open != anew.open {
				t.Fatalf("seed %d: %+v, and anew %+v", seed, turns, anew)
			}
			want := NewFolds(tl, turns)
			for i := range f.folds {
				want.Fold(f.folds[i].node)
			}
			if f.Rows() != want.Rows() {
				t.Fatalf("seed %d: %d rows show, not %d", seed, f.Rows(), want.Rows())
			}
		}
	}
}

// A compaction and a sub-agent open no turn, and a store without prompts counts its turns.
func TestTurns_ofEvents(t *testing.T) {
	named := func(i int, event string, turn int) Header {
		return Header{ID: string(rune('a' + i)), SessionID: "s", Index: i, Visit: int64(i + 1), ParentVisit: int64(i), TurnIndex: turn, Event: SnapshotEventNamed, EventName: event}
	}
	aside := named(3, "user input", 0)
	aside.Reason = &Reason{Kind: ReasonSidechain}
	for _, c := range []struct {
		headers []Header
		want    []Node
		divide  bool
	}{
		{[]Header{named(0, "user input", 0), named(1, "after model", 0), named(2, "compaction", 1), aside, named(4, "command", 2)}, []Node{0}, true},
		{[]Header{named(0, "node", 0), named(1, "node", 0), named(2, "node", 1), named(3, "node", TurnUnknown)}, []Node{0, 2}, true},
		{[]Header{named(0, "node", 0), named(1, "failed", 0), named(2, "node", 0)}, []Node{0, 2}, true},
		{[]Header{named(0, "node", 0), named(1, "node", 0)}, []Node{0}, false},
	} {
		turns := FindTurns(NewTimeline(c.headers))
		var got []Node
		for i := range turns.Len() {
			got = append(got, turns.Turn(i).First)
		}
		if !slices.Equal(got, c.want) || turns.DivideSession() != c.divide {
			t.Errorf("turns open at %v, not %v", got, c.want)
		}
	}
}
