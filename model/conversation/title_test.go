package conversation

import (
	"fmt"
	"strings"
	"testing"
)

func TestTitle(t *testing.T) {
	calls := `{"role":"assistant","content":[{"text":"I look."},{"toolUse":{"toolUseId":"a","name":"weather","input":{}}},{"toolUse":{"toolUseId":"b","name":"add","input":{}}}]}`
	bare := `{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"weather","input":{}}}]}`
	results := `{"role":"user","content":[{"toolResult":{"toolUseId":"a","status":"success","content":[]}},{"toolResult":{"toolUseId":"b","status":"error","content":[{"text":"no\n numbers"}]}}]}`
	asks := `{"role":"user","content":[{"text":"Weather\n in  Paris?"}]}`
	says := `{"role":"assistant","content":[{"text":"Rain."}]}`
	genkit := `{"role":"user","content":[{"text":"order water"}]},{"role":"model","content":[{"toolRequest":{"name":"order","ref":"1","input":{}}}]},` +
		`{"role":"tool","content":[{"toolResponse":{"name":"order","ref":"1","output":"ok"}}]},{"role":"model","content":[{"text":"Order updated."}]}`
	long := strings.Repeat(`{"role":"assistant","content":"x"},`, turnMessages)
	for _, c := range []struct {
		name, state         string
		message, step, turn string
		failed              bool
	}{
		{"the user", `{"messages":[` + asks + `]}`, "Weather in Paris?", "Weather in Paris?", "Weather in Paris?", false},
		{"an answer", `{"messages":[` + asks + `,` + says + `]}`, "Rain.", "Weather in Paris?", "Weather in Paris?", false},
		{"plain content, keys before, white space", ` { "n" : [1,{"messages":[]}] , "messages" : [ {"role":"assistant","content":"Hi."} ] } `, "Hi.", "Hi.", "Hi.", false},
		{"calls", `{"messages":[` + asks + `,` + calls + `]}`, "I look. (calls weather, add)", "I look. (calls weather, add)", "Weather in Paris?", false},
		{"calls without a word", `{"messages":[` + bare + `]}`, "calls weather", "calls weather", "calls weather", false},
		{"results", `{"messages":[` + asks + `,` + calls + `,` + results + `]}`, "weather ok, add: no numbers", "weather ok, add: no numbers", "Weather in Paris?", true},
		{"an answer after tools", `{"messages":[` + asks + `,` + calls + `,` + results + `,` + says + `]}`, "Rain.", "Rain.", "Weather in Paris?", false},
		{"the call is far away", `{"messages":[` + calls + strings.Repeat(`,`+says, callMessages) + `,` + results + `]}`, "a ok, b: no numbers", "a ok, b: no numbers", "a ok, b: no numbers", true},
		{"the user is far away", `{"messages":[` + asks + `,` + long + says + `]}`, "Rain.", "Rain.", "Rain.", false},
		{"Genkit", `{"state":{"messages":[` + genkit + `]}}`, "Order updated.", "Order updated.", "order water", false},
		{"a snapshot of Strands", `{"data":{"messages":[{"role":"user","content":[{"text":"Hi"}]}]},"scope":"agent"}`, "Hi", "Hi", "Hi", false},
		{"the root is the list", `[{"role":"user","content":[{"text":"Hi"}]}]`, "Hi", "Hi", "Hi", false},
		{"history", `{"history":[{"role":"user","content":"Hi"}]}`, "Hi", "Hi", "Hi", false},
		{"a failure without a word", `[` + strings.Replace(results, `{"text":"no\n numbers"}`, ``, 1) + `]`, "a ok, b error", "a ok, b error", "a ok, b error", true},
		{"no messages", `{"messages":[]}`, "", "", "", false},
		{"no list", `{"messages":"none","total":4}`, "", "", "", false},
		{"other things in the list", `{"messages":[1,2,3]}`, "", "", "", false},
		{"a number", `4`, "", "", "", false},
		{"nothing", ``, "", "", "", false},
		{"cut off", `{"messages":[{"role":"user","content":"Hi`, "", "", "", false},
		{"many tools", `{"messages":[{"role":"assistant","content":[` + strings.Repeat(`{"toolUse":{"toolUseId":"t","name":"a_tool_with_a_long_name","input":{}}},`, 50) + `{"text":"."}]}]}`,
			". (calls " + strings.Repeat("a_tool_with_a_long_name, ", 5) + "…)", ". (calls " + strings.Repeat("a_tool_with_a_long_name, ", 5) + "…)", ". (calls " + strings.Repeat("a_tool_with_a_long_name, ", 5) + "…)", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for adds, want := range []string{LastMessage: c.message, LastStep: c.step, LastTurn: c.turn} {
				title, failed := Title([]byte(c.state), Span(adds))
				if title != want || failed != c.failed {
					t.Errorf("of span %d: got %q, failed %v, want %q, %v", adds, title, failed, want, c.failed)
				}
			}
		})
	}
}

func TestTitle_hugeLastMessageHasNone(t *testing.T) {
	state := `{"messages":[{"role":"user","content":"` + strings.Repeat("x", maxTail) + `"}]}`
	if title, _ := Title([]byte(state), LastMessage); title != "" {
		t.Errorf("got %d bytes", len(title))
	}
	// The one before it is left out, and does not keep the last from its title.
	state = `{"messages":[{"role":"user","content":"` + strings.Repeat("x", maxTail) + `"},{"role":"user","content":"Hi"}]}`
	if title, _ := Title([]byte(state), LastTurn); title != "Hi" {
		t.Errorf("got %q", title)
	}
}

func TestFailedTurn(t *testing.T) {
	for _, c := range [][3]string{
		{"order water", "no more quota", "order water: no more quota"},
		{"", "no more quota", "no more quota"},
		{"order water", "", "order water"},
		{strings.Repeat("é", 50), "why", strings.Repeat("é", 30) + "…: why"},
	} {
		if got := FailedTurn(c[0], c[1]); got != c[2] {
			t.Errorf("got %q, want %q", got, c[2])
		}
	}
}

func TestOpening(t *testing.T) {
	const system, user = `{"role":"system","content":"Be kind."}`, `{"role":"user","content":[{"text":"Plan a\n trip."}]}`
	for _, c := range []struct{ name, state, want string }{
		{"the first", `{"messages":[` + user + `,{"role":"user","content":"Now!"}]}`, "Plan a trip."},
		{"behind another", `{"messages":[` + system + `,` + user + `]}`, "Plan a trip."},
		{"cut off behind it", `{"messages":[` + user + `,{"role":"assis`, "Plan a trip."},
		{"cut off in it", `{"messages":[` + user[:30], ""},
		{"the list", `[` + user + `]`, "Plan a trip."},
		{"tool results first", `[{"role":"user","content":[{"toolResult":{"toolUseId":"a","status":"success","content":[{"text":"no"}]}}]},` + user + `]`, "Plan a trip."},
		{"none", `{"messages":[` + system + `]}`, ""},
		{"too far away", `[` + strings.Repeat(system+`,`, openingMessages) + user + `]`, ""},
		{"no messages", `{"total":4}`, ""},
	} {
		if got := Opening([]byte(c.state)); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func FuzzTitle(f *testing.F) {
	f.Add([]byte(`{"messages":[{"role":"user","content":[{"text":"Hi"}]}]}`))
	f.Add([]byte(`{"data":{"messages":[{"role":"user","content":[{"toolResult":{"toolUseId":"a","status":"error"}}]}]}}`))
	f.Fuzz(func(t *testing.T, state []byte) {
		for _, adds := range []Span{LastMessage, LastStep, LastTurn} {
			title, _ := Title(state, adds)
			if len(title) > 4*MaxTitle+summaryTools*maxName || strings.Contains(title, "\n") {
				t.Errorf("%q", title)
			}
		}
		if opening := Opening(state); len(opening) > 4*MaxTitle || strings.Contains(opening, "\n") {
			t.Errorf("%q", opening)
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
		Title(state, LastTurn)
	}
}

// A message before the last that cannot be read does not keep the last from having a title.
func TestTail_titleBehindAMessageThatIsDamaged(t *testing.T) {
	var tail Tail
	tail.Add([]byte(`{"role":tool}`))
	tail.Add([]byte(`{"role":"user","content":[{"toolResult":{"toolUseId":"t1","status":"success","content":[{"text":"done"}]}}]}`))
	if title, failed := tail.Title(LastMessage); title == "" || failed {
		t.Errorf("title %q, failed %v", title, failed)
	}
}
