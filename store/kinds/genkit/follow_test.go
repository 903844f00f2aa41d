package genkit

import (
	"fmt"
	"hindcast/store/storetest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// writers write a file as the SDKs do.
var writers = map[string]func(t testing.TB, file, content string){
	"Go": goWrite,
	"JavaScript": func(t testing.TB, file, content string) {
		replace(t, file+".4711.0b9c1c0e-0000-4000-8000-000000000000.tmp", file, content)
	},
	"Python": func(t testing.TB, file, content string) { replace(t, file+".tmp", file, content) },
}

func replace(t testing.TB, temporary, file, content string) {
	err := os.WriteFile(temporary, []byte(content), 0o644)
	if err == nil {
		err = os.Rename(temporary, file)
	}
	if err != nil {
		t.Error(err)
	}
}

// A session is followed from its first row to its last: rows come as pending and
// are rewritten with their state, then the pointer moves.
func TestWatch_followsAWriter(t *testing.T) {
	for name, writeFile := range writers {
		dir := t.TempDir()
		s := open(t, dir)
		changes, err := s.Watch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		folder := filepath.Join(dir, "org-42", "user-7")
		if name == "Python" {
			folder = dir
		}
		const rows = 40
		done := make(chan struct{})
		go func() {
			defer close(done)
			if err := os.MkdirAll(filepath.Join(folder, pointersFolder), 0o755); err != nil {
				t.Error(err)
			}
			parent := ""
			for i := range rows {
				id, created := fmt.Sprintf("r%03d", i), evening.Add(time.Duration(i)*time.Millisecond).Format("2006-01-02T15:04:05.000Z07:00")
				file := filepath.Join(folder, id+rowSuffix)
				writeFile(t, file, jsRow(id, parent, "s", created, statusPending))
				writeFile(t, filepath.Join(folder, pointersFolder, "s.json"), fmt.Sprintf(`{"currentSnapshotId":%q,"updatedAt":%q}`, id, created))
				writeFile(t, file, jsRow(id, parent, "s", created, statusCompleted))
				parent = id
			}
		}()
		for whole := 0; whole < rows; {
			storetest.Next(t, changes)
			whole = 0
			for _, info := range storetest.Sessions(t, s) {
				list := storetest.Headers(t, s, info.ID)
				for i, h := range list {
					if h.Index != i || h.Marks != 0 {
						t.Fatalf("%s: header %d is %+v", name, i, h)
					}
					if h.EventName == "" {
						whole++
					}
				}
			}
		}
		<-done
	}
}

// What appears where nothing was is noticed: another tenant, a project's first
// rows, a pointer that moves.
func TestWatch_noticesPlacesThatAppear(t *testing.T) {
	for name, file := range map[string]string{
		"a tenant":            "org-42/user-7/a.json",
		"a flat row":          "a.json",
		"a pointer":           "global/.pointers/s.json",
		"a project's rows":    ".genkit/snapshots/barista/global/a.json",
		"a project's other":   ".snapshots/global/a.json",
		"a project's further": ".snapshots-x/a.json",
	} {
		dir := t.TempDir()
		if strings.HasPrefix(name, "a project") {
			if err := os.MkdirAll(filepath.Join(dir, ".genkit", "snapshots"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		s := open(t, dir)
		changes, err := s.Watch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(dir, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		goWrite(t, at, goRow("a", "", "s", "2026-11-20T10:00:00Z", ""))
		for range 20 { // a value may tell of a folder on the way to it
			storetest.Next(t, changes)
			if name == "a pointer" || len(storetest.Sessions(t, s)) == 1 {
				break
			}
		}
		if name != "a pointer" && len(storetest.Sessions(t, s)) != 1 {
			t.Errorf("%s is not seen", name)
		}
	}
}

// Traces that come are told of, wherever the store is in its project.
func TestWatch_noticesTraces(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(project)); err != nil {
		t.Fatal(err)
	}
	s := open(t, filepath.Join(dir, ".genkit", "snapshots", "barista"))
	changes, err := s.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".genkit", "traces", "4d5e"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	storetest.Next(t, changes)
}
