package picker

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"
	"github.com/muesli/termenv"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/tui/theme"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func sessions() []model.SessionInfo {
	return []model.SessionInfo{
		{ID: "trip-planner", Snapshots: 14, Orphaned: 4, Head: "aa", HeadIndex: 9, UpdatedAt: noon.Add(-90 * time.Second)},
		{ID: "Support/billing", Snapshots: 100000, Head: "bb", HeadIndex: 99999, UpdatedAt: noon.Add(-50 * time.Hour), Faults: 2},
		{ID: "x\x1b[2J\u202ey\n", Snapshots: 1, Head: "cc", UpdatedAt: noon.Add(time.Minute)},
		{ID: "empty"},
	}
}

func open(w, h int) *Sessions {
	p := NewSessions(theme.New(theme.Choice{Palette: theme.None, Profile: termenv.Ascii, Glyphs: theme.Unicode}), func() time.Time { return noon })
	p.Resize(w, h)
	p.Set(sessions())
	return p
}

func screen[T any](p *Pane[T], h int) string {
	var b strings.Builder
	for y := range h {
		b.WriteString(strings.TrimRight(string(p.AppendRow(nil, y)), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

// looksAsDrawn compares lists of several widths with their pictures.
func looksAsDrawn[T any](t *testing.T, open func(w, h int) *Pane[T]) {
	t.Helper()
	for _, w := range []int{20, 58, 98} {
		t.Run(fmt.Sprint(w), func(t *testing.T) { golden.RequireEqual(t, []byte(screen(open(w, 7), 7))) })
	}
}

func TestPane_looksAsDrawn(t *testing.T) { looksAsDrawn(t, open) }

// exactAndClean looks at the rows of a list that is opened at any width.
func exactAndClean[T any](t *testing.T, open func(w, h int) *Pane[T]) {
	t.Helper()
	for w := range 130 {
		p := open(w, 6)
		for y := range 8 {
			line := string(p.AppendRow(nil, y))
			if got := ansi.StringWidth(line); got != w {
				t.Fatalf("at width %d row %d has %d cells: %q", w, y, got, line)
			}
			if strings.ContainsAny(line, "\x1b\u202e\n") {
				t.Fatalf("row %d lets control characters through: %q", y, line)
			}
		}
	}
}

func TestPane_rowsAreExactAndClean(t *testing.T) { exactAndClean(t, open) }

func TestPane_filters(t *testing.T) {
	for _, c := range []struct {
		filter, want, status string
	}{
		{"", "trip-planner", "4 sessions"},
		{"SUP bill", "Support/billing", "1 of 4 sessions"},
		{"e", "trip-planner", "2 of 4 sessions"},
		{"nothing like it", "", "0 of 4 sessions"},
	} {
		p := open(80, 10)
		p.Filter(c.filter)
		got, _ := p.Selected()
		if got.ID != c.want || p.Status() != c.status {
			t.Errorf("filter %q selects %q and says %q; want %q and %q", c.filter, got.ID, p.Status(), c.want, c.status)
		}
	}
}

func TestPane_keepsTheSelectionOnItsSession(t *testing.T) {
	p := open(80, 10)
	p.Select("empty")
	p.Filter("e")
	if got, _ := p.Selected(); got.ID != "empty" {
		t.Errorf("after filtering %q is selected", got.ID)
	}
	p.Filter("")
	p.Set(append([]model.SessionInfo{{ID: "new"}}, sessions()...))
	if got, _ := p.Selected(); got.ID != "empty" {
		t.Errorf("after a new list %q is selected", got.ID)
	}
}

func TestPane_moves(t *testing.T) {
	p := open(80, 10)
	for _, c := range []struct {
		do   func()
		want string
	}{
		{func() { p.Do(keymap.MoveDown) }, "Support/billing"},
		{func() { p.Do(keymap.Bottom) }, "empty"},
		{func() { p.Do(keymap.MoveDown) }, "empty"},
		{func() { p.Do(keymap.PageUp) }, "trip-planner"},
		{func() { p.Click(3, 2) }, "Support/billing"},
		{func() { p.Click(3, 9) }, "Support/billing"},
		{func() { p.Do(keymap.Top) }, "trip-planner"},
	} {
		c.do()
		if got, _ := p.Selected(); got.ID != c.want {
			t.Errorf("%q is selected, not %q", got.ID, c.want)
		}
	}
	if p.Do(keymap.Restore) {
		t.Error("an action that means nothing here counts as carried out")
	}
}
