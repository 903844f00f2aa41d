package genkit

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// remedy is the cure of a fault in each layout.
type remedy [3]cure

// cure is the way in which a repair mends a fault.
type cure uint8

const (
	// harmless: the SDK starts the session all the same.
	harmless cure = iota
	// byCopy: a row of Hindcast's own takes the place of the head.
	byCopy
	// byPointing: the pointer is written anew.
	byPointing
	// bySettingAside: the file is set aside, and the pointer leads past it.
	bySettingAside
	// byHand: Hindcast cannot; notMended says why.
	byHand
)

var never = remedy{}

// remedies describes the repair of each fault that Faults tells of, where it stands in the way of the session.
// Most faults do not, because they concern a row that is not resumed.
var remedies = map[string]remedy{
	FaultRowFile:         {harmless, bySettingAside, harmless},
	FaultBOM:             {harmless, bySettingAside, harmless},
	FaultRowShape:        {byCopy, harmless, byCopy},
	FaultTime:            {byCopy, harmless, harmless},
	FaultNoTime:          never,
	FaultNotUTF8:         never,
	FaultDuplicateKey:    never,
	FaultUnknownKey:      {harmless, harmless, byCopy},
	FaultUnknownStatus:   {harmless, byCopy, harmless},
	FaultUnknownFinish:   {harmless, harmless, byCopy},
	FaultBigInteger:      never,
	FaultTimeOrder:       never,
	FaultNoSession:       {byHand, byHand, byHand},
	FaultSessionMismatch: never,
	FaultName:            {byHand, byHand, byHand},
	FaultNameMismatch:    {byHand, byHand, byHand},

	FaultExpired:      {byCopy, byCopy, byCopy},
	FaultAborting:     {byCopy, byCopy, harmless},
	FaultFailedLeaf:   {harmless, byCopy, byCopy}, // in Go byCopy before resumesFailed
	FaultAbortedEmpty: {byCopy, byCopy, byCopy},
	FaultHeartbeat:    never,
	FaultNoLeaf:       {harmless, byCopy, byCopy},

	model.FaultMissingParent: never,
	model.FaultForeignParent: never,
	model.FaultSelfParent:    {harmless, byCopy, byCopy},
	model.FaultParentCycle:   {harmless, byCopy, byCopy},
	model.FaultSeveralRoots:  never,
	model.FaultEqualTime:     never,
	model.FaultParentNewer:   never,

	FaultPointerMissing:   {harmless, byPointing, harmless},
	FaultPointerFile:      {byPointing, byPointing, harmless},
	FaultPointerDangling:  {byPointing, byPointing, harmless},
	FaultPointerDisagrees: never,
	FaultPointerUnknown:   never,

	FaultStray:      never,
	FaultUnreadable: {harmless, byPointing, harmless},
	FaultSymlink:    never,
	FaultLeftover:   never,
	FaultTraces:     never,
	FaultJournal:    {byHand, byHand, byHand},
}

// notMended says why Hindcast leaves a fault to people.
var notMended = map[string]string{
	FaultNoSession:    "no id of a session leads to a row that names none; fork it, and the new session has one",
	FaultName:         "the SDKs refuse the id of the session, and a row cannot change its session; fork it under another id",
	FaultNameMismatch: "the file says that it is another snapshot than its name: only you can tell which is right",
	FaultJournal:      "another program changed a file, which is neither as before nor as planned: only you can tell which content is right",
}

// ill is a small store whose session "s" an SDK does not start where it should,
// because of a fault.
type ill struct {
	fault  string
	layout layout
	cure   cure
	files  map[string]string
}

const (
	am = "2026-11-20T10:00:00.000Z"
	pm = "2026-11-20T22:00:00.000Z"
)

// withStatus returns a row that has no state, of any SDK, as its style is not looked
// at beside a pointer.
func withStatus(id, parent, at, status, more string) string {
	if parent != "" {
		parent = fmt.Sprintf(`"parentId": %q, `, parent)
	}
	return fmt.Sprintf(`{"snapshotId": %q, "sessionId": "s", "createdAt": %q, %s%s"status": %q}`, id, at, parent, more, status)
}

func pointerGo(id, at string) string {
	return fmt.Sprintf(`{"currentSnapshotId": %q, "currentCreatedAt": %q, "updatedAt": %q}`, id, at, at)
}

func pointerJS(id string) string {
	return fmt.Sprintf(`{"currentSnapshotId": %q, "updatedAt": %q}`, id, pm)
}

func ills() (list []ill) {
	dead := `"heartbeatAt": "2026-11-20T22:00:00.000Z", `
	state := `"state": {"messages": [], "sessionId": "s"}, `
	goGood, jsGood := goRow("a", "", "s", am, ""), jsRow("a", "", "s", am, "completed")
	addGo := func(fault string, c cure, b, pointer string) {
		list = append(list, ill{fault, layoutGo, c, map[string]string{"global/a.json": goGood, "global/b.json": b, "global/.pointers/s.json": pointer}})
	}
	addGo(FaultRowShape, byCopy, goRow("b", "a", "s", pm, state+`"status": 5`), pointerGo("b", pm))
	addGo(FaultTime, byCopy, goRow("b", "a", "s", pm, state+`"status": "completed", "updatedAt": "later"`), pointerGo("b", pm))
	addGo(FaultExpired, byCopy, goRow("b", "a", "s", pm, dead+`"status": "pending"`), pointerGo("b", pm))
	addGo(FaultAborting, byCopy, goRow("b", "a", "s", pm, dead+`"status": "aborting"`), pointerGo("b", pm))
	addGo(FaultAbortedEmpty, byCopy, goRow("b", "a", "s", pm, `"status": "aborted"`), pointerGo("b", pm))
	addGo(FaultPointerFile, byPointing, goRow("b", "a", "s", pm, ""), "{")
	addGo(FaultPointerDangling, byPointing, goRow("b", "a", "s", pm, ""), pointerGo("gone", pm))
	addJS := func(fault string, c cure, b, pointer string) {
		files := map[string]string{"global/a.json": jsGood, "global/b.json": b}
		if pointer != "" {
			files["global/.pointers/s.json"] = pointer
		}
		list = append(list, ill{fault, layoutJS, c, files})
	}
	addJS(FaultRowFile, bySettingAside, jsRow("b", "a", "s", pm, "completed")+"}", pointerJS("b"))
	addJS(FaultBOM, bySettingAside, "\ufeff"+jsRow("b", "a", "s", pm, "completed"), pointerJS("b"))
	addJS(FaultUnknownStatus, byCopy, withStatus("b", "", pm, "resting", state), pointerJS("b"))
	addJS(FaultExpired, byCopy, withStatus("b", "", pm, "pending", dead), pointerJS("b"))
	addJS(FaultAborting, byCopy, withStatus("b", "", pm, "aborting", dead), pointerJS("b"))
	addJS(FaultFailedLeaf, byCopy, withStatus("b", "", pm, "failed", state), pointerJS("b"))
	addJS(FaultAbortedEmpty, byCopy, withStatus("b", "", pm, "aborted", ""), pointerJS("b"))
	addJS(model.FaultSelfParent, byCopy, jsRow("b", "b", "s", pm, "completed"), pointerJS("b"))
	addJS(FaultPointerFile, byPointing, jsRow("b", "a", "s", pm, "completed"), "{")
	addJS(FaultPointerDangling, byPointing, jsRow("b", "a", "s", pm, "completed"), pointerJS("gone"))
	list = append(list,
		ill{FaultNoLeaf, layoutJS, byCopy, map[string]string{"global/b.json": jsRow("b", "b", "s", pm, "completed")}},
		ill{model.FaultParentCycle, layoutJS, byCopy, map[string]string{
			"global/a.json": jsRow("a", "b", "s", am, "completed"), "global/b.json": jsRow("b", "a", "s", pm, "completed"), "global/.pointers/s.json": pointerJS("b")}},
		ill{FaultPointerMissing, layoutJS, byPointing, map[string]string{"global/a.json": jsGood, "global/other.json": "garbage"}},
	)
	addPy := func(fault string, c cure, a, b string) {
		list = append(list, ill{fault, layoutPython, c, map[string]string{"a.json": a, "b.json": b}})
	}
	addPy(FaultRowShape, byCopy, jsGood, strings.Replace(jsRow("b", "a", "s", pm, "completed"), `"status"`, `"finishReason": 5, "status"`, 1))
	addPy(FaultUnknownKey, byCopy, jsGood, strings.Replace(jsRow("b", "a", "s", pm, "completed"), `"status"`, `"note": 5, "status"`, 1))
	addPy(FaultUnknownFinish, byCopy, jsGood, strings.Replace(jsRow("b", "a", "s", pm, "completed"), `"status"`, `"finishReason": "bored", "status"`, 1))
	addPy(FaultExpired, byCopy, jsGood, withStatus("b", "", pm, "pending", dead))
	addPy(FaultFailedLeaf, byCopy, jsGood, withStatus("b", "", pm, "failed", state))
	addPy(FaultAbortedEmpty, byCopy, jsGood, withStatus("b", "", pm, "aborted", ""))
	addPy(FaultNoLeaf, byCopy, jsRow("a", "b", "s", am, "completed"), jsRow("b", "a", "s", pm, "completed"))
	addPy(model.FaultParentCycle, byCopy, jsRow("a", "b", "s", am, "completed"), jsRow("b", "a", "s", pm, "completed"))
	addPy(model.FaultSelfParent, byCopy, jsRow("a", "a", "s", am, "completed"), jsRow("b", "b", "s", pm, "completed"))
	return list
}

// TestRemedies_coverAllFaults: what cannot be mended says why, and what can is
// shown below.
func TestRemedies_coverAllFaults(t *testing.T) {
	codes := slices.Sorted(maps.Keys(known()))
	codes = append(codes, FaultTraces, FaultJournal)
	for _, code := range codes {
		r, ok := remedies[code]
		if !ok {
			t.Errorf("nothing is said about a repair of %s", code)
		}
		if (notMended[code] != "") != slices.Contains(r[:], byHand) {
			t.Errorf("%s: %v, and the reason is %q", code, r, notMended[code])
		}
		for l, c := range r {
			// Root reads every file, so that none is unreadable in a test.
			if c == harmless || c == byHand || code == FaultUnreadable {
				continue
			}
			if !slices.ContainsFunc(ills(), func(i ill) bool { return i.fault == code && i.layout == layout(l) && i.cure == c }) {
				t.Errorf("nothing shows that %s is mended in %s", code, layout(l))
			}
		}
	}
	for code := range remedies {
		if !slices.Contains(codes, code) {
			t.Errorf("%s is no fault", code)
		}
	}
}

func TestRepair_mends(t *testing.T) {
	skip.Sequential(t)
	for _, i := range ills() {
		t.Run(i.fault+" "+i.layout.String(), func(t *testing.T) {
			dir := t.TempDir()
			for file, content := range i.files {
				write(t, filepath.Join(dir, filepath.FromSlash(file)), content)
			}
			s := open(t, dir)
			one := session1(t, s, "s")
			if one.layout != i.layout {
				t.Fatalf("the layout is %s", one.layout)
			}
			if list := storetest.Faults(t, s, "s"); !slices.ContainsFunc(list, func(f model.Fault) bool { return f.Code == i.fault }) {
				t.Fatalf("the faults are %v", list)
			}
			if remedies[i.fault][i.layout] != i.cure {
				t.Errorf("the table says %v", remedies[i.fault][i.layout])
			}
			repair(t, s, dir, "s", true)
		})
	}
}

// repair mends a session if that is needed, and looks at what comes of it.
func repair(t *testing.T, s *Store, dir, session string, needed bool) {
	t.Helper()
	before := treeOf(t, dir)
	had := map[string]bool{}
	for _, h := range storetest.Headers(t, s, session) {
		had[h.ID] = true
	}
	type told struct{ code, file string }
	was := map[told]bool{}
	for _, f := range storetest.Faults(t, s, session) {
		was[told{f.Code, f.File}] = true
	}
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: session}})
	nothing, refused := (*model.NothingToError)(nil), (*model.UnsupportedError)(nil)
	switch {
	case !needed && errors.As(err, &nothing):
		one := session1(t, s, session)
		now, _ := one.resumedRow()
		if now.err != "" || now.row == nil && one.newestGood(evening) != nil || now.row != nil && one.layout == layoutGo && one.isRefusedByGo(now.row) {
			t.Errorf("%s is said to be sound, and resumes %+v", session, now)
		}
		return
	case !needed && errors.As(err, &refused):
		return
	case err != nil:
		t.Fatal(err)
	}
	if len(plan.Hazards) == 0 || len(plan.Files) == 0 || plan.Loads == "" {
		t.Errorf("the plan is %+v", plan)
	}
	apply(t, s, plan, nil)
	for _, h := range storetest.Headers(t, s, session) {
		delete(had, h.ID)
	}
	for id := range had {
		t.Errorf("row %s is no longer shown", id)
	}
	for _, f := range storetest.Faults(t, s, session) {
		if !was[told{f.Code, f.File}] {
			t.Errorf("the repair made %+v", f)
		}
	}
	one := session1(t, s, session)
	if now, scanned := one.resumedRow(); len(one.rows) > 0 && (now.row == nil || scanned.row != now.row) {
		t.Errorf("the pointer leads to %+v and a search to %+v", now, scanned)
	}
	if again, err := s.Plan(t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: session}}); !errors.As(err, &nothing) {
		t.Errorf("it has to be mended again: %v, %v", again.Hazards, err)
	}
	undo(t, s)
	sameTree(t, before, treeOf(t, dir))
}

// TestRepair_everyHazard: whatever is wrong with a session, a repair helps or says
// why not.
func TestRepair_everyHazard(t *testing.T) {
	skip.Sequential(t)
	for _, h := range hazards(t) {
		t.Run(h.name, func(t *testing.T) {
			dir := h.write(t)
			s := open(t, dir)
			for _, info := range storetest.Sessions(t, s) {
				repair(t, s, dir, info.ID, false)
			}
		})
	}
}

// TestRepair_nothingToGoOnFrom: a session of Go's that has nothing but dead work
// begins anew; what is set aside stays in the timeline.
func TestRepair_nothingToGoOnFrom(t *testing.T) {
	skip.Sequential(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "global/a.json"), goRow("a", "", "s", am, `"status": "aborted"`))
	write(t, filepath.Join(dir, "global/b.json"), goRow("b", "a", "s", pm, `"heartbeatAt": "2026-11-20T10:00:00Z", "status": "pending"`))
	write(t, filepath.Join(dir, "global/.pointers/s.json"), pointerGo("b", pm))
	before := treeOf(t, dir)
	s := open(t, dir)
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: "s"}})
	apply(t, s, plan, err)
	if left := treeOf(t, dir); len(left) != 0 {
		t.Errorf("left is %v", slices.Sorted(maps.Keys(left)))
	}
	if faults := storetest.Faults(t, s, "s"); len(faults) > 0 {
		t.Errorf("the repair made %+v", faults)
	}
	list := storetest.Headers(t, s, "s")
	if len(list) != 2 {
		t.Fatalf("the session is %v", list)
	}
	for _, h := range list {
		if !h.Orphaned || h.Head || h.Reason == nil || h.Reason.Kind != model.ReasonRestore {
			t.Errorf("%s is shown as %+v", h.ID, h)
		}
		if _, err := s.State(t.Context(), h.Ref()); err != nil {
			t.Error(err)
		}
		if facts, err := s.Features().Facts(t.Context(), h.Ref()); err != nil || !slices.ContainsFunc(facts, func(f model.Fact) bool { return f.Label == "set aside" }) {
			t.Errorf("the facts are %v, %v", facts, err)
		}
		if _, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: h.Ref()}); !strings.Contains(fmt.Sprint(err), "undo the repair") {
			t.Error(err)
		}
	}
	undo(t, s)
	sameTree(t, before, treeOf(t, dir))
}

// TestRepair_ofWorkThatRuns: it may be none.
func TestRepair_ofWorkThatRuns(t *testing.T) {
	skip.Sequential(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "global/a.json"), goRow("a", "", "s", am, ""))
	write(t, filepath.Join(dir, "global/b.json"), goRow("b", "a", "s", pm, `"heartbeatAt": "2026-11-21T19:59:30Z", "status": "pending"`))
	_, err := open(t, dir).Plan(t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: "s"}})
	if refused := (*model.UnsupportedError)(nil); !errors.As(err, &refused) || !strings.Contains(refused.Reason, "wait for it") {
		t.Errorf("the error is %v", err)
	}
}

func TestRepair_aSoundSession(t *testing.T) {
	skip.Sequential(t)
	s := open(t, filepath.Join(testdata, "go-1.13.1"))
	_, err := s.Plan(t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: "barista/sess-main"}})
	if nothing := (*model.NothingToError)(nil); !errors.As(err, &nothing) {
		t.Errorf("the error is %v", err)
	}
}
