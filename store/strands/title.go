package strands

import (
	"encoding/json"

	"hindcast/model/conversation"
)

const (
	maxText = 200 // bytes of a text that are looked at for a title
	maxName = 40  // bytes of a role, a status or the name of a tool
)

// title gives one line on what happened: "user: Weather in Paris?",
// "assistant → get_weather, add", "tool get_weather → error". asked are the
// tool calls that the results may answer.
func (m *message) title(asked []call) string {
	switch {
	case len(m.flaws) > 0 && !m.whole:
		return cut(m.name+": "+m.flaws[0].meaning, conversation.MaxTitle)
	case len(m.calls) > 0:
		return m.role + " → " + conversation.List(m.calls, func(c call) string { return nameOf(c.name, c.id) })
	case len(m.results) > 0:
		return "tool " + conversation.List(m.results, func(r result) string { return toolName(asked, r.id) + " → " + status(r.status) })
	}
	said := conversation.OneLine(m.text)
	if said == "" {
		said = m.label
	}
	return cut(m.role+": "+said, conversation.MaxTitle)
}

// toolName gives the name of the tool that a result is of, or else its id.
func toolName(asked []call, id string) string {
	for _, c := range asked {
		if c.id == id {
			return nameOf(c.name, id)
		}
	}
	return nameOf("", id)
}

func nameOf(name, id string) string {
	if name == "" {
		return cut(conversation.OneLine(id), maxName)
	}
	return conversation.OneLine(name)
}

// status gives the status of a tool result in a word.
func status(s string) string {
	switch s {
	case "success":
		return "ok"
	case "":
		return "no status"
	}
	return conversation.OneLine(s)
}

// appendString appends a text of Hindcast's own, or the name of a file, as a
// JSON string.
func appendString(dst []byte, text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string is always marshalled
	}
	return append(dst, quoted...)
}
