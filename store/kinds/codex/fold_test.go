package codex

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/chat"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

const made = "01a30000-0000-7000-8000-000000000001"

// rollout is a file in the making. Its records have no ordinals, as up to 0.118, unless it has
// the one of the next.
type madeRollout struct {
	strings.Builder
	n       int
	ordinal *int
}

// record adds a record with an envelope.
func (r *madeRollout) record(is, payload string) {
	r.n++
	ordinal := ""
	if r.ordinal != nil {
		ordinal = fmt.Sprintf(`"ordinal":%d,`, *r.ordinal)
		*r.ordinal++
	}
	fmt.Fprintf(r, `{"timestamp":"2026-01-02T03:04:%02d.000Z",%s"type":%q,"payload":%s}`+"\n", r.n%60, ordinal, is, payload)
}

func (r *madeRollout) header() {
	r.record("session_meta", `{"id":"`+made+`","timestamp":"2026-01-02T03:04:00.000Z","cwd":"/home/demo1","cli_version":"0.118.0","git":{"branch":"main","commit_hash":"abc123"}}`)
}

func (r *madeRollout) says(role, words string) {
	kind := map[string]string{"user": "input_text", "developer": "input_text", "assistant": "output_text"}[role]
	r.record("response_item", fmt.Sprintf(`{"type":"message","role":%q,"content":[{"type":%q,"text":%q}]}`, role, kind, words))
}

func (r *madeRollout) event(payload string) { r.record("event_msg", payload) }

func (r *madeRollout) used(total, last int) {
	count := `{"input_tokens":%d,"cached_input_tokens":4,"output_tokens":1,"total_tokens":%d}`
	r.event(`{"type":"token_count","info":{"total_token_usage":` + fmt.Sprintf(count, total, total+1) + `,"last_token_usage":` + fmt.Sprintf(count, last, last+1) + `}}`)
}

// store opens a storage that has the rollout.
func (r *madeRollout) store(t *testing.T) (store.Store, string) {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "sessions/2026/01/02/rollout-2026-01-02T03-04-00-"+made+".jsonl"), r.String())
	return opened(t, dir), dir
}

// sent returns the messages of a state: the role, and the text of the first block or its
// kind.
func sent(t *testing.T, s store.Store, h model.Header) (all []string) {
	t.Helper()
	text, err := s.State(t.Context(), h.Ref())
	var is struct {
		Messages []struct {
			Role    string
			Content []map[string]json.RawMessage
		}
	}
	if err == nil {
		err = json.Unmarshal(text, &is)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range is.Messages {
		words := ""
		for key, value := range m.Content[0] {
			words = key
			if key == "text" {
				words = string(value)
			}
		}
		all = append(all, m.Role+" "+words)
	}
	return all
}

// A rollback takes the last turns of the user's off the path, with what Codex said at the
// beginning of the first of them. A fork behind it has none of that.
func TestRollBack(t *testing.T) {
	var r madeRollout
	r.header()
	r.says("user", "<environment_context>one</environment_context>")
	r.says("user", "first")
	r.says("assistant", "reply to first")
	r.says("user", "second")
	r.says("assistant", "reply to second")
	r.says("user", "<environment_context>two</environment_context>")
	r.says("user", "third")
	r.event(`{"type":"turn_aborted","reason":"interrupted"}`)
	r.event(`{"type":"thread_rolled_back","num_turns":2}`)
	r.says("user", "fourth")
	r.says("assistant", "reply to fourth")
	s, dir := r.store(t)
	holdLines(t, "the session", treeOf(t, s, made), `
#0<-1 context: one
#1<0 user input: first
#2<1 turn end: reply to first
#3<2 user input: second | rewind
#4<3 turn end: reply to second | rewind
#5<4 context: two | rewind
#6<5 user input: third | rewind
#7<2 user input: fourth
#8<7 turn end: reply to fourth *`)
	list := storetest.Headers(t, s, made)
	if why := list[6].Reason; why.At.Second() != 10 || why.TargetID != list[2].ID {
		t.Errorf("it was left because of %+v", why)
	}
	if !list[6].Marks.Has(model.MarkError) {
		t.Error("the turn that was aborted has no mark")
	}
	for at, want := range map[int]string{8: "user first, assistant reply to first, user fourth, assistant reply to fourth", 6: "user first, assistant reply to first, user second, assistant reply to second, user third"} {
		id := fork(t, s, list[at])
		again := opened(t, dir)
		forked := storetest.Headers(t, again, id)
		var words []string
		for _, m := range sent(t, again, forked[len(forked)-1]) {
			if m = strings.ReplaceAll(m, `"`, ""); !strings.Contains(m, "<environment_context>") {
				words = append(words, m)
			}
		}
		if got := strings.Join(words, ", "); got != want {
			t.Errorf("the fork of #%d is sent %q and not %q", at, got, want)
		}
	}
	storetest.Fork(t, Kind(nil).Kind, dir)
}

// fork forks a session and returns the id of the new one.
func fork(t *testing.T, s store.Store, h model.Header) string {
	t.Helper()
	w := storetest.AsWriter(s)
	plan, err := w.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: h.Ref()})
	if err == nil {
		_, err = w.Apply(t.Context(), plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	return plan.NewSession
}

// A rollback of more turns than there are leaves what Codex said before the first.
func TestRollBack_all(t *testing.T) {
	var r madeRollout
	r.header()
	r.says("user", "<environment_context>one</environment_context>")
	r.says("user", "first")
	r.event(`{"type":"thread_rolled_back","num_turns":5}`)
	r.event(`{"type":"thread_rolled_back","num_turns":1}`)
	r.says("user", "again")
	s, _ := r.store(t)
	holdLines(t, "the session", treeOf(t, s, made), `
#0<-1 context: one
#1<0 user input: first | rewind
#2<0 user input: again *`)
	holdLines(t, "its turns", turns(t, s, made), "#0 turn 0 context: one\n#1 turn 0 user input: first\n#2 turn 0 user input: again")
}

// Before there was a replacement_history, the model read the user's words and the summary.
func TestCompaction_old(t *testing.T) {
	var r madeRollout
	r.header()
	r.says("user", "first")
	r.says("assistant", "reply to first")
	r.says("user", "more")
	r.record("compacted", `{"message":"what was said"}`)
	r.says("user", "second")
	s, _ := r.store(t)
	list := storetest.Headers(t, s, made)
	if got := sent(t, s, list[4]); !slices.Equal(got, []string{`user "first"`, `user "more"`, `user "what was said"`, `user "second"`}) {
		t.Errorf("the model reads %q", got)
	}
	if !list[1].Marks.Has(model.MarkEvicted) || list[0].Marks.Has(model.MarkEvicted) {
		t.Errorf("the marks are %v and %v", list[0].Marks, list[1].Marks)
	}
}

// A compaction holds what the model reads, and nothing before it is read.
func TestCompaction(t *testing.T) {
	s := opened(t, recorded)
	list := storetest.Headers(t, s, forked)
	got := sent(t, s, list[13])
	if len(got) != 8 || got[0] != `user "first question"` || got[1] != `user "run: ls -1"` || got[6] != `user "after compaction"` {
		t.Errorf("the model reads %.60q", got)
	}
}

// An answer is counted once: a count that says again what was said before is passed over.
func TestUsage(t *testing.T) {
	var r madeRollout
	r.header()
	r.event(`{"type":"token_count","info":null}`)
	r.says("user", "first")
	r.says("assistant", "reply")
	r.used(10, 10)
	r.used(10, 10)
	r.says("user", "second")
	r.used(10, 10)
	r.says("assistant", "reply")
	r.used(30, 20)
	s, _ := r.store(t)
	list := storetest.Headers(t, s, made)
	if got := fmt.Sprint(costs(t, s, list[3])); got != "[{10 1 4} {20 1 4}]" {
		t.Errorf("the answers cost %s", got)
	}
}

// usedInAll adds a count that does not say what the last answer used.
func (r *madeRollout) usedInAll(input, output int) {
	r.event(fmt.Sprintf(`{"type":"token_count","info":{"total_token_usage":{"input_tokens":%d,"cached_input_tokens":%d,"output_tokens":%d}}}`, input, input/10, output))
}

// Where a count says only what the thread used, an answer used what that is more than before: of
// a thread that counts anew, all of it.
func TestUsage_ofTheThread(t *testing.T) {
	var r madeRollout
	r.header()
	r.says("user", "first")
	r.says("assistant", "reply")
	r.usedInAll(100, 10)
	r.usedInAll(100, 10)
	r.says("user", "second")
	r.usedInAll(100, 10)
	r.says("assistant", "reply")
	r.usedInAll(250, 30)
	cut := r.Len()
	r.says("user", "third")
	r.says("assistant", "reply")
	r.usedInAll(400, 31)
	r.event(`{"type":"thread_rolled_back","num_turns":1}`)
	r.says("user", "fourth")
	r.says("assistant", "reply")
	r.usedInAll(500, 40)
	r.says("user", "fifth")
	r.says("assistant", "reply")
	r.usedInAll(60, 5)
	s, dir := r.store(t)
	list := storetest.Headers(t, s, made)
	const first = "{100 10 10} {150 20 15}"
	for at, want := range map[int]string{3: "[" + first + "]", 5: "[" + first + " {150 1 15}]", 9: "[" + first + " {100 9 10} {60 5 6}]"} {
		if got := fmt.Sprint(costs(t, s, list[at])); got != want {
			t.Errorf("#%d: the answers cost %s and not %s", at, got, want)
		}
	}
	var fork madeRollout // it counts on
	fork.based(madeID(2), made, 9, cut)
	fork.says("user", "in the fork")
	fork.says("assistant", "reply")
	fork.usedInAll(300, 33)
	put(t, dir, 5, madeID(2), &fork)
	s = opened(t, dir)
	if got := fmt.Sprint(costs(t, s, storetest.Headers(t, s, madeID(2))[5])); got != "["+first+" {50 3 5}]" {
		t.Errorf("the answers of the fork cost %s", got)
	}
}

// What Codex itself counted for a thread stands at the head: the last count or, where there is
// none, that of the index.
func TestCounted(t *testing.T) {
	none, counts := t.TempDir(), t.TempDir()
	for dir, used := range map[string]bool{none: false, counts: true} {
		var r madeRollout
		r.header()
		r.says("user", "first")
		r.says("assistant", "reply")
		if used {
			r.usedInAll(100, 10)
		}
		put(t, dir, 1, made, &r)
		fill(t, filepath.Join(dir, "state_5.sqlite"), "CREATE TABLE threads (id TEXT, rollout_path TEXT, source TEXT, tokens_used INTEGER)", "INSERT INTO threads VALUES ('"+made+"', '', 'cli', 77)")
	}
	for _, c := range []struct{ dir, session, want string }{
		{recorded, forked, "tokens, of the session 32776, tokens read, of the session 32733, tokens from a cache, of the session 120, tokens written, of the session 43"},
		{recorded, resumed, "tokens, of the session 25313, tokens read, of the session 24782, tokens from a cache, of the session 220, tokens written, of the session 531"},
		{recorded, bare, ""},
		{counts, made, "tokens, of the session 110, tokens read, of the session 100, tokens from a cache, of the session 10, tokens written, of the session 10"},
		{none, made, "tokens, of the session 77"},
	} {
		s := opened(t, c.dir)
		for _, h := range storetest.Headers(t, s, c.session) {
			facts, err := s.Features().Facts(t.Context(), h.Ref())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range facts {
				if f.IsCounted() {
					got = append(got, f.Label+" "+f.Value)
				}
			}
			if all := strings.Join(got, ", "); h.Head && all != c.want || !h.Head && all != "" {
				t.Errorf("#%d of %s has %q and not %q", h.Index, c.session, all, c.want)
			}
		}
	}
}

// What a session runs with is in the state.
func TestMeta(t *testing.T) {
	var r madeRollout
	r.header()
	r.says("user", "first")
	r.record("turn_context", `{"cwd":"/home/demo2","model":"model-2","approval_policy":"never"}`)
	r.says("assistant", "reply to first")
	s, _ := r.store(t)
	for i, want := range []string{
		`"meta":{"cwd":"/home/demo1","gitBranch":"main","gitCommit":"abc123","version":"0.118.0"}`,
		`"meta":{"model":"model-2","cwd":"/home/demo2","gitBranch":"main","gitCommit":"abc123","version":"0.118.0","mode":"never"}`,
	} {
		text, err := s.State(t.Context(), storetest.Headers(t, s, made)[i].Ref())
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("#%d: the session runs with %s: %v", i, text[strings.Index(string(text), `"meta"`):], err)
		}
	}
}

// cost is what an answer used.
type cost struct{ InputTokens, OutputTokens, CacheReadInputTokens int }

// costs returns what the answers of a state used.
func costs(t *testing.T, s store.Store, h model.Header) (list []cost) {
	t.Helper()
	text, err := s.State(t.Context(), h.Ref())
	var is struct{ Messages []struct{ Usage *cost } }
	if err == nil {
		err = json.Unmarshal(text, &is)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range is.Messages {
		if m.Usage != nil {
			list = append(list, *m.Usage)
		}
	}
	return list
}

// Codex 0.169 counts an answer in a record and in an event. In a session that an older version
// began, the record counts from 0 and the event goes on: the answer is counted once. What a
// compaction cost is its own.
func TestUsage_ofTwoVersions(t *testing.T) {
	s := opened(t, recorded)
	list := storetest.Headers(t, s, resumed)
	for at, want := range map[int]string{21: "[1362 1418 1582 1635 1689 1855 1908]", 22: "[2066]", 31: "[2066 1652 7980]"} {
		var got []int
		for _, u := range costs(t, s, list[at]) {
			got = append(got, u.InputTokens)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("#%d: the answers cost %v and not %s", at, got, want)
		}
	}
}

// A tool failed that gave another exit code than 0, whichever record says so.
func TestFailed(t *testing.T) {
	for name, add := range map[string]func(*madeRollout){
		"in the output": func(r *madeRollout) {
			r.record("response_item", `{"type":"function_call_output","call_id":"c","output":"{\"output\":\"no\",\"metadata\":{\"exit_code\":1}}"}`)
		},
		"in an event": func(r *madeRollout) {
			r.event(`{"type":"item_completed","item":{"type":"CommandExecution","id":"c","status":"completed","exit_code":2}}`)
			r.record("response_item", `{"type":"function_call_output","call_id":"c","output":"no"}`)
		},
		"by success": func(r *madeRollout) {
			r.record("response_item", `{"type":"custom_tool_call_output","call_id":"c","output":{"content":"no","success":false}}`)
		},
	} {
		var r madeRollout
		r.header()
		r.says("user", "run")
		r.record("response_item", `{"type":"function_call","name":"shell","arguments":"{}","call_id":"c"}`)
		add(&r)
		s, _ := r.store(t)
		list := storetest.Headers(t, s, made)
		if !list[2].Marks.Has(model.MarkError) {
			t.Errorf("%s: the tool is not told to have failed: %+v", name, list[2])
		}
		text, err := s.State(t.Context(), list[2].Ref())
		if err != nil || !strings.Contains(string(text), `"status":"error"`) {
			t.Errorf("%s: the state says %s: %v", name, text, err)
		}
	}
}

// Faults of the records are told with their place.
func TestFaults(t *testing.T) {
	dir := storetest.Copy(t, recorded)
	text := read(t, filepath.Join(dir, segmentFile))
	lines := strings.SplitAfter(text, "\n")
	write(t, filepath.Join(dir, segmentFile), strings.Join(slices.Concat(lines[:4], lines[5:9], []string{`{"type":"news","payload":{}}` + "\n", "no JSON\n", `{"type":"respon`}), ""))
	s := opened(t, dir)
	var got []string
	for _, f := range storetest.Faults(t, s, whole) {
		got = append(got, f.Code)
	}
	slices.Sort(got)
	if want := []string{chat.FaultLine, FaultAlone, FaultOrdinals, chat.FaultTorn, chat.FaultUnknown}; !slices.Equal(got, want) {
		t.Errorf("the faults are %q and not %q", got, want)
	}
	write(t, filepath.Join(dir, envelopeFile), strings.SplitAfterN(read(t, filepath.Join(dir, envelopeFile)), "\n", 2)[1])
	if got := codes(t, s, envelope); len(got) != 1 || !strings.HasPrefix(got[0], FaultHeader) {
		t.Errorf("without a header the faults are %q", got)
	}
}

const envelopeFile = day22 + "rollout-2026-11-22T11-29-04-" + envelope + ".jsonl"

// A count of tokens before a fork is in another file than the compaction behind the fork, of
// which it is none.
func TestFold_compactionBehindAFork(t *testing.T) {
	const fork = "01a30000-0000-7000-8000-000000000002"
	dir, name := t.TempDir(), "sessions/2026/01/02/rollout-2026-01-02T03-04-00-"
	var source, r madeRollout
	source.header()
	source.says("user", strings.Repeat("first ", 99))
	source.used(1, 1)
	write(t, filepath.Join(dir, name+made+".jsonl"), source.String())
	r.record("session_meta", fmt.Sprintf(`{"id":%q,"history_base":{"thread_id":%q,"end_ordinal_exclusive":3,"end_byte_offset":%d}}`, fork, made, source.Len()))
	r.record("compacted", `{"message":"what was said"}`)
	write(t, filepath.Join(dir, name+fork+".jsonl"), r.String())
	s := opened(t, dir)
	list := storetest.Headers(t, s, fork)
	if said := sent(t, s, list[len(list)-1]); said[len(said)-1] != `user "what was said"` {
		t.Errorf("the model reads %q", said)
	}
}

// Whatever is folded, each message is in the state at its own snapshot, and each snapshot
// has its parent. Turns are counted on.
func TestFold_losesNoMessage(t *testing.T) {
	skip.Sequential(t)
	dir := t.TempDir()
	n := 0
	rapid.Check(t, storetest.Few(40, func(rt *rapid.T) {
		n++
		id := fmt.Sprintf("01a30000-0000-7000-8000-%012d", n)
		var files []string
		ends := []int{}
		said := 0
		for segment := range rapid.IntRange(1, 3).Draw(rt, "segments") {
			var r madeRollout
			base := ""
			if segment > 0 && rapid.Bool().Draw(rt, "based") {
				end := rapid.SampledFrom(append([]int{0, 7, 1 << 30}, ends...)).Draw(rt, "end")
				base = fmt.Sprintf(`,"history_base":{"thread_id":%q,"end_ordinal_exclusive":3,"end_byte_offset":%d}`, rapid.SampledFrom([]string{id, made}).Draw(rt, "of"), end)
			}
			if rapid.IntRange(0, 9).Draw(rt, "header") > 0 {
				r.record("session_meta", `{"id":"`+id+`"`+base+`}`)
			}
			for range rapid.IntRange(0, 12).Draw(rt, "records") {
				switch rapid.IntRange(0, 11).Draw(rt, "what") {
				case 0, 1:
					r.says("user", fmt.Sprintf("words %d.", said))
					said++
				case 2:
					r.says("assistant", fmt.Sprintf("words %d.", said))
					said++
				case 3:
					r.record("compacted", fmt.Sprintf(`{"message":"words %d.","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"words %d."}]}]}`, said, said))
					said++
				case 4:
					r.event(fmt.Sprintf(`{"type":"thread_rolled_back","num_turns":%d}`, rapid.IntRange(-1, 4).Draw(rt, "turns")))
				case 5:
					r.event(`{"type":"task_started"}`)
				case 6:
					r.used(rapid.IntRange(0, 3).Draw(rt, "total"), 1)
				case 7:
					r.WriteString("torn {")
					if rapid.Bool().Draw(rt, "ends") {
						r.WriteString("\n")
					}
				case 8:
					r.event(`{"type":"turn_aborted","reason":"interrupted"}`)
				case 9:
					r.event(`{"type":"task_complete"}`)
				case 10:
					r.thinks("hm")
				case 11:
					r.says("user", "<environment_context>")
				}
				ends = append(ends, r.Len())
			}
			name := fmt.Sprintf("sessions/2026/01/02/rollout-2026-01-02T03-04-%02d-%s", segment, id)
			if segment > 0 {
				name += fmt.Sprintf("_01a30000-0000-7000-9%03d-%012d", segment, n)
			}
			write(t, filepath.Join(dir, name+".jsonl"), r.String())
			files = append(files, r.String())
		}
		if said == 0 {
			return
		}
		s := opened(t, dir)
		list := storetest.Headers(t, s, id)
		there := map[string]bool{"": true}
		for _, h := range list {
			if !there[h.ParentID] {
				rt.Errorf("%s follows %q, which is not before it", h.ID, h.ParentID)
			}
			there[h.ID] = true
		}
		for _, f := range model.NewTimeline(list).Faults() {
			if f.Code == model.FaultTurnBack || f.Code == model.FaultTurnRepeated {
				rt.Errorf("%s: %s in\n%s", f.File, f.Meaning, strings.Join(files, "\n\n"))
			}
		}
		seen := map[string]bool{}
		for _, h := range list {
			for _, m := range sent(t, s, h) {
				seen[m] = true
			}
		}
		for i := range said {
			if !seen[fmt.Sprintf(`user "words %d."`, i)] && !seen[fmt.Sprintf(`assistant "words %d."`, i)] {
				rt.Errorf("words %d are lost: %v of\n%s", i, seen, strings.Join(files, "\n\n"))
			}
		}
	}))
}
