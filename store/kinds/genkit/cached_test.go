package genkit

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"hindcast/store/storetest"
)

// aged writes rows flat in a folder, long enough ago that what they say is remembered.
func aged(t *testing.T, rows ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	old := time.Now().Add(-time.Hour)
	for i, row := range rows {
		file := filepath.Join(dir, string(rune('a'+i))+rowSuffix)
		write(t, file, row)
		if err := os.Chtimes(file, old, old); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Work expires though no file changed since the session was read.
func TestHeaders_expireByTheClock(t *testing.T) {
	clock := &storetest.Clock{}
	clock.Advance(evening.Sub(clock.Now()))
	heard := evening.Format(time.RFC3339)
	s, err := Options{Now: clock.Now}.Open(t.Context(), aged(t, goRow("a", "", "s", am, ""), goRow("b", "a", "s", pm, `"status": "pending", "heartbeatAt": "`+heard+`"`)))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, step := range []struct {
		after time.Duration
		want  string
	}{{0, statusPending}, {heartbeatTimeout, statusPending}, {time.Second, statusExpired}} {
		clock.Advance(step.after)
		if list := storetest.Headers(t, s, "s"); list[1].EventName != step.want {
			t.Errorf("after %v more the row is %q, not %q", step.after, list[1].EventName, step.want)
		}
	}
}

// A version that is told after a session was read holds for it.
func TestAssume_holdsForWhatWasRead(t *testing.T) {
	s := open(t, aged(t, jsRow("a", "", "s", am, "completed"), jsRow("b", "", "s", pm, "aborting")))
	if h := headOf(t, s, "s"); h.ID != "b" {
		t.Errorf("the head is %s", h.ID)
	}
	assume(t, s, "genkit-python", "0.10") // which does not know the status
	if h := headOf(t, s, "s"); h.ID != "a" {
		t.Errorf("the head is still %s", h.ID)
	}
}

// The newest headers, and how far a session reaches, count the steps between rows.
func TestTail_hasTheSteps(t *testing.T) {
	s := open(t, project)
	const session = "barista/sess-main"
	all := storetest.Headers(t, s, session)
	for n := range len(all) + 2 {
		rows, before, err := s.Features().Tail(t.Context(), session, n)
		if err != nil || before != max(len(all)-n, 0) || !slices.Equal(rows, all[before:]) {
			t.Errorf("the last %d are %d after %d, %v", n, len(rows), before, err)
		}
	}
	cursor, err := s.Features().Cursor(t.Context(), session)
	if err != nil || int(cursor.Visit) != len(all) {
		t.Errorf("the session reaches to %+v of %d, %v", cursor, len(all), err)
	}
}
