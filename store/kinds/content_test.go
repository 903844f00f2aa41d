package kinds_test

import (
	"bytes"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/storetest"
	"hindcast/store/storetest/machine"
	"hindcast/store/storetest/skip"
	"hindcast/store/survey"
)

// fileSessions are sessions of coding agents that are files, each with its kind.
var fileSessions = []struct{ kind, file string }{
	{"pi", "pi/--home-demo--/2026-11-22T11-26-00-000Z_01a20301-0000-7000-8000-000000000001.jsonl"},
	{"claude-code", "claude-code/projects/-home-demo/8512ee6c-4947-4b66-aaa1-6778e7c025d6.jsonl"},
	{"codex", "codex/sessions/2026/11/22/rollout-2026-11-22T11-29-04-01a20304-5337-7113-81f0-ba209759045b.jsonl"},
	{"codex", "codex/sessions/2026/11/22/rollout-2026-11-22T11-29-04-ad26b39f-bddc-4666-a790-7b8a7c4a1ad7.jsonl"},
	{"codex", "codex/sessions/2026/11/24/rollout-2026-11-24T04-14-26-01a20bc3-1de1-7a92-aa36-a0490d1adcff.jsonl.zst"},
	{"gemini-cli", "gemini-cli/demo/chats/session-2026-11-22T11-36-1b5ede93.jsonl"},
	{"qwen", "qwen/projects/-home-demo/chats/62035093-1666-40c6-8a95-39c130eaa8fc.jsonl"},
	{"kimi", "kimi/sessions/wd_demo_2a8e15b3ff99/session_cc5476d0-0b10-4187-8cc1-26d8d0f4af91/agents/main/wire.jsonl"},
	{"copilot-cli", "copilot-cli/1176a339-4847-4a9a-8002-872c283cafb0/events.jsonl"},
}

// copyNames are what a person may call a copy of any of them, and where it may lie.
var copyNames = []string{
	"my-backup.jsonl", "notes.txt", "parent", "from a colleague.jsonl.bak", "x.json", "data.zst", "events.jsonl", "session-1.jsonl",
	"sessions/2026/11/27/copy.jsonl", "projects/app/x.jsonl", "chats/x.jsonl", "tmp/chats/session.json", "rollout-copy.jsonl", "00000000-1111-4222-8333-444444444444/events.jsonl",
}

// TestOpen_contentDecides opens copies of sessions under other names: by the path alone, by the
// kind and the path, and, of files of lines, by the folder that has nothing else.
func TestOpen_contentDecides(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	for _, w := range fileSessions {
		text, err := os.ReadFile(filepath.Join(testdata, "coding", filepath.FromSlash(w.file)))
		if err != nil {
			t.Fatal(err)
		}
		want := titles(t, filepath.Join(testdata, "coding", filepath.FromSlash(w.file)))
		for _, name := range copyNames {
			t.Run(filepath.Base(w.file)+" as "+name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				file := filepath.Join(dir, filepath.FromSlash(name))
				err := os.MkdirAll(filepath.Dir(file), 0o700)
				if err == nil {
					err = os.WriteFile(file, text, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
				at := []string{file, w.kind + ":" + file}
				if filepath.Ext(name) == ".jsonl" {
					at = append(at, filepath.Dir(file))
				}
				for _, address := range at {
					id, err := allKinds.Identify(t.Context(), address)
					if err != nil || id.Name != w.kind {
						t.Errorf("%s: %v, %v", address, id, err)
						continue
					}
					if got := titles(t, address); got != want || got == "" {
						t.Errorf("%s has\n%s\nwant\n%s", address, got, want)
					}
				}
			})
		}
	}
}

// titles returns the titles of the snapshots of the first session of a store.
func titles(t *testing.T, address string) string {
	t.Helper()
	s, err := allKinds.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for info, err := range s.Sessions(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, h := range storetest.Headers(t, s, info.ID) {
			list = append(list, h.Title)
		}
		return strings.Join(list, "\n")
	}
	return ""
}

// TestOpen_headersOfOtherVersions opens files as other versions, converters and viewers write them:
// each holds two messages.
func TestOpen_headersOfOtherVersions(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	const (
		items = `{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]}}
{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"two"}]}}`
		bare = `{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]}
{"type":"message","role":"assistant","content":[{"type":"output_text","text":"two"}]}`
		events = `{"type":"user.message","data":{"content":"one"},"id":"e1","timestamp":"2026-11-27T10:00:01.000Z","parentId":null}
{"type":"assistant.message","data":{"messageId":"m1","content":"two","toolRequests":[]},"id":"e2","timestamp":"2026-11-27T10:00:02.000Z","parentId":"e1"}`
		messages = `{"id":"1","timestamp":"2026-11-27T10:00:01.000Z","type":"user","content":"one"}
{"id":"2","timestamp":"2026-11-27T10:00:02.000Z","type":"gemini","content":"two"}`
	)
	for _, c := range []struct{ name, kind, text, id string }{
		{"no folder", "codex", `{"type":"session_meta","payload":{"id":"a-thread"}}` + "\n" + items, "a-thread"},
		{"the session alone", "codex", `{"type":"session_meta","payload":{"session_id":"a-session","cwd":"/x"}}` + "\n" + items, "a-session"},
		{"members in another order", "codex", `{"payload":{"cwd":"/x","id":"fc-1"},"timestamp":"2024-01-01T10:00:00Z","type":"session_meta"}` + "\n" + items, "fc-1"},
		{"no id at all", "codex", `{"type":"session_meta","payload":{"cwd":"/x"}}` + "\n" + items, "copy"},
		{"no header", "codex", items, "copy"},
		{"a header behind something else", "codex", `{"type":"turn_context","payload":{"cwd":"/x"}}` + "\n" + `{"type":"session_meta","payload":{"id":"late"}}` + "\n" + items, "late"},
		{"a torn header", "codex", `{"type":"session_meta","payl` + "\n" + items, "copy"},
		{"0.20", "codex", `{"id":"ad26b39f-bddc-4666-a790-7b8a7c4a1ad7","timestamp":"2025-08-01T10:00:00.000Z","instructions":null}` + "\n" + bare, "ad26b39f-bddc-4666-a790-7b8a7c4a1ad7"},
		{"0.20 with its state", "codex", `{"id":"old","timestamp":"2025-08-01T10:00:00.000Z","instructions":"x","git":{}}` + "\n" + `{"record_type":"state"}` + "\n" + bare, "old"},
		{"events", "copilot-cli", `{"type":"session.start","data":{"sessionId":"of-vs-code","version":1},"id":"e0","timestamp":"2026-11-27T10:00:00.000Z","parentId":null}` + "\n" + events, "of-vs-code"},
		{"events without a start", "copilot-cli", events, "copy"},
		{"a log", "gemini-cli", `{"sessionId":"of-gemini","startTime":"2026-11-27T10:00:00.000Z","lastUpdated":"2026-11-27T10:00:00.000Z"}` + "\n" + messages, "of-gemini"},
		{"a log without a header", "gemini-cli", messages, "copy"},
		{"a document", "gemini-cli", "{\n \"sessionId\": \"doc\",\n \"projectHash\": \"x\",\n \"messages\": [\n" + strings.Replace(messages, "\n", ",\n", 1) + "\n]}\n", "doc"},
	} {
		for _, name := range []string{"copy.jsonl", "copy"} {
			t.Run(c.kind+" "+c.name+" as "+name, func(t *testing.T) {
				t.Parallel()
				file := filepath.Join(t.TempDir(), name)
				if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
					t.Fatal(err)
				}
				s, err := allKinds.Open(t.Context(), file)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				var list []model.SessionInfo
				for info, err := range s.Sessions(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					list = append(list, info)
				}
				if s.Kind() != c.kind || len(list) != 1 || list[0].ID != c.id || list[0].Snapshots != 2 || list[0].Title != "one" {
					t.Errorf("%s opens %+v", s.Kind(), list)
				}
			})
		}
	}
}

// TestOpen_saysWhatAFileLooksLike opens what is no session, though a kind's header fits.
func TestOpen_saysWhatAFileLooksLike(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	pack, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ kind, text, want string }{
		{"codex", "{\n  \"type\": \"session_meta\",\n  \"payload\": {}\n}\n", "codex: it looks like a Codex rollout, but its records go over several lines: one on each line is read"},
		{"codex", `[{"type":"session_meta"}]`, "codex: it looks like a Codex rollout, but no line at its beginning is a record that tells a session"},
		{"codex", "\"type\":\"session_meta\"\n", "codex: it looks like a Codex rollout, but line 1 is no record: "},
		{"codex", string(pack.EncodeAll([]byte("no rollout"), nil)), "codex: it looks like a Codex rollout, but "},
		{"copilot-cli", "{\n  \"type\": \"session.start\"\n}\n", "copilot-cli: it looks like a session of Copilot CLI, but its records go over several lines"},
		{"gemini-cli", `[{"projectHash":"x"}]`, "gemini-cli: it looks like a session of Gemini CLI, but no line"},
		{"claude-code", `[{"type":"user","parentUuid":null}]`, "claude-code: it looks like a Claude Code session, but no line"},
		{"pi", `[{"type":"session"}]`, "pi: it looks like a pi session, but no line"},
	} {
		file := filepath.Join(t.TempDir(), "copy.jsonl")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := allKinds.Identify(t.Context(), file); !errors.Is(err, store.ErrUnrecognised) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.text, err, c.want)
		}
		_, why, _ := strings.Cut(c.want, ": ")
		if _, err := allKinds.Open(t.Context(), c.kind+":"+file); c.kind != "pi" && c.kind != "claude-code" && (!errors.Is(err, store.ErrUnrecognised) || !strings.Contains(err.Error(), why)) {
			t.Errorf("%s, by the name of the kind: %v, want %q", c.text, err, why)
		}
	}
	file := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(file, bytes.Repeat([]byte("words\n"), 10), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, of := range fileSessions {
		if _, err := allKinds.Open(t.Context(), of.kind+":"+file); !errors.Is(err, store.ErrUnrecognised) || !strings.Contains(err.Error(), "it does not begin as ") {
			t.Errorf("%s opens a text: %v", of.kind, err)
		}
	}
}

// fileDatabases returns databases, each with its kind: those of the machine, and some whose names differ.
func fileDatabases() []machine.Layout {
	list := slices.DeleteFunc(machine.Stores(), func(s machine.Layout) bool { return !slices.Contains([]string{".db", ".vscdb"}, path.Ext(s.From)) })
	return append(list, machine.Layout{Kind: "langgraph", From: "langgraph/js.db"}, machine.Layout{Kind: "crewai", From: "crewai/checkpoints.db"},
		machine.Layout{Kind: "adk", From: "adk/v0_pickle.db"}, machine.Layout{Kind: "crush", From: "coding/crush/crush.db"},
		machine.Layout{Kind: "cursor", From: "coding/cursor/globalStorage/state.vscdb"}, machine.Layout{Kind: "sqlite"})
}

// TestOpen_databasesOfAnyName opens copies of databases under names that are none of a database: by
// the path alone, by the kind and the path, and by a survey of the folder that they are in.
func TestOpen_databasesOfAnyName(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	for _, w := range fileDatabases() {
		from := filepath.Join(testdata, filepath.FromSlash(w.From))
		if w.From == "" {
			dir := t.TempDir()
			from = filepath.Join(dir, "hindcast-demo.db")
			hindcastRuns(t, "", "demo", dir)
		}
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		want := titles(t, from)
		for _, name := range []string{"backup", "state.vscdb", "sessions.db.bak", "from a colleague.txt"} {
			t.Run(w.Kind+" as "+name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				file := filepath.Join(dir, "inside", name)
				if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, text, 0o600); err != nil {
					t.Fatal(err)
				}
				// A file of as many bytes that is no database is not told of.
				if err := os.WriteFile(filepath.Join(dir, "inside", "other"), make([]byte, 4096), 0o600); err != nil {
					t.Fatal(err)
				}
				for _, address := range []string{file, w.Kind + ":" + file} {
					id, err := allKinds.Identify(t.Context(), address)
					if err != nil || id.Name != w.Kind {
						t.Errorf("%s: %v, %v", address, id, err)
						continue
					}
					if got := titles(t, address); got != want || got == "" {
						t.Errorf("%s has\n%s\nwant\n%s", address, got, want)
					}
				}
				found := false
				for f, err := range survey.Folder(t.Context(), allKinds, dir) {
					if err != nil {
						t.Fatal(err)
					}
					found = found || f.Kind == w.Kind && strings.HasPrefix(f.Path, filepath.Dir(file))
					if filepath.Base(f.Path) == "other" {
						t.Errorf("a survey tells of %+v", f)
					}
				}
				if !found {
					t.Errorf("a survey does not find it")
				}
			})
		}
	}
}
