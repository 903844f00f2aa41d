// Package splice takes a value out of a JSON text for a person to edit, and puts
// it back so that not a byte changes beside what was edited. Numbers of any size,
// NaN, escapes for half a character and the white space of the writer survive
// wherever they were not touched.
//
// A round of editing is [At], [Pretty], the editor, [Replace]. A caller that has both texts on
// tapes takes [Merge].
package splice

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"hindcast/model/jsontape"
)

// ErrUnchanged: the new value says the same as the old one, white space apart.
var ErrUnchanged = errors.New("nothing changed")

// PointerError says that a text has no value at a place.
type PointerError struct {
	// Pointer is the JSON Pointer (RFC 6901) as it was given.
	Pointer string
}

func (e *PointerError) Error() string {
	if e.Pointer != "" && e.Pointer[0] != '/' {
		return fmt.Sprintf("%q is no JSON Pointer: one begins with /", e.Pointer)
	}
	return fmt.Sprintf("there is nothing at %s", e.Pointer)
}

// ValueError says where a new value is not JSON.
type ValueError struct {
	// Line and Column are the place in the text as it was given, both from 1. The
	// column counts bytes.
	Line, Column int
	// Msg describes the error there.
	Msg string
}

func (e *ValueError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Msg)
}

// At returns the value that a JSON Pointer names, as it stands in the text; "" is the whole. The result is
// a slice of text. The errors are a [*PointerError], and a [*jsontape.SyntaxError] where the text is not
// JSON.
func At(text []byte, pointer string) ([]byte, error) {
	tape, n, err := findNode(text, pointer)
	if err != nil {
		return nil, err
	}
	return tape.Raw(n), nil
}

// Replace returns the text with another value at a JSON Pointer. Of the value that
// was there, each part that the new one leaves as it was keeps its bytes. The new
// value may be indented as [Pretty] does it; a byte order mark before it, which
// some editors write, is dropped. NaN and the infinities are taken only where the
// old value had one already.
//
// The errors are a [*ValueError], [ErrUnchanged] and those of [At]. Neither text
// is written to.
func Replace(text []byte, pointer string, value []byte) ([]byte, error) {
	tape, n, err := findNode(text, pointer)
	if err != nil {
		return nil, err
	}
	edited, err := parseValue(value, hasNamed(tape, n))
	if err != nil {
		return nil, err
	}
	start, end := tape.Span(n)
	merged := Merge(tape, n, edited, 0)
	if bytes.Equal(merged, text[start:end]) {
		return nil, ErrUnchanged
	}
	return slices.Concat(text[:start], merged, text[end:]), nil
}

func findNode(text []byte, pointer string) (*jsontape.Tape, jsontape.Node, error) {
	tape, _, err := jsontape.ParseTolerant(text)
	if err != nil {
		return nil, jsontape.None, err
	}
	n := tape.LookupPointer(pointer)
	if n < 0 {
		return nil, jsontape.None, &PointerError{pointer}
	}
	return tape, n, nil
}

var mark = []byte("\ufeff")

// parseValue reads a new value, with numbers that JSON cannot spell if they are
// allowed.
func parseValue(value []byte, named bool) (*jsontape.Tape, error) {
	text := bytes.TrimPrefix(value, mark)
	var tape *jsontape.Tape
	var err error
	if named {
		tape, _, err = jsontape.ParseTolerant(text)
	} else {
		tape, err = jsontape.Parse(text)
	}
	if wrong := (*jsontape.SyntaxError)(nil); errors.As(err, &wrong) {
		line, column := jsontape.Position(text, wrong.Offset)
		return nil, &ValueError{line, column, wrong.Msg}
	}
	return tape, err
}

// hasNamed reports whether a value holds NaN or an infinity.
func hasNamed(tape *jsontape.Tape, n jsontape.Node) bool {
	for end := tape.End(n); n < end; n++ {
		if !tape.Standard(n) {
			return true
		}
	}
	return false
}
