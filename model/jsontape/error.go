package jsontape

import (
	"bytes"
	"fmt"
)

// SyntaxError says where a text stops being JSON.
type SyntaxError struct {
	// Offset is the byte, from 0, at which it went wrong; the length of the
	// text if it ended too early.
	Offset int64
	// Msg describes the error there, with foreign bytes quoted.
	Msg string
	// Deep says that it is nested deeper than [MaxDepth].
	Deep bool
}

// Error returns the byte and the message.
func (e *SyntaxError) Error() string { return fmt.Sprintf("byte %d: %s", e.Offset, e.Msg) }

// Position returns the line and the column of an offset in data, both from 1.
// The column counts bytes; an offset past the end counts as the end.
func Position(data []byte, offset int64) (line, column int) {
	before := data[:min(max(offset, 0), int64(len(data)))]
	line = bytes.Count(before, []byte{'\n'}) + 1
	return line, len(before) - bytes.LastIndexByte(before, '\n')
}

// Warning is something that [ParseTolerant] accepted though it should not be
// in a JSON text, or that readers are known to disagree on.
type Warning struct {
	// Kind is the kind of the warning.
	Kind WarningKind
	// Offset is the byte at which it starts.
	Offset int64
	// Node is the value that it is in or that its key names; the root for a
	// byte order mark.
	Node Node
}

// String returns the warning in words, with its byte.
func (w Warning) String() string { return fmt.Sprintf("byte %d: %s", w.Offset, w.Kind) }

// WarningKind is a kind of [Warning].
type WarningKind uint8

// The kinds of warning.
const (
	// ByteOrderMark: the text starts with U+FEFF in UTF-8.
	ByteOrderMark WarningKind = iota + 1
	// NamedNumber: NaN, Infinity or -Infinity, as Python's json writes them.
	NamedNumber
	// InvalidUTF8: bytes in a string or key that are no UTF-8.
	InvalidUTF8
	// LoneSurrogate: an escape for half of a surrogate pair.
	LoneSurrogate
	// DuplicateKey: a later member of the object has the same key and wins.
	DuplicateKey
)

// String returns the kind in words.
func (k WarningKind) String() string {
	switch k {
	case ByteOrderMark:
		return "byte order mark before the text"
	case NamedNumber:
		return "a number that JSON cannot spell"
	case InvalidUTF8:
		return "invalid UTF-8"
	case LoneSurrogate:
		return "half of a surrogate pair"
	case DuplicateKey:
		return "duplicate key, a later one wins"
	}
	return "unknown warning"
}

// MaxWarnings is how many warnings [ParseTolerant] gives at most; a text with
// more has more than this tells.
const MaxWarnings = 100
