package codex

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/storetest"
)

// TestSign: what makes a file a rollout, and what makes one that Hindcast cannot read.
func TestSign(t *testing.T) {
	const header, misses = `{"type":"session_meta","payload":{"id":"x"}}` + "\n", "a response_item"
	for head, want := range map[string]chat.Sign{
		header:                                {Fits: true},
		`{"type":"session_meta","payload":7}`: {},
		`{"id":"x","timestamp":"2026-01-02T03:04:05Z"}`: {Fits: true},
		`{"id":"x"}`:              {},
		`{"record_type":"state"}`: {Fits: true},
		`{"type":"event_msg","payload":{"type":"agent_message"}}`: {Fits: true},
		`{"type":"event_msg"}`:                                                {},
		`{"type":"turn_context","payload":{}}`:                                {Fits: true},
		`{"type":"turn_context","payload":[]}`:                                {},
		`{"type":"news","payload":{}}`:                                        {},
		`{"type":"message","content":[{"type":"input_text"}]}`:                {Fits: true},
		`{"type":"message","content":[{"type":"words"}]}`:                     {},
		header + `{"type":"news","payload":{"text":"words"}}`:                 {Fits: true, Misses: misses},
		header + `{"type":"response_item","payload":{"parts":"words"}}`:       {Fits: true, Misses: misses},
		header + `{"type":"realtime_item","payload":{"text":"words"}}`:        {Fits: true},
		header + `{"type":"event_msg","payload":{"type":"x","text":"words"}}`: {Fits: true},
		header + `{"type":"event_msg","payload":{"type":"x"}}` + "\n" +
			`{"type":"response_item","payload":{"parts":"words"}}`: {Fits: true, Misses: misses},
		header + `{"type":"news","payload":{"text":"words"}}` + "\n" +
			`{"type":"compacted","payload":{"message":"words"}}`: {Fits: true},
	} {
		if got := signOf([]byte(head)); got != want {
			t.Errorf("%s: %+v", head, got)
		}
	}
}

// TestSpot: the part of a file is a thread of an index, and of nothing else.
func TestSpot(t *testing.T) {
	f := newFormat("")
	for file, part := range map[string]string{
		sessionIndex + "#" + made: made, "state_5.sqlite#" + made: made,
		sessionIndex + "#x": "", "state_5.sqlite#x": "", "notes.jsonl#" + made: "", "state_x.sqlite#" + made: "",
	} {
		if got := f.Spot(file); got.Part != part || got.Named != (part != "") {
			t.Errorf("%s: %+v", file, got)
		}
	}
}

// onDisk returns a folder as the engine gives it to a format.
func onDisk(t *testing.T, dir string, around func(tree.Tree) tree.Tree) engine.In {
	t.Helper()
	disk, err := tree.OpenDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { disk.Close() })
	return engine.In{Tree: around(disk), Memo: tree.NewMemo(&files.Memory{})}
}

// TestGlance: the list has the first words of the person, else those near the end, and the folder of the
// header; the index comes first for the title and last for the folder. The end is read only where the
// beginning does not tell.
func TestGlance(t *testing.T) {
	const told = "<environment_context>"
	long := told + strings.Repeat("x", headSize)
	for name, c := range map[string]struct {
		make    func(r *madeRollout)
		indexed bool
		packed  bool
		want    chat.Glance
		opens   int
	}{
		"short": {func(r *madeRollout) {
			r.header()
			r.says("user", told)
			r.says("user", "first")
			r.says("user", "second")
		}, false, false, chat.Glance{Title: "first", Project: "/home/demo1"}, 1},
		"two headers":         {func(r *madeRollout) { r.header(); r.record(typeHeader, `{"cwd":"/other"}`); r.says("user", "first") }, false, false, chat.Glance{Title: "first", Project: "/home/demo1"}, 1},
		"an index":            {func(r *madeRollout) { r.header(); r.says("user", "first") }, true, false, chat.Glance{Title: "of the index", Project: "/home/demo1"}, 1},
		"an index, no header": {func(r *madeRollout) { r.says("user", "first") }, true, false, chat.Glance{Title: "of the index", Project: "/indexed"}, 1},
		"said at the end":     {func(r *madeRollout) { r.header(); r.says("user", long); r.says("user", "late") }, false, false, chat.Glance{Title: "late", Project: "/home/demo1"}, 2},
		"said at both ends": {func(r *madeRollout) {
			r.header()
			r.says("user", "first")
			r.says("user", long)
			r.says("user", "late")
		}, false, false, chat.Glance{Title: "first", Project: "/home/demo1"}, 1},
		"long, with an index": {func(r *madeRollout) { r.header(); r.says("user", long); r.says("user", "late") }, true, false, chat.Glance{Title: "of the index", Project: "/home/demo1"}, 1},
		"packed": {func(r *madeRollout) {
			r.header()
			r.says("user", long)
			for i := range 9000 {
				r.says("user", fmt.Sprint("late ", i))
			}
		}, false, true, chat.Glance{Project: "/home/demo1"}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var r madeRollout
			c.make(&r)
			file := put(t, dir, 1, made, &r)
			if c.packed {
				pack(t, dir)
				file += packed
			}
			if c.indexed {
				fill(t, filepath.Join(dir, "state_5.sqlite"), "CREATE TABLE threads (id TEXT, title TEXT, cwd TEXT)", "INSERT INTO threads VALUES ('"+made+"', 'of the index', '/indexed')")
			}
			counted := &opensCounted{name: file}
			in := onDisk(t, dir, func(on tree.Tree) tree.Tree { counted.Tree = on; return counted })
			f := newFormat(dir)
			got, err := f.Glance(in, f.Spot(file))
			if err != nil || got.Title != c.want.Title || got.Project != c.want.Project {
				t.Errorf("%+v, %v", got, err)
			}
			if c.opens >= 0 && counted.opens != c.opens {
				t.Errorf("the file is opened %d times", counted.opens)
			}
		})
	}
}

var errBroken = errors.New("broken")

// failing is a tree in which one name cannot be read or listed.
type failing struct {
	tree.Tree
	name string
}

func (t failing) List(dir string) ([]string, error) {
	if dir == t.name {
		return nil, errBroken
	}
	return t.Tree.List(dir)
}

func (t failing) OpenFile(name string) (tree.Opened, error) {
	if name == t.name {
		return nil, errBroken
	}
	return t.Tree.OpenFile(name)
}

func (t failing) Read(name string, buf []byte) ([]byte, tree.Stamp, error) {
	if name == t.name {
		return nil, tree.Stamp{}, errBroken
	}
	return t.Tree.Read(name, buf)
}

// TestErrors: what cannot be read of a session, of its own rollouts or of the one that its history is in,
// is an error of whatever needs it, and never a session without that part.
func TestErrors(t *testing.T) {
	same := func(on tree.Tree) tree.Tree { return on }
	for name, c := range map[string]struct{ session, fails string }{
		"the storage":        {whole, "."},
		"the first rollout":  {whole, wholeFile},
		"the second rollout": {whole, segmentFile},
		"the source":         {forked, wholeFile},
		"the fork":           {forked, forkedFile},
	} {
		file := map[string]string{whole: wholeFile, forked: forkedFile}[c.session]
		broken := func(on tree.Tree) tree.Tree { return failing{on, c.fails} }
		f := newFormat(recorded)
		if s, err := f.Read(t.Context(), onDisk(t, recorded, broken), f.Spot(file)); !errors.Is(err, errBroken) {
			t.Errorf("%s: read as %+v, %v", name, s, err)
		}
		in := onDisk(t, recorded, same)
		spots, err := f.Spots(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		at := spots[slices.IndexFunc(spots, func(at chat.Spot) bool { return at.File == file })]
		s, err := f.Read(t.Context(), in, at)
		if err != nil {
			t.Fatal(err)
		}
		if c.session == forked && c.fails != file { // the records are known, and the byte before the cutoff is not
			if s, err := f.Read(t.Context(), onDisk(t, recorded, broken), at); !errors.Is(err, errBroken) {
				t.Errorf("%s: read again as %+v, %v", name, s, err)
			}
		}
		if c.fails == "." {
			if _, err := newFormat(recorded).Spots(t.Context(), onDisk(t, recorded, broken)); !errors.Is(err, errBroken) {
				t.Errorf("listed: %v", err)
			}
			if _, err := newFormat(recorded).Check(t.Context(), onDisk(t, recorded, broken)); !errors.Is(err, errBroken) {
				t.Errorf("checked: %v", err)
			}
			continue
		}
		bad := onDisk(t, recorded, broken)
		last := &s.Entries[len(s.Entries)-1]
		if _, err := f.Fork(chat.Cut{In: bad, Session: s, To: last, ID: made}); !errors.Is(err, errBroken) {
			t.Errorf("%s: forked: %v", name, err)
		}
		failed := 0
		for i := range s.Entries {
			if _, err := f.Messages(bad, s, &s.Entries[i]); errors.Is(err, errBroken) != (s.Entries[i].File == c.fails) {
				t.Errorf("%s: #%d: %v", name, i, err)
			} else if err != nil {
				failed++
			}
		}
		if failed == 0 {
			t.Errorf("%s: no message is in it", name)
		}
		if c.session == whole || c.fails == file {
			if _, err := f.ReadCarried(t.Context(), bad, s); !errors.Is(err, errBroken) {
				t.Errorf("%s: carried: %v", name, err)
			}
		}
	}
}

// TestHead_isMarked: the head is marked where a task goes on in which something was said.
func TestHead_isMarked(t *testing.T) {
	for name, c := range map[string]struct {
		make        func(r *madeRollout)
		interrupted bool
	}{
		"without tasks":            {func(r *madeRollout) { r.says("user", "one"); r.says("assistant", "done") }, false},
		"a task that ended":        {func(r *madeRollout) { r.starts("1"); r.says("user", "one"); r.ends("1") }, false},
		"a task that goes on":      {func(r *madeRollout) { r.starts("1"); r.says("user", "one") }, true},
		"a task of nothing so far": {func(r *madeRollout) { r.says("user", "one"); r.says("assistant", "done"); r.starts("1") }, false},
		"a task of context alone":  {func(r *madeRollout) { r.starts("1"); r.says("user", "<environment_context>") }, false},
	} {
		var r madeRollout
		r.header()
		c.make(&r)
		s, _ := r.store(t)
		list := storetest.Headers(t, s, made)
		if got := list[len(list)-1].Marks.Has(model.MarkInterrupted); got != c.interrupted {
			t.Errorf("%s: interrupted: %t", name, got)
		}
	}
}

// contents returns what the messages of a state hold, and the model that wrote each.
func contents(t *testing.T, s store.Store, h model.Header) (list []string) {
	t.Helper()
	text, err := s.State(t.Context(), h.Ref())
	var is struct {
		Messages []struct {
			Role, Model string
			Content     json.RawMessage
		}
	}
	if err == nil {
		err = json.Unmarshal(text, &is)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range is.Messages {
		list = append(list, strings.TrimSpace(m.Role+" "+m.Model)+" "+string(m.Content))
	}
	return list
}

// TestFork_ofEventsAlone: a fork has an item for a message that an event alone has, with all of its parts,
// and its records are numbered on.
func TestFork_ofEventsAlone(t *testing.T) {
	for _, numbered := range []bool{true, false} {
		var r madeRollout
		if numbered {
			r.ordinal = new(int)
		}
		r.header()
		r.event(`{"type":"user_message","message":"look","images":["a","b"],"local_images":["c"]}`)
		r.event(`{"type":"agent_message","message":"done"}`)
		s, dir := r.store(t)
		list := storetest.Headers(t, s, made)
		want := contents(t, s, list[len(list)-1])
		text, err := s.State(t.Context(), list[0].Ref())
		if err != nil || !strings.Contains(string(text), `"raw":{"timestamp":`) {
			t.Errorf("the state has not the record: %s, %v", text, err)
		}
		facts, err := s.Features().Facts(t.Context(), list[0].Ref())
		if err != nil || !slices.ContainsFunc(facts, func(f model.Fact) bool { return strings.Contains(f.Value, "an event alone has the message") }) {
			t.Errorf("nothing says that the message is in no item: %v, %v", facts, err)
		}
		if len(want) != 2 || strings.Count(want[0], "input_image") != 3 {
			t.Fatalf("the state is %q", want)
		}
		file, records := forkOf(t, dir, made)
		for i, is := range records {
			if ordinal, there := is["ordinal"]; there != numbered || numbered && ordinal != float64(i) {
				t.Errorf("record %d has the ordinal %v", i, ordinal)
			}
		}
		if len(records) != 5 {
			t.Errorf("it has %d records", len(records))
		}
		thread, _ := threadOf(file)
		s = opened(t, dir)
		list = storetest.Headers(t, s, thread)
		got := contents(t, s, list[len(list)-1])
		for i := range got { // what an event has as an image is a picture of an item
			if !strings.HasPrefix(got[i], want[i][:4]) || strings.Count(got[i], "input_image") != strings.Count(want[i], "input_image") {
				t.Errorf("the fork is\n%s and not\n%s", got[i], want[i])
			}
		}
		if len(got) != len(want) || len(codes(t, s, thread)) != 0 {
			t.Errorf("the fork is %q with the faults %q", got, codes(t, s, thread))
		}
	}
}

// TestFork_ofARollbackOfNothing: a rollback that takes back no turn takes nothing out of a fork.
func TestFork_ofARollbackOfNothing(t *testing.T) {
	var r madeRollout
	r.header()
	r.says("user", "one")
	r.event(`{"type":"thread_rolled_back","num_turns":0}`)
	r.says("assistant", "done")
	s, dir := r.store(t)
	want := treeOf(t, s, made)
	file, _ := forkOf(t, dir, made)
	thread, _ := threadOf(file)
	holdLines(t, "the fork", treeOf(t, opened(t, dir), thread), strings.Join(want, "\n"))
}

// TestFork_envelope: the header of 0.20 gets the members that newer versions need, and keeps its own.
func TestFork_envelope(t *testing.T) {
	dir := t.TempDir()
	text := `{"id":"` + made + `","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/mine"}` + "\n" + `{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]}` + "\n"
	file := filepath.Join(dir, "sessions/2026/01/02/rollout-2026-01-02T03-04-00-"+made+".jsonl")
	write(t, file, text)
	s := opened(t, dir)
	plan, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: storetest.Headers(t, s, made)[0].Ref()})
	if err != nil || !slices.Contains(plan.Writes, "each record gets the envelope that Codex reads since 0.77") {
		t.Errorf("%q, %v", plan.Writes, err)
	}
	_, records := forkOf(t, dir, made)
	body, _ := records[0]["payload"].(map[string]any)
	if body["cwd"] != "/mine" || body["cli_version"] != "0.20.0" || body["originator"] != "codex_cli_rs" || records[0]["timestamp"] != "2026-01-02T03:04:05.000Z" {
		t.Errorf("the header is %v", records[0])
	}
	if len(records) != 2 || strings.Contains(fmt.Sprint(records[1]), "cwd") {
		t.Errorf("the records are %v", records)
	}
}

// TestMessages_model: an answer names the model, as far as it is known, and nothing else does.
func TestMessages_model(t *testing.T) {
	var r madeRollout
	r.header()
	r.says("user", "one")
	r.says("assistant", "before")
	r.record(typeContext, `{"model":"m"}`)
	r.says("user", "two")
	r.says("assistant", "done")
	s, _ := r.store(t)
	var got []string
	for _, text := range contents(t, s, storetest.Headers(t, s, made)[3]) {
		who, _, _ := strings.Cut(text, " [")
		got = append(got, who)
	}
	if want := []string{"user", "assistant", "user", "assistant m"}; !slices.Equal(got, want) {
		t.Errorf("%q and not %q", got, want)
	}
}

// TestHeader_ofAParent: a copied header of the parent says nothing of the session.
func TestHeader_ofAParent(t *testing.T) {
	var r madeRollout
	r.header()
	r.record(typeHeader, `{"id":"`+madeID(7)+`","cwd":"/parent","cli_version":"9"}`)
	r.says("user", "one")
	s, _ := r.store(t)
	text, err := s.State(t.Context(), storetest.Headers(t, s, made)[0].Ref())
	if err != nil || !strings.Contains(string(text), `"cwd":"/home/demo1"`) || strings.Contains(string(text), "/parent") {
		t.Errorf("%s, %v", text, err)
	}
	if got := codes(t, s, made); got != nil {
		t.Errorf("the faults are %q", got)
	}
}

// TestAborted_atTheFirst: a turn that was broken off is marked at its only message.
func TestAborted_atTheFirst(t *testing.T) {
	for reason, want := range map[string]string{`"interrupted"`: "aborted: interrupted", `"replaced"`: "aborted: replaced", `null`: "aborted: interrupted"} {
		var r madeRollout
		r.header()
		r.event(`{"type":"turn_aborted"}`) // of nothing
		r.starts("1")
		r.says("user", "one")
		r.event(`{"type":"turn_aborted","reason":` + reason + `}`)
		s, _ := r.store(t)
		h := storetest.Headers(t, s, made)[0]
		facts, err := s.Features().Facts(t.Context(), h.Ref())
		if err != nil || !slices.ContainsFunc(facts, func(f model.Fact) bool { return f.Label == "turn" && f.Value == want }) || !h.Marks.Has(model.MarkError) || h.Marks.Has(model.MarkInterrupted) {
			t.Errorf("%s: %v, %v, %v", reason, facts, h.Marks.Words(), err)
		}
	}
}

// TestTurns_ofWhatFailed: what went wrong is in the turn in which it did, a task of Codex's own words
// alone was not killed, and a message in a damaged line begins a turn that counts for itself.
func TestTurns_ofWhatFailed(t *testing.T) {
	var r madeRollout
	r.header()
	r.starts("1")
	r.says("user", "<environment_context>")
	r.starts("2")
	r.says("user", "q1")
	r.event(`{"type":"error","message":"e1"}`)
	r.ends("2")
	r.starts("3")
	r.event(`{"type":"error","message":"e2"}`)
	r.says("user", "q2")
	r.says("assistant", "done")
	r.ends("3")
	s, _ := r.store(t)
	holdLines(t, "the session", turns(t, s, made), `
#0 turn 0 context: (no content)
#1 turn 0 user input: q1
#2 turn 0 error: e1
#3 turn 1 error: e2
#4 turn 1 user input: q2
#5 turn 1 turn end: done`)
	var old madeRollout
	old.header()
	old.says("user", "q0")
	old.says("user", "q1")
	old.says("assistant", "r1")
	old.WriteString("torn {")
	old.says("user", "q2")
	old.says("user", "q3")
	old.record(typeCompacted, `{"message":"a summary"}`)
	old.says("user", "q4")
	s, _ = old.store(t)
	holdLines(t, "the older session", turns(t, s, made), `
#0 turn 0 user input: q0
#1 turn 0 user input: q1
#2 turn 0 turn end: r1
#3 turn 1 user input: q2
#4 turn 1 user input: q3
#5 turn 1 compaction: a summary
#6 turn 1 user input: q4`)
	if list := storetest.Headers(t, s, made); !list[3].Orphaned || list[3].Reason == nil || list[3].Reason.Kind != chat.PassedOver.Kind || list[4].ParentID != list[2].ID {
		t.Errorf("the message of the damaged line is %+v", list[3])
	}
	for name, c := range map[string]struct {
		make func(r *madeRollout)
		want string
	}{
		"a rollback of all": {func(r *madeRollout) {
			r.says("user", "q1")
			r.says("assistant", "r1")
			r.event(`{"type":"thread_rolled_back","num_turns":1}`)
			r.says("user", "q2")
		}, "#0 turn 0 user input: q1\n#1 turn 0 turn end: r1\n#2 turn 0 user input: q2"},
		"a compaction is a turn": {func(r *madeRollout) {
			r.starts("1")
			r.record(typeCompacted, `{"message":"a summary"}`)
			r.ends("1")
			r.starts("2")
			r.says("user", "q1")
		}, "#0 turn 0 compaction: a summary\n#1 turn 1 user input: q1"},
		"an answer before a call": {func(r *madeRollout) {
			r.says("user", "q1")
			r.says("assistant", "r1")
			r.calls("c")
			r.event(`{"type":"turn_aborted","reason":"interrupted"}`)
		}, "#0 turn 0 user input: q1\n#1 turn 0 after model: r1\n#2 turn 0 after model: shell"},
	} {
		var r madeRollout
		r.header()
		c.make(&r)
		s, _ := r.store(t)
		holdLines(t, name, turns(t, s, made), c.want)
	}
}

// TestStray_isASource: a rollout under a person's name is the history of the forks of its thread.
func TestStray_isASource(t *testing.T) {
	dir := t.TempDir()
	var a, b madeRollout
	a.record(typeContext, `{"cwd":"/x","id":"y"}`)
	a.record(typeHeader, `{"id":"`+madeID(1)+`"}`)
	a.says("user", "one")
	write(t, filepath.Join(dir, "sessions/2026/01/02/my copy.jsonl"), a.String())
	b.based(madeID(2), madeID(1), 3, a.Len())
	b.says("user", "two")
	put(t, dir, 2, madeID(2), &b)
	write(t, filepath.Join(dir, "sessions/2026/01/02/of no id.jsonl"), `{"type":"session_meta","payload":{"cwd":"/x"}}`+"\n")
	write(t, filepath.Join(dir, "sessions/2026/01/02/my child.jsonl"), `{"type":"session_meta","payload":{"id":"`+madeID(4)+`","source":{"subagent":{"thread_spawn":{"parent_thread_id":"`+madeID(1)+`"}}}}}`+"\n")
	fill(t, filepath.Join(dir, "state_5.sqlite"), "CREATE TABLE threads (id TEXT, rollout_path TEXT)", "INSERT INTO threads VALUES ('"+madeID(1)+"', '/x/my copy.jsonl')")
	write(t, filepath.Join(dir, "backup/rollout-2026-01-02T03-04-00-"+madeID(3)+".jsonl"), a.String()) // Codex looks into no other folder
	s := opened(t, dir)
	if faults := storetest.Faults(t, s, ""); len(faults) != 0 {
		t.Errorf("the store has %v", faults)
	}
	var ids []string
	for _, info := range storetest.Sessions(t, s) {
		ids = append(ids, info.ID)
	}
	if slices.Sort(ids); !slices.Equal(ids, []string{madeID(1), madeID(1) + "/" + madeID(4), madeID(2), "of no id"}) {
		t.Errorf("the sessions are %q", ids)
	}
	holdLines(t, "the fork", treeOf(t, s, madeID(2)), "#0<-1 user input: one\n#1<0 user input: two *")
	if got := codes(t, s, madeID(2)); len(got) != 1 || !strings.HasPrefix(got[0], FaultDepends) {
		t.Errorf("the faults are %q", got)
	}
}

// readsCounted counts the bytes that are read of the files of a tree.
type readsCounted struct {
	tree.Tree
	bytes int64
	open  int
}

func (t *readsCounted) OpenFile(name string) (tree.Opened, error) {
	file, err := t.Tree.OpenFile(name)
	if err != nil {
		return nil, err
	}
	t.open++
	return readCounted{file, t}, nil
}

type readCounted struct {
	tree.Opened
	of *readsCounted
}

func (r readCounted) ReadAt(p []byte, off int64) (int, error) {
	n, err := r.Opened.ReadAt(p, off)
	r.of.bytes += int64(n)
	return n, err
}

func (r readCounted) Close() error {
	r.of.open--
	return r.Opened.Close()
}

// TestPacked_isReadOnce: a packed rollout that is read piece by piece is unpacked once, anew where it is
// read from before, and again where it changed. Closing twice gives one place back.
func TestPacked_isReadOnce(t *testing.T) {
	dir := t.TempDir()
	var r madeRollout
	r.header()
	for i := range 2000 {
		r.says("user", fmt.Sprintf("%d words", i*i))
	}
	file := put(t, dir, 1, made, &r) + packed
	pack(t, dir)
	at, err := os.Stat(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	u := newUnpacker()
	counted := &readsCounted{}
	in := onDisk(t, dir, func(on tree.Tree) tree.Tree { counted.Tree = on; return counted })
	on := unpacked{in.Tree, &u}
	for off := 0; off < r.Len(); off += 10_000 {
		f, err := on.OpenFile(file)
		if err != nil {
			t.Fatal(err)
		}
		piece := make([]byte, min(10_000, r.Len()-off))
		if _, err := f.ReadAt(piece, int64(off)); err != nil && err != io.EOF || string(piece) != r.String()[off:off+len(piece)] {
			t.Fatalf("at %d it has %.100q: %v", off, piece, err)
		}
		if err := errors.Join(f.Close(), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if counted.bytes > at.Size() {
		t.Errorf("%d bytes of %d are read", counted.bytes, at.Size())
	}
	if len(u.open) != 0 || counted.open != 0 {
		t.Errorf("%d and %d files are open", len(u.open), counted.open)
	}
	if _, err := (unpacked{failing{in.Tree, file}, new(newUnpacker())}).OpenFile(file); !errors.Is(err, errBroken) {
		t.Errorf("what cannot be opened is %v", err)
	}
	var other madeRollout
	other.header()
	other.says("user", "other")
	put(t, dir, 1, made, &other)
	pack(t, dir)
	f, err := on.OpenFile(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text := make([]byte, other.Len())
	if _, err := f.ReadAt(text, 0); err != nil && err != io.EOF || string(text) != other.String() {
		t.Errorf("it has %q: %v", text, err)
	}
	if u.damageOf(file) != nil {
		t.Error(u.damageOf(file))
	}
}

// TestCalls: Codex resumes a thread at its head, by the name of its rollout.
func TestCalls(t *testing.T) {
	f := newFormat(recorded)
	in := onDisk(t, recorded, func(on tree.Tree) tree.Tree { return on })
	for file, call := range map[string]bool{wholeFile: true, "mine.jsonl": false} {
		s, err := f.Read(t.Context(), in, f.Spot(wholeFile))
		if err != nil {
			t.Fatal(err)
		}
		s.Spot.File = file
		for i := range s.Entries {
			calls := f.Calls(s, &s.Entries[i])
			if want := call && i == s.Head; (len(calls) == 1) != want || want && !strings.Contains(calls[0].Call, "codex resume "+whole) {
				t.Errorf("%s: #%d: %+v", file, i, calls)
			}
		}
	}
}

// TestCounted_byRecords: where records of usage alone count a thread, they count it.
func TestCounted_byRecords(t *testing.T) {
	var r madeRollout
	r.header()
	r.says("user", "one")
	r.says("assistant", "done")
	r.record(typeUsage, `{"usage":{"input_tokens":5,"output_tokens":1},"thread_token_usage":{"input_tokens":50,"output_tokens":7}}`)
	s, _ := r.store(t)
	list := storetest.Headers(t, s, made)
	facts, err := s.Features().Facts(t.Context(), list[1].Ref())
	if err != nil || !slices.ContainsFunc(facts, func(f model.Fact) bool { return f.IsCounted() && f.Value == "57" }) {
		t.Errorf("%v, %v", facts, err)
	}
	if got := fmt.Sprint(costs(t, s, list[1])); got != "[{5 1 0}]" {
		t.Errorf("the answer costs %s", got)
	}
}

// TestDay: a fork of a rollout that is by days is in the folder of the day, and any other is beside its
// source.
func TestDay(t *testing.T) {
	for file, want := range map[string]string{
		"sessions/2026/01/02/a.jsonl": "sessions/2026/02/03", "2026/01/02/a.jsonl": "2026/02/03", "archived_sessions/a.jsonl": "sessions/2026/02/03",
		"a.jsonl": ".", "x/a.jsonl": "x", "sessions/a.jsonl": "sessions",
	} {
		if got := dayFolder(file, "2026/02/03"); got != want {
			t.Errorf("%s: %s", file, got)
		}
	}
}

// TestStand: the header of a fork says of nothing else that it goes on from it. Who started a thread
// stays said of one that is no sub-agent.
func TestStand(t *testing.T) {
	for header, want := range map[string]string{
		`{"id":"ID","history_base":{},"forked_from_id":"x","cwd":"/x","thread_source":"user"}`:                         `{"id":"NEW","cwd":"/x","thread_source":"user"}`,
		`{"id":"ID","source":"exec","agent_path":"x"}`:                                                                 `{"id":"NEW","source":"exec","agent_path":"x"}`,
		`{"id":"ID","source":{"subagent":{}},"parent_thread_id":"x","agent_role":"y","agent_nickname":"z","cwd":"/x"}`: `{"id":"NEW","source":"cli","cwd":"/x"}`,
		`{"id":7}`: `{"id":7}`,
		`[]`:       `[]`,
		`"ID"`:     `"ID"`,
	} {
		tape, err := jsontape.Parse([]byte(`{"payload":` + header + `}`))
		if err != nil {
			t.Fatal(err)
		}
		p := jsontape.NewPatch(tape)
		renameThread(p, tape, "NEW", map[string]bool{"ID": true})
		detachHeader(p, tape)
		if got := string(p.Bytes()); got != `{"payload":`+want+`}` {
			t.Errorf("%s: %s", header, got)
		}
	}
}

// TestFaults_ordinals: ordinals stand in a row; records without one say nothing of that.
func TestFaults_ordinals(t *testing.T) {
	for ordinals, gap := range map[string]string{"0 1 2": "", "0 - 1 -": "", "- - -": "", "7 8": "", "0 2": "ordinal 2 behind 0", "0 1 1": "ordinal 1 behind 1", "- 4 - 3 9": "ordinal 3 behind 4"} {
		text := ""
		for i, ordinal := range strings.Fields(ordinals) {
			is := `"type":"response_item","payload":{"type":"message","role":"user","content":"x"}}`
			if i == 0 {
				is = `"type":"session_meta","payload":{"id":"` + made + `"}}`
			}
			if ordinal != "-" {
				is = `"ordinal":` + ordinal + "," + is
			}
			text += "{" + is + "\n"
		}
		dir := t.TempDir()
		write(t, filepath.Join(dir, "sessions/2026/01/02/rollout-2026-01-02T03-04-00-"+made+".jsonl"), text)
		faults := storetest.Faults(t, opened(t, dir), made)
		if gap == "" && len(faults) != 0 || gap != "" && (len(faults) != 1 || faults[0].Code != FaultOrdinals || !strings.Contains(faults[0].Meaning, gap)) {
			t.Errorf("%s: %+v", ordinals, faults)
		}
	}
}

// TestOpen_inside: a folder of the storage has the index of the storage.
func TestOpen_inside(t *testing.T) {
	dir := storetest.Copy(t, recorded)
	indexed(t, dir, "state_5.sqlite", [4]string{whole, "", "of the index", ""})
	for _, path := range []string{"", "sessions", "sessions/2026", "sessions/2026/11", "sessions/2026/11/22"} {
		list := storetest.Sessions(t, opened(t, filepath.Join(dir, path)))
		if !slices.ContainsFunc(list, func(info model.SessionInfo) bool { return info.ID == whole && info.Title == "of the index" }) {
			t.Errorf("%q has %+v", path, list)
		}
	}
}

// TestError_isNotRead: behind what went wrong the model reads on with all that was before it, in order.
func TestError_isNotRead(t *testing.T) {
	kept := `{"message":"","replacement_history":[{"type":"message","role":"user","content":"kept"}]}`
	for name, c := range map[string]struct {
		make func(r *madeRollout)
		want []string
	}{
		"messages":                     {func(r *madeRollout) { r.says("user", "one"); r.says("assistant", "two"); r.says("user", "three") }, []string{`user "one"`, `assistant "two"`, `user "three"`}},
		"a compaction":                 {func(r *madeRollout) { r.record(typeCompacted, kept) }, []string{`user "kept"`}},
		"messages behind a compaction": {func(r *madeRollout) { r.says("user", "one"); r.record(typeCompacted, kept); r.says("user", "two") }, []string{`user "kept"`, `user "two"`}},
		"another one": {func(r *madeRollout) {
			r.says("user", "one")
			r.event(`{"type":"error","message":"first"}`)
			r.says("user", "two")
		}, []string{`user "one"`, `user "two"`}},
		"nothing": {func(*madeRollout) {}, nil},
	} {
		var r madeRollout
		r.header()
		c.make(&r)
		r.event(`{"type":"error","message":"wrong"}`)
		r.says("user", "last")
		s, _ := r.store(t)
		list := storetest.Headers(t, s, made)
		if got := sent(t, s, list[len(list)-1]); !slices.Equal(got, append(c.want, `user "last"`)) {
			t.Errorf("%s: the model reads %q", name, got)
		}
	}
}

// TestFork_ofNoHeader: Codex opens no rollout without a header, and none is made.
func TestFork_ofNoHeader(t *testing.T) {
	var r madeRollout
	r.says("user", "one")
	s, _ := r.store(t)
	_, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: storetest.Headers(t, s, made)[0].Ref()})
	var refused *model.UnsupportedError
	if !errors.As(err, &refused) || !strings.Contains(refused.Reason, "no header") {
		t.Errorf("%v", err)
	}
}

// TestFork_ofAKilledTurn: a turn that another one follows has ended, though no record says so.
func TestFork_ofAKilledTurn(t *testing.T) {
	var r madeRollout
	r.header()
	r.starts("1")
	r.says("user", "one")
	r.says("assistant", "so far")
	r.starts("2")
	r.says("user", "two")
	s, _ := r.store(t)
	for at, inside := range []bool{true, false, false} {
		plan, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: storetest.Headers(t, s, made)[at].Ref()})
		if err != nil || strings.Contains(strings.Join(plan.Hazards, "\n"), "inside a turn") != inside {
			t.Errorf("#%d: %q, %v", at, plan.Hazards, err)
		}
	}
}

// TestLineage_headerBehind: a header counts wherever it stands, and a history is found in the thread's
// other rollout where the segment that it names has not the place.
func TestLineage_headerBehind(t *testing.T) {
	dir := storetest.Copy(t, recorded)
	var r madeRollout
	r.record(typeContext, `{"model":"m"}`)
	r.record(typeHeader, fmt.Sprintf(`{"id":%q,"history_mode":"paginated","history_base":{"thread_id":"01a202f9-38a4-77c2-a26c-57d3ac9e67d0","end_ordinal_exclusive":29,"end_byte_offset":43901}}`, made))
	r.says("user", "on")
	put(t, dir, 1, made, &r)
	s := opened(t, dir)
	holdLines(t, "the fork", treeOf(t, s, made)[6:], `
#6<5 tool iteration: $ ls -1  a.txt
#7<6 turn end: done: ls -1
#8<7 user input: on *`)
	got := codes(t, s, made)
	if slices.Sort(got); len(got) != 2 || !strings.HasPrefix(got[0], FaultDepends) || !strings.HasPrefix(got[1], FaultHeader) {
		t.Errorf("the faults are %q", got)
	}
}

// TestSubAgents_nested: the id of a sub-agent has those of all that started it, as far as they are there.
func TestSubAgents_nested(t *testing.T) {
	dir := t.TempDir()
	for n, up := range []int{-1, 0, 1, 2, 8} { // the last is started by one that is not there
		header := `{"id":"` + madeID(n) + `"}`
		if up >= 0 {
			header = `{"id":"` + madeID(n) + `","source":{"subagent":{"thread_spawn":{"parent_thread_id":"` + madeID(up) + `"}}}}`
		}
		var r madeRollout
		r.record(typeHeader, header)
		r.says("user", "one")
		put(t, dir, n, madeID(n), &r)
	}
	var ids []string
	want := []string{madeID(0), madeID(0) + "/" + madeID(1), madeID(0) + "/" + madeID(1) + "/" + madeID(2), madeID(0) + "/" + madeID(1) + "/" + madeID(2) + "/" + madeID(3), madeID(8) + "/" + madeID(4)}
	for _, info := range storetest.Sessions(t, opened(t, dir)) {
		ids = append(ids, info.ID)
	}
	if slices.Sort(ids); !slices.Equal(ids, want) {
		t.Errorf("%q and not %q", ids, want)
	}
}

// listsCounted counts how often folders are listed.
type listsCounted struct {
	tree.Tree
	lists int
}

func (t *listsCounted) List(dir string) ([]string, error) {
	t.lists++
	return t.Tree.List(dir)
}

// TestRead_listsOnce: the rollouts are listed again where a folder changed in which the next one comes.
func TestRead_listsOnce(t *testing.T) {
	dir := storetest.Copy(t, recorded)
	counted := &listsCounted{}
	in := onDisk(t, dir, func(on tree.Tree) tree.Tree { counted.Tree = on; return counted })
	f := newFormat("") // without an index, for which the storage is listed
	read := func() int {
		before := counted.lists
		if _, err := f.Read(t.Context(), in, f.Spot(forkedFile)); err != nil {
			t.Fatal(err)
		}
		return counted.lists - before
	}
	if first, again := read(), read(); first == 0 || again != 0 {
		t.Errorf("%d folders are listed, and then %d", first, again)
	}
	for _, name := range []string{"sessions/2026/12/01", archived} {
		write(t, filepath.Join(dir, name, "rollout-2026-12-01T00-00-00-"+made+".jsonl"), "")
		if again, then := read(), read(); again == 0 || then != 0 {
			t.Errorf("%s is new, and %d folders are listed, then %d", name, again, then)
		}
	}
}

// TestRead_ofWhatIsGone: a rollout that went since the list was read is a history that is missing.
func TestRead_ofWhatIsGone(t *testing.T) {
	dir := storetest.Copy(t, recorded)
	in := onDisk(t, dir, func(on tree.Tree) tree.Tree { return on })
	f := newFormat(dir)
	if _, err := f.Spots(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{wholeFile, segmentFile} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	s, err := f.Read(t.Context(), in, f.Spot(forkedFile))
	if err != nil || len(s.Entries) != 6 || len(s.Faults) != 1 || s.Faults[0].Code != FaultLineage {
		t.Errorf("%+v, %v", s, err)
	}
}

// failsLater is a tree whose files cannot be opened any more after so many.
type failsLater struct {
	tree.Tree
	left int
}

func (t *failsLater) OpenFile(name string) (tree.Opened, error) {
	if t.left--; t.left < 0 {
		return nil, errBroken
	}
	return t.Tree.OpenFile(name)
}

// TestPacked_thatGoes: a packed rollout that cannot be read to its end says why.
func TestPacked_thatGoes(t *testing.T) {
	dir := t.TempDir()
	var r madeRollout
	r.header()
	file := put(t, dir, 1, made, &r) + packed
	pack(t, dir)
	u := newUnpacker()
	in := onDisk(t, dir, func(on tree.Tree) tree.Tree { return &failsLater{on, 1} })
	f, err := unpacked{in.Tree, &u}.OpenFile(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if n, err := f.ReadAt(make([]byte, 9), 0); n != 0 || err != io.EOF || !errors.Is(u.damageOf(file), errBroken) {
		t.Errorf("%d, %v, %v", n, err, u.damageOf(file))
	}
}

// TestErrors_ofAFarSource: an error is told of the source of a source.
func TestErrors_ofAFarSource(t *testing.T) {
	dir := storetest.Copy(t, recorded)
	var r madeRollout
	r.based(made, forked, 1, len(read(t, filepath.Join(dir, forkedFile))))
	r.says("user", "on")
	file := put(t, dir, 1, made, &r)
	f := newFormat(dir)
	if s, err := f.Read(t.Context(), onDisk(t, dir, func(on tree.Tree) tree.Tree { return on }), f.Spot(file)); err != nil || len(s.Entries) < 9 {
		t.Fatal(s, err)
	}
	f = newFormat(dir)
	if _, err := f.Read(t.Context(), onDisk(t, dir, func(on tree.Tree) tree.Tree { return failing{on, wholeFile} }), f.Spot(file)); !errors.Is(err, errBroken) {
		t.Error(err)
	}
}

// TestSubAgents_notThere: a sub-agent whose rollout is not there hangs on its call all the same.
func TestSubAgents_notThere(t *testing.T) {
	var r madeRollout
	r.header()
	r.says("user", "ask")
	r.calls("c")
	r.record(typeItem, fmt.Sprintf(`{"type":"function_call_output","call_id":"c","output":%q}`, `{"agent_id":"`+madeID(9)+`"}`))
	s, _ := r.store(t)
	facts, err := s.Features().Facts(t.Context(), storetest.Headers(t, s, made)[1].Ref())
	if err != nil || !slices.ContainsFunc(facts, model.Fact{Label: "sub-agent", Value: made + "/" + madeID(9)}.Same) {
		t.Errorf("%v, %v", facts, err)
	}
}
