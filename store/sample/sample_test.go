package sample

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
)

func rows(t *testing.T, session string) []store.Row {
	t.Helper()
	var out []store.Row
	for row, err := range Rows() {
		if err != nil {
			t.Fatal(err)
		}
		if row.Header.SessionID == session {
			out = append(out, row)
		}
	}
	return out
}

func TestRows_idsAreHashesOfTheCompactState(t *testing.T) {
	for _, session := range []string{Trip, Packing} {
		seen := map[string]bool{}
		for _, row := range rows(t, session) {
			h := row.Header
			if row.State == nil {
				if !seen[h.ID] {
					t.Errorf("%s #%d has no state and none came before", session, h.Index)
				}
				continue
			}
			seen[h.ID] = true
			sum := sha256.Sum256(row.State)
			if got := hex.EncodeToString(sum[:]); got != h.ID {
				t.Errorf("%s #%d: id %s, state hashes to %s", session, h.Index, h.ID, got)
			}
			if h.Size != int64(len(row.State)) {
				t.Errorf("%s #%d: size %d of %d bytes", session, h.Index, h.Size, len(row.State))
			}
		}
	}
}

func TestRows_tellTheWholeStory(t *testing.T) {
	trip := rows(t, Trip)
	var heads, orphaned, failed, revisits int
	events := map[model.SnapshotEvent]bool{}
	reasons := map[*model.Reason]bool{}
	seen := map[string]bool{}
	for i, row := range trip {
		h := row.Header
		if h.Visit != int64(i+1) {
			t.Errorf("row %d is visit %d", i, h.Visit)
		}
		if h.ParentVisit != 0 {
			parent := trip[h.ParentVisit-1].Header
			if parent.ID != h.ParentID || parent.Index+1 != h.Index || !parent.CreatedAt.Before(h.CreatedAt) {
				t.Errorf("visit %d does not follow its parent, visit %d", h.Visit, h.ParentVisit)
			}
		}
		if h.Orphaned != (h.Reason != nil) {
			t.Errorf("visit %d: orphaned %v, reason %v", h.Visit, h.Orphaned, h.Reason)
		}
		events[h.Event] = true
		if h.Head {
			heads++
		}
		if h.Orphaned {
			orphaned++
			reasons[h.Reason] = true
		}
		if h.Marks.Has(model.MarkError) {
			failed++
		}
		if seen[h.ID] {
			revisits++
		}
		seen[h.ID] = true
	}
	got := map[string]int{"visits": len(trip), "heads": heads, "orphaned": orphaned, "failed": failed, "revisits": revisits, "restores": len(reasons), "events": len(events)}
	want := map[string]int{"visits": 18, "heads": 1, "orphaned": 4, "failed": 1, "revisits": 1, "restores": 2, "events": 3}
	for k := range want {
		if got[k] != want[k] {
			t.Errorf("%s: %d, want %d", k, got[k], want[k])
		}
	}
	if last := rows(t, Packing); last[len(last)-1].Header.Position != "after_model" {
		t.Error("packing-list does not stop after the model")
	}
}

// A restore must leave the state that it goes back to as it was: the opera may
// not be in the cart that the jazz is put into.
func TestRows_branchesShareNothing(t *testing.T) {
	trip := rows(t, Trip)
	var totals []float64
	for _, visit := range []int{6, 8, 11, 15, 18} {
		var s state
		if err := json.Unmarshal(trip[visit-1].State, &s); err != nil {
			t.Fatal(err)
		}
		totals = append(totals, s.Cart.Total)
	}
	if want := []float64{180.5, 420.5, 205.5, 0, 210}; !slices.Equal(totals, want) {
		t.Errorf("totals %v, want %v", totals, want)
	}
}

func TestRows_areTheSameEveryTime(t *testing.T) {
	first, second := rows(t, Trip), rows(t, Trip)
	for i := range first {
		if first[i].Header.ID != second[i].Header.ID {
			t.Fatalf("row %d differs", i)
		}
	}
	if got, want := first[len(first)-1].Header.ID[:8], "add177ad"; got != want {
		t.Errorf("the demo's head is %s, want %s: README and scripts name it", got, want)
	}
}

// The demo opens on the snapshot that emptied the cart, which its id tells apart.
func TestCancelled_namesOneSnapshotOffThePath(t *testing.T) {
	var found []model.Header
	for _, row := range rows(t, Trip) {
		if strings.HasPrefix(row.Header.ID, Cancelled) {
			found = append(found, row.Header)
		}
	}
	if len(found) != 1 || !found[0].Orphaned || found[0].Title != "cancel_all {confirm: true}  3 bookings cancelled." {
		t.Errorf("%s names %+v", Cancelled, found)
	}
}
