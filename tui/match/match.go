// Package match says whether a text holds what a person searches for. All tabs
// search in the same way: letters of any case, the text as it reads and not as
// JSON spells it.
package match

import (
	"bytes"
	"strings"

	"hindcast/model/jsontape"
)

// Query is a text to search for. The zero Query matches nothing. It is read-only and safe for concurrent use.
type Query struct {
	lower []byte
	upper byte // the other case of lower's first byte; the same where it has none
	ascii bool
}

// New makes a query from typed text.
func New(text string) Query {
	if text == "" {
		return Query{}
	}
	q := Query{lower: []byte(strings.ToLower(text)), ascii: true}
	for _, c := range q.lower {
		q.ascii = q.ascii && c < 0x80
	}
	q.upper = q.lower[0]
	if 'a' <= q.upper && q.upper <= 'z' {
		q.upper -= 'a' - 'A'
	}
	return q
}

// Empty reports whether there is nothing to search for.
func (q Query) Empty() bool { return len(q.lower) == 0 }

// In reports whether the query is in text. Most queries are ASCII, for which
// it allocates nothing.
func (q Query) In(text []byte) bool {
	if !q.ascii {
		return !q.Empty() && bytes.Contains(bytes.ToLower(text), q.lower)
	}
	return q.indexASCII(text) >= 0
}

// InString reports whether the query is in a text.
func (q Query) InString(text string) bool { return q.In([]byte(text)) }

// Index returns where in text the query is for the first time, from start up to
// end, to be shown; -1 where it is not, or where upper and
// lower case are not equally long.
func (q Query) Index(text string) (start, end int) {
	start = -1
	switch {
	case q.ascii:
		start = q.indexASCII([]byte(text))
	case !q.Empty():
		if lower := strings.ToLower(text); len(lower) == len(text) {
			start = strings.Index(lower, string(q.lower))
		}
	}
	return start, start + len(q.lower)
}

// indexASCII returns where an ASCII query is in text, or -1.
func (q Query) indexASCII(text []byte) int {
	lower, upper := indexByte(text, 0, q.lower[0]), indexByte(text, 0, q.upper)
	for {
		i := min(lower, upper)
		switch {
		case len(text)-i < len(q.lower):
			return -1
		case sameFold(text[i:i+len(q.lower)], q.lower):
			return i
		case i == lower:
			lower = indexByte(text, i+1, q.lower[0])
		}
		if i == upper {
			upper = indexByte(text, i+1, q.upper)
		}
	}
}

// indexByte returns where c is in text, from a place on, or the length of text.
func indexByte(text []byte, from int, c byte) int {
	if i := bytes.IndexByte(text[from:], c); i >= 0 {
		return from + i
	}
	return len(text)
}

// sameFold reports whether text is lower but for the case of ASCII letters.
func sameFold(text, lower []byte) bool {
	for i, c := range text {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// InValue reports whether the query is in a JSON value that is no container:
// in a string as it reads, in anything else as it is spelled.
func (q Query) InValue(t *jsontape.Tape, n jsontape.Node) bool {
	switch t.Kind(n) {
	case jsontape.Array, jsontape.Object:
		return false
	case jsontape.String:
		raw := t.Raw(n)
		if bytes.IndexByte(raw, '\\') >= 0 {
			return q.InString(t.Text(n))
		}
		return q.In(bytes.TrimSuffix(raw[1:], []byte{'"'}))
	}
	return q.In(t.Raw(n))
}

// InKey reports whether the query is in the key of n, if it has one.
func (q Query) InKey(t *jsontape.Tape, n jsontape.Node) bool {
	raw := t.RawKey(n)
	if bytes.IndexByte(raw, '\\') >= 0 {
		return q.InString(t.Key(n))
	}
	return len(raw) > 1 && q.In(raw[1:len(raw)-1])
}

// InTree reports whether the query is in a value of n's subtree, or in a key below n.
func (q Query) InTree(t *jsontape.Tape, n jsontape.Node) bool {
	for at := n; at < t.End(n); at++ {
		if q.InValue(t, at) || at != n && q.InKey(t, at) {
			return true
		}
	}
	return false
}
