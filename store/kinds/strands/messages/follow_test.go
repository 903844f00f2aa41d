package messages

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// writer writes files as the SDK does: beside their place, and then into it. Before
// 1.48 the name is the file's with a suffix, since then it is made up.
type writer struct {
	dir   string
	since bool
}

func (w writer) write(t *testing.T, content string, elem ...string) {
	t.Helper()
	file := filepath.Join(append([]string{w.dir}, elem...)...)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Error(err)
		return
	}
	temporary := file + ".tmp"
	if w.since {
		temporary = filepath.Join(filepath.Dir(file), ".strands_x1y2z3.tmp")
	}
	// In two pieces: readers meet half a file.
	f, err := os.Create(temporary)
	if err != nil {
		t.Error(err)
		return
	}
	for _, piece := range []string{content[:len(content)/2], content[len(content)/2:]} {
		_, err = f.WriteString(piece)
	}
	if err := errors.Join(err, f.Close(), os.Rename(temporary, file)); err != nil {
		t.Error(err)
	}
}

func (w writer) session(t *testing.T, id string) {
	t.Helper()
	w.write(t, `{"session_id":"`+id+`","session_type":"AGENT","created_at":"2026-01-02T03:04:05+00:00","updated_at":"2026-01-02T03:04:05+00:00"}`,
		"session_"+id, "session.json")
}

func (w writer) agent(t *testing.T, session, agent string, n int) {
	t.Helper()
	w.write(t, fmt.Sprintf(`{"agent_id":%q,"state":{"n":%d},"conversation_manager_state":{"__name__":"NullConversationManager","removed_message_count":0},`+
		`"_internal_state":{"interrupt_state":{"interrupts":{},"context":{},"activated":false}},"created_at":"2026-01-02T03:04:05+00:00","updated_at":"2026-01-02T03:04:05+00:00"}`, agent, n),
		"session_"+session, "agents", "agent_"+agent, "agent.json")
}

func (w writer) message(t *testing.T, session, agent string, n int, text string) {
	t.Helper()
	w.write(t, fmt.Sprintf(`{"message":{"role":%q,"content":[{"text":%q}]},"message_id":%d,"redact_message":null,"created_at":"2026-01-02T03:04:05+00:00","updated_at":"2026-01-02T03:04:05+00:00"}`,
		[]string{"user", "assistant"}[n%2], text, n), "session_"+session, "agents", "agent_"+agent, "messages", fmt.Sprintf("message_%d.json", n))
}

// A session that is written from its first file on is followed to its last, and
// is whole whenever somebody looks.
func TestWatch_followsAWriter(t *testing.T) {
	for _, since := range []bool{false, true} {
		s := open(t, t.TempDir())
		changes, err := s.Watch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		const messages = 100
		done := make(chan struct{})
		go func() {
			defer close(done)
			w := writer{s.dir, since}
			w.session(t, "a")
			for n := range messages {
				w.agent(t, "a", "default", n)
				w.message(t, "a", "default", n, fmt.Sprint("text ", n))
			}
		}()
		seen := 0
		for seen < messages {
			storetest.Next(t, changes)
			list := storetest.Sessions(t, s)
			if len(list) == 0 {
				continue
			}
			seen = list[0].Snapshots
			for i, h := range storetest.Headers(t, s, "a") {
				if h.Index != i || h.Marks&model.MarkDamaged != 0 {
					t.Fatalf("snapshot %d is %+v", i, h)
				}
			}
			// Between its first two files the session has no agent, and between
			// agent.json and the folder of messages the SDK would not start it.
			for _, f := range storetest.Faults(t, s, "a") {
				if seen > 0 {
					t.Fatalf("after %d messages: %+v", seen, f)
				}
			}
		}
		<-done
		last := storetest.Headers(t, s, "a")[messages-1]
		if got := string(state(t, s, last)); !strings.Contains(got, "text 99") || !strings.Contains(got, `"state":{"n":99}`) {
			t.Errorf("in the end the state is %s", got)
		}
	}
}

// Each kind of change is told of, and whoever reads then finds it.
func TestWatch_tellsOfEveryKindOfChange(t *testing.T) {
	s := open(t, t.TempDir())
	w := writer{dir: s.dir}
	w.session(t, "old")
	w.agent(t, "old", "a", 0)
	w.message(t, "old", "a", 0, "first")
	changes, err := s.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	newest := func(session string) string {
		all := storetest.Headers(t, s, session)
		if len(all) == 0 {
			return ""
		}
		return string(state(t, s, all[len(all)-1]))
	}
	has := func(id string) bool {
		return slices.ContainsFunc(storetest.Sessions(t, s), func(info model.SessionInfo) bool { return info.ID == id })
	}
	for _, step := range []struct {
		what string
		do   func()
		seen func() bool
	}{
		{"a message", func() { w.message(t, "old", "a", 1, "second") }, func() bool { return strings.Contains(newest("old"), "second") }},
		{"a redacted message", func() { w.message(t, "old", "a", 1, "hidden") }, func() bool { return strings.Contains(newest("old"), "hidden") }},
		{"agent.json", func() { w.agent(t, "old", "a", 7) }, func() bool { return strings.Contains(newest("old"), `"n":7`) }},
		{"a session", func() { w.session(t, "new") }, func() bool { return has("new") }},
		{"its agent", func() { w.agent(t, "new", "a", 3); w.message(t, "new", "a", 0, "hello") }, func() bool { return strings.Contains(newest("new"), "hello") }},
		{"a message of it", func() { w.message(t, "new", "a", 1, "answer") }, func() bool { return strings.Contains(newest("new"), "answer") }},
		{"another agent", func() { w.agent(t, "new", "b", 4) }, func() bool { return has("new/a") && has("new/b") }},
		{"a message of that", func() { w.message(t, "new", "b", 0, "from b") }, func() bool { return strings.Contains(newest("new/b"), "from b") }},
		{"a message taken away", func() {
			if err := os.Remove(filepath.Join(s.dir, "session_new", "agents", "agent_b", "messages", "message_0.json")); err != nil {
				t.Fatal(err)
			}
		}, func() bool { return len(storetest.Headers(t, s, "new/b")) == 0 }},
		{"a session taken away", func() {
			if err := os.RemoveAll(filepath.Join(s.dir, "session_old")); err != nil {
				t.Fatal(err)
			}
		}, func() bool { return !has("old") }},
	} {
		step.do()
		for ok := false; !ok; ok = step.seen() {
			storetest.Next(t, changes)
		}
	}
}

func TestWatch_ofOneSession(t *testing.T) {
	w := writer{dir: t.TempDir()}
	w.session(t, "one")
	w.agent(t, "one", "a", 0)
	s := open(t, filepath.Join(w.dir, "session_one"))
	changes, err := s.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		w.message(t, "one", "a", n, "text")
		for len(storetest.Headers(t, s, "one")) != n+1 {
			storetest.Next(t, changes)
		}
	}
}

// A temporary file is a fault only when nobody can be writing it any more.
func TestFaults_ofATemporaryFileThatIsNew(t *testing.T) {
	skip.Sequential(t)
	s := openFiles(t, hazards(t)["healthy"])
	file := filepath.Join(s.dir, "session_h", "agents", "agent_default", "messages", "message_6.json.tmp")
	mustWrite(t, file, `{"mess`)
	if found := storetest.Faults(t, s, "h"); len(found) != 0 {
		t.Errorf("while it is written: %+v", found)
	}
	if err := age(file); err != nil {
		t.Fatal(err)
	}
	if found := storetest.Faults(t, s, "h"); len(found) != 1 || found[0].Code != FaultLeftover {
		t.Errorf("an hour later: %+v", found)
	}
}
