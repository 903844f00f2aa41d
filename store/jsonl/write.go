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
	"unicode/utf8"

	"hindcast/store"
)

// ErrNotUTF8: an id is not UTF-8, and JSON can only carry what is.
var ErrNotUTF8 = errors.New("the id is not valid UTF-8, which JSON cannot carry")

// Write writes rows as lines and returns how many it wrote. The bytes of the
// states are written as they are. An error of the rows ends it; what was
// written before stays written.
func Write(w io.Writer, rows iter.Seq2[store.Row, error]) (n int, err error) {
	out := bufio.NewWriterSize(w, 1<<18)
	for row, err := range rows {
		if err == nil {
			err = writeRow(out, row)
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

func writeRow(out *bufio.Writer, row store.Row) error {
	state := row.State
	head, err := json.Marshal(row.Header)
	if row.Record != nil {
		state = row.Record.State
		head, err = json.Marshal(recordLine{Session: row.Record.ID, TurnIndex: row.Record.TurnIndex})
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
		return write(out, head, []byte("\n"))
	}
	if err := store.CheckState(state); err != nil {
		return fmt.Errorf("snapshot %q of session %q: %w", row.Header.ID, row.Header.SessionID, err)
	}
	name := `,"state":`
	if !inline(state) {
		name = `,"stateBase64":`
		if state, err = json.Marshal(base64.StdEncoding.EncodeToString(state)); err != nil {
			return err
		}
	}
	return write(out, head[:len(head)-1], []byte(name), state, []byte("}\n"))
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

func write(out *bufio.Writer, parts ...[]byte) error {
	for _, part := range parts {
		if _, err := out.Write(part); err != nil {
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
