package query_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"pgregory.net/rapid"

	"hindcast/model"
	"hindcast/query"
	"hindcast/store"
	"hindcast/store/storetest/skip"
)

// ropedRows is a store of one session whose states are runs of one text, and which counts what it is
// asked for.
type ropedRows struct {
	store.Store
	text   []byte
	ropes  [][]store.Run
	broken map[int]bool // of these it cannot tell runs

	states, asked int
	filled        int64
}

func (r *ropedRows) Features() store.Features {
	return store.Features{Ropes: r.Ropes, Fill: r.Fill}
}

func (r *ropedRows) Sessions(context.Context) iter.Seq2[model.SessionInfo, error] {
	return func(yield func(model.SessionInfo, error) bool) { yield(model.SessionInfo{ID: "s"}, nil) }
}

func (r *ropedRows) Headers(context.Context, string) iter.Seq2[model.Header, error] {
	return func(yield func(model.Header, error) bool) {
		for i := range r.ropes {
			if !yield(model.Header{ID: fmt.Sprint(i), SessionID: "s", Index: i}, nil) {
				return
			}
		}
	}
}

func (r *ropedRows) state(id string) (state []byte) {
	var i int
	fmt.Sscan(id, &i)
	for _, run := range r.ropes[i] {
		state = append(state, r.text[run.At:run.At+run.Len]...)
	}
	return state
}

func (r *ropedRows) State(_ context.Context, ref model.Ref) ([]byte, error) {
	r.states++
	return r.state(ref.ID), nil
}

func (r *ropedRows) Ropes(_ context.Context, refs []model.Ref) iter.Seq2[store.Rope, error] {
	r.asked++
	return func(yield func(store.Rope, error) bool) {
		for _, ref := range refs {
			var i int
			fmt.Sscan(ref.ID, &i)
			rope := store.Rope{Runs: r.ropes[i]}
			if r.broken[i] {
				rope = store.Rope{Err: errors.New("damaged")}
			}
			if !yield(rope, nil) {
				return
			}
		}
	}
}

func (r *ropedRows) Fill(_ context.Context, runs []store.Run, dst []byte) error {
	for _, run := range runs {
		r.filled += run.Len
		dst = dst[copy(dst, r.text[run.At:run.At+run.Len]):]
	}
	return nil
}

// Whatever runs states are made of, each row has its state; one that the store cannot tell in
// runs is read by itself.
func TestRows_ofRopes(t *testing.T) {
	skip.Sequential(t)
	rapid.Check(t, func(t *rapid.T) {
		s := &ropedRows{text: []byte("0123456789abcdefghijklmnopqrstuvwxyz"), broken: map[int]bool{}}
		for i := range rapid.IntRange(1, 9).Draw(t, "states") {
			var runs []store.Run
			for range rapid.IntRange(1, 6).Draw(t, "runs") {
				at := rapid.Int64Range(0, int64(len(s.text))-1).Draw(t, "at")
				runs = append(runs, store.Run{At: at, Len: rapid.Int64Range(1, int64(len(s.text))-at).Draw(t, "len")})
			}
			s.ropes = append(s.ropes, runs)
			s.broken[i] = rapid.IntRange(0, 5).Draw(t, "broken") == 0
		}
		i := 0
		for row, err := range query.Rows(context.Background(), s) {
			if want := s.state(fmt.Sprint(i)); err != nil || !bytes.Equal(row.State, want) {
				t.Fatalf("row %d has %q, %v, and not %q", i, row.State, err, want)
			}
			i++
		}
		broken := 0
		for _, is := range s.broken {
			if is {
				broken++
			}
		}
		if i != len(s.ropes) || s.states != broken || s.asked != 1 {
			t.Fatalf("%d rows of %d, %d states read one by one, and %d are damaged; ropes were asked for %d times", i, len(s.ropes), s.states, broken, s.asked)
		}
	})
}

// An export reads what each state adds, once, whatever its states have in common.
func TestRows_readWhatIsNew(t *testing.T) {
	skip.Sequential(t)
	const n, added = 5_000, 100
	s := &ropedRows{text: bytes.Repeat([]byte("x"), n*added)}
	for i := range n {
		s.ropes = append(s.ropes, []store.Run{{At: 0, Len: int64(i+1) * added}})
	}
	rows := 0
	for _, err := range query.Rows(t.Context(), s) {
		if err != nil {
			t.Fatal(err)
		}
		rows++
	}
	if rows != n || s.states != 0 || s.asked > 6 || s.filled != n*added {
		t.Errorf("%d rows: %d bytes read of %d, in %d batches, %d states by themselves", rows, s.filled, len(s.text), s.asked, s.states)
	}
}
