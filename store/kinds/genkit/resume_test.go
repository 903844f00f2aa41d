package genkit

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store/engine"
	"hindcast/store/storetest"
)

// What Genkit resumed when the fixtures were written, by the manifest, the table
// and the transcripts beside them.
func TestHead_isWhatGenkitResumed(t *testing.T) {
	for _, c := range []struct{ store, session, head string }{
		{"go-1.13.1", "barista/sess-main", "917c3fba-54ab-4585-a1b0-c8756a67e730"},   // main4_from_t3, the newest of two branches
		{"go-1.13.1", "barista/sess-flaky", "3c53b148-9ddc-472a-b726-b3faec378715"},  // went on from a failed row
		{"go-1.13.1", "barista/sess-dfail", "d480b3db-0673-4811-a996-f5b4ce964a0d"},  // the child of a failed detached row
		{"go-1.13.1", "barista/sess-abort", "4babc1f0-1344-4d8a-84ff-9af307fa3584"},  // the child of an aborted one
		{"go-1.13.1", "barista/sess-orphan", "38006272-db94-45c3-9c27-e58359154d6d"}, // found, and refused
		{"go-1.13.1", "barista/825b5544-bcd2-4fd3-9c6b-cab0e8a048ab", "3658021b-ac5d-4bc5-9bfc-6d3d34bed304"},
		{"go-1.13.1", "pruned/sess-pruned", "264fa729-658d-4dbe-8073-cae159aaedcc"},
		{"go-1.13.1", "toggler/sess-aba", "523222cc-56ed-4e3a-88d1-0bc5ee051329"},
		{"devproject-go-1.13.1", "barista/sess-main", "e917833b-1ec6-4559-9f2f-563179b74822"},
		{"js-1.42.0-detachbug", "s", "693e07f4-6382-41b1-b01d-d8108a42ec8c"},
		{"js-1.42.0-detachbug", "s2", "66d0bd42-f12e-4fb6-b699-eca6161920c3"}, // the only one; its SDK fails
	} {
		s := open(t, filepath.Join(testdata, c.store))
		list := storetest.Headers(t, s, c.session)
		at := slices.IndexFunc(list, func(h model.Header) bool { return h.Head })
		if at < 0 || list[at].ID != c.head {
			t.Errorf("%s: the head of %s is #%d, want %s", c.store, c.session, at, c.head)
		}
	}
}

func at(second int) string {
	return time.Date(2026, 11, 20, 10, 0, second, 0, time.UTC).Format(time.RFC3339)
}

// made returns a session of rows "id parent status" that are a second apart.
func made(l layout, pointer *pointer, rows ...*row) *session {
	s := &session{sid: "s", grouping: &grouping{place: place{dir: "."}}, layout: l, pointer: pointer, byID: map[string]*row{}, now: evening}
	for i, r := range rows {
		r.snapshotID, r.sessionID = r.id, "s"
		if r.created.text == "" {
			r.created.text = at(i)
		}
		if r.created.at.IsZero() {
			r.created.at, _ = time.Parse(time.RFC3339, r.created.text)
		}
		s.byID[r.id] = r
		s.rows = append(s.rows, r)
	}
	slices.SortFunc(s.rows, compareRows)
	return s
}

// headersOf returns the headers of a session of which no journal tells anything.
func headersOf(t testing.TB, s *session) []model.Header {
	t.Helper()
	var nothing engine.Writes
	log, err := nothing.Complete(t.Context(), engine.In{}, s.buildLog(placeOf(".", "s", ""), engine.In{Now: evening}), nil)
	if err != nil {
		t.Fatal(err)
	}
	return log.Rows
}

func completed(id, parent string) *row {
	return &row{id: id, parentID: parent, status: statusCompleted, hasState: true}
}

func ended(id, parent, status string) *row {
	return &row{id: id, parentID: parent, status: status, hasState: true}
}

func created(r *row, text string) *row {
	r.created.text = text
	return r
}

func of(r *row, change func(*row)) *row {
	change(r)
	return r
}

// The rules of each SDK: with the pointer, and by a search.
func TestResumed_byTheRuleOfEachSDK(t *testing.T) {
	names := func(id string) *pointer { return &pointer{current: id} }
	for _, c := range []struct {
		name         string
		s            *session
		now, scanned string // "row", "row<leaf", or "!error"
	}{
		{"Go: the newest, whatever its status", made(layoutGo, nil, completed("a", ""), completed("b", "a"), ended("c", "a", statusPending)), "c", "c"},
		{"Go: the greater id of the same time", made(layoutGo, nil, completed("a", ""), created(completed("b", "a"), at(0))), "b", "b"},
		{"Go: by instant, not by text", made(layoutGo, nil, created(completed("a", ""), "2026-11-20T15:29:59+05:30"), created(completed("b", "a"), "2026-11-20T10:00:00Z")), "b", "b"},
		{"Go: the pointer is trusted", made(layoutGo, names("a"), completed("a", ""), completed("b", "a")), "a", "b"},
		{"Go: a pointer to nothing is not", made(layoutGo, names("x"), completed("a", ""), completed("b", "a")), "b", "b"},
		{"Go: nor one to a name that is none", made(layoutGo, names("a..a"), completed("a..a", ""), completed("b", "a..a")), "b", "b"},
		{"Go: nor one that cannot be read", made(layoutGo, &pointer{current: "a", err: errNote}, completed("a", ""), completed("b", "a")), "b", "b"},
		{"Go: a row that is no JSON is passed over", made(layoutGo, nil, completed("a", ""), of(completed("b", "a"), func(r *row) { r.broken = true })), "a", "a"},
		{"Go: and one whose time cannot be read", made(layoutGo, nil, completed("a", ""), of(completed("b", "a"), func(r *row) { r.badTime = true; r.addFault(FaultTime, "/createdAt", "") })), "a", "a"},
		{"Go: where the newest has anything else wrong, none is found", made(layoutGo, nil, completed("a", ""), of(completed("b", "a"), func(r *row) { r.badTime = true; r.addFault(FaultTime, "/updatedAt", "") })), "<b", "<b"},
		{"Go: unless a newer one follows", made(layoutGo, nil, completed("a", ""), of(completed("b", "a"), func(r *row) { r.misshapen = true; r.addFault(FaultRowShape, "/status", "") }), completed("c", "b")), "c", "c"},
		{"Go: parents play no part", made(layoutGo, nil, completed("a", "b"), completed("b", "a")), "b", "b"},

		{"JS: the newest leaf", made(layoutJS, nil, completed("a", ""), completed("b", "a"), completed("c", "a")), "c", "c"},
		{"JS: no parent, however new", made(layoutJS, nil, created(completed("a", ""), at(9)), created(completed("b", "a"), at(1))), "b", "b"},
		{"JS: goes back to what is completed", made(layoutJS, nil, completed("a", ""), ended("b", "a", statusFailed), ended("c", "b", statusPending)), "a<c", "a<c"},
		{"JS: goes back from the pointer, too", made(layoutJS, names("b"), completed("a", ""), ended("b", "a", statusFailed), completed("c", "a")), "a<b", "c"},
		{"JS: nothing is completed", made(layoutJS, nil, ended("a", "", statusFailed)), "<a", "<a"},
		{"JS: a status that is missing is not completed", made(layoutJS, nil, completed("a", ""), ended("b", "a", "")), "a<b", "a<b"},
		{"JS: the first name of the same time", made(layoutJS, nil, completed("a", ""), completed("c", "a"), created(completed("b", "a"), at(1))), "b", "b"},
		{"JS: by text, not by instant", made(layoutJS, nil, completed("a", ""), created(completed("b", "a"), "2026-11-20T15:00:00+05:30"), created(completed("c", "a"), "2026-11-20T10:30:00Z")), "b", "b"},
		{"JS: its own parent, alone", made(layoutJS, nil, completed("a", "a")), "!" + noLeaf, "!" + noLeaf},
		{"JS: its own parent, with the pointer", made(layoutJS, names("a"), completed("a", "a")), "a", "!" + noLeaf},
		{"JS: its own parent, and not completed", made(layoutJS, names("a"), ended("a", "a", statusFailed)), "<a!has a cyclic snapshot parent chain", "!" + noLeaf},
		{"JS: a circle", made(layoutJS, nil, completed("a", "b"), completed("b", "a")), "!" + noLeaf, "!" + noLeaf},

		{"Python: the newest leaf", made(layoutPython, nil, completed("a", ""), completed("b", "a"), completed("c", "a")), "c", "c"},
		{"Python: no pointer", made(layoutPython, names("a"), completed("a", ""), completed("b", "a")), "b", "b"},
		{"Python: the greater id of the same time", made(layoutPython, nil, completed("a", ""), completed("b", "a"), created(completed("c", "a"), at(1))), "c", "c"},
		{"Python: goes back", made(layoutPython, nil, completed("a", ""), ended("b", "a", statusAborted)), "a<b", "a<b"},
		{"Python: an unknown key", made(layoutPython, nil, completed("a", ""), of(completed("b", "a"), func(r *row) { r.unknownKeys = true })), "a", "a"},
		{"Python: aborting", made(layoutPython, nil, completed("a", ""), ended("b", "a", statusAborting)), "a<b", "a<b"},
		{"Python: an unknown finish reason", made(layoutPython, nil, completed("a", ""), of(completed("b", "a"), func(r *row) { r.finishReason = "bored" })), "a", "a"},
	} {
		text := func(c choice) (text string) {
			if c.row != nil {
				text = c.row.id
			}
			if c.leaf != nil && c.leaf != c.row {
				text += "<" + c.leaf.id
			}
			if c.err != "" {
				text += "!" + c.err
			}
			return text
		}
		now, scanned := c.s.resumedRow()
		if text(now) != c.now || text(scanned) != c.scanned {
			t.Errorf("%s: resumes %q, would find %q; want %q and %q", c.name, text(now), text(scanned), c.now, c.scanned)
		}
	}
}

func TestResumable_byID(t *testing.T) {
	now := evening
	stale, fresh := moment{"x", now.Add(-61 * time.Second)}, moment{"x", now.Add(-59 * time.Second)}
	for _, c := range []struct {
		r    row
		l    layout
		want string
	}{
		{row{status: "completed"}, layoutGo, "yes"},
		{row{status: ""}, layoutGo, "yes"},
		{row{status: ""}, layoutJS, "no: INVALID_ARGUMENT, only a completed row can be resumed; a session's id leads back to its last completed one"},
		{row{status: "failed"}, layoutGo, "yes, since 1.13; before it is refused (FAILED_PRECONDITION)"},
		{row{status: "aborted", hasState: true}, layoutGo, "yes, since 1.13; before it is refused (FAILED_PRECONDITION)"},
		{row{status: "aborted", parentID: "p"}, layoutGo, `no: FAILED_PRECONDITION, it was aborted before it recorded a state; resume from its parent "p"`},
		{row{status: "aborted"}, layoutGo, "no: FAILED_PRECONDITION, it was aborted before it recorded a state; there is nothing to resume"},
		{row{status: "pending", heartbeat: fresh}, layoutGo, "no: FAILED_PRECONDITION, its work is still running: wait for it, or abort it"},
		{row{status: "pending"}, layoutGo, "no: FAILED_PRECONDITION, its work is still running: wait for it, or abort it"},
		{row{status: "pending", heartbeat: stale, parentID: "p"}, layoutGo, `no: FAILED_PRECONDITION, its worker gave no sign of life and is taken for dead; resume from its parent "p"`},
		{row{status: "aborting", heartbeat: fresh}, layoutGo, "no: FAILED_PRECONDITION, it is being aborted and has not recorded its state yet"},
		{row{status: "failed"}, layoutPython, "no: only a completed row can be resumed; a session's id leads back to its last completed one"},
		{row{status: "completed", unknownKeys: true}, layoutPython, "no: the model of the Python SDK does not take the row"},
		{row{status: "completed", badTime: true}, layoutGo, "no: the file cannot be parsed"},
	} {
		if got := made(c.l, nil).resumeByID(&c.r, now).String(); got != c.want {
			t.Errorf("%+v is %q, want %q", c.r, got, c.want)
		}
	}
}

// Work has expired when its worker gave no sign of life for more than a minute;
// work that never gave one has not.
func TestStatusAt(t *testing.T) {
	beat := func(age time.Duration) moment { return moment{"x", evening.Add(-age)} }
	for _, c := range []struct {
		r    row
		want string
	}{
		{row{status: "pending", heartbeat: beat(60 * time.Second)}, "pending"},
		{row{status: "pending", heartbeat: beat(60*time.Second + 1)}, "expired"},
		{row{status: "aborting", heartbeat: beat(time.Hour)}, "expired"},
		{row{status: "pending"}, "pending"},
		{row{status: "pending", heartbeat: moment{text: "soon"}}, "pending"},
		{row{status: "completed", heartbeat: beat(time.Hour)}, "completed"},
		{row{status: "aborted", heartbeat: beat(time.Hour)}, "aborted"},
		{row{status: ""}, "completed"},
		{row{status: "paused", heartbeat: beat(time.Hour)}, "paused"},
	} {
		if got := c.r.statusAt(evening); got != c.want {
			t.Errorf("%+v is %q, want %q", c.r, got, c.want)
		}
	}
}

// Lineages of any shape come to an end, and every row is drawn.
func TestHeaders_endWhateverTheLineage(t *testing.T) {
	const n = 3000
	shapes := map[string]func(i int) string{
		"a line":       func(i int) string { return fmt.Sprint(i - 1) },
		"a star":       func(int) string { return "0" },
		"own parents":  func(i int) string { return fmt.Sprint(i) },
		"one circle":   func(i int) string { return fmt.Sprint((i + 1) % n) },
		"many circles": func(i int) string { return fmt.Sprint(i ^ 1) },
		"no parents":   func(int) string { return "" },
		"all missing":  func(i int) string { return fmt.Sprint("x", i) },
		"backwards":    func(i int) string { return fmt.Sprint(i + 1) },
	}
	for name, parent := range shapes {
		for l := range layoutNames {
			for _, status := range []string{statusCompleted, statusFailed} {
				var rows []*row
				for i := range n {
					rows = append(rows, created(ended(fmt.Sprint(i), parent(i), status), at(i)))
				}
				s := made(layout(l), nil, rows...)
				list := headersOf(t, s)
				heads := 0
				for _, h := range list {
					if h.Head {
						heads++
					}
				}
				if len(list) != n || heads != 1 {
					t.Errorf("%s of %s in %v: %d headers, %d heads", name, status, layout(l), len(list), heads)
				}
				if len(s.sessionFaults().All()) > 200 {
					t.Errorf("%s: too many faults", name)
				}
			}
		}
	}
}
