package claudecode

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// thought is a record of an answer that holds what the model thought.
func thought(id, parent, answer, text string) rec {
	return rec{kind: "assistant", id: id, parent: parent, says: map[string]any{
		"id": answer, "role": "assistant", "content": []any{map[string]any{"type": "thinking", "thinking": text}},
	}}
}

// What the model thought is no title of a row that calls a tool, nor of one that says words,
// whichever record of the answer comes first.
func TestTitles_areNoThoughts(t *testing.T) {
	call, says := part("c", "b", "m1", "", "t1"), part("c", "b", "m1", "Words", "")
	for name, tt := range map[string]struct {
		more []rec
		want string
	}{
		"a call":              {[]rec{call}, "T"},
		"a thought, a call":   {[]rec{thought("t", "b", "m1", "hidden"), call}, "T"},
		"words":               {[]rec{says}, "Words"},
		"a call, a word":      {[]rec{call, part("d", "c", "m1", "Words", "")}, "Words (T)"},
		"words, then a call":  {[]rec{says, part("d", "c", "m1", "", "t1")}, "Words (T)"},
		"words, a thought":    {[]rec{says, thought("t", "c", "m1", "hidden")}, "Words"},
		"a call, a thought":   {[]rec{call, thought("t", "c", "m1", "hidden")}, "T"},
		"two calls and one":   {[]rec{call, part("d", "c", "m1", "", "t2"), thought("t", "d", "m1", "hidden")}, "T · T"},
		"two thoughts, words": {[]rec{thought("t", "b", "m1", "hidden"), says}, "Words"},
	} {
		dir, _ := written(t, list(append([]rec{user("a", "", "A"), thought("b", "a", "m1", "hidden")}, tt.more...)...)...)
		rows := storetest.Headers(t, open(t, dir), session)
		if len(rows) != 2 || rows[1].Title != tt.want {
			t.Errorf("%s: %d rows, %q and not %q", name, len(rows), rows[len(rows)-1].Title, tt.want)
		}
	}
}

// A record in a damaged line has the id of sound ones: what follows them does not follow it.
func TestTree_ofAnIDInADamagedLine(t *testing.T) {
	torn := func(r rec) fmt.Stringer { return raw(`{"torn` + r.String()) }
	for name, lines := range map[string][]fmt.Stringer{
		"behind":  {user("a", "", "A"), part("b", "a", "m1", "B", ""), torn(user("b", "a", "other")), user("c", "b", "C")},
		"before":  {user("a", "", "A"), torn(user("b", "a", "other")), part("b", "a", "m1", "B", ""), user("c", "b", "C")},
		"several": {user("a", "", "A"), torn(user("b", "a", "x")), part("b", "a", "m1", "B", ""), torn(user("b", "a", "y")), torn(user("b", "", "z")), user("c", "b", "C")},
	} {
		dir, _ := written(t, lines...)
		got := treeOf(t, open(t, dir), session)
		if !slices.Contains(got, "b ◂ a B") || !slices.Contains(got, "c ◂ b C *") {
			t.Errorf("%s:\n%s", name, strings.Join(got, "\n"))
		}
	}
}

// All messages before a compaction count, the first one too.
func TestFaults_countWhatACompactionHides(t *testing.T) {
	summary := user("s", "x", "S")
	summary.more = map[string]any{"isCompactSummary": true}
	before := []rec{user("a", "", "A"), part("b", "a", "m1", "B", ""), user("c", "b", "C")}
	for n, want := range []string{1: "1 message on", 2: "2 messages on", 3: "3 messages on"} {
		if n == 0 {
			continue
		}
		dir, _ := written(t, list(slices.Concat(before[:n], []rec{boundaryOf("x", before[n-1].id, ""), summary, user("e", "s", "E")})...)...)
		faults := storetest.Faults(t, open(t, dir), session)
		at := slices.IndexFunc(faults, func(f model.Fault) bool { return f.Code == FaultCompacted })
		if at < 0 || !strings.HasPrefix(faults[at].Meaning, want) {
			t.Errorf("%d before it: %+v", n, faults)
		}
	}
}

// Of several sessions that go soon the oldest is named; sub-agents and what was written to
// lately do not count.
func TestFaults_nameTheOldestSession(t *testing.T) {
	dir, file := written(t, user("a", "", "A"))
	project := filepath.Dir(file)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	name := func(digit string) string {
		return strings.ReplaceAll("11111111-1111-4111-8111-111111111111", "1", digit) + suffix
	}
	for file, days := range map[string]int{
		name("2"): 28, name("3"): 40, name("4"): 29, name("5"): 26, "agent-12345678" + suffix: 50,
		filepath.Join(strings.TrimSuffix(name("2"), suffix), subagents, "agent-a1"+suffix): 60,
	} {
		at, old := filepath.Join(project, file), time.Now().Add(-time.Duration(days)*24*time.Hour)
		for _, err := range []error{os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, text, 0o600), os.Chtimes(at, old, old)} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	faults := storetest.Faults(t, open(t, dir), "")
	if got := codes(faults); !slices.Equal(got, []string{FaultPruned}) {
		t.Fatal(got)
	}
	if f := faults[0]; !strings.HasSuffix(f.File, name("3")) || !strings.HasPrefix(f.Meaning, "3 sessions ") {
		t.Errorf("%+v", f)
	}
}

// Looking for the settings leaves no file open.
func TestCheck_closesWhatItOpens(t *testing.T) {
	const open = "/proc/self/fd"
	if _, err := os.ReadDir(open); err != nil {
		skip.Missing(t, "the system does not list the open files of a process: %v", err)
	}
	dir, _ := written(t, user("a", "", "A"))
	daysKept(dir)
	before, _ := os.ReadDir(open)
	for range 20 {
		if days := daysKept(dir); days != keptDays {
			t.Fatal(days)
		}
	}
	if after, _ := os.ReadDir(open); len(after) >= len(before)+20 {
		t.Errorf("%d files were open, then %d", len(before), len(after))
	}
}

// The source of a fork is told once, and not as another session that begins alike.
func TestFacts_nameTheSourceOnce(t *testing.T) {
	const source, third = "22222222-2222-4222-8222-222222222222", "33333333-3333-4333-8333-333333333333"
	first := user("a", "", "A")
	first.more = map[string]any{"forkedFrom": map[string]any{"sessionId": source, "messageUuid": "a"}}
	dir, file := written(t, list(first, part("b", "a", "m1", "B", ""))...)
	for _, other := range []string{source, third} {
		text := strings.ReplaceAll(user("a", "", "A").String(), session, other) + "\n"
		if err := os.WriteFile(filepath.Join(filepath.Dir(file), other+suffix), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := facts(t, open(t, dir), "b"); got["forked from"] != source || got["begins as"] != third {
		t.Errorf("%v", got)
	}
}

// A fork whose records cannot be read any more is none: it never is a session of no lines.
func TestFork_ofAFileThatChanged(t *testing.T) {
	_, file := written(t, user("a", "", "A"))
	disk, err := tree.OpenDisk(filepath.Dir(file))
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	for span, name := range map[chat.Span]string{
		{At: 0, Len: 1 << 20}: filepath.Base(file), {At: 1, Len: 9}: filepath.Base(file), {At: 0, Len: 1}: "none" + suffix,
	} {
		s := &chat.Session{Spot: chat.Spot{File: name}, Entries: []chat.Entry{{ID: "a", Meta: &chat.Meta{}}}, Own: &own{}}
		cut := chat.Cut{In: engine.In{Tree: disk}, Session: s, To: &s.Entries[0], ID: "new"}
		if made, err := (&format{}).copySession(cut, nil, []chat.Span{span}, nil); err == nil {
			t.Errorf("%s: %+v", name, made)
		}
	}
}

// A line that is no JSON is no record, whatever it begins with.
func TestDecode_tornLines(t *testing.T) {
	whole := user("a", "", "A").String()
	if r, err := decodeLine(&chat.Line{Raw: []byte(whole)}); err != nil || r.id != "a" {
		t.Error(r, err)
	}
	for _, line := range []string{"", "{", "null", whole[:len(whole)-1], whole + "}", whole[:20], strings.Replace(whole, `:`, ` `, 1), `{"type":"user",}`, whole + whole} {
		if r, err := decodeLine(&chat.Line{Raw: []byte(line)}); err == nil {
			t.Errorf("%q is %+v", line, r)
		}
	}
}

// Where a file stands tells which session it is, and of which project.
func TestSpot(t *testing.T) {
	f := &format{}
	for file, want := range map[string]chat.Spot{
		"x.jsonl":                      {ID: "x", Named: true},
		"-p/x.jsonl":                   {ID: "x", Named: true, Project: "-p"},
		"agent-1.jsonl":                {ID: "agent-1"},
		"-p/agent-1.jsonl":             {ID: "agent-1", Project: "-p"},
		"-p/x/subagents/agent-1.jsonl": {ID: "x/agent-1", Named: true, Project: "-p"},
		"x/subagents/agent-1.jsonl":    {ID: "x/agent-1", Named: true},
		"subagents/agent-1.jsonl":      {ID: "agent-1"},
	} {
		want.File = file
		if got := f.Spot(file); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, not %+v", file, got, want)
		}
	}
}

// A sub-agent beside its session is named by the first line; one without lines keeps its name.
func TestID_ofASubAgentBesideItsSession(t *testing.T) {
	dir := t.TempDir()
	disk, err := tree.OpenDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	f := &format{}
	for text, want := range map[string]string{
		"": "", "\n": "", "{}\n": "", `{"sessionId":"x"}` + "\n": "",
		user("a", "", "A").String() + "\n": session + "/agent-1",
	} {
		if err := os.WriteFile(filepath.Join(dir, "agent-1"+suffix), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := f.ID(engine.In{Tree: disk, Memo: tree.NewMemo(&files.Memory{})}, f.Spot("agent-1"+suffix)); got != want {
			t.Errorf("%q is %q, not %q", text, got, want)
		}
	}
	if got := f.ID(engine.In{Tree: disk, Memo: tree.NewMemo(&files.Memory{})}, f.Spot("agent-2"+suffix)); got != "" {
		t.Errorf("one that is not there is %q", got)
	}
}

// A result that names no agent starts none, not even one whose name is as short as can be.
func TestTree_ofAResultWithoutAnAgent(t *testing.T) {
	dir, file := written(t, list(user("a", "", "A"), part("b", "a", "m1", "", "t1"), result("c", "b", "t1"), part("d", "c", "m2", "D", ""))...)
	agents := filepath.Join(strings.TrimSuffix(file, suffix), subagents)
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.MkdirAll(agents, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(agents, agentPrefix+suffix), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the tree", treeOf(t, open(t, dir), session), []string{"a ◂  A", "b ◂ a T", "c ◂ b T  out t1", "d ◂ c D *"})
}
