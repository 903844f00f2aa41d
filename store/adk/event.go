package adk

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/pickle"
	"hindcast/store/rows"
)

// event is a row of the table.
type event struct {
	id, invocation string
	stamp          string // the time in its row
	data           []byte // JSON; nil where it is none
	says           bool   // it has a content with parts
	rewinds        string // the invocation before which it goes back
	delta          []byte // what it changes in the state
	size           int64
	title          string
	details
}

// details are what takes longer to read of an event than states need.
type details struct {
	at      time.Time
	damaged bool

	Timestamp    float64  `json:"timestamp"`
	Author       string   `json:"author"`
	Branch       string   `json:"branch"`
	Finish       string   `json:"finish_reason"`
	ErrorCode    string   `json:"error_code"`
	ErrorMessage string   `json:"error_message"`
	LongRunning  []string `json:"long_running_tool_ids"`
	Content      struct {
		Parts []struct {
			Call     *call `json:"function_call"`
			Response *call `json:"function_response"`
		} `json:"parts"`
	} `json:"content"`
	Actions struct {
		Compaction json.RawMessage `json:"compaction"`
	} `json:"actions"`
}

// call is a tool call, or what answers one.
type call struct {
	id, name string
}

// UnmarshalJSON implements json.Unmarshaler: arguments and results are passed over.
func (c *call) UnmarshalJSON(data []byte) error {
	c.id, c.name = jsontape.Unquote(jsontape.FindMember(data, `"id"`)), jsontape.Unquote(jsontape.FindMember(data, `"name"`))
	return nil
}

// session is events of a session in their order, and how they follow each other.
type session struct {
	events      []event
	first, skip int // as in rows.Span
	// heads are the heads before each event. parents are the events before: of a rewind it
	// is the last one that it drops. bases are those that a state goes on from: of a rewind
	// it is the head that it leads to. All are -1 for none.
	heads, parents, bases []int
	byInvocation          map[string]int // the first of each
	head                  int
	answered              map[string]bool
	schema0               bool
	opaque                string
	looked                sync.Once
}

// load reads a session, all of it or from an event on, with the one before.
func load(ctx context.Context, t rows.Tx, at rows.Place, from string) (*session, error) {
	span, err := kind.Span(ctx, t, at, from, 1)
	if err != nil {
		return nil, err
	}
	s := &session{first: span.First, skip: span.Skip, head: -1, byInvocation: map[string]int{}, answered: map[string]bool{}}
	has, err := t.Columns(ctx, "events")
	if err != nil {
		return nil, err
	}
	if !has["event_data"] {
		s.schema0 = true
		return s, t.Records(ctx, func(r map[string]any) error {
			e, sealed := ofColumns(r)
			if s.add(e); sealed {
				s.opaque = "pickles that cannot be read"
			}
			return nil
		},
			"SELECT *, CAST(timestamp AS TEXT) AS timestamp_text FROM events"+span.Where, span.Args...)
	}
	return s, t.Each(ctx, func(scan func(...any) error) error {
		var e event
		err := scan(&e.id, &e.invocation, &e.stamp, &e.data)
		e.read()
		s.add(e)
		return err
	}, "SELECT id, invocation_id, CAST(timestamp AS TEXT), event_data FROM events"+span.Where, span.Args...)
}

// read reads of an event what states need.
func (e *event) read() {
	if e.size = int64(len(e.data)); !jsontape.Valid(e.data) {
		e.data = nil
	}
	actions := jsontape.FindMember(e.data, `"actions"`)
	e.delta = jsontape.FindMember(actions, `"state_delta"`)
	if to := jsontape.FindMember(actions, `"rewind_before_invocation_id"`); len(to) > 0 && to[0] == '"' {
		e.rewinds = jsontape.Unquote(to)
	}
	parts := jsontape.FindMember(jsontape.FindMember(e.data, `"content"`), `"parts"`)
	e.says = len(parts) > len("[]") && parts[0] == '['
}

// look reads the rest of all events, once.
func (s *session) look() { s.looked.Do(s.readDetails) }

func (s *session) readDetails() {
	for i := range s.events {
		e := &s.events[i]
		e.damaged = json.Unmarshal(e.data, &e.details) != nil
		if e.Timestamp > 0 && e.Timestamp < 1e11 {
			e.at = time.UnixMicro(int64(e.Timestamp * 1e6)).UTC()
		} else {
			e.at, _ = time.Parse("2006-01-02 15:04:05.999999", e.stamp) // the zero time says that there is none
		}
		for _, p := range e.Content.Parts {
			if p.Response != nil {
				s.answered[p.Response.id] = true
			}
		}
	}
}

// ofColumns makes an event of a row of schema 0, whose columns are its members. It reports
// whether its actions cannot be read.
func ofColumns(r map[string]any) (e event, sealed bool) {
	text := func(column string) string { s, _ := r[column].(string); return s }
	e = event{id: text("id"), invocation: text("invocation_id"), stamp: text("timestamp_text")}
	members := []string{}
	for _, column := range []struct{ name, member string }{
		{"id", "id"}, {"invocation_id", "invocation_id"}, {"author", "author"}, {"branch", "branch"}, {"content", "content"}, {"actions", "actions"},
		{"long_running_tool_ids_json", "long_running_tool_ids"}, {"grounding_metadata", "grounding_metadata"}, {"error_code", "error_code"}, {"error_message", "error_message"},
	} {
		value := text(column.name)
		switch column.member {
		case "content", "long_running_tool_ids", "grounding_metadata":
		case "actions":
			shown, err := actions([]byte(value))
			sealed, value = err != nil && value != "", string(shown)
		default:
			value = quoted(value)
		}
		if text(column.name) != "" {
			members = append(members, quoted(column.member)+":"+value)
		}
	}
	e.data = []byte("{" + strings.Join(members, ",") + "}")
	e.read()
	return e, sealed
}

// actions returns what an object of ADK's holds that is pickled. No pickle is ever run: one
// that cannot be read is the bytes that it is, with why.
func actions(pickled []byte) (shown []byte, err error) {
	shown, err = pickle.AppendJSON(nil, pickled)
	if err != nil {
		return []byte(`{"$type":"pickle","$bytes":"` + base64.StdEncoding.EncodeToString(pickled) + `","$error":` + quoted("the pickle cannot be read: "+err.Error()) + "}"), err
	}
	if members := jsontape.FindMember(shown, `"__dict__"`); len(members) > 0 && members[0] == '{' {
		return members, nil
	}
	return shown, nil
}

// add adds the next event. A rewind leads to what was the head before the first event of
// an invocation, whatever was passed over since; one that leads nowhere is passed over.
// One that leaves nothing is where the session begins anew.
func (s *session) add(e event) {
	i := len(s.events)
	s.events, s.heads = append(s.events, e), append(s.heads, s.head)
	parent, base := s.head, s.head
	if to := s.target(i); e.rewinds == "" {
		s.head = i
	} else if to >= 0 {
		if base = s.heads[to]; base < 0 {
			parent, s.head = -1, i
		} else {
			s.head = base
		}
	}
	s.parents, s.bases = append(s.parents, parent), append(s.bases, base)
	if _, known := s.byInvocation[e.invocation]; !known {
		s.byInvocation[e.invocation] = i
	}
}

// target returns the first event that a rewind drops, -1 for none.
func (s *session) target(i int) int {
	if to, ok := s.byInvocation[s.events[i].rewinds]; ok && s.events[i].rewinds != "" && to < i {
		return to
	}
	return -1
}

// path returns the events that lead to one, with it.
func (s *session) path(i int) (path []int) {
	for ; i >= 0; i = s.bases[i] {
		path = append(path, i)
	}
	slices.Reverse(path)
	return path
}

// next returns the event that follows one on the way to the head, -1 for none.
func (s *session) next(i int) int {
	next := -1
	for k := s.head; k > i; k = s.bases[k] {
		next = k
	}
	if next >= 0 && s.bases[next] == i {
		return next
	}
	return -1
}

// asks returns the calls of an event that wait for an answer.
func (s *session) asks(i int) (calls []call) {
	for _, p := range s.events[i].Content.Parts {
		if p.Call != nil && slices.Contains(s.events[i].LongRunning, p.Call.id) && !s.answered[p.Call.id] {
			calls = append(calls, *p.Call)
		}
	}
	return calls
}

// elsewhere reports whether a key of a delta is not the session's own.
func elsewhere(key string) bool {
	return strings.HasPrefix(key, "app:") || strings.HasPrefix(key, "user:") || strings.HasPrefix(key, "temp:")
}

// keys returns the keys of a JSON object in their order.
func keys(object []byte) (list []string) {
	for m := range jsontape.Members(object) {
		if m.Key != nil {
			list = append(list, jsontape.Unquote(m.Key))
		}
	}
	return list
}

// initial returns the members of the session's row that no event names: they are what the
// session began with.
func (s *session) initial(row []byte) []jsontape.Member {
	untouched, _ := s.parted(row)
	return untouched
}

// parted returns the members of the session's row that no event names, and those that one does.
func (s *session) parted(row []byte) (untouched, touched []jsontape.Member) {
	named := map[string]bool{}
	for i := range s.events {
		for _, key := range keys(s.events[i].delta) {
			named[key] = true
		}
	}
	for m := range jsontape.Members(row) {
		switch {
		case m.Key == nil:
		case named[jsontape.Unquote(m.Key)]:
			touched = append(touched, m)
		default:
			untouched = append(untouched, m)
		}
	}
	return untouched, touched
}

// fold returns the state at an event: what the session began with, and the changes up to
// it, where null deletes.
func (s *session) fold(i int, row []byte) []byte {
	members := s.initial(row)
	at := map[string]int{}
	for _, k := range s.path(i) {
		for m := range jsontape.Members(s.events[k].delta) {
			key := jsontape.Unquote(m.Key)
			if string(m.Value) == "null" {
				m.Value = nil
			}
			switch place, known := at[key]; {
			case m.Key == nil || elsewhere(key):
			case known:
				members[place].Value = m.Value
			default:
				at[key], members = len(members), append(members, m)
			}
		}
	}
	state := []byte{'{'}
	for _, m := range members {
		if m.Value == nil { // it was deleted
			continue
		}
		if len(state) > 1 {
			state = append(state, ',')
		}
		state = append(append(append(state, m.Key...), ':'), m.Value...)
	}
	return append(state, '}')
}

// describe puts into a header what an event did.
func (e *event) describe(h *model.Header, said *rows.Said) {
	h.Event, h.EventName = model.SnapshotEventNamed, "state"
	switch {
	case e.damaged:
		h.Marks, h.EventName = model.MarkDamaged, "damaged"
	case e.rewinds != "":
		h.EventName = "rewind"
	case e.says:
		said.Add(h, e.data)
	case string(e.Actions.Compaction) != "" && string(e.Actions.Compaction) != "null":
		h.EventName = "compaction"
	default:
		h.Title = conversation.List(keys(e.delta), conversation.OneLine)
	}
	if failure := cmp.Or(e.ErrorMessage, e.ErrorCode); failure != "" {
		h.Marks |= model.MarkError
		h.Title = cmp.Or(h.Title, conversation.Cut(conversation.OneLine(failure), conversation.MaxTitle))
	}
}
