package native_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"

	"hindcast/model"
	"hindcast/model/jsontape/jsontest"
	"hindcast/store/native"
	"hindcast/store/native/sqlite"
)

// FuzzDamage writes anything into a block or a list: a state that comes back is
// the state, and what does not is said to be damaged. SQLite writes and reads it for each
// case, which takes 2 ms; FuzzBlock is quicker.
func FuzzDamage(f *testing.F) {
	s, err := sqlite.Create(f.Context(), filepath.Join(f.TempDir(), "store.db"))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := s.Close(); err != nil {
			f.Error(err)
		}
	})
	const states = 5 // each case asks SQLite for each of them
	state := jsontest.New(3_000, 1)
	want := map[string][]byte{}
	for i := range states {
		state.Edit(1 + i%3).Step()
		text := state.JSON()
		want[model.SnapshotID(text)] = text
		if err := s.SaveSnapshot(f.Context(), &model.Snapshot[json.RawMessage]{ID: model.SnapshotID(text), SessionID: "s", Index: i, State: text}); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(uint8(0), uint16(3), int64(100), int64(1), []byte("anything"))
	f.Add(uint8(1), uint16(17), int64(20_000), int64(0), []byte{1, 16, 0, 20, 0x80, 0x80, 1})
	f.Add(uint8(2), uint16(0), int64(1<<40), int64(0), []byte{0})
	statements := []string{
		"UPDATE blocks SET size = ?1, encoding = ?2, data = ?3 WHERE place = (SELECT place FROM blocks ORDER BY place LIMIT 1 OFFSET ?4 % (SELECT count(*) FROM blocks))",
		"UPDATE states SET size = ?1, draft = nullif(?2, 0), list = ?3 WHERE state = 1 + ?4 % 5",
		"UPDATE blocks SET place = ?1, encoding = ?2, data = ?3 WHERE place = (SELECT place FROM blocks ORDER BY place LIMIT 1 OFFSET ?4 % (SELECT count(*) FROM blocks))",
		"INSERT INTO blocks (place, size, encoding, data) SELECT ?1, length(?3), ?2, ?3 WHERE ?1 NOT IN (SELECT place FROM blocks) AND ?4 >= 0",
	}
	undo := errors.New("take it back")
	f.Fuzz(func(t *testing.T, which uint8, row uint16, size, encoding int64, data []byte) {
		err := s.Change(context.Background(), func(tx *native.Transaction) error {
			if err := tx.Exec(context.Background(), statements[int(which)%len(statements)], size, encoding, append([]byte{}, data...), row); err != nil {
				return nil // a place that is taken
			}
			for id, text := range want {
				got, err := s.Look(context.Background(), tx, id)
				if err == nil && !bytes.Equal(got, text) || err != nil && !errors.Is(err, native.ErrDamagedState) {
					t.Errorf("%.8s: %d bytes, %v", id, len(got), err)
				}
			}
			if err := s.CheckStates(context.Background(), tx); err != nil {
				t.Error(err)
			}
			return undo
		})
		if err != nil && !errors.Is(err, undo) {
			t.Error(err)
		}
	})
}
