package codex

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/chat"
	"hindcast/store/storetest"
)

// based begins a rollout whose history is in another one.
func (r *madeRollout) based(thread, on string, ordinal, end int) {
	r.record(typeHeader, fmt.Sprintf(`{"id":%q,"history_base":{"thread_id":%q,"end_ordinal_exclusive":%d,"end_byte_offset":%d}}`, thread, on, ordinal, end))
}

// madeID returns the id of a thread or of a segment that a test makes.
func madeID(n int) string { return fmt.Sprintf("01a30000-0000-7000-8000-%012d", n) }

// put puts a rollout into a storage: the minute orders the names.
func put(t *testing.T, dir string, minute int, id string, r *madeRollout) string {
	t.Helper()
	name := fmt.Sprintf("sessions/2026/01/02/rollout-2026-01-02T03-%02d-00-%s.jsonl", minute, id)
	write(t, filepath.Join(dir, name), r.String())
	return name
}

// A history is resolved through as many rollouts as there are, each before the byte that the
// next one names. A fork has all of it, and needs none of them.
func TestLineage_forkOfFork(t *testing.T) {
	dir := t.TempDir()
	var a, b, c madeRollout
	a.record(typeHeader, `{"id":"`+madeID(1)+`"}`)
	a.says("user", "one")
	first := a.Len()
	a.says("assistant", "after one")
	b.based(madeID(2), madeID(1), 2, first)
	b.says("user", "two")
	second := b.Len()
	b.says("assistant", "after two")
	c.based(madeID(3), madeID(2), 4, second)
	c.says("user", "three")
	names := []string{put(t, dir, 1, madeID(1), &a), put(t, dir, 2, madeID(2), &b)}
	put(t, dir, 3, madeID(3), &c)
	s := opened(t, dir)
	want := "#0<-1 user input: one\n#1<0 user input: two\n#2<1 user input: three *"
	holdLines(t, "the fork of a fork", treeOf(t, s, madeID(3)), want)
	id := fork(t, s, storetest.Headers(t, s, madeID(3))[2])
	for _, name := range names {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	s = opened(t, dir)
	holdLines(t, "the fork of it without the others", treeOf(t, s, id), want)
	if got := codes(t, s, id); got != nil {
		t.Errorf("its faults are %q", got)
	}
	if got := codes(t, s, madeID(3)); len(got) != 1 || !strings.HasSuffix(got[0], "missing source rollout") {
		t.Errorf("without the others the faults are %q", got)
	}
}

// A place in a thread of several segments is in the one that has its ordinal there, whether
// the history names the thread or the segment.
func TestLineage_ofSegment(t *testing.T) {
	for _, named := range []string{whole, "01a202f9-38a4-77c2-a26c-57d3ac9e67d0"} {
		dir := storetest.Copy(t, recorded)
		var r madeRollout
		r.record(typeHeader, fmt.Sprintf(`{"id":%q,"history_mode":"paginated","history_base":{"thread_id":%q,"end_ordinal_exclusive":50,"end_byte_offset":27826}}`, made, named))
		r.says("user", "on from the segment")
		put(t, dir, 1, made, &r)
		s := opened(t, dir)
		holdLines(t, "the end of the fork", treeOf(t, s, made)[8:], `
#8<7 user input: third question
#9<8 turn end: reply to: third question
#10<9 user input: after revert
#11<10 turn end: reply to: after revert
#12<11 user input: on from the segment *`)
		if got := codes(t, s, made); len(got) != 1 || !strings.HasPrefix(got[0], FaultDepends) {
			t.Errorf("the faults are %q", got)
		}
	}
}

// turn adds a turn of a question and an answer, and returns where the next one begins.
func (r *madeRollout) turn(name string) (ordinal, end int) {
	r.starts(name)
	r.says("user", "q"+name)
	r.says("assistant", "r"+name)
	r.ends(name)
	return *r.ordinal, r.Len()
}

// A segment of a thread has its history in another one also where the first is gone: Codex names
// the thread.
func TestLineage_firstSegmentGone(t *testing.T) {
	dir, thread := t.TempDir(), madeID(1)
	numbered := func(from int) madeRollout { return madeRollout{ordinal: &from} }
	root := numbered(0)
	root.record(typeHeader, `{"id":"`+thread+`"}`)
	root.turn("1")
	o, n := root.turn("2")
	one := numbered(o)
	one.based(thread, thread, o, n)
	o, n = one.turn("s")
	one.turn("s2")
	two := numbered(o)
	two.based(thread, thread, o, n)
	two.turn("z")
	put(t, dir, 2, thread+"_"+madeID(2), &one)
	s := opened(t, dir)
	if got := codes(t, s, thread); !slices.Equal(got, []string{"broken-lineage missing source rollout"}) {
		t.Errorf("of one segment the faults are %q", got)
	}
	put(t, dir, 3, thread+"_"+madeID(3), &two)
	s = opened(t, dir)
	holdLines(t, "the session", treeOf(t, s, thread), `
#0<-1 user input: qs
#1<0 turn end: rs
#2<1 user input: qs2 | rewind
#3<2 turn end: rs2 | rewind
#4<1 user input: qz
#5<4 turn end: rz *`)
	if got := codes(t, s, thread); !slices.Equal(got, []string{"broken-lineage missing source rollout"}) {
		t.Errorf("the faults are %q", got)
	}
}

// Of several reverts each leaves a branch of its own.
func TestRevert_twice(t *testing.T) {
	dir := t.TempDir()
	var a, b, c madeRollout
	a.record(typeHeader, `{"id":"`+madeID(1)+`"}`)
	a.says("user", "one")
	end := a.Len()
	a.says("user", "two")
	b.based(madeID(1), madeID(1), 2, end)
	b.says("user", "three")
	c.based(madeID(1), madeID(1), 2, end)
	c.says("user", "four")
	put(t, dir, 1, madeID(1), &a)
	put(t, dir, 2, madeID(1)+"_"+madeID(2), &b)
	put(t, dir, 3, madeID(1)+"_"+madeID(3), &c)
	holdLines(t, "the session", treeOf(t, opened(t, dir), madeID(1)), `
#0<-1 user input: one
#1<0 user input: two | rewind
#2<0 user input: three | rewind
#3<0 user input: four *`)
}

// A turn that was broken off says why, at its last message.
func TestAborted(t *testing.T) {
	s := opened(t, recorded)
	list := storetest.Headers(t, s, old)
	facts, err := s.Features().Facts(t.Context(), list[17].Ref())
	if err != nil || !slices.ContainsFunc(facts, func(f model.Fact) bool { return f.Value == "aborted: interrupted" }) {
		t.Errorf("it has the facts %v: %v", facts, err)
	}
	if !list[17].Marks.Has(model.MarkError) || list[16].Marks.Has(model.MarkError) {
		t.Errorf("the marks are %v and %v", list[16].Marks, list[17].Marks)
	}
}

// Rollouts of archived_sessions are sessions. A fork of one is among those that are not
// archived.
func TestArchived(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Base(envelopeFile)
	write(t, filepath.Join(dir, archived, name), read(t, filepath.Join(recorded, envelopeFile)))
	for _, at := range []string{dir, filepath.Join(dir, archived)} {
		if list := storetest.Sessions(t, opened(t, at)); len(list) != 1 || list[0].Title != "first question" {
			t.Errorf("%s has the sessions %+v", at, list)
		}
	}
	s := opened(t, dir)
	id := fork(t, s, storetest.Headers(t, s, envelope)[7])
	found, err := filepath.Glob(filepath.Join(dir, "sessions/[0-9][0-9][0-9][0-9]/[0-9][0-9]/[0-9][0-9]/rollout-*-"+id+".jsonl"))
	if err != nil || len(found) != 1 {
		t.Errorf("the fork is %q: %v", found, err)
	}
}

// The plan of a fork says that the files of the work tree are not rewound, with the branch
// and the commit that the rollout names.
func TestFork_workTree(t *testing.T) {
	var r madeRollout
	r.header()
	r.says("user", "first")
	withGit, _ := r.store(t)
	for session, s := range map[string]store.Store{made: withGit, whole: opened(t, storetest.Copy(t, recorded))} {
		want := map[string]string{
			made:  "the files of the work tree stay as they are now; at that message the branch was main, the commit abc123",
			whole: "the files of the work tree stay as they are now",
		}[session]
		plan, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: storetest.Headers(t, s, session)[0].Ref()})
		if err != nil || !slices.Contains(plan.Hazards, want) {
			t.Errorf("session %s: the hazards are %q: %v", session, plan.Hazards, err)
		}
	}
}

// What Codex committed of the work tree before a turn is no message: the plan names the commit.
func TestGhost(t *testing.T) {
	var r madeRollout
	r.header()
	r.says("user", "first")
	r.record(typeItem, `{"type":"ghost_snapshot","ghost_commit":{"id":"def456","parent":"abc123","preexisting_untracked_files":[]}}`)
	r.says("assistant", "reply")
	r.used(10, 10)
	r.record(typeCompacted, `{"message":"","replacement_history":[{"type":"message","role":"user","content":"kept"},{"type":"ghost_snapshot","ghost_commit":{"id":"def456"}}]}`)
	s, dir := r.store(t)
	holdLines(t, "the session", treeOf(t, s, made), "#0<-1 user input: first\n#1<0 turn end: reply\n#2<1 compaction:  *")
	list := storetest.Headers(t, s, made)
	if got := sent(t, s, list[2]); !slices.Equal(got, []string{`user "kept"`}) {
		t.Errorf("after the compaction the model reads %q", got)
	}
	for at, want := range []string{"abc123", "def456"} {
		plan, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: list[at].Ref()})
		if want = "the files of the work tree stay as they are now; at that message the branch was main, the commit " + want; err != nil || !slices.Contains(plan.Hazards, want) {
			t.Errorf("#%d: the hazards are %q: %v", at, plan.Hazards, err)
		}
	}
	if n := strings.Count(read(t, fileOf(t, dir, fork(t, s, list[1]))), typeGhost); n != 1 {
		t.Errorf("the fork has %d of these commits", n)
	}
}

// fileOf returns the rollout of a fork.
func fileOf(t *testing.T, dir, id string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "sessions/*/*/*/rollout-*-"+id+".jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the fork is %q: %v", found, err)
	}
	return found[0]
}

// Thoughts that are encrypted for a provider are copied, and the plan says whose they are.
func TestFork_encrypted(t *testing.T) {
	var r madeRollout
	r.record(typeHeader, `{"id":"`+made+`","model_provider":"a provider"}`)
	r.says("user", "first")
	r.record(typeItem, `{"type":"reasoning","summary":[],"encrypted_content":"gAAA"}`)
	r.says("assistant", "reply")
	s, _ := r.store(t)
	for at, want := range []bool{false, true, true} {
		plan, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: storetest.Headers(t, s, made)[at].Ref()})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(plan.Hazards, "\n"), `encrypted for the account at "a provider"`); got != want {
			t.Errorf("#%d: the hazards are %q", at, plan.Hazards)
		}
	}
}

// The name of a rollout carries the id of its thread.
func TestFaults_name(t *testing.T) {
	var r madeRollout
	r.record(typeHeader, `{"id":"`+madeID(2)+`"}`)
	r.says("user", "first")
	s, _ := r.store(t)
	if got := codes(t, s, made); len(got) != 1 || !strings.HasPrefix(got[0], FaultName) {
		t.Errorf("the faults are %q", got)
	}
}

// Each of several sub-agents is reached from the tool call that started it, and leads back to it:
// also those of one call, and from a fork, which has the call of the thread that it began in.
func TestSubAgents(t *testing.T) {
	dir := t.TempDir()
	var r, of madeRollout
	r.record(typeHeader, `{"id":"`+madeID(1)+`"}`)
	r.says("user", "ask around")
	for k, answer := range []string{`{"agent_id":"` + madeID(2) + `"}`, `{"agent_id":"` + madeID(3) + `"}`, `{"agent_id":"` + madeID(4) + `"}`, `{"agent_id":"` + madeID(4) + `"}`} {
		call := min(k, 1) // the second call is answered three times
		if call == k {
			r.record(typeItem, fmt.Sprintf(`{"type":"function_call","name":"spawn_agent","arguments":"{}","call_id":"c%d"}`, call))
		}
		r.record(typeItem, fmt.Sprintf(`{"type":"function_call_output","call_id":"c%d","output":%q}`, call, answer))
	}
	put(t, dir, 1, madeID(1), &r)
	for n := 2; n < 5; n++ {
		var child madeRollout
		child.record(typeHeader, `{"id":"`+madeID(n)+`","source":{"subagent":{"thread_spawn":{"parent_thread_id":"`+madeID(1)+`"}}}}`)
		child.says("user", "look around")
		put(t, dir, n, madeID(n), &child)
	}
	of.based(madeID(5), madeID(1), 0, r.Len())
	put(t, dir, 5, madeID(5), &of)
	s := opened(t, dir)
	for _, session := range []string{madeID(1), madeID(5)} {
		for at, want := range map[int][]int{1: {2}, 3: {3, 4}} {
			facts, err := s.Features().Facts(t.Context(), storetest.Headers(t, s, session)[at].Ref())
			var got []string
			for _, f := range facts {
				if f.Label == "sub-agent" {
					got = append(got, f.Value)
				}
			}
			slices.Sort(got)
			var ids []string
			for _, n := range want {
				ids = append(ids, madeID(1)+"/"+madeID(n))
			}
			if err != nil || !slices.Equal(got, ids) {
				t.Errorf("#%d of %s started %q, %v", at, session, got, err)
			}
		}
	}
	for n, want := range map[int]int{2: 1, 3: 3, 4: 3} {
		ref := storetest.Headers(t, s, madeID(1)+"/"+madeID(n))[0].Ref()
		if got, err := store.MeetingPoint(t.Context(), s, ref); err != nil || got != storetest.Headers(t, s, madeID(1))[want].Ref() {
			t.Errorf("what started the sub-agent %d is %+v, %v", n, got, err)
		}
	}
}

// The index tells which sub-agent is whose, and no header is read for it.
func TestIndex_subAgent(t *testing.T) {
	dir := t.TempDir()
	for _, id := range []string{madeID(1), madeID(2)} {
		var r madeRollout
		r.record(typeHeader, `{"id":"`+id+`"}`)
		r.says("user", "first")
		put(t, dir, 1, id, &r)
	}
	indexed(t, dir, "state_5.sqlite", [4]string{madeID(2), "", "", `{"subagent":{"thread_spawn":{"parent_thread_id":"` + madeID(1) + `"}}}`})
	s := opened(t, dir)
	var ids []string
	for _, info := range storetest.Sessions(t, s) {
		ids = append(ids, info.ID)
	}
	if faults := storetest.Faults(t, s, ""); len(faults) != 0 {
		t.Errorf("of an index without rollouts the faults are %v", faults)
	}
	if want := []string{madeID(1), madeID(1) + "/" + madeID(2)}; !slices.Equal(ids, want) {
		t.Errorf("the sessions are %q and not %q", ids, want)
	}
}

// The index has the edges between threads in a table of their own. A row that does not say where
// its thread comes from hides nothing of what the header says.
func TestIndex_edges(t *testing.T) {
	plain, child := `{"id":"`+madeID(2)+`","source":"cli"}`, `{"id":"`+madeID(2)+`","source":{"subagent":{"thread_spawn":{"parent_thread_id":"`+madeID(1)+`"}}}}`
	const (
		threads = "CREATE TABLE threads (id TEXT, rollout_path TEXT, title TEXT, source TEXT)"
		older   = "CREATE TABLE threads (id TEXT, rollout_path TEXT, title TEXT)"
		edges   = "CREATE TABLE thread_spawn_edges (parent_thread_id TEXT NOT NULL, child_thread_id TEXT NOT NULL PRIMARY KEY, status TEXT NOT NULL)"
	)
	row := func(source string) string {
		return fmt.Sprintf("INSERT INTO threads VALUES ('%s', '', ''%s)", madeID(2), source)
	}
	edge := func(from string) string {
		return fmt.Sprintf("INSERT INTO thread_spawn_edges VALUES ('%s', '%s', 'open')", from, madeID(2))
	}
	for name, c := range map[string]struct {
		header string
		index  []string
		below  bool
	}{
		"an edge":                  {plain, []string{threads, edges, row(", 'cli'"), edge(madeID(1))}, true},
		"an edge without a row":    {plain, []string{threads, edges, edge(madeID(1))}, true},
		"an edge without rows":     {plain, []string{edges, edge(madeID(1))}, true},
		"an edge from no id":       {plain, []string{threads, edges, edge("../x")}, false},
		"an edge from itself":      {plain, []string{threads, edges, edge(madeID(2))}, false},
		"a source":                 {child, []string{threads, row(", 'cli'")}, false},
		"no column of the sources": {child, []string{older, row("")}, true},
		"no source":                {child, []string{threads, row(", NULL")}, true},
		"edges of no child":        {plain, []string{threads, "CREATE TABLE thread_spawn_edges (parent_thread_id TEXT)", "INSERT INTO thread_spawn_edges VALUES ('" + madeID(1) + "')"}, false},
		"edges of no parent":       {plain, []string{threads, "CREATE TABLE thread_spawn_edges (child_thread_id TEXT)", "INSERT INTO thread_spawn_edges VALUES ('" + madeID(2) + "')"}, false},
		"no parent anywhere":       {plain, []string{threads, edges, row(", NULL")}, false},
	} {
		dir := t.TempDir()
		for k, header := range []string{`{"id":"` + madeID(1) + `"}`, c.header} {
			var r madeRollout
			r.record(typeHeader, header)
			r.says("user", "first")
			put(t, dir, k+1, madeID(k+1), &r)
		}
		fill(t, filepath.Join(dir, "state_5.sqlite"), c.index...)
		want := []string{madeID(1), madeID(2)}
		if c.below {
			want[1] = madeID(1) + "/" + madeID(2)
		}
		var ids []string
		s := opened(t, dir)
		for _, info := range storetest.Sessions(t, s) {
			ids = append(ids, info.ID)
		}
		if faults := storetest.Faults(t, s, ""); len(faults) != 0 {
			t.Errorf("%s: the store has %v", name, faults)
		}
		if slices.Sort(ids); !slices.Equal(ids, want) {
			t.Errorf("%s: the sessions are %q and not %q", name, ids, want)
		}
	}
}

func TestPlaces(t *testing.T) {
	env := func(name string) string { return map[string]string{"CODEX_HOME": "/data/codex"}[name] }
	for want, around := range map[string]store.Surroundings{"/home/u/.codex": {Home: "/home/u"}, "/data/codex": {Home: "/home/u", Env: env}} {
		if got := Kind(nil).Places(around); !slices.Equal(got, []string{want}) {
			t.Errorf("the places are %q and not %q", got, want)
		}
	}
}

// Whatever an item is, it is a message: what has no shape of its own is shown as it is.
func TestItems(t *testing.T) {
	for item, want := range map[string]string{
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]}`:                               `user [{"text":"a"}]`,
		`{"type":"message","role":"user","content":"a"}`:                                                              `user [{"text":"a"}]`,
		`{"type":"message","role":"developer","content":[{"type":"input_text","text":"a"}]}`:                          `system [{"text":"a"}]`,
		`{"type":"message","role":"user","content":[{"type":"input_image","image_url":"u"}]}`:                         `user [{"json":{"type":"input_image","image_url":"u"}}]`,
		`{"type":"function_call","name":"shell","arguments":"{\"a\":1}","call_id":"c"}`:                               `assistant [{"toolUse":{"toolUseId":"c","name":"shell","input":{"a":1}}}]`,
		`{"type":"function_call","name":"shell","arguments":"{no JSON","call_id":"c"}`:                                `assistant [{"toolUse":{"toolUseId":"c","name":"shell","input":"{no JSON"}}]`,
		`{"type":"function_call_output","call_id":"c","output":"text"}`:                                               `tool [{"toolResult":{"toolUseId":"c","status":"success","content":[{"text":"text"}]}}]`,
		`{"type":"function_call_output","call_id":"c","output":{"content":"no","success":false}}`:                     `tool [{"toolResult":{"toolUseId":"c","status":"error","content":[{"text":"no"}]}}]`,
		`{"type":"custom_tool_call","name":"apply_patch","input":"*** Begin","call_id":"c"}`:                          `assistant [{"toolUse":{"toolUseId":"c","name":"apply_patch","input":"*** Begin"}}]`,
		`{"type":"custom_tool_call_output","call_id":"c","output":[{"type":"input_text","text":"x"}]}`:                `tool [{"toolResult":{"toolUseId":"c","status":"success","content":[{"type":"input_text","text":"x"}]}}]`,
		`{"type":"local_shell_call","call_id":"c","status":"completed","action":{"type":"exec","command":["ls"]}}`:    `assistant [{"toolUse":{"toolUseId":"c","name":"local_shell","input":{"type":"exec","command":["ls"]}}}]`,
		`{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"content":null,"encrypted_content":"g"}`: `assistant [{"reasoning":{"text":"hm"}}]`,
		`{"type":"reasoning","summary":[],"encrypted_content":"g"}`:                                                   `assistant [{"reasoning":{"text":null}}]`,
		`{"type":"web_search_call","status":"completed","action":{"type":"search","query":"q"}}`:                      `assistant [{"json":{"type":"web_search_call","status":"completed","action":{"type":"search","query":"q"}}}]`,
		`{"type":"of the future","words":"w"}`:                                                                        `assistant [{"json":{"type":"of the future","words":"w"}}]`,
		`{"type":"message","role":7,"content":null}`:                                                                  `assistant [{"json":{"type":"message","role":7,"content":null}}]`,
	} {
		v, err := chat.Parse([]byte(`{"type":"response_item","payload":` + item + `}`))
		if err != nil {
			t.Fatal(err)
		}
		m := itemOf(v)
		m.Raw = nil
		var is struct {
			Role    string
			Content json.RawMessage
		}
		if err := json.Unmarshal(m.AppendJSON(nil), &is); err != nil {
			t.Fatal(err)
		}
		if got := is.Role + " " + string(is.Content); got != want {
			t.Errorf("%s is\n%s and not\n%s", item, got, want)
		}
	}
}

// Whatever a line is, the session opens, and what its other lines say is shown.
func TestHostile(t *testing.T) {
	for _, line := range []string{
		`{}`, `[]`, `null`, `"a"`, ``, "\x00", `{"type":null}`, `{"type":7,"payload":[]}`,
		`{"type":"session_meta","payload":null}`, `{"type":"session_meta","payload":{"id":7,"history_base":7}}`,
		`{"type":"session_meta","payload":{"id":"` + made + `","history_base":{"thread_id":"` + made + `","end_ordinal_exclusive":1,"end_byte_offset":9}}}`,
		`{"type":"session_meta","payload":{"id":"` + made + `","history_base":{"thread_id":"` + whole + `","end_ordinal_exclusive":-1,"end_byte_offset":-1e300}}}`,
		`{"type":"session_meta","payload":{"id":"` + made + `","history_base":{"thread_id":"../../etc/passwd","end_byte_offset":1e300}}}`,
		`{"type":"session_meta","payload":{"id":"` + made + `","source":{"subagent":{"thread_spawn":{"parent_thread_id":"../x"}}}}}`,
		`{"type":"session_meta","payload":{"id":"` + made + `","source":{"subagent":{"thread_spawn":{"parent_thread_id":"` + made + `"}}}}}`,
		`{"type":"compacted","payload":{}}`, `{"type":"compacted","payload":{"message":7,"replacement_history":[]}}`, `{"type":"compacted","payload":{"replacement_history":[7,null,{}]}}`,
		`{"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1e300}}`, `{"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":-1}}`,
		`{"type":"event_msg","payload":{"type":"turn_aborted"}}`, `{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":1e300}}}}`,
		`{"type":"response_item","payload":null}`, `{"type":"response_item","payload":7}`, `{"timestamp":7,"ordinal":"x","type":"response_item","payload":{"type":"message","role":"user","content":{}}}`,
		`{"ordinal":1e300,"type":"turn_context","payload":{"model":7}}`, `{"type":"token_usage_record","payload":{"usage":null,"thread_token_usage":7}}`,
	} {
		for _, first := range []bool{true, false} {
			var r madeRollout
			if first {
				r.WriteString(line + "\n")
			}
			r.header()
			r.says("user", "kept one")
			r.says("assistant", "kept two")
			if !first {
				r.WriteString(line + "\n")
			}
			r.says("user", "kept three")
			s, dir := r.store(t)
			var shown []string
			for _, info := range storetest.Sessions(t, s) {
				for _, h := range storetest.Headers(t, s, info.ID) {
					shown = append(shown, sent(t, s, h)...)
				}
				storetest.Faults(t, s, info.ID)
			}
			for _, want := range []string{`user "kept one"`, `assistant "kept two"`, `user "kept three"`} {
				if !slices.Contains(shown, want) {
					t.Errorf("%s: %s is not shown: %q", line, want, shown)
				}
			}
			if _, err := os.Stat(filepath.Join(dir, ".hindcast")); err == nil {
				t.Errorf("%s: reading wrote", line)
			}
		}
	}
}

// A revert while a session is open is seen without a new list: the segment belongs to it.
func TestRead_newSegment(t *testing.T) {
	dir := storetest.Copy(t, recorded)
	segment := read(t, filepath.Join(dir, segmentFile))
	if err := os.Remove(filepath.Join(dir, segmentFile)); err != nil {
		t.Fatal(err)
	}
	s := opened(t, dir)
	if list := treeOf(t, s, whole); len(list) != 12 || !strings.HasSuffix(list[11], "*") {
		t.Fatalf("before the revert the session is %q", list)
	}
	write(t, filepath.Join(dir, "sessions/2026/11/25", filepath.Base(segmentFile)), segment)
	if list := treeOf(t, s, whole); len(list) != 14 || !strings.HasSuffix(list[13], "*") {
		t.Errorf("after the revert the session is %q", list)
	}
}
