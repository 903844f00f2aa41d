package chat

import (
	"bytes"
	"iter"
	"time"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
)

// Value is a value in a record, or no value; a lookup in no value finds no value. Its texts are copies; its
// Raw is lent as long as the record.
type Value struct {
	tape *jsontape.Tape
	node jsontape.Node
}

// ValueOf returns the whole of a record.
func ValueOf(t *jsontape.Tape) Value { return Value{t, 0} }

// Parse returns the value of a JSON text. The error is a *jsontape.SyntaxError.
func Parse(text []byte) (Value, error) {
	t, err := jsontape.Parse(text)
	return Value{t, 0}, err
}

// ParseHead returns the value of a JSON text as far as its beginning shows it.
func ParseHead(head []byte) Value { return Value{jsontape.Prefix(head, len(head)), 0} }

// Nothing is the text by which WithTexts gives a member the value null.
const Nothing = "\x00"

// WithTexts returns a record whose members of the given names hold the given texts. The error is a
// *jsontape.SyntaxError.
func WithTexts(record []byte, members ...[2]string) ([]byte, error) {
	t, err := jsontape.Parse(record)
	if err != nil {
		return nil, err
	}
	p := jsontape.NewPatch(t)
	for _, m := range members {
		value := jsontape.AppendQuoted(nil, m[1])
		if m[1] == Nothing {
			value = []byte("null")
		}
		p.Put(0, m[0], value)
	}
	return p.Bytes(), nil
}

// There reports whether there is a value, which may be null.
func (v Value) There() bool { return v.tape != nil && v.node >= 0 && int(v.node) < v.tape.Len() }

// Kind returns the kind of the value; no value counts as null.
func (v Value) Kind() jsontape.Kind {
	if !v.There() {
		return jsontape.Null
	}
	return v.tape.Kind(v.node)
}

// Get returns the value at a path of member names in nested objects, or no value.
func (v Value) Get(keys ...string) Value {
	for _, key := range keys {
		if v.Kind() != jsontape.Object {
			return Value{}
		}
		v.node = v.tape.Find(v.node, key)
	}
	return v
}

// Key returns the key of a member, "" for anything else.
func (v Value) Key() string {
	if !v.There() {
		return ""
	}
	return v.tape.Key(v.node)
}

// Text returns a string decoded, "" for anything else.
func (v Value) Text() string {
	if v.Kind() != jsontape.String {
		return ""
	}
	return v.tape.Text(v.node)
}

// Words returns the beginning of a string on one line, "" for anything else.
func (v Value) Words() string { return Words(v.Raw(), conversation.MaxTitle) }

// Raw returns the bytes of the value as they are in the text, or nil.
func (v Value) Raw() []byte {
	if !v.There() {
		return nil
	}
	return v.tape.Raw(v.node)
}

// Span returns the offset and length of the value in its text, the zero value without a value.
func (v Value) Span() Span {
	if !v.There() {
		return Span{}
	}
	start, end := v.tape.Span(v.node)
	return Span{int64(start), int64(end - start)}
}

// Number returns a number, 0 for anything else.
func (v Value) Number() float64 {
	if v.Kind() != jsontape.Number {
		return 0
	}
	n, _ := v.tape.Float(v.node)
	return n
}

// True reports whether it is true.
func (v Value) True() bool { return v.Kind() == jsontape.True }

// Time returns the time of a string of RFC 3339, or of a number of seconds or milliseconds since
// 1970, as converters write it; the zero time for anything else.
func (v Value) Time() time.Time {
	if v.Kind() == jsontape.Number {
		const year5138 = 1e11 // in seconds; in milliseconds it is 1973
		if n := v.Number(); n > 0 && n < year5138 {
			return time.UnixMilli(int64(n * 1000)).UTC()
		}
		return v.Milliseconds()
	}
	const mostTime = 80 // in bytes, escapes and quotes included
	raw := v.Raw()
	if v.Kind() != jsontape.String || len(raw) > mostTime {
		return time.Time{} // the error of time.Parse copies the text
	}
	if n := len(raw); n >= 2 && raw[n-1] == '"' && bytes.IndexByte(raw, '\\') < 0 {
		at, _ := time.Parse(time.RFC3339Nano, string(raw[1:n-1])) // a short text that does not escape needs no memory
		return at
	}
	at, _ := time.Parse(time.RFC3339Nano, v.Text())
	return at
}

// UnwrapJSON returns the JSON that a string holds, else the value as it stands: models give the input of a call in a string.
func (v Value) UnwrapJSON() []byte {
	if text := []byte(v.Text()); jsontape.Valid(text) {
		return text
	}
	return v.Raw()
}

// FirstTime returns the time of the first value that has one, as Time reads it; the zero time where none has.
func FirstTime(list ...Value) time.Time {
	for _, v := range list {
		if at := v.Time(); !at.IsZero() {
			return at
		}
	}
	return time.Time{}
}

// Milliseconds returns the time of a number of milliseconds since 1970, the zero time for
// anything else.
func (v Value) Milliseconds() time.Time {
	n := v.Number()
	if n <= 0 || n > 1e15 {
		return time.Time{}
	}
	return time.UnixMilli(int64(n)).UTC()
}

// Each returns the elements of an array, or the values of the members of an object; none of
// anything else.
func (v Value) Each() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if k := v.Kind(); k != jsontape.Array && k != jsontape.Object {
			return
		}
		for n := v.tape.First(v.node); n >= 0; n = v.tape.Next(n) {
			if !yield(Value{v.tape, n}) {
				return
			}
		}
	}
}

// Strings returns all strings of the value, at any depth.
func (v Value) Strings() iter.Seq[string] {
	return func(yield func(string) bool) {
		if !v.There() {
			return
		}
		for n, end := v.node, v.tape.End(v.node); n < end; n++ {
			if v.tape.Kind(n) == jsontape.String && !yield(v.tape.Text(n)) {
				return
			}
		}
	}
}

// Usage returns the token usage and cost of a message, as package conversation reads it, without its Model.
func (v Value) Usage() (u conversation.Usage) {
	if v.Kind() == jsontape.Object {
		u = conversation.UsageOf(v.tape, v.node)
		u.Model = ""
	}
	return u
}
