package typed_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/native/typed"
	"hindcast/store/storetest/fake"
)

type chat struct {
	Messages []string `json:"messages"`
	Total    float64  `json:"total,omitempty"`
}

func snapshotOf(t *testing.T, session string, state chat) *model.Snapshot[chat] {
	t.Helper()
	text, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	return &model.Snapshot[chat]{
		ID: model.SnapshotID(text), ParentID: "p", SessionID: session, CreatedAt: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
		State: state, Index: 3, TurnIndex: 2, Event: model.SnapshotEventInvocationEnd,
	}
}

func TestOf_keepsAnyState(t *testing.T) {
	raw := fake.New()
	s := typed.Of[chat](raw)
	// What encoding/json escapes is part of the bytes that are hashed.
	want := snapshotOf(t, "s", chat{Messages: []string{"<a&b>", "é"}, Total: 120.5})
	if err := s.SaveSnapshot(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	data := &model.Data[chat]{ID: "s", State: chat{Messages: []string{"working"}}, LastSnapshot: want, TurnIndex: 9}
	if err := s.Save(t.Context(), "s", data); err != nil {
		t.Fatal(err)
	}
	text, err := raw.State(t.Context(), model.Ref{Session: "s", ID: want.ID})
	if err != nil || string(text) != `{"messages":["\u003ca\u0026b\u003e","é"],"total":120.5}` {
		t.Errorf("the bytes are %s, %v", text, err)
	}
	same := func(name string, got *model.Snapshot[chat], err error) {
		t.Helper()
		if err != nil || got == nil || got.ID != want.ID || got.ParentID != "p" || got.SessionID != "s" || !got.CreatedAt.Equal(want.CreatedAt) ||
			got.Index != 3 || got.TurnIndex != 2 || got.Event != want.Event || got.State.Total != 120.5 || len(got.State.Messages) != 2 {
			t.Errorf("%s gives %+v, %v", name, got, err)
		}
	}
	got, err := s.GetSnapshot(t.Context(), want.ID)
	same("GetSnapshot", got, err)
	got, err = s.GetSnapshotIn(t.Context(), "s", want.ID)
	same("GetSnapshotIn", got, err)
	list, err := s.ListSnapshots(t.Context(), "s", false)
	if len(list) != 1 {
		t.Fatalf("%d snapshots, %v", len(list), err)
	}
	same("ListSnapshots", list[0], err)
	loaded, err := s.Get(t.Context(), "s")
	if err != nil || loaded.ID != "s" || loaded.TurnIndex != 9 || loaded.State.Messages[0] != "working" {
		t.Errorf("the record is %+v, %v", loaded, err)
	}
	same("Get", loaded.LastSnapshot, err)
	if err := s.InvalidateSnapshotsAfter(t.Context(), "s", 0); err != nil {
		t.Fatal(err)
	}
	if list, err = s.ListSnapshots(t.Context(), "s", false); len(list) != 0 || err != nil {
		t.Errorf("%d snapshots are active, %v", len(list), err)
	}
	if list, err = s.ListSnapshots(t.Context(), "s", true); len(list) != 1 || !list[0].Orphaned || err != nil {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestOf_nothingThere(t *testing.T) {
	s := typed.Of[chat](fake.New())
	if data, err := s.Get(t.Context(), "none"); data != nil || err != nil {
		t.Errorf("%+v, %v", data, err)
	}
	if got, err := s.GetSnapshot(t.Context(), "none"); got != nil || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := s.GetSnapshotIn(t.Context(), "none", "none"); got != nil || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestOf_errors(t *testing.T) {
	raw := fake.New()
	s := typed.Of[chat](raw)
	wrong := snapshotOf(t, "s", chat{})
	wrong.ID = "0000"
	if err := s.SaveSnapshot(t.Context(), wrong); !errors.Is(err, store.ErrIDMismatch) {
		t.Errorf("an id that is not the hash: %v", err)
	}
	odd := snapshotOf(t, "s", chat{})
	odd.State.Total = math.Inf(1)
	for name, err := range map[string]error{
		"a snapshot":          s.SaveSnapshot(t.Context(), odd),
		"a record":            s.Save(t.Context(), "s", &model.Data[chat]{State: odd.State}),
		"a record's snapshot": s.Save(t.Context(), "s", &model.Data[chat]{LastSnapshot: odd}),
	} {
		if unsupported := (*json.UnsupportedValueError)(nil); !errors.As(err, &unsupported) || !strings.Contains(err.Error(), `"s"`) {
			t.Errorf("%s that JSON cannot write: %v", name, err)
		}
	}
	if s.SaveSnapshot(t.Context(), nil) == nil || s.Save(t.Context(), "s", nil) == nil {
		t.Error("nothing at all is saved")
	}
	// A state of another shape.
	text := json.RawMessage(`{"messages":7}`)
	other := &model.Snapshot[json.RawMessage]{ID: model.SnapshotID(text), SessionID: "other", State: text}
	if err := raw.SaveSnapshot(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if err := raw.Save(t.Context(), "other", &model.Data[json.RawMessage]{State: text}); err != nil {
		t.Fatal(err)
	}
	_, getErr := s.Get(t.Context(), "other")
	_, snapshotErr := s.GetSnapshot(t.Context(), other.ID)
	_, inErr := s.GetSnapshotIn(t.Context(), "other", other.ID)
	_, listErr := s.ListSnapshots(t.Context(), "other", true)
	for _, err := range []error{getErr, snapshotErr, inErr, listErr} {
		if shape := (*json.UnmarshalTypeError)(nil); !errors.As(err, &shape) || !strings.Contains(err.Error(), `"other"`) {
			t.Errorf("a state of another shape: %v", err)
		}
	}
}

func TestOf_isLayered(t *testing.T) {
	raw := fake.New()
	if l, ok := typed.Of[chat](raw).(typed.Layered); !ok || l.Raw() != typed.Scoped[json.RawMessage](raw) {
		t.Error("the store beneath is lost")
	}
}
