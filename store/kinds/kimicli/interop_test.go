package kimicli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/storetest"
	"hindcast/store/storetest/chattest"
)

// kimi-cli writes a session with a call, and compacts it. From each answer, and from the compaction, a session of Hindcast's own goes on, and the
// model is sent the messages that Hindcast shows, then the prompt.
func TestInterop_kimiCLI(t *testing.T) {
	a := chattest.StartAgent(t, agent.Name)
	t.Setenv("HOME", a.Home)
	const session = "0b6c7f9e-5d0a-4b69-9f0c-0f2ed0f7b901"
	for _, prompt := range []string{`go\ncall: Shell {"command":"echo one"}\n`, "what next", "/compact"} {
		a.Run(t, "kimi --session "+session, strings.ReplaceAll(prompt, `\n`, "\n"))
	}
	chattest.Found(t, Kind(nil).Kind, a.Home)
	s := storetest.AsWriter(storetest.OpenStore(t, Kind(nil).Kind, filepath.Join(a.Home, ".kimi", "sessions")))
	answered := func(h model.Header) bool { return h.Event == model.SnapshotEventTurnEnd || h.EventName == "compaction" }
	forks, _ := storetest.ForkEach(t, s, session, answered, func(t *testing.T, h model.Header, plan model.Plan) {
		if want := "cd " + a.Work + " && kimi --session " + plan.NewSession; plan.Resume[0].Call != want {
			t.Errorf("it goes on by %q, want %q", plan.Resume[0].Call, want)
		}
		words := fmt.Sprintf("what follows %d", h.Index)
		var got []string
		for _, p := range a.Ask(t, plan.Resume[0].Call, words) {
			if p.Is == "call" {
				p.Text = p.Name
			}
			got = append(got, p.Text)
		}
		if want := append(shownTexts(storetest.Messages(t, s, h.Ref())), words); !slices.Equal(got, want) {
			t.Errorf("from #%d %q the model is sent\n%q\nwant\n%q", h.Index, h.Title, got, want)
		}
	})
	if forks != 3 || !slices.ContainsFunc(storetest.Headers(t, s, session), func(h model.Header) bool { return h.EventName == "compaction" }) {
		t.Errorf("%d forks", forks)
	}
}

// shownTexts returns the texts of messages, the texts of a result as one, and the names of calls.
func shownTexts(messages []map[string]any) (list []string) {
	for _, m := range messages {
		for _, b := range m["content"].([]any) {
			block := b.(map[string]any)
			if words, is := block["text"].(string); is {
				list = append(list, words)
			} else if call, is := block["toolUse"].(map[string]any); is {
				list = append(list, call["name"].(string))
			} else if result, is := block["toolResult"].(map[string]any); is {
				text := ""
				for _, part := range result["content"].([]any) {
					text += part.(map[string]any)["text"].(string)
				}
				list = append(list, text)
			}
		}
	}
	return list
}
