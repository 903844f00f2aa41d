package sqlite_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/native/sqlite"
	"hindcast/store/storetest"
	"hindcast/store/storetest/fake"
	"hindcast/store/storetest/skip"
)

// TestImport_ofManyRows imports rows of several sessions in two parts, more than are
// taken in at once: visits of snapshots that are there, states that another session has,
// parts that are in many, parents long ago. What comes of it is what a store makes of
// them that takes each by itself, and nothing in the file is damaged.
func TestImport_ofManyRows(t *testing.T) {
	skip.Sequential(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for i := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, i))
		rows := manyRows(r)
		s, err := sqlite.Create(t.Context(), filepath.Join(t.TempDir(), "store.db"))
		if err != nil {
			t.Fatal(err)
		}
		want := fake.New()
		cut := r.IntN(len(rows))
		for _, part := range [][]store.Row{rows[:cut], rows[cut:], rows} { // the last is there already
			n, err := s.Import(t.Context(), seq(part))
			expected, failed := want.Import(t.Context(), seq(part))
			if err != nil || failed != nil || n != expected {
				t.Fatalf("%d rows %v, and %d %v", n, err, expected, failed)
			}
		}
		for _, info := range storetest.Sessions(t, want) {
			a, b := storetest.Headers(t, want, info.ID), storetest.Headers(t, s, info.ID)
			if len(a) != len(b) {
				t.Fatalf("session %s has %d visits instead of %d", info.ID, len(b), len(a))
			}
			for i := range a {
				if !reflect.DeepEqual(a[i], b[i]) {
					t.Fatalf("%+v\nis\n%+v", a[i], b[i])
				}
				wanted, err := want.State(t.Context(), a[i].Ref())
				got, failed := s.State(t.Context(), b[i].Ref())
				if err != nil || failed != nil || !bytes.Equal(wanted, got) {
					t.Fatalf("state %s: %v %v, %.80q instead of %.80q", a[i].ID, err, failed, got, wanted)
				}
			}
		}
		if faults, err := s.Faults(t.Context(), ""); err != nil || len(faults) > 0 {
			t.Fatalf("%v %v", faults, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func seq(rows []store.Row) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}

// manyRows draws some runs of rows, each of one session.
func manyRows(r *rand.Rand) (rows []store.Row) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var states [][]byte
	visits := map[string][]model.Header{}
	for range 1 + r.IntN(5) {
		session := string(rune('a' + r.IntN(3)))
		for range []int{1, 20, 255, 256, 257, 600}[r.IntN(6)] {
			have := visits[session]
			at = at.Add(time.Second)
			h := model.Header{SessionID: session, CreatedAt: at, Index: len(have), Visit: int64(len(have) + 1)}
			if len(have) > 0 {
				parent := &have[max(0, len(have)-1-r.IntN(3)*r.IntN(400))]
				h.ParentID, h.ParentVisit = parent.ID, parent.Visit
			}
			row := store.Row{State: []byte(fmt.Sprintf(`{"n":%d,"said":[%s]}`, len(states), said(r)))}
			switch again := r.IntN(20); {
			case again == 0 && len(have) > 0: // the same snapshot, once more
				h.ID, row.State = have[r.IntN(len(have))].ID, nil
			case again == 1 && len(states) > 0:
				row.State = states[r.IntN(len(states))]
				h.ID = model.SnapshotID(row.State)
			default:
				h.ID = model.SnapshotID(row.State)
				states = append(states, row.State)
			}
			row.Header = h
			visits[session] = append(have, h)
			rows = append(rows, row)
		}
	}
	return rows
}

// said is the messages of a state; some are large, and in many states.
func said(r *rand.Rand) string {
	list := make([]string, r.IntN(8))
	for i := range list {
		list[i] = fmt.Sprintf(`"%d %s"`, r.IntN(30), strings.Repeat("x", r.IntN(3)*600))
	}
	return strings.Join(list, ",")
}

// TestImport_orphansOfNoReasonTakeNoStatementEach: that nothing tells why visits are off
// the path is noted once. What is allocated tells how many statements ran.
func TestImport_orphansOfNoReasonTakeNoStatementEach(t *testing.T) {
	skip.Sequential(t)
	const count = 2_000
	taking := func(orphaned bool) uint64 {
		s, _ := newStore(t)
		rows := func(yield func(store.Row, error) bool) {
			for i := range count {
				state := fmt.Appendf(nil, `{"n":%d}`, i)
				h := model.Header{ID: model.SnapshotID(state), SessionID: "s", Index: i, Visit: int64(i + 1), Orphaned: orphaned}
				if !yield(store.Row{Header: h, State: state}, nil) {
					return
				}
			}
		}
		return allocated(t, func() {
			if n, err := s.Import(t.Context(), rows); err != nil || n != count {
				t.Fatal(n, err)
			}
		})
	}
	if active, orphaned := taking(false), taking(true); 10*orphaned > 11*active {
		t.Errorf("%d orphaned visits take %d allocations, active ones %d", count, orphaned, active)
	}
}

// TestImport_startsNoGoroutineAStatement: what can be cancelled would start one each, and
// they are seen in what is allocated.
func TestImport_startsNoGoroutineAStatement(t *testing.T) {
	skip.Sequential(t)
	const count = 2_000
	var rows []store.Row
	for row := range storetest.Grow("s", count, 100) {
		rows = append(rows, row)
	}
	taking := func(ctx context.Context) uint64 {
		s, _ := newStore(t)
		return allocated(t, func() {
			if n, err := s.Import(ctx, seq(rows)); err != nil || n != count {
				t.Fatal(n, err)
			}
		})
	}
	if can, cannot := taking(t.Context()), taking(context.WithoutCancel(t.Context())); 10*can > 11*cannot {
		t.Errorf("%d rows take %d allocations if the import can be cancelled, else %d", count, can, cannot)
	}
}
