package pi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/labels"
	"hindcast/store/media/tree"
	"hindcast/store/storetest"
)

const (
	fixtures = "../../../testdata/coding/pi"
	branched = "01a20301-0000-7000-8000-000000000001"
	first    = "01a202f9-fa8c-7787-b97f-6770d5a02da9"
	forked   = "01a20302-40c3-7034-a079-4364234fa33e"
	version1 = "ffae836b-9420-4060-ac13-7745215f90ff"
)

func TestRead(t *testing.T) { storetest.Read(t, Kind(nil).Kind, fixtures) }

type failing interface {
	Helper()
	Fatal(...any)
	Errorf(string, ...any)
}

func open(t testing.TB, dir string) storetest.Writer {
	t.Helper()
	s, err := Kind(nil).Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return storetest.AsWriter(s)
}

// The trees of the fixtures, by what pi's format says of their lines.
func TestFixtures(t *testing.T) {
	s := open(t, fixtures)
	for session, want := range map[string]string{
		first: `
 0<-1 b73d6ce1 user input (1): first question
 1<0 a0724994 turn end (2): reply to: first question
 2<1 bdc70fcc user input (3): run: ls -1
 3<2 b25d274f after model (4): $ ls -1
 4<3 60c0edcf tool iteration (5): $ ls -1  a.txt
*5<4 ad5aab86 turn end (6): done: ls -1
`,
		branched: `
 0<-1 b73d6ce1 user input (1): first question
 1<0 a0724994 turn end (2): reply to: first question
-2<1 bdc70fcc user input (3): run: ls -1 (wentOn to cb69755b at 11:27:00)
-3<2 b25d274f after model (4): $ ls -1 (wentOn to cb69755b at 11:27:00)
-4<3 60c0edcf tool iteration (5): $ ls -1  a.txt (wentOn to cb69755b at 11:27:00)
-5<4 ad5aab86 turn end (6): done: ls -1 (wentOn to cb69755b at 11:27:00)
 6<1 ac8356a3 user input (3): branched by SessionManager
 7<6 cb69755b turn end (4): answer on the branch
-8<5 2d38c376 branch summary (7): The other branch tried X. (wentOn to cb69755b at 11:27:00)
-9<8 e1ca54a5 user input (8): after branch summary (wentOn to cb69755b at 11:27:00)
-10<9 864939e9 turn end (9): ok (wentOn to cb69755b at 11:27:00)
-11<10 80e454ce compaction (2): Summary of the conversation so far. (wentOn to cb69755b at 11:27:00)
 12<7 c377df17 user input (5): after our append
*13<12 1138a756 turn end (6): reply to: after our append
`,
		forked: `
 0<-1 b73d6ce1 user input (1): first question
 1<0 a0724994 turn end (2): reply to: first question
 2<1 bdc70fcc user input (3): run: ls -1
 3<2 b25d274f after model (4): $ ls -1
 4<3 60c0edcf tool iteration (5): $ ls -1  a.txt
 5<4 ad5aab86 turn end (6): done: ls -1
 6<5 dc3ca54c user input (7): after new file
 7<6 aaff8634 turn end (8): reply to: after new file
 8<7 bc45f04d user input (9): forked
*9<8 709e3f15 turn end (10): reply to: forked
`,
		version1: `
 0<-1 line-2 user input (1): alright, read @packages/coding-agent/src
 1<0 line-3 after model (2): ◱ packages/coding-agent/src/main.ts · ◱ 
 2<1 line-4 tool iteration (3): ◱ packages/coding-agent/src/main.ts  154
 3<2 line-5 tool iteration (4): ◱ packages/coding-agent/src/tui/tui-rend
 4<3 line-6 after model (5): Let me get the rest of the tui-renderer 
 5<4 line-7 tool iteration (6): ◱ packages/coding-agent/src/tui/tui-rend
 6<5 line-8 turn end (7): Now I have a complete picture. Let me do
 7<6 line-13 user input (8): AgentSession looks like a good idea, can
 8<7 line-14 turn end (9): Good thinking. Let me expand AgentSessio
 9<8 line-15 user input (10): ok, create a branch refactor
`,
	} {
		if got := "\n" + storetest.Draw(t, s, session); session == version1 && !strings.HasPrefix(got, want) || session != version1 && got != want {
			t.Errorf("session %s is%s\nwant%s", session, got, want)
		}
	}
	for session, want := range map[string]string{first: "", branched: "", forked: FaultSource, version1: FaultSource} {
		if got := codes(t, s, session); got != want {
			t.Errorf("session %s has the faults %q, want %q", session, got, want)
		}
	}
	for _, info := range storetest.Sessions(t, s) {
		if want := map[string]string{first: "first question", branched: "demo session", forked: "first question"}[info.ID]; want != "" && info.Title != want {
			t.Errorf("session %s is called %q, want %q", info.ID, info.Title, want)
		}
	}
}

func codes(t testing.TB, s store.Store, session string) string {
	t.Helper()
	var list []string
	for _, f := range storetest.Faults(t, s, session) {
		if f.Meaning == "" || f.Verdict == "" && f.Severity > model.Note {
			t.Errorf("%+v", f)
		}
		list = append(list, f.Code)
	}
	return strings.Join(list, " ")
}

// Lines of sessions.
const (
	header = `{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00Z","cwd":"/w"}` + "\n"
	user   = `{"type":"message","id":"u","parentId":null,"timestamp":"2026-01-01T00:00:01Z","message":{"role":"user","content":"hello"}}` + "\n"
	answer = `{"type":"message","id":"a","parentId":"u","timestamp":"2026-01-01T00:00:02Z","message":{"role":"assistant","content":[{"type":"text","text":"hi"}]}}` + "\n"
)

// of returns the store of one session, of which that is the file.
func of(t testing.TB, text string) (s storetest.Writer, dir string) {
	t.Helper()
	dir = t.TempDir()
	project := filepath.Join(dir, "--w--")
	err := os.Mkdir(project, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(project, "2026-01-01T00-00-00-000Z_s.jsonl"), []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return open(t, dir), dir
}

func TestSessions(t *testing.T) {
	for _, c := range []struct{ name, text, title, faults, draws string }{
		{"a label is the last line", header + user + answer + `{"type":"label","id":"l","parentId":"u","timestamp":"2026-01-01T00:00:03Z","targetId":"a","label":"good"}`, "hello", "",
			"*0<-1 u user input (1): hello\n-1<0 a turn end (2): hi (wentOn to u at 00:00:03)\n"},
		{"a name is the last line", header + user + answer + `{"type":"session_info","id":"i","parentId":"a","name":"called so"}`, "called so", "",
			" 0<-1 u user input (1): hello\n*1<0 a turn end (2): hi\n"},
		{"an extension's line before all is the last: there is no head", header + user + answer + `{"type":"custom","id":"c","parentId":null,"timestamp":"2026-01-01T00:00:04Z","customType":"x"}`, "hello", "",
			"-0<-1 u user input (1): hello (wentOn to  at 00:00:04)\n-1<0 a turn end (2): hi (wentOn to  at 00:00:04)\n"},
		{"a title before the header", `{"type":"title","title":"of oh-my-pi"}` + "\n" + header + user, "of oh-my-pi", "", "*0<-1 u user input (1): hello\n"},
		{"a name is newer than a title", `{"type":"title","title":"of oh-my-pi"}` + "\n" + header + user + `{"type":"session_info","id":"i","parentId":"u","name":"called so"}`, "called so", "", "*0<-1 u user input (1): hello\n"},
		{"a header alone", header, "", "", ""},
		{"a torn line", header + user + answer[:40], "hello", "torn-line", "*0<-1 u user input (1): hello\n"},
		{"a damaged line", header + user + "{}}\n" + answer, "hello", "damaged-line", " 0<-1 u user input (1): hello\n*1<0 a turn end (2): hi\n"},
		{"no header", user + answer, "hello", "no-header", " 0<-1 u user input (1): hello\n*1<0 a turn end (2): hi\n"},
		{"a type that is not known", header + user + `{"type":"new","id":"n","parentId":"u"}`, "hello", "unknown-record", "*0<-1 u user input (1): hello\n"},
		{"a parent that is not there", header + user + strings.Replace(answer, `"u"`, `"gone"`, 1), "hello", "missing-parent", "-0<-1 u user input (1): hello (chainBroken to  at 00:00:00)\n*1<-1 a turn end (1): hi\n"},
		{"a parent that comes later", header + answer + user, "hello", "", "-0<1 a turn end (2): hi (wentOn to  at 00:00:01)\n*1<-1 u user input (1): hello\n"},
		{"an id twice", header + user + answer + strings.Replace(answer, `"hi"`, `"hi again"`, 1), "hello", "", " 0<-1 u user input (1): hello\n-1<0 line-3 turn end (2): hi (wentOn to u at 00:00:02)\n*2<0 a turn end (2): hi again\n"},
		{"a circle", header + strings.Replace(user, "null", `"a"`, 1) + answer, "hello", "parent-cycle", " 0<1 u user input (2): hello\n*1<0 a turn end (2): hi\n"},
		{"of two compactions the newer one counts, and keeps from a line that is no message on", header + user + answer +
			`{"type":"compaction","id":"c1","parentId":"a","summary":"first","firstKeptEntryId":"a"}` + "\n" +
			`{"type":"model_change","id":"m","parentId":"c1","modelId":"x"}` + "\n" +
			`{"type":"message","id":"u2","parentId":"m","message":{"role":"user","content":"more"}}` + "\n" +
			`{"type":"compaction","id":"c2","parentId":"u2","summary":"second","firstKeptEntryId":"m"}` + "\n" +
			`{"type":"compaction","id":"c3","parentId":"c2","summary":"third","firstKeptEntryId":"u"}` + "\n" +
			`{"type":"compaction","id":"c4","parentId":"c3","summary":"fourth","firstKeptEntryId":"gone"}`, "hello", "",
			" 0<-1 u user input (1): hello\n 1<0 a turn end (2): hi\n 2<1 c1 compaction (2): first\n 3<2 u2 user input (3): more\n" +
				" 4<3 c2 compaction (2): second\n 5<4 c3 compaction (4): third\n*6<5 c4 compaction (1): fourth\n"},
		{"a compaction of version 1 keeps from a line on by its number", `{"type":"session","id":"s","timestamp":"2026-01-01T00:00:00Z","cwd":"/w"}` + "\n" +
			`{"type":"message","message":{"role":"user","content":"one"}}` + "\n" + `{"type":"message","message":{"role":"user","content":"two"}}` + "\n" +
			`{"type":"compaction","summary":"first","firstKeptEntryIndex":2}`, "one", "",
			" 0<-1 line-2 user input (1): one\n 1<0 line-3 user input (2): two\n*2<1 line-4 compaction (2): first\n"},
		{"roles that the user is taken for", header +
			`{"type":"message","id":"1","parentId":null,"message":{"role":"bashExecution","command":"ls","output":"a.txt"}}` + "\n" +
			`{"type":"custom_message","id":"2","parentId":"1","customType":"x","content":"said by an extension"}` + "\n" +
			`{"type":"message","id":"3","parentId":"2","message":{"role":"compactionSummary","summary":"what was"}}` + "\n", "ls", "",
			" 0<-1 1 command (1): ! ls\n 1<0 2 user input (2): said by an extension\n*2<1 3 user input (3): what was\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := of(t, c.text)
			if got := storetest.Draw(t, s, "s"); got != c.draws {
				t.Errorf("it is\n%swant\n%s", got, c.draws)
			}
			if got := codes(t, s, "s"); got != c.faults {
				t.Errorf("it has the faults %q, want %q", got, c.faults)
			}
			if got := storetest.Sessions(t, s)[0].Title; got != c.title {
				t.Errorf("it is called %q, want %q", got, c.title)
			}
		})
	}
}

func factsOf(t testing.TB, s store.Store, session, id string) map[string]string {
	t.Helper()
	list, err := s.Features().Facts(t.Context(), model.Ref{Session: session, ID: id})
	if err != nil {
		t.Fatal(err)
	}
	facts := map[string]string{}
	for _, f := range list {
		facts[f.Label] = f.Value
	}
	return facts
}

func TestFacts(t *testing.T) {
	s := open(t, fixtures)
	if got := factsOf(t, s, branched, "a0724994"); got["label"] != "checkpoint-1" || got["model"] != "fake-model" || got["folder"] != "/home/demo" || got["mode"] != "off" {
		t.Errorf("%v", got)
	}
	if got := factsOf(t, s, forked, "b73d6ce1")["forked from"]; got != "/home/user/.pi/agent/sessions/--home-demo--/2026-11-22T11-28-00-000Z_01a20302-0000-7000-8000-000000000002.jsonl" {
		t.Errorf("it was forked from %q", got)
	}
	// A model that another branch changed to is not that of this one.
	s, _ = of(t, header+user+answer+`{"type":"model_change","id":"m","parentId":"u","modelId":"other"}`+"\n"+
		`{"type":"message","id":"b","parentId":"m","message":{"role":"user","content":"of the other"}}`+"\n"+
		`{"type":"message","id":"c","parentId":"a","message":{"role":"user","content":"of none"}}`)
	if b, c := factsOf(t, s, "s", "b")["model"], factsOf(t, s, "s", "c")["model"]; b != "other" || c != "" {
		t.Errorf("the models are %q and %q", b, c)
	}
}

// What pi wrote about a branch as it was left is told of each message that was left then, and of
// no other.
func TestLeft_summary(t *testing.T) {
	line := func(id, parent, kind, more string) string {
		return fmt.Sprintf(`{"type":%q,"id":%q,"parentId":%q,"timestamp":"2026-01-01T00:00:0%sZ",%s}`, kind, id, parent, id[1:], more) + "\n"
	}
	said := `"message":{"role":"user","content":"more"}`
	s, _ := of(t, header+user+answer+line("b3", "a", "message", said)+line("b4", "b3", "message", said)+
		line("c5", "a", "branch_summary", `"fromId":"a","summary":"It tried X.\nIt failed."`)+line("c6", "c5", "message", said)+
		line("d7", "a", "message", said))
	for id, want := range map[string]string{"u": "", "a": "", "b3": "It tried X. It failed.", "b4": "It tried X. It failed.", "c5": "", "c6": "", "d7": ""} {
		if got := factsOf(t, s, "s", id)["summary when it was left"]; got != want {
			t.Errorf("of %s the summary is %q, want %q", id, got, want)
		}
	}
}

// Of the labels of a line the last one counts, an empty one takes it away, and pi reads none in a
// damaged line. Each is a label of Hindcast whose name may be one.
func TestLabels(t *testing.T) {
	label := func(id, target, more string) string {
		return fmt.Sprintf(`{"type":"label","id":%q,"parentId":"a","timestamp":"2026-01-01T00:00:0%sZ","targetId":%q%s}`, id, id, target, more) + "\n"
	}
	s, dir := of(t, header+user+answer+label("1", "a", `,"label":"first"`)+label("2", "a", `,"label":"second"`)+label("3", "u", `,"label":"gone"`)+label("4", "u", "")+
		label("5", "u", `,"label":"gone/too"`)+label("6", "u", `,"label":""`)+label("7", "1", `,"label":"two words"`)+"{}"+label("8", "a", `,"label":"damaged"`)+label("9", "none", `,"label":"lost"`))
	for id, want := range map[string][]string{"u": nil, "a": {"second", "two words"}} {
		facts, err := s.Features().Facts(t.Context(), model.Ref{Session: "s", ID: id})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range facts {
			if f.Label == "label" {
				got = append(got, f.Value)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s has the labels %q, want %q", id, got, want)
		}
	}
	own := labels.New(t.TempDir())
	list, err := own.Of(t.Context(), s, "s")
	want := []model.Label{{Session: "s", ID: "a", Name: "second", Note: "set in pi", At: time.Date(2026, 1, 1, 0, 0, 2, 0, time.UTC)}}
	if err != nil || !slices.Equal(list, want) {
		t.Errorf("the labels are %+v, %v, want %+v", list, err, want)
	}
	file := filepath.Join(dir, "--w--", "2026-01-01T00-00-00-000Z_s.jsonl")
	before, err := os.ReadFile(file)
	if err == nil {
		err = own.Remove(t.Context(), s, "s", "second")
	}
	if err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(file)
	if list, _ := own.Of(t.Context(), s, "s"); len(list) != 0 || err != nil || !bytes.Equal(before, after) {
		t.Errorf("with one removed the labels are %+v; %v", list, err)
	}
}

// A session whose file is in the storage is no missing one, wherever it was; and a path leads
// nowhere else.
func TestSource(t *testing.T) {
	for source, there := range map[string]bool{
		"/home/u/.pi/agent/sessions/--w--/2026-01-01T00-00-00-000Z_s.jsonl": true,
		`C:\\Users\\u\\sessions\\--w--\\2026-01-01T00-00-00-000Z_s.jsonl`:   true,
		"/home/u/.pi/agent/sessions/--w--/2026-01-01T00-00-00-000Z_t.jsonl": false,
		"/etc/passwd":       false,
		"../../etc/passwd":  false,
		"--w--/../../../..": false,
		"x":                 false,
	} {
		s, _ := of(t, strings.Replace(header, `"cwd"`, `"parentSession":"`+source+`","cwd"`, 1)+user)
		want := FaultSource
		if there {
			want = ""
		}
		if got := codes(t, s, "s"); got != want {
			t.Errorf("forked from %s it has the faults %q, want %q", source, got, want)
		}
	}
}

// A fork is the header, with another id, its time and where it comes from, and the lines of
// the path as they are.
func TestFork(t *testing.T) {
	dir := storetest.Copy(t, fixtures)
	s := open(t, dir)
	source := filepath.Join(dir, "--home-demo--", "2026-11-22T11-26-00-000Z_"+branched+".jsonl")
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	const as = "01a20400-0000-7000-8000-00000000000a"
	for id, keeps := range map[string][]int{
		"a0724994": {1, 2, 3, 4},
		"cb69755b": {1, 2, 3, 4, 9, 10},
		"2d38c376": {1, 2, 3, 4, 5, 6, 7, 8, 12},
		"80e454ce": {1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 14, 15},
		"1138a756": {1, 2, 3, 4, 9, 10, 17, 18, 19},
	} {
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: model.Ref{Session: branched, ID: id}, As: as})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Apply(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
		made, err := filepath.Glob(filepath.Join(dir, "--home-demo--", "*_"+as+".jsonl"))
		if err != nil || len(made) != 1 {
			t.Fatal(made, err)
		}
		got, err := os.ReadFile(made[0])
		if err != nil {
			t.Fatal(err)
		}
		first, rest, _ := strings.Cut(string(got), "\n")
		want := ""
		for _, i := range keeps {
			want += lines[i]
		}
		if rest != want {
			t.Errorf("from %s the lines are\n%s\nwant\n%s", id, rest, want)
		}
		var head map[string]any
		if err := json.Unmarshal([]byte(first), &head); err != nil {
			t.Fatal(err)
		}
		stamp := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
		if at, _ := head["timestamp"].(string); head["id"] != as || head["parentSession"] != source || head["type"] != "session" || head["version"] != 3.0 || head["cwd"] != "/home/demo" || !stamp.MatchString(at) {
			t.Errorf("from %s the header is %s", id, first)
		} else if name := strings.NewReplacer(":", "-", ".", "-").Replace(at) + "_" + as + ".jsonl"; filepath.Base(made[0]) != name {
			t.Errorf("the file is %s, and its header says %s", filepath.Base(made[0]), at)
		}
		if len(plan.Resume) != 1 || plan.Resume[0].Call != "pi --session "+made[0] {
			t.Errorf("it goes on by %+v", plan.Resume)
		}
		if calls := codes(t, s, as); calls != "" {
			t.Errorf("the fork has the faults %q", calls)
		}
		undo, err := s.Plan(t.Context(), model.Change{Op: model.OpUndo})
		if err == nil {
			_, err = s.Apply(t.Context(), undo)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A session is called by its header, as pi finds it, whatever the name of its file is; by that
// where there is no header, or one whose id is none.
// The system prompt of pi 1.6 has its text in sections.
func TestMessages_systemPrompt(t *testing.T) {
	system := `{"type":"message","id":"p","parentId":null,"timestamp":"2026-11-28T04:00:44.917Z","message":{"role":"system","content":"","sections":{"preamble":"You are a coding assistant.","tools":"- read: MARKER"}}}` + "\n"
	s, _ := of(t, header+system+strings.Replace(user, `"parentId":null`, `"parentId":"p"`, 1))
	list := storetest.Headers(t, s, "s")
	if len(list) != 2 || list[0].Title != "You are a coding assistant." {
		t.Fatalf("the snapshots are %+v", list)
	}
	for _, h := range list {
		m := storetest.Messages(t, s, h.Ref())[0]
		texts, ok := m["content"].([]any)
		if !ok || m["role"] != "system" || len(texts) != 2 || texts[1].(map[string]any)["text"] != "- read: MARKER" {
			t.Errorf("the first message of #%d is %+v", h.Index, m)
		}
	}
}

func TestID(t *testing.T) {
	title := `{"type":"title","title":"of oh-my-pi"}` + "\n"
	for name, c := range map[string]struct{ text, want string }{
		"renamed.jsonl":                      {header + user, "s"},
		"2026-01-01T00-00-00-000Z_old.jsonl": {title + header + user, "s"},
		"2026-01-01T00-00-00-000Z_own.jsonl": {user + answer, "own"},
		"bad.jsonl":                          {strings.Replace(header, `"s"`, `"../s"`, 1) + user, "bad"},
		"long.jsonl":                         {strings.Replace(header, `"cwd":"/w"`, `"cwd":"/w","systemPrompt":"`+strings.Repeat("x", 10_000)+`"`, 1) + user, "s"},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "--w--", name)
		err := os.Mkdir(filepath.Dir(file), 0o700)
		if err == nil {
			err = os.WriteFile(file, []byte(c.text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, address := range []string{dir, file} {
			s := open(t, address)
			list := storetest.Headers(t, s, c.want)
			if len(list) == 0 {
				t.Errorf("%s has no session %q", address, c.want)
				continue
			}
			for settings, name := range map[string]string{"": file, dir: c.want} {
				t.Setenv("PI_CODING_AGENT_SESSION_DIR", settings)
				calls, err := s.Features().Resume(t.Context(), list[len(list)-1].Ref())
				if err != nil || calls[0].Call != "pi --session "+name {
					t.Errorf("%s goes on by %+v, %v", address, calls, err)
				}
			}
		}
	}
}

// The source of a fork is told whole, wherever the storage was opened from, and in place of the
// one that version 1 calls branchedFrom.
func TestFork_namesTheSource(t *testing.T) {
	_, dir := of(t, strings.Replace(header, `"cwd"`, `"branchedFrom":"/b/--b--/2025.jsonl","cwd"`, 1)+user+answer)
	t.Chdir(dir)
	s := open(t, ".")
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: model.Ref{Session: "s", ID: "a"}})
	if err == nil {
		_, err = s.Apply(t.Context(), plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(dir, "--w--", "2026-01-01T00-00-00-000Z_s.jsonl")
	if got := factsOf(t, s, plan.NewSession, "u")["forked from"]; got != want {
		t.Errorf("the fork comes from %q, want %q", got, want)
	}
	if got := codes(t, s, plan.NewSession); got != "" {
		t.Errorf("the fork has the faults %q", got)
	}
}

// What pi would not open is not made.
func TestFork_refused(t *testing.T) {
	for text, want := range map[string]string{
		user + answer: "no header",
		header + user + strings.Replace(answer, `[{"type":"text","text":"hi"}]`, `[{"type":"toolCall","id":"c1","name":"bash","arguments":{}}]`, 1): `"c1"`,
		header + strings.Replace(user, "null", `"a"`, 1) + answer:                                                                                   "line 2, on the way there, follows itself",
	} {
		s, _ := of(t, text)
		_, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: model.Ref{Session: "s", ID: "a"}})
		if why := (*model.UnsupportedError)(nil); !errors.As(err, &why) || !strings.Contains(why.Reason, want) {
			t.Errorf("%v does not say %s", err, want)
		}
	}
}

// What follows lines of many turns is told in time that does not grow with their square.
func TestRead_manyTurns(t *testing.T) {
	var text strings.Builder
	text.WriteString(header)
	for n := range 30_000 { // two branches, in turn
		parent := "null"
		if n > 1 {
			parent = fmt.Sprintf(`"%d"`, n-2)
		}
		fmt.Fprintf(&text, `{"type":"compaction","id":"%d","parentId":%s,"summary":"s","firstKeptEntryId":"%d"}`+"\n", n, parent, n%2)
	}
	s, _ := of(t, text.String())
	if list := storetest.Headers(t, s, "s"); len(list) != 30_000 {
		t.Errorf("%d snapshots", len(list))
	}
}

// kinds of lines for a session of any shape: %[1]s is the id, %[2]s the parent, %[3]s words
// that no other line has.
var lineKinds = []string{
	`{"type":"message","id":%[1]s,"parentId":%[2]s,"message":{"role":"user","content":"%[3]s"}}`,
	`{"type":"message","id":%[1]s,"parentId":%[2]s,"message":{"role":"assistant","content":[{"type":"text","text":"%[3]s"},{"type":"toolCall","id":"c","name":"bash","arguments":{}}]}}`,
	`{"type":"message","id":%[1]s,"parentId":%[2]s,"message":{"role":"toolResult","toolCallId":"c","toolName":"bash","content":[{"type":"text","text":"%[3]s"}]}}`,
	`{"type":"custom_message","id":%[1]s,"parentId":%[2]s,"content":"%[3]s"}`,
	`{"type":"branch_summary","id":%[1]s,"parentId":%[2]s,"fromId":%[2]s,"summary":"%[3]s"}`,
	`{"type":"compaction","id":%[1]s,"parentId":%[2]s,"summary":"%[3]s","firstKeptEntryId":%[2]s}`,
	`{"type":"message","message":{"role":"user","content":"%[3]s"}}`,
	`{"type":"label","id":%[1]s,"parentId":%[2]s,"targetId":%[2]s,"label":"l"}`,
	`{"type":"custom","id":%[1]s,"parentId":%[2]s}`,
	`{"type":"model_change","id":%[1]s,"parentId":%[2]s,"modelId":"m"}`,
	`{"type":"session","id":%[1]s,"cwd":"/w"}`,
	`{"type":"title","title":"t"}`,
	`{"type":"unheard","id":%[1]s,"parentId":%[2]s}`,
	`torn`,
}

// lastMessage is the last of the kinds that is a message.
const lastMessage = 6

// Whatever the lines of a session are, each message is in the state at some snapshot, and
// what can be forked from reads back.
func TestNothingIsLost(t *testing.T) {
	rapid.Check(t, storetest.Few(40, func(rt *rapid.T) {
		ids := rapid.SampledFrom([]string{`"1"`, `"2"`, `"3"`, `"4"`, `"5"`, `"6"`, "null", `""`})
		var lines, wanted []string
		for i := range rapid.IntRange(0, 14).Draw(rt, "lines") {
			kind := rapid.IntRange(0, len(lineKinds)-1).Draw(rt, "kind")
			word := fmt.Sprintf("word%02d", i)
			line := lineKinds[kind]
			if strings.Contains(line, "%") {
				line = strings.NewReplacer("%[1]s", ids.Draw(rt, "id"), "%[2]s", ids.Draw(rt, "parent"), "%[3]s", word).Replace(line)
			}
			if lines = append(lines, line); kind <= lastMessage {
				wanted = append(wanted, word)
			}
		}
		holdAll(rt, t, header+strings.Join(lines, "\n"), wanted)
	}))
}

// holdAll reads a session, and holds that its messages are seen.
func holdAll(f failing, t testing.TB, text string, wanted []string) {
	f.Helper()
	s, _ := of(t, text)
	var all strings.Builder
	for info, err := range s.Sessions(t.Context()) {
		if err != nil {
			f.Fatal(err)
		}
		for h, err := range s.Headers(t.Context(), info.ID) {
			if err != nil {
				f.Fatal(err)
			}
			state, err := s.State(t.Context(), h.Ref())
			if err != nil || !json.Valid(state) {
				f.Fatal(err, string(state))
			}
			all.Write(state)
			if _, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: h.Ref()}); err != nil && !errors.As(err, new(*model.UnsupportedError)) {
				f.Errorf("a fork from %q: %v", h.ID, err)
			}
		}
		if _, err := s.Faults(t.Context(), info.ID); err != nil {
			f.Fatal(err)
		}
	}
	for _, word := range wanted {
		if !strings.Contains(all.String(), word) {
			f.Errorf("%s is in no state of\n%s", word, text)
		}
	}
}

// message is a line that is a message, whatever else is in the file.
var message = regexp.MustCompile(`^\{"type":"message","message":\{"role":"\w*","content":"(\w+)"\}\}\s*$`)

func FuzzDecode(f *testing.F) {
	seeds, err := filepath.Glob(filepath.Join(fixtures, "--home-demo--", "*.jsonl"))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range seeds {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, line := range lineKinds {
		f.Add([]byte(header + strings.NewReplacer("%[1]s", `"1"`, "%[2]s", `"2"`, "%[3]s", "word").Replace(line)))
	}
	dir := f.TempDir()
	disk, err := tree.OpenDisk(dir)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(filepath.Join(dir, "t_s.jsonl"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		kind, in := newFormat(), engine.In{Tree: disk}
		s, err := kind.Read(t.Context(), in, kind.Spot("t_s.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		var all []byte
		for i := range s.Entries {
			list, err := kind.Messages(in, s, &s.Entries[i])
			if err != nil || len(list) != 1 {
				t.Fatalf("%d messages, %v", len(list), err)
			}
			one := list[0].AppendJSON(nil)
			if !jsontape.Valid(one) {
				t.Errorf("%q is no JSON", one)
			}
			all = append(all, one...)
			on := s.Own.(*sessionTree)
			if way := on.line.Way(on.file.At(s.Entries[i].Records[0].At)); !slices.ContainsFunc(way, func(k int) bool { return on.file.Records[k].Span == s.Entries[i].Records[0] }) {
				t.Errorf("%v is not on the way to itself: %v", s.Entries[i].Records, way)
			}
		}
		for line := range strings.Lines(string(text)) {
			if plain := message.FindStringSubmatch(line); plain != nil && !bytes.Contains(all, []byte(plain[1])) {
				t.Errorf("%q is no message", line)
			}
		}
	})
}

// An answer that failed or was aborted says why, in its row and in its message, and is not sent again.
func TestFailedAnswers(t *testing.T) {
	s := storetest.OpenStore(t, Kind(nil).Kind, filepath.Join(fixtures, "--Users-badlogic-workspaces-pi-mono--"))
	const session = "ffae836b-9420-4060-ac13-7745215f90ff"
	headers := storetest.Headers(t, s, session)
	if h := headers[16]; !strings.HasSuffix(h.Title, ": Request was aborted.") && h.Title != "Request was aborted." {
		t.Errorf("#16 is told as %q", h.Title)
	}
	for i, want := range map[int]bool{16: true, 17: false} {
		state, err := s.State(t.Context(), headers[i].Ref())
		if err != nil {
			t.Fatal(err)
		}
		if has := strings.Contains(string(state), `{"failure":{"text":"Request was aborted."}}`); has != want {
			t.Errorf("the state of #%d has the failure: %v", i, has)
		}
	}
}

// A command that the person ran is no prompt, and its row says how it ended; an answer of an error has its mark.
func TestCommandsAndErrors(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "--w--")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	lines := `{"type":"session","version":3,"id":"0191d2a0-0000-7000-8000-000000000000","timestamp":"2026-11-22T11:00:00.000Z","cwd":"/w"}
{"type":"message","id":"a","parentId":null,"timestamp":"2026-11-22T11:00:01.000Z","message":{"role":"user","content":"go","timestamp":1}}
{"type":"message","id":"b","parentId":"a","timestamp":"2026-11-22T11:00:02.000Z","message":{"role":"assistant","content":[],"stopReason":"error","errorMessage":"429 slow down","timestamp":2}}
{"type":"message","id":"c","parentId":"b","timestamp":"2026-11-22T11:00:03.000Z","message":{"role":"bashExecution","command":"git status","output":"no","exitCode":1,"timestamp":3}}
{"type":"message","id":"d","parentId":"c","timestamp":"2026-11-22T11:00:04.000Z","message":{"role":"assistant","content":[{"type":"text","text":"half"}],"stopReason":"aborted","errorMessage":"Request was aborted.","timestamp":4}}
{"type":"message","id":"e","parentId":"d","timestamp":"2026-11-22T11:00:05.000Z","message":{"role":"user","content":"again","timestamp":5}}
`
	if err := os.WriteFile(filepath.Join(dir, "2026-11-22T11-00-00-000Z_0191d2a0-0000-7000-8000-000000000000.jsonl"), []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	s := storetest.OpenStore(t, Kind(nil).Kind, dir)
	var told []string
	headers := storetest.Headers(t, s, "0191d2a0-0000-7000-8000-000000000000")
	for _, h := range headers {
		told = append(told, fmt.Sprintf("%s %s%s", h.EventWord(), h.Title, map[bool]string{true: " ✗"}[h.Marks.Has(model.MarkError)]))
	}
	want := []string{"user go", "end 429 slow down ✗", "cmd ! git status  exit 1", "end half: Request was aborted.", "user again"}
	if !slices.Equal(told, want) {
		t.Errorf("%q, want %q", told, want)
	}
	state, err := s.State(t.Context(), headers[4].Ref())
	if err != nil {
		t.Fatal(err)
	}
	if text := string(state); strings.Contains(text, "slow down") || strings.Contains(text, "aborted") || !strings.Contains(text, "git status") {
		t.Errorf("pi sends %s", text)
	}
}
