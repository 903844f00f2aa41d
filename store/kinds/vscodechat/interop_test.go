package vscodechat

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/store/storetest/chattest"
)

// VS Code's own code writes the logs of the fixture from the changes that record.mjs makes.
func TestInterop_vscodeChat(t *testing.T) {
	at := chattest.Program(t, "vscode-chat", "node_modules", "@codingame", "monaco-vscode-chat-service-override", "package.json")
	modules, _, _ := strings.Cut(at, "node_modules")
	script, err := filepath.Abs("../../../testdata/interop/vscode-chat/record.mjs")
	if err != nil {
		t.Fatal(err)
	}
	dir, written := t.TempDir(), 0
	chattest.Run(t, dir, t.TempDir(), fmt.Sprintf("node '%s' . '%s'", script, modules))
	if err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		written++
		got, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		want, err := os.ReadFile(filepath.Join(fixture, name))
		if string(got) != string(want) {
			t.Errorf("%s differs from the fixture: %s", name, got)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	logs, err := filepath.Glob(filepath.Join(fixture, "*", "*", "chatSessions", "*.jsonl"))
	if err != nil || written < len(logs) || written == 0 {
		t.Errorf("%d files were written, and %d logs recorded, %v", written, len(logs), err)
	}
}
