package query

import (
	"math/big"
	"slices"
	"strconv"
	"strings"

	"hindcast/model/jsontape"
)

// decoded is a value as gojq has values, which shares what it has in common with that of
// another state: members that are the same pieces, and elements of large arrays.
type decoded struct {
	value
	data any
	// members has the members of a large object, list and data the elements of a large array.
	members map[string]*decoded
	list    *folded
}

// leastShared is the least size of a value that is searched for shared members and elements.
const leastShared = 4 << 10

// decode decodes a value; near is a similar value, decoded before, or nil. The error
// is a *jsontape.SyntaxError.
func (s *search) decode(v value, near *decoded) (d *decoded, err error) {
	if near == nil {
		near = new(decoded)
	} else if slices.Equal(v.pieces, near.pieces) {
		return near, nil
	}
	d = &decoded{value: v}
	if size := length(v.pieces); size >= leastShared {
		switch s.bytes().at(v.pieces[0].off) {
		case '[':
			return d, s.decodeList(d, near)
		case '{':
			if members, ok := s.membersOf(v); ok {
				return d, s.decodeMembers(d, near, members)
			}
		}
	}
	d.data, err = decodeText(s.json(v))
	return d, err
}

func (s *search) decodeMembers(d, near *decoded, members []field) (err error) {
	data := make(map[string]any, len(members))
	d.data, d.members = data, make(map[string]*decoded, len(members))
	for _, m := range members {
		v := value{(&cursor{pieces: m.pieces}).between(m.from, m.to)}
		if d.members[m.key], err = s.decode(v, near.members[m.key]); err != nil {
			return err
		}
		data[m.key] = d.members[m.key].data
	}
	return nil
}

func (s *search) decodeList(d, near *decoded) (err error) {
	d.list, err = s.fold(d.value, near.list, func(l *folded, e *element) (err error) {
		e.data, err = decodeText(s.text(l, e))
		return err
	})
	if err != nil {
		return err
	}
	data := make([]any, len(d.list.elements))
	for i := range data {
		data[i] = d.list.elements[i].data
	}
	d.data = data
	return nil
}

// membersOf returns the members of an object, in order; ok is false where it is not as it has
// to be.
func (s *search) membersOf(v value) (members []field, ok bool) {
	s.places.mu.Lock()
	defer s.places.mu.Unlock()
	return s.places.cursor(s.bytes(), part{pieces: v.pieces, from: spot{0, v.pieces[0].off}}).members()
}

// untaped returns a value of a tape as gojq has values. Of duplicate keys the last counts.
func untaped(t *jsontape.Tape, n jsontape.Node) any {
	switch t.Kind(n) {
	case jsontape.False:
		return false
	case jsontape.True:
		return true
	case jsontape.Number:
		return number(string(t.Raw(n)))
	case jsontape.String:
		return t.Text(n)
	case jsontape.Array:
		list := make([]any, 0, t.Count(n))
		for c := t.First(n); c >= 0; c = t.Next(c) {
			list = append(list, untaped(t, c))
		}
		return list
	case jsontape.Object:
		object := make(map[string]any, t.Count(n))
		for c := t.First(n); c >= 0; c = t.Next(c) {
			object[t.Key(c)] = untaped(t, c)
		}
		return object
	}
	return nil
}

// mostDigits bounds the integers that are exact.
const mostDigits = 1000

// number returns a number as gojq has it. The names that Python writes are numbers, too.
func number(text string) any {
	if i, err := strconv.Atoi(text); err == nil {
		return i
	}
	if !strings.ContainsAny(text, ".eENI") && len(text) <= mostDigits {
		if i, ok := new(big.Int).SetString(text, 10); ok {
			return i
		}
	}
	f, _ := strconv.ParseFloat(text, 64) // an infinity where it is too large
	return f
}

// decodeText returns a text of JSON as gojq has values. The error is a
// *jsontape.SyntaxError.
func decodeText(text []byte) (any, error) {
	tape, _, err := jsontape.ParseTolerant(text)
	if err != nil {
		return nil, err
	}
	return untaped(tape, 0), nil
}
