package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store"
)

// What the seed words in prose (Genkit Go design, section 2), and what the
// port promises of reading.
var contracts = []check{
	{"TestStore_emptyStore", emptyStore},
	{"TestStore_savingAgainIsANoOp", savingAgain},
	{"TestStore_listIsOrderedByIndex", listOrder},
	{"TestStore_nilWhenNotFound", notFound},
	{"TestStore_invalidateSnapshotsAfter", invalidate},
	{"TestStore_seedProgramRestores", seedRestore},
	{"TestStore_recordOfASession", records},
	{"TestStore_recordMovesTheHead", recordMovesHead},
	{"TestStore_recordOfAnotherSessionIsRefused", foreignRecord},
	{"TestStore_refusesWhatCannotBeKept", refusals},
	{"TestStore_timesComeBack", times},
	{"TestStore_statesComeBackByteForByte", stateBytes},
	{"TestStore_snapshotsSayWhatTheyEndWith", titles},
	{"TestStore_callerMayChangeItsInput", aliasing},
	{"TestStore_oddIDsAreData", oddIDs},
	{"TestStore_isReadLikeAnyOther", likeAnyOther},
	{"TestStore_headersCanBeStoppedAndNested", nested},
	{"TestStore_unknownSessionAndSnapshot", unknown},
	{"TestStore_eightWritersAtOnce", writers},
	{"TestStore_closedStoreSaysSo", closed},
}

func emptyStore(b *bench) {
	if dump := b.dump(); dump != "" {
		b.Errorf("an empty store holds %s", dump)
	}
	faults, err := b.Faults(b.Context(), "")
	if err != nil || len(faults) != 0 {
		b.Errorf("faults %v, %v", faults, err)
	}
	journal, err := b.Journal(b.Context())
	if err != nil || len(journal) != 0 {
		b.Errorf("journal %v, %v", journal, err)
	}
	var nothing *model.NothingToError
	if _, err := b.Plan(b.Context(), model.Change{Op: model.OpUndo}); !errors.As(err, &nothing) || nothing.Op != model.OpUndo {
		b.Errorf("undo: %v", err)
	}
	if _, err := b.Plan(b.Context(), model.Change{Op: model.OpRedo}); !errors.As(err, &nothing) || nothing.Op != model.OpRedo {
		b.Errorf("redo: %v", err)
	}
}

func savingAgain(b *bench) {
	a := b.agent("s")
	a.turns(`"a"`, `"b"`)
	before := b.dump()
	b.clock.Advance(time.Hour)
	b.ok(b.SaveSnapshot(b.Context(), a.last))
	list, err := b.ListSnapshots(b.Context(), "s", true)
	b.ok(err)
	b.ok(b.SaveSnapshot(b.Context(), list[0]))
	b.same(b.dump(), before)
}

func listOrder(b *bench) {
	// Saved in any order.
	for _, index := range []int{4, 0, 3, 1, 2} {
		s := b.agent("s").snapshot(fmt.Sprint(index), 0)
		s.Index = index
		b.ok(b.SaveSnapshot(b.Context(), s))
	}
	b.ok(b.InvalidateSnapshotsAfter(b.Context(), "s", 3))
	list, err := b.ListSnapshots(b.Context(), "s", true)
	b.ok(err)
	b.wantIDs(list, "0", "1", "2", "3", "4")
	for i, s := range list {
		if s.Index != i || string(s.State) != fmt.Sprint(i) || s.Orphaned != (i == 4) || s.SessionID != "s" {
			b.Errorf("snapshot %d is %+v", i, s)
		}
	}
	list, err = b.ListSnapshots(b.Context(), "s", false)
	b.ok(err)
	b.wantIDs(list, "0", "1", "2", "3")
}

func notFound(b *bench) {
	if data, err := b.Get(b.Context(), "none"); data != nil || err != nil {
		b.Errorf("a session that is not there: %v, %v", data, err)
	}
	if s, err := b.GetSnapshot(b.Context(), id("1")); s != nil || err != nil {
		b.Errorf("a snapshot that is not there: %v, %v", s, err)
	}
	if s, err := b.GetSnapshotIn(b.Context(), "none", id("1")); s != nil || err != nil {
		b.Errorf("a snapshot of a session that is not there: %v, %v", s, err)
	}
	if list, err := b.ListSnapshots(b.Context(), "none", true); len(list) != 0 || err != nil {
		b.Errorf("snapshots of a session that is not there: %v, %v", list, err)
	}
	b.ok(b.InvalidateSnapshotsAfter(b.Context(), "none", 0))
	// A session with snapshots alone has no record.
	b.ok(b.SaveSnapshot(b.Context(), b.agent("s").snapshot("1", 0)))
	if data, err := b.Get(b.Context(), "s"); data != nil || err != nil {
		b.Errorf("a session without a record: %v, %v", data, err)
	}
}

func invalidate(b *bench) {
	b.agent("s").turns(`"a"`, `"b"`, `"c"`)
	b.ok(b.InvalidateSnapshotsAfter(b.Context(), "s", 1))
	b.want("s", "a0 b1* c2-")
	before := b.dump()
	b.clock.Advance(time.Hour)
	b.ok(b.InvalidateSnapshotsAfter(b.Context(), "s", 1))
	b.ok(b.InvalidateSnapshotsAfter(b.Context(), "s", 100))
	b.same(b.dump(), before)
	b.ok(b.InvalidateSnapshotsAfter(b.Context(), "s", -1))
	b.want("s", "a0- b1- c2-")
	if journal, err := b.Journal(b.Context()); err != nil || len(journal) != 0 {
		b.Errorf("what an agent does is not Hindcast's to undo: %v, %v", journal, err)
	}
}

func seedRestore(b *bench) {
	a := b.agent("s")
	ids := a.turns(`"a"`, `"b"`, `"c"`)
	a.restoreTo(ids[1])
	b.want("s", "a0 b1* c2-")
	a.resume()
	a.turns(`"x"`)
	b.want("s", "a0 b1 c2- x2*")
	// To an orphaned one, as the seed does it: a visit of it (rule 4).
	a.restoreTo(ids[2])
	b.want("s", "a0 b1 c2- x2 c2*")
}

func records(b *bench) {
	a := b.agent("s")
	last := a.step(`"a"`, model.SnapshotEventTurnEnd)
	b.ok(b.Save(b.Context(), "s", &model.Data[json.RawMessage]{ID: "s", State: json.RawMessage(`{"working":true}`), LastSnapshot: last, TurnIndex: 7}))
	data, err := b.Get(b.Context(), "s")
	b.ok(err)
	if data.ID != "s" || string(data.State) != `{"working":true}` || data.TurnIndex != 7 {
		b.Errorf("the record came back as %+v", data)
	}
	if got := data.LastSnapshot; got.ID != last.ID || got.Index != last.Index || !got.CreatedAt.Equal(last.CreatedAt) || string(got.State) != string(last.State) {
		b.Errorf("the last snapshot came back as %+v, want %+v", got, last)
	}
	// One without snapshots.
	b.ok(b.Save(b.Context(), "bare", &model.Data[json.RawMessage]{State: json.RawMessage(`1`)}))
	if data, err = b.Get(b.Context(), "bare"); err != nil || data == nil || data.LastSnapshot != nil || string(data.State) != "1" {
		b.Errorf("a record without snapshots: %+v, %v", data, err)
	}
	b.want("bare", "")
	// The working state may change a thousand times.
	for i := range 50 {
		b.ok(b.Save(b.Context(), "bare", &model.Data[json.RawMessage]{State: fmt.Append(nil, i)}))
	}
	if data, err = b.Get(b.Context(), "bare"); err != nil || string(data.State) != "49" {
		b.Errorf("the last record: %+v, %v", data, err)
	}
}

func recordMovesHead(b *bench) {
	a := b.agent("s")
	a.turns(`"a"`, `"b"`)
	list, err := b.ListSnapshots(b.Context(), "s", false)
	b.ok(err)
	b.ok(b.Save(b.Context(), "s", &model.Data[json.RawMessage]{State: json.RawMessage(`1`), LastSnapshot: list[0]}))
	b.want("s", "a0* b1")
	// A last snapshot that was never saved is kept.
	next := a.snapshot(`"c"`, 0)
	b.ok(b.Save(b.Context(), "s", &model.Data[json.RawMessage]{State: json.RawMessage(`1`), LastSnapshot: next}))
	b.want("s", "a0 b1 c2*")
	// None leaves the head where it is.
	b.ok(b.Save(b.Context(), "s", &model.Data[json.RawMessage]{State: json.RawMessage(`2`)}))
	b.want("s", "a0 b1 c2*")
}

func foreignRecord(b *bench) {
	last := b.agent("other").step(`"a"`, 0)
	before := b.dump()
	for name, data := range map[string]*model.Data[json.RawMessage]{
		"none":             nil,
		"another id":       {ID: "other", State: json.RawMessage(`1`)},
		"another snapshot": {ID: "s", State: json.RawMessage(`1`), LastSnapshot: last},
		"no JSON":          {ID: "s", State: json.RawMessage(`{`)},
		"no state":         {ID: "s"},
	} {
		if err := b.Save(b.Context(), "s", data); err == nil || !strings.Contains(err.Error(), `"s"`) {
			b.Errorf("%s: %v", name, err)
		}
	}
	b.same(b.dump(), before)
}

func refusals(b *bench) {
	before := b.dump()
	for name, c := range map[string]struct {
		state string
		at    time.Time
		want  error
	}{
		"no state":      {"", b.clock.Now(), store.ErrNotJSON},
		"cut":           {`{"a":`, b.clock.Now(), store.ErrNotJSON},
		"two values":    {`1 2`, b.clock.Now(), store.ErrNotJSON},
		"year 10000":    {`1`, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), store.ErrTime},
		"before year 0": {`1`, time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC), store.ErrTime},
	} {
		s := b.agent("s").snapshot(c.state, 0)
		s.CreatedAt = c.at
		if err := b.SaveSnapshot(b.Context(), s); !errors.Is(err, c.want) {
			b.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if err := b.SaveSnapshot(b.Context(), nil); err == nil {
		b.Error("no snapshot at all is taken")
	}
	b.same(b.dump(), before)
}

func times(b *bench) {
	zones := []*time.Location{time.UTC, time.FixedZone("", 5*3600+1800), time.FixedZone("odd", 17), time.FixedZone("", -23*3600)}
	for i, at := range []time.Time{
		{},
		time.Unix(0, 0),
		time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.UTC),
		time.Date(9999, 12, 30, 12, 0, 0, 999999999, time.UTC),
		time.Date(1, 1, 2, 0, 0, 0, 1, time.UTC),
		time.Date(2262, 4, 11, 23, 47, 16, 854775808, time.UTC),
		time.Now(), // with a monotonic reading
	} {
		for j, zone := range zones {
			s := b.agent("s").snapshot(fmt.Sprintf("[%d,%d]", i, j), 0)
			if s.CreatedAt = at.In(zone); at.IsZero() {
				s.CreatedAt = at
			}
			b.ok(b.SaveSnapshot(b.Context(), s))
			got, err := b.GetSnapshot(b.Context(), s.ID)
			b.ok(err)
			if !got.CreatedAt.Equal(at) {
				b.Errorf("%v came back as %v", s.CreatedAt, got.CreatedAt)
			}
			_, offset := got.CreatedAt.Zone()
			if _, want := s.CreatedAt.Zone(); want%60 == 0 && offset != want {
				b.Errorf("%v came back in another zone: %v", s.CreatedAt, got.CreatedAt)
			}
		}
	}
}

func stateBytes(b *bench) {
	states := []string{
		`null`, `""`, `0`, `-0`, `1e1000`, `"\ud800"`, `{"a":1,"a":2}`, "\"\xff\xfe\"", "{\n\t\"a\" :\r\n 1 }", ` [ ] `,
		"\"\u202e\"", `"` + strings.Repeat("x", 1000) + `"`, `[` + strings.Repeat(`{"text":"a message like any other"},`, 5000) + `0]`,
	}
	for i, state := range states {
		s := b.agent("s").snapshot(state, 0)
		s.Index = i
		b.ok(b.SaveSnapshot(b.Context(), s))
	}
	for i, h := range b.headers("s") {
		state, err := b.State(b.Context(), h.Ref())
		b.ok(err)
		if string(state) != states[i] || h.Size != int64(len(states[i])) {
			b.Errorf("%.40q came back as %.40q with a size of %d", states[i], state, h.Size)
		}
	}
}

func aliasing(b *bench) {
	a := b.agent("s")
	s := a.snapshot(`"aaaa"`, 0)
	b.ok(b.SaveSnapshot(b.Context(), s))
	data := &model.Data[json.RawMessage]{State: json.RawMessage(`"bbbb"`), LastSnapshot: s}
	b.ok(b.Save(b.Context(), "s", data))
	row := store.Row{Header: model.Header{ID: "x", SessionID: "s"}, State: []byte(`"cccc"`)}
	_, err := b.Import(b.Context(), seq(row))
	b.ok(err)
	before := b.dump()
	for _, bytes := range [][]byte{s.State, data.State, row.State} {
		copy(bytes, `"zzzz"`)
	}
	s.ID, s.Index = "changed", 99
	b.same(b.dump(), before)
	// What is given out is the caller's too, but for State.
	got, err := b.Get(b.Context(), "s")
	b.ok(err)
	copy(got.State, `"zzzz"`)
	copy(got.LastSnapshot.State, `"zzzz"`)
	list, err := b.ListSnapshots(b.Context(), "s", true)
	b.ok(err)
	copy(list[0].State, `"zzzz"`)
	b.same(b.dump(), before)
}

func oddIDs(b *bench) {
	odd := []string{
		"", ".", "..", "../../etc/passwd", "/", "a/b", "a\\b", "a\nb", "a\x00b", "a\x00c", "%00", "'; DROP TABLE visits; --", "\x1b]52;c;AAAA\a",
		"名前", "é", "e\u0301", "\u202e", "\xff\xfe", strings.Repeat("x", 10_000), strings.Repeat("x", 10_000) + "y", "S", "s", " s", "1", "01",
	}
	for i, session := range odd {
		a := b.agent(session)
		a.turns(fmt.Sprintf(`"%d"`, i), `"shared"`)
	}
	for i, session := range odd {
		b.want(session, fmt.Sprintf("%d0 shared1*", i))
		data, err := b.Get(b.Context(), session)
		b.ok(err)
		if data == nil || data.ID != session || data.LastSnapshot.SessionID != session {
			b.Errorf("session %.20q came back as %+v", session, data)
		}
	}
	var sessions []string
	for info, err := range b.Sessions(b.Context()) {
		b.ok(err)
		sessions = append(sessions, info.ID)
	}
	slices.Sort(sessions)
	slices.Sort(odd)
	if !slices.Equal(sessions, odd) {
		b.Errorf("the sessions are %.40q", sessions)
	}
	// The ids of foreign snapshots are data as well.
	for i, snapshot := range odd[1:] {
		_, err := b.Import(b.Context(), seq(store.Row{Header: model.Header{ID: snapshot, SessionID: "foreign", ParentID: odd[i]}, State: fmt.Append(nil, i)}))
		b.ok(err)
		state, err := b.State(b.Context(), model.Ref{Session: "foreign", ID: snapshot})
		b.ok(err)
		if string(state) != fmt.Sprint(i) {
			b.Errorf("snapshot %.20q came back as %s", snapshot, state)
		}
	}
}

// likeAnyOther: a session that went back several times is read like any other.
func likeAnyOther(b *bench) {
	a := b.agent("s")
	for i := range 30 {
		a.turns(fmt.Sprintf(`{"n":%d}`, i))
		if i%7 == 6 {
			b.restore(model.Ref{Session: "s", ID: id(fmt.Sprintf(`{"n":%d}`, i-3))})
			a.resume()
		}
	}
	b.fork(model.Ref{Session: "s", ID: id(`{"n":2}`)}, "f")
	newReader(b.T, func(testing.TB) store.Store {
		if b.again != nil {
			return b.again(b.T)
		}
		return b.Store
	}).all(b.T)
	for _, info := range Sessions(b.T, b.Store) {
		if info.ID == "s" && !info.UpdatedAt.Equal(b.clock.Now()) {
			b.Errorf("the session is said to have changed at %v", info.UpdatedAt)
		}
	}
}

func nested(b *bench) {
	a := b.agent("s")
	a.turns(`"a"`, `"b"`, `"c"`)
	n := 0
	for h, err := range b.Headers(b.Context(), "s") {
		b.ok(err)
		// Whatever the loop does with the store, it does not wait for itself.
		_, err := b.State(b.Context(), h.Ref())
		b.ok(err)
		a.turns(fmt.Sprintf(`"nested %d"`, h.Visit))
		if n++; n == 2 {
			break
		}
	}
	if n != 2 {
		b.Errorf("%d headers", n)
	}
	for range b.Sessions(b.Context()) {
		break
	}
	b.want("s", "a0 b1 c2 nested 13 nested 24*")
}

// unknown: what is not there is not planned for either.
func unknown(b *bench) {
	b.agent("s").turns(`"a"`)
	for _, ref := range []model.Ref{{Session: "none", ID: "x"}, {Session: "s", ID: "x"}, {Session: "s", ID: id(`"a"`), Visit: 9}, {Session: "s", ID: "x", Visit: 1}} {
		want := model.ErrNoSnapshot
		if ref.Session == "none" {
			want = model.ErrNoSession
		}
		for _, op := range []model.Op{model.OpRestore, model.OpFork} {
			if _, err := b.Plan(b.Context(), model.Change{Op: op, Ref: ref, As: "new"}); !errors.Is(err, want) || !strings.Contains(err.Error(), fmt.Sprintf("%q", ref.Session)) {
				b.Errorf("%s of %+v: %v", op, ref, err)
			}
		}
	}
}

func writers(b *bench) {
	const each = 12
	var wait sync.WaitGroup
	for w := range 8 {
		wait.Go(func() {
			a := b.agent(fmt.Sprintf("session %d", w%4))
			for i := range each {
				s := a.snapshot(fmt.Sprintf(`[%d,%d]`, w, i), 0)
				s.Index = i
				if err := b.SaveSnapshot(b.Context(), s); err != nil {
					b.Error(err)
				}
				if _, _, err := b.Tail(b.Context(), a.session, 5); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wait.Wait()
	for w := range 4 {
		headers := b.headers(fmt.Sprintf("session %d", w))
		if len(headers) != 2*each {
			b.Errorf("session %d has %d visits", w, len(headers))
		}
		for i, h := range headers {
			if h.Visit != int64(i+1) {
				b.Errorf("session %d: visit %d is numbered %d", w, i+1, h.Visit)
			}
		}
	}
}

func closed(b *bench) {
	if b.reopen == nil {
		b.Skip("a store in memory has nothing to close")
	}
	b.agent("s").turns(`"a"`)
	b.ok(b.Close())
	_, _, tailErr := b.Tail(b.Context(), "s", 1)
	saveErr := b.SaveSnapshot(b.Context(), b.agent("s").snapshot(`"b"`, 0))
	for _, err := range []error{tailErr, saveErr} {
		if !errors.Is(err, fs.ErrClosed) {
			b.Errorf("after Close: %v", err)
		}
	}
	b.ok(b.Close())
}

// titles: what a header says of a state comes with each visit of it, and stays
// when the session is restored and forked.
func titles(b *bench) {
	a := b.agent("s")
	asked := `{"messages":[{"role":"user","content":[{"text":"Rain?"}]}]}`
	failed := `{"messages":[{"role":"assistant","content":[{"toolUse":{"toolUseId":"1","name":"weather","input":{}}}]},` +
		`{"role":"user","content":[{"toolResult":{"toolUseId":"1","status":"error","content":[]}}]}]}`
	first := a.turns(asked, failed, asked, `{"total":4}`)[0]
	b.restore(model.Ref{Session: "s", ID: first, Visit: 1})
	b.fork(model.Ref{Session: "s", ID: first, Visit: 1}, "t")
	want := []string{"Rain?", "failed weather  failed", "Rain?", ""}
	for session, want := range map[string][]string{"s": want, "t": want[:1]} {
		var got []string
		for _, h := range b.headers(session) {
			if h.Marks.Has(model.MarkError) {
				h.Title = "failed " + h.Title
			}
			got = append(got, h.Title)
		}
		if !slices.Equal(got, want) {
			b.Errorf("session %q says %q, want %q", session, got, want)
		}
	}
	for info, err := range b.Sessions(b.Context()) {
		if b.ok(err); info.Title != "Rain?" || info.ID == "s" && info.Size <= 0 { // a fork may share all it has
			b.Errorf("the list says of session %q that it begins with %q and has %d bytes", info.ID, info.Title, info.Size)
		}
	}
}
