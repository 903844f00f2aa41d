package messages

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/sdk"
)

// message is the content of one message file. Its slices are reused for the next message of the same
// slot, see messageLog.read.
type message struct {
	// name is that of the file in its folder, file its name in the storage if a log took it in.
	name, file string
	// id is that of the snapshot after the message, see appendIdentity.
	id [sha256.Size]byte
	// body is the effective message (redact_message, or else message) as
	// compact JSON. For a file that holds none it says so in its place. It is nil
	// for a message that is recalled, see note.go; size is its length then, too.
	body []byte
	size int
	// whole says that body is a message that the SDK could hold.
	whole bool
	// flaws are the faults of the file that deserve the mark.
	flaws []flaw
	// notes are oddities of the file that the SDK loads.
	notes []flaw

	messageID int64 // message_id
	hasID     bool
	created   time.Time
	redacted  bool
	pinned    bool
	nameless  bool // a tool result has no id

	role     string // "user", "assistant", or cut to maxName bytes
	calls    []call
	results  []result
	others   int    // blocks that are no tool results
	said     string // its title; "" for tool results, see title
	by       conversation.Typed
	errored  bool   // a tool result has the status "error"
	location string // JSON Pointer of the effective message in the file
	written  int64  // bytes of the file
	// sum is the SHA-256 of the file; zeros if it could not be read.
	sum [sha256.Size]byte
}

// call is a tool call of a message.
type call struct {
	id    string // decoded
	rawID string // as it stands in the file
	name  string
	act   conversation.Act
	block int // its position in the content
}

// result is a tool result of a message.
type result struct {
	id, status string
	yield      conversation.Yield
	block      int
}

func (c call) text() string   { return c.id }
func (r result) text() string { return r.id }

// decoder takes message files in, one after the other, in the same memory.
type decoder struct {
	documents files.Documents
	buf       []byte // of the file
	arena     []byte // of the bodies
	text      []byte // the first text of the message, cut
	untold    bool   // what tools did is not described: no title is made
	label     string // what stands for the text of a message without one
	blanks    int    // texts of the message that have nothing but spaces
	line      []byte // of the title
	note      []byte
	stamp     tree.Stamp // of the file
	sum       [sha256.Size]byte
}

// reader reads the files of a folder of a tree, whose name ends with a slash. It notes the
// stamp and the hash of the last one.
func (d *decoder) reader(t tree.Tree, dir string) files.Reader {
	return func(name string, buf []byte) (data []byte, err error) {
		data, d.stamp, err = t.Read(dir+name, buf)
		if d.sum = [sha256.Size]byte{}; err == nil {
			d.sum = sha256.Sum256(data)
		}
		return data, err
	}
}

// take takes in a file, and reports whether it is one of JSON. The body of the message
// is in the arena.
func (d *decoder) take(read files.Reader, file messageFile, m *message) bool {
	*m = message{name: file.name, calls: m.calls[:0], results: m.results[:0]}
	d.text, d.label, d.blanks = d.text[:0], "", 0
	doc := d.documents.Read(read, file.name, d.buf)
	d.buf = doc.Data
	created := jsontape.None
	if doc.Err == nil {
		created = doc.Tape.Find(0, "created_at")
	}
	from := len(d.arena)
	d.arena = appendPlace(d.arena, file.text(), doc.Tape, created)
	start := len(d.arena)
	if doc.Err != nil {
		m.flaws = append(m.flaws, fileFlaw(FaultMessageFile, &doc))
		d.arena = appendUnreadable(d.arena, m.name, doc.Err.Error())
	} else {
		m.flaws = append(append(m.flaws, encodingFlaws(&doc)...), bytesFlaws(&doc)...)
		m.notes = append(m.notes, oddBytes(&doc)...)
		m.notes = append(m.notes, oddities(&doc, sdk.Loads("redacting the message, which writes it again, is a UnicodeEncodeError"))...)
		m.created = timeOf(doc.Tape, created)
		d.decode(m, doc.Tape)
	}
	end := len(d.arena)
	m.body, m.size = d.arena[start:end:end], end-start
	d.arena = append(d.arena, ']')
	m.id, m.sum = sha256.Sum256(d.arena[from:]), d.sum
	m.said = d.say(m)
	return doc.Err == nil
}

// appendUnreadable appends what stands in a state for a file that holds no
// message. It has no role, so that nothing takes it for one.
func appendUnreadable(dst []byte, name, reason string) []byte {
	dst = append(dst, `{"unreadable_file":`...)
	dst = jsontape.AppendQuoted(dst, name)
	dst = append(dst, `,"error":`...)
	dst = jsontape.AppendQuoted(dst, reason)
	return append(dst, '}')
}

// decode reads the wrapper that the SDK writes around a message, as
// SessionMessage.from_dict and to_message do, and appends the effective
// message to the arena.
func (d *decoder) decode(m *message, t *jsontape.Tape) {
	if t.Kind(0) != jsontape.Object {
		m.misshapen(atFile, "", "the file holds no object", "AttributeError")
		d.arena = appendUnreadable(d.arena, m.name, "the file holds no object")
		return
	}
	m.wrapper(t)
	inner := t.Find(0, "message")
	if inner < 0 {
		m.misshapen(atFile, "", "there is no message", "TypeError: missing argument 'message'")
		d.arena = appendUnreadable(d.arena, m.name, "there is no message in the file")
		return
	}
	m.location = messagePath
	if redacted := t.Find(0, "redact_message"); redacted >= 0 && t.Kind(redacted) != jsontape.Null {
		if !bytes.Equal(jsontape.AppendCompact(nil, t.Raw(inner)), jsontape.AppendCompact(nil, t.Raw(redacted))) {
			m.notes = append(m.notes, flaw{code: FaultRedacted, path: messagePath, meaning: "the message that was redacted is still in the file",
				verdict: sdk.Loads("the redacted message, and what was there before can be read in the file")})
		}
		inner, m.redacted, m.location = redacted, true, redactPath
	}
	d.message(m, t, inner)
	d.arena = jsontape.AppendCompact(d.arena, t.Raw(inner))
}

// Where in a file the effective message may be.
const messagePath, redactPath = "/message", "/redact_message"

// mostFlaws bounds what is noted of one file: a million blocks may be wrong.
const mostFlaws = 8

// misshapen notes that the file is not what the SDK can load, and raises an exception
// where it looks.
func (m *message) misshapen(at looks, path, meaning, exception string) {
	m.flaw(flaw{code: FaultMessageShape, path: path, meaning: meaning, verdict: sdk.Refuses(exception), looks: at})
}

func (m *message) flaw(f flaw) {
	if len(m.flaws) < mostFlaws {
		m.flaws = append(m.flaws, f)
	}
}

// wrapper reads what stands beside the message.
func (m *message) wrapper(t *jsontape.Tape) {
	switch id := t.Find(0, "message_id"); {
	case id < 0:
		m.misshapen(atFile, "", "there is no message_id", "TypeError: missing argument 'message_id'")
	case t.Kind(id) == jsontape.Number:
		if n, ok := parseNumber(string(t.Raw(id))); ok {
			m.messageID, m.hasID = n.Int64(), n.IsInt64()
		}
	}
}

// message reads the effective message.
func (d *decoder) message(m *message, t *jsontape.Tape, n jsontape.Node) {
	if t.Kind(n) != jsontape.Object {
		m.misshapen(atMessage, m.location, "the message is no object", "TypeError")
		return
	}
	role, content := t.Find(n, "role"), t.Find(n, "content")
	if role < 0 {
		m.misshapen(atRole, m.location, "the message has no role", "KeyError: 'role'")
		defer func() { // what calls it has is for its neighbours to know, and they do not
			m.whole, m.nameless, m.calls, m.results = false, false, m.calls[:0], m.results[:0]
		}()
	}
	m.whole = true
	switch string(t.Raw(max(0, role))) {
	case `"user"`:
		m.role = "user"
	case `"assistant"`:
		m.role = "assistant"
	default:
		m.role = shortText(t, role, maxName)
	}
	if role >= 0 && m.role != "user" && m.role != "assistant" {
		m.notes = append(m.notes, flaw{code: FaultRole, path: m.location + "/role", meaning: fmt.Sprintf("no SDK is known to write the role %q", m.role),
			verdict: sdk.Loads("it is kept, and sent to the model as it is")})
	}
	m.pinned = t.Kind(t.Find(t.Find(t.Find(n, "metadata"), "custom"), "pinned")) == jsontape.True
	switch t.Kind(content) {
	case jsontape.Array:
		if d.blocks(m, t, content); d.blanks > 0 && d.blanks == m.others && len(m.results) == 0 {
			m.notes = appendTrouble(m.notes, conversation.EmptyContent, roleOf(m.role), m.location+"/content")
			d.label = blankLabel
		}
		if m.asks() {
			d.noteTyped(m, t, content)
		}
	case jsontape.String:
		d.text = t.AppendText(d.text, content, maxText)
		if len(d.text) > 0 {
			m.others = 1
			m.flaw(flaw{code: FaultMessageShape, path: m.location + "/content", meaning: "the content is a string, not a list of blocks", verdict: sent})
		} else {
			m.empty()
		}
	case jsontape.Object:
		m.flaw(flaw{code: FaultMessageShape, path: m.location + "/content", meaning: "the content is an object, not a list of blocks", verdict: sent})
		d.blocks(m, t, content)
	case jsontape.Invalid:
		m.misshapen(atContent, m.location, "the message has no content", "KeyError: 'content'")
		m.whole = false
	default:
		m.misshapen(atContent, m.location+"/content", "the content is no list of blocks", "TypeError")
		m.whole = false
	}
}

// blocks reads the content of a message.
func (d *decoder) blocks(m *message, t *jsontape.Tape, content jsontape.Node) {
	i := 0
	for b := t.First(content); b >= 0; b = t.Next(b) {
		if t.Kind(content) == jsontape.Object {
			d.text = append(d.text, t.Key(b)...)
			d.keyless(m, t, content, b, i)
		} else {
			d.block(m, t, b, i)
		}
		i++
	}
	if i == 0 {
		m.empty()
	}
}

// empty notes that a message has no content.
func (m *message) empty() {
	m.notes = append(m.notes, flaw{code: FaultMessageShape, path: m.location + "/content", meaning: "the content is empty",
		verdict: sdk.Loads("it is kept, and some providers refuse a message without content")})
}

// keyless takes in an element of a content in which Python may find the key of a tool
// call or of a result, and which has no id.
func (d *decoder) keyless(m *message, t *jsontape.Tape, content, b jsontape.Node, i int) {
	switch {
	case finds(t, content, b, "toolUse"):
		m.misshapen(atCall, m.path(i), "a block has toolUse in it, and no tool call", "TypeError")
		m.whole = false
	case finds(t, content, b, "toolResult"):
		m.misshapen(atResult, m.path(i), "a block has toolResult in it, and no tool result", "TypeError")
		m.results, m.nameless = append(m.results, result{block: i}), true
	default:
		m.others++
	}
}

// finds reports whether Python finds a key in an element of a content: among the keys
// of an object, the elements of a list, or the letters of a text. The elements of a
// content that is an object are its keys.
func finds(t *jsontape.Tape, content, b jsontape.Node, key string) bool {
	switch {
	case t.Kind(content) == jsontape.Object:
		return strings.Contains(t.Key(b), key)
	case t.Kind(b) == jsontape.String:
		return strings.Contains(t.Text(b), key)
	case t.Kind(b) == jsontape.Array:
		for n := t.First(b); n >= 0; n = t.Next(n) {
			if t.Kind(n) == jsontape.String && t.Text(n) == key {
				return true
			}
		}
		return false
	}
	return t.Find(b, key) >= 0
}

// path returns the JSON Pointer of a block.
func (m *message) path(block int) string { return fmt.Sprintf("%s/content/%d", m.location, block) }

func (d *decoder) block(m *message, t *jsontape.Tape, b jsontape.Node, i int) {
	switch t.Kind(b) {
	case jsontape.Object:
	case jsontape.String, jsontape.Array:
		d.keyless(m, t, jsontape.None, b, i)
		d.odd(m, i)
		return
	default:
		m.misshapen(atContent, m.path(i), "a block is no object", "TypeError")
		m.whole = false
		return
	}
	use, res := t.Find(b, "toolUse"), t.Find(b, "toolResult")
	if use >= 0 {
		d.call(m, t, use, i)
	}
	if res >= 0 {
		d.result(m, t, res, i)
		return
	}
	m.others++
	if use < 0 {
		d.words(m, t, b, i)
	}
}

func (d *decoder) call(m *message, t *jsontape.Tape, use jsontape.Node, block int) {
	id := t.Find(use, "toolUseId")
	if !hasIdentity(t, id) {
		meaning, exception := idless(t, use, id)
		m.misshapen(atCall, m.path(block)+"/toolUse", "a tool call has "+meaning, exception)
		m.whole = false
		return
	}
	c := call{rawID: string(t.Raw(id)), name: shortText(t, t.Find(use, "name"), maxName), block: block}
	c.id = c.rawID
	if t.Kind(id) == jsontape.String {
		c.id = unquoted(c.rawID)
	}
	if !d.untold {
		c.act = conversation.NewAct(nameOf(c.name, c.id), rawOf(t, t.Find(use, "input")))
	}
	m.calls = append(m.calls, c)
}

func (d *decoder) result(m *message, t *jsontape.Tape, res jsontape.Node, block int) {
	id := t.Find(res, "toolUseId")
	if !hasIdentity(t, id) {
		meaning, exception := idless(t, res, id)
		m.misshapen(atResult, m.path(block)+"/toolResult", "a tool result has "+meaning, exception)
		m.results, m.nameless = append(m.results, result{block: block}), true
		return
	}
	r := result{id: identity(t, id), status: shortText(t, t.Find(res, "status"), maxName), block: block}
	if !d.untold {
		r.yield = conversation.ReadYield(rawOf(t, t.Find(res, "content")))
	}
	if r.status == "error" {
		m.errored, r.yield.Failed = true, true
	}
	m.results = append(m.results, r)
}

// hasIdentity reports whether a value is one by which Python finds the partner of a call
// or of a result.
func hasIdentity(t *jsontape.Tape, id jsontape.Node) bool {
	return id >= 0 && t.Kind(id) != jsontape.Array && t.Kind(id) != jsontape.Object
}

// idless describes a call or a result without a comparable id, and returns the exception of looking for
// it.
func idless(t *jsontape.Tape, n, id jsontape.Node) (meaning, exception string) {
	switch {
	case id >= 0:
		return "an id that is " + t.Kind(id).String(), "TypeError: unhashable type"
	case t.Kind(n) == jsontape.Object:
		return "no id", "KeyError: 'toolUseId'"
	}
	return "no id", "TypeError"
}

// rawOf returns a value as it stands in the file, nil for a value that is not there.
func rawOf(t *jsontape.Tape, n jsontape.Node) []byte {
	if n < 0 {
		return nil
	}
	return t.Raw(n)
}

// odd notes a block that no SDK is known to write.
func (d *decoder) odd(m *message, block int) {
	if len(m.notes) < mostFlaws {
		m.notes = append(m.notes, flaw{code: FaultBlock, path: m.path(block), meaning: "no SDK is known to write a block of this shape",
			verdict: sdk.Loads("it is kept, and sent to the model as it is")})
	}
	if d.label == "" {
		d.label = "[unknown block]"
	}
}

// blockText says where the text of a block is, for the blocks that have one.
// All keys are those of ContentBlock in types/content.py of the SDK.
var blockText = []struct {
	key, label string
	text       func(t *jsontape.Tape, block jsontape.Node) jsontape.Node
}{
	{"text", "[text]", func(_ *jsontape.Tape, n jsontape.Node) jsontape.Node { return n }},
	{"citationsContent", "[citationsContent]", func(t *jsontape.Tape, n jsontape.Node) jsontape.Node {
		list := t.Find(n, "content")
		if t.Kind(list) != jsontape.Array || t.Count(list) == 0 {
			return jsontape.None
		}
		return t.Find(t.First(list), "text")
	}},
	{"guardContent", "[guardContent]", func(t *jsontape.Tape, n jsontape.Node) jsontape.Node { return t.Find(t.Find(n, "text"), "text") }},
	{"reasoningContent", "[reasoningContent]", nil},
	{"image", "[image]", nil},
	{"document", "[document]", nil},
	{"video", "[video]", nil},
	{"audio", "[audio]", nil},
	{"cachePoint", "[cachePoint]", nil},
}

// words notes what a block that is no tool's says, for the title.
func (d *decoder) words(m *message, t *jsontape.Tape, b jsontape.Node, i int) {
	for _, known := range blockText {
		n := t.Find(b, known.key)
		if n < 0 {
			continue
		}
		if known.text != nil && len(d.text) == 0 {
			if text := known.text(t, n); text >= 0 {
				d.text = t.AppendText(d.text, text, maxText)
			}
		}
		if known.key == "text" && isBlank(t, n) {
			d.blanks++
		}
		if d.label == "" {
			d.label = known.label
		}
		return
	}
	d.odd(m, i)
}

// noteTyped notes what a person typed of a message of the user, without what the program wrote around it.
func (d *decoder) noteTyped(m *message, t *jsontape.Tape, content jsontape.Node) {
	if conversation.IsPlain(d.text) {
		m.by = conversation.Prompt
		return
	}
	words, by := conversation.FirstTyped(func(yield func(string) bool) {
		for b := t.First(content); b >= 0; b = t.Next(b) {
			if text := t.Find(b, "text"); t.Kind(b) == jsontape.Object && t.Kind(text) == jsontape.String && !yield(t.Text(text)) {
				return
			}
		}
	})
	if m.by = by; by != conversation.Wrapped {
		d.text = append(d.text[:0], conversation.Cut(words, maxText)...)
	}
}

// isBlank reports whether a text has nothing but spaces, or is null.
func isBlank(t *jsontape.Tape, n jsontape.Node) bool {
	if t.Kind(n) == jsontape.String {
		return len(t.Raw(n)) <= maxText && strings.TrimSpace(t.Text(n)) == ""
	}
	return t.Kind(n) == jsontape.Null
}

// identity returns an id for comparing: a string decoded, anything else as it is.
func identity(t *jsontape.Tape, n jsontape.Node) string {
	if t.Kind(n) == jsontape.String {
		return t.Text(n)
	}
	return string(t.Raw(n))
}

// unquoted decodes a string with its quotes as a tape does.
func unquoted(raw string) string {
	if body := raw[1 : len(raw)-1]; !strings.Contains(body, `\`) && utf8.ValidString(body) {
		return body
	}
	return jsontape.Unquote([]byte(raw))
}

// shortText returns at most limit bytes of a string; "" for any other value.
func shortText(t *jsontape.Tape, n jsontape.Node, limit int) string {
	if t.Kind(n) != jsontape.String {
		return ""
	}
	return string(t.AppendText(nil, n, limit))
}

// timeOf reads a time as datetime.isoformat of Python writes it; a time
// without a zone is taken as UTC. It returns the zero time for anything else.
func timeOf(t *jsontape.Tape, n jsontape.Node) (at time.Time) {
	if t.Kind(n) != jsontape.String {
		return at
	}
	// What isoformat writes is RFC 3339 as it stands in the file.
	raw := t.Raw(n)
	if err := at.UnmarshalText(raw[1 : len(raw)-1]); err == nil {
		return at.UTC()
	}
	text := shortText(t, n, 64)
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return at.UTC()
	}
	at, err := time.Parse("2006-01-02T15:04:05.999999999", text)
	if err != nil {
		return time.Time{}
	}
	return at
}
