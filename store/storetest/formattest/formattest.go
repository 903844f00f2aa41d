// Package formattest has checks that the formats of all coding agents share.
package formattest

import (
	"os"
	"path/filepath"
	"testing"

	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
)

// AddFiles adds the files that match a pattern to the corpus of a fuzz target, and returns how many these are.
func AddFiles(f *testing.F, pattern string) int {
	f.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	return len(names)
}

// CheckMessages checks that each message of each entry of a session is part of a state.
func CheckMessages(t testing.TB, form chat.Format, in engine.In, s *chat.Session) {
	t.Helper()
	for i := range s.Entries {
		list, err := form.Messages(in, s, &s.Entries[i])
		if err != nil {
			t.Fatal(err)
		}
		for k := range list {
			if text := list[k].AppendJSON(nil); store.CheckState(text) != nil {
				t.Errorf("%s", text)
			}
		}
	}
}
