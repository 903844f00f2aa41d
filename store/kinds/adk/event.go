package adk

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/encoding/pickle"
	"hindcast/store/engine/rows"
)

// event is a row of the table.
type event struct {
	id, invocation string
	stamp          string // the time in its row
	data           []byte // JSON; nil where it is none
	says           bool   // it has a content with parts
	holds          bool   // it has more than a content, a rewind and changes of the state
	rewinds        string // the invocation before which it goes back
	delta          []byte // what it changes in the state
	artifacts      []byte // the versions of the artifacts that it saved
	size           int64
	title          string
	details
}

// details are the parts of an event that are slower to read and that states do not need.
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
	Scope        string   `json:"isolation_scope"`
	Live         string   `json:"live_session_id"`
	Content      struct {
		Role  string `json:"role"`
		Parts []part `json:"parts"`
	} `json:"content"`
	Actions struct {
		Compaction    *compaction     `json:"compaction"`
		Transfer      string          `json:"transfer_to_agent"`
		Confirmations json.RawMessage `json:"requested_tool_confirmations"`
		Credentials   json.RawMessage `json:"requested_auth_configs"`
	} `json:"actions"`
	Output json.RawMessage `json:"output"`
	Heard  transcription   `json:"input_transcription"`
	Spoken transcription   `json:"output_transcription"`
}

// compaction is a summary that the model reads in place of the events of some time.
type compaction struct {
	Start   *float64        `json:"start_timestamp"`
	End     *float64        `json:"end_timestamp"`
	Content json.RawMessage `json:"compacted_content"`
}

type transcription struct {
	Text string `json:"text"`
}

// part is a part of a content.
type part struct {
	Call, Response *call
	// text says that it has a text, visible that ADK takes it for something that is said.
	text, visible bool
}

// UnmarshalJSON implements json.Unmarshaler. A thought alone says nothing, but with a signature.
func (p *part) UnmarshalJSON(data []byte) error {
	thought := false
	for m := range jsontape.Members(data) {
		if m.Key == nil || isEmpty(m.Value) {
			continue
		}
		switch string(m.Key) {
		case `"function_call"`:
			p.Call = new(call)
			_ = p.Call.UnmarshalJSON(m.Value)
		case `"function_response"`:
			p.Response = new(call)
			_ = p.Response.UnmarshalJSON(m.Value)
		case `"thought"`:
			thought = string(m.Value) == "true"
		case `"thought_signature"`, `"tool_call"`, `"tool_response"`:
			p.visible = true
		case `"text"`:
			p.text = true
		}
		switch string(m.Key) {
		case `"text"`, `"inline_data"`, `"file_data"`, `"executable_code"`, `"code_execution_result"`:
			p.visible = p.visible || !thought
		}
	}
	if thought {
		p.visible = jsontape.FindMember(data, `"thought_signature"`) != nil
	}
	p.visible = p.visible || p.Call != nil || p.Response != nil
	return nil
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
	// heads has the head before each event. parents has each event's parent; a rewind's parent is the last
	// event that it drops. bases has the event from which each state continues; a rewind's is the head that it
	// returns to. A missing event is -1.
	heads, parents, bases []int
	byInvocation          map[string]int // the first of each
	head                  int
	answers               map[string][]int // the events in which the user answers a call
	schema0               bool
	javaScript            bool // ADK for JavaScript wrote it
	opaque                string
	// compacted says that a compaction is on the way to the head.
	compacted bool
	// live marks the events on the path to the head. For these events, an answer that a rewind dropped does
	// not count.
	live   []bool
	looked sync.Once
}

// loadSession reads a session, all of it or from an event on, with the one before.
func loadSession(ctx context.Context, t rows.Tx, at rows.Place, from string) (*session, error) {
	span, err := kind.Span(ctx, t, at, from, 1)
	if err != nil {
		return nil, err
	}
	s := &session{first: span.First, skip: span.Skip, head: -1, byInvocation: map[string]int{}}
	has, err := t.Columns(ctx, "events")
	if err != nil {
		return nil, err
	}
	if !has["event_data"] {
		s.schema0 = true
		return s, rows.EachRow(ctx, span, t.Records, func(r map[string]any) error {
			e, sealed := ofColumns(r)
			if s.addEvent(e); sealed {
				s.opaque = "pickles that cannot be read"
			}
			return nil
		},
			"SELECT *, CAST(timestamp AS TEXT) AS timestamp_text FROM events")
	}
	return s, rows.EachRow(ctx, span, t.Each, func(scan func(...any) error) error {
		var e event
		err := scan(&e.id, &e.invocation, &e.stamp, &e.data)
		e.readDetails()
		s.addEvent(e)
		return err
	}, "SELECT id, coalesce(invocation_id, ''), coalesce(CAST(timestamp AS TEXT), ''), event_data FROM events")
}

// readDetails reads of an event what states need.
func (e *event) readDetails() {
	if e.size = int64(len(e.data)); !rows.PythonReads(e.data) {
		e.data = nil
	}
	for m := range jsontape.Members(e.data) {
		switch string(m.Key) {
		case `"actions"`:
			e.readActions(m.Value)
		case `"content"`:
			parts := jsontape.FindMember(m.Value, `"parts"`)
			e.says = len(parts) > len("[]") && parts[0] == '['
		case `"output"`, `"input_transcription"`, `"output_transcription"`, `"error_code"`, `"error_message"`:
			e.holds = e.holds || !isEmpty(m.Value)
		}
	}
}

// readActions reads what an event does besides what it says.
func (e *event) readActions(actions []byte) {
	for m := range jsontape.Members(actions) {
		switch string(m.Key) {
		case `"state_delta"`:
			e.delta = m.Value
		case `"artifact_delta"`:
			e.artifacts = m.Value
		case `"rewind_before_invocation_id"`:
			if m.Value[0] == '"' {
				e.rewinds = jsontape.Unquote(m.Value)
			}
		case `"compaction"`, `"agent_state"`:
			e.holds = e.holds || !isEmpty(m.Value)
		}
	}
}

// isEmpty reports whether a value says nothing.
func isEmpty(value []byte) bool {
	return slices.Contains([]string{"null", `""`, "{}", "[]"}, string(value))
}

// ensureDetails reads the rest of all events, once.
func (s *session) ensureDetails() { s.looked.Do(s.readDetails) }

func (s *session) readDetails() {
	s.answers, s.live = map[string][]int{}, make([]bool, len(s.events))
	path := s.pathTo(s.head)
	for _, k := range path {
		s.live[k] = true
	}
	for i := range s.events {
		e := &s.events[i]
		e.damaged = json.Unmarshal(e.data, &e.details) != nil
		e.at = e.happenedAt()
		s.javaScript = s.javaScript || e.Timestamp >= inMilliseconds
		s.noteAnswers(i)
	}
	for _, k := range path {
		s.compacted = s.compacted || s.events[k].Actions.Compaction != nil
	}
}

// inMilliseconds is the smallest time that is in milliseconds, as ADK for JavaScript writes it. In seconds it
// would be a date in the year 5138.
const inMilliseconds = 1e11

// happenedAt returns when an event happened; the zero time says that it is not known.
func (e *event) happenedAt() time.Time {
	switch at := e.Timestamp; {
	case at > 0 && at < inMilliseconds:
		return time.UnixMicro(int64(at * 1e6)).UTC()
	case at >= inMilliseconds && at < 1e3*inMilliseconds:
		return time.UnixMicro(int64(at * 1e3)).UTC()
	}
	at, _ := time.Parse("2006-01-02 15:04:05.999999", e.stamp)
	return at
}

// noteAnswers notes which calls the user answers in an event, as ADK finds it out: a tool that runs
// long may respond itself before that, to say that it has begun. What answers something on a branch of
// a call's own answers the call.
func (s *session) noteAnswers(i int) {
	e := &s.events[i]
	if e.Author != "user" {
		return
	}
	answers := false
	for _, p := range e.Content.Parts {
		if p.Response != nil {
			answers = true
			s.answers[p.Response.id] = append(s.answers[p.Response.id], i)
		}
	}
	if !answers {
		return
	}
	for segment := range strings.SplitSeq(e.Branch, ".") {
		if at := strings.LastIndexByte(segment, '@'); at >= 0 {
			s.answers[segment[at+1:]] = append(s.answers[segment[at+1:]], i)
		}
	}
}

// columns are the columns of schema 0 that hold members of an event. Later releases have more columns than
// earlier ones.
var columns = []struct {
	name, member string
	json         bool
}{
	{"id", "id", false}, {"invocation_id", "invocation_id", false}, {"author", "author", false}, {"branch", "branch", false}, {"content", "content", true}, {"actions", "actions", false},
	{"long_running_tool_ids_json", "long_running_tool_ids", true}, {"grounding_metadata", "grounding_metadata", true}, {"custom_metadata", "custom_metadata", true},
	{"usage_metadata", "usage_metadata", true}, {"citation_metadata", "citation_metadata", true}, {"input_transcription", "input_transcription", true},
	{"output_transcription", "output_transcription", true}, {"error_code", "error_code", false}, {"error_message", "error_message", false},
}

// ofColumns makes an event of a row of schema 0, whose columns are its members. It reports
// whether its actions cannot be read. A column of JSON that is damaged is the text that it is.
func ofColumns(r map[string]any) (e event, sealed bool) {
	text := func(column string) string { s, _ := r[column].(string); return s }
	e = event{id: text("id"), invocation: text("invocation_id"), stamp: text("timestamp_text")}
	members := []string{}
	for _, column := range columns {
		value := text(column.name)
		switch {
		case value == "":
			continue
		case column.member == "actions":
			shown, err := decodeActions([]byte(value))
			sealed, value = err != nil, string(shown)
		case !column.json || !rows.PythonReads([]byte(value)):
			value = quoteJSON(value)
		}
		members = append(members, quoteJSON(column.member)+":"+value)
	}
	e.data = []byte("{" + strings.Join(members, ",") + "}")
	e.readDetails()
	return e, sealed
}

// Decode implements rows.Decoder: the tables of schema 0 have the actions of an event as a pickle.
func (format) Decode(column string, row map[string]any) []byte {
	value, _ := row[column].(string)
	if _, schema1 := row["event_data"]; column != "actions" || schema1 {
		return []byte(value)
	}
	shown, _ := decodeActions([]byte(value)) // that it cannot be read is told elsewhere
	return shown
}

// decodeActions decodes the pickled actions of an event. It never runs a pickle. If the pickle cannot be read,
// actions returns its bytes and the error.
func decodeActions(pickled []byte) (shown []byte, err error) {
	shown, err = pickle.AppendJSON(nil, pickled)
	if err != nil {
		return []byte(`{"$type":"pickle","$bytes":"` + base64.StdEncoding.EncodeToString(pickled) + `","$error":` + quoteJSON("the pickle cannot be read: "+err.Error()) + "}"), err
	}
	if members := jsontape.FindMember(shown, `"__dict__"`); len(members) > 0 && members[0] == '{' {
		return members, nil
	}
	return shown, nil
}

// addEvent adds the next event. A rewind goes back to the head before the first event of its invocation, even if
// other events were dropped since. A rewind to an unknown invocation has no effect. A rewind that leaves no
// event begins the session anew.
func (s *session) addEvent(e event) {
	i := len(s.events)
	s.events, s.heads = append(s.events, e), append(s.heads, s.head)
	parent, base := s.head, s.head
	if to := s.rewindTarget(i); e.rewinds == "" {
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

// rewindTarget returns the first event that a rewind drops, or -1.
func (s *session) rewindTarget(i int) int {
	if to, ok := s.byInvocation[s.events[i].rewinds]; ok && s.events[i].rewinds != "" && to < i {
		return to
	}
	return -1
}

// pathTo returns the events that lead to one, with it.
func (s *session) pathTo(i int) (path []int) {
	for ; i >= 0; i = s.bases[i] {
		path = append(path, i)
	}
	slices.Reverse(path)
	return path
}

// nextOnPath returns the event that follows i on the path to the head, or -1.
func (s *session) nextOnPath(i int) int {
	next := -1
	for k := s.head; k > i; k = s.bases[k] {
		next = k
	}
	if next >= 0 && s.bases[next] == i {
		return next
	}
	return -1
}

// asking are the calls by which ADK itself asks. Older releases do not list them as such.
var asking = []string{"adk_request_input", "adk_request_credential"}

// pendingCalls returns the calls of an event that wait for an answer.
func (s *session) pendingCalls(i int) (calls []call) {
	for _, p := range s.events[i].Content.Parts {
		if p.Call == nil || !slices.Contains(s.events[i].LongRunning, p.Call.id) && !slices.Contains(asking, p.Call.name) {
			continue
		}
		if !slices.ContainsFunc(s.answers[p.Call.id], func(k int) bool { return k > i && (s.live[k] || !s.live[i]) }) {
			calls = append(calls, *p.Call)
		}
	}
	return calls
}

// isShared reports whether a key of a delta is not the session's own.
func isShared(key string) bool {
	return strings.HasPrefix(key, "app:") || strings.HasPrefix(key, "user:") || strings.HasPrefix(key, "temp:")
}

// objectKeys returns the keys of a JSON object in their order.
func objectKeys(object []byte) (list []string) {
	for m := range jsontape.Members(object) {
		if m.Key != nil {
			list = append(list, jsontape.Unquote(m.Key))
		}
	}
	return list
}

// initialMembers returns the members of the session's row that no event names. The session began with them.
func (s *session) initialMembers(row []byte) []jsontape.Member {
	untouched, _ := s.splitMembers(row)
	return untouched
}

// splitMembers returns the members of the session's row that no event names, and those that one does.
func (s *session) splitMembers(row []byte) (untouched, touched []jsontape.Member) {
	named := map[string]bool{}
	for i := range s.events {
		for _, key := range objectKeys(s.events[i].delta) {
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

// foldState returns the state at an event: what the session began with, and the changes up to
// it. ADK keeps a null as the value of its key; that of a rewind says that there was no key.
func (s *session) foldState(i int, row []byte) []byte {
	members := s.initialMembers(row)
	at := map[string]int{}
	for _, k := range s.pathTo(i) {
		for m := range jsontape.Members(s.events[k].delta) {
			key := jsontape.Unquote(m.Key)
			if s.events[k].rewinds != "" && string(m.Value) == "null" {
				m.Value = nil
			}
			switch place, known := at[key]; {
			case m.Key == nil || isShared(key):
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

// savedArtifacts lists the artifacts that the event saved, with their versions; "" without artifacts. Their
// content is in the artifact service.
func (e *event) savedArtifacts() string {
	var list []string
	for m := range jsontape.Members(e.artifacts) {
		if m.Key != nil {
			list = append(list, jsontape.Unquote(m.Key)+" version "+string(m.Value))
		}
	}
	return conversation.List(list, conversation.OneLine)
}

// describeEvent puts into a header what an event did.
func (e *event) describeEvent(h *model.Header, said *rows.Said) {
	h.Event, h.EventName = model.SnapshotEventNamed, "state"
	switch {
	case e.damaged:
		h.Marks, h.EventName = model.MarkDamaged, "damaged"
	case e.rewinds != "":
		h.EventName = "rewind"
	case e.says:
		said.Add(h, e.data)
	case e.Actions.Compaction != nil:
		h.EventName = "compaction"
		var summary rows.Said
		of := *h
		summary.Add(&of, fmt.Appendf(nil, `{"author":"model","content":%s}`, cmp.Or(string(e.Actions.Compaction.Content), "null")))
		h.Title = of.Title
	case e.Heard.Text+e.Spoken.Text != "":
		h.EventName, h.Title = "transcription", conversation.Cut(conversation.OneLine(cmp.Or(e.Heard.Text, e.Spoken.Text)), conversation.MaxTitle)
	case len(e.Output) > 0 && !isEmpty(e.Output):
		h.EventName, h.Title = "output", conversation.Cut(conversation.OneLine(string(e.Output)), conversation.MaxTitle)
	default:
		h.Title = cmp.Or(conversation.Assignments(e.delta), e.savedArtifacts())
	}
	if failure := cmp.Or(e.ErrorMessage, e.ErrorCode); failure != "" {
		h.Marks |= model.MarkError
		if h.Title == "" || !e.says {
			h.Title = conversation.Cut(conversation.OneLine(failure), conversation.MaxTitle)
		}
	}
}
