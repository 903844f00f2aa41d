package model

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestHeader_isWrittenWithTheSeedsNames(t *testing.T) {
	at := time.Date(2026, 8, 1, 12, 4, 5, 60, time.UTC)
	for _, test := range []struct {
		name string
		in   Header
		want string
	}{
		{"empty", Header{}, `{"id":"","sessionId":"","index":0,"turnIndex":0,"event":0}`},
		{"the head", Header{ID: "8a1f", ParentID: "03be", SessionID: "s", CreatedAt: at, Index: 4, TurnIndex: 2, Event: SnapshotEventInvocationEnd, Head: true},
			`{"id":"8a1f","parentId":"03be","sessionId":"s","createdAt":"2026-08-01T12:04:05.00000006Z","index":4,"turnIndex":2,"event":2,"head":true}`},
		{"everything", Header{ID: "a", ParentID: "b", SessionID: "s", CreatedAt: at, Index: 1, TurnIndex: 1, Event: SnapshotEventNamed, EventName: "detach",
			Position: "after_model", Title: "book_train", Visit: 3, ParentVisit: 2, Size: 1200, Orphaned: true, Marks: MarkEvicted | MarkError,
			Reason: &Reason{Kind: ReasonRestore, At: at, TargetID: "03be", TargetIndex: 2}},
			`{"id":"a","parentId":"b","sessionId":"s","createdAt":"2026-08-01T12:04:05.00000006Z","index":1,"turnIndex":1,"event":"detach","orphaned":true,` +
				`"reason":{"kind":"restore","at":"2026-08-01T12:04:05.00000006Z","target":"03be","targetIndex":2,"text":"left by a restore to #2 at 2026-08-01T12:04:05Z"},` +
				`"visit":3,"parentVisit":2,"position":"after_model","title":"book_train","size":1200,"marks":["error","evicted"]}`},
		{"a year that RFC 3339 cannot write", Header{ID: "a", CreatedAt: time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC)},
			`{"id":"a","sessionId":"","index":0,"turnIndex":0,"event":0}`},
		{"a zone that RFC 3339 cannot write", Header{ID: "a", CreatedAt: at.In(time.FixedZone("", 30*3600))},
			`{"id":"a","sessionId":"","createdAt":"2026-08-01T12:04:05.00000006Z","index":0,"turnIndex":0,"event":0}`},
	} {
		if got := string(mustMarshal(t, test.in)); got != test.want {
			t.Errorf("%s: written as\n%s\nnot\n%s", test.name, got, test.want)
		}
	}
}

// A snapshot as the seed writes it is a header with a state to pass over.
func TestHeader_readsTheSeedsSnapshots(t *testing.T) {
	snapshot := Snapshot[map[string]any]{
		ID: "a", ParentID: "b", SessionID: "s", CreatedAt: epoch, State: map[string]any{"id": "not this", "index": 99},
		Index: 3, TurnIndex: 2, Event: SnapshotEventToolIterationEnd, Orphaned: true,
	}
	var h Header
	if err := json.Unmarshal(mustMarshal(t, snapshot), &h); err != nil {
		t.Fatal(err)
	}
	want := Header{ID: "a", ParentID: "b", SessionID: "s", CreatedAt: epoch, Index: 3, TurnIndex: 2, Event: SnapshotEventToolIterationEnd, Orphaned: true}
	if !reflect.DeepEqual(h, want) {
		t.Errorf("read as %+v, not %+v", h, want)
	}
}

func TestHeader_refusesWhatIsNotOne(t *testing.T) {
	for in, want := range map[string]string{
		`{"id":"a","id":"b"}`:                 `"id" is there twice`,
		`{"index":"4"}`:                       `"index"`,
		`{"index":99999999999999999999}`:      `"index"`,
		`{"createdAt":"yesterday"}`:           `"createdAt"`,
		`{"reason":7}`:                        `"reason"`,
		`[]`:                                  `object was expected`,
		`null`:                                `object was expected`,
		`{"event":{}}`:                        `"event"`,
		`{"marks":"error"}`:                   `"marks"`,
		`{"attributes":[]}`:                   `"attributes"`,
		`{"a":` + strings.Repeat("[", 10_001): `byte`,
	} {
		var h Header
		err := h.UnmarshalJSON([]byte(in))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: the error is %v", in, err)
		}
		if !reflect.DeepEqual(h, Header{}) {
			t.Errorf("%.40s: read as %+v", in, h)
		}
	}
}

// Keys that differ in case are other keys.
func TestHeader_takesNoOtherKeyForTheId(t *testing.T) {
	var h Header
	if err := json.Unmarshal([]byte(`{"ID":"x","id":"a","Id":"y","SessionId":"z","unknown":[1,2]}`), &h); err != nil {
		t.Fatal(err)
	}
	if h.ID != "a" || h.SessionID != "" {
		t.Errorf("id %q, session %q", h.ID, h.SessionID)
	}
}

// randomHeader returns a header with anything in it.
func randomHeader(rng *rand.Rand) Header {
	text := func() string {
		all := []string{"", "a", "8A1F", "<&>", "\"\\", "é€😀", "\x1b[31m", "\u202e", "\u2028", " "}
		return all[rng.IntN(len(all))]
	}
	at := func() time.Time {
		if rng.IntN(3) == 0 {
			return time.Time{}
		}
		return time.Unix(rng.Int64N(4e9), rng.Int64N(1e9)).UTC()
	}
	h := Header{
		ID: text(), ParentID: text(), SessionID: text(), CreatedAt: at(), Index: rng.IntN(9) - 2, TurnIndex: rng.IntN(9) - 2,
		Event: SnapshotEvent(rng.IntN(9) - 3), Position: text(), Title: text(), Visit: rng.Int64(), ParentVisit: rng.Int64N(3),
		Size: rng.Int64N(3), Orphaned: rng.IntN(2) == 0, Head: rng.IntN(2) == 0, Marks: Marks(rng.IntN(1 << len(markWords))),
	}
	h.Alias, h.Attributes = text(), []Attributes{"", `{"a":1}`, `{"status":"\u003cé\u003e","error":{"b":[]}}`}[rng.IntN(3)]
	if h.Event == SnapshotEventNamed {
		h.EventName = "event of " + text()
	}
	if rng.IntN(2) == 0 {
		h.Reason = &Reason{Kind: ReasonKind(rng.IntN(len(reasonNames))), At: at(), TargetID: text(), TargetIndex: rng.IntN(3) - 1}
	}
	return h
}

func TestHeader_comesBackAsItWas(t *testing.T) {
	for seed := range uint64(2000) {
		h := randomHeader(rand.New(rand.NewPCG(seed, 4)))
		var again Header
		if err := json.Unmarshal(mustMarshal(t, h), &again); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if !reflect.DeepEqual(again, h) {
			t.Fatalf("seed %d: came back as %+v, not %+v", seed, again, h)
		}
	}
}

func FuzzHeader(f *testing.F) {
	for seed := range uint64(8) {
		data, err := json.Marshal(randomHeader(rand.New(rand.NewPCG(seed, 4))))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"id":"\ud800","event":"\u0000","createdAt":"2026-08-01T12:00:00+23:59"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var h, again Header
		if h.UnmarshalJSON(data) != nil {
			return
		}
		written := mustMarshal(t, h)
		if err := json.Unmarshal(written, &again); err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		if rewritten := mustMarshal(t, again); string(rewritten) != string(written) {
			t.Fatalf("written as %s, then as %s", written, rewritten)
		}
	})
}

func TestReason_inWords(t *testing.T) {
	clock := func(at time.Time) string { return at.Format("15:04") }
	at := time.Date(2026, 8, 1, 12, 5, 0, 0, time.UTC)
	for want, reason := range map[string]Reason{
		"left by a restore to #2 at 12:05":                    {Kind: ReasonRestore, At: at, TargetID: "a", TargetIndex: 2},
		"left by a restore to #0":                             {Kind: ReasonRestore, TargetID: "a"},
		"left by a restore to the start at 12:05":             {Kind: ReasonRestore, At: at},
		"another branch was chosen":                           {Kind: ReasonSecondLeaf},
		"the step failed or was aborted":                      {Kind: ReasonFailedLeaf},
		"its parent is no longer in the store":                {Kind: ReasonParentPruned},
		"the framework's pointer names another snapshot":      {Kind: ReasonPointer},
		"cut off by a rewind to #7":                           {Kind: ReasonRewind, TargetID: "a", TargetIndex: 7},
		"cut off by a rewind at 12:05":                        {Kind: ReasonRewind, At: at},
		"its lineage runs in a circle":                        {Kind: ReasonCycle},
		"replaced by a repair at 12:05":                       {Kind: ReasonRepair, At: at},
		"made by a write that was undone":                     {Kind: ReasonUndo},
		"an agent wrote over it":                              {Kind: ReasonOverwritten},
		"before a compaction at 12:05":                        {Kind: ReasonCompaction, At: at},
		"in a compaction of what followed #7 at 12:05":        {Kind: ReasonCompaction, TargetID: "a", TargetIndex: 7, At: at},
		"chain broken: its parent was never written":          {Kind: ReasonChainBroken},
		"chain broken: what follows it was written behind #7": {Kind: ReasonChainBroken, TargetID: "a", TargetIndex: 7},
		"nothing tells why":                                   {Kind: 99},
	} {
		if got := reason.Text(clock); got != want {
			t.Errorf("%+v: %q, not %q", reason, got, want)
		}
	}
}

func TestReasonKind_InWords(t *testing.T) {
	for kind, want := range map[ReasonKind]string{ReasonWentOn: "went on", ReasonSecondLeaf: "second leaf", ReasonRewind: "rewind", 99: ReasonUnknown.String()} {
		if got := kind.InWords(); got != want {
			t.Errorf("%s: %q, not %q", kind, got, want)
		}
	}
}

func TestReasonKind_namesComeBack(t *testing.T) {
	for k := range ReasonKind(len(reasonNames)) {
		if k.String() == "" || ParseReasonKind(k.String()) != k {
			t.Errorf("kind %d is %q, which is %d", k, k, ParseReasonKind(k.String()))
		}
	}
	if got := ParseReasonKind("from the future"); got != ReasonUnknown {
		t.Errorf("an unknown name is %v", got)
	}
}

// TestHeaderReader_readsValuesAsEncodingJSONDoes: what is read in a shorter way is what
// the long one reads.
func TestHeaderReader_readsValuesAsEncodingJSONDoes(t *testing.T) {
	for _, value := range []string{
		`""`, `"a"`, `"\u0041\n"`, `"ü"`, "\"\xff\"", `"\ud800"`, `null`, `7`, `-7`, `-0`, `7.0`, `7e2`, `1.5`, `9223372036854775807`, `9223372036854775808`,
		`true`, `{}`, `"2026-01-01T00:00:00Z"`, `"2026-01-01T00:00:00.5+02:00"`, `"2026-13-01T00:00:00Z"`, `"\u0032026-01-01T00:00:00Z"`,
	} {
		for _, field := range []func() any{
			func() any { return new(string) }, func() any { return new(int) }, func() any { return new(int64) },
			func() any { return new(bool) }, func() any { return new(time.Time) },
		} {
			got, want := field(), field()
			err, failed := readValue([]byte(value), got), json.Unmarshal([]byte(value), want)
			if (err == nil) != (failed == nil) || !reflect.DeepEqual(got, want) {
				t.Errorf("%s into %T: %v %v, and %v %v", value, got, reflect.ValueOf(got).Elem(), err, reflect.ValueOf(want).Elem(), failed)
			}
		}
	}
}
