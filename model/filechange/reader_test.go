package filechange

import (
	"fmt"
	"strings"
	"testing"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
)

// readAll returns the effects of a state's messages, each with its changes on one line.
func readAll(t *testing.T, state string) (lines []string) {
	t.Helper()
	tape, err := jsontape.Parse([]byte(state))
	if err != nil {
		t.Fatal(err)
	}
	c := conversation.Decode(tape)
	r := Reader{Whole: true}
	for m := range c.Len() {
		for _, e := range r.Read(c, m) {
			line := e.How()
			if e.Command != "" {
				line += fmt.Sprintf(" exit %q %v ms", e.Exit, e.Milliseconds)
			}
			for i := range e.Changes {
				change := &e.Changes[i]
				line += fmt.Sprintf(" | %s %s %s%s", change.Known, change.Kind, change.Path, strings.TrimSuffix(" from "+change.From, " from "))
				if change.More > 0 {
					line += fmt.Sprintf(" %d more", change.More)
				}
				line += " " + conversation.Change(change.Count())
				if change.Before != nil {
					line += fmt.Sprintf(" before %q", *change.Before)
				}
				if change.After != nil {
					line += fmt.Sprintf(" after %q", *change.After)
				}
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// message returns a state of a call and its result, with the agent's records beside them.
func callAndResult(tool, input, status, callRaw, resultRaw string) string {
	raw := func(text string) string {
		if text == "" {
			return ""
		}
		return `,"raw":` + text
	}
	return `{"messages":[{"role":"assistant","content":[{"toolUse":{"toolUseId":"c1","name":"` + tool + `","input":` + input + `}}]` + raw(callRaw) + `},` +
		`{"role":"user","content":[{"toolResult":{"toolUseId":"c1","status":"` + status + `","content":[{"text":"ok"}]}}]` + raw(resultRaw) + `}]}`
}

func TestReader_shapesOfAgents(t *testing.T) {
	const unified = `--- a/src/a.ts\n+++ b/src/a.ts\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n`
	for name, of := range map[string]struct{ state, want string }{
		"Claude Code to 2.1.268, a notebook": {callAndResult("NotebookEdit", `{"notebook_path":"/w/a.ipynb","new_source":"x"}`, "success", "",
			`{"toolUseResult":{"notebook_path":"/w/a.ipynb","original_file":"a\n","updated_file":"b\n"}}`), `NotebookEdit | recorded changed /w/a.ipynb +1 −1 before "a\n" after "b\n"`},
		"Claude Code, a text written anew": {callAndResult("Write", `{"file_path":"/w/a","content":"b\n"}`, "success", "",
			`{"toolUseResult":{"type":"update","filePath":"/w/a","content":"b\n","originalFile":"a\n","structuredPatch":[{"oldStart":1,"oldLines":1,"newStart":1,"newLines":1,"lines":["-a","+b"]}]}}`),
			`Write | recorded changed /w/a +1 −1 before "a\n" after "b\n"`},
		"Claude Code, nothing but the call": {callAndResult("MultiEdit", `{"file_path":"/w/a","edits":[{"old_string":"a","new_string":"b"},{"old_string":"c","new_string":"d\ne"}]}`, "success", "", ""),
			`MultiEdit | inferred changed /w/a +3 −2`},
		"Codex to 0.118": {callAndResult("apply_patch", `"*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** End Patch"`, "success", "",
			`[{"payload":{"type":"custom_tool_call_output","call_id":"c1"}},{"payload":{"type":"patch_apply_end","call_id":"c1","success":true,"changes":{"/w/a":{"update":{"unified_diff":"@@ -1 +1 @@\n-x\n+y\n","move_path":"/w/b"}},"/w/c":{"add":{"content":"n\n"}},"/w/d":{"delete":{"content":"o\n"}}}}}]`),
			`apply_patch | recorded moved /w/b from /w/a +1 −1 | recorded created /w/c +1 after "n\n" | recorded deleted /w/d −1 before "o\n"`},
		"Codex, only the call": {callAndResult("shell", `{"command":["bash","-lc","apply_patch <<'E'\n*** Begin Patch\n*** Add File: n\n+new\n*** Delete File: o\n*** Update File: a\n*** Move to: b\n@@\n x\n-y\n+z\n*** End Patch\nE"]}`, "success", "", ""),
			`shell | inferred created n +1 | inferred deleted o  | inferred moved b from a +1 −1`},
		"Codex, a command": {callAndResult("exec_command", `{"cmd":"ls"}`, "success", "",
			`[{"payload":{"call_id":"c1"}},{"payload":{"type":"item_completed","item":{"type":"CommandExecution","id":"c1","exit_code":3,"duration":{"secs":1,"nanos":500000000}}}}]`),
			`exec_command: ls exit "3" 1500 ms`},
		"opencode, an edit": {callAndResult("edit", `{"filePath":"/w/src/a.ts","oldString":"two","newString":"TWO"}`, "success",
			`{"parts":[{"type":"tool","callID":"c1","tool":"edit","state":{"metadata":{"diff":"`+unified+`","filediff":{"file":"/w/src/a.ts","before":"one\ntwo\n","after":"one\nTWO\n","additions":1,"deletions":1}},"time":{"start":10,"end":30}}}]}`, ""),
			`edit | recorded changed /w/src/a.ts +1 −1 before "one\ntwo\n" after "one\nTWO\n"`},
		"opencode, a new file": {callAndResult("write", `{"filePath":"/w/n","content":"b\n"}`, "success",
			`{"parts":[{"type":"tool","callID":"c1","state":{"metadata":{"filepath":"/w/n","exists":false},"time":{"start":10,"end":30}}}]}`, ""),
			`write | inferred created /w/n +1 after "b\n"`},
		"opencode, a patch": {callAndResult("apply_patch", `{"patchText":"*** Begin Patch\n*** Update File: a\n-x\n+y\n*** End Patch"}`, "success",
			`{"parts":[{"type":"tool","callID":"c1","state":{"metadata":{"files":[{"filePath":"/w/a","type":"move","movePath":"/w/b","before":"x\n","after":"y\n","patch":"`+unified+`"}]}}}]}`, ""),
			`apply_patch | recorded moved /w/b from /w/a +1 −1 before "x\n" after "y\n"`},
		"opencode, a command": {callAndResult("bash", `{"command":"ls"}`, "success",
			`{"parts":[{"type":"tool","callID":"c1","state":{"metadata":{"exit":1},"time":{"start":10,"end":30}}}]}`, ""), `bash: ls exit "1" 20 ms`},
		"Gemini CLI": {callAndResult("replace", `{"file_path":"/w/a","old_string":"a","new_string":"b"}`, "success",
			`{"toolCalls":[{"id":"c0"},{"id":"c1","resultDisplay":{"fileDiff":"","fileName":"a","filePath":"/w/a","originalContent":"a\n","newContent":"b\n"}}]}`, ""),
			`replace | recorded changed /w/a +1 −1 before "a\n" after "b\n"`},
		"Copilot CLI": {callAndResult("edit", `{"path":"/w/src/a.ts","old_str":"two","new_str":"TWO"}`, "success", "",
			`{"type":"tool.execution_complete","data":{"toolCallId":"c1","result":{"content":"ok","detailedContent":"\ndiff --git a/w/src/a.ts b/w/src/a.ts\n`+unified+`"}}}`),
			`edit | recorded changed /w/src/a.ts +1 −1`},
		"Copilot CLI, a new file": {callAndResult("create", `{"path":"/w/n","file_text":"a\nb"}`, "success", "",
			`{"data":{"toolCallId":"c1","result":{"detailedContent":"\ndiff --git a/w/n b/w/n\ncreate file mode 100644\n--- a/dev/null\n+++ b/w/n\n@@ -1,0 +1,2 @@\n+a\n+b\n"}}}`),
			`create | recorded created /w/n +2`},
		"pi": {callAndResult("edit", `{"path":"a.ts","edits":[{"oldText":"two","newText":"TWO"}]}`, "success", "",
			`{"message":{"toolCallId":"c1","details":{"diff":" 1 one\n-2 two\n+2 TWO","patch":"`+unified+`"}}}`), `edit | recorded changed a.ts +1 −1`},
		"pi, without a patch": {callAndResult("edit", `{"path":"a.ts","oldText":"two","newText":"TWO"}`, "success", "",
			`{"message":{"toolCallId":"c1","details":{"diff":" 1 one\n-2 two\n+2 TWO"}}}`), `edit | inferred changed a.ts +1 −1`},
		"OpenHands": {callAndResult("file_editor", `{"command":"str_replace","path":"/w/a","old_str":"a","new_str":"b"}`, "success", "",
			`{"tool_call_id":"c1","observation":{"path":"/w/a","prev_exist":true,"old_content":"a\n","new_content":"b\n"}}`), `file_editor | recorded changed /w/a +1 −1 before "a\n" after "b\n"`},
		"OpenHands, a new file": {callAndResult("file_editor", `{"command":"create","path":"/w/a","file_text":"b\n"}`, "success", "",
			`{"tool_call_id":"c1","observation":{"path":"/w/a","prev_exist":false,"old_content":null,"new_content":"b\n"}}`), `file_editor | recorded created /w/a +1 after "b\n"`},
		"OpenHands, a look": {callAndResult("file_editor", `{"command":"view","path":"/w/a"}`, "success", "",
			`{"tool_call_id":"c1","observation":{"path":"/w/a","old_content":null,"new_content":null}}`), ``},
		"crush": {callAndResult("edit", `{"file_path":"a","old_string":"a","new_string":"b"}`, "success", "",
			`{"parts":[{"type":"tool_result","data":{"tool_call_id":"c1","metadata":"{\"additions\":1,\"old_content\":\"a\\n\",\"new_content\":\"b\\n\"}"}}]}`), `edit | recorded changed a +1 −1 before "a\n" after "b\n"`},
		"aider": {`{"messages":[{"role":"assistant","content":[{"text":"So:\n\nsrc/a.py\n` + "```python" + `\n<<<<<<< SEARCH\none\n=======\nONE\n>>>>>>> REPLACE\n` + "```" + `\n\nb.py\n` + "```" + `\n<<<<<<< SEARCH\n=======\nnew\n>>>>>>> REPLACE\n` + "```" + `"}]}]}`,
			`SEARCH/REPLACE | inferred changed src/a.py +1 −1 | inferred created b.py +1 after "new\n"`},
		"aider, escaped as Go does": {`{"messages":[{"role":"assistant","content":[{"text":"So:\n\nsrc/a.py\n` + "```python" + `\n\u003c\u003c\u003c\u003c\u003c\u003c\u003c SEARCH\none\n=======\nONE\n\u003e\u003e\u003e\u003e\u003e\u003e\u003e REPLACE\n` + "```" + `\n\nb.py\n` + "```" + `\n\u003c\u003c\u003c\u003c\u003c\u003c\u003c SEARCH\n=======\nnew\n\u003e\u003e\u003e\u003e\u003e\u003e\u003e REPLACE\n` + "```" + `"}]}]}`,
			`SEARCH/REPLACE | inferred changed src/a.py +1 −1 | inferred created b.py +1 after "new\n"`},
		"a framework's tool":         {callAndResult("write_report", `{"path":"out/r.md","content":"# R\n"}`, "success", "", ""), `write_report | inferred changed out/r.md +1 after "# R\n"`},
		"a tool that writes no file": {callAndResult("send_mail", `{"path":"x","content":"y"}`, "success", "", ""), ``},
		"a call that failed":         {callAndResult("Write", `{"file_path":"/w/a","content":"b"}`, "error", "", ""), ``},
		"a call without a result":    {`{"messages":[{"role":"assistant","content":[{"toolUse":{"toolUseId":"c1","name":"Write","input":{"file_path":"a","content":"b"}}}]}]}`, ``},
		"OpenAI's shape":             {`{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"edit_file","arguments":"{\"path\":\"a\",\"old\":\"x\",\"new\":\"y\"}"}}]},{"role":"tool","tool_call_id":"c1","content":"ok"}]}`, `edit_file | inferred changed a +1 −1`},
		"a record of another shape":  {callAndResult("Edit", `{"file_path":3}`, "success", `[3]`, `{"toolUseResult":{"bashEditDiff":{"files":[3,{}],"changedFiles":[4]},"structuredPatch":7}}`), ``},
		"a move is told as one, not twice": {callAndResult("Bash", `{"command":"mv a b"}`, "success", "",
			`{"toolUseResult":{"stdout":"","interrupted":false,"bashEditDiff":{"files":[{"filePath":"/w/a","hunks":[{"oldStart":1,"newStart":0,"lines":["-x"]}],"deleted":true},{"filePath":"/w/b","hunks":[{"oldStart":0,"newStart":1,"lines":["+x"]}],"created":true}],"moreFiles":0,"changedFiles":["/w/a","/w/b"]}}}`),
			`Bash: mv a b exit "0" -1 ms | recorded moved /w/b from /w/a  before "x\n" after "x\n"`},
	} {
		if got := strings.Join(readAll(t, of.state), "\n"); got != of.want {
			t.Errorf("%s:\n  is %s\nwant %s", name, got, of.want)
		}
	}
}

// Copilot CLI compares texts that it split at the ends of lines. Its records are those of edits with 1.0.102.
func TestReader_endsOfLines(t *testing.T) {
	for name, of := range map[string]struct{ before, input, diff, after string }{
		"an end behind the last line": {"one\ntwo\n", `"old_str":"two","new_str":"TWO"`, "@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n \n", "one\nTWO\n"},
		"none":                        {"one\n\ttwo\nthree", `"old_str":"three","new_str":"THREE"`, "@@ -1,3 +1,3 @@\n one\n \ttwo\n-three\n+THREE\n", "one\n\ttwo\nTHREE"},
		"one comes":                   {"one\nthree", `"old_str":"three","new_str":"3\n4\n"`, "@@ -1,2 +1,4 @@\n one\n-three\n+3\n+4\n+\n", "one\n3\n4\n"},
		"a line comes behind it":      {"one", `"old_str":"one","new_str":"one\ntwo"`, "@@ -1,1 +1,2 @@\n one\n+two\n", "one\ntwo"},
		"three lines behind":          {"1\n2\n3\n4\n5\n", `"old_str":"3","new_str":"x"`, "@@ -1,6 +1,6 @@\n 1\n 2\n-3\n+x\n 4\n 5\n \n", "1\n2\nx\n4\n5\n"},
	} {
		raw := fmt.Sprintf(`{"data":{"toolCallId":"c1","result":{"detailedContent":%q}}}`, "\ndiff --git a/w/a b/w/a\nindex 0000000..0000000 100644\n--- a/w/a\n+++ b/w/a\n"+of.diff)
		tape, err := jsontape.Parse([]byte(callAndResult("edit", `{"path":"/w/a",`+of.input+`}`, "success", "", raw)))
		if err != nil {
			t.Fatal(err)
		}
		c := conversation.Decode(tape)
		var r Reader
		r.Read(c, 0)
		change := r.Read(c, 1)[0].Changes[0]
		f := NewFold("/w/a")
		f.setText(of.before)
		f.existed, f.exists = present, present
		f.Add(&change)
		if text, whole := f.Text(); f.Err() != nil || !whole || text != of.after {
			t.Errorf("%s: it is %q, %v, want %q", name, text, f.Err(), of.after)
		}
	}
}

func TestPathIn(t *testing.T) {
	for _, of := range []struct {
		dir, path, want string
		inside          bool
	}{
		{"/w", "/w/src/a.ts", "src/a.ts", true}, {"/w", "src/a.ts", "src/a.ts", true}, {"/w", "./a", "a", true}, {"", "a", "a", true},
		{"/w", "/wide/a", "/wide/a", false}, {"/w", "../a", "../a", false}, {"/w", "/w/../a", "/w/../a", false}, {"/w", "/w/.git/config", "/w/.git/config", false},
		{"/w", "/w/.GIT/config", "/w/.GIT/config", false}, {"", "/a", "/a", false}, {"/w", "/w", "/w", false}, {"/w", "a/", "a/", false}, {"/w", "", "", false},
		{`C:\w`, `C:\w\src\a.ts`, "src/a.ts", true}, {`C:\w`, `D:\a`, `D:\a`, false}, {"/w", `..\a`, `..\a`, false},
	} {
		if got, inside := PathIn(of.dir, of.path); got != of.want || inside != of.inside {
			t.Errorf("PathIn(%q, %q) is %q, %v", of.dir, of.path, got, inside)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add(callAndResult("Edit", `{"file_path":"a"}`, "success", "", `{"toolUseResult":{"filePath":"a","structuredPatch":[{"oldStart":1,"newStart":9,"lines":["-a"," b",""]}]}}`))
	f.Fuzz(func(t *testing.T, state string) {
		tape, err := jsontape.Parse([]byte(state))
		if err != nil {
			return
		}
		c := conversation.Decode(tape)
		r, s := Reader{Whole: true}, new(Folds)
		for m := range c.Len() {
			for _, e := range r.Read(c, m) {
				for _, change := range e.Changes {
					s.Add(&change)
				}
			}
		}
		for _, f := range s.All() {
			f.Change()
		}
	})
}

// opencode leaves out of its diffs the white space that all lines begin with: it is put back where the call tells it, and
// else the diff is no patch.
func TestReader_whiteSpaceLeftOut(t *testing.T) {
	edit := func(old, now, patch string) Change {
		raw := fmt.Sprintf(`{"parts":[{"type":"tool","callID":"c1","state":{"metadata":{"filediff":{"file":"a","patch":%q}}}}]}`, patch)
		tape, err := jsontape.Parse([]byte(callAndResult("edit", fmt.Sprintf(`{"filePath":"a","oldString":%q,"newString":%q}`, old, now), "success", raw, "")))
		if err != nil {
			t.Fatal(err)
		}
		c := conversation.Decode(tape)
		var r Reader
		r.Read(c, 0)
		return r.Read(c, 1)[0].Changes[0]
	}
	const trimmed = "--- a\n+++ a\n@@ -2,3 +2,3 @@\n x\n-\ty\n+\tz\n w\n"
	known := edit("x\n\t\ty\n\tw", "x\n\t\tz\n\tw", trimmed)
	if got := string(AppendHunks(nil, known.Hunks)); known.Spelling != Exact || got != "@@ -2,3 +2,3 @@\n \tx\n-\t\ty\n+\t\tz\n \tw\n" {
		t.Errorf("it is %q", got)
	}
	unknown := edit("y", "z", trimmed)
	f := NewFold("a")
	if f.Add(&unknown); f.Err() == nil {
		t.Error("lines without their white space make a patch")
	}
	f = NewFold("a")
	f.Add(&Change{Path: "a", Kind: Created, Hunks: Compare("", "1\n\tx\n\t\ty\n\tw\n")})
	if f.Add(&unknown); f.Err() != nil {
		t.Error(f.Err())
	}
	if text, _ := f.Text(); text != "1\n\tx\n\t\tz\n\tw\n" {
		t.Errorf("the text is %q", text)
	}
}
