package mapped

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store"
)

// imported is the event of a row that has no event.
const imported = "imported"

// row is one snapshot that was found, without its state.
type row struct {
	header model.Header
	// hasIndex says that the row itself says its index.
	hasIndex bool
	// headed tells whether the row calls itself the head.
	headed bool
	// stateless says why there is no state: the row is good only if its id came
	// before with one. It is nil for a row with a state.
	stateless error
	// sum is the hash of the state without the spaces, or of the messages that the row adds to one.
	sum [sha256.Size]byte
	// The state is in the file, or its parts are, one behind the other: lists of messages, or messages.
	file  *file
	line  int
	parts []part
	// from and to are where the whole row is in the file.
	from, to int64
}

// part is where a value is in the file: from start on, size bytes long, or inside the text that stands there, where the
// steps lead. sum is the hash of the value without the spaces.
type part struct {
	start, size int64
	inside      []step
	sum         [sha256.Size]byte
}

// leanOn gives a row without a state that of an earlier one of its id.
func (r *row) leanOn(first *row) {
	r.sum, r.file, r.line, r.parts = first.sum, first.file, first.line, first.parts
	r.header.Size, r.header.Marks = first.header.Size, first.header.Marks&model.MarkError
	r.header.Title = cmp.Or(r.header.Title, first.header.Title)
}

// RowError says which row an import stops at, and why.
type RowError struct {
	// File is the file, Line the line in it, from 1; 0 for a file that is one
	// document. Place is the JSON Pointer of the row in the document.
	File, Place string
	Line        int
	// Column is the key of the map whose value is wrong, or "".
	Column string
	Err    error
}

func (e *RowError) Error() string {
	text := "mapped: " + documentName(e.File, e.Line)
	if e.Place != "" {
		text += ": " + e.Place
	}
	if e.Column != "" {
		text += ": " + e.Column
	}
	return text + ": " + e.Err.Error()
}

// documentName names a document.
func documentName(file string, line int) string {
	if line == 0 {
		return file
	}
	return file + ": line " + strconv.Itoa(line)
}

func (e *RowError) Unwrap() error { return e.Err }

// reader makes a row of a value.
type reader struct {
	m    Map
	tape *jsontape.Tape
	at   jsontape.Node
	// column is the one that is being read, for errors.
	column string
}

// row reads the row at r.at. The session is "" if the map has no path for it.
func (r *reader) row() (found row, err error) {
	h := &found.header
	for _, read := range []func(*row) error{r.state, r.id, r.lineage, r.position, r.flags} {
		if err := read(&found); err != nil {
			return row{}, err
		}
	}
	r.column = columnTime
	v, err := r.find()
	if err == nil && v.node != jsontape.None {
		h.CreatedAt, err = readTime(v.tape, v.node)
	}
	if err != nil {
		return row{}, err
	}
	return found, nil
}

// find returns the value of the column. Its node is None if the value is missing or null.
func (r *reader) find() (value, error) {
	none := value{r.tape, jsontape.None}
	c, ok := r.m.columns[r.column]
	if !ok || c.literal {
		return none, nil
	}
	v, err := c.query.find(r.tape, 0, r.at)
	if err != nil || v.kind() == jsontape.Null {
		return none, err
	}
	return v, nil
}

func (r *reader) state(found *row) error {
	r.column = columnState
	state, err := r.readPart(found)
	if err != nil || found.stateless != nil {
		return err
	}
	h := &found.header
	if r.m.joins() {
		texts := [][]byte{state}
		if _, ok := r.m.columns[columnAnswer]; ok {
			r.column = columnAnswer
			answer, err := r.readPart(found)
			if err != nil {
				return err
			}
			found.stateless = nil // there may be no answer
			texts = append(texts, answer)
		}
		state = joinMessages(texts...)
	}
	found.sum = sha256.Sum256(jsontape.AppendCompact(nil, state))
	h.Size = int64(len(state))
	var failed bool
	if h.Title, failed = conversation.Title(state, conversation.LastMessage); failed {
		h.Marks |= model.MarkError
	}
	return nil
}

// readPart reads the value of the column and notes where it is. Without a value the row is stateless.
func (r *reader) readPart(found *row) ([]byte, error) {
	at, v := value{r.tape, r.at}, value{r.tape, r.at} // what stands in the file, and the value
	var p part
	if c, ok := r.m.columns[r.column]; ok {
		var err error
		outer := c.query
		outer.steps, p.inside = split(outer.steps)
		if at, err = outer.find(r.tape, 0, r.at); err != nil {
			return nil, err
		}
		if v, err = at.follow(p.inside); err != nil {
			return nil, err
		}
		if v.node == jsontape.None {
			found.stateless = r.noValue()
			return nil, nil
		}
	}
	text := v.tape.Raw(v.node)
	start, end := at.tape.Span(at.node)
	if err := store.CheckState(text); err != nil {
		return nil, notJSON(v, err)
	}
	p.start, p.size, p.sum = int64(start), int64(end-start), sha256.Sum256(jsontape.AppendCompact(nil, text))
	found.parts = append(found.parts, p)
	return text, nil
}

// A state that is put together begins and ends so.
const joinedBegin, joinedEnd = `{"messages":[`, "]}"

// joinMessages returns a state of messages. Each text is a message, or a list of some.
func joinMessages(texts ...[]byte) []byte {
	return slices.Concat([]byte(joinedBegin), listMessages(texts), []byte(joinedEnd))
}

// listMessages returns the messages in texts with commas between them, nil where there are none.
func listMessages(texts [][]byte) (list []byte) {
	for _, text := range texts {
		if text = bytes.TrimSpace(text); len(text) > 0 && text[0] == '[' {
			text = bytes.TrimSpace(text[1 : len(text)-1])
		}
		if len(text) > 0 && list != nil {
			list = append(list, ',')
		}
		list = append(list, text...)
	}
	return list
}

// notJSON says where a state that was read is no JSON: it is one of the numbers
// that JSON does not have.
func notJSON(v value, err error) error {
	for c := v.node; c < v.tape.End(v.node); c++ {
		if !v.tape.Standard(c) {
			return fmt.Errorf("%w: %s is %s, which JSON does not have, and a store keeps JSON only", err, place(v.tape, c), v.tape.Raw(c))
		}
	}
	return err
}

// place returns the JSON Pointer of a value for people.
func place(t *jsontape.Tape, n jsontape.Node) string {
	if n == 0 {
		return "it"
	}
	return t.Pointer(n)
}

func (r *reader) id(found *row) (err error) {
	h := &found.header
	r.column = columnID
	if _, ok := r.m.columns[columnID]; !ok {
		if found.stateless != nil {
			r.column = columnState
			return found.stateless
		}
		h.ID = hex.EncodeToString(found.sum[:])
	} else if h.ID, err = r.name(); err != nil {
		return err
	} else if h.ID == "" {
		return r.noValue()
	}
	r.column = columnSession
	switch c, ok := r.m.columns[columnSession]; {
	case !ok:
	case c.literal:
		h.SessionID = c.text
	default:
		if h.SessionID, err = r.name(); err == nil && h.SessionID == "" {
			err = r.noValue()
		}
	}
	return err
}

func (r *reader) lineage(found *row) (err error) {
	r.column = columnParent
	if found.header.ParentID, err = r.name(); err != nil {
		return err
	}
	return nil
}

func (r *reader) position(found *row) (err error) {
	h := &found.header
	r.column = columnIndex
	if h.Index, found.hasIndex, err = r.number(); err != nil {
		return err
	}
	r.column = columnTurn
	if h.TurnIndex, _, err = r.number(); err != nil {
		return err
	}
	r.column = columnEvent
	event, err := json.Marshal(cmp.Or(r.m.columns[columnEvent].text, imported))
	if err != nil {
		return err
	}
	v, err := r.find()
	if err != nil {
		return err
	}
	if v.node != jsontape.None {
		event = v.tape.Raw(v.node)
	}
	h.Event, h.EventName, err = model.ParseEvent(event)
	return err
}

func (r *reader) flags(found *row) (err error) {
	h := &found.header
	r.column = columnTitle
	if c := r.m.columns[columnTitle]; c.literal {
		h.Title = c.text
	} else if title, err := r.name(); err != nil {
		return err
	} else if title != "" {
		h.Title = firstLine(title)
	}
	r.column = columnOrphaned
	if h.Orphaned, err = r.boolean(); err != nil {
		return err
	}
	r.column = columnHead
	found.headed, err = r.boolean()
	return err
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line[:min(len(line), 4*conversation.MaxTitle)])
}

// name returns the text of the column, or its number as written, or "".
func (r *reader) name() (string, error) {
	v, err := r.find()
	if err != nil {
		return "", err
	}
	switch k := v.kind(); k {
	case jsontape.Invalid:
		return "", nil
	case jsontape.String:
		return v.tape.Text(v.node), nil
	case jsontape.Number:
		return string(v.tape.Raw(v.node)), nil
	default:
		return "", fmt.Errorf("a text or a number was expected, and it is %s", article(k))
	}
}

func (r *reader) number() (n int, found bool, err error) {
	v, err := r.find()
	if err != nil || v.node == jsontape.None {
		return 0, false, err
	}
	text := v.tape.Raw(v.node)
	f, err := strconv.ParseFloat(string(text), 64)
	if v.kind() != jsontape.Number || err != nil || f != math.Trunc(f) || math.Abs(f) > maxIndex {
		return 0, false, fmt.Errorf("a whole number was expected, and it is %.40s", text)
	}
	return int(f), true, nil
}

func (r *reader) boolean() (bool, error) {
	v, err := r.find()
	if err != nil {
		return false, err
	}
	switch k := v.kind(); k {
	case jsontape.Invalid, jsontape.False:
		return false, nil
	case jsontape.True:
		return true, nil
	default:
		return false, fmt.Errorf("true or false was expected, and it is %s", article(k))
	}
}

func article(k jsontape.Kind) string {
	if strings.ContainsRune("aeiou", rune(k.String()[0])) {
		return "an " + k.String()
	}
	return "a " + k.String()
}

// noValue says that a column that every row must have leads nowhere.
func (r *reader) noValue() error {
	c := r.m.columns[r.column]
	text := c.query.text + " leads to nothing"
	base, what := r.at, "row"
	if c.query.document {
		base, what = 0, "document"
	}
	text += "; the " + what + " " + members(r.tape, base)
	if c.query.document && r.m.rows != nil {
		text += "; $ is the document here, and @ the row"
	}
	return errors.New(text)
}

// mostNames bounds the members that an error names.
const mostNames = 12

// members describes a value by its members.
func members(t *jsontape.Tape, n jsontape.Node) string {
	if t.Kind(n) != jsontape.Object {
		return "is " + article(t.Kind(n))
	}
	var list []string
	for c := t.First(n); c != jsontape.None; c = t.Next(c) {
		if len(list) == mostNames {
			list = append(list, "…")
			break
		}
		list = append(list, fmt.Sprintf("%.40s", t.Key(c)))
	}
	if len(list) == 0 {
		return "is an object of nothing"
	}
	return "has " + strings.Join(list, ", ")
}
