package opencode

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/media/sqlitefile"
	"hindcast/store/storetest"
)

// newerSchema are the tables as opencode 2.0 makes them, without what nothing reads.
var newerSchema = []string{
	"CREATE TABLE session_v2 (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, fork_session_id text, fork_boundary text, slug text NOT NULL, directory text NOT NULL, title text, version text NOT NULL, cost real DEFAULT 0 NOT NULL, tokens_input integer DEFAULT 0 NOT NULL, tokens_output integer DEFAULT 0 NOT NULL, tokens_cache_read integer DEFAULT 0 NOT NULL, revert text, time_created integer NOT NULL, time_updated integer NOT NULL)",
	"CREATE TABLE session_message (id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL, seq integer NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL)",
}

const newSession, newChild = "ses_eed07b19affe0001", "ses_eed07b19affe0002"

// newerRecords are a session's messages, with one of each type and each state of a tool.
var newerRecords = [][2]string{
	{"agent-switched", `{"time":{"created":1000},"agent":"plan"}`},
	{"user", `{"time":{"created":1001},"text":"sum up notes.txt","files":[{"data":"YSBub3Rl","mime":"text/plain","source":{"type":"uri","uri":"file:///w/notes.txt"},"name":"notes.txt"},{"data":"iVBORw==","mime":"image/png","source":{"type":"inline"},"name":"chart.png"}],"agents":[{"name":"plan"}]}`},
	{"system", `{"time":{"created":1002},"text":"the date is today"}`},
	{"synthetic", `{"time":{"created":1002},"text":"a reminder"}`},
	{"assistant", `{"time":{"created":1003,"completed":1005},"agent":"build","model":{"id":"m-1","providerID":"fake"},"content":[{"type":"reasoning","text":"I read first","state":{"x":1}},{"type":"text","text":"I read it."},` +
		`{"type":"tool","id":"c1","name":"read","state":{"status":"completed","input":{"path":"/w/notes.txt"},"content":[{"type":"text","text":"1: a note"},{"type":"file","uri":"file:///w/x","mime":"image/png"}]},"time":{"created":1004}},` +
		`{"type":"tool","id":"c2","name":"bash","state":{"status":"error","input":{"command":"false"},"error":{"type":"unknown","message":"exit 1"},"content":[{"type":"text","text":"half"}]},"time":{"created":1004}},` +
		`{"type":"tool","id":"c3","name":"task","state":{"status":"completed","input":{},"content":[{"type":"text","text":"child says"}],"metadata":{"sessionId":"` + newChild + `"}},"time":{"created":1004}}],` +
		`"finish":"tool-calls","cost":0.25,"tokens":{"input":100,"output":20,"reasoning":5,"cache":{"read":7,"write":0}}}`},
	{"shell", `{"time":{"created":1006},"shellID":"s","command":"ls","status":"exited","exit":0,"output":{"output":"notes.txt","truncated":false}}`},
	{"assistant", `{"time":{"created":1007},"agent":"build","model":{"id":"m-1","providerID":"fake"},"content":[],"error":{"type":"provider.rate-limit","message":"slow down"}}`},
	{"idle", `{"time":{"created":1008},"outcome":"failed"}`},
	{"compaction", `{"time":{"created":1009},"status":"completed","reason":"auto","summary":"the notes were read","recent":"the last words"}`},
	{"user", `{"time":{"created":1009},"text":"go on"}`},
	{"assistant", `{"time":{"created":1010},"agent":"build","model":{"id":"m-1","providerID":"fake"},"content":[{"type":"text","text":"done"},{"type":"tool","id":"c4","name":"bash","state":{"status":"streaming","input":"{\"com"},"time":{"created":1011}}]}`},
	{"later-type", `{"time":{"created":1012},"text":"words of a later version"}`},
}

// newerStatements insert the session and one of a sub-agent.
func newerStatements() []string {
	list := slices.Clone(newerSchema)
	for id, parent := range map[string]string{newSession: "NULL", newChild: "'" + newSession + "'"} {
		list = append(list, "INSERT INTO session_v2 (id, project_id, parent_id, slug, directory, title, version, cost, tokens_input, tokens_output, time_created, time_updated) VALUES ('"+id+"', 'p', "+parent+", 's', '/w', 'About notes', '2.0.25', 0.25, 100, 20, 1000, 2000)")
	}
	for i, r := range newerRecords {
		list = append(list, fmt.Sprintf("INSERT INTO session_message VALUES ('msg_%03d', '%s', '%s', %d, 0, 0, '%s')", 900-i, newSession, r[0], i, strings.ReplaceAll(r[1], "'", "''")))
	}
	return append(list, "INSERT INTO session_message VALUES ('msg_c', '"+newChild+"', 'user', 1, 0, 0, '{\"time\":{\"created\":1004},\"text\":\"look\"}')")
}

// newerOnly returns a database of opencode 2 alone.
func newerOnly(t *testing.T, more ...string) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, database)
	write(t, path, nil)
	db := sqlitefile.NewOwn(path, "", nil)
	err := db.Fill(t.Context(), executing(t, append(newerStatements(), more...)))
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A session of opencode 2 is read whole, in the order of its rows, from a database that has the tables of opencode 1 and from one
// that has not.
func TestRead_opencode2(t *testing.T) {
	for name, dir := range map[string]string{"alone": newerOnly(t), "beside older ones": many(t, newerStatements()...)} {
		s := open(t, dir)
		var info *model.SessionInfo
		n := 0
		for _, one := range storetest.Sessions(t, s) {
			if n++; one.ID == newSession {
				info = &one
			}
		}
		if want := map[string]int{"alone": 2, "beside older ones": 2 + sessionsOfMany}[name]; info == nil || info.Title != "About notes" || n != want {
			t.Fatalf("%s: %d sessions, %+v", name, n, info)
		}
		headers := storetest.Headers(t, s, newSession)
		var titles []string
		for _, h := range headers {
			titles = append(titles, h.Title)
		}
		if len(headers) != 10 || headers[0].Title != "sum up notes.txt" || !strings.Contains(headers[5].Title, "slow down") || headers[6].EventName != "compaction" {
			t.Errorf("%s: %q", name, titles)
		}
		state, err := s.State(t.Context(), headers[5].Ref())
		if err != nil {
			t.Fatal(err)
		}
		for _, words := range []string{"sum up notes.txt", "a note", "chart.png", "the date is today", "a reminder", "I read first", "I read it.", "/w/notes.txt", "1: a note", "exit 1", "half", "child says", "Shell command: ls", "slow down"} {
			if !strings.Contains(string(state), words) {
				t.Errorf("%s: %q is not in %s", name, words, state)
			}
		}
		// A compaction stands for what is before it.
		after, err := s.State(t.Context(), headers[7].Ref())
		if err != nil || strings.Contains(string(after), "sum up notes.txt") || !strings.Contains(string(after), "the notes were read") || !strings.Contains(string(after), "go on") {
			t.Errorf("%s: %s, %v", name, after, err)
		}
		var codes []string
		for _, f := range storetest.Faults(t, s, newSession) {
			codes = append(codes, f.Code)
		}
		if slices.Contains(codes, store.FaultUnread) {
			t.Errorf("%s: %+v", name, storetest.Faults(t, s, newSession))
		}
		if got := storetest.Headers(t, s, newSession+"/"+newChild); len(got) != 1 || got[0].Title != "look" {
			t.Errorf("%s: %+v", name, got)
		}
		if plan, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: headers[0].Ref()}); !errors.As(err, new(*model.UnsupportedError)) {
			t.Errorf("%s: %+v, %v", name, plan, err)
		}
		if calls, err := s.Features().Resume(t.Context(), headers[len(headers)-1].Ref()); err != nil || len(calls) > 0 {
			t.Errorf("%s: %+v, %v", name, calls, err)
		}
	}
}

// What both opencode 1 and 2 have is read of opencode 2, once it has rows there. Rows that are no JSON, and a revert, are told.
func TestRead_opencode2Oddities(t *testing.T) {
	both := slices.Clone(newerSchema)
	for _, id := range []string{"ses_0", "ses_1"} {
		both = append(both, "INSERT INTO session_v2 (id, project_id, slug, directory, title, version, time_created, time_updated) VALUES ('"+id+"', 'p', 's', '/w', 'later', '2.0', 1, 2)")
	}
	both = append(both, `INSERT INTO session_message VALUES ('msg_x', 'ses_0', 'user', 1, 0, 0, '{"text":"only this"}')`)
	s := open(t, many(t, both...))
	if got := storetest.Headers(t, s, "ses_0"); len(got) != 1 || got[0].Title != "only this" {
		t.Errorf("%+v", got)
	}
	if got := storetest.Headers(t, s, "ses_1"); len(got) != messagesOfMany {
		t.Errorf("%d messages", len(got))
	}
	for name, c := range map[string]struct{ change, code string }{
		"no JSON":        {"UPDATE session_message SET data = '{' WHERE seq = 1", FaultMessage},
		"no object":      {"UPDATE session_message SET data = '[1]' WHERE seq = 4", FaultMessage},
		"a later type":   {"UPDATE session_message SET data = '{}' WHERE seq = 4", "unknown-record"},
		"a revert":       {`UPDATE session_v2 SET revert = '{"messageID":"msg_891"}'`, FaultRevert},
		"of no such one": {`UPDATE session_v2 SET revert = '{"messageID":"msg_none"}'`, FaultRevert},
	} {
		s := open(t, newerOnly(t, c.change))
		var codes []string
		for _, f := range storetest.Faults(t, s, newSession) {
			codes = append(codes, f.Code)
		}
		if !slices.Contains(codes, c.code) {
			t.Errorf("%s: %q", name, codes)
		}
	}
	dir := newerOnly(t)
	data, err := os.ReadFile(filepath.Join(dir, database))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 100, 4096, len(data) / 2, len(data) - 4096} {
		write(t, filepath.Join(dir, database), data[:n])
		if s, err := Kind(nil).Open(t.Context(), dir); err == nil {
			for range s.Sessions(t.Context()) {
			}
			_ = s.Close()
		}
	}
}

// FuzzNewer reads what a row may hold: each text of a known type is in a message.
func FuzzNewer(f *testing.F) {
	for _, r := range newerRecords {
		f.Add(r[0], []byte(r[1]))
	}
	f.Fuzz(func(t *testing.T, kind string, data []byte) {
		m := stored{id: "msg", newer: true}
		m.learnNewer("ses", kind, data)
		for _, p := range m.parts {
			if !json.Valid(p.data) {
				t.Errorf("%s of %s", p.data, data)
			}
		}
		m.sentMessages()
	})
}
