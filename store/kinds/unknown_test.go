package kinds_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/store/storetest"
)

// A newer version of a tool may write records of types that Hindcast does not know. Their words are in view, or doctor
// tells of them, whatever their members are called.
func TestDoctor_unknownRecords(t *testing.T) {
	t.Parallel()
	const words = "zebra and quagga"
	for _, kind := range []string{"claude-code", "codex", "copilot-cli", "cursor", "droid", "gemini-cli", "iflow", "kimi", "kimi-cli", "pi", "qwen", "vscode-chat"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			from := filepath.Join(testdata, "coding", kind)
			file := lastTranscript(t, from)
			for name, line := range unknownRecords(t, filepath.Join(from, file), words) {
				dir := storetest.Copy(t, from)
				appendLine(t, filepath.Join(dir, file), line)
				_, found, _ := inProcess(t, "grep", words, dir)
				_, told, wrong := inProcess(t, "doctor", dir)
				if !strings.Contains(found, words) && !strings.Contains(told, words) && !strings.Contains(told, unknownType) && !strings.Contains(told, "kind 99") {
					t.Errorf("%s: of %s nothing is found, and doctor says\n%s%s", name, line, told, wrong)
				}
			}
		})
	}
}

// A process may die between a person's words and the message of them.
func TestDoctor_promptWithoutMessage(t *testing.T) {
	t.Parallel()
	const file = "sessions/wd_demo_2a8e15b3ff99/session_cc5476d0-0b10-4187-8cc1-26d8d0f4af91/agents/main/wire.jsonl"
	dir := storetest.Copy(t, filepath.Join(testdata, "coding", "kimi"))
	appendLine(t, filepath.Join(dir, filepath.FromSlash(file)), []byte(`{"type":"turn.prompt","agentId":"main","input":[{"type":"text","text":"zebra and quagga"}],"origin":{"kind":"user"},"promptId":"msg_9","turnId":9,"time":1796025163196}`))
	if _, told, _ := inProcess(t, "doctor", dir); !strings.Contains(told, "zebra and quagga") {
		t.Errorf("doctor says\n%s", told)
	}
}

// appendLine adds a line to a file, behind the end of its last one.
func appendLine(t *testing.T, path string, line []byte) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, slices.Concat(bytes.TrimRight(text, "\n"), []byte("\n"), line, []byte("\n")), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// unknownType is a type that no tool writes.
const unknownType = "news_of_2027"

// lastTranscript returns the last file of lines below a folder that has a conversation.
func lastTranscript(t *testing.T, dir string) (file string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".jsonl" || strings.Contains(path, "agent-transcripts") != strings.Contains(path, "cursor") || strings.Contains(path, "kimi-cli") && filepath.Base(path) == "wire.jsonl" {
			return err
		}
		file, err = filepath.Rel(dir, path)
		return err
	})
	if err != nil || file == "" {
		t.Fatalf("%q, %v", file, err)
	}
	return file
}

// unknownRecords returns records like the last of a file that are of unknown types and have words, by the member that is unknown.
func unknownRecords(t *testing.T, path, words string) map[string][]byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	var last map[string]any
	if err := json.Unmarshal(lines[len(lines)-1], &last); err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	add := func(name string, of map[string]any) {
		if all[name], err = json.Marshal(of); err != nil {
			t.Fatal(err)
		}
	}
	plain := maps.Clone(last)
	maps.DeleteFunc(plain, func(_ string, value any) bool {
		switch value.(type) {
		case map[string]any, []any:
			return true
		}
		return false
	})
	for _, member := range []string{"id", "uuid"} {
		if plain[member] != nil {
			plain[member] = "6b1f6f0e-97b9-4d4c-8df3-0c8d6c7f7a01"
		}
	}
	with := func(member string, value any) map[string]any {
		made := maps.Clone(plain)
		for _, key := range []string{"type", "role"} {
			if plain[key] != nil || key == "type" && plain["role"] == nil {
				made[key] = unknownType
			}
		}
		if plain["kind"] != nil {
			made["kind"] = 99
		}
		made[member] = value
		return made
	}
	add("content", with("content", words))
	add("another member", with("todos", map[string]any{"todos": "1. [pending] " + words}))
	if _, enveloped := last["payload"].(map[string]any); enveloped {
		inner := with("payload", map[string]any{"type": unknownType, "note": words})
		inner["type"] = "event_msg"
		add("an event", inner)
	}
	return all
}
