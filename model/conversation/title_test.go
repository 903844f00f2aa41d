package conversation

import (
	"fmt"
	"strings"
	"testing"
)

func TestTitle(t *testing.T) {
	calls := `{"role":"assistant","content":[{"text":"I look."},{"toolUse":{"toolUseId":"a","name":"weather","input":{}}},{"toolUse":{"toolUseId":"b","name":"add","input":{}}}]}`
	results := `{"role":"user","content":[{"toolResult":{"toolUseId":"a","status":"success","content":[]}},{"toolResult":{"toolUseId":"b","status":"error","content":[]}}]}`
	for _, c := range []struct {
		name, state, title string
		failed             bool
	}{
		{"text", `{"messages":[{"role":"user","content":[{"text":"Weather\n in  Paris?"}]}]}`, "user: Weather in Paris?", false},
		{"plain content, keys before, white space", ` { "n" : [1,{"messages":[]}] , "messages" : [ {"role":"assistant","content":"Hi."} ] } `, "assistant: Hi.", false},
		{"calls", `{"messages":[` + calls + `]}`, "assistant → weather, add", false},
		{"results", `{"messages":[` + calls + `,` + results + `]}`, "tool weather → ok, add → error", true},
		{"the call is far away", `{"messages":[` + calls + strings.Repeat(`,{"role":"user","content":"x"}`, tailMessages) + `,` + results + `]}`, "tool a → ok, b → error", true},
		{"Genkit", `{"state":{"messages":[{"role":"model","content":[{"text":"Bonjour"}]}]}}`, "model: Bonjour", false},
		{"a snapshot of Strands", `{"data":{"messages":[{"role":"user","content":[{"text":"Hi"}]}]},"scope":"agent"}`, "user: Hi", false},
		{"the root is the list", `[{"role":"user","content":[{"text":"Hi"}]}]`, "user: Hi", false},
		{"history", `{"history":[{"role":"user","content":"Hi"}]}`, "user: Hi", false},
		{"no messages", `{"messages":[]}`, "", false},
		{"no list", `{"messages":"none","total":4}`, "", false},
		{"other things in the list", `{"messages":[1,2,3]}`, "", false},
		{"a number", `4`, "", false},
		{"nothing", ``, "", false},
		{"cut off", `{"messages":[{"role":"user","content":"Hi`, "", false},
		{"many tools", `{"messages":[{"role":"assistant","content":[` + strings.Repeat(`{"toolUse":{"toolUseId":"t","name":"a_tool_with_a_long_name","input":{}}},`, 50) + `{"text":"."}]}]}`,
			"assistant → " + strings.Repeat("a_tool_with_a_long_name, ", 5) + "…", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			title, failed := Title([]byte(c.state))
			if title != c.title || failed != c.failed {
				t.Errorf("got %q, failed %v, want %q, %v", title, failed, c.title, c.failed)
			}
		})
	}
}

func TestTitle_hugeLastMessageHasNone(t *testing.T) {
	state := `{"messages":[{"role":"user","content":"` + strings.Repeat("x", maxTail) + `"}]}`
	if title, _ := Title([]byte(state)); title != "" {
		t.Errorf("got %d bytes", len(title))
	}
	// The one before it is left out, and does not keep the last from its title.
	state = `{"messages":[{"role":"user","content":"` + strings.Repeat("x", maxTail) + `"},{"role":"user","content":"Hi"}]}`
	if title, _ := Title([]byte(state)); title != "user: Hi" {
		t.Errorf("got %q", title)
	}
}

func FuzzTitle(f *testing.F) {
	f.Add([]byte(`{"messages":[{"role":"user","content":[{"text":"Hi"}]}]}`))
	f.Add([]byte(`{"data":{"messages":[{"role":"user","content":[{"toolResult":{"toolUseId":"a","status":"error"}}]}]}}`))
	f.Fuzz(func(t *testing.T, state []byte) {
		title, _ := Title(state)
		if len(title) > 4*MaxTitle+summaryTools*maxName || strings.Contains(title, "\n") {
			t.Errorf("%q", title)
		}
	})
}

// The state is 1 MB of conversation, as in the benchmark of a capture.
func BenchmarkTitle(b *testing.B) {
	var s strings.Builder
	s.WriteString(`{"messages":[`)
	for range 1000 {
		fmt.Fprintf(&s, `{"role":"user","content":[{"text":%q}]},`, strings.Repeat("word ", 200))
	}
	s.WriteString(`{"role":"user","content":"Hi"}],"n":4}`)
	state := []byte(s.String())
	b.SetBytes(int64(len(state)))
	for b.Loop() {
		Title(state)
	}
}
