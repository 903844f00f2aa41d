package sqlite

import (
	"database/sql"
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"strconv"
	"testing"

	"hindcast/model"
	"hindcast/store/sqlitefile"
)

// TestListing_remembersTheLastVisits: what a listing keeps of the visits that it has given
// on is bounded, and has the parents of those that come next.
func TestListing_remembersTheLastVisits(t *testing.T) {
	const visits = 5 * nearVisits
	var l listing
	for i := range int64(visits) {
		l.remember(&model.Header{Visit: i + 1, ID: strconv.FormatInt(i+1, 10)})
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
		h, err := l.complete(t.Context(), visitRow{Header: model.Header{ParentVisit: 7, Orphaned: true}, parentDerived: true, reason: noReason})
		if err != nil || h.ParentID != "seven" || h.Reason != nil {
			t.Fatalf("%+v %v", h, err)
		}
		if id, err := l.lookFor(t.Context(), 8); err != nil || id != "" {
			t.Fatalf("%q %v", id, err)
		}
	}
}

// TestListing_endsWhereNobodyReadsOn: also where the pages end too early, and SQLite would
// read on.
func TestListing_endsWhereNobodyReadsOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := Create(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i, state := range []string{`{"n":1}`, `{"n":2}`, `{"n":3}`} {
		if err := s.SaveSnapshot(t.Context(), &model.Snapshot[json.RawMessage]{ID: model.SnapshotID([]byte(state)), SessionID: "s", Index: i, State: json.RawMessage(state)}); err != nil {
			t.Fatal(err)
		}
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "UPDATE visits SET extra = '{' WHERE idx = 2"); err != nil {
		t.Fatal(err)
	}
	handed := 0
	err = s.read(t.Context(), func(tx *tx) error {
		ss, err := find(t.Context(), tx, "s")
		if err != nil {
			return err
		}
		l := listing{tx: tx, session: ss, reasons: map[int64]*model.Reason{}}
		_, err = l.cut(t.Context(), math.MinInt64, func(batch []model.Header) error {
			handed += len(batch)
			return errStopped
		})
		return err
	})
	if handed != 2 || !errors.Is(err, errStopped) || errors.Is(err, sqlitefile.ErrPages) {
		t.Errorf("%d headers, %v", handed, err)
	}
}
