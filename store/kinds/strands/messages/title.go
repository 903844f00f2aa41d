package messages

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"hindcast/model/conversation"
)

const (
	maxText = 200 // bytes of a text that are looked at for a title
	maxName = 40  // bytes of a role, a status or the name of a tool

	blankLabel = "[blank text]" // what the SDK sends for a text that has nothing but spaces
)

// title returns one line on what happened, in the words of package conversation: "Weather in Paris?",
// `get_weather {city: "Paris"}`, `get_weather {city: "Paris"}  no such city`. asked are the tool calls of the message
// before, which the results may answer.
func (m *message) title(asked []call) string {
	if m.said != "" || len(m.results) == 0 {
		return m.said
	}
	var acts conversation.Acts
	for _, r := range m.results {
		act := conversation.Act{Text: nameOf("", r.id)}
		if i := slices.IndexFunc(asked, func(c call) bool { return c.id == r.id }); i >= 0 {
			act = asked[i].act
		}
		acts.Add(act.Text, act.Outcome(r.yield), r.yield.Failed)
	}
	return acts.Title()
}

// asks reports whether the user says something in the message besides tool results.
func (m *message) asks() bool {
	return m.whole && m.role == "user" && len(m.results) == 0 && len(m.calls) == 0
}

// say returns the title of a message that does not depend on another; "" for tool
// results.
func (d *decoder) say(m *message) string {
	switch {
	case len(m.flaws) > 0 && !m.whole:
		return conversation.Cut(m.name+": "+m.flaws[0].meaning, conversation.MaxTitle)
	case len(m.calls) > 0:
		d.line = appendOneLine(d.line[:0], d.text, conversation.MaxTitle)
		return conversation.Calls(string(d.line), conversation.JoinActs(m.acts()))
	case len(m.results) > 0:
		return ""
	}
	if d.line = appendOneLine(d.line[:0], d.text, conversation.MaxTitle); len(d.line) == 0 {
		d.line = append(d.line, d.label...)
	}
	return string(cutBytes(d.line, conversation.MaxTitle))
}

// appendOneLine appends a text as conversation.OneLine returns it, until there are
// more than limit bytes.
func appendOneLine(dst, text []byte, limit int) []byte {
	start, between := len(dst), false
	for i := 0; i < len(text) && len(dst) <= limit; {
		c, size, space := text[i], 1, false
		if c < utf8.RuneSelf {
			space = c == ' ' || '\t' <= c && c <= '\r'
		} else {
			var r rune
			r, size = utf8.DecodeRune(text[i:])
			space = unicode.IsSpace(r)
		}
		if space {
			between = len(dst) > start
		} else {
			if between {
				dst, between = append(dst, ' '), false
			}
			dst = append(dst, text[i:i+size]...)
		}
		i += size
	}
	return dst
}

// cutBytes is cut of bytes that may be written to.
func cutBytes(text []byte, limit int) []byte {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return append(text[:limit], "…"...)
}

// acts describes the calls of the message.
func (m *message) acts() []string {
	acts := make([]string, len(m.calls))
	for i := range m.calls {
		acts[i] = m.calls[i].act.Text
	}
	return acts
}

func nameOf(name, id string) string {
	if name == "" {
		return conversation.Cut(conversation.OneLine(id), maxName)
	}
	return conversation.OneLine(name)
}
