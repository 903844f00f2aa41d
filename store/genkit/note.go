package genkit

import (
	"encoding/binary"
	"errors"
	"time"
)

// What is kept of a row until its file changes: the row, written so that it is
// quick to read back. A store of 100,000 rows is opened again by reading these.

// noteKind names the notes for a files.Shelf, where they outlive the program.
// Its number grows with every change of what is noted or of how a row is judged.
const noteKind = kind + " 1"

const (
	noteErrored = 1 << iota
	noteToolFailed
	noteToolWaits
	noteHasState
	noteBroken
	noteMisshapen
	noteBadTime
	noteUnknownKeys
)

// appendNote appends the note of a row. The id is not in it: it is the name of
// the file.
func (r *row) appendNote(dst []byte) []byte {
	flags := uint64(0)
	for i, set := range []bool{r.errored, r.toolFailed, r.toolWaits, r.hasState, r.broken, r.misshapen, r.badTime, r.unknownKeys} {
		if set {
			flags |= 1 << i
		}
	}
	dst = binary.AppendUvarint(dst, flags)
	dst = append(dst, byte(r.style))
	dst = binary.AppendVarint(dst, r.size)
	dst = binary.AppendVarint(dst, r.messages)
	for _, text := range []string{r.snapshotID, r.parentID, r.sessionID, r.stateSession, r.status, r.finishReason,
		r.created.text, r.updated.text, r.heartbeat.text, r.errStatus, r.errMessage, r.title} {
		dst = appendText(dst, text)
	}
	for _, f := range r.flaws {
		dst = appendText(appendText(appendText(dst, f.code), f.path), f.meaning)
	}
	return dst
}

func appendText(dst []byte, text string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

// errNote: it is no note. The file is then read again.
var errNote = errors.New("not a note of a row")

// parseNote gives the row of a note.
func parseNote(id string, note []byte) (row, error) {
	n := noteReader{rest: note}
	flags := n.number()
	r := row{
		id: id, errored: flags&noteErrored != 0, toolFailed: flags&noteToolFailed != 0, toolWaits: flags&noteToolWaits != 0,
		hasState: flags&noteHasState != 0, broken: flags&noteBroken != 0, misshapen: flags&noteMisshapen != 0,
		badTime: flags&noteBadTime != 0, unknownKeys: flags&noteUnknownKeys != 0,
	}
	r.style = style(n.byte())
	r.size, r.messages = n.signed(), n.signed()
	for _, text := range []*string{&r.snapshotID, &r.parentID, &r.sessionID, &r.stateSession, &r.status, &r.finishReason,
		&r.created.text, &r.updated.text, &r.heartbeat.text, &r.errStatus, &r.errMessage, &r.title} {
		*text = n.text()
	}
	for _, m := range []*moment{&r.created, &r.updated, &r.heartbeat} {
		if at, err := time.Parse(time.RFC3339, m.text); err == nil {
			m.at = at
		}
	}
	for len(n.rest) > 0 && !n.failed {
		r.flaws = append(r.flaws, flaw{n.text(), n.text(), n.text()})
	}
	if n.failed || r.snapshotID == "" {
		return row{}, errNote
	}
	return r, nil
}

// noteReader takes a note apart.
type noteReader struct {
	rest   []byte
	failed bool
}

func (n *noteReader) take(size int) []byte {
	if n.failed = n.failed || size <= 0 || size > len(n.rest); n.failed {
		return nil
	}
	taken := n.rest[:size]
	n.rest = n.rest[size:]
	return taken
}

func (n *noteReader) byte() byte {
	if b := n.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (n *noteReader) number() uint64 {
	v, size := binary.Uvarint(n.rest)
	n.take(size)
	return v
}

func (n *noteReader) signed() int64 {
	v, size := binary.Varint(n.rest)
	n.take(size)
	return v
}

func (n *noteReader) text() string {
	size := n.number()
	if size == 0 {
		return ""
	}
	if size > uint64(len(n.rest)) {
		n.failed = true
		return ""
	}
	return string(n.take(int(size)))
}
