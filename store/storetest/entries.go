package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/native/typed"
)

// Entries tests the typed.Recording of a store that [Record] tests too: visits under ids of a program's own.
func Entries(t *testing.T, name string, open Open) {
	for _, c := range entries {
		t.Run(name+"/"+c.name, func(t *testing.T) {
			clock := &Clock{}
			o := open(t, clock.Now)
			c.run(&bench{T: t, Store: o.Store, reopen: o.Reopen, again: o.Again, open: open, clock: clock})
		})
	}
}

var entries = []check{
	{"TestEntries_goOnAndAreFound", entriesGoOn},
	{"TestEntries_isRewrittenInPlace", entriesRewritten},
	{"TestEntries_goBack", entriesGoBack},
	{"TestEntries_secondOfTwoWritersIsRefused", entriesTwoWriters},
	{"TestEntries_ofSeveralSessions", entriesOfSessions},
	{"TestEntries_oddAliasesAreData", entriesOdd},
	{"TestEntries_refusesWhatCannotBeKept", entriesRefusals},
}

// entryWriter records entries of one session.
type entryWriter struct {
	*bench
	typed.Recording
	session string
	at      typed.Revision
	head    int64
}

func (b *bench) entryWriter(session string) *entryWriter {
	return &entryWriter{bench: b, Recording: b.Store.(typed.Recording), session: session}
}

// put records a state with an alias, or "", and attributes behind the head; change may change the entry before.
func (w *entryWriter) put(state, alias, attributes string, change func(*typed.Entry)) model.Header {
	w.Helper()
	e := &typed.Entry{State: json.RawMessage(state)}
	e.SessionID, e.ParentVisit, e.Alias, e.Attributes = w.session, w.head, alias, model.Attributes(attributes)
	if change != nil {
		change(e)
	}
	h, now, err := w.Record(w.Context(), e, w.at)
	if err != nil {
		w.Fatal(err)
	}
	if w.at = now; h.Head {
		w.head = h.Visit
	}
	return h
}

// want checks the session's visits: a line for each of index, turn, state, alias and attributes, "-" for one that is
// off the path and "*" for the head.
func (w *entryWriter) want(want ...string) {
	w.Helper()
	var got []string
	for _, h := range Headers(w, w.Store, w.session) {
		state, err := w.State(w.Context(), h.Ref())
		if err != nil {
			w.Fatal(err)
		}
		if h.ID != model.SnapshotID(state) || h.Size != int64(len(state)) {
			w.Errorf("#%d: the id %s and the size %d are not those of %s", h.Index, h.ID, h.Size, state)
		}
		sign := ""
		if h.Orphaned {
			sign = "-"
		}
		if h.Head {
			sign += "*"
		}
		got = append(got, strings.TrimSpace(fmt.Sprintf("%d.%d%s %s %s", h.Index, h.TurnIndex, sign, state, strings.TrimSpace(h.Alias+" "+string(h.Attributes)))))
	}
	if g, x := strings.Join(got, "\n"), strings.Join(want, "\n"); g != x {
		w.Errorf("the session is\n%s\nwant\n%s", g, x)
	}
	faults, err := w.Faults(w.Context(), w.session)
	if err != nil || slices.ContainsFunc(faults, func(f model.Fault) bool { return f.Code != model.FaultSeveralRoots }) {
		w.Errorf("faults %v, %v", faults, err)
	}
}

// wantRecord checks the record of the session.
func (w *entryWriter) wantRecord(state string, turn int) {
	w.Helper()
	data, _, err := w.Load(w.Context(), w.session)
	if err != nil || string(data.State) != state || data.TurnIndex != turn {
		w.Errorf("the record is %+v, %v", data, err)
	}
}

func tool(e *typed.Entry) { e.Event = model.SnapshotEventToolIterationEnd }

func entriesGoOn(b *bench) {
	w := b.entryWriter("s")
	if e, at, err := w.HeadEntry(b.Context(), "s"); e != nil || at != 0 || err != nil {
		b.Errorf("no session: %v, %d, %v", e, at, err)
	}
	w.put(`{"n":1}`, "one", `{"status":"completed"}`, nil)
	w.put(`{"n":2}`, "", "", tool)
	w.put(`{"n":2}`, "two", "", nil)
	w.put(`{"n":3}`, "three", `{"finishReason":"stop","tokens":12}`, nil)
	b.Store = b.reopen(b.T)
	w.Recording = b.Store.(typed.Recording)
	w.want(`0.0 {"n":1} one {"status":"completed"}`, `1.1 {"n":2}`, `2.1 {"n":2} two`, `3.2* {"n":3} three {"finishReason":"stop","tokens":12}`)
	w.wantRecord(`{"n":3}`, 3)
	e, at, err := w.FindAlias(b.Context(), "s", "two")
	if err != nil || at != w.at || e.Index != 2 || string(e.State) != `{"n":2}` || e.Alias != "two" {
		b.Errorf("found %+v at %d, %v", e, at, err)
	}
	if e, at, err := w.FindAlias(b.Context(), "s", "tw"); e != nil || at != w.at || err != nil {
		b.Errorf("found %+v at %d, %v", e, at, err)
	}
	if e, at, err := w.HeadEntry(b.Context(), "s"); err != nil || e.Alias != "three" || at != w.at {
		b.Errorf("the head is %+v at %d, %v", e, at, err)
	}
}

func entriesRewritten(b *bench) {
	w := b.entryWriter("s")
	w.put(`{"n":1}`, "one", "", nil)
	second := w.put(`{"n":null}`, "two", `{"status":"pending"}`, nil)
	cursor, err := b.Features().Cursor(b.Context(), "s")
	if err != nil {
		b.Fatal(err)
	}
	b.clock.Advance(60e9)
	again := func(e *typed.Entry) { e.Visit = second.Visit }
	w.put(`{"n":null}`, "two", `{"status":"pending","heartbeat":1}`, again)
	w.want(`0.0 {"n":1} one`, `1.1* {"n":null} two {"status":"pending","heartbeat":1}`)
	h := w.put(`{"n":2}`, "two", `{"status":"completed"}`, again)
	if !h.CreatedAt.Equal(second.CreatedAt) || h.Visit != second.Visit || !h.Head {
		b.Errorf("rewritten as %+v", h)
	}
	w.want(`0.0 {"n":1} one`, `1.1* {"n":2} two {"status":"completed"}`)
	w.wantRecord(`{"n":2}`, 2)
	w.put(`{"n":3}`, "three", "", nil)
	w.put(`{"n":22}`, "two", "", again) // it is not the head any more
	w.want(`0.0 {"n":1} one`, `1.1 {"n":22} two`, `2.2* {"n":3} three`)
	w.wantRecord(`{"n":3}`, 3)
	list := Headers(b, b.Store, "s")
	if list[2].ParentID != list[1].ID {
		b.Errorf("the child of the rewritten visit names %s", list[2].ParentID)
	}
	growth, err := b.Features().Growth(b.Context(), "s", cursor)
	if err != nil || !growth.Rewritten {
		b.Errorf("who follows the session is told %+v, %v", growth, err)
	}
	// A state that was rewritten is gone, where nothing else has it.
	if _, err := b.State(b.Context(), model.Ref{Session: "s", ID: model.SnapshotID([]byte(`{"n":2}`))}); !errors.Is(err, model.ErrNoSnapshot) {
		b.Errorf("the state before: %v", err)
	}
	_, _, err = w.Record(b.Context(), &typed.Entry{Header: model.Header{SessionID: "s", Visit: 99}, State: json.RawMessage("1")}, w.at)
	if !errors.Is(err, model.ErrNoSnapshot) {
		b.Errorf("no such visit: %v", err)
	}
}

func entriesGoBack(b *bench) {
	w := b.entryWriter("s")
	first := w.put(`1`, "one", "", nil)
	w.put(`2`, "two", "", nil)
	third := w.put(`3`, "three", "", nil)
	w.put(`4`, "four", "", func(e *typed.Entry) { e.ParentVisit = first.Visit })
	w.want("0.0 1 one", "1.1- 2 two", "2.2- 3 three", "1.1* 4 four")
	if why := Headers(b, b.Store, "s")[1].Reason; why == nil || why.Kind != model.ReasonWentOn || why.TargetID != first.ID {
		b.Errorf("it left because of %+v", why)
	}
	w.put(`5`, "five", "", func(e *typed.Entry) { e.ParentVisit = third.Visit })
	w.want("0.0 1 one", "1.1 2 two", "2.2 3 three", "1.1- 4 four", "3.3* 5 five")
	w.put(`6`, "", "", func(e *typed.Entry) { e.ParentVisit = 0 })
	w.want("0.0- 1 one", "1.1- 2 two", "2.2- 3 three", "1.1- 4 four", "3.3- 5 five", "0.0* 6")
}

func entriesTwoWriters(b *bench) {
	w := b.entryWriter("s")
	w.put(`1`, "", "", nil)
	late := *w
	w.put(`2`, "", "", nil)
	entry := func(visit int64) *typed.Entry {
		return &typed.Entry{Header: model.Header{SessionID: "s", Visit: visit, ParentVisit: late.head}, State: json.RawMessage("3")}
	}
	for _, visit := range []int64{0, 1} {
		var conflict *model.ConflictError
		_, _, err := w.Record(b.Context(), entry(visit), late.at)
		if !errors.As(err, &conflict) || conflict.Head.Index != 1 || conflict.Expected.ID != model.SnapshotID([]byte("1")) {
			b.Errorf("the second writer: %v", err)
		}
	}
	if _, _, err := w.Record(b.Context(), entry(0), 0); !errors.As(err, new(*model.ConflictError)) {
		b.Errorf("a session that is there already: %v", err)
	}
	w.want("0.0 1", "1.1* 2")
}

func entriesOfSessions(b *bench) {
	b.entryWriter("a").put(`1`, "one", "", nil)
	b.entryWriter("b").put(`2`, "two", "", nil)
	w := b.entryWriter("")
	if e, at, err := w.FindAlias(b.Context(), "", "two"); err != nil || e.SessionID != "b" || at == 0 {
		b.Errorf("found %+v at %d, %v", e, at, err)
	}
	if e, at, err := w.FindAlias(b.Context(), "", "three"); e != nil || at != 0 || err != nil {
		b.Errorf("found %+v at %d, %v", e, at, err)
	}
	// A fork is Hindcast's, and its visits are no rows of the program.
	plan, err := b.Features().Plan(b.Context(), model.Change{Op: model.OpFork, Ref: Headers(b, b.Store, "b")[0].Ref(), As: "fork"})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := b.Features().Apply(b.Context(), plan); err != nil {
		b.Fatal(err)
	}
	if e, _, err := w.FindAlias(b.Context(), "", "two"); err != nil || e.SessionID != "b" {
		b.Errorf("after a fork: %+v, %v", e, err)
	}
	w.session = "fork"
	w.want("0.0* 2")
	b.entryWriter("c").put(`2`, "two", "", nil)
	var several *model.AmbiguousError
	if _, _, err := w.FindAlias(b.Context(), "", "two"); !errors.As(err, &several) || strings.Join(several.Candidates, " ") != "b c" {
		b.Errorf("two sessions have it: %v", err)
	}
}

func entriesOdd(b *bench) {
	odd := []string{`"`, `\`, `a\u0000b`, "\x00", "%", "_", "<&>", "\x1b[2J", "é", "e\u0301", "😀", `x","eventName":"y`, strings.Repeat("ä", typed.MaxAlias/2), " "}
	w := b.entryWriter("s")
	for i, alias := range odd {
		w.put(fmt.Sprint(i), alias, `{"a\"b":"`+`\u0000"}`, nil)
	}
	for i, alias := range odd {
		for _, session := range []string{"s", ""} {
			e, _, err := w.FindAlias(b.Context(), session, alias)
			if err != nil || e == nil || string(e.State) != fmt.Sprint(i) || e.Alias != alias {
				b.Errorf("%q: %+v, %v", alias, e, err)
			}
		}
	}
	if list := Headers(b, b.Store, "s"); len(list) != len(odd) || list[0].Attributes.Facts()[0].Value != "\x00" {
		b.Errorf("%d visits", len(list))
	}
}

func entriesRefusals(b *bench) {
	w := b.entryWriter("s")
	for name, c := range map[string]struct {
		alias, attributes, state string
		want                     error
	}{
		"no UTF-8":           {"a\xff", "", "1", typed.ErrAlias},
		"a long alias":       {strings.Repeat("a", typed.MaxAlias+1), "", "1", typed.ErrAlias},
		"attributes: a list": {"", "[1]", "1", typed.ErrAttributes},
		"attributes: spaces": {"", `{"a": 1}`, "1", typed.ErrAttributes},
		"attributes: twice":  {"", `{"a":1,"a":2}`, "1", typed.ErrAttributes},
		"no JSON":            {"", "", "{", store.ErrNotJSON},
		"no state":           {"", "", "", store.ErrNotJSON},
	} {
		e := &typed.Entry{State: json.RawMessage(c.state)}
		e.SessionID, e.Alias, e.Attributes = "s", c.alias, model.Attributes(c.attributes)
		if _, _, err := w.Record(b.Context(), e, 0); !errors.Is(err, c.want) {
			b.Errorf("%s: %v", name, err)
		}
	}
	if err := store.Find(b.Context(), b.Store, "s"); !errors.Is(err, model.ErrNoSession) {
		b.Errorf("what was refused made a session: %v", err)
	}
}
