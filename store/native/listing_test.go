package native

import (
	"strconv"
	"testing"

	"hindcast/model"
)

// TestListing_remembersTheLastVisits: what a listing keeps of the visits that it has given
// on is bounded, and has the parents of those that come next.
func TestListing_remembersTheLastVisits(t *testing.T) {
	const visits = 5 * nearVisits
	var l listing
	for i := range int64(visits) {
		l.rememberHeader(&model.Header{Visit: i + 1, ID: strconv.FormatInt(i+1, 10)})
	}
	if len(l.ids) > 2*nearVisits || len(l.numbers) != len(l.ids) {
		t.Errorf("it remembers %d ids of %d visits", len(l.ids), visits)
	}
	for _, near := range []int64{visits, visits - 1, visits - nearVisits + 1} {
		if id := l.idOf(near); id != strconv.FormatInt(near, 10) {
			t.Errorf("visit %d is %q", near, id)
		}
	}
	if id := l.idOf(1); id != "" {
		t.Errorf("the first visit is still %q", id)
	}
}

// TestListing_looksOnceForWhatIsFar: a visit from which many start, and a reason that is
// not there, are asked for once. The listing has no transaction here in which it could ask.
func TestListing_looksOnceForWhatIsFar(t *testing.T) {
	l := listing{far: map[int64]string{7: "seven", 8: ""}, reasons: map[int64]*model.Reason{noReason: nil}}
	for range 3 {
		h, err := l.completeHeader(t.Context(), visitRow{Header: model.Header{ParentVisit: 7, Orphaned: true}, parentDerived: true, reason: noReason})
		if err != nil || h.ParentID != "seven" || h.Reason != nil {
			t.Fatalf("%+v %v", h, err)
		}
		if id, err := l.lookFor(t.Context(), 8); err != nil || id != "" {
			t.Fatalf("%q %v", id, err)
		}
	}
}
