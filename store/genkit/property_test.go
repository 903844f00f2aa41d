package genkit

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/journal"
)

// sdk writes a store as an SDK does, by the rules of its own sources and not by
// those of this package: it keeps all rows in memory beside the files.
type sdk struct {
	t      *rapid.T
	dir    string
	layout layout
	now    *time.Time
}

// doc is a row as an SDK sees it.
type doc struct {
	SnapshotID string          `json:"snapshotId"`
	SessionID  string          `json:"sessionId"`
	ParentID   string          `json:"parentId"`
	CreatedAt  string          `json:"createdAt"`
	Status     string          `json:"status"`
	State      json.RawMessage `json:"state"`
}

type pointerDoc struct {
	Current   string `json:"currentSnapshotId"`
	CreatedAt string `json:"currentCreatedAt"`
}

func (k *sdk) must(err error) {
	if err != nil {
		k.t.Fatal(err)
	}
}

// rows reads all rows of a session, as a search does.
func (k *sdk) rows(sid string) (list []doc) {
	names, err := filepath.Glob(filepath.Join(k.dir, "*.json"))
	k.must(err)
	slices.Sort(names)
	for _, name := range names {
		data, err := os.ReadFile(name)
		k.must(err)
		var d doc
		k.must(json.Unmarshal(data, &d))
		if d.SessionID == sid {
			list = append(list, d)
		}
	}
	return list
}

func (k *sdk) byID(id string) *doc {
	data, err := os.ReadFile(filepath.Join(k.dir, id+".json"))
	if err != nil {
		return nil
	}
	var d doc
	k.must(json.Unmarshal(data, &d))
	return &d
}

func instant(text string) time.Time {
	at, _ := time.Parse(time.RFC3339Nano, text)
	return at
}

// latest returns the row that the SDK finds for a session, by its pointer or without.
func (k *sdk) latest(sid string, trusting bool) *doc {
	if trusting && k.layout != layoutPython {
		var p pointerDoc
		if data, err := os.ReadFile(filepath.Join(k.dir, ".pointers", sid+".json")); err == nil && json.Unmarshal(data, &p) == nil {
			if d := k.byID(p.Current); d != nil && d.SessionID == sid {
				return d
			}
		}
	}
	list := k.rows(sid)
	parents := map[string]bool{}
	for _, d := range list {
		parents[d.ParentID] = true
	}
	var best *doc
	for i := range list {
		d := &list[i]
		switch k.layout {
		case layoutGo:
			if best == nil || instant(d.CreatedAt).After(instant(best.CreatedAt)) || instant(d.CreatedAt).Equal(instant(best.CreatedAt)) && d.SnapshotID > best.SnapshotID {
				best = d
			}
		case layoutJS:
			if !parents[d.SnapshotID] && (best == nil || d.CreatedAt > best.CreatedAt) {
				best = d
			}
		case layoutPython:
			if !parents[d.SnapshotID] && (best == nil || d.CreatedAt > best.CreatedAt || d.CreatedAt == best.CreatedAt && d.SnapshotID > best.SnapshotID) {
				best = d
			}
		}
	}
	return best
}

// resume returns the row that a turn by the session's id goes on from, nil to begin
// anew.
func (k *sdk) resume(sid string, trusting bool) *doc {
	d := k.latest(sid, trusting)
	if k.layout == layoutGo {
		return d
	}
	for n := 0; d != nil && d.Status != "completed"; n++ {
		if n > 1000 {
			k.t.Fatal("a circle")
		}
		d = k.byID(d.ParentID)
	}
	return d
}

// put writes a file as all SDKs do: under another name, and then renamed.
func (k *sdk) put(file string, data []byte) {
	k.must(os.WriteFile(file+".tmp", data, 0o600))
	k.must(os.Rename(file+".tmp", file))
}

// turn writes the row of a turn that goes on from a row.
func (k *sdk) turn(sid string, from *doc, status, text string) string {
	*k.now = k.now.Add(time.Duration(rapid.IntRange(1, 3000).Draw(k.t, "ms")) * time.Millisecond)
	id := newID()
	messages := []json.RawMessage{}
	parent := ""
	if from != nil {
		parent = from.SnapshotID
		var state struct{ Messages []json.RawMessage }
		k.must(json.Unmarshal(from.State, &state))
		messages = append(messages, state.Messages...)
	}
	messages = append(messages, json.RawMessage(fmt.Sprintf(`{"content": [{"text": %q}], "role": "user"}`, text)))
	n := newRow{id: id, parent: parent, created: k.layout.clock(*k.now, nil), session: k.layout.quote(sid)}
	state, err := json.MarshalIndent(map[string]any{"messages": messages, "sessionId": sid}, "  ", "  ")
	k.must(err)
	n.state = state
	row := strings.Replace(string(n.encode(k.layout)), `"status": "completed"`, `"status": "`+status+`"`, 1)
	k.put(filepath.Join(k.dir, id+".json"), []byte(row))
	if k.layout != layoutPython {
		pointers := filepath.Join(k.dir, ".pointers")
		k.must(os.MkdirAll(pointers, 0o700))
		var p pointerDoc
		file := filepath.Join(pointers, sid+".json")
		data, err := os.ReadFile(file)
		// Go moves the pointer forward only; JavaScript with each new row.
		if k.layout == layoutJS || err != nil || json.Unmarshal(data, &p) != nil || k.now.After(instant(p.CreatedAt)) {
			k.put(file, k.layout.newPointer(id, n.created, *k.now))
		}
	}
	return id
}

// TestProperty_nothingIsLost runs turns of an agent and writes of Hindcast's in any
// order. After each: every row that ever was is shown, or kept in the journal to be
// done again; what the SDK resumes, by its own rules, is what the plan said; and to
// undo everything that the agent did not build upon gives back the very bytes. Beside
// the agent there are others that hold an old row and go on from that: what they write is
// shown behind it, though an undo has taken it away.
func TestProperty_nothingIsLost(t *testing.T) {
	for l, name := range layoutNames {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they wait for the disk
			dirs := 0
			root := t.TempDir()
			rapid.Check(t, func(r *rapid.T) {
				dirs++
				now := evening
				dir := filepath.Join(root, fmt.Sprint(dirs))
				k := &sdk{t: r, layout: layout(l), now: &now, dir: dir}
				if k.layout != layoutPython {
					k.dir = filepath.Join(dir, "global")
				}
				k.must(os.MkdirAll(k.dir, 0o700))
				for i := range 3 {
					k.turn("s", k.resume("s", true), "completed", fmt.Sprint("first ", i))
				}
				s, err := Options{Now: func() time.Time { return now }}.Open(t.Context(), dir)
				k.must(err)
				defer s.Close()
				world := &world{sdk: k, store: s, sessions: []string{"s"}}
				for range rapid.IntRange(1, 12).Draw(r, "steps") {
					world.step()
				}
				world.undoAll()
			})
		})
	}
}

// world is a store with an agent and a Hindcast in it.
type world struct {
	*sdk
	store    *Store
	sessions []string
	// undoable are the trees before each write of Hindcast's that can be undone
	// still, the last one last; an agent's turn ends that.
	undoable []map[string]string
	// held are the rows that agents hold which still run, each with its session.
	held []doc
}

// hold has an agent start, and wait.
func (w *world) hold(session string) {
	if d := w.resume(session, true); d != nil && d.SessionID == session {
		w.held = append(w.held, *d)
	}
}

// plain is tree without a *testing.T.
func (w *world) plain() map[string]string {
	held := map[string]string{}
	k := w.sdk
	names, err := filepath.Glob(filepath.Join(k.dir, "*.json"))
	k.must(err)
	more, err := filepath.Glob(filepath.Join(k.dir, ".pointers", "*.json"))
	k.must(err)
	for _, name := range append(names, more...) {
		data, err := os.ReadFile(name)
		k.must(err)
		held[name] = string(data)
	}
	return held
}

func (w *world) headers(session string) (list []model.Header) {
	for h, err := range w.store.Headers(w.t.Context(), session) {
		if errors.Is(err, model.ErrNoSession) {
			return nil
		}
		w.must(err)
		list = append(list, h)
	}
	return list
}

func (w *world) step() {
	session := rapid.SampledFrom(w.sessions).Draw(w.t, "session")
	list := w.headers(session)
	row := func() model.Ref {
		h := rapid.SampledFrom(list).Draw(w.t, "row")
		return h.Ref()
	}
	before := w.plain()
	*w.now = w.now.Add(time.Duration(rapid.IntRange(-2000, 3000).Draw(w.t, "clock")) * time.Millisecond)
	var plan model.Plan
	var err error
	switch op := rapid.SampledFrom([]string{"turn", "turn", "failed turn", "branch", "late", "restore", "restore", "restore", "fork", "undo", "undo", "redo", "repair"}).Draw(w.t, "op"); {
	case op == "turn":
		w.turn(session, w.resume(session, true), "completed", "next")
		w.hold(session)
		w.undoable = nil
	case op == "late":
		if len(w.held) == 0 {
			return
		}
		list := slices.DeleteFunc(slices.Clone(w.held), func(d doc) bool { return w.byID(d.SnapshotID) != nil })
		if len(list) == 0 { // the row of none is gone
			list = w.held
		}
		d := rapid.SampledFrom(list).Draw(w.t, "held")
		w.turn(d.SessionID, &d, "completed", "late")
		w.undoable = nil
	case op == "failed turn":
		w.turn(session, w.resume(session, true), "failed", "fails")
		w.undoable = nil
	case len(list) == 0:
		return
	case op == "branch":
		w.turn(session, w.byID(row().ID), "completed", "branch")
		w.undoable = nil
	case op == "restore":
		plan, err = w.store.Plan(w.t.Context(), model.Change{Op: model.OpRestore, Ref: row()})
	case op == "fork":
		plan, err = w.store.Plan(w.t.Context(), model.Change{Op: model.OpFork, Ref: row(), As: fmt.Sprint("fork", len(w.sessions))})
	case op == "undo":
		plan, err = w.store.Plan(w.t.Context(), model.Change{Op: model.OpUndo})
	case op == "redo":
		plan, err = w.store.Plan(w.t.Context(), model.Change{Op: model.OpRedo})
	case op == "repair":
		plan, err = w.store.Plan(w.t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: session}})
	}
	switch {
	case errors.As(err, new(*model.NothingToError)), errors.As(err, new(*model.UnsupportedError)), errors.Is(err, model.ErrHeadMoved), errors.Is(err, store.ErrSessionExists):
	case err != nil:
		w.t.Fatal(err)
	case plan.Op != "":
		w.apply(plan, before)
	}
	w.nothingLost(before, plan.Op)
}

func (w *world) apply(plan model.Plan, before map[string]string) {
	receipt, err := w.store.Apply(w.t.Context(), plan)
	w.must(err)
	session := plan.Session
	if plan.NewSession != "" {
		session = plan.NewSession
	}
	if !slices.Contains(w.sessions, session) {
		w.sessions = append(w.sessions, session)
	}
	for _, trusting := range []bool{true, false} {
		id := ""
		if d := w.resume(session, trusting); d != nil {
			id = d.SnapshotID
		}
		// What was so before is not for an undo to mend: the pointer and a search
		// may have disagreed then, and the session may have begun anew.
		if id == "" && plan.Op == model.OpUndo {
			continue
		}
		if id != receipt.Head.ID && (trusting || plan.Op != model.OpUndo && plan.Op != model.OpRedo) {
			for _, d := range w.rows(session) {
				w.t.Logf("  %.8s < %.8s %s %s", d.SnapshotID, d.ParentID, d.CreatedAt, d.Status)
			}
			w.t.Fatalf("%s: the SDK resumes %q, and the receipt says %q (trusting the pointer: %v)", plan.Op, id, receipt.Head.ID, trusting)
		}
	}
	switch {
	case receipt.Entry == 0: // there was nothing to write
	case plan.Op == model.OpUndo:
		if n := len(w.undoable); n > 0 {
			w.same(w.undoable[n-1])
			w.undoable = w.undoable[:n-1]
		}
	case w.builtUpon(session, before):
		w.undoable = nil
	default:
		w.undoable = append(w.undoable, before)
		w.hold(session)
	}
}

// builtUpon reports whether an agent went on from a row while it was not there: it held
// the row, which an undo had taken away and a redo has brought back.
func (w *world) builtUpon(session string, before map[string]string) bool {
	after := w.plain()
	return slices.ContainsFunc(w.rows(session), func(d doc) bool {
		parent := filepath.Join(w.dir, d.ParentID+rowSuffix)
		return d.ParentID != "" && before[parent] == "" && after[parent] != ""
	})
}

func (w *world) same(want map[string]string) {
	got := w.plain()
	for name := range want {
		if want[name] != got[name] {
			w.t.Fatalf("%s is %q, and was %q", name, got[name], want[name])
		}
	}
	if len(got) != len(want) {
		w.t.Fatalf("there are %d files, and were %d", len(got), len(want))
	}
}

// nothingLost: each row that there was is there byte for byte, or in the journal.
func (w *world) nothingLost(before map[string]string, op model.Op) {
	after := w.plain()
	kept := map[string]bool{}
	for _, v := range w.store.storages() {
		entries, err := v.Entries(w.t.Context())
		w.must(err)
		for _, e := range entries {
			for _, c := range e.Changes {
				for _, version := range []journal.Version{c.Before, c.After} {
					if version.None() || version.Folder {
						continue
					}
					j, err := v.Journal()
					w.must(err)
					data, err := j.Read(version)
					w.must(err)
					kept[string(data)] = true
				}
			}
		}
	}
	for name, was := range before {
		if after[name] == was || kept[was] {
			continue
		}
		if op == "" && filepath.Base(filepath.Dir(name)) == ".pointers" {
			continue // the agent moved it
		}
		w.t.Fatalf("%s is lost by a %s", name, op)
	}
	// Each row is shown.
	shown := map[string]bool{}
	for _, session := range w.sessions {
		for _, h := range w.headers(session) {
			shown[h.ID] = true
			if _, err := w.store.State(w.t.Context(), h.Ref()); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	for name := range after {
		id := cutRow(name)
		if filepath.Base(filepath.Dir(name)) == ".pointers" {
			continue
		}
		if !shown[id] {
			w.t.Fatalf("row %s is not shown", id)
		}
		if d := w.byID(id); d != nil && d.ParentID != "" && !shown[d.ParentID] {
			w.t.Fatalf("row %s is shown, and its parent %s is not", id, d.ParentID)
		}
	}
}

func cutRow(name string) string {
	base := filepath.Base(name)
	return base[:len(base)-len(rowSuffix)]
}

// undoAll takes back all that can be.
func (w *world) undoAll() {
	for len(w.undoable) > 0 {
		plan, err := w.store.Plan(w.t.Context(), model.Change{Op: model.OpUndo})
		if err != nil {
			w.t.Fatal(err)
		}
		w.apply(plan, nil)
	}
}
