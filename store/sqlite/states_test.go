package sqlite_test

import (
	"bytes"
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
