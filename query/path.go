package query

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hindcast/model/jsontape"
)

// Path is a place below the top of a state.
type Path struct{ keys []string }

// PathError says that a text is no path.
type PathError struct {
	// Text is what was given, and Why says what is wrong with it.
	Text, Why string
}

// Error returns the text and what is wrong with it.
func (e *PathError) Error() string { return fmt.Sprintf("%.80q is no path: %s", e.Text, e.Why) }

// ParsePath reads a JSON Pointer (RFC 6901). The error is a *PathError.
func ParsePath(pointer string) (Path, error) {
	below, ok := strings.CutPrefix(pointer, "/")
	if !ok {
		return Path{}, &PathError{pointer, "it does not begin with /"}
	}
	keys := strings.Split(below, "/")
	for i, key := range keys {
		if escapes := strings.Count(key, "~0") + strings.Count(key, "~1"); escapes < strings.Count(key, "~") {
			return Path{}, &PathError{pointer, "~ is written as ~0, and / in a key as ~1"}
		}
		keys[i] = jsontape.PointerKey(key)
	}
	return Path{keys}, nil
}

// byteOrderMark is what some editors write before a text.
var byteOrderMark = []byte("\ufeff")

// in returns the value at the path as it stands in a state, nil where there is none. Of
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
// for none, and in a value that holds nothing.
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

// indexOf returns the position that a key is in an array, -1 for none.
func indexOf(key string) int {
	index, err := strconv.Atoi(key)
	if err != nil || strconv.Itoa(index) != key {
		return -1
	}
	return index
}

// whereabouts is where a path leads in a state without the first elements of one array.
type whereabouts uint8

const (
	// besides: the value is in what is left.
	besides whereabouts = iota
	// amongCommon: the value is in what is left out.
	amongCommon
	// around: what is left out is a part of the value.
	around
)

// behind returns the path in a state that lacks the first elements of the array at a key,
// and where it leads.
func (p Path) behind(key string, elements int) (Path, whereabouts) {
	if elements == 0 || p.keys[0] != key {
		return p, besides
	}
	if len(p.keys) == 1 {
		return p, around
	}
	index := indexOf(p.keys[1])
	switch {
	case index < 0:
		return p, besides
	case index < elements:
		return p, amongCommon
	}
	keys := slices.Clone(p.keys)
	keys[1] = strconv.Itoa(index - elements)
	return Path{keys}, besides
}
