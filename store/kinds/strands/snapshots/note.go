package snapshots

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"

	"hindcast/store/kinds/strands/lineage"
)

// noteKind names the notes for a files.Cache. Its number grows with every change of the
// notes or of the rules for faults, because notes hold the number of faults, see
// tally.go.
const noteKind = kind + " 7"

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

// listMark tells a list of messages from others.
func (m *messages) listMark() uint64 {
	hash := uint64(len(m.prints))
	for _, print := range m.prints {
		hash = (hash ^ uint64(print)) * 0x9E3779B97F4A7C15
		hash ^= hash >> 29
	}
	return hash
}

// findShared finds a run of another list with which this one begins: the longest, but
// for lists of messages that are so much alike that many runs would be compared
// in full. A shorter one makes a longer note.
func (m *messages) findShared(before *messages) (from, keep int) {
	if len(m.prints) == 0 {
		return 0, 0
	}
	steps := 4 * (len(m.prints) + len(before.prints))
	for at, print := range before.prints {
		if print != m.prints[0] {
			continue
		}
		n := countRun(before, at, m)
		if n > keep {
			from, keep = at, n
		}
		if steps -= n; steps < 0 || keep > 0 && at+keep == len(before.prints) {
			break
		}
	}
	return from, keep
}

// countRun counts the messages from one on that another list begins with.
func countRun(before *messages, from int, m *messages) (n int) {
	for n < len(m.prints) && from+n < len(before.prints) &&
		before.prints[from+n] == m.prints[n] && before.shapes[from+n] == m.shapes[n] {
		n++
	}
	return n
}

// appendNote returns the note of a file that was read and joined.
func (s *scanned) appendNote() []byte {
	line, err := json.Marshal(s.note)
	if err != nil {
		return nil // a time that cannot be written: the file is read again
	}
	line = append(line, '\n')
	for _, print := range s.prints[s.Keep:] {
		line = binary.LittleEndian.AppendUint64(line, uint64(print))
	}
	for _, b := range s.shapes[s.Keep:] {
		line = append(line, byte(b))
	}
	return line
}

// errNote: it is no note. The file is then read again.
var errNote = errors.New("not a note of a snapshot")

// parseNote reads a note, which is to be joined.
func parseNote(text []byte) (*scanned, error) {
	line, rest, _ := bytes.Cut(text, []byte{'\n'})
	s := &scanned{noted: true}
	if json.Unmarshal(line, &s.note) != nil || s.From < 0 || s.Keep < 0 || s.Own < 0 || s.Own > len(rest) || 9*s.Own != len(rest) {
		return s, errNote
	}
	for i := range s.Own {
		s.prints = append(s.prints, lineage.Print(binary.LittleEndian.Uint64(rest[8*i:])))
	}
	for _, b := range rest[8*s.Own:] {
		s.shapes = append(s.shapes, shape(b))
	}
	return s, nil
}
