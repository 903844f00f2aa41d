package snapshots

import (
	"crypto/sha256"
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
	"hindcast/model/jsontape"
	"hindcast/store/journal"
	"hindcast/store/storetest"
	"hindcast/store/writing"
)

// scripted is an agent with a session manager, as the SDKs are: it starts from
// snapshot_latest.json, and saves that and at times an immutable snapshot.
type scripted struct {
	dialect
	kept  string // the folder of the snapshots
	ids   *minter
	clock *time.Time
	said  int
	// held are the messages with which it ended its last turn.
	held []json.RawMessage
}

// saved is what of a snapshot the agent needs.
type saved struct {
	Data struct {
		Messages   []json.RawMessage
		Interrupts struct {
			PendingToolExecution *struct{ AssistantMessageData json.RawMessage }
		}
	}
}

// turn lets the agent start, say something, and save.
func (a *scripted) turn(t *rapid.T, words []string, trigger bool) {
	a.save(t, a.start(t), words, trigger)
}

// start returns the messages that the agent loads.
func (a *scripted) start(t *rapid.T) []json.RawMessage {
	var s saved
	data, err := os.ReadFile(filepath.Join(a.kept, latestFile))
	if err == nil {
		err = json.Unmarshal(data, &s)
	} else if errors.Is(err, os.ErrNotExist) {
		err = os.MkdirAll(filepath.Join(a.kept, historyDir), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	messages := s.Data.Messages
	if held := s.Data.Interrupts.PendingToolExecution; held != nil {
		messages = append(messages, held.AssistantMessageData, a.message("=1"))
	}
	return messages
}

// save lets the agent go on from messages, and save.
func (a *scripted) save(t *rapid.T, messages []json.RawMessage, words []string, trigger bool) {
	for _, word := range words {
		messages = append(messages, a.message(word))
	}
	a.held = messages
	list, err := json.Marshal(messages)
	if err != nil {
		t.Fatal(err)
	}
	*a.clock = a.clock.Add(time.Millisecond)
	file := fmt.Sprintf(`{"scope": "agent", "schema_version": "1.0", "created_at": %q, "data": {"messages": %s, "state": {}}, "app_data": {}}`, isoformat(*a.clock), list)
	if a.dialect == typeScript {
		file = strings.NewReplacer("schema_version", "schemaVersion", "created_at", "createdAt", "app_data", "appData").Replace(file)
	}
	if trigger {
		id, err := a.ids.mint(*a.clock)
		if err != nil {
			t.Fatal(err)
		}
		a.write(t, filepath.Join(historyDir, "snapshot_"+id+".json"), file)
	}
	a.write(t, latestFile, file)
}

// message makes one as told does, with an id of its own.
func (a *scripted) message(word string) json.RawMessage {
	a.said++
	list := string(jsontape.FindMember(jsontape.FindMember([]byte(told(word)), `"data"`), `"messages"`))
	key := "tracking_id"
	if a.dialect == typeScript {
		key = "trackingId"
	}
	return json.RawMessage(strings.Replace(list[1:len(list)-1], "{", fmt.Sprintf(`{%q: "t%d", `, key, a.said), 1))
}

// write puts a file beside the one that it is for, and renames it.
func (a *scripted) write(t *rapid.T, name, text string) {
	at := filepath.Join(a.kept, name)
	if err := errors.Join(os.WriteFile(at+".tmp", []byte(text), 0o644), os.Rename(at+".tmp", at)); err != nil {
		t.Fatal(err)
	}
}

// unsynced is a disk that takes no time to be durable.
type unsynced struct{ writing.Disk }

func (unsynced) Sync(string) error { return nil }

// world is a store in which agents run and sessions are put back.
type world struct {
	t     *rapid.T
	dir   string
	s     *Store
	agent *scripted
	clock time.Time
	made  int // sessions
	// agents are what agents held that still run; kept counts the snapshots that one of
	// them wrote over and Hindcast had.
	agents [][]json.RawMessage
	kept   int
}

func (w *world) sessions() (list []string) {
	for info, err := range w.s.Sessions(w.t.Context()) {
		if err != nil {
			w.t.Fatal(err)
		}
		list = append(list, info.ID)
	}
	return list
}

func (w *world) rows() (list []model.Header) {
	for _, id := range w.sessions() {
		for h, err := range w.s.Headers(w.t.Context(), id) {
			if err != nil {
				w.t.Fatal(err)
			}
			list = append(list, h)
		}
	}
	return list
}

// reachable returns the states of all rows.
func (w *world) reachable() map[string]string {
	all := make(map[string]string)
	for _, h := range w.rows() {
		state, err := w.s.State(w.t.Context(), h.Ref())
		if err != nil {
			w.t.Fatal(err)
		}
		all[string(state)] = h.SessionID + " " + h.ID
	}
	return all
}

// run has an agent say something and save: one that starts, or one that still runs and
// knows nothing of what was written since. What it writes over can still be reached if
// Hindcast had written or set it aside, or if it is part of what the agent saved.
func (w *world) run(old bool) {
	words, trigger := rapid.SampledFrom(turns).Draw(w.t, "turn"), rapid.Bool().Draw(w.t, "trigger")
	from := w.agent.start(w.t)
	if old && len(w.agents) > 0 {
		from = rapid.SampledFrom(w.agents).Draw(w.t, "agent")
	}
	before := w.reachable()
	over, err := os.ReadFile(filepath.Join(w.agent.kept, latestFile))
	if err != nil {
		w.t.Fatal(err)
	}
	w.agent.save(w.t, slices.Clone(from), words, trigger)
	w.agents = append(w.agents, w.agent.held)
	sum, had := fmt.Sprintf("%x", sha256.Sum256(over)), false
	for _, e := range entriesOf(w.t, w.s) {
		had = had || slices.ContainsFunc(e.Changes, func(c journal.Change) bool { return c.Before.SHA256 == sum })
	}
	state, err := payload(over)
	if err != nil {
		w.t.Fatal(err)
	}
	if had {
		w.kept++
	} else {
		delete(before, string(state))
	}
	w.keeps(model.Plan{Op: "turn"}, before)
}

// write plans something of Hindcast's and carries it out.
func (w *world) write() {
	rows := w.rows()
	row := rapid.SampledFrom(rows).Draw(w.t, "row")
	var plan model.Plan
	var err error
	switch rapid.SampledFrom([]model.Op{model.OpRestore, model.OpRestore, model.OpFork, model.OpEdit, model.OpUndo, model.OpUndo, model.OpRedo}).Draw(w.t, "op") {
	case model.OpRestore:
		plan, err = w.s.Plan(w.t.Context(), model.Change{Op: model.OpRestore, Ref: row.Ref()})
	case model.OpFork:
		w.made++
		plan, err = w.s.Plan(w.t.Context(), model.Change{Op: model.OpFork, Ref: row.Ref(), As: fmt.Sprint("f", w.made)})
	case model.OpEdit:
		w.made++
		state := []byte(`{"messages": [], "edited": ` + fmt.Sprint(w.made) + `}`)
		plan, err = w.s.Plan(w.t.Context(), model.Change{Op: model.OpEdit, Ref: row.Ref(), As: fmt.Sprint("f", w.made), State: state})
	case model.OpUndo:
		plan, err = w.s.Plan(w.t.Context(), model.Change{Op: model.OpUndo})
	case model.OpRedo:
		plan, err = w.s.Plan(w.t.Context(), model.Change{Op: model.OpRedo})
	}
	before := w.reachable()
	if err == nil {
		w.clock = w.clock.Add(time.Second)
		_, err = w.s.Apply(w.t.Context(), plan)
	}
	switch nothing := (*model.NothingToError)(nil); {
	case errors.As(err, &nothing), errors.Is(err, model.ErrHeadMoved):
	case err != nil:
		w.t.Fatal(err)
	}
	w.keeps(plan, before)
}

// keeps checks that every state which was there can still be reached. An undo
// takes back what its own write had made.
func (w *world) keeps(plan model.Plan, before map[string]string) {
	after := w.reachable()
	for state, where := range before {
		if _, ok := after[state]; ok || plan.Op == model.OpUndo && (strings.HasPrefix(where, "f") || strings.Contains(state, "pendingToolExecution")) ||
			strings.Contains(state, "pendingToolExecution") { // made out of a snapshot that is there
			continue
		}
		w.t.Fatalf("%s: %s is gone: %s", plan.Op, where, state)
	}
	for _, id := range w.sessions() {
		heads := 0
		for _, h := range w.rows() {
			if h.Head && h.SessionID == id {
				heads++
			}
		}
		if heads != 1 {
			w.t.Fatalf("%s has %d heads", id, heads)
		}
	}
}

func entriesOf(t *rapid.T, s *Store) []journal.Entry {
	list, err := s.storage.Entries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func newWorld(t *rapid.T, dir string) *world {
	w := &world{t: t, dir: dir, clock: noon}
	kind := rapid.SampledFrom([]struct {
		dialect
		at string
	}{{python, "session/a/scopes/agent/default"}, {typeScript, "session/a/scopes/agent/agent"}, {typeScript, "a/scopes/agent/agent"}}).Draw(t, "kind")
	ids := &minter{random: func(b []byte) { clear(b) }}
	w.agent = &scripted{dialect: kind.dialect, kept: filepath.Join(dir, filepath.FromSlash(kind.at), snapshots), ids: ids, clock: &w.clock}
	w.agent.turn(t, []string{"q", "-a"}, true)
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	s.storage.Now = func() time.Time { return w.clock }
	s.random = func(b []byte) { clear(b) }
	if err := s.storage.Desk.Through(func(d writing.Disk) writing.Disk { return unsynced{d} }); err != nil {
		t.Fatal(err)
	}
	w.s = s
	return w
}

var turns = [][]string{{"q", "-a"}, {"q", "+1", "=1", "-a"}, {"q", "+1"}, {"q", "+1", "=1"}, {"q"}, {"-a"}}

// Whatever is put back, forked, edited, undone and redone between the turns of an
// agent, nothing that was there becomes unreachable.
func TestProperty_nothingIsLost(t *testing.T) {
	t.Parallel()
	properties(t, 3)
}

// Nor beside agents that still run and hold an old view. The one exception is a
// snapshot_latest.json that an agent writes over and Hindcast never had: it is gone as
// without Hindcast, because reading keeps nothing.
func TestProperty_nothingIsOutOfReach(t *testing.T) {
	t.Parallel()
	if properties(t, 5) == 0 && !testing.Short() { // which runs few
		t.Error("no agent wrote over a snapshot that Hindcast had")
	}
}

// properties has Hindcast and agents take turns, and returns how many snapshots an agent
// wrote over that Hindcast had.
func properties(t *testing.T, who int) (kept int) {
	rapid.Check(t, storetest.Few(35, func(rt *rapid.T) {
		w := newWorld(rt, tempDir(rt))
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			switch rapid.IntRange(1, who).Draw(rt, "who") {
			case 1:
				w.run(false)
			case 4, 5:
				w.run(true)
			default:
				w.write()
			}
		}
		kept += w.kept
	}))
	return kept
}

// Taking everything back gives the first bytes; doing it again those from before.
func TestProperty_undoOfEverything(t *testing.T) {
	t.Parallel()
	rapid.Check(t, storetest.Few(35, func(rt *rapid.T) {
		w := newWorld(rt, tempDir(rt))
		for range rapid.IntRange(0, 4).Draw(rt, "turns") {
			w.agent.turn(rt, rapid.SampledFrom(turns).Draw(rt, "turn"), rapid.Bool().Draw(rt, "trigger"))
		}
		first := plainTree(rt, w.dir)
		for range rapid.IntRange(1, 6).Draw(rt, "steps") {
			w.write()
		}
		last := plainTree(rt, w.dir)
		done := 0
		for {
			plan, err := w.s.Plan(rt.Context(), model.Change{Op: model.OpUndo})
			if nothing := (*model.NothingToError)(nil); errors.As(err, &nothing) {
				break
			}
			if err == nil {
				_, err = w.s.Apply(rt.Context(), plan)
			}
			if err != nil {
				rt.Fatal(err)
			}
			done++
		}
		if got := plainTree(rt, w.dir); !slices.Equal(got, first) {
			rt.Fatalf("%q\nnot\n%q", got, first)
		}
		for range done {
			plan, err := w.s.Plan(rt.Context(), model.Change{Op: model.OpRedo})
			if err == nil {
				_, err = w.s.Apply(rt.Context(), plan)
			}
			if err != nil {
				rt.Fatal(err)
			}
		}
		if got := plainTree(rt, w.dir); !slices.Equal(got, last) {
			rt.Fatalf("%q\nnot\n%q", got, last)
		}
	}))
}

// tempDir returns a folder for one check.
func tempDir(t *rapid.T) string {
	dir, err := os.MkdirTemp("", "property")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
