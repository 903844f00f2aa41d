package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
)

// talk is a session with one snapshot of each shape of message.
const talk = `{"messages":[
{"role":"user","content":[{"text":"Which train?\n\u0060\u0060\u0060\n# not a heading\u001b[2J"}]},
{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"Let me look."}}},{"text":"I look."},{"toolUse":{"toolUseId":"t1","name":"search","input":{"to":"Lyon"}}},{"toolUse":{"toolUseId":"t2","name":"book","input":{}}}]},
{"role":"user","content":[{"toolResult":{"toolUseId":"t1","status":"success","content":[{"json":{"at":"09:40"}},{"text":"a \u0060\u0060\u0060\u0060 fence\n\u0060\u0060\u0060"}]}},{"toolResult":{"toolUseId":"t2","status":"error","content":[{"text":"full"}]}}]},
{"role":"assistant","content":[{"image":{"format":"png","source":{"bytes":"AAAA"}}},{"toolUse":{"toolUseId":"t3","name":"wait","input":{}}}]}
]}`

func transcribed(t *testing.T) *session {
	t.Helper()
	return start(t, sequenceOf([]store.Row{{Header: model.Header{ID: "a", SessionID: "s", Visit: 1}, State: []byte(talk)}}))
}

func TestMessages_areReadable(t *testing.T) {
	want := "s #0  4 messages\n" + `
[0] user
  Which train?
  ` + "```" + `
  # not a heading^[[2J

[1] assistant
  reasoning
    Let me look.
  I look.
  call search {"to":"Lyon"}
    → ok
      {"at":"09:40"}
      a ` + "````" + ` fence
      ` + "```" + `
  call book {}
    → error
      full

[3] assistant
  image png 3 B
  call wait {}
    → no result
`
	c := transcribed(t)
	for _, line := range []string{"messages mem:", "messages mem: s", "messages mem: s #0"} {
		if code, out, err := c.run(t, strings.Fields(line)...); code != 0 || out != want {
			t.Errorf("%s: exit %d, %s\n%s\nnot\n%s", line, code, err, out, want)
		}
	}
}

// A text that a tool printed, as aider has it, is printed as one, and not as JSON.
func TestMessages_printsAJSONStringAsAText(t *testing.T) {
	const state = `{"messages":[{"role":"tool","content":[{"json":"Aider v0.86.1\nMain \"model\""},{"json":{"a":"b"}}]}]}`
	c := start(t, sequenceOf([]store.Row{{Header: model.Header{ID: "a", SessionID: "s", Visit: 1}, State: []byte(state)}}))
	for line, want := range map[string]string{
		"messages mem:":      "s #0  1 message\n\n[0] tool\n  Aider v0.86.1\n  Main \"model\"\n  {\"json\":{\"a\":\"b\"}}\n",
		"messages mem: --md": "# s #0\n\n## \\[0\\] tool\n\n```text\nAider v0.86.1\nMain \"model\"\n```\n\n```json\n",
	} {
		if code, out, err := c.run(t, strings.Fields(line)...); code != 0 || !strings.HasPrefix(out, want) {
			t.Errorf("%s: exit %d, %s\n%s\nnot\n%s", line, code, err, out, want)
		}
	}
}

// Texts are quoted line by line, and a fence is longer than any in what it holds.
func TestMessages_asMarkdownEndNothing(t *testing.T) {
	want := `# s #0

## \[0\] user

> Which train?
> ` + "```" + `
> # not a heading^[[2J

## \[1\] assistant

reasoning

> Let me look.

> I look.

call search

` + "```json" + `
{
  "to": "Lyon"
}
` + "```" + `

ok

` + "```json" + `
{
  "at": "09:40"
}
` + "```" + `

` + "`````text" + `
a ` + "````" + ` fence
` + "```" + `
` + "`````" + `

call book

` + "```json" + `
{}
` + "```" + `

error

` + "```text" + `
full
` + "```" + `

## \[3\] assistant

image png 3 B

call wait

` + "```json" + `
{}
` + "```" + `

no result
`
	if code, out, err := transcribed(t).run(t, "messages", "mem:", "--md"); code != 0 || out != want {
		t.Errorf("exit %d, %s\n%s\nnot\n%s", code, err, out, want)
	}
}

func TestMessages_pairResultsWithTheirCalls(t *testing.T) {
	_, out, _ := transcribed(t).run(t, "messages", "mem:", "--json")
	var document struct {
		Messages []struct {
			Role  string
			Parts []struct {
				Kind, Tool, CallID, Status string
				Output                     []any
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &document); err != nil || len(document.Messages) != 4 || len(document.Messages[2].Parts) != 0 {
		t.Fatalf("%v: %s", err, out)
	}
	call := document.Messages[1].Parts[2]
	if call.Kind != "toolCall" || call.Tool != "search" || call.CallID != "t1" || call.Status != "ok" || len(call.Output) != 2 {
		t.Errorf("the call is %+v", call)
	}
	if waits := document.Messages[3].Parts[1]; waits.Status != "pending" || waits.Output != nil {
		t.Errorf("the last call is %+v", waits)
	}
}

func TestShow_printsTheStateOrAPartOfItAlone(t *testing.T) {
	c := transcribed(t)
	for _, test := range []struct {
		args string
		code int
		want string
		says string
	}{
		{"--state", 0, talk, ""},
		{"--at /messages/1/content/2/toolUse/input", 0, "{\"to\":\"Lyon\"}\n", ""},
		{"--at /messages/9", 1, "", "there is nothing at /messages/9 in this state"},
		{"--at .messages[1].content[2].toolUse.input", 0, "{\"to\":\"Lyon\"}\n", ""},
		{"--at messages", 2, "", "it begins with neither / nor ."},
		{"--state --at /messages", 2, "", "give one of them"},
	} {
		code, out, err := c.run(t, append([]string{"show", "mem:", "s", "head"}, strings.Fields(test.args)...)...)
		if code != test.code || out != test.want || !strings.Contains(err, test.says) {
			t.Errorf("%s: exit %d, %q, %q", test.args, code, out, err)
		}
	}
	// A terminal obeys nothing in it.
	c.OutTerminal = true
	if _, out, _ := c.run(t, "show", "mem:", "s", "head", "--at", "/messages/0/content/0/text"); strings.Contains(out, "\x1b") {
		t.Errorf("on a terminal: %q", out)
	}
}

func TestDiff_saysByItsExitCodeWhetherStatesDiffer(t *testing.T) {
	row := func(i int, state string) store.Row {
		h := model.Header{ID: string(rune('a' + i)), SessionID: "s", Index: i, Visit: int64(i + 1), ParentVisit: int64(i)}
		return store.Row{Header: h, State: []byte(state)}
	}
	c := start(t, sequenceOf([]store.Row{row(0, `{"a":1,"list":[1,2],"gone":true}`), row(1, `{"a":1.0,"list":[1,2],"gone":true}`), row(2, `{"a":2,"list":[1,3,4],"new":{}}`)}))
	for _, test := range []struct {
		args string
		code int
	}{{"#1", 0}, {"#2", 1}, {"#2 --json", 1}, {"#2 --stat", 1}, {"#2 --patch", 1}} {
		code, out, err := c.run(t, append([]string{"diff", "mem:", "s", "--exit-code"}, strings.Fields(test.args)...)...)
		if code != test.code || err != "" || out == "" {
			t.Errorf("%s: exit %d, %q, %q", test.args, code, out, err)
		}
	}
	if code, _, _ := c.run(t, "diff", "mem:", "s", "#2"); code != 0 {
		t.Errorf("without --exit-code: exit %d", code)
	}
	_, out, _ := c.run(t, "diff", "mem:", "s", "#2", "--stat")
	want := `#1 turn end → #2 turn end  +2 ~2 -1
 a     +0 ~1 -0  3 B → 1 B
 list  +1 ~1 -0  5 B → 7 B
 gone  +0 ~0 -1  4 B → 0 B
 new   +1 ~0 -0  0 B → 2 B
`
	if out != want {
		t.Errorf("got\n%s\nnot\n%s", out, want)
	}
}

// The arguments of a call are readable: an edit is a diff, a command stands in a fence, and no fence ends early.
func TestMessages_asMarkdownTellCallsInLines(t *testing.T) {
	const state = `{"messages":[{"role":"assistant","content":[
{"toolUse":{"toolUseId":"a","name":"Edit","input":{"file_path":"a.go","old_string":"x\ny","new_string":"x\nz"}}},
{"toolUse":{"toolUseId":"b","name":"Bash","input":{"command":"echo \u0060\u0060\u0060\nls","timeout":9}}},
{"toolUse":{"toolUseId":"c","name":"Write","input":{"file_path":"b.py","content":"if x:\n  y()\n"}}},
{"toolUse":{"toolUseId":"d","name":"Write","input":{"path":"c.a\u0060\u0060\u0060\n# x","content":"1\n2"}}}]},
{"role":"user","content":[{"toolResult":{"toolUseId":"b","status":"success","content":[{"text":"--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y"}]}},
{"toolResult":{"toolUseId":"c","status":"success","content":[{"image":{"format":"png","source":{"bytes":"AAAA"}}}]}}]}]}`
	const want = "call Edit\n\n```diff\n*** a.go\n@@\n x\n-y\n+z\n```\n\nno result\n\n" +
		"call Bash\n\ncommand\n\n````sh\necho ```\nls\n````\n\n```json\n{\n  \"timeout\": 9\n}\n```\n\nok\n\n```diff\n--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n```\n\n" +
		"call Write\n\ncontent\n\n```py\nif x:\n  y()\n```\n\n```json\n{\n  \"file_path\": \"b.py\"\n}\n```\n\nok\n\n```text\nimage png 3 B\n```\n\n" +
		"call Write\n\npath\n\n````\nc.a```\n# x\n````\n\ncontent\n\n```\n1\n2\n```\n\nno result\n"
	c := start(t, sequenceOf([]store.Row{{Header: model.Header{ID: "a", SessionID: "s", Visit: 1}, State: []byte(state)}}))
	code, out, err := c.run(t, "messages", "mem:", "--md")
	if _, calls, _ := strings.Cut(out, "assistant\n\n"); code != 0 || calls != want {
		t.Errorf("exit %d, %s\n%s\nnot\n%s", code, err, calls, want)
	}
}
