package files

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"hindcast/model/jsontape"
)

// Document is the JSON of one file.
type Document struct {
	Data []byte
	Tape *jsontape.Tape // nil when Err is not nil
	// Err is why there is no tape: that of the Reader, or a
	// [jsontape.SyntaxError].
	Err error
}

// readTries is how often a file is read that another program seems to be
// writing.
const readTries = 3

// ReadDocument reads a file as JSON. Where it does not parse it is read again,
// until it no longer changes: a program may be writing it. buf is used if it is
// large enough; the data of the result may be in it. What Python and JavaScript
// are known to write besides JSON is taken (NaN, Infinity), and a byte order
// mark too; see [Document.Encoding].
func ReadDocument(read Reader, name string, buf []byte) Document {
	return readDocument(read, name, buf, Parse)
}

func readDocument(read Reader, name string, buf []byte, parse func([]byte) (*jsontape.Tape, error)) (d Document) {
	d.Data, d.Err = read(name, buf)
	for try := 1; d.Err == nil; try++ {
		if d.Tape, d.Err = parse(d.Data); d.Err == nil || try == readTries {
			return d
		}
		again, err := read(name, nil)
		if err != nil || bytes.Equal(again, d.Data) {
			return d
		}
		d.Data, d.Err = again, nil
	}
	return d
}

// Parse takes what Python's json takes, and a byte order mark besides. The error
// is a [jsontape.SyntaxError].
func Parse(data []byte) (*jsontape.Tape, error) {
	t, err := jsontape.Parse(data)
	if err == nil {
		return t, nil
	}
	t, _, err = jsontape.ParseTolerant(data)
	return t, err
}

// Documents reads one small file after another in the same memory. The zero value
// is ready. It is not safe for concurrent use.
type Documents struct{ scratch jsontape.Scratch }

// Read reads a file as [ReadDocument] does. The tape is lent: the next call
// overwrites it.
func (r *Documents) Read(read Reader, name string, buf []byte) Document {
	return readDocument(read, name, buf, r.parseReusing)
}

// parseReusing is [Parse] in used memory.
func (r *Documents) parseReusing(data []byte) (*jsontape.Tape, error) {
	t, err := r.scratch.Parse(data)
	if err == nil {
		return t, nil
	}
	return r.scratch.ParseTolerant(data)
}

// Encoding has properties that may keep a program from reading a text that parses here.
type Encoding struct {
	// BOM says that the text begins with a byte order mark.
	BOM bool
	// Invalid is the offset of the first byte that is not UTF-8, -1 if all bytes are.
	Invalid int
	// Depth is how deep values are nested.
	Depth int
}

// Encoding looks at how a document that parsed is written.
func (d *Document) Encoding() Encoding {
	e := Encoding{BOM: bytes.HasPrefix(d.Data, []byte("\ufeff")), Invalid: -1}
	if !utf8.Valid(d.Data) {
		e.Invalid = FirstInvalid(d.Data)
	}
	for n := range jsontape.Node(d.Tape.Len()) {
		e.Depth = max(e.Depth, d.Tape.Depth(n))
	}
	return e
}

// FirstInvalid returns the first byte of a text that is not UTF-8, or its length.
func FirstInvalid(data []byte) int {
	at := 0
	for at < len(data) {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return at
}

// ErrorPath returns the place of a syntax error for a fault: "byte 812", or ""
// for any other error.
func ErrorPath(err error) string {
	if syntax := (*jsontape.SyntaxError)(nil); errors.As(err, &syntax) {
		return fmt.Sprintf("byte %d", syntax.Offset)
	}
	return ""
}
