package tui_test

import (
	"strings"
	"testing"

	"hindcast/keymap"
	"hindcast/store/adk"
)

// A header without room for all of it leaves out whole parts, those that matter least first,
// and keeps the session's name longest.
func TestHeader_leavesOutWholeParts(t *testing.T) {
	t.Parallel()
	for w, want := range map[int]string{
		120: " hindcast  sqlite_service.db › tour_app/u1/tour · 26 snapshots · 18 off the path · ! 1 fault  head #20  following",
		100: " hindcast  sqlite_service.db › tour_app/u1/tour · 26 snapshots · ! 1 fault  head #20  following",
		60:  " hindcast  tour_app/u1/tour · ! 1 fault  head #20  following",
	} {
		s, err := adk.Kind().Open(t.Context(), "../testdata/adk/sqlite_service.db")
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
