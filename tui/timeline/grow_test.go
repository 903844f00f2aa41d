package timeline

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"hindcast/keymap"
	"hindcast/model"
)

// recorder records visits as a store does, some of them below other places than
// the head.
type recorder struct {
	r   *rand.Rand
	all []model.Header
	// visits says whether they are numbered; named whether the head is.
	visits, named bool
}

func (c *recorder) head() int {
	for i := range slices.Backward(c.all) {
		if !c.all[i].Orphaned {
			return i
		}
	}
	return -1
}

// record adds a visit and returns its header as the store tells of it.
func (c *recorder) record() model.Header {
	n := len(c.all)
	h := model.Header{ID: fmt.Sprintf("%016x", n), SessionID: "s", Index: n, TurnIndex: n / 2, Event: model.SnapshotEvent(n % 3), Title: fmt.Sprint("title ", n%7)}
	parent := c.head()
	if c.r.IntN(5) == 0 {
		h.Marks = model.MarkError
	}
	if c.r.IntN(12) == 0 && n > 0 {
		parent, h.Orphaned = c.r.IntN(n), true
	}
	if parent >= 0 {
		h.ParentID = c.all[parent].ID
		if c.visits {
			h.ParentVisit = int64(parent + 1)
		}
	}
	if c.visits {
		h.Visit = int64(n + 1)
	}
	c.all = append(c.all, h)
	return h
}

// headers returns all visits as the store gives them when it is read.
func (c *recorder) headers() []model.Header {
	all := slices.Clone(c.all)
	if head := c.head(); c.named && head >= 0 {
		all[head].Head = true
	}
	return all
}

// A timeline that grew is the timeline of all headers, whatever way it took.
func TestPane_grownIsAsPreparedAnew(t *testing.T) {
	taken, anew := 0, 0
	for seed := range uint64(18) {
		r := rand.New(rand.NewPCG(seed, 1))
		c := &recorder{r: r, visits: seed%2 == 0, named: seed%3 != 0}
		p := pane(t, nil, 80, 40)
		for range 30 {
			var fresh []model.Header
			for range r.IntN(6) {
				fresh = append(fresh, c.record())
			}
			all := c.headers()
			copy(fresh, all[len(all)-len(fresh):])
			if p.c.Takes(fresh) {
				p.Append(fresh)
				taken++
			} else {
				p.Renew(p.c.With(fresh), p.Matches())
				anew++
			}
			want := pane(t, all, 80, 40)
			want.Do(keymap.Top)
			have := New(styles(), p.zone)
			have.Resize(80, 40)
			have.Set(p.c)
			have.Do(keymap.Top)
			if got, want := picture(t, have, 80, 40), picture(t, want, 80, 40); got != want {
				t.Fatalf("seed %d, %d visits: grown\n%s\nmade anew\n%s", seed, len(all), got, want)
			}
			if !slices.Equal(p.c.stops, want.c.stops) || !slices.Equal(p.c.failed, want.c.failed) {
				t.Fatalf("seed %d, %d visits: stops %v, want %v; failed %v, want %v", seed, len(all), p.c.stops, want.c.stops, p.c.failed, want.c.failed)
			}
			if got, want := p.t.Orphans(), want.t.Orphans(); got != want {
				t.Fatalf("seed %d: %d orphans, want %d", seed, got, want)
			}
			if len(all) > 0 && p.t.Head() != model.NoNode && !p.Following() {
				t.Fatalf("seed %d, %d visits: the cursor is on %d, the head is %d", seed, len(all), p.SelectedNode(), p.t.Head())
			}
		}
	}
	if taken < 100 || anew < 100 {
		t.Errorf("%d times taken in, %d times made anew: the test is lopsided", taken, anew)
	}
}

// after returns n headers that follow the head of a pane.
func after(p *Pane, n int) []model.Header {
	var fresh []model.Header
	last := p.t.Header(p.t.Head())
	for range n {
		last = model.Header{ID: fmt.Sprintf("%064x", last.Index+1), ParentID: last.ID, SessionID: last.SessionID, Index: last.Index + 1, Visit: int64(p.t.Len()+len(fresh)) + 1, ParentVisit: last.Visit}
		fresh = append(fresh, last)
	}
	fresh[n-1].Head = true
	return fresh
}

func TestContent_takesWhatFollowsTheHead(t *testing.T) {
	headers := trip(t)
	p := pane(t, slices.Grow(headers, 4), 80, 30)
	for name, tc := range map[string]struct {
		change func([]model.Header)
		want   bool
	}{
		"as it should be":    {func([]model.Header) {}, true},
		"of another session": {func(h []model.Header) { h[0].SessionID = "other" }, false},
		"of another parent":  {func(h []model.Header) { h[1].ParentVisit = 3 }, false},
		"orphaned":           {func(h []model.Header) { h[1].Orphaned = true }, false},
		"the head stays":     {func(h []model.Header) { h[2].Head = false }, false},
	} {
		fresh := after(p, 3)
		tc.change(fresh)
		if got := p.c.Takes(fresh); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	room := p.t.Room()
	if !p.c.Takes(after(p, room)) || p.c.Takes(after(p, room+1)) {
		t.Errorf("takes more or less than the %d that there is room for", room)
	}
	if roomy := pane(t, slices.Grow(headers, 2*most), 80, 30); roomy.c.Takes(after(roomy, most+1)) {
		t.Error("takes any number at once")
	}
	if New(styles(), nil).c.Takes(after(p, 1)) {
		t.Error("takes snapshots without a head to follow")
	}
}

func TestPane_growsUnderTheCursor(t *testing.T) {
	p := pane(t, slices.Grow(trip(t), 10), 80, 12)
	p.Select(6)
	p.Do(keymap.Fold)
	p.Select(4)
	p.Mark(9)
	m, err := Find(t.Context(), p.c, Labels{}, "#14")
	if err != nil {
		t.Fatal(err)
	}
	p.SetMatches(m)
	top, line := p.rows.Top, p.rows.Cursor
	p.Append(after(p, 2))
	if p.SelectedNode() != 4 || p.MarkedNode() != 9 || p.rows.Top != top || p.rows.Cursor != line || p.folds.CountHidden(6) != 1 {
		t.Errorf("cursor %d, mark %d, rows %+v, hidden %d", p.SelectedNode(), p.MarkedNode(), p.rows, p.folds.CountHidden(6))
	}
	if at, of := p.Match(1); at != 1 || of != 1 || p.SelectedNode() != 18 {
		t.Errorf("match %d of %d at %d", at, of, p.SelectedNode())
	}
	p.Do(keymap.GoHead)
	p.Append(after(p, 3))
	if !p.Following() || p.SelectedNode() != 22 {
		t.Errorf("cursor %d", p.SelectedNode())
	}
	// On the line that it is on, as long as there is room.
	if got := p.rows.Top + p.rows.Height; got != p.rows.Len {
		t.Errorf("the last row that shows is %d of %d", got, p.rows.Len)
	}
	p.Append(nil)
}

// The line of the cursor stays where it is on the screen, whatever comes in above.
func TestPane_renewedKeepsTheLine(t *testing.T) {
	p := pane(t, trip(t), 80, 12)
	p.Select(9)
	line := p.rows.Cursor - p.rows.Top
	headers := trip(t)
	branch := headers[1]
	branch.ID, branch.ParentID, branch.ParentVisit, branch.Visit, branch.Orphaned = "branch", headers[0].ID, headers[0].Visit, 99, true
	p.Renew(Prepare(model.NewTimeline(append(headers, branch))), Matches{})
	if p.SelectedNode() != 9 || p.rows.Cursor-p.rows.Top != line {
		t.Errorf("cursor %d on line %d, was on %d", p.SelectedNode(), p.rows.Cursor-p.rows.Top, line)
	}
	if p.t.Header(p.SelectedNode()).Index != trip(t)[9].Index {
		t.Error("another snapshot")
	}
}

func TestContent_sameHeadersAreTheSame(t *testing.T) {
	c := Prepare(model.NewTimeline(trip(t)))
	if !c.Same(Prepare(model.NewTimeline(trip(t)))) {
		t.Error("read twice, it is another")
	}
	for name, change := range map[string]func([]model.Header) []model.Header{
		"longer":   func(h []model.Header) []model.Header { return append(h, model.Header{ID: "x"}) },
		"orphaned": func(h []model.Header) []model.Header { h[17].Orphaned = true; return h },
		"reason": func(h []model.Header) []model.Header {
			h[17].Reason = &model.Reason{Kind: model.ReasonRestore}
			return h
		},
		"why": func(h []model.Header) []model.Header {
			other := *h[6].Reason
			other.TargetIndex++
			h[6].Reason = &other
			return h
		},
	} {
		if c.Same(Prepare(model.NewTimeline(change(trip(t))))) {
			t.Errorf("%s: it is the same", name)
		}
	}
}

// What it costs to take in ten snapshots, or as many as are taken in at a time,
// does not depend on how many there are.
func BenchmarkPane_append(b *testing.B) {
	for _, n := range []int{1_000, 100_000, 1_000_000} {
		for _, k := range []int{10, most} {
			b.Run(fmt.Sprintf("%d/%d", n, k), func(b *testing.B) {
				p := lengthy(b, n)
				for b.Loop() {
					b.StopTimer()
					if p.t.Room() < k {
						p = lengthy(b, n)
					}
					fresh := after(p, k)
					if !p.c.Takes(fresh) {
						b.Fatal("not taken")
					}
					b.StartTimer()
					p.Append(fresh)
				}
			})
		}
	}
}

// lengthy returns a pane with a session of n snapshots.
func lengthy(b *testing.B, n int) *Pane {
	b.Helper()
	headers := make([]model.Header, n, n+64*most)
	for i := range headers {
		headers[i] = model.Header{ID: fmt.Sprintf("%064x", i), SessionID: "s", Index: i, Visit: int64(i + 1), ParentVisit: int64(i)}
	}
	headers[n-1].Head = true
	return pane(b, headers, 80, 48)
}
