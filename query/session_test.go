package query_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/query"
	"hindcast/store"
	"hindcast/store/storetest/skip"
)

// strung is a past that knows which bytes its states share.
type strung struct {
	*past
	text string
	runs map[string][]store.Run
	// asked counts the states that were asked for, fills and filled how often bytes were
	// read and how many.
	asked, fills, filled int
	// broken is a byte that cannot be read; none below 0.
	broken int64
}

// strungOf cuts the states of a past at random into runs, each at the first place where
// its bytes are: runs lie over each other, and end within numbers, keys and escapes.
func strungOf(p *past, r *rand.Rand) *strung {
	s := &strung{past: p, runs: map[string][]store.Run{}, broken: -1}
	for _, h := range p.headers {
		if s.runs[h.ID] != nil {
			continue
		}
		most := 1 + r.IntN(24)
		for state := p.states[h.ID]; state != ""; {
			n := min(1+r.IntN(most), len(state))
			at := strings.Index(s.text, state[:n])
			if at < 0 {
				at, s.text = len(s.text), s.text+state[:n]
			}
			s.runs[h.ID] = append(s.runs[h.ID], store.Run{At: int64(at), Len: int64(n)})
			state = state[n:]
		}
	}
	return s
}

func (s *strung) Features() store.Features {
	f := s.past.Features()
	f.Ropes, f.Fill = s.Ropes, s.Fill
	return f
}

func (s *strung) State(context.Context, model.Ref) ([]byte, error) {
	return nil, errors.New("no question makes a state")
}

func (s *strung) Ropes(ctx context.Context, refs []model.Ref) iter.Seq2[store.Rope, error] {
	return func(yield func(store.Rope, error) bool) {
		for _, ref := range refs {
			s.asked++
			rope := store.Rope{Runs: s.runs[ref.ID], Gaps: s.gaps[ref.ID]}
			if rope.Runs == nil {
				rope.Err = model.ErrNoSnapshot
			}
			if !yield(rope, nil) {
				return
			}
		}
	}
}

func (s *strung) Fill(_ context.Context, runs []store.Run, dst []byte) error {
	s.fills++
	for _, run := range runs {
		if run.At <= s.broken && s.broken < run.At+run.Len {
			return errors.New("bad block")
		}
		s.filled += copy(dst[:run.Len], s.text[run.At:])
		dst = dst[run.Len:]
	}
	return nil
}

// grown returns a past of 1,000 states that each add to the one before.
func grown() *past {
	lines := []string{`v0 - {"x":[0],"y":0}`}
	list := "0"
	for i := 1; i < 1000; i++ {
		list += fmt.Sprint(",", i)
		lines = append(lines, fmt.Sprintf(`v%d v%d {"x":[%s],"y":%d}`, i, i-1, list, i/500))
	}
	return pastOf(lines...)
}

// The text that states share is read once, whatever is asked and however often.
func TestSession_readsTextOnce(t *testing.T) {
	skip.Sequential(t)
	p := grown()
	s := strungOf(p, rand.New(rand.NewPCG(1, 1)))
	tl := model.NewTimeline(p.headers)
	q := query.Open(s, tl)
	for pointer, want := range map[string][]string{
		"/x/0":   {"#0 nothing → 0"},
		"/x/700": {"#700 nothing → 700"},
		"/x/-":   nil,
		"/y":     {"#0 nothing → 0", "#500 0 → 1"},
	} {
		if got := told(t, q.History(t.Context(), pathOf(t, pointer)), tl); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q", pointer, got)
		}
	}
	if s.asked != len(p.headers) || s.filled > len(s.text) || s.fills > 10 {
		t.Errorf("%d states were asked for, %d of %d bytes were read in %d goes", s.asked, s.filled, len(s.text), s.fills)
	}
}

func pathOf(t *testing.T, pointer string) query.Path {
	t.Helper()
	path, err := query.ParsePath(pointer)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Bytes that cannot be read keep the states from being read that have them, and no others.
func TestSession_readsAroundDamage(t *testing.T) {
	p := pastOf(`a - {"x":1}`, `b a {"x":2}`, `c b {"x":3,"broken":"§"}`, `d c {"x":4}`)
	s := strungOf(p, rand.New(rand.NewPCG(1, 1)))
	s.broken = int64(strings.Index(s.text, "§"))
	tl := model.NewTimeline(p.headers)
	q := query.Open(s, tl)
	var got []string
	var failed error
	for c, err := range q.History(t.Context(), pathOf(t, "/x")) {
		if failed = err; err == nil {
			got = append(got, string(c.New))
		}
	}
	if !reflect.DeepEqual(got, []string{"1", "2"}) || failed == nil || !strings.Contains(failed.Error(), "#2") {
		t.Errorf("%q, %v", got, failed)
	}
	s.broken = -1 // what could not be read is read again
	if got := told(t, q.History(t.Context(), pathOf(t, "/x")), tl); len(got) != 4 {
		t.Errorf("%q when it can be read", got)
	}
}

// A session that grew, or was read anew after a restore, is asked on: its text stays.
func TestSession_follows(t *testing.T) {
	p := pastOf(`a - {"x":1}`, `b a {"x":2}`, `c b {"x":3}`)
	s := strungOf(p, rand.New(rand.NewPCG(1, 1)))
	tl := model.NewTimeline(p.headers[:2])
	q := query.Open(s, tl)
	if got := told(t, q.History(t.Context(), pathOf(t, "/x")), tl); len(got) != 2 {
		t.Errorf("%q", got)
	}
	asked := s.asked
	p.headers[1].Orphaned, p.headers[2].ParentID, p.headers[2].ParentVisit = true, "a", 1
	now := model.NewTimeline(p.headers)
	q.Follow(now)
	want := []string{"#0 nothing → 1", "#1 1 → 2", "#2 1 → 3"}
	// A past has derived ids: its states are asked for again, and their text is there.
	if got := told(t, q.History(t.Context(), pathOf(t, "/x")), now); !reflect.DeepEqual(got, want) || s.asked-asked != 3 || s.filled > len(s.text) {
		t.Errorf("%q, %d states were asked for, %d of %d bytes", got, s.asked-asked, s.filled, len(s.text))
	}
}
