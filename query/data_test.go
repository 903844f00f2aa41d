package query_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/model/jsontape/jsontest"
	"hindcast/query"
	"hindcast/store"
	"hindcast/store/kinds/genkit"
	"hindcast/store/kinds/strands/messages"
	"hindcast/store/native/sqlite"
)

var dataDir = flag.String("data", "", "the folder in which the sessions of benchmarks stay from one run to the next")

// session is a session that benchmarks ask.
type session struct {
	name, id string
	open     func(context.Context, string) (store.Store, error)
	make     func(testing.TB, string)
}

// sessions are those of the benchmarks, of so many snapshots (one in ten in a Genkit
// store):
//
//	window   native: 400 messages, each turn drops the first, a restore each 50
//	grown    native: short messages that are only added, a restore each 50
//	strands  a message file a snapshot
//	genkit   rows of 490 kB: 400 messages, each row drops the first
func sessions(n int) []session {
	return []session{
		{name: "window", id: "s", open: openNative, make: native(n, window)},
		{name: "grown", id: "s", open: openNative, make: native(n, appended)},
		{name: "strands", id: "s", make: func(b testing.TB, dir string) { strandsLog(b, dir, n) },
			open: func(ctx context.Context, dir string) (store.Store, error) { return messages.Open(ctx, dir) }},
		{name: "genkit", id: "s", make: func(b testing.TB, dir string) { genkitRows(b, dir, n/10) },
			open: func(ctx context.Context, dir string) (store.Store, error) { return genkit.Open(ctx, dir) }},
	}
}

func openNative(ctx context.Context, path string) (store.Store, error) { return sqlite.Open(ctx, path) }

// at makes the session, unless it is there from an earlier run, and returns where it is.
func (s session) at(b testing.TB, n int) string {
	b.Helper()
	dir := *dataDir
	if dir == "" {
		dir = b.TempDir()
	}
	path := filepath.Join(dir, fmt.Sprintf("%s-%d", s.name, n))
	if _, err := os.Stat(path); err != nil {
		if err := os.MkdirAll(path+".new", 0o755); err != nil {
			b.Fatal(err)
		}
		s.make(b, filepath.Join(path+".new", "s"))
		if err := os.Rename(path+".new", path); err != nil {
			b.Fatal(err)
		}
	}
	return filepath.Join(path, "s")
}

// asked opens a session for questions.
func (s session) asked(b testing.TB, path string) (store.Store, *query.Session, *model.Timeline) {
	b.Helper()
	opened, err := s.open(b.Context(), path)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { opened.Close() })
	var headers model.Headers
	for h, err := range opened.Headers(b.Context(), s.id) {
		if err != nil {
			b.Fatal(err)
		}
		headers.Add(&h)
	}
	t := headers.Timeline(0)
	return opened, query.Open(opened, t), t
}

// window is a state of 400 messages that slides; appended one that only grows.
func window(state *jsontest.State, turn int) []byte {
	if len(state.Messages) == 0 {
		for range 400 {
			state.Append()
		}
	}
	return planned(state.Step().DropFirst().JSON(), turn/500)
}

func appended(state *jsontest.State, turn int) []byte {
	state.Step()
	state.Messages[len(state.Messages)-1] = fmt.Appendf(nil, `{"role":"user","content":[{"text":"in turn %d nothing was said"}]}`, turn)
	return planned(state.JSON(), turn/500)
}

// planned adds a plan to a state, of which the status has that number.
func planned(state []byte, status int) []byte {
	return fmt.Appendf(bytes.TrimSuffix(state, []byte("}")), `,"plan":{"status":"step %d","steps":["look","book","tell"]}}`, status)
}

// native returns what makes a native store of n snapshots. One in fifty is followed by a
// restore to the snapshot ten before it.
func native(n int, next func(*jsontest.State, int) []byte) func(testing.TB, string) {
	rows := func(yield func(store.Row, error) bool) {
		state := jsontest.New(0, 1)
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		var path []model.Header
		var kept [][][]byte
		for i := range n {
			if len(path) > 20 && i%50 == 0 {
				path, kept = path[:len(path)-10], kept[:len(kept)-10]
				last := kept[len(kept)-1]
				state.Messages = last[:len(last):len(last)]
			}
			text := next(state, i)
			h := model.Header{ID: model.SnapshotID(text), SessionID: "s", CreatedAt: start.Add(time.Duration(i) * time.Second), Visit: int64(i + 1),
				Index: len(path), TurnIndex: len(path), Size: int64(len(text)), Head: i == n-1}
			if p := len(path); p > 0 {
				h.ParentID, h.ParentVisit = path[p-1].ID, path[p-1].Visit
			}
			path, kept = append(path, h), append(kept, state.Messages)
			if !yield(store.Row{Header: h, State: text}, nil) {
				return
			}
		}
	}
	return func(b testing.TB, path string) {
		b.Helper()
		s, err := sqlite.Create(b.Context(), path)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Import(b.Context(), iter.Seq2[store.Row, error](rows)); err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// strandsLog writes a log of n messages, as the SDK for Python indents them.
func strandsLog(b testing.TB, dir string, n int) {
	b.Helper()
	agent := filepath.Join(dir, "session_s", "agents", "agent_default")
	if err := os.MkdirAll(filepath.Join(agent, "messages"), 0o755); err != nil {
		b.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	const at = `"created_at": "2026-03-01T10:00:00.000000+00:00", "updated_at": "2026-03-01T10:00:00.000000+00:00"`
	write(filepath.Join(dir, "session_s", "session.json"), `{"session_id": "s", "session_type": "AGENT", `+at+`}`)
	write(filepath.Join(agent, "agent.json"), `{"agent_id": "default", "state": {"plan": "done"}, "conversation_manager_state": {"__name__": "NullConversationManager", "removed_message_count": 0}, `+at+`}`)
	said := jsontest.New(1300*n, 1)
	for i := range n {
		text := fmt.Sprintf(`{"message": {"role": %q, "content": [{"text": %s}]}, "message_id": %d, "redact_message": null, %s}`,
			[]string{"user", "assistant"}[i%2], quoted(said.Messages[i%len(said.Messages)]), i, at)
		var indented bytes.Buffer
		if err := json.Indent(&indented, []byte(text), "", "  "); err != nil {
			b.Fatal(err)
		}
		write(filepath.Join(agent, "messages", fmt.Sprintf("message_%d.json", i)), indented.String())
	}
}

func quoted(text []byte) []byte {
	quoted, _ := json.Marshal(string(text)) // a string always can
	return quoted
}

// genkitRows writes n rows of a session, as Genkit for Go indents them.
func genkitRows(b testing.TB, dir string, n int) {
	b.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	var said [][]byte
	made := jsontest.New(0, 1)
	for i := range n + 400 {
		made.Append()
		said = append(said, fmt.Appendf(nil, `{"content":[{"text":%s}],"role":%q}`, quoted(made.Messages[i]), []string{"user", "model"}[i%2]))
	}
	id := func(i int) string { return fmt.Sprintf("%08x-0000-4000-8000-000000000000", i+1) }
	for i := range n {
		parent := ""
		if i > 0 {
			parent = fmt.Sprintf(`"parentId":%q,`, id(i-1))
		}
		row := fmt.Sprintf(`{"createdAt":"2026-11-20T%02d:%02d:%02dZ",%s"sessionId":"s","snapshotId":%q,"state":{"custom":{"total":%d,"plan":{"status":"step %d"}},"messages":[%s],"sessionId":"s"},"status":"completed"}`,
			i/3600, i/60%60, i%60, parent, id(i), i, i/50, bytes.Join(said[i:i+400], []byte(",")))
		var indented bytes.Buffer
		if err := json.Indent(&indented, []byte(row), "", "  "); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, id(i)+".json"), indented.Bytes(), 0o644); err != nil {
			b.Fatal(err)
		}
	}
}
