package tui_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/keymap"
	"hindcast/store/kinds/adk"
	"hindcast/store/kinds/jsonl"
)

// A session with records that no message shows says how many, with its other faults.
func TestHeader_countsUnreadRecords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"id":"a","sessionId":"s","index":0,"createdAt":"2026-11-28T00:00:00Z","event":"turn end","note":"by another program","state":{}}`:                "! 1 record unread  head #0",
		`{"id":"a","sessionId":"s","index":0,"createdAt":"2026-11-28T00:00:00Z","event":"turn end","parentId":"z","note":"by another program","state":{}}`: "! 1 record unread, 1 fault more  head #0",
		`{"id":"a","sessionId":"s","index":0,"createdAt":"2026-11-28T00:00:00Z","event":"turn end","parentId":"z","state":{}}`:                             "! 1 fault  head #0",
	} {
		at := filepath.Join(t.TempDir(), "a.jsonl")
		if err := os.WriteFile(at, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := jsonl.Kind().Open(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		o := options(s)
		o.Session = "s"
		shows(t, start(t, o, 120, 30), want)
	}
}

// A header without room for all of it leaves out whole parts, those that matter least first,
// and keeps the session's name longest.
func TestHeader_leavesOutWholeParts(t *testing.T) {
	t.Parallel()
	for w, want := range map[int]string{
		120: " hindcast  sqlite_service.db › tour_app/u1/tour · 26 events · 18 off the path · ! 1 fault  head #20  following",
		100: " hindcast  sqlite_service.db › tour_app/u1/tour · 26 events · ! 1 fault  head #20  following",
		60:  " hindcast  tour_app/u1/tour · ! 1 fault  head #20  following",
	} {
		s, err := adk.Kind(nil, "").Open(t.Context(), "../testdata/adk/sqlite_service.db")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		o := options(s)
		o.Session = "tour_app/u1/tour"
		p := start(t, o, w, 30)
		shows(t, p, "! 1 fault")
		got := line(p, 0)
		for part := range strings.SplitSeq(want, " · ") {
			if !strings.Contains(got, strings.TrimSpace(part)) {
				t.Errorf("at %d cells it lacks %q:\n%s", w, part, got)
			}
		}
		if strings.Contains(got, "…") || w == 60 && strings.Contains(got, "snapshots") {
			t.Errorf("at %d cells:\n%s", w, got)
		}
		p.Press(keymap.Timeline, keymap.MoveUp)
		if got := line(p, 0); strings.Contains(got, "foll") {
			t.Errorf("at %d cells:\n%s", w, got)
		}
	}
}
