package timeline

import (
	"fmt"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/tui/cell"
)

// scrubbed returns the scrubber of a pane in w cells as text.
func scrubbed(t testing.TB, p *Pane, w int) string {
	t.Helper()
	r := cell.Begin(nil, &p.styles.Glyphs, w)
	p.Scrub(&r, w)
	if r.Room() != 0 {
		t.Fatalf("%d of %d cells are left free", r.Room(), w)
	}
	return ansi.Strip(string(r.End(p.styles.Text)))
}

// Each row stands in exactly one cell, the first in the first and the last in the last,
// whether there are more rows or more cells.
func TestScrubber_eachRowStandsInOneCell(t *testing.T) {
	for w := 1; w <= 130; w++ {
		for rows := 1; rows <= 300; rows++ {
			next := 0
			for x := range w {
				s := spanOf(x, w, rows)
				if s.from < s.to {
					if s.from != next {
						t.Fatalf("%d rows in %d cells: cell %d begins at row %d, want %d", rows, w, x, s.from, next)
					}
					for row := s.from; row < s.to; row++ {
						if c := cellOf(row, w, rows); c != x {
							t.Fatalf("%d rows in %d cells: row %d stands in cell %d and in cell %d", rows, w, row, x, c)
						}
					}
					next = s.to
				}
				if at := nearestRow(x, w, rows); at < 0 || at >= rows || s.from < s.to && (at < s.from || at >= s.to) || w > 1 && (x == 0 && at != 0 || x == w-1 && at != rows-1) {
					t.Fatalf("%d rows in %d cells: cell %d leads to row %d of %+v", rows, w, x, at, s)
				}
			}
			if next != rows {
				t.Fatalf("%d rows in %d cells: %d of them have a cell", rows, w, next)
			}
		}
	}
}

func TestScrubber_draws(t *testing.T) {
	headers := trip(t)
	headers[3].Marks |= model.MarkError
	p := pane(t, headers, 80, 12)
	for _, tc := range []struct {
		at   model.Node
		w    int
		want string
	}{
		{0, 41, "▌─────✗────┬─────┴─────────┬──────┴─────◉"},
		{7, 41, "━━━━━━✗━━━━┬━━━━━▌─────────┬──────┴─────◉"},
		{17, 41, "━━━━━━✗━━━━┬━━━━━┴━━━━━━━━━┬━━━━━━┴━━━━━▌"},
		{17, 7, "━✗┬┴┬┴▌"},
		{17, 2, "✗▌"},
		{17, 1, "▌"},
		{17, 0, ""},
	} {
		p.Select(tc.at)
		if got := scrubbed(t, p, tc.w); got != tc.want {
			t.Errorf("at %d in %d cells:\n%s, want\n%s", tc.at, tc.w, got, tc.want)
		}
	}
	p.Do(keymap.FoldAll) // folds change nothing but the place of the cursor
	p.Do(keymap.Bottom)
	if got := scrubbed(t, p, 41); got != "━━━━━━✗━━━━┬━━━━━┴━━━━━━━━━┬━━━━━━┴━▌───◉" {
		t.Errorf("folded: %s", got)
	}
}

// A cell leads to what it shows, and without that to the snapshot nearest to it.
func TestScrubber_leadsToWhatItShows(t *testing.T) {
	headers := trip(t)
	headers[3].Marks |= model.MarkError
	for _, w := range []int{1, 2, 3, 7, 20, 41, 200} {
		p := pane(t, headers, 80, 12)
		for x := range w {
			p.Select(0)
			_, want := p.tickOf(spanOf(x, w, p.t.Rows()))
			p.ScrubTo(x, w)
			at, row := p.SelectedNode(), nearestRow(x, w, p.t.Rows())
			if want == model.NoNode {
				want = p.t.Row(row).Node
			}
			if want == model.NoNode { // a row that only draws has that of the snapshot below it
				want = p.t.Row(row + 1).Node
			}
			if at != want {
				t.Errorf("cell %d of %d leads to %d, want %d", x, w, at, want)
			}
		}
		p.ScrubTo(-5, w)
		if first := p.SelectedNode(); w > 3 && first != 0 {
			t.Errorf("left of all: %d", first)
		}
		p.ScrubTo(w+5, w)
		if last := p.SelectedNode(); w > 1 && last != p.t.Head() {
			t.Errorf("right of all: %d", last)
		}
	}
	none := pane(t, nil, 80, 12)
	none.ScrubTo(3, 20)
	if got := scrubbed(t, none, 20); got != "────────────────────" || none.SelectedNode() != model.NoNode {
		t.Errorf("without snapshots: %s", got)
	}
	lost := []model.Header{{ID: "b", ParentID: "a", SessionID: "s"}, {ID: "d", ParentID: "c", SessionID: "s", Index: 1}}
	broken := pane(t, lost, 80, 12) // rows that only draw stand above both
	broken.ScrubTo(0, 20)
	if broken.SelectedNode() != 0 {
		t.Errorf("the first cell leads to %d", broken.SelectedNode())
	}
}

// The scrubber goes on as the session grows.
func TestScrubber_grows(t *testing.T) {
	headers := trip(t)
	p := pane(t, headers[:3:14], 80, 12)
	if got := scrubbed(t, p, 13); got != "━━━━━━━━━━━━▌" {
		t.Errorf("before: %s", got)
	}
	next := headers[3]
	next.Marks |= model.MarkError
	if !p.c.Takes([]model.Header{next}) {
		t.Fatal("the content does not take the next snapshot")
	}
	p.Select(0)
	p.Append([]model.Header{next})
	if got := scrubbed(t, p, 13); got != "▌───────────◉" {
		t.Errorf("after: %s", got)
	}
}

// BenchmarkScrubber is one frame of the scrubber: it should not matter how long the session
// is.
func BenchmarkScrubber(b *testing.B) {
	for _, n := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			headers := make([]model.Header, n)
			for i := range headers {
				headers[i] = model.Header{ID: fmt.Sprintf("%064x", i), SessionID: "s", Index: i, Visit: int64(i + 1), ParentVisit: int64(max(i-i%3, 0))}
				if i%7 == 0 {
					headers[i].Marks = model.MarkError
				}
			}
			p := pane(b, headers, 80, 48)
			dst := make([]byte, 0, 64<<10)
			b.ReportAllocs()
			for b.Loop() {
				r := cell.Begin(dst[:0], &p.styles.Glyphs, 180)
				p.Scrub(&r, 180)
				dst = r.End(p.styles.Text)
			}
		})
	}
}

// Frames look up nothing: what the cells show is worked out once for a timeline.
func TestScrubber_isWorkedOutOnce(t *testing.T) {
	headers := trip(t)
	headers[3].Marks |= model.MarkError
	p := pane(t, headers, 80, 12)
	with := scrubbed(t, p, 41)
	p.c.failed = nil
	if got := scrubbed(t, p, 41); got != with {
		t.Errorf("looked up again: %s", got)
	}
	p.Set(p.c)
	if got := scrubbed(t, p, 41); got == with {
		t.Errorf("another content shows what the one before did: %s", got)
	}
}
