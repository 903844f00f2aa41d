package old

import (
	"bytes"
	"encoding/binary"
	"encoding/json"

	"hindcast/store/lineage"
)

// noteKind names the notes for a files.Cache. Its number grows with every change
// to what is noted, and of what is a fault: their number is noted, see tally.go.
const noteKind = kind + " 4"

// A note is what is kept of a file: one line of JSON, the prints of messages,
// eight bytes each, and their shapes.
//
// A snapshot holds nearly all messages of the one before it. So only those are
// noted that it does not share with the file that is listed before it: the notes
// of all files then have the size of one conversation, and not its square. They
// say to which list they belong, and are passed over where another is before
// them.

// note is the line that a note begins with.
type note struct {
	capture
	// After is the mark of the list of messages to which this one is compared.
	After uint64 `json:"after"`
	// Of that list, From is the first that is here, and Keep how many are. Own
	// counts the messages that follow.
	From int `json:"from"`
	Keep int `json:"keep"`
	Own  int `json:"own"`
}

// mark tells a list of messages from others.
func (m *messages) mark() uint64 {
	hash := uint64(len(m.prints))
	for _, print := range m.prints {
		hash = (hash ^ uint64(print)) * 0x9E3779B97F4A7C15
		hash ^= hash >> 29
	}
	return hash
}

// share finds a run of another list with which this one begins: the longest, but
// for lists of messages that are so much alike that many runs would be compared
// in full. A shorter one makes a longer note.
func (m *messages) share(before *messages) (from, keep int) {
	if len(m.prints) == 0 {
		return 0, 0
	}
	steps := 4 * (len(m.prints) + len(before.prints))
	for at, print := range before.prints {
		if print != m.prints[0] {
			continue
		}
		n := run(before, at, m)
		if n > keep {
			from, keep = at, n
		}
		if steps -= n; steps < 0 || keep > 0 && at+keep == len(before.prints) {
			break
		}
	}
	return from, keep
}

// run counts the messages from one on that another list begins with.
func run(before *messages, from int, m *messages) (n int) {
	for n < len(m.prints) && from+n < len(before.prints) &&
		before.prints[from+n] == m.prints[n] && before.shapes[from+n] == m.shapes[n] {
		n++
	}
	return n
}

// appendNote returns the note of a file whose list follows another one.
func appendNote(c *capture, before, m *messages) []byte {
	n := note{capture: *c, After: before.mark()}
	n.From, n.Keep = m.share(before)
	n.Own = len(m.prints) - n.Keep
	line, err := json.Marshal(n)
	if err != nil {
		return nil // a time that cannot be written: the file is read again
	}
	line = append(line, '\n')
	for _, print := range m.prints[n.Keep:] {
		line = binary.LittleEndian.AppendUint64(line, uint64(print))
	}
	for _, s := range m.shapes[n.Keep:] {
		line = append(line, byte(s))
	}
	return line
}

// parseNote reads a note back into m. It may be of another list, or damaged.
func parseNote(text []byte, before, m *messages) (c capture, ok bool) {
	line, rest, _ := bytes.Cut(text, []byte{'\n'})
	var n note
	switch {
	case json.Unmarshal(line, &n) != nil, n.After != before.mark(),
		n.From < 0, n.Keep < 0, n.Keep > len(before.prints), n.From > len(before.prints)-n.Keep,
		n.Own < 0, n.Own > len(rest), 9*n.Own != len(rest):
		return capture{}, false
	}
	m.prints = append(m.prints[:0], before.prints[n.From:n.From+n.Keep]...)
	m.shapes = append(m.shapes[:0], before.shapes[n.From:n.From+n.Keep]...)
	for i := range n.Own {
		m.prints = append(m.prints, lineage.Print(binary.LittleEndian.Uint64(rest[8*i:])))
	}
	for _, s := range rest[8*n.Own:] {
		m.shapes = append(m.shapes, shape(s))
	}
	return n.capture, true
}
