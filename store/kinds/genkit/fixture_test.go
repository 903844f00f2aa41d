package genkit

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"hindcast/model"
	"hindcast/store/storetest"
)

const testdata = "../../../testdata/genkit"

var update = flag.Bool("update", false, "write the golden files anew")

// evening is when the tests run: a day after the last row was written.
var evening = time.Date(2026, 11, 21, 20, 0, 0, 0, time.UTC)

func open(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Options{Now: func() time.Time { return evening }}.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func state(t testing.TB, s *Store, ref model.Ref) string {
	t.Helper()
	state, err := s.State(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	return string(state)
}

// picture draws a session, each row with what its header tells.
func picture(list []model.Header) string {
	var text strings.Builder
	tl := model.NewTimeline(slices.Clone(list))
	for i := range tl.Rows() {
		r := tl.Row(i)
		line := string(tl.AppendGutter(nil, i, tl.Lanes(), model.GlyphsUnicode))
		if r.Node != model.NoNode {
			h := tl.FullHeader(r.Node)
			line += fmt.Sprintf(" #%d turn %d %-14s %.8s", h.Index, h.TurnIndex, h.EventText(), h.ID)
			for _, mark := range h.Marks.Words() {
				line += " " + mark
			}
			if h.Title != "" {
				line += " | " + h.Title
			}
			if h.Reason != nil {
				line += " (" + h.Reason.Kind.String() + ")"
			}
		}
		text.WriteString("  " + strings.TrimRight(line, " ") + "\n")
	}
	return text.String()
}

// told writes all that is told about a store.
func told(t testing.TB, s *Store) string {
	t.Helper()
	var text strings.Builder
	report := func(list []model.Fault) {
		for _, f := range list {
			fmt.Fprintf(&text, "  ! %s %s %s\n      %s\n      %s\n", f.Code, f.File, f.Path, f.Meaning, f.Verdict)
		}
	}
	list := storetest.Sessions(t, s)
	slices.SortFunc(list, func(a, b model.SessionInfo) int { return strings.Compare(a.ID, b.ID) })
	for _, info := range list {
		fmt.Fprintf(&text, "%s: %d snapshots, %d off the path, head #%d %.8s, changed %s\n", info.ID, info.Snapshots, info.Orphaned, info.Head.Index, info.Head.ID, info.UpdatedAt.UTC().Format(time.RFC3339Nano))
		text.WriteString(picture(storetest.Headers(t, s, info.ID)))
		report(storetest.Faults(t, s, info.ID))
	}
	if list := storetest.Faults(t, s, ""); len(list) > 0 {
		text.WriteString("the store itself\n")
		report(list)
	}
	return text.String()
}

// golden compares a text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	storetest.Golden(t, filepath.Join("testdata", name), got, update)
}

// hazard is one small store of hazards.txtar.
type hazard struct {
	name  string
	files []txtar.File
}

// hazards reads hazards.txtar: stores as the SDKs write them, each with something
// wrong. A file is STORE/PATH. A content that begins with "-> " is a link, \xff
// stands for that byte, and the newline that ends each file is not part of it.
func hazards(t testing.TB) (list []hazard) {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", "hazards.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		name, file, _ := strings.Cut(f.Name, "/")
		if len(list) == 0 || list[len(list)-1].name != name {
			list = append(list, hazard{name: name})
		}
		content := bytes.TrimSuffix(f.Data, []byte("\n"))
		content = bytes.ReplaceAll(content, []byte(`\xff`), []byte{0xff})
		content = bytes.ReplaceAll(content, []byte(`\xef\xbb\xbf`), []byte("\ufeff"))
		h := &list[len(list)-1]
		h.files = append(h.files, txtar.File{Name: file, Data: content})
	}
	return list
}

// write lays the store out in a folder.
func (h *hazard) write(t testing.TB) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, f := range h.files {
		write(t, filepath.Join(dir, filepath.FromSlash(f.Name)), string(f.Data))
	}
	return dir
}

func write(t testing.TB, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	var err error
	if link, isLink := strings.CutPrefix(content, "-> "); isLink {
		err = os.Symlink(link, file)
	} else if err = os.WriteFile(file, []byte(content), 0o644); err == nil {
		// Made long ago: what is fresh is not remembered, and may be a writer's.
		err = os.Chtimes(file, time.Time{}, evening.Add(-24*time.Hour))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// goRow returns a row as Go writes it.
func goRow(id, parent, session, created, more string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "{\n  \"createdAt\": %q,\n", created)
	if parent != "" {
		fmt.Fprintf(&b, "  \"parentId\": %q,\n", parent)
	}
	fmt.Fprintf(&b, "  \"sessionId\": %q,\n  \"snapshotId\": %q,\n", session, id)
	if more == "" {
		more = `"state": {"sessionId": "` + session + `"}, "status": "completed"`
	}
	return b.String() + "  " + more + "\n}"
}

// jsRow returns a row as JavaScript writes it.
func jsRow(id, parent, session, created, status string) string {
	text := fmt.Sprintf("{\n  \"snapshotId\": %q,\n  \"sessionId\": %q,\n  \"createdAt\": %q,\n  \"state\": {\"artifacts\": [], \"messages\": [], \"sessionId\": %q}", id, session, created, session)
	if parent != "" {
		text += fmt.Sprintf(",\n  \"parentId\": %q", parent)
	}
	return text + fmt.Sprintf(",\n  \"status\": %q\n}", status)
}

func cancelled(t testing.TB) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
