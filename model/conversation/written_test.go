package conversation

import (
	"fmt"
	"strings"
	"testing"
)

// What a step wrote is told by the messages among its values, whatever else there is.
func TestWritten(t *testing.T) {
	const (
		human = `{"type":"human","content":"Rain?","response_metadata":{}}`
		ai    = `{"type":"ai","content":"","response_metadata":{},"tool_calls":[{"id":"1","name":"weather","args":{}}],"usage_metadata":{"input_tokens":3,"output_tokens":2,"total_tokens":5,"input_token_details":{"cache_read":1}}}`
		js    = `{"lc":1,"type":"constructor","id":["langchain_core","messages","AIMessage"],"kwargs":{"content":"Yes.","usage_metadata":{"input_tokens":4,"output_tokens":1,"total_tokens":5}}}`
		tool  = `{"type":"tool","content":"no gauge","name":"weather","status":"error","tool_call_id":"1","response_metadata":{}}`
		plain = `{"role":"user","content":"Hello"}`
	)
	for name, c := range map[string]struct {
		values         []string
		title, opening string
		failed         bool
		tokens         string
	}{
		"nothing":            {nil, "", "", false, "[]"},
		"no messages":        {[]string{`null`, `7`, `"text"`, `[]`, `[1,2]`, `{"a":1}`, `[{"a":1}]`, `{`, ``, `{"usage_metadata":{"input_tokens":3,"total_tokens":3}}`}, "", "", false, "[]"},
		"damaged counts":     {[]string{strings.Replace(ai, `"output_tokens":2`, `"output_tokens":"2"`, 1)}, "weather", "", false, "[]"},
		"one":                {[]string{human}, "Rain?", "Rain?", false, "[]"},
		"a list":             {[]string{"[" + human + "," + ai + "]"}, "Rain? · weather", "Rain?", false, "[{input 3} {output 2} {total 5} {cacheRead 1}]"},
		"two values":         {[]string{ai, `{"a":1}`, js}, "weather · Yes.", "", false, "[{input 7} {output 3} {total 10} {cacheRead 1}]"},
		"the user later":     {[]string{ai, human, js}, "weather · Rain? · Yes.", "Rain?", false, "[{input 7} {output 3} {total 10} {cacheRead 1}]"},
		"a tool that failed": {[]string{tool}, "weather  no gauge", "", true, "[]"},
		"another shape":      {[]string{plain}, "Hello", "Hello", false, "[]"},
	} {
		var w Written
		for _, value := range c.values {
			w.Add([]byte(value))
		}
		is := w.Summary(nil)
		title, failed := is.Title, is.Failed
		if tokens := fmt.Sprint(w.Tokens()); title != c.title || failed != c.failed || w.Opening() != c.opening || tokens != c.tokens {
			t.Errorf("%s: %q, %v, %q, %s; want %q, %v, %q, %s", name, title, failed, w.Opening(), tokens, c.title, c.failed, c.opening, c.tokens)
		}
	}
}

// Calls wait for their results until these are written too.
func TestWritten_calls(t *testing.T) {
	const (
		ai   = `{"type":"ai","content":"","response_metadata":{},"tool_calls":[{"id":"1","name":"weather","args":{}},{"id":"2","name":"stock","args":{}}]}`
		tool = `{"type":"tool","content":"ok","name":"weather","tool_call_id":"%d","response_metadata":{}}`
	)
	first, second := fmt.Sprintf(tool, 1), fmt.Sprintf(tool, 2)
	for list, want := range map[string]bool{"": false, ai: true, ai + "," + first: true, ai + "," + first + "," + second: false, first: false, ai + "," + first + "," + second + "," + ai: true} {
		var w Written
		w.Add([]byte("[" + list + "]"))
		if got := w.Summary(nil).Calls; got != want {
			t.Errorf("[%s]: %t", list, got)
		}
	}
}

// LangChain makes a message of a text, of a role with what it says, and of an object of both. A value that is not
// known to be of messages is one only if it lists roles with what they say.
func TestWritten_short(t *testing.T) {
	for value, want := range map[string][2]string{ // unless it is known, and if it is
		`"words"`:                       {"", "words, words"},
		`["one","two"]`:                 {"", "one · two, one"},
		`["user","words"]`:              {"", "words, words"},
		`[["user","one"],["ai","two"]]`: {"one · two, one", "one · two, one"},
		`[["assistant",[{"type":"text","text":"two"}]]]`: {"two", "two"},
		`[["human","one"],"two"]`:                        {"one, one", "one · two, one"},
		`{"role":"user","content":"words"}`:              {"words, words", "words, words"},
		`{"type":"human","content":"words"}`:             {"", "words, words"},
		`[{"type":"ai","content":"words","id":"7"}]`:     {"", "words"},
		`[["developer","words"]]`:                        {"words", "words"},
		`[["stranger","words"]]`:                         {"", ""},
		`[["user","a","b"]]`:                             {"", ""},
		`[["user",7]]`:                                   {"", ""},
		`7`:                                              {"", ""},
		`null`:                                           {"", ""},
		`[null]`:                                         {"", ""},
	} {
		for i, add := range []func(*Written, []byte){(*Written).Add, (*Written).AddMessages} {
			var w Written
			add(&w, []byte(value))
			got := w.Summary(nil).Title
			if opening := w.Opening(); opening != "" {
				got += ", " + opening
			}
			if got != want[i] {
				t.Errorf("%s, known %t: %q, want %q", value, i == 1, got, want[i])
			}
		}
	}
	for short, want := range map[string]string{
		`"hi"`:        `{"content":"hi","additional_kwargs":{},"response_metadata":{},"type":"human","name":null,"id":null}`,
		`["ai","hi"]`: `{"content":"hi","additional_kwargs":{},"response_metadata":{},"type":"ai","name":null,"id":null,"tool_calls":[],"invalid_tool_calls":[],"usage_metadata":null}`,
		`{"content":null,"role":"tool","tool_call_id":"c","id":"7"}`:              `{"content":"","additional_kwargs":{},"response_metadata":{},"type":"tool","name":null,"id":"7","tool_call_id":"c","artifact":null,"status":"success"}`,
		`{"$py":"langchain_core.messages.ai.AIMessage","type":"ai","content":""}`: "",
		`{"lc":1,"type":"ai","content":""}`:                                       "",
		`{"role":"user","content":tru}`:                                           "",
		`{"role":"user"}`:                                                         "",
	} {
		if got, _, _ := WrittenOut([]byte(short)); string(got) != want {
			t.Errorf("%s is %s, want %s", short, got, want)
		}
	}
}
