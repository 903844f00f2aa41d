package mapped

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"hindcast/model/jsontape"
)

// Map says where rows are in a document, and where in a row what a snapshot
// consists of is. Its zero value takes every document as the state of one row.
// It never changes after it was made.
type Map struct {
	// rows leads to the rows; nil for a document that is one row, or an array of
	// rows.
	rows *query
	// where says which rows are taken; nil for all.
	where   *condition
	columns map[string]column
	// appends says that a row is a message, and the state the messages so far.
	appends bool
	// whole says that a column begins at the document, so that without rows an
	// array is one row.
	whole bool
}

// condition compares a value of a row with a constant in the map.
type condition struct {
	query query
	not   bool
	text  string
	// quoted says that only a text is meant, and not a number or a name of JSON.
	quoted bool
}

func (c *condition) String() string {
	if c.not {
		return c.query.text + "!=" + c.text
	}
	return c.query.text + "==" + c.text
}

// matchesRow reports whether a row meets the condition.
func (c *condition) matchesRow(t *jsontape.Tape, row jsontape.Node) (bool, error) {
	v, err := c.query.find(t, 0, row)
	if err != nil {
		return false, err
	}
	same := false
	switch v.kind() {
	case jsontape.Invalid:
	case jsontape.String:
		same = v.tape.Text(v.node) == c.text
	default:
		same = !c.quoted && string(v.tape.Raw(v.node)) == c.text
	}
	return same != c.not, nil
}

// column is where a value comes from: a path, or a text that is the same for
// all rows.
type column struct {
	query   query
	text    string
	literal bool
}

// appendWord makes the state of the messages so far.
const appendWord = "append"

// joins reports whether a state is put together from lists of messages.
func (m *Map) joins() bool {
	_, answers := m.columns[columnAnswer]
	return m.appends || answers
}

// The columns of a map.
const (
	columnRows     = "rows"
	columnID       = "id"
	columnParent   = "parent"
	columnState    = "state"
	columnAnswer   = "answer"
	columnMessages = "messages"
	columnTime     = "time"
	columnSession  = "session"
	columnIndex    = "index"
	columnTurn     = "turn"
	columnEvent    = "event"
	columnTitle    = "title"
	columnOrphaned = "orphaned"
	columnHead     = "head"
	columnWhere    = "where"
)

// keys are the columns in the order in which they are explained, each with an
// example.
var keys = []struct{ name, example string }{
	{columnID, "id=checkpoint_id"},
	{columnParent, "parent=metadata.parents[0]"},
	{columnState, "state=$"},
	{columnMessages, "messages=append"},
	{columnAnswer, "answer=response.messages"},
	{columnTime, "time=ts"},
	{columnSession, "session=thread_id or session='my run'"},
	{columnIndex, "index=metadata.step"},
	{columnTurn, "turn=metadata.turn"},
	{columnEvent, "event=metadata.source or event='turnEnd'"},
	{columnTitle, "title=summary"},
	{columnOrphaned, "orphaned=deleted"},
	{columnHead, "head=current"},
	{columnRows, "rows=$.checkpoints[*]"},
	{columnWhere, "where=type==message"},
}

// literals are the columns that may be a text in quotes.
var literals = map[string]bool{columnSession: true, columnEvent: true, columnTitle: true}

// MapError says which part of the text of a map is wrong.
type MapError struct {
	// Column is the position of the error in the text, in characters from 1.
	Column int
	// Part is the part of the map that it is in, such as "parent=a..b".
	Part string
	// Problem describes the error, and Example is a correct text.
	Problem, Example string
}

func (e *MapError) Error() string {
	return fmt.Sprintf("mapped: column %d of the map, in %q: %s; for example %s", e.Column, e.Part, e.Problem, e.Example)
}

// ParseMap reads a map: KEY=PATH and so on, with commas. The first character of
// a path tells how it is spelled:
//
//	$.a.b[0]['x, y']   JSONPath (RFC 9535) from the document
//	@.a.b[-1]          the same from the row; without rows, both are one
//	a.b[0]             @ may be left out
//	/a/b/0             a JSON Pointer (RFC 6901) from the row; it has no commas
//	a.b|fromjson.c     a path into the JSON that a text holds; not in a JSON Pointer
//	a[?@.key=='x'].b   the first element of a that meets a condition, == or !=
//	'text'             no path, but this very text: session, event and title
//
// A path leads to one value, except the path of rows, which leads to all rows of a
// document: a JSONPath with [*] or .* in it, or a JSON Pointer to an array.
//
// The keys, each with its default:
//
//	state     the state, any value: the row
//	messages  append: the state is {"messages": […]}, those that are at state in the rows
//	          from the first up to this one, each a message or a list of some; the id is
//	          then by default a hash of the messages so far
//	answer    a message or a list of some behind the message or list that is at state:
//	          the state is {"messages": […]} here, too
//	id        a text or a number: the SHA-256 of the state without the spaces
//	parent    the id of the row before: the row before it in its session
//	session   a text or a number: the name of the file, or that of the folder
//	          where a file is one row
//	time      when it was captured: unknown, see Read
//	index     a whole number: the position in the session, from 0
//	turn      a whole number: 0
//	event     a name, or a number of the seed: the name "imported"
//	title     a text: what the last message of the state says
//	orphaned  true or false: false
//	head      true or false: true for the last row that is no row's parent
//	rows      all rows of the document: the elements of a file that is one array, but
//	          the document where a path begins at it with $, and of any other file
//	where     PATH==VALUE or PATH!=VALUE: the rows that are taken, the others are
//	          counted and passed over; VALUE is a text, in quotes or not, a number,
//	          true or false
//
// A map of nothing takes every document as a state. The error is a [MapError].
func ParseMap(text string) (Map, error) {
	m := Map{columns: map[string]column{}}
	s := scanner{text: text}
	if s.blanks(); !s.hasMore() {
		return m, nil
	}
	for {
		s.blanks()
		start := s.at
		key, wrong := m.part(&s)
		s.blanks()
		if wrong == nil && s.hasMore() && s.peek() != ',' {
			wrong = &problem{s.at, "a comma or the end was expected; a name with other characters than letters, digits and _ is written ['so']"}
		}
		if wrong != nil {
			return Map{}, mapError(text, start, key, wrong)
		}
		if !s.take(',') {
			return m, nil
		}
	}
}

// part reads one KEY=PATH into the map and returns its key, or "" for an unknown key.
func (m *Map) part(s *scanner) (key string, wrong *problem) {
	start := s.at
	key = s.word()
	s.blanks()
	if example(key) == "" || s.peek() != '=' {
		return "", &problem{start, "KEY=PATH was expected, and KEY is one of " + names() + "; a comma in a path stands in brackets and quotes: ['a,b']"}
	}
	s.at++
	if _, twice := m.columns[key]; twice || key == columnMessages && m.appends || key == columnRows && m.rows != nil || key == columnWhere && m.where != nil {
		return key, &problem{start, key + " is there twice"}
	}
	s.blanks()
	at := s.at
	var c column
	switch first := s.peek(); {
	case key == columnMessages:
		if m.appends = s.word() == appendWord; !m.appends {
			return key, &problem{at, "behind messages= stands append: a row is a message, and the state the messages so far"}
		}
		return key, nil
	case first == 0 || first == ',':
		return key, &problem{s.at, "there is no path; $ is the whole document"}
	case first == '\'' || first == '"':
		if c.literal = true; !literals[key] {
			return key, &problem{s.at, "a text in quotes can be the session, the event and the title; here a path was expected"}
		}
		if c.text, wrong = s.quotedText(); wrong == nil && c.text == "" {
			wrong = &problem{at, "the text is empty"}
		}
	default:
		c.query, wrong = s.query()
	}
	if wrong != nil {
		return key, wrong
	}
	if key == columnRows {
		return key, m.setRows(c.query, at)
	}
	if key == columnWhere {
		only, wrong := s.condition(",")
		if wrong != nil {
			return key, wrong
		}
		only.query, m.where = c.query, &only
	}
	m.whole = m.whole || c.query.document
	if c.query.spreads() {
		return key, &problem{at, "the path leads to many values; only the path of rows may"}
	}
	if key != columnWhere {
		m.columns[key] = c
	}
	return key, nil
}

// setRows takes the path of rows that stands at a byte of the text.
func (m *Map) setRows(p query, at int) *problem {
	filters := slices.ContainsFunc(p.steps, func(s step) bool { return s.kind == stepFilter })
	_, inside := split(p.steps)
	switch {
	case inside != nil:
		return &problem{at, "rows are not in a text; |fromjson stands in the paths of their parts"}
	case p.text[0] == '/': // the array itself
		p.steps = append(p.steps, step{kind: stepAll})
	case !filters && !p.spreads():
		return &problem{at, "the path leads to one value; [*] behind an array leads to all in it"}
	}
	m.rows = &p
	return nil
}

// mapError tells where in the text a problem is; start is where its part
// begins.
func mapError(text string, start int, key string, wrong *problem) *MapError {
	e := &MapError{Column: 1 + utf8.RuneCountInString(text[:wrong.at]), Problem: wrong.what, Example: example(key)}
	e.Part = text[start:]
	if comma := strings.IndexByte(text[max(start, wrong.at):], ','); comma >= 0 {
		e.Part = text[start : max(start, wrong.at)+comma]
	}
	if e.Example == "" {
		e.Example = "id=checkpoint_id,parent=parent_id,state=values"
	}
	return e
}

func example(key string) string {
	for _, k := range keys {
		if k.name == key {
			return k.example
		}
	}
	return ""
}

func names() string {
	var list []string
	for _, k := range keys {
		list = append(list, k.name)
	}
	return strings.Join(list, ", ")
}
