package messages

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"hindcast/model"
	"hindcast/store"
)

// agentAt is an agent that writes a session as the SDK does: it makes new messages, and
// gives the last one another content, as the SDK does when a guardrail intervenes.
type agentAt struct {
	folder string
	next   int
}

func newAgentAt(t *testing.T, dir string, messages int) *agentAt {
	t.Helper()
	written{"session.json": []byte(`{"session_id":"h","session_type":"AGENT"}`), "agent.json": []byte(`{"agent_id":"default","state":{},"conversation_manager_state":{}}`)}.write(t, filepath.Join(dir, "session_h"))
	a := &agentAt{folder: filepath.Join(dir, "session_h", "agents", "agent_default", "messages")}
	for range messages {
		a.say(t, "hello")
	}
	return a
}

func (a *agentAt) write(t *testing.T, n int, text string) {
	t.Helper()
	name := filepath.Join(a.folder, fmt.Sprintf("message_%d.json", n))
	data := fmt.Sprintf(`{"message":{"role":%q,"content":[{"text":%q}]},"message_id":%d}`, []string{"user", "assistant"}[n%2], text, n)
	if err := os.WriteFile(name+".tmp", []byte(data), 0o600); err != nil {
		t.Error(err)
	}
	if err := os.Rename(name+".tmp", name); err != nil {
		t.Error(err)
	}
}

func (a *agentAt) say(t *testing.T, text string) {
	a.write(t, a.next, text)
	a.next++
}

func (a *agentAt) redact(t *testing.T, text string) { a.write(t, a.next-1, text) }

// sound says that rows are those of one session: each is there once, with a state, and
// follows one that is there; and how many there are.
func sound(t *testing.T, rows []store.Row) (n int) {
	t.Helper()
	seen := map[string]bool{"": true}
	for _, row := range rows {
		if row.Record != nil {
			continue
		}
		n++
		h := row.Header
		if seen[h.ID] || !seen[h.ParentID] || row.State == nil {
			t.Errorf("#%d %.8s behind %.8s: seen %t, its parent %t, %d bytes", h.Index, h.ID, h.ParentID, seen[h.ID], seen[h.ParentID], len(row.State))
		}
		seen[h.ID] = true
	}
	return n
}

// An export in the middle of which the agent gives its last message another content goes
// on with what is there then.
func TestExport_besideAnAgentThatRedacts(t *testing.T) {
	dir := t.TempDir()
	agent := newAgentAt(t, dir, 6)
	s := open(t, dir)
	var rows []store.Row
	for row, err := range store.Rows(t.Context(), s) {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
		if len(rows) == 2 {
			agent.redact(t, "redacted")
			agent.say(t, "I see.")
		}
	}
	if n := sound(t, rows); n != 7 {
		t.Errorf("%d rows", n)
	}
	if last := rows[len(rows)-1]; !last.Header.Head || !bytes.Contains(last.State, []byte("redacted")) || !bytes.Contains(last.State, []byte("I see.")) {
		t.Errorf("the last row is %+v with %s", last.Header, last.State)
	}
}

// Exports beside an agent at work are whole, each of them.
func TestExport_besideAnAgentAtWork(t *testing.T) {
	dir := t.TempDir()
	agent := newAgentAt(t, dir, 40)
	s := open(t, dir)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 300 {
			if agent.redact(t, fmt.Sprint("redacted ", i)); i%4 == 0 {
				agent.say(t, "on")
			}
		}
	}()
	for working := true; working; {
		select {
		case <-done:
			working = false // once more when it rests
		default:
		}
		var rows []store.Row
		for row, err := range store.Rows(t.Context(), s, "h") {
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, row)
		}
		if n := sound(t, rows); n < 40 {
			t.Errorf("%d rows", n)
		}
	}
}

// A session that goes while others are exported is not there any more.
func TestExport_withoutASessionThatWent(t *testing.T) {
	dir := t.TempDir()
	newAgentAt(t, dir, 2)
	if err := os.CopyFS(filepath.Join(dir, "session_i"), os.DirFS(filepath.Join(dir, "session_h"))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "session_i", "session.json"), []byte(`{"session_id":"i","session_type":"AGENT"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	var rows []store.Row
	for row, err := range store.Rows(t.Context(), s) {
		if err != nil {
			t.Fatal(err)
		}
		if rows = append(rows, row); len(rows) == 1 {
			if err := os.RemoveAll(filepath.Join(dir, "session_i")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := sound(t, rows); n != 2 {
		t.Errorf("%d rows", n)
	}
	for _, err := range store.Rows(t.Context(), s, "i") {
		if err == nil || !bytes.Contains([]byte(err.Error()), []byte(model.ErrNoSession.Error())) {
			t.Errorf("a session that was asked for: %v", err)
		}
	}
}
