package chattest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// SentParts returns the parts of the messages of a request to an API of OpenAI's kind, a line for each, without the
// system prompt and what matches added, the text that the agent adds at each start; nil matches nothing.
func SentParts(t testing.TB, body []byte, added *regexp.Regexp) (list []string) {
	t.Helper()
	var of struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
			Calls   []struct{ Function struct{ Name string } } `json:"tool_calls"`
		}
	}
	if err := json.Unmarshal(body, &of); err != nil {
		t.Fatal(err)
	}
	for _, m := range of.Messages {
		var parts []struct{ Text string }
		var text string
		if json.Unmarshal(m.Content, &text) == nil && text != "" {
			parts = append(parts, struct{ Text string }{text})
		} else {
			_ = json.Unmarshal(m.Content, &parts) // null is none
		}
		for _, p := range parts {
			if added != nil {
				p.Text = added.ReplaceAllString(p.Text, "")
			}
			if text := strings.TrimSpace(p.Text); text != "" && m.Role != "system" {
				list = append(list, m.Role+" "+text)
			}
		}
		for _, c := range m.Calls {
			list = append(list, "call "+c.Function.Name)
		}
	}
	return list
}

// ShownParts returns the same of the messages of a state.
func ShownParts(messages []map[string]any) (list []string) {
	for _, m := range messages {
		for _, b := range m["content"].([]any) {
			block := b.(map[string]any)
			if words, is := block["text"].(string); is {
				list = append(list, fmt.Sprintf("%s %s", m["role"], strings.TrimSpace(words)))
			} else if call, is := block["toolUse"].(map[string]any); is {
				list = append(list, fmt.Sprintf("call %s", call["name"]))
			} else if result, is := block["toolResult"].(map[string]any); is {
				list = append(list, fmt.Sprintf("tool %s", strings.TrimSpace(result["content"].([]any)[0].(map[string]any)["text"].(string))))
			}
		}
	}
	return list
}
