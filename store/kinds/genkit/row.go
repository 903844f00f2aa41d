package genkit

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/media/files"
)

// row is the content of one snapshot's file besides its state. The file has the fields of SessionSnapshot
// in ai/exp/gen.go of Genkit Go 1.13.
type row struct {
	// id is the name of the file without ".json", by which every SDK reads it; snapshotID is the id in the
	// file itself.
	id, snapshotID string
	parentID       string
	// sessionID is that of the row, stateSession the one inside its state.
	sessionID, stateSession string
	status, finishReason    string
	created                 moment
	updated, heartbeat      moment
	// errored says that there is an error; its status may be empty.
	errored               bool
	errStatus, errMessage string
	// title is the title of the turn; opening is the user's first prompt, known if the row has no parent.
	title, opening        string
	toolFailed, toolWaits bool
	hasState              bool
	size                  int64 // of the state as it is written
	written               int64 // bytes of the file
	messages              int64
	style                 style
	// broken: no SDK can parse the row. misshapen: a member has the wrong type. badTime: a time cannot be
	// parsed.
	broken, misshapen, badTime bool
	unknownKeys                bool
	flaws                      []flaw
}

// moment is a time as it is written and as it is meant; at is the zero time
// where it cannot be read.
type moment struct {
	text string
	at   time.Time
}

// style is the writer that the order of the keys suggests.
type style uint8

const (
	styleOther style = iota
	// styleGo: the keys are sorted, as those of Go's generated structs are.
	styleGo
)

// flaw is something wrong with one row. What the SDKs make of it depends on the
// layout, see [verdict].
type flaw struct {
	code, path, meaning string
}

// ownSession returns the session that a row belongs to, "" where it does not say.
func (r *row) ownSession() string {
	if r.sessionID != "" {
		return r.sessionID
	}
	return r.stateSession
}

// maxFlaws bounds the flaws of one row that are kept.
const maxFlaws = 20

func (r *row) addFault(code, path, meaning string) {
	if len(r.flaws) == maxFlaws {
		return
	}
	r.flaws = append(r.flaws, flaw{code, path, meaning})
}

// maxText bounds the texts of a row that are kept, in bytes.
const maxText = 4096

// knownKeys are the members that a row of any SDK has.
var knownKeys = sync.OnceValue(func() map[string]bool {
	return map[string]bool{
		"snapshotId": true, "sessionId": true, "parentId": true, "createdAt": true, "updatedAt": true,
		"heartbeatAt": true, "status": true, "finishReason": true, "error": true, "state": true,
	}
})

// decodeRow reads a row, as far as it can be read, in one pass in which the
// state is skipped over. Its last messages alone are looked into. ok is false
// for a file that is no row: that does not say which snapshot it is.
func decodeRow(id string, data []byte) (r row, ok bool) {
	d := rowDecoder{data: data}
	d.row.id = id
	d.decodeRow()
	return d.row, d.row.snapshotID != ""
}

// rowDecoder decodes one row.
type rowDecoder struct {
	data []byte
	row  row
	seen [16]string // keys so far; rows have ten
	n    int
	list []byte // from where the messages begin; nil where there are none
	// custom is the beginning of the program's own part of the state, or nil.
	custom []byte
}

var bom = []byte("\ufeff")

func (d *rowDecoder) decodeRow() {
	r := &d.row
	at := 0
	switch {
	case len(d.data) == 0:
		d.noteDamage(FaultRowFile, "", "the file is empty")
		return
	case bytes.HasPrefix(d.data, bom):
		at = len(bom)
		d.noteDamage(FaultBOM, "byte 0", "the file begins with a byte order mark")
	}
	if !utf8.Valid(d.data) {
		r.addFault(FaultNotUTF8, fmt.Sprintf("byte %d", files.FirstInvalid(d.data)), "the file is not UTF-8")
	}
	end, err := walkValue(d.data, at, d.decodeMember)
	if err != nil {
		d.noteDamage(FaultRowFile, files.ErrorPath(err), "it is not JSON: "+err.Error())
		return
	}
	if rest := skipSpace(d.data, end); rest < len(d.data) {
		d.noteDamage(FaultRowFile, fmt.Sprintf("byte %d", rest), "something follows the object")
	}
	d.judgeRow()
}

// noteDamage notes what keeps every SDK from parsing the file.
func (d *rowDecoder) noteDamage(code, path, meaning string) {
	d.row.broken = true
	d.row.addFault(code, path, meaning)
}

// noteWrongType notes a member of the wrong type.
func (d *rowDecoder) noteWrongType(path, meaning string) {
	d.row.misshapen = true
	d.row.addFault(FaultRowShape, path, meaning)
}

// decodeMember takes in one member of the row.
func (d *rowDecoder) decodeMember(quoted []byte, at int) (end int, err error) {
	key := jsontape.Unquote(quoted)
	d.noteKey(key)
	if key == "state" {
		return d.walkState(at)
	}
	if end, err = jsontape.Skip(d.data, at); err != nil {
		return end, err
	}
	r, value := &d.row, d.data[at:end]
	switch key {
	case "snapshotId":
		r.snapshotID = d.decodeText(key, value)
	case "sessionId":
		r.sessionID = d.decodeText(key, value)
	case "parentId":
		r.parentID = d.decodeText(key, value)
	case "status":
		r.status = d.decodeText(key, value)
	case "finishReason":
		r.finishReason = d.decodeText(key, value)
	case "createdAt":
		r.created = d.decodeTime(key, value)
	case "updatedAt":
		r.updated = d.decodeTime(key, value)
	case "heartbeatAt":
		r.heartbeat = d.decodeTime(key, value)
	case "error":
		d.decodeFailure(value)
	}
	return end, nil
}

// noteKey keeps account of the keys: which come first, twice, or from elsewhere.
func (d *rowDecoder) noteKey(key string) {
	r := &d.row
	if d.n == 0 && key == "createdAt" {
		r.style = styleGo
	}
	for i := range d.n {
		if d.seen[i] == key {
			r.addFault(FaultDuplicateKey, "/"+key, "the key is there twice; the last one counts")
			return
		}
	}
	if d.n < len(d.seen) {
		d.seen[d.n] = key
		d.n++
	}
	if !knownKeys()[key] {
		r.unknownKeys = true
		r.addFault(FaultUnknownKey, "/"+clipText(key), "no SDK writes this key")
	}
}

// clipText bounds a text that is kept. What is cut off is told by an ellipsis.
func clipText(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "…"
}

// decodeText returns a string; null is "", as it is for every SDK.
func (d *rowDecoder) decodeText(key string, value []byte) string {
	if len(value) > 0 && value[0] == '"' {
		return clipText(jsontape.Unquote(value))
	}
	if string(value) != "null" {
		d.noteWrongType("/"+key, "it is no string")
	}
	return ""
}

// decodeTime reads a time in RFC 3339, with any offset and any fraction.
func (d *rowDecoder) decodeTime(key string, value []byte) (m moment) {
	m.text = d.decodeText(key, value)
	if m.text == "" && string(value) != `""` {
		return m
	}
	at, err := time.Parse(time.RFC3339, m.text)
	if err != nil {
		d.row.badTime = true
		d.row.addFault(FaultTime, "/"+key, fmt.Sprintf("%.60q is no time of RFC 3339", m.text))
		return m
	}
	m.at = at
	return m
}

// decodeFailure reads the error of a row.
func (d *rowDecoder) decodeFailure(value []byte) {
	if string(value) == "null" {
		d.row.errored, d.row.errStatus, d.row.errMessage = false, "", ""
		return
	}
	d.row.errored, d.row.errStatus, d.row.errMessage = true, "", ""
	_, err := walkValue(value, 0, func(key []byte, at int) (int, error) {
		end, err := jsontape.Skip(value, at)
		if err != nil {
			return end, err
		}
		switch jsontape.Unquote(key) {
		case "status":
			d.row.errStatus = d.decodeText("error/status", value[at:end])
		case "message":
			d.row.errMessage = d.decodeText("error/message", value[at:end])
		}
		return end, nil
	})
	if err != nil {
		d.noteWrongType("/error", "it is no object")
	}
}

// walkState walks over the state at an offset.
func (d *rowDecoder) walkState(at int) (end int, err error) {
	r := &d.row
	// Of two, the last counts.
	r.hasState, r.size, r.stateSession = false, 0, ""
	d.noMessages()
	d.custom = nil
	if at < len(d.data) && d.data[at] != '{' {
		if end, err = jsontape.Skip(d.data, at); err != nil {
			return end, err
		}
		if r.hasState = string(d.data[at:end]) != "null"; r.hasState {
			r.size = int64(end - at)
			d.noteWrongType("/state", "it is no object")
		}
		return end, nil
	}
	r.hasState = true
	end, err = walkValue(d.data, at, func(key []byte, at int) (end int, err error) {
		switch string(key) {
		case `"messages"`:
			d.noMessages()
			if at < len(d.data) && d.data[at] == '[' {
				return d.walkMessages(at)
			}
		case `"sessionId"`:
			if end, err = jsontape.Skip(d.data, at); err == nil {
				r.stateSession = d.decodeText("state/sessionId", d.data[at:end])
			}
			return end, err
		case `"custom"`:
			if end, err = jsontape.Skip(d.data, at); err == nil {
				d.custom = d.data[at:min(end, at+maxText)]
			}
			return end, err
		}
		return jsontape.Skip(d.data, at)
	})
	if err != nil {
		r.size = int64(len(d.data) - at)
		return end, err
	}
	r.size = int64(end - at)
	return end, nil
}

// noMessages forgets what messages said.
func (d *rowDecoder) noMessages() {
	r := &d.row
	r.messages, r.title, r.toolFailed, r.toolWaits, d.list = 0, "", false, false, nil
}

// walkMessages walks over the list of messages and reads the last ones.
func (d *rowDecoder) walkMessages(at int) (end int, err error) {
	r := &d.row
	var tail conversation.Tail
	start := at
	end, err = walkValue(d.data, at, func(_ []byte, at int) (end int, err error) {
		if end, err = jsontape.Skip(d.data, at); err == nil {
			tail.Add(d.data[at:end])
			r.messages++
		}
		return end, err
	})
	if r.messages == 0 {
		return end, err
	}
	d.list = d.data[start:]
	r.title, r.toolFailed = tail.Title(conversation.LastTurn)
	if bytes.Contains(tail.Last(), []byte("toolRequest")) {
		if c := tail.Decode(); c != nil {
			r.toolWaits = c.Position() == conversation.AfterModel
		}
	}
	return end, err
}

// judgeRow looks at a row that was read to its end.
func (d *rowDecoder) judgeRow() {
	r := &d.row
	if r.parentID == "" && d.list != nil {
		r.opening = conversation.Opening(d.list)
	}
	if r.messages == 0 {
		r.title = conversation.Assignments(d.custom)
	}
	switch {
	case d.hasFlaw("/createdAt"):
	case r.created.text == "":
		r.addFault(FaultNoTime, "/createdAt", "there is no createdAt")
	case r.created.at.IsZero():
		r.addFault(FaultNoTime, "/createdAt", "it is the zero time")
	}
	switch {
	case r.sessionID == "" && r.stateSession == "":
		r.addFault(FaultNoSession, "/sessionId", "neither the row nor its state names a session")
	case r.sessionID == "":
		r.addFault(FaultNoSession, "/sessionId", "only the state names the session")
	case r.stateSession != "" && r.stateSession != r.sessionID:
		r.addFault(FaultSessionMismatch, "/state/sessionId", fmt.Sprintf("the state is of session %.80q", r.stateSession))
	}
	if !knownStatus[r.status] {
		r.addFault(FaultUnknownStatus, "/status", fmt.Sprintf("no SDK writes the status %.80q", r.status))
	}
	if r.finishReason != "" && !knownFinish[r.finishReason] {
		r.addFault(FaultUnknownFinish, "/finishReason", fmt.Sprintf("no SDK writes the finish reason %.80q", r.finishReason))
	}
	if !validName(r.ownSession()) && r.ownSession() != "" {
		r.addFault(FaultName, "/sessionId", fmt.Sprintf("%.80q cannot be part of a path", r.ownSession()))
	}
	if !validName(r.id) {
		r.addFault(FaultName, "", fmt.Sprintf("%.80q cannot be the id of a snapshot", r.id))
	}
	if r.parentID != "" && !validName(r.parentID) {
		r.addFault(FaultName, "/parentId", fmt.Sprintf("%.80q cannot be the id of a snapshot", r.parentID))
	}
}

// hasFlaw reports whether something is wrong at a path.
func (d *rowDecoder) hasFlaw(path string) bool {
	for _, f := range d.row.flaws {
		if f.path == path {
			return true
		}
	}
	return false
}

// validName reports whether Genkit Go takes a name for part of a path
// (validatePathSegment of ai/exp/localstore).
func validName(name string) bool {
	return name != "" && !strings.ContainsAny(name, `/\`) && !strings.Contains(name, "..") && name[0] != '.' &&
		strings.IndexFunc(name, func(c rune) bool { return c < ' ' }) < 0
}
