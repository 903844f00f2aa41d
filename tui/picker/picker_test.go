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
		{ID: "trip-planner", Snapshots: 14, Orphaned: 4, Head: model.Point{ID: "aa", Index: 9}, UpdatedAt: noon.Add(-90 * time.Second), Title: "Two nights in Lyon in May, please. I can spend 300 euros.", Size: 38_211},
		{ID: "6099ccde-3f20-4383-aa10-43758be8f6a0/planner", Snapshots: 3, UpdatedAt: noon.Add(-3 * time.Hour), Title: "make a plan", Size: 812},
		{ID: "Support/billing", Snapshots: 100000, Head: model.Point{ID: "bb", Index: 99999}, UpdatedAt: noon.Add(-50 * time.Hour), Faults: 2, Size: 2_400_000_000},
		{ID: "x\x1b[2J\u202ey\n", Snapshots: 1, Head: model.Point{ID: "cc"}, UpdatedAt: noon.Add(time.Minute), Title: "\x1b[31m\u202e", Faults: model.FaultsNotCounted},
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
	for _, w := range []int{20, 58, 98, 198} {
		t.Run(fmt.Sprint(w), func(t *testing.T) { golden.RequireEqual(t, []byte(screen(open(w, 8), 8))) })
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
		{"", "x\x1b[2J\u202ey\n", "5 sessions"},
		{"SUP bill", "Support/billing", "1 of 5 sessions with SUP bill"},
		{"e", "trip-planner", "3 of 5 sessions with e"},
		{"nothing like it", "", "0 of 5 sessions with nothing like it"},
	} {
		p := open(80, 10)
		p.Filter(c.filter)
		got, _ := p.SelectedRow()
		if got.ID != c.want || p.Status() != c.status {
			t.Errorf("filter %q selects %q and says %q; want %q and %q", c.filter, got.ID, p.Status(), c.want, c.status)
		}
	}
}

func TestPane_sorts(t *testing.T) {
	p := open(98, 10)
	p.Select("Support/billing")
	for _, c := range []struct{ status, first, last string }{
		{"by name", "6099ccde-3f20-4383-aa10-43758be8f6a0/planner", "x\x1b[2J\u202ey\n"},
		{"most snapshots first", "Support/billing", "empty"},
		{"largest first", "Support/billing", "empty"},
		{"most faults first", "Support/billing", "x\x1b[2J\u202ey\n"},
		{"last changed first", "x\x1b[2J\u202ey\n", "empty"},
	} {
		if !p.Do(keymap.Sort) || p.Name() != "Support/billing" || p.Status() != strings.TrimSuffix("5 sessions, "+c.status, ", last changed first") {
			t.Errorf("%q is selected, and the list says %q; want %q", p.Name(), p.Status(), c.status)
		}
		if first, last := p.all[p.shown[0]].ID, p.all[p.shown[4]].ID; first != c.first || last != c.last {
			t.Errorf("%s: %q is first and %q last, want %q and %q", c.status, first, last, c.first, c.last)
		}
	}
}

func TestPane_filtersByTitle(t *testing.T) {
	p := open(80, 10)
	p.Filter("lyon MAY")
	if p.Name() != "trip-planner" {
		t.Errorf("%q is selected", p.Name())
	}
}

// At every width from that of a small terminal on a title has 20 cells, and the last
// column stays off the border.
func TestPane_titlesHaveRoom(t *testing.T) {
	for w := 56; w < 200; w++ {
		p := open(w, 10)
		if got := p.layOutColumns().said; got < saidWidth {
			t.Errorf("at width %d titles have %d cells", w, got)
		}
		for y := range 6 {
			if line := string(p.AppendRow(nil, y)); !strings.HasSuffix(line, " ") {
				t.Errorf("at width %d row %d reaches the border: %q", w, y, line)
			}
		}
	}
}

func TestPane_keepsTheSelectionOnItsSession(t *testing.T) {
	p := open(80, 10)
	p.Select("empty")
	p.Filter("e")
	if got, _ := p.SelectedRow(); got.ID != "empty" {
		t.Errorf("after filtering %q is selected", got.ID)
	}
	p.Filter("")
	p.Set(append([]model.SessionInfo{{ID: "new"}}, sessions()...))
	if got, _ := p.SelectedRow(); got.ID != "empty" {
		t.Errorf("after a new list %q is selected", got.ID)
	}
}

func TestPane_moves(t *testing.T) {
	p := open(80, 10)
	for _, c := range []struct {
		do   func()
		want string
	}{
		{func() { p.Do(keymap.MoveDown) }, "trip-planner"},
		{func() { p.Do(keymap.Bottom) }, "empty"},
		{func() { p.Do(keymap.MoveDown) }, "empty"},
		{func() { p.Do(keymap.PageUp) }, "x\x1b[2J\u202ey\n"},
		{func() { p.Click(3, 2) }, "trip-planner"},
		{func() { p.Click(3, 9) }, "trip-planner"},
		{func() { p.Do(keymap.Top) }, "x\x1b[2J\u202ey\n"},
	} {
		c.do()
		if got, _ := p.SelectedRow(); got.ID != c.want {
			t.Errorf("%q is selected, not %q", got.ID, c.want)
		}
	}
	if p.Do(keymap.Restore) {
		t.Error("an action that means nothing here counts as carried out")
	}
}

// Ids of 200 characters that begin alike leave the columns where they are, and are told
// apart.
func TestSessions_longIDs(t *testing.T) {
	for _, w := range []int{58, 98, 198} {
		p := open(w, 8)
		short := screen(p, 1)
		var rows []model.SessionInfo
		for i, info := range sessions() {
			info.ID = "customer-" + strings.Repeat("x", 186) + fmt.Sprintf("-%04d", i)
			rows = append(rows, info)
		}
		p.Set(rows)
		text := screen(p, 8)
		for _, column := range strings.Fields(short)[1:] {
			if !strings.Contains(text, column) {
				t.Errorf("%d: the column %q is gone:\n%s", w, column, text)
			}
		}
		for i := range rows {
			if !strings.Contains(text, fmt.Sprintf("%04d", i)[1:]) {
				t.Errorf("%d: session %d is not told from the others:\n%s", w, i, text)
			}
		}
	}
}

// The ids of a coding agent's sessions are whole where no title needs the cells, and brief
// beside long titles.
func TestSessions_wholeIDsWhereThereIsRoom(t *testing.T) {
	id := "7ffd5cb9-ffe6-4e2c-bd4c-340dc7362789"
	for title, whole := range map[string]bool{"first question": true, strings.Repeat("a long question ", 12): false} {
		p := open(198, 8)
		p.Set([]model.SessionInfo{{ID: id, Title: title, Project: "/home/demo"}})
		text := screen(p, 2)
		if strings.Contains(text, id) != whole {
			t.Errorf("%.20q: whole ids are not %v:\n%s", title, whole, text)
		}
		if !whole && !strings.Contains(text, strings.Repeat("a long question ", 8)) {
			t.Errorf("the title has too little room:\n%s", text)
		}
	}
}
