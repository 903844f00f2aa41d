package sqlite_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"hindcast/model"
	"hindcast/store/sqlite"
)

const mebibyte = 1 << 20

// chunkState gives a JSON string of exactly size bytes that does not compress
// to nothing.
func chunkState(size int) string {
	r := rand.New(rand.NewPCG(uint64(size), 7))
	state := make([]byte, size)
	for i := range state {
		state[i] = 'a' + byte(r.UintN(16))
	}
	state[0], state[size-1] = '"', '"'
	return string(state)
}

func TestState_largeOnesComeBackByteForByteAndPeekQuickly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := sqlite.Create(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeStore(t, s) })
	for _, size := range []int{2, 300, mebibyte - 1, mebibyte, mebibyte + 1, 2 * mebibyte, 2*mebibyte + 1, 3*mebibyte + 12345} {
		state := chunkState(size)
		if err := s.SaveSnapshot(t.Context(), snapshot(t, s, "s", state)); err != nil {
			t.Fatal(err)
		}
		ref := model.Ref{Session: "s", ID: model.SnapshotID([]byte(state))}
		got, err := s.State(t.Context(), ref)
		if err != nil || string(got) != state {
			t.Errorf("a state of %d bytes comes back as %d others, %v", size, len(got), err)
		}
		first, err := s.Peek(t.Context(), ref)
		if err != nil || !bytes.Equal(first, []byte(state)[:min(size, mebibyte)]) {
			t.Errorf("the beginning of a state of %d bytes has %d others, %v", size, len(first), err)
		}
	}
	if _, err := s.Peek(t.Context(), model.Ref{Session: "s", ID: "no such id"}); !errors.Is(err, model.ErrNoSnapshot) {
		t.Errorf("the error for an unknown snapshot is %v", err)
	}
	if _, err := s.Peek(t.Context(), model.Ref{Session: "no such session", ID: "x"}); !errors.Is(err, model.ErrNoSession) {
		t.Errorf("the error for an unknown session is %v", err)
	}
}

func TestState_chunksGoWithTheirState(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := sqlite.Create(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeStore(t, s) })
	for i := range 3 {
		data := &model.Data[json.RawMessage]{State: json.RawMessage(chunkState(2*mebibyte + i))}
		if err := s.Save(t.Context(), "s", data); err != nil {
			t.Fatal(err)
		}
	}
	if n := number(t, path, "SELECT count(*) FROM state_chunks"); n != 2 {
		t.Errorf("%d chunks are stored for one state of two and a bit", n)
	}
}

func TestState_damagedChunks(t *testing.T) {
	state := chunkState(3 * mebibyte)
	for name, statement := range map[string]string{
		"a missing one": "DELETE FROM state_chunks WHERE chunk = 1",
		"one too many":  "INSERT INTO state_chunks SELECT state, 9, encoding, data FROM state_chunks WHERE chunk = 1",
		"other bytes":   "UPDATE state_chunks SET data = zeroblob(40) WHERE chunk = 2",
		"a size":        "UPDATE states SET size = 1 << 29",
	} {
		path := filepath.Join(t.TempDir(), "store.db")
		s, err := sqlite.Create(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.SaveSnapshot(t.Context(), snapshot(t, s, "s", state)); err != nil {
			t.Fatal(err)
		}
		closeStore(t, s)
		execute(t, path, statement)
		s = openStore(t, path)
		if _, err := s.State(t.Context(), model.Ref{Session: "s", ID: model.SnapshotID([]byte(state))}); !errors.Is(err, sqlite.ErrDamagedState) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}
