package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"unicode"
	"unicode/utf8"

	"hindcast/model/jsontape"
	"hindcast/model/printable"
)

// writeDocument writes one value as a JSON document on one line.
func (p *printer) writeDocument(v any) error {
	data, err := encodeJSON(v)
	if err != nil {
		return err
	}
	p.Write(data)
	p.WriteByte('\n')
	return nil
}

// writeArray writes a sequence as one JSON array, an element on each line, without
// holding more than one element. An error in the sequence ends it, and leaves
// the array open: half an answer should not parse.
func writeArray[T any](p *printer, seq iter.Seq2[T, error]) error {
	p.WriteByte('[')
	sep := "\n"
	for v, err := range seq {
		if err != nil {
			return err
		}
		data, err := encodeJSON(v)
		if err != nil {
			return err
		}
		p.WriteString(sep)
		p.Write(data)
		sep = ",\n"
	}
	if sep == "\n" {
		p.WriteString("]\n")
		return nil
	}
	p.WriteString("\n]\n")
	return nil
}

// sequenceOf turns a slice into a sequence that cannot fail.
func sequenceOf[T any](list []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range list {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// mapElements returns a sequence that applies as to each element.
func mapElements[T, U any](seq iter.Seq2[T, error], as func(T) U) iter.Seq2[U, error] {
	return func(yield func(U, error) bool) {
		for v, err := range seq {
			if err != nil {
				yield(*new(U), err)
				return
			}
			if !yield(as(v), nil) {
				return
			}
		}
	}
}

// encodeJSON returns the JSON of a value of ours: compact, with <, > and & as they
// are, and with every control or invisible character of a string escaped, so
// that an id is harmless wherever the document ends up.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	text := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if !bytes.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) { // most documents are plain
		return text, nil
	}
	return appendEscaped(nil, text, isControl), nil
}

// value is a value of a state in a document of ours: as it stands there, but that NaN and
// the infinities, which some frameworks write and JSON does not have, are strings.
type value []byte

// MarshalJSON implements json.Marshaler.
func (v value) MarshalJSON() ([]byte, error) {
	if json.Valid(v) {
		return v, nil
	}
	tape, _, err := jsontape.ParseTolerant(v)
	if err != nil {
		return nil, err
	}
	var out []byte
	end := 0
	for n := range jsontape.Node(tape.Len()) {
		if tape.Standard(n) {
			continue
		}
		from, to := tape.Span(n)
		out = jsontape.AppendQuoted(append(out, tape.Data()[end:from]...), string(tape.Raw(n)))
		end = to
	}
	return append(out, tape.Data()[end:]...), nil
}

// withMember puts a member behind the members of a non-empty JSON object. The
// value is not looked at: it stays as it is, byte for byte.
func withMember(object []byte, name string, value []byte) []byte {
	out := append(bytes.TrimSuffix(object, []byte("}")), `,"`+name+`":`...)
	out = append(out, value...)
	return append(out, '}')
}

// isControl reports whether a terminal could obey a character, or is told by it how to
// order the others.
func isControl(r rune) bool {
	return (r < ' ' || r > '~') && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// appendEscaped appends JSON text with some characters as \u escapes: those that
// are to be hidden and are no white space. In valid JSON they stand within strings
// only, where the escape means the same; but for the carriage return, which stands
// between values only, where a space means the same.
func appendEscaped(dst, text []byte, hide func(rune) bool) []byte {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && n == 1:
			dst = append(dst, `\ufffd`...)
		case r == '\r':
			dst = append(dst, ' ')
		case r == '\n' || r == '\t' || !hide(r):
			dst = append(dst, text[:n]...)
		case r > 0xffff:
			r -= 0x10000
			dst = fmt.Appendf(dst, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			dst = fmt.Appendf(dst, `\u%04x`, r)
		}
		text = text[n:]
	}
	return dst
}

// asciiControls escapes JSON on its way to a terminal: states are
// untrusted, and even a state's own bytes must not steer the screen. What a reader
// cannot see is escaped, too, and so are the marks that would paint over the rows
// around.
type asciiControls struct {
	w     io.Writer
	rest  []byte // the beginning of a character whose end has not come yet
	sight printable.Sight
}

func (a *asciiControls) Write(data []byte) (int, error) {
	text := append(a.rest, data...)
	end := len(text)
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if tail := text[len(text)-back:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				end = len(text) - back
			}
			break
		}
	}
	a.rest = bytes.Clone(text[end:])
	if _, err := a.w.Write(appendEscaped(nil, text[:end], func(r rune) bool { return !a.sight.Sees(r) })); err != nil {
		return 0, err
	}
	return len(data), nil
}
