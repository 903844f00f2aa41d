package genkit

import (
	"encoding/binary"
	"errors"
	"hindcast/store/media/files"
	"time"
)

// What is kept of a row until its file changes: the row, written so that it is
// quick to read back. A store of 100,000 rows is opened again by reading these.

// noteKind names the notes for a files.Cache, where they outlive the program. Its number grows with every
// change of the notes, or of the rules that judge a row.
const noteKind = kind + " 5"

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
		r.created.text, r.updated.text, r.heartbeat.text, r.errStatus, r.errMessage, r.title, r.opening} {
		dst = files.AppendText(dst, text)
	}
	for _, f := range r.flaws {
		dst = files.AppendText(files.AppendText(files.AppendText(dst, f.code), f.path), f.meaning)
	}
	return dst
}

// errNote: it is no note. The file is then read again.
var errNote = errors.New("not a note of a row")

// parseNote returns the row of a note.
func parseNote(id string, note []byte) (row, error) {
	n := files.ReadNote(note)
	flags := n.Uvarint()
	r := row{
		id: id, errored: flags&noteErrored != 0, toolFailed: flags&noteToolFailed != 0, toolWaits: flags&noteToolWaits != 0,
		hasState: flags&noteHasState != 0, broken: flags&noteBroken != 0, misshapen: flags&noteMisshapen != 0,
		badTime: flags&noteBadTime != 0, unknownKeys: flags&noteUnknownKeys != 0,
	}
	for _, b := range n.Bytes(1) {
		r.style = style(b)
	}
	r.size, r.messages = n.Varint(), n.Varint()
	for _, text := range []*string{&r.snapshotID, &r.parentID, &r.sessionID, &r.stateSession, &r.status, &r.finishReason,
		&r.created.text, &r.updated.text, &r.heartbeat.text, &r.errStatus, &r.errMessage, &r.title, &r.opening} {
		*text = string(n.Text())
	}
	for _, m := range []*moment{&r.created, &r.updated, &r.heartbeat} {
		if m.text == "" {
			continue
		}
		if at, err := time.Parse(time.RFC3339, m.text); err == nil {
			m.at = at
		}
	}
	for n.Len() > 0 {
		r.flaws = append(r.flaws, flaw{string(n.Text()), string(n.Text()), string(n.Text())})
	}
	if n.IsDamaged() || r.snapshotID == "" {
		return row{}, errNote
	}
	return r, nil
}
