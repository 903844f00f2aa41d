package conversation

import (
	"fmt"
	"strings"
	"testing"

	"hindcast/model/jsontape"
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
		{"calls", `{"messages":[` + asks + `,` + calls + `]}`, "I look. (weather · add)", "I look. (weather · add)", "Weather in Paris?", false},
		{"without a word", `{"messages":[` + bare + `]}`, "weather", "weather", "weather", false},
		{"results", `{"messages":[` + asks + `,` + calls + `,` + results + `]}`, "add  no · weather  ok", "add  no · weather  ok", "Weather in Paris?", true},
		{"an answer after tools", `{"messages":[` + asks + `,` + calls + `,` + results + `,` + says + `]}`, "Rain.", "Rain.", "Weather in Paris?", false},
		{"the call is far away", `{"messages":[` + calls + strings.Repeat(`,`+says, callMessages) + `,` + results + `]}`, "b  no · a  ok", "b  no · a  ok", "b  no · a  ok", true},
		{"the user is far away", `{"messages":[` + asks + `,` + long + says + `]}`, "Rain.", "Rain.", "Rain.", false},
		{"Genkit", `{"state":{"messages":[` + genkit + `]}}`, "Order updated.", "Order updated.", "order water", false},
		{"a snapshot of Strands", `{"data":{"messages":[{"role":"user","content":[{"text":"Hi"}]}]},"scope":"agent"}`, "Hi", "Hi", "Hi", false},
		{"the root is the list", `[{"role":"user","content":[{"text":"Hi"}]}]`, "Hi", "Hi", "Hi", false},
		{"history", `{"history":[{"role":"user","content":"Hi"}]}`, "Hi", "Hi", "Hi", false},
		{"a failure without a word", `[` + strings.Replace(results, `{"text":"no\n numbers"}`, ``, 1) + `]`, "b  failed · a  ok", "b  failed · a  ok", "b  failed · a  ok", true},
		{"a failure behind other parts", `[` + strings.Replace(results, `{"text":"no\n numbers"}`, `{"image":{}},{"text":" "},{"text":"no numbers"}`, 1) + `]`, "b  no numbers · a  ok", "b  no numbers · a  ok", "b  no numbers · a  ok", true},
		{"more than fits", `[{"role":"assistant","content":[{"text":"` + strings.Repeat("x", MaxTitle) + `"},{"text":"y"},{"text":"z"}]}]`, strings.Repeat("x", MaxTitle) + "…", strings.Repeat("x", MaxTitle) + "…", strings.Repeat("x", MaxTitle) + "…", false},
		{"a tag in an answer", `[{"role":"assistant","content":"<task>x</task> is open"}]`, "<task>x</task> is open", "<task>x</task> is open", "<task>x</task> is open", false},
		{"LangChain", `[` + lcUser + `,` + lcText + `]`, "t", "u", "u", false},
		{"two texts", `[{"role":"assistant","content":[{"text":"x"},{"text":"y"}]}]`, "x y", "x y", "x y", false},
		{"no messages", `{"messages":[]}`, "", "", "", false},
		{"no colon before the list", `{"messages" [` + asks + `]}`, "", "", "", false},
		{"no list", `{"messages":"none","total":4}`, "", "", "", false},
		{"other things in the list", `{"messages":[1,2,3]}`, "", "", "", false},
		{"a number", `4`, "", "", "", false},
		{"nothing", ``, "", "", "", false},
		{"cut off", `{"messages":[{"role":"user","content":"Hi`, "", "", "", false},
		{"cut off behind a message", `{"messages":[` + asks + `,{"role":`, "", "", "", false},
		{"many tools", `{"messages":[{"role":"assistant","content":[` + strings.Repeat(`{"toolUse":{"toolUseId":"t","name":"a_tool_with_a_long_name","input":{}}},`, 50) + `{"text":"."}]}]}`,
			". (" + strings.Repeat("a_tool_with_a_long_name · ", 4) + "a_tool_w…)", ". (" + strings.Repeat("a_tool_with_a_long_name · ", 4) + "a_tool_w…)", ". (" + strings.Repeat("a_tool_with_a_long_name · ", 4) + "a_tool_w…)", false},
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

func TestTail_last(t *testing.T) {
	var tail Tail
	if title, failed := tail.Title(LastTurn); title != "" || failed || tail.Last() != nil || tail.Decode() != nil {
		t.Errorf("title %q, failed %v, last %s", title, failed, tail.Last())
	}
	for i := range 2 * turnMessages {
		tail.Add([]byte(fmt.Sprint(i)))
		if got := string(tail.Last()); got != fmt.Sprint(i) {
			t.Errorf("the last message is %s, not %d", got, i)
		}
	}
}

// A session is called by the first prompt, else a command to the program, else an answer, else what the
// program wrote for the user; never by what a tool gave.
func TestOpenings(t *testing.T) {
	const (
		wrapped = `{"role":"user","content":"<environment_context>x</environment_context>"}`
		command = `{"role":"user","content":"/model opus"}`
		answer  = `{"role":"assistant","content":"Hello"}`
		system  = `{"role":"system","content":"Be kind."}`
		prompt  = `{"role":"user","content":"list"}`
		result  = `{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[]}},{"text":"ran"}]}`
	)
	for list, want := range map[string]string{
		"": "", system: "", result: "",
		wrapped + "," + system: "x",
		wrapped + "," + answer: "Hello",
		answer + "," + command: "/model opus",
		command + "," + result + "," + prompt + `,{"role":"user","content":"and on"}`: "list",
	} {
		var o Openings
		c := recordOf(t, `{"messages":[`+list+`]}`)
		for m := range c.Len() {
			o.AddMessage(c, m)
		}
		if o.Title() != want || o.HasPrompt() != (want == "list") {
			t.Errorf("%s: %q, want %q", list, o.Title(), want)
		}
	}
}

func TestPromptTitle(t *testing.T) {
	for text, want := range map[string]string{
		"Plan a\n trip.": "Plan a trip.",
		"<system-reminder>x</system-reminder>\nlist": "list",
		"<task>x": "x",
		"<system-reminder>x  y</system-reminder>": "x y",
		strings.Repeat("é", MaxTitle):             strings.Repeat("é", MaxTitle/2) + "…",
		"x" + strings.Repeat("é", MaxTitle):       "x" + strings.Repeat("é", MaxTitle/2-1) + "…",
		strings.Repeat("x", MaxTitle):             strings.Repeat("x", MaxTitle),
	} {
		if got := PromptTitle(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// A text that was cut has one ellipsis where it is cut again, or goes on in another block.
func TestCut_onceIsEnough(t *testing.T) {
	if got := Cut("foll… (ls)", len("foll…")); got != "foll…" {
		t.Errorf("%q", got)
	}
	long := strings.Repeat("a ", MaxTitle)
	title, _ := Title([]byte(`{"messages":[{"role":"user","content":[{"text":"`+long+`"},{"text":"b"}]}]}`), LastMessage)
	if strings.Count(title, "…") != 1 {
		t.Errorf("%q", title)
	}
}

func TestIsPrompt(t *testing.T) {
	for _, c := range []struct {
		content string
		want    bool
	}{
		{`"fix it"`, true},
		{`[{"type":"text","text":"fix it"},{"type":"image","source":{}}]`, true},
		{`[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aaaa"}}]`, true},
		{`""`, true},
		{`[{"type":"text","text":" \n"}]`, true},
		{`"[Request interrupted by user]"`, false},
		{`"<system-reminder>now</system-reminder>"`, false},
		{`"/model opus"`, false},
		{`[{"type":"tool_result","tool_use_id":"a","content":"ok"}]`, false},
	} {
		tape, err := jsontape.Parse([]byte(`{"messages":[{"role":"user","content":` + c.content + `}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := Decode(tape).IsPrompt(0); got != c.want {
			t.Errorf("%s: a prompt is %t", c.content, got)
		}
	}
}
