package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hindcast/model"
)

// underWay makes a store of version 1 with 5,000 states and saves into it, with
// a context that can be cancelled. It comes back when the migration has begun.
func underWay(t *testing.T) (s *Store, cancel context.CancelFunc, saved <-chan error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	db, err := open(path, "mode=rwc&_pragma=synchronous(0)")
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range append(statements(oldSchemaSQL),
		fmt.Sprintf("PRAGMA application_id = %d", applicationID), "PRAGMA user_version = 1",
		`WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 5000)
			INSERT INTO states SELECT n, randomblob(32), length(n), 0, CAST(n AS BLOB) FROM n`,
		"INSERT INTO sessions (session, id, revision, visits) VALUES (1, 's', 1, 5000)",
		"INSERT INTO visits (session, visit, id, idx, turn, event, state, size) SELECT 1, state, 'snapshot ' || state, state, state, 0, state, size FROM states") {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	done := make(chan error, 1)
	go func() { done <- s.Save(ctx, "new", &model.Data[json.RawMessage]{State: json.RawMessage("1")}) }()
	for begun := false; !begun; {
		select {
		case err := <-done:
			t.Fatalf("it was saved without a migration: %v", err)
		case <-time.After(100 * time.Microsecond):
		}
		s.mu.Lock()
		begun = s.stop != nil
		s.mu.Unlock()
	}
	return s, cancel, done
}

// versionAndStates gives the version of the store and how many states can be read.
func versionAndStates(t *testing.T, s *Store) (version int64, states int) {
	t.Helper()
	err := s.read(t.Context(), func(tx *tx) (err error) {
		if version, err = versionOf(t.Context(), tx); err != nil {
			return err
		}
		states = 0
		for key := range int64(5000) {
			if _, err := s.states.get(t.Context(), tx, key+1); err != nil {
				return err
			}
			states++
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return version, states
}

func TestMigrate_goesOnWhenTheContextEnds(t *testing.T) {
	s, cancel, saved := underWay(t)
	defer s.Close()
	cancel()
	if err := <-saved; !errors.Is(err, context.Canceled) {
		t.Fatalf("the save that began it: %v", err)
	}
	s.migration.Wait()
	if version, states := versionAndStates(t, s); version != schemaVersion || states != 5000 {
		t.Errorf("%d states, version %d", states, version)
	}
	if err := s.Save(t.Context(), "new", &model.Data[json.RawMessage]{State: json.RawMessage("1")}); err != nil {
		t.Errorf("the next save: %v", err)
	}
}

func TestMigrate_closeTakesItBack(t *testing.T) {
	s, _, saved := underWay(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-saved; err == nil {
		t.Error("the save that began it says nothing")
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if _, err := os.Stat(s.file + suffix); err == nil {
			t.Errorf("%s was not tidied up", suffix)
		}
	}
	again, err := Open(t.Context(), s.path)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if version, states := versionAndStates(t, again); version != oldVersion || states != 5000 {
		t.Errorf("%d states, version %d", states, version)
	}
}
