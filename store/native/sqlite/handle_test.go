package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store/media/sqlitefile"
	"hindcast/store/storetest"
)

// two makes a store with one session of two snapshots, and plans to restore
// the first.
func two(t *testing.T) (*Store, model.Plan) {
	t.Helper()
	s, err := Create(t.Context(), filepath.Join(t.TempDir(), "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	for i, state := range []string{"1", "2"} {
		err := s.SaveSnapshot(t.Context(), &model.Snapshot[json.RawMessage]{ID: model.SnapshotID([]byte(state)), SessionID: "s", Index: i, State: json.RawMessage(state)})
		if err != nil {
			t.Fatal(err)
		}
	}
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "s", ID: model.SnapshotID([]byte("1"))}})
	if err != nil {
		t.Fatal(err)
	}
	return s, plan
}

// anotherWriter begins to write to the file of a store. What it wrote is taken
// back when it is done.
func anotherWriter(t *testing.T, s *Store) (done func()) {
	t.Helper()
	db, err := sql.Open("sqlite", s.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	other, err := db.BeginTx(t.Context(), nil)
	if err == nil {
		_, err = other.ExecContext(t.Context(), "UPDATE sessions SET updated = 1")
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := other.Rollback(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestUpdate_anotherWriterIsNamed(t *testing.T) {
	s, plan := two(t)
	before := storetest.Dump(t, s)
	done := anotherWriter(t, s)
	// The same store, with less patience.
	hasty := newStoreOf(s.Address(), sqlitefile.NewOwn(s.Address(), "&_pragma=busy_timeout(1)&_pragma=foreign_keys(1)", checkStore), nil)
	defer hasty.Close()
	if _, err := hasty.Apply(t.Context(), plan); !errors.Is(err, sqlitefile.ErrBusy) {
		t.Errorf("while another program writes: %v", err)
	}
	done()
	if after := storetest.Dump(t, s); after != before {
		t.Errorf("the store holds\n%s\nwant\n%s", after, before)
	}
	if _, err := hasty.Apply(t.Context(), plan); err != nil {
		t.Errorf("when it is done: %v", err)
	}
}

// TestChange_contextEndsTheWaitForAnotherWriter: nothing is written, and the
// store goes on when the other writer is done.
func TestChange_contextEndsTheWaitForAnotherWriter(t *testing.T) {
	s, plan := two(t)
	before := storetest.Dump(t, s)
	done := anotherWriter(t, s)
	// Its patience is five seconds.
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := s.Apply(ctx, plan)
	if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took > 3*time.Second {
		t.Errorf("after %v: %v", took, err)
	}
	done()
	if after := storetest.Dump(t, s); after != before {
		t.Errorf("the store holds\n%s\nwant\n%s", after, before)
	}
	if _, err := s.Apply(t.Context(), plan); err != nil {
		t.Error(err)
	}
}
