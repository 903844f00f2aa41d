package skeleton

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hindcast/store/storetest"
)

// The page has the file as it is.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile("skeleton.go")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile("(?s)```go\n(package .*?)```\n").FindSubmatch(page)
	_, code, _ := strings.Cut(string(file), "\npackage skeleton\n")
	if shown == nil || string(shown[1]) != "package skeleton\n"+code {
		t.Errorf("the page does not have skeleton.go as it is")
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	const session = `{"id":"m1","parent":"","role":"user","text":"hello","time":"2026-11-30T10:00:00Z"}
{"id":"m2","parent":"m1","role":"assistant","text":"Hello.","time":"2026-11-30T10:00:01Z"}
{"id":"m3","parent":"m2","role":"user","text":"thanks","time":"2026-11-30T10:00:02Z"}
{"id":"m4","parent":"m2","role":"user","text":"and now?","time":"2026-11-30T10:00:03Z"}
`
	if err := os.WriteFile(filepath.Join(dir, "first.jsonl"), []byte(session), 0o600); err != nil {
		t.Fatal(err)
	}
	storetest.Read(t, Kind(nil).Kind, dir)
	s, err := Kind(nil).Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	info := storetest.Sessions(t, s)[0]
	if info.ID != "first" || info.Title != "hello" {
		t.Errorf("%+v", info)
	}
	list := storetest.Headers(t, s, "first")
	if len(list) != 4 || !list[2].Orphaned || !list[3].Head {
		t.Errorf("%+v", list)
	}
}
