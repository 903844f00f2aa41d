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

// Members returns what the object or array that data holds is made of, in the
// order of the text, without looking inside a value more than [Skip] does: at
// the speed of skipping. A member is given when its value has been passed over:
// a caller that needs only where a large value begins is faster with [Skip]. A text
// that is neither, or that ends too early, ends the sequence with a *[SyntaxError]
// whose offset counts from the start of data. What is behind the closing bracket
// is not looked at.
func Members(data []byte) iter.Seq2[Member, error] {
	return func(yield func(Member, error) bool) {
		if err := members(data, yield); err != nil {
			yield(Member{}, err)
		}
	}
}

// FindMember returns the value of a member of the object that data holds, as it stands
// in the text; nil where there is none, and where data is no object or not a
// whole one. key is in quotes and as it stands in the text, too. Of several it is
// the last.
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

func members(data []byte, yield func(Member, error) bool) error {
	i := skipSpace(data, 0)
	if i >= len(data) {
		return endOfText(data)
	}
	object := data[i] == '{'
	if !object && data[i] != '[' {
		return unexpected(data, i, "an object or an array")
	}
	closing := data[i] + 2 // in ASCII each bracket is two before its partner
	i = skipSpace(data, i+1)
	if i < len(data) && data[i] == closing {
		return nil
	}
	for {
		var m Member
		if object {
			if i >= len(data) {
				return endOfText(data)
			}
			if data[i] != '"' {
				return unexpected(data, i, "a key")
			}
			end := StringEnd(data, i)
			if end < 0 {
				return endOfText(data)
			}
			m.Key = data[i:end]
			i = skipSpace(data, end)
			if i >= len(data) {
				return endOfText(data)
			}
			if data[i] != ':' {
				return unexpected(data, i, "a colon")
			}
			i++
		}
		m.Offset = skipSpace(data, i)
		end, err := Skip(data, i)
		if err != nil {
			return err
		}
		m.Value = data[m.Offset:end]
		i = skipSpace(data, end)
		if i >= len(data) {
			return endOfText(data)
		}
		if !yield(m, nil) {
			return nil
		}
		switch data[i] {
		case ',':
			i = skipSpace(data, i+1)
		case closing:
			return nil
		default:
			return unexpected(data, i, "a comma or the end")
		}
	}
}
