package genkit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"hindcast/model/jsontape"
)

// newRow is a row that Hindcast writes: a finished state under an id of its own,
// as the SDK of the layout would have written it.
type newRow struct {
	id string
	// session is the session's id as JSON, byte for byte as the other rows have it.
	session []byte
	parent  string // "" for none
	created string
	finish  string // "" for none
	// state is the state as JSON, indented as it is in a row, or nil.
	state []byte
}

// encodeRow writes a row. Every SDK indents by two spaces and ends without a
// newline. The order of the members is that of the SDK; of Go it is the alphabet.
//
// There is no member besides those of the SDKs: Go drops any other when it
// rewrites a row, and Python takes no row that has one. That Hindcast wrote it is
// told by the journal.
func (n *newRow) encodeRow(l layout) []byte {
	at := l.quoteText(n.created)
	finish, parent := l.optional(n.finish), l.optional(n.parent)
	if l == layoutPython {
		parent = l.quoteText(n.parent) // it writes "" for none
	}
	type member struct {
		key   string
		value []byte
	}
	id, status := member{"snapshotId", l.quoteText(n.id)}, member{"status", l.quoteText(statusCompleted)}
	created, updated := member{"createdAt", at}, member{"updatedAt", at}
	session, state := member{"sessionId", n.session}, member{"state", n.state}
	var members []member
	switch l {
	case layoutGo:
		members = []member{created, {"finishReason", finish}, {"parentId", parent}, session, id, state, status, updated}
	case layoutJS:
		members = []member{id, session, created, updated, state, {"parentId", parent}, status, {"finishReason", finish}}
	case layoutPython:
		members = []member{id, session, {"parentId", parent}, created, status, {"finishReason", finish}, state}
	}
	text := []byte("{")
	for _, m := range members {
		if m.value == nil {
			continue
		}
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = append(text, "\n  \""...)
		text = append(text, m.key...)
		text = append(text, "\": "...)
		text = append(text, m.value...)
	}
	return append(text, "\n}"...)
}

func (l layout) optional(text string) []byte {
	if text == "" {
		return nil
	}
	return l.quoteText(text)
}

// quoteText writes a string as the SDK does: Go alone escapes <, > and &.
func (l layout) quoteText(text string) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(l == layoutGo)
	if err := enc.Encode(text); err != nil { // a string always can be
		return []byte(`""`)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// newPointer writes the pointer to a row. Python has no pointers.
func (l layout) newPointer(id, created string, now time.Time) []byte {
	if l == layoutGo {
		return fmt.Appendf(nil, "{\n  \"currentSnapshotId\": %s,\n  \"currentCreatedAt\": %s,\n  \"updatedAt\": %s\n}",
			l.quoteText(id), l.quoteText(created), l.quoteText(now.UTC().Format(time.RFC3339Nano)))
	}
	return fmt.Appendf(nil, "{\n  \"currentSnapshotId\": %s,\n  \"updatedAt\": %s\n}", l.quoteText(id), l.quoteText(l.formatTime(now, nil)))
}

const (
	timeJS     = "2006-01-02T15:04:05.000Z"
	timePython = "2006-01-02T15:04:05.000000-07:00"
)

// timeTick is the least difference between two times that the SDK writes.
func (l layout) timeTick() time.Duration {
	switch l {
	case layoutJS:
		return time.Millisecond
	case layoutPython:
		return time.Microsecond
	}
	return time.Nanosecond
}

// formatTime writes a time as the SDK does. Go writes that of its own zone, which is
// taken from another row.
func (l layout) formatTime(t time.Time, like *row) string {
	switch l {
	case layoutJS:
		return t.UTC().Format(timeJS)
	case layoutPython:
		return t.UTC().Format(timePython)
	}
	t = t.UTC()
	if like != nil && !like.created.at.IsZero() && !strings.HasSuffix(like.created.text, "Z") {
		_, offset := like.created.at.Zone()
		t = t.In(time.FixedZone("", offset))
	}
	return t.Format(time.RFC3339Nano)
}

// timeAfterAll returns the time of a row that has to come after all others of the
// session, for every way in which the SDK compares: by the instant in Go, by the
// text in JavaScript and Python. It is now, or just after a row that a clock dated
// ahead; that row is then given, too. after is false where no time will do,
// because a row's time is a text that none follows.
func (s *session) timeAfterAll(now time.Time) (text string, ahead *row, after bool) {
	tick := s.layout.timeTick()
	at := now.Truncate(tick)
	var last *row
	for _, r := range s.rows {
		if !at.After(r.created.at) {
			at, ahead = r.created.at.Truncate(tick).Add(tick), r
		}
		last = r
	}
	text = s.layout.formatTime(at, last)
	if s.layout == layoutGo {
		return text, ahead, true
	}
	for _, r := range s.rows {
		if r.created.text < text {
			continue
		}
		// Its text is beyond its instant: it has another zone, or another form.
		digits, _, _ := strings.Cut(r.created.text, ".")
		next, err := time.Parse("2006-01-02T15:04:05", digits[:min(len(digits), len("2006-01-02T15:04:05"))])
		if err != nil {
			return text, ahead, false
		}
		text, ahead = s.layout.formatTime(next.Add(time.Second), last), r
	}
	return text, ahead, true
}

// rowParts are the bytes of a row that a new one takes over.
type rowParts struct {
	// session is the id of the session, as JSON; state may be nil.
	session, state []byte
}

// partsOf finds in a row what a new one takes over.
func partsOf(data []byte) (p rowParts, err error) {
	var top []byte
	_, err = walkValue(data, 0, func(key []byte, at int) (int, error) {
		end, err := jsontape.Skip(data, at)
		if err != nil {
			return end, err
		}
		switch jsontape.Unquote(key) {
		case "sessionId":
			top = data[at:end:end]
		case "state":
			p.state = data[at:end:end]
		}
		return end, nil
	})
	if err != nil {
		return p, err
	}
	if string(p.state) == "null" {
		p.state = nil
	}
	if p.session = top; string(top) == "null" || string(top) == `""` || top == nil {
		p.session = nil
		for _, m := range objectMembers(p.state) {
			if m.key == "sessionId" {
				p.session = p.state[m.start:m.end:m.end]
			}
		}
	}
	return p, nil
}

// span is the value of a member of an object, as a part of its bytes.
type span struct {
	key        string
	start, end int
}

// objectMembers returns the members of an object, or nil for another value.
func objectMembers(data []byte) (list []span) {
	if len(data) == 0 || data[0] != '{' {
		return nil
	}
	_, err := walkValue(data, 0, func(key []byte, at int) (int, error) {
		end, err := jsontape.Skip(data, at)
		if err == nil {
			list = append(list, span{jsontape.Unquote(key), at, end})
		}
		return end, err
	})
	if err != nil {
		return nil
	}
	return list
}

// ofSession returns a state with another session in it, where it names one. No
// other byte changes.
func ofSession(state, session []byte) []byte {
	var out []byte
	from := 0
	for _, m := range objectMembers(state) {
		if m.key == "sessionId" {
			out = append(append(out, state[from:m.start]...), session...)
			from = m.end
		}
	}
	return append(out, state[from:]...)
}
