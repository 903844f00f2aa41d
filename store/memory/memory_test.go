package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"

	"hindcast/model"
)

func TestSmoke(t *testing.T) {
	s := New()
	prev := ""
	for i, st := range []string{`{"n":1}`, `{"n":2}`, `{"n":3}`} {
		sum := sha256.Sum256([]byte(st))
		id := hex.EncodeToString(sum[:])
		if err := s.SaveSnapshot(t.Context(), &model.Snapshot[json.RawMessage]{ID: id, ParentID: prev, SessionID: "s", Index: i, State: json.RawMessage(st)}); err != nil {
			t.Fatal(err)
		}
		prev = id
	}
	h, _, _ := s.Tail(t.Context(), "s", 10)
	p, err := s.PlanRestore(t.Context(), h[0].Ref())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", p)
	r, err := s.Apply(t.Context(), p)
	t.Log(r, err)
	u, err := s.PlanUndo(t.Context())
	t.Logf("%+v %v", u, err)
	r, err = s.Apply(t.Context(), u)
	t.Log(r, err)
	h, _, _ = s.Tail(t.Context(), "s", 10)
	t.Logf("%+v", h)
}
