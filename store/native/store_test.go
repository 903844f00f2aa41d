package native_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"

	"hindcast/model"
	"hindcast/model/jsontape/jsontest"
	"hindcast/store/native"
	"hindcast/store/native/sqlite"
	"hindcast/store/storetest"
)

// newStore makes a store with one session of a snapshot for each state.
func newStore(t *testing.T, states ...string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Create(t.Context(), filepath.Join(t.TempDir(), "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	for i, state := range states {
		err := s.SaveSnapshot(t.Context(), &model.Snapshot[json.RawMessage]{ID: model.SnapshotID([]byte(state)), SessionID: "s", Index: i, State: json.RawMessage(state)})
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// TestApply_whatDoesNotReadBackIsNotKept: the write goes wrong behind the
// plan's back, is found out by reading back, and leaves no trace.
func TestApply_whatDoesNotReadBackIsNotKept(t *testing.T) {
	s := newStore(t, "1", "2")
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "s", ID: model.SnapshotID([]byte("1"))}})
	if err != nil {
		t.Fatal(err)
	}
	before := storetest.Dump(t, s)
	for name, sabotage := range map[string]string{
		"head":       "UPDATE sessions SET head = 2",
		"orphan":     "UPDATE visits SET reason = NULL",
		"visits":     "DELETE FROM visits WHERE visit = 2",
		"state":      "UPDATE sessions SET record_state = (SELECT max(state) FROM states)",
		"no session": "UPDATE sessions SET id = 'other'",
	} {
		err := s.Sabotage(t.Context(), plan, sabotage)
		if !errors.Is(err, native.ErrReadBack) && !errors.Is(err, model.ErrNoSession) {
			t.Errorf("%s: %v", name, err)
		}
		if after := storetest.Dump(t, s); after != before {
			t.Errorf("%s: the store holds\n%s\nwant\n%s", name, after, before)
		}
	}
	if journal, err := s.Journal(t.Context()); err != nil || len(journal) != 0 {
		t.Errorf("the journal is %+v, %v", journal, err)
	}
}

// TestStates_readsWhatBothHaveOnce: two neighbours are read as quickly as one of them.
func TestStates_readsWhatBothHaveOnce(t *testing.T) {
	state := jsontest.New(4_000_000, 3)
	before := state.JSON()
	state.Step()
	after := state.JSON()
	s := newStore(t, string(before), string(after))
	first, second := model.Ref{Session: "s", ID: model.SnapshotID(before)}, model.Ref{Session: "s", ID: model.SnapshotID(after)}
	one := s.RowsRead(func() {
		if _, err := s.State(t.Context(), second); err != nil {
			t.Fatal(err)
		}
	})
	both := s.RowsRead(func() {
		x, y, err := s.States(t.Context(), first, second)
		if err != nil || !bytes.Equal(x, before) || !bytes.Equal(y, after) {
			t.Fatal("they are other states", err)
		}
	})
	if one < 20 || 4*both > 5*one {
		t.Errorf("%d rows for both, %d for one", both, one)
	}
}

// TestListing_endsWhereNobodyReadsOn: the rows before a damaged one are handed on, and its
// error is not told to whoever wants no more.
func TestListing_endsWhereNobodyReadsOn(t *testing.T) {
	s := newStore(t, `{"n":1}`, `{"n":2}`, `{"n":3}`)
	err := s.Change(t.Context(), func(tx *native.Transaction) error {
		return tx.Exec(t.Context(), "UPDATE visits SET extra = '{' WHERE idx = 2")
	})
	if err != nil {
		t.Fatal(err)
	}
	handed := 0
	err = s.All(t.Context(), "s", func(batch []model.Header) error {
		handed += len(batch)
		return native.ErrStopped
	})
	if handed != 2 || !errors.Is(err, native.ErrStopped) {
		t.Errorf("%d headers, %v", handed, err)
	}
}
