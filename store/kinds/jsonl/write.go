package jsonl

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"unicode/utf8"

	"hindcast/store"
)

// ErrNotUTF8: an id is not UTF-8, and JSON can only carry what is.
var ErrNotUTF8 = errors.New("the id is not valid UTF-8, which JSON cannot carry")

// Write writes rows as lines and returns how many it wrote. The bytes of the
// states are kept: a state is written whole, or as edits of the one before it. An error of
// the rows ends it; what was written before stays written.
func Write(w io.Writer, rows iter.Seq2[store.Row, error]) (n int, err error) {
	return writeRows(&writer{Writer: bufio.NewWriterSize(w, 1<<18)}, rows)
}

// WriteWhole is Write with each state whole, for programs that know no edits.
func WriteWhole(w io.Writer, rows iter.Seq2[store.Row, error]) (n int, err error) {
	return writeRows(&writer{Writer: bufio.NewWriterSize(w, 1<<18), whole: true}, rows)
}

func writeRows(out *writer, rows iter.Seq2[store.Row, error]) (n int, err error) {
	for row, err := range rows {
		if err == nil {
			err = out.row(row)
		}
		if err != nil {
			return n, fmt.Errorf("jsonl: write row %d: %w", n+1, errors.Join(err, out.Flush()))
		}
		n++
	}
	if err := out.Flush(); err != nil {
		return n, fmt.Errorf("jsonl: write: %w", err)
	}
	return n, nil
}

// writer writes lines, and knows the state that it wrote last.
type writer struct {
	*bufio.Writer
	whole       bool
	session, id string
	state       []byte
	// behind and lines are the bytes and the lines of edits since a state was written whole. They
	// bound what is read for one state.
	behind, lines int
}

// mostLines bounds the lines of edits between two states that are written whole.
const mostLines = 4 << 10

func (w *writer) row(row store.Row) error {
	state, session := row.State, row.Header.SessionID
	head, err := json.Marshal(row.Header)
	if row.Record != nil {
		state, session = row.Record.State, row.Record.ID
		head, err = json.Marshal(recordLine{Session: session, TurnIndex: row.Record.TurnIndex})
	}
	if err != nil {
		return err
	}
	if err := checkIDs(row); err != nil {
		return err
	}
	if len(row.Labels) > 0 {
		labels, err := json.Marshal(row.Labels)
		if err != nil {
			return err
		}
		head = append(append(append(head[:len(head)-1], `,"labels":`...), labels...), '}')
	}
	if state == nil {
		return w.put(head, []byte("\n"))
	}
	if err := store.CheckState(state); err != nil {
		return fmt.Errorf("snapshot %q of session %q: %w", row.Header.ID, row.Header.SessionID, err)
	}
	body, err := w.body(session, row.Header.ParentID, state)
	if err != nil {
		return err
	}
	w.session, w.id, w.state = session, row.Header.ID, state
	return w.put(head[:len(head)-1], body, []byte("}\n"))
}

// body returns the members with a state: as edits of the last one where they take less than half
// of the room.
func (w *writer) body(session, parent string, state []byte) ([]byte, error) {
	if !w.whole && w.session == session && w.id != "" && w.lines < mostLines {
		if list := findEdits(w.state, state); list != nil {
			text, ok := appendEdits(nil, list)
			if ok && len(text) <= len(state)/2 && w.behind+len(text) <= 2*len(state) {
				w.behind, w.lines = w.behind+len(text), w.lines+1
				text = append([]byte(`,"stateEdits":`), text...)
				if w.id == parent {
					return text, nil
				}
				from, err := json.Marshal(w.id)
				return slices.Concat([]byte(`,"stateFrom":`), from, text), err
			}
		}
	}
	w.behind, w.lines = 0, 0
	if inline(state) {
		return append([]byte(`,"state":`), state...), nil
	}
	text, err := json.Marshal(base64.StdEncoding.EncodeToString(state))
	return append([]byte(`,"stateBase64":`), text...), err
}

// inline reports whether the bytes of a state can be read back out of a line:
// there are no line ends in them, and no blanks around them, which are not
// part of a JSON value.
func inline(state []byte) bool {
	return !bytes.ContainsAny(state, "\r\n") && len(bytes.Trim(state, " \t")) == len(state)
}

// recordLine is the record of a session, but for its state.
type recordLine struct {
	Session   string `json:"session"`
	TurnIndex int    `json:"turnIndex"`
}

func (w *writer) put(parts ...[]byte) error {
	for _, part := range parts {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

func checkIDs(row store.Row) error {
	ids := []string{row.Header.ID, row.Header.ParentID, row.Header.SessionID}
	if row.Record != nil {
		ids = []string{row.Record.ID}
	}
	for _, id := range ids {
		if !utf8.ValidString(id) {
			return fmt.Errorf("%q: %w", id, ErrNotUTF8)
		}
	}
	return nil
}
