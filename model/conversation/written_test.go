package conversation

import (
	"fmt"
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
		"no messages":        {[]string{`null`, `7`, `"text"`, `[]`, `[1,2]`, `{"a":1}`, `[{"a":1}]`, `{`, ``}, "", "", false, "[]"},
		"one":                {[]string{human}, "Rain?", "Rain?", false, "[]"},
		"a list":             {[]string{"[" + human + "," + ai + "]"}, "Rain?, calls weather", "Rain?", false, "[{input 3} {output 2} {total 5} {cacheRead 1}]"},
		"two values":         {[]string{ai, `{"a":1}`, js}, "calls weather, Yes.", "", false, "[{input 7} {output 3} {total 10} {cacheRead 1}]"},
		"a tool that failed": {[]string{tool}, "weather: no gauge", "", true, "[]"},
		"another shape":      {[]string{plain}, "Hello", "Hello", false, "[]"},
	} {
		var w Written
		for _, value := range c.values {
			w.Add([]byte(value))
		}
		title, failed := w.Title()
		if tokens := fmt.Sprint(w.Tokens()); title != c.title || failed != c.failed || w.Opening() != c.opening || tokens != c.tokens {
			t.Errorf("%s: %q, %v, %q, %s; want %q, %v, %q, %s", name, title, failed, w.Opening(), tokens, c.title, c.failed, c.opening, c.tokens)
		}
	}
}
