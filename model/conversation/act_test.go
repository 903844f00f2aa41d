package conversation

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"hindcast/model/jsontape"
	"hindcast/store/storetest/skip"
)

// A call is told by its main argument, in the names that each agent gives its tools and their arguments.
func TestNewAct(t *testing.T) {
	patch := string(jsontape.AppendQuoted(nil, "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+TWO\n*** Add File: b.txt\n+hey\n*** End Patch\n"))
	for _, c := range []struct{ tool, input, want, change string }{
		{"Bash", `{"command":"npx tsc --noEmit","description":"Check types"}`, "$ npx tsc --noEmit", ""},
		{"Bash", `{"command":"cd a &&\n  ls"}`, "$ cd a && ls", ""},
		{"shell", `{"command":["bash","-lc","ls -1"],"workdir":"/w"}`, "$ ls -1", ""},
		{"exec_command", `"{\"cmd\":\"ls -1\"}"`, "$ ls -1", ""},
		{"local_shell", `{"type":"exec","command":["ls","-1"]}`, "$ ls -1", ""},
		{"run_shell_command", `{"command":"ls"}`, "$ ls", ""},
		{"Read", `{"file_path":"/w/a.ts","offset":40,"limit":80}`, "◱ /w/a.ts 40-119", ""},
		{"Read", `{"file_path":"/w/a.ts"}`, "◱ /w/a.ts", ""},
		{"read", `{"filePath":"a.ts","limit":80}`, "◱ a.ts 1-80", ""},
		{"read_file", `{"absolute_path":"a.ts","offset":40,"limit":80}`, "◱ a.ts 41-120", ""},
		{"view", `{"path":"a.ts","view_range":[1, 80]}`, "◱ a.ts 1-80", ""},
		{"read_file", `{"file_path":"a.ts","start_line":3,"end_line":9}`, "◱ a.ts 3-9", ""},
		{"read_many_files", `{"paths":["a.ts","b.ts"]}`, "◱ a.ts b.ts", ""},
		{"Edit", `{"file_path":"a.ts","old_string":"a\nb\nc","new_string":"a\nB\nB2\nc"}`, "✎ a.ts", "+2 −1"},
		{"edit", `{"path":"a.ts","edits":[{"oldText":"a","newText":"b"},{"oldText":"c\n","newText":""}]}`, "✎ a.ts", "+1 −2"},
		{"replace", `{"file_path":"a.ts","old_string":"a","new_string":"a\nb"}`, "✎ a.ts", "+1"},
		{"Write", `{"file_path":"a.ts","content":"a\nb\n"}`, "✎ a.ts", "+2"},
		{"str_replace_editor", `{"command":"view","path":"a.ts"}`, "◱ a.ts", ""},
		{"file_editor", `{"command":"create","path":"a.ts","file_text":"a"}`, "✎ a.ts", "+1"},
		{"apply_patch", patch, "✎ a.txt, b.txt", "+2 −1"},
		{"apply_patch", `{"input":` + patch + `}`, "✎ a.txt, b.txt", "+2 −1"},
		{"shell", `{"command":["apply_patch",` + patch + `]}`, "✎ a.txt, b.txt", "+2 −1"},
		{"Grep", `{"pattern":"borderColor","path":"src"}`, "grep borderColor in src", ""},
		{"search_file_content", `{"pattern":"x"}`, "grep x", ""},
		{"Glob", `{"pattern":"**/*.ts"}`, "glob **/*.ts", ""},
		{"list_directory", `{"path":"src"}`, "ls src", ""},
		{"WebFetch", `{"url":"https://a.example","prompt":"read"}`, "fetch https://a.example", ""},
		{"google_web_search", `{"query":"go"}`, "search go", ""},
		{"Task", `{"description":"find the bug","prompt":"Look…","subagent_type":"Explore"}`, `→ Explore "find the bug"`, ""},
		{"task", `{"description":"find the bug"}`, `→ task "find the bug"`, ""},
		{"spawn_agent", `{"message":"find the bug"}`, `→ task "find the bug"`, ""},
		{"TodoWrite", `{"todos":[{"content":"a","status":"completed"},{"content":"b","status":"in_progress"},{"content":"c","status":"pending"}]}`, "plan 2 of 3: b", ""},
		{"Edit", `{"file_path":"a","old_string":"a\nb\nc","new_string":"a\nB\nc\nd"}`, "✎ a", "+2 −1"},
		{"ExitPlanMode", `{"plan":"## Mend the door\n\n1. Oil it"}`, "plan Mend the door 1. Oil it", ""},
		{"AskUserQuestion", `{"questions":[{"question":"Which door?","options":[]},{"question":"When?"}]}`, "ask Which door? (1 of 2)", ""},
		{"question", `{"questions":[{"question":"Which door?"}]}`, "ask Which door?", ""},
		{"question", `{"answer":42}`, "question {answer: 42}", ""},
		{"update_plan", `{"plan":[{"step":"a","status":"completed"}]}`, "plan 1 of 1 done", ""},
		{"Skill", `{"skill":"pdf"}`, "Skill pdf", ""},
		{"search_trains", `{"from":"Paris","n":2,"to":{"city":"Lyon"}}`, `search_trains {from: "Paris", n: 2, to: {"city":"Lyon"}}`, ""},
		{"add", `[1,2]`, "add [1, 2]", ""},
		{"now", `{}`, "now", ""},
		{"ask", `"who?"`, "ask who?", ""},
		{"Bash", `{}`, "Bash", ""},
		{"", `null`, "tool", ""},
		{"Read", `{"file_path":"/w/` + strings.Repeat("a/", 60) + `editor.ts","limit":80}`, "◱ …/" + strings.Repeat("a/", 45) + "editor.ts 1-80", ""},
		{"Read", `{"file_path":"` + strings.Repeat("é", 60) + `"}`, "◱ …" + strings.Repeat("é", 50), ""},
		{"Bash", `{"command":"ls`, "Bash", ""},
	} {
		if got := NewAct(c.tool, []byte(c.input)); got.Text != c.want || got.Change != c.change {
			t.Errorf("%s %s: %q %q, want %q %q", c.tool, c.input, got.Text, got.Change, c.want, c.change)
		}
	}
}

// Paths below the folder of the session are told without it, wherever they stand.
func TestAct_TextIn(t *testing.T) {
	for _, c := range []struct{ tool, input, want string }{
		{"Read", `{"file_path":"/w/p/src/a.ts"}`, "◱ src/a.ts"},
		{"Read", `{"file_path":"/w/pq/a.ts"}`, "◱ /w/pq/a.ts"},
		{"Grep", `{"pattern":"x","path":"/w/p/src"}`, "grep x in src"},
		{"Bash", `{"command":"cd /w/p && ls /w/p/src"}`, "$ ls /w/p/src"},
		{"ask", `{"question":"what is in /w/p/src"}`, "ask what is in /w/p/src"},
	} {
		act := NewAct(c.tool, []byte(c.input))
		if got := act.TextIn("/w/p"); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.tool, c.input, got, c.want)
		}
	}
}

// The outcome of a call is told by the line that says something, or by how much it is.
func TestAct_Outcome(t *testing.T) {
	command, read, other := NewAct("bash", []byte(`{"command":"x"}`)), NewAct("read", []byte(`{"path":"x"}`)), NewAct("trains", nil)
	edit, search := NewAct("edit", []byte(`{"path":"x","oldText":"a","newText":"b"}`)), NewAct("grep", []byte(`{"pattern":"x"}`))
	text := func(s string) string { return string(jsontape.AppendQuoted(nil, s)) }
	for _, c := range []struct {
		name   string
		act    Act
		body   string
		failed bool
		want   string
	}{
		{"lines", command, text("a\nb\nc\n"), false, "3 lines"},
		{"a line", command, text("\n\x1b[32mdone\x1b[0m\n"), false, "done"},
		{"nothing", command, text(""), false, "no output"},
		{"as Claude Code says nothing", command, text("(Bash completed with no output)"), false, "no output"},
		{"a failure of Claude Code's", command, text("Exit code 1\n\nsrc/a.ts: error TS2339\nmore"), true, "exit 1: src/a.ts: error TS2339"},
		{"a failure of Codex'", command, text("Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 2\nOriginal token count: 3\nOutput:\nls: no\n"), true, "exit 2: ls: no"},
		{"an older failure of Codex'", command, text(`{"output":"ls: no\n","metadata":{"exit_code":2,"duration_seconds":0}}`), true, "exit 2: ls: no"},
		{"Codex' envelope is not counted", command, text("Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 0\nOriginal token count: 3\nOutput:\na\nb\n"), false, "2 lines"},
		{"Gemini's is not", command, text("Output: a.txt\nProcess Group PGID: 3"), false, "a.txt"},
		{"Copilot's is not", command, text("a.txt\n<shellId: 0 completed with exit code 0>"), false, "a.txt"},
		{"a traceback", command, text("Exit code 1\nTraceback (most recent call last):\n  File \"a.py\", line 1\nValueError: bad\n"), true, "exit 1: ValueError: bad"},
		{"tags around a failure", read, text("<tool_use_error>File does not exist.</tool_use_error>"), true, "File does not exist."},
		{"a reminder before it", read, text("<system-reminder>\nbe good\n</system-reminder>\n```\none"), false, "one"},
		{"a file", read, text("a\nb"), false, "2 lines"},
		{"a picture", read, `[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]`, false, "image/png, 3 B"},
		{"an edit", edit, text("The file has been updated"), false, "+1 −1"},
		{"a search", search, text("a:1\nb:2\nc:3"), false, "3 lines"},
		{"a search that counts", search, text("Found 3 files:\na\nb\nc"), false, "3 files"},
		{"a search that counts one", search, text("Found 1 file\na"), false, "1 file"},
		{"no match", search, text("No matches found"), false, "No matches found"},
		{"a list", other, `[{"at":"9:00"},{"at":"10:00"},{"at":"11:00"}]`, false, "3 results"},
		{"a list in a string", other, text(`["a"]`), false, "1 result"},
		{"an object", other, `{"temp":18,"sky":"clear"}`, false, `{temp: 18, sky: "clear"}`},
		{"blocks", other, `[{"type":"text","text":"{\n  \"n\": 1\n}"}]`, false, "{n: 1}"},
		{"braces say nothing", other, text("{\n  name: 1"), false, "name: 1"},
		{"a number", other, `12`, false, "12"},
		{"a failure without a word", other, `null`, true, "failed"},
		{"nothing at all", other, ``, false, "ok"},
		{"the OpenAI Agents SDK's own failure", other, text("An error occurred while running the tool. Please try again. Error: no stock"), true, "no stock"},
		{"an exit code that is none", command, `{"exit_code":"\n","output":"x"}`, true, "x"},
	} {
		y := ReadYield([]byte(c.body))
		y.Failed = c.failed
		if got := c.act.Outcome(y); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	told := Yield{Told: "1-80", Items: -1}
	if got := read.Outcome(told); got != "1-80" {
		t.Errorf("told by the record: %q", got)
	}
}

// A large argument and a large result are told by their beginnings, and their lines are counted.
func TestAct_large(t *testing.T) {
	skip.Counting(t)
	big := strings.Repeat("line\n", 200_000)
	act := NewAct("write", []byte(`{"path":"a","content":`+string(jsontape.AppendQuoted(nil, big))+`}`))
	if act.Text != "✎ a" || act.Change != "+200000" {
		t.Errorf("%q %q", act.Text, act.Change)
	}
	act = NewAct("bash", []byte(`{"command":`+string(jsontape.AppendQuoted(nil, big))+`}`))
	if len(act.Text) > 2*MaxTitle {
		t.Errorf("%d bytes", len(act.Text))
	}
	y := ReadYield(jsontape.AppendQuoted(nil, "C:\\new\n"+big))
	if y.First != `C:\new` || y.Lines != 200_001 {
		t.Errorf("%+v", y)
	}
	body := jsontape.AppendQuoted(nil, big)
	if n := testing.AllocsPerRun(10, func() { ReadYield(body) }); n > 12 {
		t.Errorf("%.0f allocations", n)
	}
}

// No title has more than one line, whatever the call and the result are.
func FuzzAct(f *testing.F) {
	f.Add("Bash", []byte(`{"command":"ls"}`), []byte(`"a\nb"`))
	f.Add("edit", []byte(`{"path":"a\n","edits":[{"oldText":"a","newText":"b"}]}`), []byte(`[{"type":"text","text":"x"}]`))
	f.Add("apply_patch", []byte(`"*** Begin Patch\n*** Add File: a\n+x"`), []byte(`{"exit_code":1}`))
	f.Fuzz(func(t *testing.T, tool string, input, body []byte) {
		act, y := NewAct(tool, input), ReadYield(body)
		y.Failed = len(body)%2 == 0
		for _, line := range []string{act.Text, act.TextIn("/w"), act.Outcome(y)} {
			if strings.ContainsAny(line, "\n\r") || len(line) > 3*MaxTitle {
				t.Errorf("%q", line)
			}
		}
	})
}

// A result that is described holds its first line, and not the text that the line is a part of.
func TestReadYield_holdsNoText(t *testing.T) {
	skip.Counting(t)
	live := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	const results = 2_000
	list := make([]Yield, 0, results)
	before := live()
	for i := range results {
		list = append(list, ReadYield(fmt.Appendf(nil, `"result %d\n%s"`, i, strings.Repeat("words of a long text ", 200))))
	}
	if held := int64(live()) - int64(before); held > results<<10 {
		t.Errorf("%d results hold %d bytes", len(list), held)
	}
	if got := list[7].First; got != "result 7" {
		t.Errorf("the first line is %q", got)
	}
	runtime.KeepAlive(list)
}
