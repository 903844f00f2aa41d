package walk

import (
	"testing"

	"pgregory.net/rapid"
)

// numbers is the list of the numbers from 0 up to it.
type numbers int

func (n numbers) Next(r int) (int, bool) { return r + 1, r+1 < int(n) }
func (n numbers) Prev(r int) (int, bool) { return r - 1, r > 0 }
func (n numbers) First() (int, bool)     { return 0, n > 0 }
func (n numbers) Last() (int, bool)      { return int(n) - 1, n > 0 }

// check holds what is true of a window whatever was done to it.
func check(t *rapid.T, w *Window[int], n numbers) {
	rows := w.Rows()
	if want := min(int(n), max(w.height, 1)); len(rows) != want {
		t.Fatalf("%d rows show of %d in %d", len(rows), n, w.height)
	}
	for i, r := range rows {
		if r != rows[0]+i || r < 0 || r >= int(n) {
			t.Fatalf("rows %v of %d", rows, n)
		}
	}
	if row, y, ok := w.Cursor(); ok && rows[y] != row {
		t.Fatalf("cursor %d at %d of %v", row, y, rows)
	}
}

func TestWindow_movesAsInACountedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := numbers(rapid.IntRange(0, 40).Draw(t, "length"))
		var w Window[int]
		w.Resize(n, rapid.IntRange(0, 12).Draw(t, "height"))
		at := 0
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				check(t, &w, n)
				if row, _, ok := w.Cursor(); ok != (n > 0) || ok && row != at {
					t.Fatalf("cursor at %d, want %d", row, at)
				}
			},
			"move": func(t *rapid.T) {
				by := rapid.IntRange(-50, 50).Draw(t, "by")
				w.Move(n, by)
				at = max(0, min(at+by, int(n)-1))
			},
			"scroll": func(t *rapid.T) {
				top := -1
				if n > 0 {
					top = w.Rows()[0]
				}
				by := rapid.IntRange(-10, 10).Draw(t, "by")
				w.Scroll(n, by)
				if n == 0 {
					return
				}
				want := max(0, min(top+by, int(n)-max(w.height, 1)))
				if got := w.Rows()[0]; got != want {
					t.Fatalf("scrolled by %d from %d to %d, want %d", by, top, got, want)
				}
				at = max(w.Rows()[0], min(at, w.Rows()[len(w.Rows())-1]))
			},
			"resize": func(t *rapid.T) { w.Resize(n, rapid.IntRange(-1, 12).Draw(t, "height")) },
			"top":    func(*rapid.T) { w.Top(n); at = 0 },
			"bottom": func(*rapid.T) { w.Bottom(n); at = max(0, int(n)-1) },
			"place": func(t *rapid.T) {
				if n > 0 {
					at = rapid.IntRange(0, int(n)-1).Draw(t, "row")
					w.Place(n, at, rapid.IntRange(-1, 13).Draw(t, "y"))
				}
			},
			"click": func(t *rapid.T) {
				if y := rapid.IntRange(-1, 13).Draw(t, "y"); w.Click(y) {
					at = w.Rows()[y]
				}
			},
		})
	})
}

func TestWindow_keepsRowsInSightBeyondTheCursor(t *testing.T) {
	var w Window[int]
	w.Resize(numbers(100), 10)
	w.Move(numbers(100), 50)
	for range 3 {
		w.Move(numbers(100), -4)
		if _, y, _ := w.Cursor(); y < margin || y > 9-margin {
			t.Errorf("cursor at row %d of 10", y)
		}
	}
}
