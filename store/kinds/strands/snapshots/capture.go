package snapshots

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/kinds/strands/lineage"
)

// dialect is which SDK wrote a file.
type dialect string

const (
	unknownDialect dialect = ""
	python         dialect = "Python"
	typeScript     dialect = "TypeScript"
)

// capture holds the data of one file that a timeline needs. It is cached, see note.go: a
// change here changes noteVersion.
type capture struct {
	Dialect dialect   `json:"dialect,omitempty"`
	Scope   string    `json:"scope,omitempty"`
	Schema  string    `json:"schema,omitempty"`
	Created time.Time `json:"created,omitzero"`
	// Size is that of the data in bytes, 0 for a file without; Sum is their
	// SHA-256.
	Size int64  `json:"size,omitempty"`
	Sum  string `json:"sum,omitempty"`
	// Problem says why the file is not a whole snapshot, "" if it is.
	Problem string `json:"problem,omitempty"`

	// Removed is how many messages the conversation manager took out, or
	// lineage.UnknownRemoved. Manager is its class.
	Removed int    `json:"removed"`
	Manager string `json:"manager,omitempty"`
	// Event, Position and Title belong to the header; TurnEnd says that the event ends a
	// turn.
	Event       string `json:"event,omitempty"`
	Position    string `json:"position,omitempty"`
	Title       string `json:"title,omitempty"`
	Interrupted bool   `json:"interrupted,omitempty"`
	// Opening is the user's first text.
	Opening string `json:"opening,omitempty"`
	// AppData and Stash are shown as facts.
	AppData string `json:"appData,omitempty"`
	Stash   string `json:"stash,omitempty"`
}

// messages is the list of the messages of a file: what each is known by, and
// what it is.
type messages struct {
	prints []lineage.Print
	shapes []shape
	// room is where they lie, see extendRun, and end where they end there.
	room *room
	end  int
}

// shape is the role of a message in a turn.
type shape uint8

const (
	// endsTurn: an answer that asks for no tool.
	endsTurn shape = 1 << iota
	// failed: the result of a tool that failed.
	failed
	// asks: it calls tools.
	asks
	// answers: it has the results of tools.
	answers
	// fromUser and fromAssistant: the role.
	fromUser
	fromAssistant
)

// Names of the events that the seed has no integer for.
const (
	eventUser    = "user input"
	eventModel   = "after model"
	eventMessage = "message"
	eventEmpty   = "no messages"
	eventAgain   = "saved again"
	eventDamaged = "damaged snapshot"
	// Of those that it has, the names.
	eventTurn  = "turnEnd"
	eventTools = "toolIterationEnd"
)

const (
	// maxText bounds a text out of a file that is kept, in bytes.
	maxText = 200
)

// reader takes one file apart by skipping over what is not needed.
type reader struct {
	capture
	list messages
	tail conversation.Tail
	held []byte // the message that is held back until its tools have run, nil for none
}

// readCapture reads a file. It never fails: what is wrong is its Problem.
func readCapture(data []byte) (capture, messages) {
	r := reader{capture: capture{Removed: lineage.UnknownRemoved}}
	if err := r.readFile(data); err != nil {
		r.Problem = err.Error()
	}
	r.finishTitle()
	r.tidyTexts()
	return r.capture, r.list
}

// tidyTexts makes the texts such as a note keeps: what is not UTF-8 in them becomes
// U+FFFD, as it does in JavaScript.
func (c *capture) tidyTexts() {
	for _, text := range []*string{&c.Scope, &c.Schema, &c.Problem, &c.Manager, &c.Title, &c.Opening, &c.AppData, &c.Stash} {
		*text = strings.ToValidUTF8(*text, "\ufffd")
	}
}

// unreadCapture returns the capture of a file that cannot be read.
func unreadCapture(err error) capture {
	r := reader{capture: capture{Removed: lineage.UnknownRemoved, Problem: err.Error()}}
	r.finishTitle()
	return r.capture
}

var (
	errNoObject = errors.New("the file holds no object")
	errNoData   = errors.New("there is no data")
	errNoScope  = errors.New("the file has neither scope nor schema version")
)

// readFile reads the members of the snapshot.
func (r *reader) readFile(data []byte) error {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if first := bytes.TrimLeft(data, " \t\r\n"); len(first) > 0 && first[0] != '{' {
		return errNoObject
	}
	var payload []byte
	end := 0 // of what was seen
	var version, others dialect
	for m, err := range jsontape.Members(data) {
		r.Dialect = cmp.Or(version, others)
		if err != nil {
			return err
		}
		end = m.Offset + len(m.Value)
		switch string(m.Key) {
		case `"scope"`:
			r.Scope = textOf(m.Value, maxText)
		case `"schema_version"`, `"schemaVersion"`:
			version = keyDialect(m.Key)
			r.Schema = textOf(m.Value, maxText)
		case `"created_at"`, `"createdAt"`:
			others = keyDialect(m.Key)
			r.Created = timeOf(m.Value)
		case `"app_data"`, `"appData"`:
			others = keyDialect(m.Key)
			r.AppData = briefObject(m.Value)
		case `"data"`:
			payload = m.Value
		}
	}
	r.Dialect = cmp.Or(version, others)
	if payload == nil {
		if r.Scope == "" && r.Dialect == unknownDialect {
			return errNoScope
		}
		return errNoData
	}
	sum := sha256.Sum256(payload)
	r.Size, r.Sum = int64(len(payload)), hex.EncodeToString(sum[:])
	return cmp.Or(r.readData(payload), checkClosed(data, end))
}

// keyDialect returns the dialect that a key of two words is spelled in.
func keyDialect(key []byte) dialect {
	if bytes.IndexByte(key, '_') >= 0 {
		return python
	}
	return typeScript
}

// checkClosed reports what is behind the last member of an object besides its
// bracket, when all its members were found.
func checkClosed(data []byte, end int) error {
	const space = " \t\r\n"
	if rest := bytes.Trim(data[end:], space); string(rest) != "}" {
		at := len(data) - len(bytes.TrimLeft(bytes.TrimLeft(data[end:], space)[1:], space))
		return fmt.Errorf("byte %d: there is more behind the snapshot", at)
	}
	return nil
}

// readData reads the state.
func (r *reader) readData(data []byte) error {
	if data[0] != '{' {
		return errors.New("the data are no object")
	}
	for m, err := range jsontape.Members(data) {
		if err != nil {
			return err
		}
		switch string(m.Key) {
		case `"messages"`:
			if err := r.readMessages(m.Value); err != nil {
				return err
			}
		case `"conversation_manager_state"`:
			r.readManager(m.Value)
		case `"interrupt_state"`, `"interrupts"`:
			r.readInterrupts(m.Value)
		case `"stash"`:
			r.readStash(m.Value)
		}
	}
	return nil
}

func (r *reader) readMessages(list []byte) error {
	if list[0] != '[' {
		return errors.New("the messages are no list")
	}
	for m, err := range jsontape.Members(list) {
		if err != nil {
			return err
		}
		r.readMessage(m.Value)
		r.tail.Add(m.Value)
	}
	r.Opening = conversation.Opening(list)
	return nil
}

// readMessage reads what a message is, and what it is known by.
func (r *reader) readMessage(message []byte) {
	var role, content, id []byte
	if message[0] == '{' {
		for m, err := range jsontape.Members(message) {
			if err != nil {
				break
			}
			switch string(m.Key) {
			case `"role"`:
				role = m.Value
			case `"content"`:
				content = m.Value
			case `"tracking_id"`, `"trackingId"`:
				id = m.Value
			}
		}
	}
	s := shapeOf(content)
	switch string(role) {
	case `"user"`:
		s |= fromUser
	case `"assistant"`:
		s |= fromAssistant
		if s&asks == 0 {
			s |= endsTurn
		}
	}
	r.list.shapes = append(r.list.shapes, s)
	if known := textOf(id, maxText); known != "" {
		r.list.prints = append(r.list.prints, lineage.OfID(known))
		return
	}
	said := compactJSON(message)
	if content != nil {
		said = slices.Concat(compactJSON(role), compactJSON(content))
	}
	r.list.prints = append(r.list.prints, lineage.OfContent(said))
}

// compactJSON returns JSON without white space, and invalid JSON as it is. A value that was
// only skipped over may be invalid.
func compactJSON(value []byte) []byte {
	if _, _, err := jsontape.ParseTolerant(value); err != nil {
		return value
	}
	return jsontape.AppendCompact(nil, value)
}

// shapeOf returns the shape of a message from its blocks.
func shapeOf(content []byte) (s shape) {
	if len(content) == 0 || content[0] != '[' {
		return 0
	}
	for block, err := range jsontape.Members(content) {
		if err != nil || block.Value[0] != '{' {
			continue
		}
		for m, err := range jsontape.Members(block.Value) {
			if err != nil {
				break
			}
			switch string(m.Key) {
			case `"toolUse"`:
				s |= asks
			case `"toolResult"`:
				s |= answers
				if string(jsontape.FindMember(m.Value, `"status"`)) == `"error"` {
					s |= failed
				}
			}
		}
	}
	return s
}

// readManager reads the state of the conversation manager, which Python alone has.
func (r *reader) readManager(state []byte) {
	r.Manager = textOf(jsontape.FindMember(state, `"__name__"`), maxText)
	if n, err := strconv.Atoi(string(jsontape.FindMember(state, `"removed_message_count"`))); err == nil && n >= 0 {
		r.Removed = n
	}
}

// readInterrupts reads whether an answer is waited for. TypeScript keeps a message
// that asks for tools out of the list until they have run.
func (r *reader) readInterrupts(state []byte) {
	r.Interrupted = string(jsontape.FindMember(state, `"activated"`)) == "true"
	if pending := jsontape.FindMember(state, `"pendingToolExecution"`); pending != nil {
		r.held = jsontape.FindMember(pending, `"assistantMessageData"`)
	}
}

func (r *reader) readStash(stash []byte) {
	r.Stash = textOf(jsontape.FindMember(stash, `"location"`), maxText)
	for _, key := range []string{`"storage_type"`, `"storageType"`} {
		if kind := textOf(jsontape.FindMember(stash, key), maxText); kind != "" {
			r.Stash += ", " + kind
		}
	}
}

// finishTitle works out the event and the title from the last messages.
func (r *reader) finishTitle() {
	if r.held != nil {
		r.readMessage(r.held)
		r.list.shapes[len(r.list.shapes)-1] |= fromAssistant
		r.tail.Add(r.held)
	}
	last := shape(0)
	if len(r.list.shapes) > 0 {
		last = r.list.shapes[len(r.list.shapes)-1]
	}
	switch {
	case r.Problem != "":
		r.Event, r.Title = eventDamaged, r.Problem
		return
	case r.tail.Last() == nil:
		r.Event = eventEmpty
	case last&(fromAssistant|asks) == fromAssistant|asks:
		r.Event, r.Position = eventModel, model.PositionAfterModel
	case last&fromAssistant != 0:
		r.Event = eventTurn
	case last&(fromUser|answers) == fromUser|answers:
		r.Event, r.Position = eventTools, model.PositionAfterTools
	case last&fromUser != 0:
		r.Event = eventUser
	default:
		r.Event = eventMessage
	}
	adds := conversation.LastMessage
	if r.Event == eventTurn {
		adds = conversation.LastTurn
	}
	r.Title, _ = r.tail.Title(adds)
}

// textOf returns up to limit bytes of a string; "" for anything else.
func textOf(value []byte, limit int) string {
	if len(value) < 2 || value[0] != '"' {
		return ""
	}
	if plain := value[1 : len(value)-1]; len(plain) <= limit && bytes.IndexByte(plain, '\\') < 0 {
		return string(plain)
	}
	t, _, err := jsontape.ParseTolerant(value)
	if err != nil {
		return ""
	}
	return string(t.AppendText(nil, 0, limit))
}

// maxBrief bounds the objects that a text is made of, in bytes.
const maxBrief = 64 << 10

// briefObject returns the beginning of an object for people, "" for an empty one.
func briefObject(value []byte) string {
	if len(value) > maxBrief {
		return fmt.Sprintf("%d bytes", len(value))
	}
	shown := compactJSON(value)
	switch {
	case string(shown) == "{}" || string(shown) == "null":
		return ""
	case len(shown) > maxText:
		return string(bytes.ToValidUTF8(shown[:maxText], nil)) + "…"
	}
	return string(shown)
}

// timeOf reads a time as either SDK writes it; a time without a zone is taken as
// UTC. It returns the zero time for anything else.
func timeOf(value []byte) time.Time {
	written := textOf(value, 64)
	if at, err := time.Parse(time.RFC3339Nano, written); err == nil {
		return at.UTC()
	}
	at, err := time.Parse("2006-01-02T15:04:05.999999999", written)
	if err != nil {
		return time.Time{}
	}
	return at
}
