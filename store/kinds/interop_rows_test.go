package kinds_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/rows"
	"hindcast/store/kinds"
	"hindcast/store/media/pg/pgtest"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// rewritten is a copy of a SQLite file in which Hindcast carried out one change.
type rewritten struct {
	model.Header // of the snapshot that the change names
	change       model.Change
	db           string
	state        []byte
	plan         model.Plan
	receipt      model.Receipt
}

func (w *rewritten) String() string {
	return fmt.Sprintf("%s of %s #%d", w.change.Op, w.SessionID, w.Index)
}

// rewriting is what the tests of SDKs with a SQLite file share.
type rewriting struct {
	*testing.T
	db, title string
	// restores says that the kind restores, besides that it forks.
	restores bool
	// skips says which sessions cannot be changed alone.
	skips func(session string) bool
	// branches says that a fork may be a branch of its session, too.
	branches bool
	came     *matrix
	// stands is the row of the matrix that all count in; "" for that of what each is.
	stands string
}

func (r *rewriting) standsAt(h *model.Header) string { return cmp.Or(r.stands, standsAt(h)) }

// standsAt returns the row of the matrix that a snapshot counts in.
func standsAt(h *model.Header) string {
	switch {
	case h.Marks.Has(model.MarkInterrupted):
		return atInterrupt
	case h.Event == model.SnapshotEventTurnEnd:
		return atTurnEnd
	case h.Event == model.SnapshotEventToolIterationEnd:
		return atResults
	case h.EventName == rows.EventUser:
		return atUser
	case h.EventName == "after model":
		return atCalls
	case h.EventName == "rewind":
		return atRewind
	}
	return atNode
}

// all carries out a restore and a fork at each snapshot of each session, on a copy of the file
// each. An undo leaves each table as it was, and a redo does the same again.
func (r *rewriting) all() (list []rewritten) {
	s, err := allKinds.Open(r.Context(), r.db)
	if err != nil {
		r.Fatal(err)
	}
	defer s.Close()
	untouched := storetest.Untouched(r.T, filepath.Dir(r.db))
	before := storetest.Tables(r, r.db)
	for _, info := range sessionsOf(r.T, s) {
		if r.skips != nil && r.skips(info.ID) {
			continue
		}
		for _, h := range storetest.Headers(r, s, info.ID) {
			r.came.visit(r.title, r.standsAt(&h))
			changes := []model.Change{{Op: model.OpFork, Ref: h.Ref(), As: "forked"}}
			if r.restores {
				changes = append(changes, model.Change{Op: model.OpRestore, Ref: h.Ref()})
			}
			if r.branches {
				changes = append(changes, model.Change{Op: model.OpFork, Ref: h.Ref(), As: info.ID + "/again"})
			}
			for _, c := range changes {
				w := rewritten{Header: h, change: c, db: storetest.Copy(r, r.db), state: stateOf(r.T, s, &h)}
				if r.rewrite(&w, before) {
					list = append(list, w)
				}
			}
		}
	}
	untouched()
	return list
}

// rewrite carries out a change. It reports false where the kind refuses it.
func (r *rewriting) rewrite(w *rewritten, before string) bool {
	opened, err := allKinds.Open(r.Context(), w.db)
	if err != nil {
		r.Fatal(err)
	}
	defer opened.Close()
	s := storetest.AsWriter(opened)
	apply := func(change model.Change) (plan model.Plan, receipt model.Receipt, err error) {
		if plan, err = s.Plan(r.Context(), change); err == nil {
			receipt, err = s.Apply(r.Context(), plan)
		}
		return plan, receipt, err
	}
	note := func(op model.Op, outcome string) { r.came.note(r.title, r.standsAt(&w.Header), string(op), outcome) }
	w.plan, w.receipt, err = apply(w.change)
	if refused := (*model.UnsupportedError)(nil); errors.As(err, &refused) {
		note(w.change.Op, refused.Reason)
		return false
	}
	if err != nil {
		r.Fatalf("%s: %v", w, err)
	}
	if note(w.change.Op, itsOK); w.receipt.Entry == 0 {
		return true
	}
	after := storetest.Tables(r, w.db)
	for _, step := range []struct {
		op   model.Op
		want string
	}{{model.OpUndo, before}, {model.OpRedo, after}} {
		if _, _, err := apply(model.Change{Op: step.op}); err != nil {
			r.Fatalf("%s of %s: %v", step.op, w, err)
		}
		if storetest.Tables(r, w.db) != step.want {
			r.Errorf("after an %s of %s the tables are others", step.op, w)
		}
		note(step.op, itsOK)
	}
	return true
}

// ran notes that a call went on from a change.
func (r *rewriting) ran(w *rewritten) { r.came.note(r.title, r.standsAt(&w.Header), "resume", itsOK) }

// hold compares what came of it with the matrix of an SDK.
func (m *matrix) hold(t *testing.T, sdk string, titles ...string) {
	t.Helper()
	holdTable(t, filepath.Join(sdk, "matrix.txt"), m.draw(titles))
}

// holdTable compares a table of what was proven with a file of testdata/interop, which -update rewrites.
func holdTable(t *testing.T, name, drawn string) {
	t.Helper()
	t.Logf("\n%s", drawn)
	if t.Failed() {
		return
	}
	file := filepath.Join(testdata, "interop", name)
	want, err := os.ReadFile(file)
	switch {
	case *update:
		err = os.WriteFile(file, []byte(drawn), 0o644)
	case err == nil && string(want) != drawn:
		t.Errorf("%s is stale; -update rewrites it", file)
	}
	if err != nil {
		t.Error(err)
	}
}

// askedOfADK is a session that Hindcast put back or forked, with what it shows there.
type askedOfADK struct {
	DB      string          `json:"db"`
	Session string          `json:"session"`
	Call    string          `json:"call"`
	State   json.RawMessage `json:"state"`
}

// toldByADK is what ADK makes of each, and what an agent gets that had a session loaded.
type toldByADK struct {
	Ran []struct {
		State, Shown map[string]any
		Sent, Wanted any
		Failed       string
	}
	Stale []string
}

// hold compares what ADK loads and sends with what Hindcast shows.
func (a *toldByADK) hold(t *testing.T, puts []askedOfADK, of []*rewritten) {
	t.Helper()
	for i, got := range a.Ran {
		if got.Failed != "" {
			t.Errorf("%s: %s fails: %s", of[i], puts[i].Call, got.Failed)
			continue
		}
		if of[i].receipt.Entry == 0 { // nothing was written: what a rewind of ADK's set to null stays so
			maps.DeleteFunc(got.State, func(_ string, v any) bool { return v == nil })
		}
		if !reflect.DeepEqual(got.State, got.Shown) {
			t.Errorf("%s: ADK has the state\n%v\nand Hindcast shows\n%v", of[i], got.State, got.Shown)
		}
		if got.Sent == nil || !reflect.DeepEqual(got.Sent, got.Wanted) {
			t.Errorf("%s: %s: the model is sent\n%v\nand with what Hindcast shows\n%v", of[i], puts[i].Call, got.Sent, got.Wanted)
		}
	}
}

// TestInteropADK_postgres has DatabaseSessionService write sessions in PostgreSQL, which Hindcast puts
// back and forks, each in a database of its own.
func TestInteropADK_postgres(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	program, cluster := interopProgram(t, "adk", "sessions.py"), pgtest.SharedCluster(t)
	wrote := cluster.Database(t)
	program.says(t, "write", wrote, nil, nil)
	served := kinds.All(nil, t.TempDir())
	open := func(address string) store.Store {
		s, err := served.Open(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	var puts []askedOfADK
	var of []*rewritten
	s := open(wrote)
	for _, info := range sessionsOf(t, s) {
		for _, h := range storetest.Headers(t, s, info.ID) {
			state := stateOf(t, s, &h)
			for _, c := range []model.Change{{Op: model.OpFork, Ref: h.Ref(), As: "forked"}, {Op: model.OpRestore, Ref: h.Ref()}} {
				of = append(of, &rewritten{Header: h, change: c, state: state})
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	went := map[model.Op]int{}
	of = slices.DeleteFunc(of, func(w *rewritten) bool {
		w.db = cluster.Copy(t, wrote)
		s := open(w.db)
		defer s.Close()
		var err error
		if w.plan, err = s.Features().Plan(t.Context(), w.change); err == nil {
			w.receipt, err = s.Features().Apply(t.Context(), w.plan)
		}
		if refused := (*model.UnsupportedError)(nil); errors.As(err, &refused) {
			return true
		}
		if err != nil || len(w.plan.Resume) == 0 {
			t.Fatalf("%s: %v", w, err)
		}
		went[w.change.Op]++
		puts = append(puts, askedOfADK{w.db, w.receipt.Session[strings.LastIndex(w.receipt.Session, "/")+1:], w.plan.Resume[0].Call, w.state})
		return false
	})
	if went[model.OpFork] < 34 || went[model.OpRestore] < 11 {
		t.Errorf("there were %v", went)
	}
	var came toldByADK
	program.says(t, "run", "", map[string]any{"puts": puts, "held": []any{}}, &came)
	came.hold(t, puts, of)
}

// TestInteropADK has ADK write sessions with both of its services. Hindcast puts each back to each
// event, and forks it from each. ADK loads the state that Hindcast shows there, and the model is
// sent what it is sent in a session that has the messages and the state that Hindcast shows. An
// agent that had the session loaded before is told so.
func TestInteropADK(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	program := interopProgram(t, "adk", "sessions.py")
	dir := t.TempDir()
	program.says(t, "write", dir, nil, nil)
	var puts []askedOfADK
	var of []*rewritten
	var by []*rewriting
	var held [][3]string
	var proven matrix
	titles := []string{"google-adk 2.13.0: SqliteSessionService", "google-adk 2.13.0: DatabaseSessionService, schema 1"}
	for i, file := range []string{"sqlite.db", "database.db"} {
		r := &rewriting{T: t, db: filepath.Join(dir, file), title: titles[i], restores: true, came: &proven}
		for _, w := range r.all() {
			session := w.receipt.Session[strings.LastIndex(w.receipt.Session, "/")+1:]
			for _, call := range w.plan.Resume {
				puts = append(puts, askedOfADK{w.db, session, call.Call, w.state})
				of, by = append(of, &w), append(by, r)
			}
			if w.change.Op == model.OpRestore && w.receipt.Entry != 0 && !slices.ContainsFunc(held, func(h [3]string) bool { return h[0] == r.db }) {
				held = append(held, [3]string{r.db, w.db, session})
			}
		}
	}
	var came toldByADK
	program.says(t, "run", dir, map[string]any{"puts": puts, "held": held}, &came)
	came.hold(t, puts, of)
	for i := range of {
		by[i].ran(of[i])
	}
	if !slices.Equal(came.Stale, []string{"StaleSessionError", "StaleSessionError"}) {
		t.Errorf("an agent that had the session loaded gets %q", came.Stale)
	}
	proven.hold(t, "adk", titles...)
}

// TestInteropOpenAIAgents has the OpenAI Agents SDK write sessions. Hindcast forks each from each
// item, those of AdvancedSQLiteSession as a branch, too. The session then has the items that
// Hindcast shows there, and the model is sent what it is sent in a session in memory that has them.
func TestInteropOpenAIAgents(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	program := interopProgram(t, "openai-agents", "sessions.py")
	dir := t.TempDir()
	program.says(t, "write", dir, nil, nil)
	var puts []askedOfAgents
	var of []*rewritten
	var by []*rewriting
	var proven matrix
	var titles []string
	for _, form := range []struct{ file, title string }{{"sqlite.db", "SQLiteSession, AsyncSQLiteSession"}, {"advanced.db", "AdvancedSQLiteSession, as a session and as a branch"}, {"sqlalchemy.db", "SQLAlchemySession, SQLite"}} {
		r := &rewriting{T: t, db: filepath.Join(dir, form.file), title: "openai-agents 0.24.0: " + form.title, branches: form.file == "advanced.db", came: &proven}
		titles = append(titles, r.title)
		for _, w := range r.all() {
			if len(w.plan.Resume) != 1 {
				t.Errorf("%s goes on by %+v", &w, w.plan.Resume)
				continue
			}
			puts = append(puts, askedOfAgents{w.db, w.plan.Resume[0].Call, w.state})
			of, by = append(of, &w), append(by, r)
		}
	}
	holdAgents(t, program, puts, of)
	for i := range of {
		by[i].ran(of[i])
	}
	proven.hold(t, "openai-agents", titles...)
}

// TestInteropOpenAIAgents_postgres has SQLAlchemySession write sessions in PostgreSQL. Each is forked from each
// item, in a database of its own, and the SDK goes on from the fork as from one in a file.
func TestInteropOpenAIAgents_postgres(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	program, cluster := interopProgram(t, "openai-agents", "sessions.py"), pgtest.SharedCluster(t)
	wrote := cluster.Database(t)
	program.says(t, "write", wrote, nil, nil)
	served := kinds.All(nil, t.TempDir())
	s, err := served.Open(t.Context(), wrote)
	if err != nil {
		t.Fatal(err)
	}
	var puts []askedOfAgents
	var of []*rewritten
	for _, info := range sessionsOf(t, s) {
		if faults := faultsOf(t, s, info.ID); info.ID == "async" && len(faults) > 0 {
			t.Errorf("%s has the faults %+v", info.ID, faults)
		}
		for _, h := range storetest.Headers(t, s, info.ID) {
			of = append(of, &rewritten{Header: h, change: model.Change{Op: model.OpFork, Ref: h.Ref(), As: "forked"}, state: stateOf(t, s, &h)})
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if len(of) < 15 {
		t.Errorf("%d items", len(of))
	}
	for _, w := range of {
		w.db = cluster.Copy(t, wrote)
		opened, err := served.Open(t.Context(), w.db)
		if err != nil {
			t.Fatal(err)
		}
		s, before := storetest.AsWriter(opened), cluster.Rows(t, w.db)
		if w.plan, err = s.Plan(t.Context(), w.change); err == nil {
			_, err = s.Apply(t.Context(), w.plan)
		}
		if err != nil || len(w.plan.Resume) != 1 {
			t.Fatalf("%s: %v, it goes on by %+v", w, err, w.plan.Resume)
		}
		after := cluster.Rows(t, w.db)
		carriedOut(t, s, model.Change{Op: model.OpUndo})
		if cluster.Rows(t, w.db) != before {
			t.Errorf("%s: after an undo the rows are others", w)
		}
		carriedOut(t, s, model.Change{Op: model.OpRedo})
		if cluster.Rows(t, w.db) != after {
			t.Errorf("%s: after a redo the rows are others", w)
		}
		puts = append(puts, askedOfAgents{w.db, w.plan.Resume[0].Call, w.state})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	holdAgents(t, program, puts, of)
}

// askedOfAgents is a fork of Hindcast's: where, the call that goes on, and the state that it shows there.
type askedOfAgents struct {
	DB    string          `json:"db"`
	Call  string          `json:"call"`
	State json.RawMessage `json:"state"`
}

// holdAgents has the OpenAI Agents SDK go on from forks, and compares what it has and sends with what Hindcast shows.
func holdAgents(t *testing.T, program graphs, puts []askedOfAgents, of []*rewritten) {
	t.Helper()
	var ran []struct {
		Had          []any
		Sent, Wanted any
		Failed       string
	}
	program.says(t, "run", "", puts, &ran)
	for i, got := range ran {
		if got.Failed != "" {
			t.Errorf("%s: %s fails: %s", of[i], puts[i].Call, got.Failed)
			continue
		}
		var shown struct{ Messages []any }
		if err := json.Unmarshal(puts[i].State, &shown); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got.Had, shown.Messages) {
			t.Errorf("%s: the session has\n%v\nand Hindcast shows\n%v", of[i], got.Had, shown.Messages)
		}
		if got.Sent == nil || !reflect.DeepEqual(got.Sent, got.Wanted) {
			t.Errorf("%s: %s: the model is sent\n%v\nand with what Hindcast shows\n%v", of[i], puts[i].Call, got.Sent, got.Wanted)
		}
	}
}
