package mapped_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/kinds/jsonl"
	"hindcast/store/kinds/mapped"
	"hindcast/store/storetest/fake"
)

// seed is the map that reads the names of the seed.
const seed = "session=sessionId,id=id,parent=parentId,state=state,time=createdAt,index=index,turn=turnIndex,event=event,orphaned=orphaned,head=head,title=title"

// What export wrote is imported by a map as it is without one, but for what no
// map has a word for: why a snapshot is orphaned, and which visit of its parent
// it follows.
func TestRead_ofAnExportIsTheImportOfIt(t *testing.T) {
	m := parse(t, seed)
	rapid.Check(t, func(r *rapid.T) {
		var export bytes.Buffer
		if _, err := jsonl.WriteWhole(&export, store.Rows(t.Context(), lived(t, r))); err != nil {
			r.Fatal(err)
		}
		plain, byMap := fake.New(), fake.New()
		n, err := plain.Import(t.Context(), jsonl.Read(bytes.NewReader(export.Bytes())))
		if err != nil {
			r.Fatal(err)
		}
		k, err := byMap.Import(t.Context(), mapped.Read(t.Context(), []mapped.Source{{Path: "x.jsonl", In: &export}}, m, nil))
		if err != nil || k != n {
			r.Fatalf("%d rows, %v; want %d", k, err, n)
		}
		want, have := all(t, plain), all(t, byMap)
		for i := range want {
			want[i].Header.Reason, have[i].Header.Reason = nil, nil
			want[i].Header.ParentVisit, have[i].Header.ParentVisit = 0, 0
			if !reflect.DeepEqual(want[i], have[i]) {
				r.Fatalf("row %d is\n%+v, want\n%+v", i, have[i], want[i])
			}
		}
	})
}

func all(t *testing.T, s store.Store) []store.Row {
	t.Helper()
	var rows []store.Row
	for row, err := range store.Rows(t.Context(), s) {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

// lived returns a store in which something happened: snapshots, some of them the
// same as before, of two sessions, and restores as the seed does them.
func lived(t *testing.T, r *rapid.T) *fake.Store {
	s := fake.New()
	ids := map[string][]string{}
	second := 0
	for range rapid.IntRange(1, 12).Draw(r, "steps") {
		session := rapid.SampledFrom([]string{"s", "t, 'x'"}).Draw(r, "session")
		if len(ids[session]) > 0 && rapid.IntRange(0, 5).Draw(r, "what") == 0 {
			if err := s.InvalidateSnapshotsAfter(t.Context(), session, rapid.IntRange(0, 6).Draw(r, "after")); err != nil {
				r.Fatal(err)
			}
			continue
		}
		state := fmt.Appendf(nil, `{"messages":[{"role":"user","content":[{"text":"%d\n"}]}],"big":12345678901234567890}`, rapid.IntRange(0, 5).Draw(r, "state"))
		second++
		snapshot := &model.Snapshot[json.RawMessage]{
			ID: model.SnapshotID(state), SessionID: session, State: state, CreatedAt: time.Unix(1740823200+int64(second), 5).UTC(),
			Index: rapid.IntRange(0, 6).Draw(r, "index"), TurnIndex: rapid.IntRange(0, 3).Draw(r, "turn"), Event: model.SnapshotEvent(rapid.IntRange(0, 3).Draw(r, "event")),
		}
		if known := ids[session]; len(known) > 0 {
			snapshot.ParentID = rapid.SampledFrom(append([]string{""}, known...)).Draw(r, "parent")
		}
		if err := s.SaveSnapshot(t.Context(), snapshot); err != nil {
			r.Fatal(err)
		}
		ids[session] = append(ids[session], snapshot.ID)
	}
	return s
}
