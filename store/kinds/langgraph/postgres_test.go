package langgraph

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/media/pg"
	"hindcast/store/media/pg/pgtest"
	"hindcast/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// served returns the URL of a database with what PostgresSaver wrote.
func served(t testing.TB) string {
	t.Helper()
	c := pgtest.SharedCluster(t)
	address := c.Restore(t, recorded("postgres.sql"))
	c.Exec(t, address, numberedBy)
	return address
}

// connect opens a database until the test ends.
func connect(t testing.TB, address string) store.Store {
	t.Helper()
	return storetest.OpenStore(t, engine.Servers(Kind(nil, t.TempDir())), address)
}

// row is what a snapshot shows of itself in the timeline.
func row(h model.Header) string {
	off := map[bool]string{true: " off the path"}[h.Orphaned] + map[bool]string{true: " head"}[h.Head]
	return fmt.Sprintf("#%d turn %d %s: %s%s", h.Index, h.TurnIndex, cmp.Or(h.EventName, h.Event.String()), h.Title, off)
}

// What a database holds is shown as what a file holds: the tree, titles, and what waits.
func TestPostgres(t *testing.T) {
	s := connect(t, served(t))
	var sessions []string
	for _, info := range storetest.Sessions(t, s) {
		sessions = append(sessions, fmt.Sprintf("%s %s", info.ID, info.Head.ID))
	}
	want := []string{
		"report 1f1e667f-f7ab-6b0e-8001-f644c926f54b", "report/section:477d1ac6-3b2e-ebd3-9e61-0db5bd863c41 1f1e667f-f903-618c-8001-b1e4b6877dc9",
		"report/section:a5ef24df-f0de-0387-afce-4bed5049b52f 1f1e667f-f7d3-67ac-8001-ca027236d0bc", "waiting 1f1e667f-f738-63d9-8001-213f9575bb20",
		"tour 1f1e667f-f615-6ae7-800f-acd6e22d9121",
	}
	if !slices.Equal(sessions, want) {
		t.Errorf("%q", sessions)
	}
	list := storetest.Headers(t, s, "tour")
	for i, want := range map[int]string{
		0:  "#0 turn 0 user input: hello größe",
		7:  "#7 turn 1 tools: weather {city: \"東京\"}  東京: 21 °C, ☀️ sonnig · stock {item: \"Äpfel\"}  Äpfel: 7 Stück",
		9:  "#9 turn 1 turn end: review",
		13: "#13 turn 2 tools: stock {item: \"broken\"}  Error: RuntimeError('warehouse unreachable: ECONNREFUSED') off the path",
		20: "#13 turn 2 update: notes",
		23: "#16 turn 2 turn end: review head",
	} {
		if got := row(list[i]); got != want {
			t.Errorf("%d is %q, want %q", i, got, want)
		}
	}
	if reason := list[13].Reason; reason == nil || reason.TargetIndex != 12 || !list[13].Marks.Has(model.MarkError) {
		t.Errorf("%+v", list[13])
	}
	for session, want := range map[string]string{
		"report":  `{"parts":["plan"],"topic":"Wald","__pregel_tasks":[{"$py":"langgraph.types.Send"`,
		"waiting": `{"notes":["model@1"],"messages":[{"$py":"langchain_core.messages.human.HumanMessage","content":"order one"`,
		"report/section:477d1ac6-3b2e-ebd3-9e61-0db5bd863c41": `{"draft":"Entwurf «Wald B»","topic":"Wald B","__interrupt__":[{"$py":"langgraph.types.Interrupt","value":{"approve":"Wald B"}`,
	} {
		all := storetest.Headers(t, s, session)
		head := all[len(all)-1]
		state, err := s.State(t.Context(), head.Ref())
		if err != nil || !strings.HasPrefix(string(state), want) || !head.Marks.Has(model.MarkInterrupted) {
			t.Errorf("%s: %s, %v, %v", session, state, head.Marks, err)
		}
	}
	for _, id := range []string{"none", ""} {
		if _, err := s.State(t.Context(), model.Ref{Session: "tour", ID: id}); !errors.Is(err, model.ErrNoSnapshot) {
			t.Error(err)
		}
		for _, err := range s.Headers(t.Context(), id+"x") {
			if !errors.Is(err, model.ErrNoSession) {
				t.Error(err)
			}
		}
	}
}

// A list reads no value of a channel: it needs no right to. Each right that is missing is named, and no
// error, plan or note shows the password.
func TestPostgres_rights(t *testing.T) {
	c, address := pgtest.SharedCluster(t), served(t)
	tables := "checkpoints, checkpoint_writes"
	shown := func(text string) string {
		if strings.Contains(text, pgtest.Password) {
			t.Errorf("it shows the password: %s", text)
		}
		return text
	}
	s := storetest.AsWriter(connect(t, c.Role(t, address, "SELECT ON "+tables)))
	if n := len(storetest.Sessions(t, s)); n != 5 {
		t.Errorf("%d sessions", n)
	}
	head := storetest.Headers(t, s, "tour")[23]
	if list, before, err := s.Features().Tail(t.Context(), "tour", 5); err != nil || len(list) != 5 || before != 19 {
		t.Error(len(list), before, err)
	}
	if _, err := s.State(t.Context(), head.Ref()); !errors.Is(err, pg.ErrDenied) || !strings.Contains(shown(err.Error()), "permission denied for table checkpoint_blobs") {
		t.Error(err)
	}
	tables += ", checkpoint_blobs"
	restore := model.Change{Op: model.OpRestore, Ref: storetest.Headers(t, s, "tour")[5].Ref()}
	s = storetest.AsWriter(connect(t, c.Role(t, address, "SELECT ON "+tables)))
	if _, err := s.State(t.Context(), head.Ref()); err != nil {
		t.Error(err)
	}
	if _, err := s.Plan(t.Context(), restore); !errors.Is(err, pg.ErrDenied) || !strings.Contains(shown(err.Error()), "to plan a write needs TEMPORARY on the database") {
		t.Error(err)
	}
	temporary := "TEMPORARY ON DATABASE " + address[strings.LastIndex(address, "/")+1:]
	s = storetest.AsWriter(connect(t, c.Role(t, address, "SELECT ON "+tables, temporary)))
	plan, err := s.Plan(t.Context(), restore)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), plan); !errors.Is(err, pg.ErrDenied) || !strings.Contains(shown(err.Error()), "nothing was changed") {
		t.Error(err)
	}
	data := t.TempDir()
	opened, err := engine.Servers(Kind(nil, data)).Open(t.Context(), c.Role(t, address, "SELECT, INSERT, UPDATE, DELETE ON "+tables, temporary))
	if err != nil {
		t.Fatal(err)
	}
	s = storetest.AsWriter(opened)
	apply(t, s, restore)
	plan, err = s.Plan(t.Context(), model.Change{Op: model.OpUndo})
	if err != nil {
		t.Fatal(err)
	}
	shown(fmt.Sprintf("%s %+v", s.Address(), plan))
	apply(t, s, model.Change{Op: model.OpUndo})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	files, err := filepath.Glob(filepath.Join(data, "postgres", "*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[0])
	info, failed := os.Stat(files[0])
	if err = errors.Join(err, failed); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
	shown(files[0] + string(text))
}

// Once the agent goes on, what was planned before is not done, and what it went on from is not taken away.
// What it writes is noticed, and only that is read.
func TestPostgres_agentRuns(t *testing.T) {
	c, address := pgtest.SharedCluster(t), served(t)
	s := storetest.AsWriter(connect(t, address))
	at, err := s.Features().Cursor(t.Context(), "tour")
	if err != nil {
		t.Fatal(err)
	}
	changes, err := s.Features().Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	restore := model.Change{Op: model.OpRestore, Ref: storetest.Headers(t, s, "tour")[5].Ref()}
	early, err := s.Plan(t.Context(), restore)
	if err != nil {
		t.Fatal(err)
	}
	agent := func() {
		c.Exec(t, address, `INSERT INTO checkpoints SELECT thread_id, '', overlay(checkpoint_id PLACING lpad(to_hex(x'f616'::int + (SELECT count(*) FROM checkpoints)::int), 4, '0') FROM 10), checkpoint_id, type, checkpoint,
			jsonb_set(metadata, '{source}', '"loop"') FROM checkpoints WHERE thread_id = 'tour' ORDER BY checkpoint_id DESC LIMIT 1`)
	}
	agent()
	for deadline := time.After(20 * time.Second); ; {
		growth, err := s.Features().Growth(t.Context(), "tour", at)
		if err != nil || growth.Rewritten || len(growth.Headers) > 1 {
			t.Fatal(growth, err)
		}
		if len(growth.Headers) == 1 {
			break
		}
		select {
		case <-changes:
		case <-deadline:
			t.Fatal("nothing is noticed")
		}
	}
	if _, err := s.Apply(t.Context(), early); !errors.Is(err, model.ErrHeadMoved) {
		t.Error(err)
	}
	receipt := apply(t, s, restore)
	before := c.Rows(t, address)
	c.Exec(t, address, "INSERT INTO checkpoint_writes VALUES ('tour', '', '"+receipt.Head.ID+"', 'task', 0, 'notes', 'null', '')")
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpUndo}); !errors.Is(err, model.ErrHeadMoved) || !strings.Contains(err.Error(), "tasks wrote on checkpoint") {
		t.Error(err)
	}
	c.Exec(t, address, "DELETE FROM checkpoint_writes WHERE task_id = 'task'", "CREATE FUNCTION more() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN DELETE FROM checkpoint_writes; RETURN NULL; END $$",
		"CREATE TRIGGER more AFTER INSERT OR DELETE ON checkpoints EXECUTE FUNCTION more()")
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpUndo})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), plan); err == nil || !strings.Contains(err.Error(), "the database has a trigger") {
		t.Error(err)
	}
	if c.Rows(t, address) != before {
		t.Error("rows changed")
	}
}

// An undo refuses where the agent went on beside what was written: a sibling of the restored checkpoint, and
// rows of a thread that was forked, whose parents the fork did not make.
func TestPostgres_undoAgentWentOn(t *testing.T) {
	c, address := pgtest.SharedCluster(t), served(t)
	const another = "INSERT INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata) SELECT thread_id, '%s', '2' || substr(checkpoint_id, 2), %s, type, checkpoint, metadata FROM checkpoints WHERE thread_id = '%s' AND checkpoint_id = '%s'"
	for _, by := range []struct {
		op                        model.Op
		thread, namespace, parent string
	}{{model.OpRestore, "tour", "", "parent_checkpoint_id"}, {model.OpFork, "new", "", "NULL"}, {model.OpFork, "new", "own", "NULL"}} {
		s := storetest.AsWriter(connect(t, address))
		receipt := apply(t, s, model.Change{Op: by.op, Ref: storetest.Headers(t, s, "tour")[5].Ref(), As: "new"})
		without := c.Rows(t, address)
		c.Exec(t, address, fmt.Sprintf(another, by.namespace, by.parent, by.thread, receipt.Head.ID))
		before := c.Rows(t, address)
		if _, err := s.Plan(t.Context(), model.Change{Op: model.OpUndo}); !errors.Is(err, model.ErrHeadMoved) || !strings.Contains(err.Error(), "the agent went on from it") {
			t.Errorf("%+v: %v", by, err)
		}
		if c.Rows(t, address) != before {
			t.Errorf("%+v: rows changed", by)
		}
		c.Exec(t, address, "DELETE FROM checkpoints WHERE checkpoint_id LIKE '2%'")
		if apply(t, s, model.Change{Op: model.OpUndo}); c.Rows(t, address) == without {
			t.Errorf("%+v: nothing was undone", by)
		}
	}
}

// At every checkpoint of a recorded database: what is written, taken back and done again.
func TestPostgres_rows(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs without -short")
	}
	address := served(t)
	storetest.RowsOn(t, storetest.AsWriter(connect(t, address)), func() string { return pgtest.SharedCluster(t).Rows(t, address) })
}

// A database holds all that every store holds that is read.
func TestPostgres_read(t *testing.T) {
	storetest.Read(t, Kind(nil, "").Kind, served(t))
}

// Encrypted values are shown as the bytes that they are. A restore does not touch them: the id is beside them.
func TestPostgres_encrypted(t *testing.T) {
	c, address := pgtest.SharedCluster(t), served(t)
	c.Exec(t, address, "UPDATE checkpoint_blobs SET type = 'msgpack+aes' WHERE thread_id = 'tour' AND type = 'msgpack'", "UPDATE checkpoint_writes SET type = 'msgpack+aes' WHERE thread_id = 'tour' AND type = 'msgpack'")
	s := storetest.AsWriter(connect(t, address))
	faults := storetest.Faults(t, s, "tour")
	if len(faults) != 1 || faults[0].Code != model.FaultOpaque || !strings.Contains(faults[0].Meaning, "msgpack+aes") {
		t.Errorf("%+v", faults)
	}
	fifth := storetest.Headers(t, s, "tour")[5]
	state, err := s.State(t.Context(), fifth.Ref())
	if err != nil || !strings.Contains(string(state), `"messages":{"$type":"msgpack+aes","$bytes":"`) {
		t.Errorf("%s, %v", state, err)
	}
	receipt := apply(t, s, model.Change{Op: model.OpRestore, Ref: fifth.Ref()})
	restored, err := s.State(t.Context(), model.Ref{Session: "tour", ID: receipt.Head.ID})
	if err != nil || string(restored) != string(state) {
		t.Errorf("%s, %v", restored, err)
	}
}

// A write whose end is not noted is told by the rows.
func TestPostgres_brokenOff(t *testing.T) {
	c, address, data := pgtest.SharedCluster(t), served(t), t.TempDir()
	open := func() storetest.Writer {
		return storetest.AsWriter(storetest.OpenStore(t, engine.Servers(Kind(nil, data)), address))
	}
	s := open()
	receipt := apply(t, s, model.Change{Op: model.OpRestore, Ref: storetest.Headers(t, s, "tour")[5].Ref()})
	files, err := filepath.Glob(filepath.Join(data, "postgres", "*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSpace(string(whole)), "\n")
	begun := strings.Join(lines[:len(lines)-1], "")
	for _, want := range []int{1, 0} {
		if err := os.WriteFile(files[0], []byte(begun), 0o600); err != nil {
			t.Fatal(err)
		}
		if list, err := open().Journal(t.Context()); err != nil || len(list) != want {
			t.Errorf("%+v, %v, want %d", list, err, want)
		}
		c.Exec(t, address, "DELETE FROM checkpoints WHERE checkpoint_id = '"+receipt.Head.ID+"'") // as if it was not committed
	}
}
