package kinds_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/media/sqlitefile"
	"hindcast/store/storetest/skip"
)

// rawTexts gathers the prose of a store by readers of its own: each string with where it is.
type rawTexts map[string]string

// file adds what a file holds: a SQLite database, documents of JSON, or lines.
func (r rawTexts) file(t *testing.T, name, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.HasPrefix(data, []byte("SQLite format 3\x00")) {
		r.database(t, name, path)
		return
	}
	if filepath.Ext(name) == ".md" { // lines of a chat, each with the mark of who speaks
		for line := range strings.Lines(string(data)) {
			r.text(name+"/"+strings.TrimSpace(line), strings.TrimPrefix(strings.TrimPrefix(line, "#### "), "> "))
		}
		return
	}
	r.value(name, data)
}

// database adds the columns of all rows of all tables.
func (r rawTexts) database(t *testing.T, name, path string) {
	t.Helper()
	db := sqlitefile.New(path, nil)
	err := db.Read(t.Context(), func(tx *sqlitefile.Tx) error {
		shapes := map[string][]string{}
		if err := tx.Records(t.Context(), func(row map[string]any) error {
			table := row["name"].(string)
			shapes[table] = append(shapes[table], row["column"].(string))
			return nil
		}, "SELECT s.name AS name, c.name AS column FROM sqlite_schema s, pragma_table_info(s.name) c WHERE s.type = 'table' AND s.name NOT LIKE 'sqlite_%'"); err != nil {
			return err
		}
		for table, columns := range shapes {
			query := "SELECT "
			for _, c := range columns { // SQLite's own encoding of JSON comes as JSON
				query += fmt.Sprintf(`iif(typeof("%[1]s") = 'blob' AND json_valid("%[1]s", 8), json("%[1]s"), "%[1]s") AS "%[1]s", `, c)
			}
			if err := tx.Records(t.Context(), func(row map[string]any) error {
				for column, value := range row {
					if text, is := value.(string); is {
						r.value(name+" "+table+"."+column, []byte(text))
					}
				}
				return nil
			}, strings.TrimSuffix(query, ", ")+` FROM "`+table+`"`); err != nil {
				return err
			}
		}
		return nil
	})
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// value adds the strings of a value: JSON, lines of JSON, msgpack, a pickle, or a text.
func (r rawTexts) value(where string, data []byte) {
	var v any
	trimmed := bytes.TrimSpace(data)
	switch {
	case len(trimmed) == 0:
	case json.Unmarshal(trimmed, &v) == nil:
		r.json(where, v)
	case trimmed[0] == '{' && json.Valid(bytes.SplitN(trimmed, []byte("\n"), 2)[0]):
		for line := range bytes.Lines(trimmed) {
			if json.Unmarshal(line, &v) == nil {
				r.json(where, v)
			}
		}
	case data[0] == 0x80 && len(data) > 2 && data[1] <= 5 && data[len(data)-1] == '.':
		r.pickle(where, data)
	case msgpackEnd(data, func(text []byte, binary bool) { r.value(where, text) }) == len(data):
	default:
		r.text(where, string(data))
	}
}

func (r rawTexts) json(where string, v any) {
	switch v := v.(type) {
	case string:
		r.text(where, v)
	case []any:
		for _, e := range v {
			r.json(where, e)
		}
	case map[string]any:
		for key, e := range v {
			r.json(where+"/"+key, e)
		}
	}
}

func (r rawTexts) text(where, text string) {
	var v any
	trimmed := strings.TrimSpace(text)
	if trimmed != "" && strings.ContainsRune("{[\"", rune(trimmed[0])) && json.Unmarshal([]byte(trimmed), &v) == nil {
		r.json(where, v)
		return
	}
	if data, err := base64.StdEncoding.DecodeString(trimmed); err == nil && len(data) > 4 && data[0] == 0x80 && data[1] <= 5 {
		r.pickle(where, data)
		return
	}
	if isProse(trimmed) {
		r[trimmed] = where
	}
}

// pickle adds the unicode strings that a pickle pushes.
func (r rawTexts) pickle(where string, data []byte) {
	for i := 0; i < len(data); i++ {
		n, at := -1, 0
		switch {
		case data[i] == 0x8c && i+2 <= len(data):
			n, at = int(data[i+1]), i+2
		case data[i] == 'X' && i+5 <= len(data):
			n, at = int(binary.LittleEndian.Uint32(data[i+1:])), i+5
		}
		if n < 0 || at+n > len(data) {
			continue
		}
		text := data[at : at+n]
		if packed := latin1(text); packed != nil && msgpackEnd(packed, func([]byte, bool) {}) == len(packed) { // how protocol 2 writes bytes
			r.value(where, packed)
			i = at + n - 1
		} else if isText(text) {
			first, _, _ := bytes.Cut(text, []byte(" "))
			r.value(where+"/"+string(first), text)
			i = at + n - 1
		}
	}
}

// latin1 returns a text in Latin-1, nil if it has other letters.
func latin1(text []byte) (data []byte) {
	for _, c := range string(text) {
		if c > 0xff {
			return nil
		}
		data = append(data, byte(c))
	}
	return data
}

func isText(data []byte) bool {
	return !bytes.ContainsFunc(data, func(c rune) bool { return c == unicode.ReplacementChar || c < ' ' && !unicode.IsSpace(c) })
}

// msgpackEnd walks a value of msgpack, gives each of its strings and bytes to yield, and returns where it ends, -1 for what is none.
func msgpackEnd(data []byte, yield func(text []byte, binary bool)) int {
	if len(data) == 0 {
		return -1
	}
	length := func(at, width int) int {
		if at+width > len(data) {
			return -1
		}
		n := 0
		for _, c := range data[at : at+width] {
			n = n<<8 | int(c)
		}
		return n
	}
	bytesAt := func(at, n int, binary bool) int {
		if n < 0 || at+n > len(data) {
			return -1
		}
		yield(data[at:at+n], binary)
		return at + n
	}
	items := func(at, n int) int {
		if n < 0 {
			return -1
		}
		for range n {
			end := msgpackEnd(data[at:], yield)
			if end < 0 {
				return -1
			}
			at += end
		}
		return at
	}
	skip := func(n int) int {
		if n > len(data) {
			return -1
		}
		return n
	}
	switch c := data[0]; {
	case c < 0x80 || c >= 0xe0 || c == 0xc0 || c == 0xc2 || c == 0xc3:
		return 1
	case c < 0x90:
		return items(1, 2*int(c&15))
	case c < 0xa0:
		return items(1, int(c&15))
	case c < 0xc0:
		return bytesAt(1, int(c&31), false)
	case c >= 0xc4 && c <= 0xc6:
		return bytesAt(1+1<<(c-0xc4), length(1, 1<<(c-0xc4)), true)
	case c >= 0xc7 && c <= 0xc9:
		return bytesAt(2+1<<(c-0xc7), length(1, 1<<(c-0xc7)), true)
	case c == 0xca:
		return skip(5)
	case c == 0xcb:
		return skip(9)
	case c >= 0xcc && c <= 0xd3:
		return skip(1 + 1<<((c-0xcc)&3))
	case c >= 0xd4 && c <= 0xd8:
		return bytesAt(2, 1<<(c-0xd4), true)
	case c >= 0xd9 && c <= 0xdb:
		return bytesAt(1+1<<(c-0xd9), length(1, 1<<(c-0xd9)), false)
	case c == 0xdc || c == 0xdd:
		return items(1+2<<(c-0xdc), length(1, 2<<(c-0xdc)))
	case c == 0xde || c == 0xdf:
		if n := length(1, 2<<(c-0xde)); n >= 0 {
			return items(1+2<<(c-0xde), 2*n)
		}
	}
	return -1
}

// isProse reports whether a text is one that people or models write: some letters, and a space between some.
func isProse(text string) bool {
	if len(text) < 8 {
		return false
	}
	words := strings.FieldsFunc(text, func(c rune) bool { return !unicode.IsLetter(c) })
	return len(words) > 1 && strings.ContainsAny(text, " \n") && isText([]byte(text))
}

// onDisk are the stores of testdata, and the demo where a kind is Hindcast's own, but for those on a server.
func onDisk(t *testing.T) []conforming {
	return slices.DeleteFunc(stores(t), func(c conforming) bool { return len(c.Kind.Schemes) > 0 })
}

// unseen says of places in the records of a kind why no message and no state has their texts. A place
// is a part of FILE TABLE.COLUMN/MEMBER/….
var unseen = map[string]map[string]string{
	"genkit": {
		"TABLE.txt": "the test's own", "go-events.jsonl": "the test's own", "go-inmemory-dump.json": "the test's own", "go.mod": "the program's",
		"/spans/": "a trace: the steps of a turn are what has messages",
	},
	"langgraph": {
		"writes.task_path": "the way to a task", "pckl/~__pregel_pull": "the way to a task",
	},
	"deepagents": {"writes.task_path": "the way to a task"},
	"llamaindex": {
		"event_json/value/input_event_name": "the name of a class", "event_json/value/output_event_name": "the name of a class",
	},
	"claude-code": {
		"/shape/": "the test's own", "attachment/systemPrompt": "cut from the test's file", "attachment/tools": "cut from the test's file",
		"message/content": "cut from the test's file", "/content": "what the program writes of itself", "/error/": "what the program writes of itself",
	},
	"codex": {
		"payload/state/environments": "the names of agents",
	},
	"cursor": {"blobs.data": "a message with a frame of protobuf around it"},
	"vscode-chat": {
		"invocationMessage/value": "what the screen says of a call, whose arguments a round has", "pastTenseMessage/value": "what the screen says of a call, whose result a round has",
		"/details": "the model and its price, as the screen has them", "responderUsername": "the name of the extension",
	},
	"droid": {"title": "the name of the session, which the list has"},
	"cline": {"api_conversation_history.json": "a file that ends in its middle, which a fault tells"},
	"aider": {"/# aider chat started at": "the time of a session"},
	"kimi-cli": {
		"output": "what a sub-agent told the screen", "wire.jsonl/message/payload/": "what kimi-cli told the screen",
	},
	"kimi":        {"tools/": "the list of tools, which context shows"},
	"qwen":        {"systemPayload/uiEvent/": "what the program counts of requests, also of its own"},
	"opencode":    {"event.data/info/title": "a title of before"},
	"jsonl":       {"/stateEdits": "a part of a state, cut anywhere", "/reason/text": "why a snapshot is off the path, which log tells"},
	"mapped":      {"notes.txt": "the test's own, no state", "/spans/name": "the event, which log tells"},
	"copilot-cli": {"index.md": "the agent's notes", "workspace.yaml": "the agent's settings"},
}

// lostTexts returns the texts of a store that no message, no state and nothing told beside them has,
// with where each is, but for those whose place has a reason. used notes the reasons.
func lostTexts(t *testing.T, kind, at string, s store.Store, used map[string]bool) rawTexts {
	t.Helper()
	raw, shown := rawTexts{}, rawTexts{}
	if err := filepath.WalkDir(at, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			raw.file(t, filepath.Base(path), path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	var told strings.Builder
	for _, info := range sessionsOf(t, s) {
		told.WriteString(conversation.OneLine(info.Title) + "\n")
		for h, err := range s.Headers(t.Context(), info.ID) {
			if err != nil {
				t.Fatal(err)
			}
			told.WriteString(conversation.OneLine(h.Title) + "\n")
			if of := s.Features().Facts; of != nil {
				facts, err := of(t.Context(), h.Ref())
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range facts {
					told.WriteString(conversation.OneLine(f.Value) + "\n")
				}
			}
			if of := s.Features().ModelRequest; of != nil && h.Head {
				if sent, err := of(t.Context(), h.Ref()); err == nil {
					shown.value("system", jsontape.FindMember(sent.Body, `"system"`))
				}
			}
			if state, err := s.State(t.Context(), h.Ref()); err == nil {
				shown.value("state", state)
			}
		}
	}
	for text := range shown {
		told.WriteString(conversation.OneLine(text) + "\n")
	}
	all, lost := told.String(), rawTexts{}
	for text, where := range raw {
		if _, is := shown[text]; is || strings.Contains(all, conversation.OneLine(text)) {
			continue
		}
		excused := false
		for place := range unseen[kind] {
			if strings.Contains(where, place) {
				excused, used[kind+" "+place] = true, true
			}
		}
		if !excused {
			lost[text] = where
		}
	}
	return lost
}

// Every text in the records of every real store, as readers of the test's own find it, is in a message
// or a state, or told beside them, or its place has a reason. Nothing of it is told as unread.
func TestTexts_areInView(t *testing.T) {
	skip.Sequential(t)
	used := map[string]bool{}
	for _, c := range onDisk(t) {
		t.Run(c.Kind.Name+"/"+filepath.Base(c.address), func(t *testing.T) {
			s, err := c.Kind.Open(t.Context(), c.address)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for text, where := range lostTexts(t, c.Kind.Name, c.address, s, used) {
				t.Errorf("%s: %.80q is in no view", where, text)
			}
			for _, info := range sessionsOf(t, s) {
				for _, f := range faultsOf(t, s, info.ID) {
					if f.Code == store.FaultUnread {
						t.Errorf("%s: %+v", info.ID, f)
					}
				}
			}
		})
	}
	for kind, places := range unseen {
		for place := range places {
			if !used[kind+" "+place] {
				t.Errorf("no text of %s is at %s: it needs no reason", kind, place)
			}
		}
	}
}

// hiding is a store whose states are empty, and whose snapshots have no titles.
type hiding struct{ store.Store }

func (h hiding) Sessions(ctx context.Context) iter.Seq2[model.SessionInfo, error] {
	return func(yield func(model.SessionInfo, error) bool) {
		for info, err := range h.Store.Sessions(ctx) {
			if info.Title = ""; !yield(info, err) {
				return
			}
		}
	}
}

func (h hiding) Headers(ctx context.Context, session string) iter.Seq2[model.Header, error] {
	return func(yield func(model.Header, error) bool) {
		for header, err := range h.Store.Headers(ctx, session) {
			if header.Title = ""; !yield(header, err) {
				return
			}
		}
	}
}

func (hiding) State(context.Context, model.Ref) ([]byte, error) { return []byte("{}"), nil }

// Where states show nothing texts are lost, whatever the records of a kind are made of: the test above
// can fail.
func TestTexts_lostAreFound(t *testing.T) {
	skip.Sequential(t)
	kinds := map[string]bool{}
	for _, c := range onDisk(t) {
		s, err := c.Kind.Open(t.Context(), c.address)
		if err != nil {
			t.Fatal(err)
		}
		kinds[c.Kind.Name] = len(lostTexts(t, c.Kind.Name, c.address, hiding{s}, map[string]bool{})) > 0 || kinds[c.Kind.Name]
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	for kind, lost := range kinds {
		if !lost && kind != "llamaindex" { // its one store has texts of one word
			t.Errorf("no text of any store of %s is missed where its states show nothing", kind)
		}
	}
}
