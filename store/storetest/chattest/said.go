package chattest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// Converse is the API whose roles alternate, and whose messages Strands has.
const Converse = "converse"

// Said is a part of a request to a model, in one form for all APIs.
type Said struct {
	// Is is "user", "assistant", "call", "result" or "picture".
	Is string
	// ID joins a call and its result, "" where the API has no ids. Name is the tool of a call.
	ID, Name string
	// Text is the text, the result, or the input of a call as compact JSON with sorted keys.
	Text string
}

// String returns the part on a line.
func (s Said) String() string {
	return strings.Join(strings.Fields(strings.Join([]string{s.Is, s.ID, s.Name, s.Text}, " ")), " ")
}

// ReadSaid returns the parts of a request of an API without system prompts, false for a request that asks for no answer
// to a conversation. It fails the test where the request breaks a rule of the provider: a call without a result, a result
// without a call, a message without content, or, where roles must alternate, one speaker twice.
func ReadSaid(t testing.TB, api string, body []byte) (list []Said, is bool) {
	t.Helper()
	var request struct {
		Messages, Input, Contents []message
		Tools                     []json.RawMessage
	}
	if err := json.Unmarshal(body, &request); err != nil {
		t.Fatal(err)
	}
	if len(request.Tools) == 0 { // it asks for a title
		return nil, false
	}
	last := ""
	for i, m := range append(append(request.Messages, request.Input...), request.Contents...) {
		parts, role := m.parts(t, api)
		switch {
		case role == "system" || role == "developer" || role == "reasoning":
			continue
		case len(parts) == 0:
			t.Errorf("message %d of the request has no content: %.300s", i, body)
		case (api == "gemini" || api == Converse) && role == last:
			t.Errorf("message %d of the request is of %s again", i, role)
		}
		list, last = append(list, parts...), role
	}
	checkPairs(t, list, api)
	return list, true
}

// checkPairs fails the test where results do not follow the calls that they are of, before anything else is said.
func checkPairs(t testing.TB, list []Said, api string) {
	t.Helper()
	open := map[string]int{}
	for i, s := range list {
		switch s.Is {
		case "call":
			open[s.ID]++
		case "result":
			if open[s.ID]--; open[s.ID] < 0 {
				t.Errorf("part %d of the request is the result of no call: %v", i, s)
			} else if open[s.ID] == 0 {
				delete(open, s.ID)
			}
		case "user":
			if len(open) > 0 {
				t.Errorf("part %d of the request stands where the results of %v are missing: %v", i, open, s)
				open = map[string]int{}
			}
		}
	}
	if len(open) > 0 {
		t.Errorf("at the end of the request the results of %v are missing", open)
	}
}

// message is a message of any of the APIs.
type message struct {
	Role, Type string
	Content    json.RawMessage
	Parts      []part
	Calls      []struct {
		ID       string
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
	ToolCallID        string `json:"tool_call_id"`
	CallID            string `json:"call_id"`
	Name, Arguments   string
	Output            json.RawMessage
	ReasoningContents string `json:"reasoning_content"`
}

type part struct {
	Type, Text, ID, Name string
	Thought              bool
	Input                json.RawMessage
	ToolUseID            string `json:"tool_use_id"`
	Content              json.RawMessage
	FunctionCall         *struct {
		ID, Name string
		Args     json.RawMessage
	}
	FunctionResponse *struct {
		ID, Name string
		Response map[string]any
	}
	InlineData *struct{ MimeType string }
	// Those of Bedrock's Converse, as Strands has them.
	ToolUse *struct {
		ID    string `json:"toolUseId"`
		Name  string
		Input json.RawMessage
	}
	ToolResult *struct {
		ID      string `json:"toolUseId"`
		Content json.RawMessage
	}
	Image json.RawMessage
}

// parts returns the parts of a message, and its role in Anthropic's words.
func (m *message) parts(t testing.TB, api string) (list []Said, role string) {
	t.Helper()
	role = m.Role
	switch {
	case m.Type == "function_call":
		return []Said{{"call", m.CallID, m.Name, sorted(t, []byte(m.Arguments))}}, "assistant"
	case m.Type == "function_call_output":
		return []Said{{"result", m.CallID, "", textIn(m.Output)}}, "user"
	case m.Type != "" && m.Type != "message":
		return nil, m.Type
	case role == "model":
		role = "assistant"
	case role == "tool":
		return []Said{{"result", m.ToolCallID, "", textIn(m.Content)}}, "user"
	}
	parts := m.Parts
	var words string
	if json.Unmarshal(m.Content, &words) == nil && words != "" {
		parts = append(parts, part{Text: words})
	} else if len(m.Content) > 0 && m.Content[0] == '[' {
		if err := json.Unmarshal(m.Content, &parts); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range parts {
		switch {
		case p.Thought:
		case p.Type == "tool_use":
			list = append(list, Said{"call", p.ID, p.Name, sorted(t, p.Input)})
		case p.Type == "tool_result":
			list = append(list, Said{"result", p.ToolUseID, "", textIn(p.Content)})
		case p.ToolUse != nil:
			list = append(list, Said{"call", p.ToolUse.ID, p.ToolUse.Name, sorted(t, p.ToolUse.Input)})
		case p.ToolResult != nil:
			list = append(list, Said{"result", p.ToolResult.ID, "", textIn(p.ToolResult.Content)})
		case p.FunctionCall != nil:
			list = append(list, Said{"call", p.FunctionCall.ID, p.FunctionCall.Name, sorted(t, p.FunctionCall.Args)})
		case p.FunctionResponse != nil:
			text := ""
			for _, value := range p.FunctionResponse.Response {
				text += fmt.Sprint(value)
			}
			list = append(list, Said{"result", p.FunctionResponse.ID, "", text})
		case p.InlineData != nil, p.Image != nil, p.Type == "image", p.Type == "image_url", p.Type == "input_image":
			list = append(list, Said{Is: "picture"})
		default:
			if p.Text == "" {
				t.Errorf("a text of the request is empty: %+v", m)
			}
			list = append(list, Said{role, "", "", p.Text})
		}
	}
	for _, c := range m.Calls {
		list = append(list, Said{"call", c.ID, c.Function.Name, sorted(t, []byte(c.Function.Arguments))})
	}
	return list, role
}

// textIn returns a text, or the texts of a list of parts.
func textIn(raw json.RawMessage) (text string) {
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct{ Text string }
	_ = json.Unmarshal(raw, &parts) // anything else is as it stands
	for _, p := range parts {
		text += p.Text
	}
	return text
}

// sorted returns a JSON value compact, with sorted keys.
func sorted(t testing.TB, raw []byte) string {
	t.Helper()
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		t.Fatalf("the input of a call is no JSON: %.200s", raw)
	}
	var text bytes.Buffer
	to := json.NewEncoder(&text)
	to.SetEscapeHTML(false)
	_ = to.Encode(value) // it was JSON
	return strings.TrimSpace(text.String())
}
