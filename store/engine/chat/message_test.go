package chat

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// text is a block of text.
func textBlock(words string) Block { return TextBlock(jsontape.AppendQuoted(nil, words)) }

// A thought has its words in a member of its type, or as a text has them.
func TestMessage_AddContent(t *testing.T) {
	for _, text := range []string{`[{"type":"thinking","thinking":"hm"}]`, `[{"type":"thinking","text":"hm"}]`} {
		v, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var m Message
		if m.AddContent(v); len(m.Blocks) != 1 || m.Blocks[0].Kind != conversation.Reasoning || string(m.Blocks[0].Body) != `"hm"` {
			t.Errorf("%s: %v", text, m.Blocks)
		}
	}
}

func TestSaid_Title(t *testing.T) {
	long := strings.Repeat("long ", 100)
	call := func(name string) Block {
		return Block{Kind: conversation.ToolCall, ID: "c-" + name, Name: name, Body: []byte(`{}`)}
	}
	result := func(of, body string, failed bool) Block {
		return Block{Kind: conversation.ToolResult, ID: "c-" + of, Body: []byte(body), Failed: failed}
	}
	for _, c := range []struct {
		name   string
		blocks []Block
		want   string
		failed bool
	}{
		{"nothing", nil, "", false},
		{"words", []Block{textBlock("hello")}, "hello", false},
		{"a blank text", []Block{textBlock("")}, "[blank text]", false},
		{"words on two lines", []Block{textBlock("hello,\n\tyou\x1b[31m")}, "hello, you\x1b[31m", false},
		{"the first of two texts", []Block{textBlock(""), textBlock("one"), textBlock("two")}, "one", false},
		{"long words", []Block{textBlock(long)}, strings.Repeat("long ", 24) + "…", false},
		{"a thought alone", []Block{{Kind: conversation.Reasoning, Body: []byte(`"hm"`)}}, "hm", false},
		{"a thought that is hidden", []Block{{Kind: conversation.Reasoning}}, "(reasoning)", false},
		{"a block that is not known", []Block{{Kind: conversation.Unknown, Body: []byte(`{"x":1}`)}}, "(unknown block)", false},
		{"a block that the agent names", []Block{{Kind: conversation.Unknown, Body: []byte(`{"type":"image","data":"AA=="}`)}}, "image 1 B", false},
		{"a call", []Block{call("bash")}, "bash", false},
		{"a call without a name", []Block{call("")}, "tool", false},
		{"words and a call", []Block{textBlock("I look"), call("bash")}, "I look (bash)", false},
		{"a result", []Block{result("bash", `"done"`, false)}, "bash  done", false},
		{"a result of a call that is not there", []Block{result("gone", `"done"`, false)}, "tool  done", false},
		{"a failure", []Block{result("bash", `"no such file"`, true)}, "bash  no such file", true},
		{"a failure in parts", []Block{result("bash", `[{"type":"image"},{"text":"no such file"}]`, true)}, "bash  no such file", true},
		{"a failure that says nothing", []Block{result("bash", `{"code":1}`, true)}, "bash  {code: 1}", true},
		{"one of two failed", []Block{result("bash", `"done"`, false), result("read", `"no"`, true)}, "read  no · bash  done", true},
	} {
		m := Message{Role: Assistant, Blocks: c.blocks}
		said := m.Summarise()
		title, failed := said.Title(map[string]*Call{"c-bash": {Act: conversation.NewAct("bash", nil)}, "c-read": {Act: conversation.NewAct("read", nil)}}, "")
		if title != c.want || failed != c.failed {
			t.Errorf("%s: %q, failed %t, want %q, %t", c.name, title, failed, c.want, c.failed)
		}
	}
}

func TestMessage_AppendJSON(t *testing.T) {
	for _, c := range []struct {
		name string
		m    Message
		want string
	}{
		{"nothing", Message{}, `{"role":"system","content":[]}`},
		{"all", Message{
			Role: Assistant, ID: "m\"1", Model: "x", Usage: conversation.Usage{Counted: true, Input: 3, Output: 4, CacheRead: 5, CacheWrite: 6, Priced: true, Cost: 0.25, Milliseconds: 12},
			Blocks: []Block{textBlock("a\nb"), {Kind: conversation.Reasoning, Body: []byte(`"hm"`)}, {Kind: conversation.ToolCall, ID: "c", Name: "bash", Body: []byte(`{"x":1}`)}, {Kind: conversation.Unknown, Body: []byte(`{"type":"new"}`)}},
			Raw:    [][]byte{[]byte(`{"r":1}`), []byte(`{"r":2}`)},
		}, `{"role":"assistant","content":[{"text":"a\nb"},{"reasoning":{"text":"hm"}},{"toolUse":{"toolUseId":"c","name":"bash","input":{"x":1}}},{"json":{"type":"new"}}],"id":"m\"1","model":"x","usage":{"inputTokens":3,"outputTokens":4,"totalTokens":7,"cacheReadInputTokens":5,"cacheWriteInputTokens":6},"metadata":{"metrics":{"latencyMs":12}},"cost":0.25,"raw":[{"r":1},{"r":2}]}`},
		{"results", Message{Role: Tool, Raw: [][]byte{[]byte(`1`)}, Blocks: []Block{
			{Kind: conversation.ToolResult, ID: "a", Name: "bash", Body: []byte(`"out"`)},
			{Kind: conversation.ToolResult, ID: "b", Body: []byte(`[{"text":"x"}]`), Failed: true},
			{Kind: conversation.ToolResult, ID: "c", Body: []byte(`{"code":1}`)},
			{Kind: conversation.ToolResult, ID: "d"},
		}}, `{"role":"tool","content":[{"toolResult":{"toolUseId":"a","name":"bash","status":"success","content":[{"text":"out"}]}},{"toolResult":{"toolUseId":"b","status":"error","content":[{"text":"x"}]}},{"toolResult":{"toolUseId":"c","status":"success","content":[{"json":{"code":1}}]}},{"toolResult":{"toolUseId":"d","status":"success","content":[{"json":null}]}}],"raw":1}`},
	} {
		if got := string(c.m.AppendJSON(nil)); got != c.want || !json.Valid([]byte(got)) {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// The beginning of any string is text of that length at most, on one line, and of a string
// that is long as of one that is short.
func TestWords(t *testing.T) {
	skip.Sequential(t)
	for body, want := range map[string]string{"": "", "null": "", `{"a":1}`: "", `""`: "", `"a b"`: "a b", `"\u00fc\n\n\u00e4"`: "ü ä"} {
		if got := Words([]byte(body), 20); got != want {
			t.Errorf("%s begins with %q, want %q", body, got, want)
		}
	}
	rapid.Check(t, storetest.Few(200, func(rt *rapid.T) {
		words := rapid.String().Draw(rt, "words")
		limit := rapid.IntRange(4, 50).Draw(rt, "limit")
		short := Words(jsontape.AppendQuoted(nil, words), limit)
		if len(short) > limit+len("…") || !utf8.ValidString(short) || strings.ContainsAny(short, "\n\r\t") {
			rt.Errorf("%q is cut to %q", words, short)
		}
		padded := Words(jsontape.AppendQuoted(nil, words+strings.Repeat(" more", 40*limit)), limit)
		head := strings.TrimRight(strings.TrimSuffix(short, "…"), " ")
		if !strings.HasPrefix(padded, head) {
			rt.Errorf("%q begins with %q, and longer with %q", words, short, padded)
		}
	}))
}

func TestMeta_json(t *testing.T) {
	for want, m := range map[string]*Meta{
		"{}":            nil,
		`{"model":"m"}`: {Model: "m"},
		`{"cwd":"/w\"","gitBranch":"b","gitCommit":"c","version":"v","mode":"x"}`: {Dir: `/w"`, Branch: "b", Commit: "c", Version: "v", Mode: "x"},
	} {
		if got := m.encodeJSON(); got != want || !json.Valid([]byte(got)) {
			t.Errorf("%+v is %s, want %s", m, got, want)
		}
	}
}
