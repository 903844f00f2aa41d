package conversation

import (
	"bytes"
	"strings"

	"hindcast/model/jsontape"
)

const (
	// MaxTitle bounds a title in bytes, give or take a name.
	MaxTitle = 120
	// tailMessages is how many of the last messages a title needs: those that
	// called the tools whose results came last.
	tailMessages = 8
	maxTail      = 1 << 20 // bytes of those messages
)

// Title gives one line on what a state ends with, from its last message:
// "user: Weather in Paris?", "assistant → get_weather, add", or
// "tool get_weather → ok"; and whether a tool failed there. It is "" for a state
// without messages in one of the usual places, and for a last message of more
// than a megabyte. The line is untrusted.
//
// A store asks for it at every capture, so it does not read the state: it skips
// to the last messages, at some gigabytes a second, and decodes only those.
func Title(state []byte) (title string, failed bool) {
	tail := lastMessages(state)
	if tail == nil {
		return "", false
	}
	tape, _, err := jsontape.ParseTolerant(tail)
	if err != nil {
		return "", false
	}
	c := Decode(tape)
	if c.Len() == 0 {
		return "", false
	}
	return c.title(c.Len() - 1)
}

func (c *Conversation) title(m int) (title string, failed bool) {
	var calls, results []string
	blocks := c.Blocks(m)
	for i := range blocks {
		b := &blocks[i]
		switch b.Kind {
		case ToolCall:
			calls = append(calls, c.ToolName(b))
		case ToolResult:
			failed = failed || b.Status == Failed
			result := c.ToolName(b)
			if status := b.Status.String(); status != "" {
				result += " → " + status
			}
			results = append(results, result)
		}
	}
	role := c.RoleText(m)
	switch {
	case len(calls) > 0:
		return role + " → " + List(calls, OneLine), false
	case len(results) > 0:
		return "tool " + List(results, OneLine), failed
	}
	said := c.AppendSummary([]byte(role+": "), m, MaxTitle, "→")
	return OneLine(string(said)), false
}

// List joins what text says of each item, as far as a title has room.
func List[T any](items []T, text func(T) string) string {
	var line strings.Builder
	for i, item := range items {
		if i > 0 {
			line.WriteString(", ")
		}
		if line.Len() > MaxTitle {
			line.WriteString("…")
			break
		}
		line.WriteString(text(item))
	}
	return line.String()
}

// OneLine puts single spaces where there is white space.
func OneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// lastMessages gives a list of the last messages of a state that is valid JSON,
// as a document of its own; nil if it has none.
func lastMessages(state []byte) []byte {
	for _, place := range usualPlaces {
		at, ok := 0, true
		for _, key := range place {
			if at, ok = valueOf(state, at, key); !ok {
				break
			}
		}
		if !ok {
			continue
		}
		if tail := lastElements(state, at); tail != nil {
			return tail
		}
	}
	return nil
}

// space gives the first byte from off that is no white space, 0 at the end.
func space(data []byte, off int) (at int, c byte) {
	for off < len(data) {
		switch data[off] {
		case ' ', '\t', '\n', '\r':
			off++
		default:
			return off, data[off]
		}
	}
	return off, 0
}

// valueOf gives where the value of a key begins in the object at off.
func valueOf(data []byte, off int, key string) (at int, ok bool) {
	at, c := space(data, off)
	if c != '{' {
		return 0, false
	}
	for {
		at, c = space(data, at+1)
		if c != '"' {
			return 0, false
		}
		end := jsontape.StringEnd(data, at)
		if end < 0 {
			return 0, false
		}
		found := string(data[at+1:end-1]) == key
		if at, c = space(data, end); c != ':' {
			return 0, false
		}
		if found {
			return at + 1, true
		}
		after, err := jsontape.Skip(data, at+1)
		if err != nil {
			return 0, false
		}
		if at, c = space(data, after); c != ',' {
			return 0, false
		}
	}
}

// lastElements gives a list of the last elements of the array at off, nil if
// there is none or the last is too large.
func lastElements(data []byte, off int) []byte {
	if _, c := space(data, off); c != '[' {
		return nil
	}
	var starts [tailMessages]int
	n, end := 0, 0
	for m, err := range jsontape.Members(data[off:]) {
		if err != nil {
			return nil
		}
		starts[n%tailMessages] = off + m.Offset
		end = off + m.Offset + len(m.Value)
		n++
	}
	for k := min(n, tailMessages); k > 0; k-- {
		if start := starts[(n-k)%tailMessages]; end-start <= maxTail {
			return bytes.Join([][]byte{{'['}, data[start:end], {']'}}, nil)
		}
	}
	return nil
}
