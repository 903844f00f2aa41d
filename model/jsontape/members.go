package jsontape

import "iter"

// Member is one member of an object, or one element of an array, found by
// skipping over the others.
type Member struct {
	// Key is the key with its quotes as it stands in the text; nil in an array.
	Key []byte
	// Value is the value as it stands in the text.
	Value []byte
	// Offset is the byte of the text at which the value starts.
	Offset int
}

// Members returns the members of the object or array in data, in the order of the text, without looking
// inside a value more than [Skip] does: at the speed of skipping. A member is given when its value has been
// passed over: a caller that needs only where a large value begins is faster with [Skip]. A text that is
// neither, or that ends too early, ends the sequence with a *[SyntaxError] whose offset counts from the
// start of data. What is behind the closing bracket is not looked at.
func Members(data []byte) iter.Seq2[Member, error] {
	return func(yield func(Member, error) bool) {
		if err := yieldMembers(data, yield); err != nil {
			yield(Member{}, err)
		}
	}
}

// FindMember returns the value of a member of the object that data holds, as it stands in the text; or nil
// if there is no such member, or if data is not a whole object. key is in quotes and as it stands in the
// text, too. Of several it is the last.
func FindMember(data []byte, key string) (value []byte) {
	for m, err := range Members(data) {
		if err != nil {
			return nil
		}
		if string(m.Key) == key {
			value = m.Value
		}
	}
	return value
}

func yieldMembers(data []byte, yield func(Member, error) bool) error {
	c, err := CursorAt(data, 0)
	if err != nil {
		return err
	}
	for {
		m, more, err := c.Head(data)
		if err != nil || !more {
			return err
		}
		end, err := Skip(data, m.Offset)
		if err != nil {
			return err
		}
		m.Value = data[m.Offset:end]
		if skipSpace(data, end) >= len(data) {
			return endOfText(data)
		}
		if !yield(m, nil) {
			return nil
		}
		if err := c.Pass(data, end); err != nil {
			return err
		}
	}
}

// Cursor goes over the members of an object or the elements of an array, as [Members] does, of
// a text that is only looked at as far as it is asked to. It is a value: a copy goes on from
// where the cursor was, in any text that is the same up to there.
type Cursor struct {
	// At is the byte at which the next member or element begins, or the closing bracket,
	// and Index is how many were passed.
	At, Index int
	closing   byte
	ended     bool // At is the closing bracket
}

// CursorAt returns the cursor in front of the first member of the object or array that begins
// at off, white space before it allowed.
func CursorAt(data []byte, off int) (c Cursor, err error) {
	i := skipSpace(data, off)
	if i >= len(data) {
		return c, endOfText(data)
	}
	if data[i] != '{' && data[i] != '[' {
		return c, unexpectedError(data, i, "an object or an array")
	}
	c.closing = data[i] + 2 // in ASCII each bracket is two before its partner
	c.At = skipSpace(data, i+1)
	c.ended = c.At < len(data) && data[c.At] == c.closing
	return c, nil
}

// Head returns the key of the next member and where its value begins, without looking at that; false
// at the closing bracket.
func (c *Cursor) Head(data []byte) (m Member, more bool, err error) {
	i := c.At
	if c.ended {
		return m, false, nil
	}
	if c.closing == '}' {
		if i >= len(data) {
			return m, false, endOfText(data)
		}
		if data[i] != '"' {
			return m, false, unexpectedError(data, i, "a key")
		}
		end := StringEnd(data, i)
		if end < 0 {
			return m, false, endOfText(data)
		}
		m.Key = data[i:end]
		i = skipSpace(data, end)
		if i >= len(data) {
			return m, false, endOfText(data)
		}
		if data[i] != ':' {
			return m, false, unexpectedError(data, i, "a colon")
		}
		i++
	}
	m.Offset = skipSpace(data, i)
	return m, true, nil
}

// Pass goes on behind the next member, whose value ends at end.
func (c *Cursor) Pass(data []byte, end int) error {
	i := skipSpace(data, end)
	switch {
	case i >= len(data):
		return endOfText(data)
	case data[i] == ',':
		c.At, c.Index = skipSpace(data, i+1), c.Index+1
	case data[i] == c.closing:
		c.At, c.Index, c.ended = i, c.Index+1, true
	default:
		return unexpectedError(data, i, "a comma or the end")
	}
	return nil
}
