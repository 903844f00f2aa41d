package chat_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hindcast/store"
	"hindcast/store/engine/chat"
	"hindcast/store/kinds/claudecode"
)

// The first sessions of a large storage are listed before the files of most folders are looked at: those of the folder that
// changed last, the newest change first, each before its sub-agents.
func TestStore_AnyOrder(t *testing.T) {
	const folders, each = 40, 50
	storage := filepath.Join(t.TempDir(), ".claude", "projects")
	begun := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	record := `{"type":"user","uuid":"u","parentUuid":null,"sessionId":%q,"timestamp":"2026-03-01T00:00:00.000Z","message":{"role":"user","content":"hello"}}` + "\n"
	id := func(folder, n int) string { return fmt.Sprintf("%08x-0000-4000-8000-%012x", folder, n) }
	for folder := range folders {
		dir := filepath.Join(storage, fmt.Sprint("-home-demo-", folder))
		for n := range each {
			session := id(folder, n)
			for i, name := range []string{session + ".jsonl", filepath.Join(session, "subagents", "agent-a1.jsonl")} {
				path, at := filepath.Join(dir, name), begun.Add(time.Duration(n)*time.Minute+time.Duration(folder)*time.Second)
				if i == 1 && n%10 != 0 {
					continue
				}
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, fmt.Appendf(nil, record, session), 0o600), os.Chtimes(path, at, at)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if at := begun.Add(time.Duration((folder+7)%folders) * time.Hour); os.Chtimes(dir, at, at) != nil {
			t.Fatal("the folder keeps its time")
		}
	}
	const last = folders - 8 // changed last
	s, err := claudecode.Kind(nil).Open(t.Context(), storage)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	looks := chat.CountLooks(s)
	var first []string
	for info, err := range store.AnyOrder(t.Context(), s) {
		if err != nil {
			t.Fatal(err)
		}
		if first = append(first, info.ID); len(first) == 12 {
			break
		}
	}
	if n := looks.Load(); n > folders*(each/10+2)+4*each || first[0] != id(last, each-1) {
		t.Errorf("%d files and folders were looked at for %q", n, first)
	}
	newest, both := map[string]string{}, 0
	for info, err := range s.Sessions(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		newest[info.ID] = fmt.Sprintf("%+v", info)
	}
	seen := map[string]bool{}
	for info, err := range store.AnyOrder(t.Context(), s) {
		if err != nil || newest[info.ID] != fmt.Sprintf("%+v", info) || seen[info.ID] {
			t.Fatalf("%+v, %v, once more: %v", info, err, seen[info.ID])
		}
		seen[info.ID] = true
		if session, _, agent := strings.Cut(info.ID, "/"); agent && !seen[session] {
			t.Errorf("%s comes before its session", info.ID)
		} else if agent {
			both++
		}
	}
	if len(seen) != len(newest) || both != folders*each/10 {
		t.Errorf("%d of %d sessions, and %d sub-agents", len(seen), len(newest), both)
	}
}
