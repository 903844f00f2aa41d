package model

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// settled returns the headers that are off the path as "id: why", after Settle.
func settled(headers []Header, facts HeadFacts) string {
	Settle(headers, facts)
	var lines []string
	for i := range headers {
		h := &headers[i]
		switch {
		case h.Orphaned && h.Reason == nil:
			lines = append(lines, h.ID+": nothing")
		case h.Orphaned:
			lines = append(lines, h.ID+": "+h.Reason.Text(func(t time.Time) string { return t.Format("15:04") }))
		case h.Reason != nil:
			lines = append(lines, h.ID+" is on the path and has a reason")
		}
	}
	return strings.Join(lines, "\n")
}

// chain makes headers from "id<parent" words; a leading * marks the head, a trailing
// ~ that the parent was worked out.
func chain(words string) (headers []Header) {
	for i, word := range strings.Fields(words) {
		h := Header{SessionID: "s", Index: i}
		word, h.Head = strings.TrimPrefix(word, "*"), strings.HasPrefix(word, "*")
		if strings.HasSuffix(word, "~") {
			word, h.Marks = strings.TrimSuffix(word, "~"), MarkInferred
		}
		h.ID, h.ParentID, _ = strings.Cut(word, "<")
		headers = append(headers, h)
	}
	return headers
}

func TestSettle_why(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 5, 0, 0, time.UTC)
	restore := func(to string, index int, after time.Duration) *Reason {
		return &Reason{Kind: ReasonRestore, At: at.Add(after), TargetID: to, TargetIndex: index}
	}
	one, two := restore("a", 0, 0), restore("c", 2, time.Hour)
	failed := &Reason{Kind: ReasonFailedLeaf}
	for _, c := range []struct {
		name, headers string
		facts         HeadFacts
		own           map[string]Header // Orphaned and Reason, by id
		want          string
	}{
		{name: "all lead to the head", headers: "a b<a *c<b"},
		{name: "the newest is the head", headers: "a b<a c<b", facts: HeadFacts{Newest: true}},
		{name: "the newest went back", headers: "a b<a c<a d<c", facts: HeadFacts{Newest: true}, want: "b: left when the agent went on from #0"},
		{name: "the newest went back twice", headers: "a b<a c<b d<a e<b", facts: HeadFacts{Newest: true}, want: "c: left when the agent went on from #0\nd: left when the agent went on from #1"},
		{name: "the newest has no parent", headers: "a b<a c", facts: HeadFacts{Newest: true}, want: "a: left when the agent went on from the start\nb: left when the agent went on from the start"},
		{name: "a branch from before", headers: "a b<a *c<a", want: "b: another branch was chosen"},
		{name: "a cut in a log", headers: "a b<a~ c<b~ *d<a~", want: "b: cut off by a rewind to #0\nc: cut off by a rewind to #0"},
		{name: "newer ones, and the framework names its head", headers: "a *b<a c<b", facts: HeadFacts{Pointed: true},
			want: "c: the framework's pointer names another snapshot"},
		{name: "newer ones, and the framework searches", headers: "a *b<a c<b", want: "c: another branch was chosen"},
		{name: "the last that is newer is no cut", headers: "a *b<a~ c<b~", facts: HeadFacts{Pointed: true},
			want: "c: the framework's pointer names another snapshot"},
		{name: "what lies before the path's next and after a cut", headers: "a b<a~ c<a~ *d<b~", want: "c: another branch was chosen"},
		{name: "its parent is gone", headers: "b<gone a *c<a", want: "b: its parent is no longer in the store"},
		{name: "a circle", headers: "x<y y<x *a", want: "x: its lineage runs in a circle\ny: its lineage runs in a circle"},
		{name: "a restore, and the agent went on", headers: "a b<a c<b *d<a", facts: HeadFacts{Moves: []Move{{From: "c", To: "a", Why: one}}},
			want: "b: left by a restore to #0 at 12:05\nc: left by a restore to #0 at 12:05"},
		{name: "the last restore counts", headers: "a b<a c<b *d<a", facts: HeadFacts{Moves: []Move{{From: "c", To: "a", Why: one}, {From: "a", To: "c", Why: two}, {From: "c", To: "a", Why: restore("a", 0, 2*time.Hour)}}},
			want: "b: left by a restore to #0 at 14:05\nc: left by a restore to #0 at 14:05"},
		{name: "what came back and was left by the framework", headers: "a b<a c<b *d<a", facts: HeadFacts{Moves: []Move{{From: "c", To: "a", Why: one}, {From: "a", To: "c", Why: two}}},
			want: "b: another branch was chosen\nc: another branch was chosen"},
		{name: "what a restore kept was left by the framework", headers: "r a<r b<a *c<r", facts: HeadFacts{Moves: []Move{{From: "b", To: "a", Why: two}}},
			want: "a: another branch was chosen\nb: left by a restore to #2 at 13:05"},
		{name: "heads that are gone", headers: "a b<a *c<a", facts: HeadFacts{Moves: []Move{{From: "x", To: "y", Why: one}, {Why: one}}},
			want: "b: another branch was chosen"},
		{name: "what a row knows of itself", headers: "a b<a *c<a", own: map[string]Header{"b": {Reason: failed}, "c": {Reason: failed}},
			want: "b: the step failed or was aborted"},
		{name: "a restore says more than that", headers: "a b<a *c<a", own: map[string]Header{"b": {Reason: failed}}, facts: HeadFacts{Moves: []Move{{From: "b", To: "a", Why: one}}},
			want: "b: left by a restore to #0 at 12:05"},
		{name: "what no framework sees is off the path", headers: "a b<a *c<b", own: map[string]Header{"b": {Orphaned: true, Reason: &Reason{Kind: ReasonUndo}}},
			want: "b: made by a write that was undone"},
		{name: "nothing is loaded", headers: "a b<a", own: map[string]Header{"a": {Orphaned: true, Reason: &Reason{Kind: ReasonPointer}}, "b": {Orphaned: true, Reason: &Reason{Kind: ReasonPointer}}},
			want: "a: the framework's pointer names another snapshot\nb: the framework's pointer names another snapshot"},
		{name: "nothing at all"},
	} {
		headers := chain(c.headers)
		for i := range headers {
			if own, ok := c.own[headers[i].ID]; ok {
				headers[i].Orphaned, headers[i].Reason = own.Orphaned, own.Reason
			}
		}
		if got := settled(headers, c.facts); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

func TestSettle_oneReasonForThoseThatLeftTogether(t *testing.T) {
	headers := chain("a b<a~ c<b~ *d<a~ e<d~")
	Settle(headers, HeadFacts{Pointed: true})
	if headers[1].Reason != headers[2].Reason || headers[1].Reason == headers[4].Reason {
		t.Errorf("the reasons are %p %p %p", headers[1].Reason, headers[2].Reason, headers[4].Reason)
	}
	if headers[1].Reason.TargetName != "" {
		t.Errorf("a name is kept: %+v", headers[1].Reason)
	}
}

func TestSessionInfo_countsNoSteps(t *testing.T) {
	headers := chain("a b<a c<b *d<a")
	headers[2].Marks = MarkTraced
	Settle(headers, HeadFacts{})
	var info SessionInfo
	info.Count(headers)
	if info.Snapshots != 3 || info.Orphaned != 1 || info.Head.ID != "d" || info.Head.Index != 3 {
		t.Errorf("%+v", info)
	}
}

// TestSettle_theTimelineSaysTheSame: who reads the headers alone, who draws them, and
// the list of sessions agree.
func TestSettle_theTimelineSaysTheSame(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(r, "n")
		headers := make([]Header, n)
		head := rapid.IntRange(0, n-1).Draw(r, "head")
		for i := range headers {
			h := &headers[i]
			*h = Header{ID: fmt.Sprint(i), SessionID: "s", Index: i, Head: i == head}
			if p := rapid.IntRange(-1, n).Draw(r, "parent"); p >= 0 {
				h.ParentID = fmt.Sprint(p)
			}
			if rapid.Bool().Draw(r, "inferred") {
				h.Marks = MarkInferred
			}
			if rapid.IntRange(0, 5).Draw(r, "known") == 0 {
				h.Reason = &Reason{Kind: ReasonFailedLeaf}
			}
		}
		facts := HeadFacts{Pointed: rapid.Bool().Draw(r, "pointed")}
		for range rapid.IntRange(0, 3).Draw(r, "moves") {
			id := func(what string) string { return fmt.Sprint(rapid.IntRange(-1, n).Draw(r, what)) }
			m := Move{From: id("from"), To: id("to")}
			m.Why = &Reason{Kind: ReasonRestore, TargetID: m.To}
			facts.Moves = append(facts.Moves, m)
		}
		Settle(headers, facts)
		drawn := NewTimeline(append([]Header(nil), headers...))
		for i := range headers {
			h := &headers[i]
			if h.Orphaned == drawn.OnPath(Node(i)) || h.Orphaned != (h.Reason != nil) {
				r.Fatalf("%d is orphaned: %t, on the path: %t, has %+v", i, h.Orphaned, drawn.OnPath(Node(i)), h.Reason)
			}
			if why := drawn.Reason(Node(i)); h.Orphaned && (why.Kind != h.Reason.Kind || why.TargetID != h.Reason.TargetID || why.Kind == ReasonUnknown) {
				r.Fatalf("%d is off the path for %+v, drawn for %+v", i, h.Reason, why)
			}
		}
		var info SessionInfo
		info.Count(headers)
		if info.Snapshots != n || info.Orphaned != drawn.Orphans() || info.Head != headers[head].Point() {
			r.Fatalf("%+v is told, %d off the path", info, drawn.Orphans())
		}
	})
}
