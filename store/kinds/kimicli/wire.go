package kimicli

import (
	"path"

	"hindcast/model/conversation"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/files"
)

// wireFile has the events of the turns of a session, as kimi-cli showed them (kimi_cli/wire/types.py 1.51.0). It is read
// where nothing else is left.
const wireFile = "wire.jsonl"

// isWire reports whether a file is one of events.
func isWire(file string) bool { return path.Base(file) == wireFile }

// isWireHead reports whether the first line of a file begins one of events. Kimi Code notes a time in its own.
func isWireHead(first chat.Value) bool {
	return first.Get("type").Text() == "metadata" && first.Get("protocol_version").There() && !first.Get("created_at").There()
}

// wireMessage returns the message of an event, without blocks where it says nothing.
func wireMessage(v chat.Value) chat.Message {
	m, of := chat.Message{Role: chat.Assistant, Raw: [][]byte{v.Raw()}}, v.Get("message", "payload")
	switch v.Get("message", "type").Text() {
	case "TurnBegin", "SteerInput":
		m.Role = chat.User
		if m.AddContent(of.Get("user_input")); m.Blocks == nil && of.Get("user_input").There() {
			m.Blocks = []chat.Block{{Kind: conversation.Unknown, Body: of.Get("user_input").Raw()}}
		}
	case "ContentPart":
		m.Blocks = []chat.Block{partBlock(of)}
	case "ToolCall":
		m.Blocks = []chat.Block{callBlock(of)}
	case "ToolResult":
		result := of.Get("return_value")
		m.Role, m.Blocks = chat.Tool, []chat.Block{{Kind: conversation.ToolResult, ID: of.Get("tool_call_id").Text(), Body: result.Raw(), Failed: result.Get("is_error").True()}}
	}
	return m
}

// joinAnswers says of each event of an answer that more of it comes.
func joinAnswers(s *chat.Session) {
	for i := range s.Entries[:max(len(s.Entries)-1, 0)] {
		s.Entries[i].GoesOn = s.Entries[i].Said.Role == chat.Assistant && s.Entries[i+1].Said.Role == chat.Assistant
	}
}

// listAgents returns the sub-agents of a session whose events are in a file of their own.
func listAgents(in engine.In, at chat.Spot) (list []string) {
	dir := path.Join(path.Dir(at.File), agentsDir)
	names, _ := in.List(dir) // without it the events count here
	for _, name := range names {
		file, err := in.Stamp(path.Join(dir, name, wireFile))
		if err == nil && file.Kind != files.Nothing {
			list = append(list, name)
		}
	}
	return list
}
