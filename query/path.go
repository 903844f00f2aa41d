package query

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hindcast/model/jsontape"
)

// Path is a place in a state. The zero Path is the whole state.
type Path struct{ keys []string }

// PathError says that a text is no path.
type PathError struct {
	// Text is the text of the path, and Why describes the mistake in it.
	Text, Why string
	// Offset is the byte of Text at which it goes wrong.
	Offset int
}

// Error returns a message with the text and the mistake.
func (e *PathError) Error() string { return fmt.Sprintf("%.80q is no path: %s", e.Text, e.Why) }

// Mistake returns the text, and the byte at which it goes wrong.
func (e *PathError) Mistake() (text string, offset int) { return e.Text, e.Offset }

// ParsePath reads a JSON Pointer (RFC 6901) or a jq path, which begins with a dot:
// /messages/3/content or .messages[3].content. The empty pointer and the jq path . are the
// whole state. The error is a *PathError.
func ParsePath(text string) (Path, error) {
	switch {
	case text == "":
		return Path{}, nil
	case text[0] == '/':
		return parsePointer(text)
	case text[0] == '.':
		return parseDotted(text)
	}
	return Path{}, &PathError{text, "it begins with neither / nor .", 0}
}

func parsePointer(text string) (Path, error) {
	for i := range len(text) {
		if text[i] == '~' && (i+1 == len(text) || text[i+1] != '0' && text[i+1] != '1') {
			return Path{}, &PathError{text, "~ is written as ~0, and / in a key as ~1", i}
		}
	}
	keys := strings.Split(text[1:], "/")
	for i, key := range keys {
		keys[i] = jsontape.PointerKey(key)
	}
	return Path{keys}, nil
}

// parseDotted reads a jq path: the part of jq's language that names one place.
//
//	.cart.total    .messages[3]    ."a b"    .["a b"]
func parseDotted(text string) (path Path, err error) {
	wrong := func(at int, why string) (Path, error) { return Path{}, &PathError{text, why, at} }
	for i := 0; i < len(text); {
		dot := text[i] == '.'
		if dot {
			i++
		}
		rest := text[i:]
		switch {
		case rest == "" && i == 1:
			return Path{}, nil
		case rest != "" && rest[0] == '[' && (dot && i == 1 || !dot):
			key, end, why := bracketed(rest)
			if why != "" {
				return wrong(i+end, why)
			}
			path.keys, i = append(path.keys, key), i+end
		case !dot:
			return wrong(i, "behind a key comes . or [; a key with other characters is written [\"KEY\"]")
		case rest != "" && rest[0] == '"':
			key, end := quoted(rest)
			if end == 0 {
				return wrong(i, "the string has no end")
			}
			path.keys, i = append(path.keys, key), i+end
		default:
			end := nameEnd(rest)
			if end == 0 {
				return wrong(i, "behind . comes a key; one with other characters than letters, digits and _ is written [\"KEY\"]")
			}
			path.keys, i = append(path.keys, rest[:end]), i+end
		}
	}
	return path, nil
}

// bracketed reads the key or the index in brackets at the beginning of a text, and returns
// where they end. Else it returns a reason, and its place.
func bracketed(text string) (key string, end int, why string) {
	rest := text[1:]
	switch {
	case rest != "" && rest[0] == '"':
		if key, end = quoted(rest); end == 0 {
			return "", 1, "the string has no end"
		}
	default:
		for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
			end++
		}
		if key = rest[:end]; indexOf(key) < 0 {
			return "", 1, "in brackets stands a string or an index, which counts from 0"
		}
	}
	if end == len(rest) || rest[end] != ']' {
		return "", 1 + end, "] is missing"
	}
	return key, end + 2, ""
}

// quoted returns the string that a text begins with and where it ends, 0 for nowhere.
func quoted(text string) (key string, end int) {
	if end = jsontape.StringEnd([]byte(text), 0); end < 0 {
		return "", 0
	}
	return jsontape.Unquote([]byte(text[:end])), end
}

// nameEnd returns how long the key is that a text begins with and that needs no quotes.
func nameEnd(text string) (end int) {
	for end < len(text) {
		switch c := text[end]; {
		case c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || end > 0 && c >= '0' && c <= '9':
			end++
		default:
			return end
		}
	}
	return end
}

// CompletePath returns how a text goes on that is the beginning of a path in a state, in
// the notation in which it begins: a whole path for each key that it may mean, in the order
// of the state. more says that one holds others. It is nil for a text that is no such beginning.
func CompletePath(state []byte, text string) (paths []string, more []bool) {
	cut, dotted := strings.LastIndexByte(text, '/'), strings.HasPrefix(text, ".")
	if dotted {
		cut = strings.LastIndexAny(text, ".[")
	}
	within := text[:max(cut, 0)]
	of, err := ParsePath(within)
	if err != nil || !dotted && text != "" && text[0] != '/' {
		return nil, nil
	}
	value, err := of.in(state)
	if err != nil || len(value) == 0 || value[0] != '{' && value[0] != '[' {
		return nil, nil
	}
	i := 0
	for m, err := range jsontape.Members(value) {
		if err != nil {
			break
		}
		key, index := strconv.Itoa(i), m.Key == nil
		if i++; !index {
			key = jsontape.Unquote(m.Key)
		}
		step := []byte(within)
		switch {
		case !dotted:
			step = jsontape.AppendPointerToken(append(step, '/'), key)
		case !index && nameEnd(key) == len(key) && key != "":
			step = append(append(step, '.'), key...)
		default:
			if within == "" {
				step = append(step, '.')
			}
			if step = append(step, '['); index {
				step = append(step, key...)
			} else {
				step = jsontape.AppendQuoted(step, key)
			}
			step = append(step, ']')
		}
		if path := string(step); strings.HasPrefix(path, text) && !slices.Contains(paths, path) {
			paths = append(paths, path)
			more = append(more, m.Value[0] == '{' || m.Value[0] == '[')
		}
	}
	return paths, more
}

// Indexed reports whether the path leads through what may be an element of an array: a place
// that has other values at other times.
func (p Path) Indexed() bool {
	return slices.ContainsFunc(p.keys, func(key string) bool { return indexOf(key) >= 0 })
}

// Pointer returns the path as a JSON Pointer (RFC 6901).
func (p Path) Pointer() string {
	var text []byte
	for _, key := range p.keys {
		text = jsontape.AppendPointerToken(append(text, '/'), key)
	}
	return string(text)
}

// JQ returns the path as an expression of jq. What can be an index is taken for one.
func (p Path) JQ() string {
	if len(p.keys) == 0 {
		return "."
	}
	text := []byte(".")
	for _, key := range p.keys {
		text = append(text, '[')
		if indexOf(key) >= 0 {
			text = append(text, key...)
		} else {
			text = jsontape.AppendQuoted(text, key)
		}
		text = append(text, ']')
	}
	return string(text)
}

// byteOrderMark is the mark that some editors write before a text.
var byteOrderMark = []byte("\ufeff")

// in returns the bytes of the value at the path in a state, nil if there is no such value. Of
// duplicate keys the last counts. What lies beside the path is skipped unread. The error
// is a *jsontape.SyntaxError.
func (p Path) in(state []byte) ([]byte, error) {
	value := bytes.TrimSpace(bytes.TrimPrefix(state, byteOrderMark))
	for _, key := range p.keys {
		var err error
		if value, err = member(value, key); value == nil || err != nil {
			return nil, err
		}
	}
	return value, nil
}

// member returns the member of an object or the element of an array that a key names; nil
// if it does not exist, or the value is neither an object nor an array.
func member(of []byte, key string) (found []byte, err error) {
	if len(of) > 0 && of[0] != '{' && of[0] != '[' {
		_, _, err := jsontape.ParseTolerant(of)
		return nil, err
	}
	index := indexOf(key)
	i := 0
	for m, err := range jsontape.Members(of) {
		switch {
		case err != nil:
			return nil, err
		case m.Key != nil && jsontape.Unquote(m.Key) == key:
			found = m.Value // a later one may have the same key
		case m.Key == nil && i == index:
			return m.Value, nil
		}
		i++
	}
	return found, nil
}

// indexOf returns the array index that a key spells, -1 if the key is no index.
func indexOf(key string) int {
	index, err := strconv.Atoi(key)
	if err != nil || strconv.Itoa(index) != key {
		return -1
	}
	return index
}
