package agentframework

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/encoding/pickle"
	"hindcast/store/engine/checkpoints"
)

// own is the cached data of a checkpoint, or of a message: its line.
type own struct {
	Line int `json:"line,omitempty"`
	// Open are the ids of the tool calls of a history that have no result yet.
	Open []string `json:"open,omitempty"`

	Graph    string   `json:"graph,omitempty"`
	Stamp    string   `json:"stamp,omitempty"`
	Requests []string `json:"requests,omitempty"`
	// Types are the types that a program must allow before the SDK loads the checkpoint.
	Types []string `json:"types,omitempty"`
	// Unknown are members that the SDK does not take, Leaves pickles that cannot be read.
	Unknown  []string `json:"unknown,omitempty"`
	Leaves   []string `json:"leaves,omitempty"`
	Misnamed bool     `json:"misnamed,omitempty"`
}

func ownOf(of *checkpoints.Item) (o own) {
	_ = json.Unmarshal(of.Own, &o) // it was written here
	return o
}

// encodeNote encodes the data for the cache.
func (o *own) encodeNote() []byte {
	text, err := json.Marshal(o)
	if err != nil {
		return nil // it has nothing that JSON does not
	}
	return text
}

func isWorkflow(of *checkpoints.Item) bool { return ownOf(of).Graph != "" }

func lineOf(of *checkpoints.Item) int { return ownOf(of).Line }

// members are the members of a checkpoint. The members that are true make up its state.
var members = map[string]bool{
	"workflow_name": false, "graph_signature_hash": false, "checkpoint_id": false, "previous_checkpoint_id": false,
	"timestamp": false, "version": false,
	"messages": true, "state": true, "pending_request_info_events": true, "iteration_count": true, "metadata": true,
}

// textMember returns a member of an object that is a string, "" for another.
func textMember(t *jsontape.Tape, n jsontape.Node, key string) string {
	at := t.Find(n, key)
	if at < 0 || t.Kind(at) != jsontape.String {
		return ""
	}
	return string(t.AppendText(nil, at, mostName))
}

// mostName bounds names and ids, in bytes.
const mostName = 4096

// parseJSON reads JSON as Python writes it.
func parseJSON(data []byte) (*jsontape.Tape, error) {
	text, err := jsontape.Standard(data)
	if err != nil {
		return nil, err
	}
	return jsontape.Parse(text)
}

// decodeDocument reads a file of one JSON value: a checkpoint, or a session.
func decodeDocument(name string, data []byte) (d checkpoints.Decoded) {
	t, err := parseJSON(data)
	if err != nil {
		d.Flaw = "it is not JSON: " + err.Error()
		return d
	}
	if t.Kind(0) != jsontape.Object {
		return d
	}
	if isCheckpoint(t) {
		d.Items = []checkpoints.Item{readCheckpoint(name, t, textMember(t, 0, "checkpoint_id"), cmp.Or(textMember(t, 0, "workflow_name"), "(no name)"))}
		return d
	}
	if isSession(t) {
		id := textMember(t, 0, "session_id")
		item := checkpoints.Item{Session: path.Base(name), Opening: id, Own: (&own{}).encodeNote()}
		item.Header = model.Header{ID: id, Event: model.SnapshotEventNamed, EventName: "session", Title: "what the session keeps", Size: int64(len(data))}
		d.Items = []checkpoints.Item{item}
	}
	return d
}

// isCheckpoint reports whether a document is that of a checkpoint.
func isCheckpoint(t *jsontape.Tape) bool {
	return t.Kind(0) == jsontape.Object && textMember(t, 0, "checkpoint_id") != "" && t.Find(0, "graph_signature_hash") >= 0
}

// isSession reports whether a document is that of a session.
func isSession(t *jsontape.Tape) bool {
	return t.Kind(0) == jsontape.Object && textMember(t, 0, "type") == "session" && textMember(t, 0, "session_id") != "" && t.Find(0, "state") >= 0
}

// isMessage reports whether a line of a history is a message.
func isMessage(t *jsontape.Tape) bool {
	return t.Kind(0) == jsontape.Object && textMember(t, 0, "role") != "" && t.Find(0, "contents") >= 0
}

// readCheckpoint reads one.
func readCheckpoint(name string, t *jsontape.Tape, id, workflow string) checkpoints.Item {
	item := checkpoints.Item{Session: workflow}
	o := own{Graph: cmp.Or(textMember(t, 0, "graph_signature_hash"), "none"), Stamp: textMember(t, 0, "timestamp"), Misnamed: path.Base(name) != id+".json"}
	for m := t.First(0); m >= 0; m = t.Next(m) {
		if _, known := members[t.Key(m)]; !known {
			o.Unknown = append(o.Unknown, t.Key(m))
		}
	}
	at, _ := timeOf(o.Stamp)
	item.Header = model.Header{ID: id, ParentID: textMember(t, 0, "previous_checkpoint_id"), CreatedAt: at, TurnIndex: model.TurnUnknown}
	w := &writer{t: t, types: map[string]bool{}}
	state := w.writeState()
	o.Leaves = w.damaged
	for class := range w.types {
		o.Types = append(o.Types, class)
	}
	slices.Sort(o.Types)
	item.Size = int64(len(state))
	if shown, err := jsontape.Parse(state); err == nil {
		o.Requests = describeItem(&item, shown, state)
	}
	item.Own = o.encodeNote()
	return item
}

// timeOf reads a time as Python writes it: with a zone, or without one. zoned reports which.
func timeOf(stamp string) (at time.Time, zoned bool) {
	if at, err := time.Parse(time.RFC3339Nano, stamp); err == nil {
		return at.UTC(), true
	}
	at, _ = time.Parse("2006-01-02T15:04:05.999999999", stamp)
	return at, false
}

// describeItem sets the event, the title and the marks of a checkpoint, and returns the ids of its open requests.
func describeItem(item *checkpoints.Item, t *jsontape.Tape, state []byte) (requests []string) {
	var ran []string
	said, input, answer := "", "", false
	if all := t.Find(0, "messages"); all >= 0 && t.Kind(all) == jsontape.Object {
		for source := t.First(all); source >= 0; source = t.Next(source) {
			from, isInput := strings.CutPrefix(t.Key(source), "internal:")
			if t.Kind(source) != jsontape.Array {
				continue
			}
			for m := t.First(source); m >= 0; m = t.Next(m) {
				data := valueWords(t, t.Find(m, "data"))
				if said = cmp.Or(said, data); isInput {
					input = cmp.Or(input, data)
					answer = answer || kindOf(t, m) == "response"
				}
			}
			if !isInput {
				ran = append(ran, from)
			}
		}
	}
	asks := ""
	if all := t.Find(0, "pending_request_info_events"); all >= 0 && t.Kind(all) == jsontape.Object {
		for r := t.First(all); r >= 0; r = t.Next(r) {
			requests = append(requests, t.Key(r))
			asks = cmp.Or(asks, valueWords(t, t.Find(r, "data")))
		}
	}
	h := &item.Header
	h.Event = model.SnapshotEventNamed
	switch {
	case answer:
		h.EventName, h.Title = "answer", input
	case input != "" && len(ran) == 0:
		h.EventName, h.Title, item.Opening = "input", input, input
	case len(ran) > 0:
		h.EventName, h.Title = conversation.List(ran, conversation.OneLine), said
	case len(requests) > 0:
		h.EventName, h.Title = "asks", asks
	default:
		h.Event, h.Title = model.SnapshotEventTurnEnd, cmp.Or(lastWords(t), "no messages are left")
	}
	if len(requests) > 0 {
		h.Marks |= model.MarkInterrupted
	}
	return requests
}

// kindOf returns whether a message of a workflow is "standard" or the "response" to a request.
func kindOf(t *jsontape.Tape, message jsontape.Node) string {
	kind := t.Find(message, "type")
	if kind >= 0 && t.Kind(kind) == jsontape.Object {
		return textMember(t, kind, "value")
	}
	return textMember(t, message, "type")
}

// mostTitle bounds titles, in bytes.
const mostTitle = 200

// valueWords says a value on one line: what an agent said last, a text, or the JSON of another.
func valueWords(t *jsontape.Tape, n jsontape.Node) string {
	if n < 0 || t.Kind(n) == jsontape.Null {
		return ""
	}
	if t.Kind(n) == jsontape.String {
		return conversation.Cut(conversation.OneLine(string(t.AppendText(nil, n, mostName))), mostTitle)
	}
	if t.Kind(n) == jsontape.Object {
		for _, of := range []jsontape.Node{t.Find(n, "agent_response"), n} {
			if of >= 0 && t.Kind(of) == jsontape.Object && t.Find(of, "messages") >= 0 {
				if said, _ := conversation.Title(t.Raw(of), conversation.LastMessage); said != "" {
					return said
				}
			}
		}
		if value := t.Find(n, "value"); value >= 0 && t.Count(n) == 2 && t.Find(n, "$py") >= 0 {
			return valueWords(t, value)
		}
		var parts []string
		for m := t.First(n); m >= 0; m = t.Next(m) {
			if t.Key(m) != "$py" && len(parts) < 8 {
				parts = append(parts, t.Key(m)+" "+valueWords(t, m))
			}
		}
		return conversation.Cut(strings.Join(parts, ", "), mostTitle)
	}
	return conversation.Cut(string(jsontape.AppendCompact(nil, t.Raw(n))), mostTitle)
}

// lastWords returns the last words in a state's conversation, or "".
func lastWords(t *jsontape.Tape) string {
	talk := conversation.Decode(t)
	if talk.Len() == 0 {
		return ""
	}
	var tail conversation.Tail
	for m := max(0, talk.Len()-8); m < talk.Len(); m++ {
		tail.Add(t.Raw(talk.Message(m).Node))
	}
	title, _ := tail.Title(conversation.LastMessage)
	return title
}

// stateOf returns the state that a checkpoint has.
func stateOf(data []byte) ([]byte, error) {
	t, err := parseJSON(data)
	if err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	return (&writer{t: t}).writeState(), nil
}

// writer writes a checkpoint's state, pickles as what is in them.
type writer struct {
	t   *jsontape.Tape
	out []byte
	// types are gathered where it is not nil, damaged are the places of pickles that cannot
	// be read.
	types   map[string]bool
	damaged []string
}

func (w *writer) writeState() []byte {
	w.out = append(w.out, '{')
	for m := w.t.First(0); m >= 0; m = w.t.Next(m) {
		if members[w.t.Key(m)] {
			w.writeMember(m)
		}
	}
	return append(w.out, '}')
}

// writeMember writes a member, with a comma where one stands before it.
func (w *writer) writeMember(m jsontape.Node) {
	w.writeComma('{')
	w.out = append(append(w.out, w.t.RawKey(m)...), ':')
	w.writeValue(m)
}

func (w *writer) writeComma(open byte) {
	if w.out[len(w.out)-1] != open {
		w.out = append(w.out, ',')
	}
}

func (w *writer) writeValue(n jsontape.Node) {
	switch w.t.Kind(n) {
	case jsontape.Object:
		if w.writeLeaf(n) {
			return
		}
		w.out = append(w.out, '{')
		for m := w.t.First(n); m >= 0; m = w.t.Next(m) {
			w.writeMember(m)
		}
		w.out = append(w.out, '}')
	case jsontape.Array:
		w.out = append(w.out, '[')
		for m := w.t.First(n); m >= 0; m = w.t.Next(m) {
			w.writeComma('[')
			w.writeValue(m)
		}
		w.out = append(w.out, ']')
	default:
		w.out = append(w.out, w.t.Raw(n)...)
	}
}

// writeLeaf writes what is in a pickle, and reports whether the object is one. One that cannot be
// read stays as it is.
func (w *writer) writeLeaf(n jsontape.Node) bool {
	at := w.t.Find(n, "__pickled__")
	if at < 0 || w.t.Kind(at) != jsontape.String || w.t.Find(n, "__type__") < 0 {
		return false
	}
	data, err := base64.StdEncoding.AppendDecode(nil, w.t.AppendText(nil, at, len(w.t.Raw(at))))
	var shown []byte
	if err == nil {
		shown, err = pickle.AppendJSON(nil, data)
	}
	var inside *jsontape.Tape
	if err == nil {
		inside, err = jsontape.Parse(shown)
	}
	if err != nil {
		w.damaged = append(w.damaged, w.t.Pointer(n))
		return false
	}
	w.out = w.showPickle(w.out, inside, 0)
	if w.types != nil {
		for _, class := range pickle.Names(data) {
			w.noteClass(class)
		}
	}
	return true
}

// showPickle writes a value of a pickle. Members of the framework's own objects that are null are
// left out, as the framework does when it writes a message: it has 50 of them.
func (w *writer) showPickle(out []byte, t *jsontape.Tape, n jsontape.Node) []byte {
	open, end := byte('['), byte(']')
	var class string
	switch t.Kind(n) {
	case jsontape.Object:
		open, end = '{', '}'
		class = textMember(t, n, "$py")
	case jsontape.Array:
	default:
		return append(out, t.Raw(n)...)
	}
	out = append(out, open)
	for m := t.First(n); m >= 0; m = t.Next(m) {
		if strings.HasPrefix(class, "agent_framework.") && t.Kind(m) == jsontape.Null {
			continue
		}
		if out[len(out)-1] != open {
			out = append(out, ',')
		}
		if open == '{' {
			out = append(append(out, t.RawKey(m)...), ':')
		}
		out = w.showPickle(out, t, m)
	}
	return append(out, end)
}

// noteClass gathers a class, "module:name", that the SDK loads only where the program allows it.
func (w *writer) noteClass(class string) {
	module, _, _ := strings.Cut(class, ":")
	if allowed[module] || len(w.types) == mostTypes {
		return
	}
	for _, prefix := range []string{"agent_framework.", "agent_framework_orchestrations.", "openai.types."} {
		if strings.HasPrefix(module+".", prefix) {
			return
		}
	}
	w.types[class] = true
}

const mostTypes = 100

// allowed are the modules whose classes the SDK loads; of builtins it loads the usual types.
var allowed = map[string]bool{"builtins": true, "copyreg": true, "datetime": true, "uuid": true, "decimal": true, "collections": true}
