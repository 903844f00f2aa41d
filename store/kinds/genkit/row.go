package genkit

import (
	"bytes"
	"fmt"
	"strings"
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

// session returns the session that a row belongs to, "" where it does not say.
func (r *row) session() string {
	if r.sessionID != "" {
		return r.sessionID
	}
	return r.stateSession
}

// maxFlaws bounds the flaws of one row that are kept.
const maxFlaws = 20

func (r *row) add(code, path, meaning string) {
	if len(r.flaws) == maxFlaws {
		return
	}
	r.flaws = append(r.flaws, flaw{code, path, meaning})
}

// maxText bounds the texts of a row that are kept, in bytes.
const maxText = 4096

// knownKeys are the members that a row of any SDK has.
var knownKeys = map[string]bool{
	"snapshotId": true, "sessionId": true, "parentId": true, "createdAt": true, "updatedAt": true,
	"heartbeatAt": true, "status": true, "finishReason": true, "error": true, "state": true,
}

// decodeRow reads a row, as far as it can be read, in one pass in which the
// state is skipped over. Its last messages alone are looked into. ok is false
// for a file that is no row: that does not say which snapshot it is.
func decodeRow(id string, data []byte) (r row, ok bool) {
	d := rowDecoder{data: data}
	d.row.id = id
	d.decode()
	return d.row, d.row.snapshotID != ""
}

// rowDecoder decodes one row.
type rowDecoder struct {
	data []byte
	row  row
	seen [16]string // keys so far; rows have ten
	n    int
	list []byte // from where the messages begin; nil where there are none
}

var bom = []byte("\ufeff")

func (d *rowDecoder) decode() {
	r := &d.row
	at := 0
	switch {
	case len(d.data) == 0:
		d.damaged(FaultRowFile, "", "the file is empty")
		return
	case bytes.HasPrefix(d.data, bom):
		at = len(bom)
		d.damaged(FaultBOM, "byte 0", "the file begins with a byte order mark")
	}
	if !utf8.Valid(d.data) {
		r.add(FaultNotUTF8, fmt.Sprintf("byte %d", files.FirstInvalid(d.data)), "the file is not UTF-8")
	}
	end, err := walk(d.data, at, d.member)
	if err != nil {
		d.damaged(FaultRowFile, files.ErrorPath(err), "it is not JSON: "+err.Error())
		return
	}
	if rest := space(d.data, end); rest < len(d.data) {
		d.damaged(FaultRowFile, fmt.Sprintf("byte %d", rest), "something follows the object")
	}
	d.judge()
}

// damaged notes what keeps every SDK from parsing the file.
func (d *rowDecoder) damaged(code, path, meaning string) {
	d.row.broken = true
	d.row.add(code, path, meaning)
}

// misshapen notes a member of the wrong type.
func (d *rowDecoder) misshapen(path, meaning string) {
	d.row.misshapen = true
	d.row.add(FaultRowShape, path, meaning)
}

// member takes in one member of the row.
func (d *rowDecoder) member(quoted []byte, at int) (end int, err error) {
	key := jsontape.Unquote(quoted)
	d.note(key)
	if key == "state" {
		return d.state(at)
	}
	if end, err = jsontape.Skip(d.data, at); err != nil {
		return end, err
	}
	r, value := &d.row, d.data[at:end]
	switch key {
	case "snapshotId":
		r.snapshotID = d.text(key, value)
	case "sessionId":
		r.sessionID = d.text(key, value)
	case "parentId":
		r.parentID = d.text(key, value)
	case "status":
		r.status = d.text(key, value)
	case "finishReason":
		r.finishReason = d.text(key, value)
	case "createdAt":
		r.created = d.moment(key, value)
	case "updatedAt":
		r.updated = d.moment(key, value)
	case "heartbeatAt":
		r.heartbeat = d.moment(key, value)
	case "error":
		d.failure(value)
	}
	return end, nil
}

// note keeps account of the keys: which come first, twice, or from elsewhere.
func (d *rowDecoder) note(key string) {
	r := &d.row
	if d.n == 0 && key == "createdAt" {
		r.style = styleGo
	}
	for i := range d.n {
		if d.seen[i] == key {
			r.add(FaultDuplicateKey, "/"+key, "the key is there twice; the last one counts")
			return
		}
	}
	if d.n < len(d.seen) {
		d.seen[d.n] = key
		d.n++
	}
	if !knownKeys[key] {
		r.unknownKeys = true
		r.add(FaultUnknownKey, "/"+clip(key), "no SDK writes this key")
	}
}

// clip bounds a text that is kept. What is cut off is told by an ellipsis.
func clip(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "…"
}

// text returns a string; null is "", as it is for every SDK.
func (d *rowDecoder) text(key string, value []byte) string {
	if len(value) > 0 && value[0] == '"' {
		return clip(jsontape.Unquote(value))
	}
	if string(value) != "null" {
		d.misshapen("/"+key, "it is no string")
	}
	return ""
}

// moment reads a time in RFC 3339, with any offset and any fraction.
func (d *rowDecoder) moment(key string, value []byte) (m moment) {
	m.text = d.text(key, value)
	if m.text == "" && string(value) != `""` {
		return m
	}
	at, err := time.Parse(time.RFC3339, m.text)
	if err != nil {
		d.row.badTime = true
		d.row.add(FaultTime, "/"+key, fmt.Sprintf("%.60q is no time of RFC 3339", m.text))
		return m
	}
	m.at = at
	return m
}

// failure reads the error of a row.
func (d *rowDecoder) failure(value []byte) {
	if string(value) == "null" {
		d.row.errored, d.row.errStatus, d.row.errMessage = false, "", ""
		return
	}
	d.row.errored, d.row.errStatus, d.row.errMessage = true, "", ""
	_, err := walk(value, 0, func(key []byte, at int) (int, error) {
		end, err := jsontape.Skip(value, at)
		if err != nil {
			return end, err
		}
		switch jsontape.Unquote(key) {
		case "status":
			d.row.errStatus = d.text("error/status", value[at:end])
		case "message":
			d.row.errMessage = d.text("error/message", value[at:end])
		}
		return end, nil
	})
	if err != nil {
		d.misshapen("/error", "it is no object")
	}
}

// state walks over the state at an offset.
func (d *rowDecoder) state(at int) (end int, err error) {
	r := &d.row
	// Of two, the last counts.
	r.hasState, r.size, r.stateSession = false, 0, ""
	d.noMessages()
	if at < len(d.data) && d.data[at] != '{' {
		if end, err = jsontape.Skip(d.data, at); err != nil {
			return end, err
		}
		if r.hasState = string(d.data[at:end]) != "null"; r.hasState {
			r.size = int64(end - at)
			d.misshapen("/state", "it is no object")
		}
		return end, nil
	}
	r.hasState = true
	end, err = walk(d.data, at, func(key []byte, at int) (end int, err error) {
		switch string(key) {
		case `"messages"`:
			d.noMessages()
			if at < len(d.data) && d.data[at] == '[' {
				return d.messages(at)
			}
		case `"sessionId"`:
			if end, err = jsontape.Skip(d.data, at); err == nil {
				r.stateSession = d.text("state/sessionId", d.data[at:end])
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

// messages walks over the list of messages and reads the last ones.
func (d *rowDecoder) messages(at int) (end int, err error) {
	r := &d.row
	var tail conversation.Tail
	start := at
	end, err = walk(d.data, at, func(_ []byte, at int) (end int, err error) {
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

// judge looks at a row that was read to its end.
func (d *rowDecoder) judge() {
	r := &d.row
	if r.parentID == "" && d.list != nil {
		r.opening = conversation.Opening(d.list)
	}
	switch {
	case d.hasFlaw("/createdAt"):
	case r.created.text == "":
		r.add(FaultNoTime, "/createdAt", "there is no createdAt")
	case r.created.at.IsZero():
		r.add(FaultNoTime, "/createdAt", "it is the zero time")
	}
	switch {
	case r.sessionID == "" && r.stateSession == "":
		r.add(FaultNoSession, "/sessionId", "neither the row nor its state names a session")
	case r.sessionID == "":
		r.add(FaultNoSession, "/sessionId", "only the state names the session")
	case r.stateSession != "" && r.stateSession != r.sessionID:
		r.add(FaultSessionMismatch, "/state/sessionId", fmt.Sprintf("the state is of session %.80q", r.stateSession))
	}
	if !knownStatus[r.status] {
		r.add(FaultUnknownStatus, "/status", fmt.Sprintf("no SDK writes the status %.80q", r.status))
	}
	if r.finishReason != "" && !knownFinish[r.finishReason] {
		r.add(FaultUnknownFinish, "/finishReason", fmt.Sprintf("no SDK writes the finish reason %.80q", r.finishReason))
	}
	if !validName(r.session()) && r.session() != "" {
		r.add(FaultName, "/sessionId", fmt.Sprintf("%.80q cannot be part of a path", r.session()))
	}
	if !validName(r.id) {
		r.add(FaultName, "", fmt.Sprintf("%.80q cannot be the id of a snapshot", r.id))
	}
	if r.parentID != "" && !validName(r.parentID) {
		r.add(FaultName, "/parentId", fmt.Sprintf("%.80q cannot be the id of a snapshot", r.parentID))
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
