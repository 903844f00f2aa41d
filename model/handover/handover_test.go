package handover

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
)

// talkOf hands over messages in Strands' form, and returns the parts a line each, "u" of the user and "a" of the assistant.
func talkOf(t *testing.T, messages string) (lines []string, talk *Talk) {
	t.Helper()
	tape, err := jsontape.Parse([]byte(`{"messages":` + messages + `}`))
	if err != nil {
		t.Fatal(err)
	}
	talk = New(&Source{Conversation: conversation.Decode(tape), Kind: "claude-code", At: func(int) time.Time { return time.Time{} }}, "codex")
	for _, m := range talk.Messages {
		who := "u"
		if m.Assistant {
			who = "a"
		}
		for _, p := range m.Parts {
			switch p.Kind {
			case Call:
				lines = append(lines, fmt.Sprintf("%s call %s %s %s", who, p.ID, p.Tool, p.Input))
			case Result:
				lines = append(lines, fmt.Sprintf("%s result %s %s %v", who, p.ID, p.Text, p.Failed))
			case Picture:
				lines = append(lines, who+" picture "+p.Picture.Format)
			default:
				lines = append(lines, who+" "+p.Text)
			}
		}
	}
	return lines, talk
}

const (
	ask   = `{"role":"user","content":[{"text":"go"}]}`
	call  = `{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"Bash","input":{"command":"ls"}}}]}`
	other = `{"role":"assistant","content":[{"toolUse":{"toolUseId":"b","name":"x","input":"raw"}}]}`
	gives = `{"role":"user","content":[{"toolResult":{"toolUseId":"a","status":"error","content":[{"text":"one"}]}}]}`
	more  = `{"role":"user","content":[{"toolResult":{"toolUseId":"b","status":"success","content":[]}}]}`
	// within is an answer with all that happened in it.
	within = `{"role":"assistant","parts":[{"type":"text","text":"I look"},{"type":"tool-Bash","toolCallId":"a","state":"output-available","input":{"command":"ls"},"output":"one"},{"type":"text","text":"done"}]}`
	says   = `{"role":"assistant","content":[{"text":"done"}]}`
)

func TestNew_isInTheOrderThatProvidersTake(t *testing.T) {
	callA, callB := `a call a exec_command {"cmd":"ls"}`, `a call b x {"input":"raw"}`
	for _, c := range []struct {
		name     string
		messages []string
		want     []string
	}{
		{"a result behind its call", []string{ask, call, gives, says}, []string{"u go", callA, "u result a one true", "a done"}},
		{"calls in messages of their own", []string{ask, call, other, more, gives, says}, []string{"u go", callA, callB, "u result a one true", "u result b (no output) false", "a done"}},
		{"a call behind the result of another", []string{ask, call, gives, other, more}, []string{"u go", callA, "u result a one true", callB, "u result b (no output) false"}},
		{"the user spoke over it", []string{ask, call, ask, gives}, []string{"u go", callA, "u result a one true", "u go"}},
		{"no result at the end", []string{ask, call}, []string{"u go", callA, "u result a " + noResult + " false"}},
		{"no result in the middle", []string{ask, call, ask, says}, []string{"u go", callA, "u result a " + noResult + " false", "u go", "a done"}},
		{"an answer first", []string{says, ask}, []string{"u " + noWords, "a done", "u go"}},
		{"a result of nothing", []string{ask, gives}, []string{"u go", "u [result of a call that is not here a]\none"}},
		{"an id again", []string{ask, call, gives, call, gives}, []string{"u go", callA, "u result a one true", `a call ID exec_command {"cmd":"ls"}`, "u result ID one true"}},
		{"a result within the answer", []string{ask, within}, []string{"u go", "a I look", `a call a exec_command {"cmd":"ls"}`, "u result a one false", "a done"}},
		{"blank", []string{`{"role":"user","content":[{"text":" "}]}`, ask, says}, []string{"u go", "a done"}},
		{"nothing", nil, nil},
	} {
		got, talk := talkOf(t, "["+strings.Join(c.messages, ",")+"]")
		for i := range got {
			for _, m := range talk.Messages {
				for _, p := range m.Parts {
					if strings.HasPrefix(p.ID, "call_") {
						got[i] = strings.Replace(got[i], p.ID, "ID", 1)
					}
				}
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestNew_counts(t *testing.T) {
	_, talk := talkOf(t, `[{"role":"system","content":"be good"},{"role":"user","content":[{"text":"<system-reminder>x</system-reminder>"},{"text":"look"}]},
		{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"hm"}}},{"toolUse":{"toolUseId":"a b","name":"Bash","input":{"command":"ls"}}}]}]`)
	talk.Agents = []string{"explorer"}
	for _, c := range [][2]string{
		{talk.Goes(), "3 messages: 1 text, 1 call"},
		{talk.Changes(), "changed: 1 call of Bash to exec_command, 1 new id, 1 call without a result: a note stands for it"},
		{talk.Stays(), "stays behind: 1 thought, 1 text that the agent adds by itself, 1 system prompt, 1 sub-agent (explorer)"},
	} {
		if c[0] != c[1] {
			t.Errorf("%q, want %q", c[0], c[1])
		}
	}
}
