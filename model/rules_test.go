package model

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
)

// The rules of the design that a timeline shows. Rule 1 is tested with Verify,
// rule 10 with the pictures of damaged lineages; rule 9 is a store's.

// Rule 2: a row is identified by its session and its id.
func TestRule02_rowsOfTwoSessionsStayApart(t *testing.T) {
	picture{"the same states in two sessions", `
a - in:one       ¦ ◌ a secondLeaf
b a in:one       ¦ ◌ b secondLeaf
a - in:two       ¦
b a in:two       ¦ ○ a
c b in:two       ¦ ○ b
                 ¦ ◉ c
`}.check(t)
}

// Rule 3: A, B, A has one row for A, but two visits.
func TestRule03_theVisitsOfABAAreOneLine(t *testing.T) {
	for _, p := range []picture{
		{"by id", `
A                ¦ ○ A
B A              ¦ ○ B
A B              ¦ ○ A
C A #3           ¦ ◉ C
`}, {"by visit", `
A - v1           ¦ ○ A
B A v2 ^v1       ¦ ○ B
A B v3 ^v2       ¦ ○ A
C A v4 ^v3 #3    ¦ ◉ C
`}, {"the end of a turn and of the invocation are one state", `
A                ¦ ○ A
B A              ¦ ○ B
B B              ¦ ○ B
C B #3           ¦ ◉ C
`}, {"a restore to the first visit of A tells it from the second", `
A - v1           ¦ ○   A
B A v2 ^v1       ¦ ├─╮
A B v3 ^v2       ¦ │ ◌ B secondLeaf
C A v4 ^v1 #9    ¦ │ ◌ A secondLeaf
                 ¦ ◉   C
`},
	} {
		t.Run(p.name, func(t *testing.T) { p.check(t) })
	}
}

// Rule 4: saving an orphaned id is a visit on the active path.
func TestRule04_anOrphanedIdSavedAgainIsOnThePath(t *testing.T) {
	tl := picture{"x was left, and came again", `
a                ¦ ○   a
b a              ¦ ○   b
x b orphaned     ¦ ├─╮
c b              ¦ │ ◌ x restore #1
x c              ¦ ○   c
                 ¦ ◉   x
`}.check(t)
	if n, err := tl.Resolve("#3"); n != 4 || err != nil {
		t.Errorf("#3 is visit %d, %v; not the active one of x", n, err)
	}
	if _, err := tl.Resolve("x"); !errors.Is(err, ErrAmbiguous) {
		t.Errorf("x, which has two visits: %v", err)
	}
}

// Rule 5: a restore to an active snapshot orphans what comes after it, one to
// an orphaned snapshot makes its path active again.
func TestRule05_restoresAreDrawn(t *testing.T) {
	for _, p := range []picture{
		{"before", `
0                ¦ ○   0
1 0              ¦ ○   1
2 1 orphaned     ¦ ├─╮
3 2 orphaned     ¦ │ ◌ 2 restore #1
4 1              ¦ │ ◌ 3 restore #1
5 4              ¦ ○   4
                 ¦ ◉   5
`}, {"to the active 0", `
0 - head         ¦ ◉     0
1 0 orphaned     ¦ ╰─╮
2 1 orphaned     ¦   ◌   1 restore #0
3 2 orphaned     ¦   ├─╮
4 1 orphaned     ¦   │ ◌ 2 restore #1
5 4 orphaned     ¦   │ ◌ 3 restore #1
                 ¦   ◌   4 restore #0
                 ¦   ◌   5 restore #0
`}, {"to the orphaned 2", `
0                ¦ ○   0
1 0              ¦ ○   1
2 1 head         ¦ ├─╮
3 2 orphaned     ¦ │ ◌ 4 restore #1
4 1 orphaned     ¦ │ ◌ 5 restore #1
5 4 orphaned     ¦ ◉   2
                 ¦ ╰─╮
                 ¦   ◌ 3 restore #2
`},
	} {
		t.Run(p.name, func(t *testing.T) { p.check(t) })
	}
}

// Rule 6: after a restore the index goes on from the target's, so that two
// branches share one; order is by index, time and id.
func TestRule06_anIndexOnTwoBranches(t *testing.T) {
	tl := picture{"2 and 3 are there twice", `
a                ¦ ○   a
b a              ¦ ○   b
c b orphaned     ¦ ├─╮
d c orphaned     ¦ │ ◌ c restore #1
e b              ¦ │ ◌ d restore #1
f e              ¦ ○   e
                 ¦ ◉   f
`}.check(t)
	for spec, want := range map[string]string{"#1": "b", "#2.1": "c", "#2.2": "e", "#3.2": "f"} {
		n, err := tl.Resolve(spec)
		if err != nil || tl.Header(n).ID != want {
			t.Errorf("%s is %d, %v; not %s", spec, n, err, want)
		}
	}
	if _, err := tl.Resolve("#2"); !errors.Is(err, ErrAmbiguous) {
		t.Errorf("#2, which is on both branches: %v", err)
	}
	var headers []Header
	for n := range tl.Len() {
		headers = append(headers, tl.Header(Node(n)))
	}
	headers = append(headers, Header{ID: "a0", Index: 2, CreatedAt: headers[2].CreatedAt}, Header{ID: "zz", Index: 2})
	slices.SortFunc(headers, func(a, b Header) int { return CompareHeaders(&a, &b) })
	order := ""
	for _, h := range headers {
		order += h.ID + " "
	}
	if want := "a b zz a0 c e d f "; order != want {
		t.Errorf("in order %q, not %q", order, want)
	}
}

// Rule 7: the turn index counts completed turns; inside a turn it is that of
// the turn, and the end of the invocation repeats the last.
func TestRule07_turnsAreCountedAlongThePath(t *testing.T) {
	const end, tools, over = SnapshotEventTurnEnd, SnapshotEventToolIterationEnd, SnapshotEventInvocationEnd
	type step struct {
		event SnapshotEvent
		turn  int
	}
	for name, test := range map[string]struct {
		steps []step
		fault string
	}{
		"as the design draws it":    {[]step{{end, 0}, {tools, 1}, {end, 1}, {end, 2}, {over, 2}}, ""},
		"two invocations":           {[]step{{end, 0}, {over, 0}, {tools, 1}, {tools, 1}, {end, 1}, {over, 1}}, ""},
		"a recorder that skips":     {[]step{{end, 4}, {end, 9}, {over, 12}}, ""},
		"no turns at all":           {[]step{{end, 0}, {end, 0}, {tools, 0}}, ""},
		"the turn goes back":        {[]step{{end, 1}, {end, 0}}, FaultTurnBack},
		"a turn ends twice":         {[]step{{end, 1}, {end, 1}}, FaultTurnRepeated},
		"tools in a completed turn": {[]step{{end, 1}, {tools, 1}}, FaultTurnRepeated},
		"an event of another kind":  {[]step{{end, 1}, {7, 1}}, ""},
	} {
		headers := make([]Header, len(test.steps))
		for i, s := range test.steps {
			headers[i] = Header{ID: string(rune('a' + i)), Index: i, TurnIndex: s.turn, Event: s.event}
			if i > 0 {
				headers[i].ParentID = headers[i-1].ID
			}
		}
		fault := ""
		for _, f := range NewTimeline(headers).Faults() {
			fault += f.Code
		}
		if fault != test.fault {
			t.Errorf("%s: fault %q, not %q", name, fault, test.fault)
		}
	}
}

// Rule 8: the integer is written, the integer and the name are read, and what
// is not known survives.
func TestRule08_eventsInJSON(t *testing.T) {
	for _, test := range []struct {
		in, out string
		event   SnapshotEvent
		name    string
		inWords string
	}{
		{in: `0`, out: `0`, event: SnapshotEventTurnEnd, inWords: "turn end"},
		{in: `1`, out: `1`, event: SnapshotEventToolIterationEnd, inWords: "tool iteration"},
		{in: `2`, out: `2`, event: SnapshotEventInvocationEnd, inWords: "invocation end"},
		{in: `"turnEnd"`, out: `0`, event: SnapshotEventTurnEnd, inWords: "turn end"},
		{in: `"toolIterationEnd"`, out: `1`, event: SnapshotEventToolIterationEnd, inWords: "tool iteration"},
		{in: `"invocationEnd"`, out: `2`, event: SnapshotEventInvocationEnd, inWords: "invocation end"},
		{in: `7`, out: `7`, event: 7, inWords: "event 7"},
		{in: `-3`, out: `-3`, event: -3, inWords: "event -3"},
		{in: `"detach"`, out: `"detach"`, event: SnapshotEventNamed, name: "detach", inWords: "detach"},
	} {
		var h Header
		if err := json.Unmarshal([]byte(`{"id":"a","event":`+test.in+`}`), &h); err != nil {
			t.Errorf("%s: %v", test.in, err)
			continue
		}
		if h.Event != test.event || h.EventName != test.name || h.EventText() != test.inWords {
			t.Errorf("%s is read as %d %q, %q in words", test.in, h.Event, h.EventName, h.EventText())
		}
		var written struct{ Event json.RawMessage }
		if err := json.Unmarshal(mustMarshal(t, h), &written); err != nil || string(written.Event) != test.out {
			t.Errorf("%s is written as %s, %v; not as %s", test.in, written.Event, err, test.out)
		}
		var s Snapshot[struct{}]
		if err := json.Unmarshal([]byte(`{"id":"a","event":`+test.in+`}`), &s); err != nil || s.Event != test.event {
			t.Errorf("%s is %d in a snapshot, %v", test.in, s.Event, err)
			continue
		}
		var again Snapshot[struct{}]
		if err := json.Unmarshal(mustMarshal(t, s), &again); err != nil || again.Event != test.event {
			t.Errorf("%s comes back as %d, %v", test.in, again.Event, err)
		}
	}
	for _, bad := range []string{`1.5`, `true`, `[]`, `99999999999999999999`} {
		var h Header
		if err := json.Unmarshal([]byte(`{"event":`+bad+`}`), &h); err == nil {
			t.Errorf("%s is read as %d", bad, h.Event)
		}
		var s Snapshot[struct{}]
		if err := json.Unmarshal([]byte(`{"event":`+bad+`}`), &s); err == nil {
			t.Errorf("%s is read into a snapshot as %d", bad, s.Event)
		}
	}
}

func mustMarshal(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
