package jsonl

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"hindcast/model"
	"hindcast/model/jsontape"
)

// line is one parsed line of the file. A snapshot has a header; the record of a session has a session instead.
type line struct {
	header model.Header
	// session is not nil on a record.
	session *string
	// state is the span of the state, or of its edits, in the line. The zero value means the line has no
	// state.
	state span
	// labels are the labels of the snapshot.
	labels []model.Label
}

// span is where a state is, in a line or in the file.
type span struct {
	start, end int64
	// coded says that the bytes are a JSON string of base64.
	coded bool
	// base is the id of the snapshot whose state the bytes are edits of; "" where they are a
	// state. size is how long the state is that they make.
	base string
	size int64
}

// member is one member of the line's object.
type member struct {
	key        string
	start, end int // of key and value, in the line
	value      int // where the value starts
}

// lineError says where in a line something is wrong.
type lineError struct {
	offset int
	err    error
}

func (e *lineError) Error() string { return fmt.Sprintf("byte %d: %v", e.offset, e.err) }
func (e *lineError) Unwrap() error { return e.err }

var errNoState = errors.New("the record of a session has no state")

// parseLine reads one line without its line end. The state is skipped: only
// its brackets and strings are looked at. Everything else has to be JSON. The
// error is a *lineError.
//
// The header is read by model, so that the rules for it (names count by case, none is
// there twice) are in one place.
func parseLine(text []byte) (line, error) {
	members, err := scanMembers(text)
	if err != nil {
		return line{}, err
	}
	var l line
	var header model.HeaderReader
	for i := range members {
		m := &members[i]
		if m.key == "state" || m.key == "stateBase64" || m.key == "stateEdits" {
			if l.state.end != 0 {
				return line{}, &lineError{m.start, errors.New("the state is there twice")}
			}
			l.state.start, l.state.end, l.state.coded = int64(m.value), int64(m.end), m.key == "stateBase64"
			continue
		}
		if m.key == "stateFrom" {
			if err := json.Unmarshal(text[m.value:m.end], &l.state.base); err != nil {
				return line{}, &lineError{m.value, fmt.Errorf("stateFrom: %w", err)}
			}
			continue
		}
		if m.key == "labels" {
			l.labels = parseLabels(text[m.value:m.end])
			continue
		}
		if err := header.Read(m.key, text[m.value:m.end]); err != nil {
			return line{}, &lineError{m.value, fmt.Errorf("header: %w", err)}
		}
	}
	l.header = header.Header()
	edited := slices.ContainsFunc(members, func(m member) bool { return m.key == "stateEdits" })
	if !edited && l.state.base != "" {
		return line{}, &lineError{0, errors.New("it has stateFrom and no stateEdits")}
	}
	if edited {
		if l.state.base = cmp.Or(l.state.base, l.header.ParentID); l.state.base == "" {
			return line{}, &lineError{0, ErrBase}
		}
		list, err := parseEdits(text[l.state.start:l.state.end])
		if err != nil {
			return line{}, &lineError{int(l.state.start), err}
		}
		l.state.size = editsSize(list)
	}
	for i := range l.labels {
		l.labels[i].Session, l.labels[i].ID, l.labels[i].Visit = l.header.SessionID, l.header.ID, l.header.Visit
	}
	if err := l.describe(text, members); err != nil {
		return line{}, err
	}
	return l, nil
}

// mostLabels bounds the labels that are read of one line.
const mostLabels = 100

// parseLabels returns the labels among the values of a list. Another program may mean
// something else by that member, so what is no label is passed over.
func parseLabels(text []byte) (labels []model.Label) {
	var list []json.RawMessage
	if json.Unmarshal(text, &list) != nil {
		return nil
	}
	for _, value := range list[:min(len(list), mostLabels)] {
		var label model.Label
		if json.Unmarshal(value, &label) == nil && label.Check() == nil {
			labels = append(labels, label)
		}
	}
	return labels
}

// describe says who the line is about.
func (l *line) describe(text []byte, members []member) error {
	has := func(key string) int { return slices.IndexFunc(members, func(m member) bool { return m.key == key }) }
	record := has("session")
	switch {
	case has("sessionId") < 0 && record >= 0:
		if l.state.end == 0 {
			return &lineError{0, errNoState}
		}
		m := &members[record]
		if err := json.Unmarshal(text[m.value:m.end], &l.session); err != nil {
			return &lineError{m.value, fmt.Errorf(`"session": %w`, err)}
		}
		if l.session == nil {
			return &lineError{m.value, errors.New(`"session" is null`)}
		}
	case has("sessionId") < 0:
		return &lineError{0, errors.New("it has no sessionId: not a snapshot")}
	case l.header.ID == "":
		return &lineError{0, errors.New("it has no id: not a snapshot")}
	}
	return nil
}

// scanMembers returns the members of the one object in a line.
func scanMembers(text []byte) ([]member, error) {
	var members []member
	i := skipBlank(text, 0)
	if i == len(text) || text[i] != '{' {
		return nil, &lineError{i, errors.New("a JSON object was expected")}
	}
	i = skipBlank(text, i+1)
	if i < len(text) && text[i] == '}' {
		return nil, trailing(text, i+1)
	}
	for {
		m, err := scanMember(text, i)
		if err != nil {
			return nil, err
		}
		members = append(members, m)
		i = skipBlank(text, m.end)
		switch {
		case i == len(text):
			return nil, &lineError{i, errors.New("the line ends inside the object")}
		case text[i] == ',':
			i = skipBlank(text, i+1)
		case text[i] == '}':
			return members, trailing(text, i+1)
		default:
			return nil, &lineError{i, fmt.Errorf("%q where ',' or '}' was expected", text[i])}
		}
	}
}

// scanMember reads the member whose key starts at i.
func scanMember(text []byte, i int) (member, error) {
	m := member{start: i}
	if i == len(text) || text[i] != '"' {
		return m, &lineError{i, errors.New("a key was expected")}
	}
	end, err := jsontape.Skip(text, i)
	if err != nil {
		return m, inLine(i, err)
	}
	if m.key, err = decodeKey(text[i:end]); err != nil {
		return m, &lineError{i, err}
	}
	colon := skipBlank(text, end)
	if colon == len(text) || text[colon] != ':' {
		return m, &lineError{colon, errors.New("a ':' was expected after the key")}
	}
	m.value = skipBlank(text, colon+1)
	if m.end, err = jsontape.Skip(text, m.value); err != nil {
		return m, inLine(m.value, err)
	}
	if m.key != "state" && m.key != "stateBase64" && !json.Valid(text[m.value:m.end]) {
		return m, &lineError{m.value, fmt.Errorf("%.40q is not JSON", text[m.value:m.end])}
	}
	return m, nil
}

// decodeKey decodes a key as encoding/json does.
func decodeKey(quoted []byte) (string, error) {
	if plain := quoted[1 : len(quoted)-1]; bytes.IndexFunc(plain, func(r rune) bool { return r < ' ' || r == '\\' || r >= utf8.RuneSelf }) < 0 {
		return string(plain), nil
	}
	var key string
	if err := json.Unmarshal(quoted, &key); err != nil {
		return "", fmt.Errorf("the key %.40q is not JSON", quoted)
	}
	return key, nil
}

// inLine words an error of jsontape, which counts from the start of the line
// too, where it names a place.
func inLine(i int, err error) error {
	if syntax, ok := errors.AsType[*jsontape.SyntaxError](err); ok {
		return &lineError{int(syntax.Offset), errors.New(syntax.Msg)}
	}
	return &lineError{i, err}
}

// trailing refuses anything but blanks after the object.
func trailing(text []byte, i int) error {
	if i = skipBlank(text, i); i < len(text) {
		return &lineError{i, fmt.Errorf("%q after the end of the object", text[i])}
	}
	return nil
}

func skipBlank(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r' || text[i] == '\n') {
		i++
	}
	return i
}
