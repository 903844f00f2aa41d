package scripted

import "encoding/json"

// State is the state of the agent: the release that it prepares, and the
// conversation in the shape in which Strands writes it.
type State struct {
	Release      string            `json:"release"`
	Changes      []string          `json:"changes"`
	Changelog    []string          `json:"changelog"`
	Tests        map[string]string `json:"tests"`
	Branches     []string          `json:"branches"`
	Tag          string            `json:"tag"`
	Announcement string            `json:"announcement"`
	Messages     []Message         `json:"messages"`
}

// Message is one message of the conversation.
type Message struct {
	Role    string  `json:"role"`
	Content []Block `json:"content"`
}

// Block is one of three: a text, a tool call, or the result of one.
type Block struct {
	Text       string      `json:"text,omitempty"`
	ToolUse    *ToolUse    `json:"toolUse,omitempty"`
	ToolResult *ToolResult `json:"toolResult,omitempty"`
}

// ToolUse is a tool call.
type ToolUse struct {
	ID    string          `json:"toolUseId"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// ToolResult is the answer of a tool.
type ToolResult struct {
	ID      string  `json:"toolUseId"`
	Status  string  `json:"status"`
	Content []Block `json:"content"`
}

func (s *State) say(role string, content ...Block) {
	s.Messages = append(s.Messages, Message{role, content})
}

// lastPrompt returns the user's last input, and the number of tool rounds after it. over says that the model
// has answered it, or that the user said nothing.
func (s *State) lastPrompt() (words string, rounds int, over bool) {
	for i := len(s.Messages) - 1; i >= 0; i-- {
		m := s.Messages[i]
		switch {
		case m.answers():
			return "", 0, true
		case m.results():
			rounds++
		case m.Role == "user" && len(m.Content) > 0:
			return m.Content[0].Text, rounds, false
		}
	}
	return "", 0, true
}

// turns returns how many turns are over.
func (s *State) turns() (n int) {
	for i := range s.Messages {
		if s.Messages[i].answers() {
			n++
		}
	}
	return n
}

// answers reports whether the message ends a turn.
func (m *Message) answers() bool {
	for i := range m.Content {
		if m.Content[i].ToolUse != nil {
			return false
		}
	}
	return m.Role == "assistant"
}

// results reports whether the message is that of tools.
func (m *Message) results() bool { return len(m.Content) > 0 && m.Content[0].ToolResult != nil }
