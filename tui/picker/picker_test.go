package picker

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"
	"github.com/muesli/termenv"
	"pgregory.net/rapid"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/store"
	"hindcast/store/home"
	"hindcast/tui/theme"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func storeAt(kind, path string) *home.Store {
	return &home.Store{Found: store.Found{Identity: store.Identity{Kind: store.Kind{Name: kind}, At: path}}}
}

var (
	shop   = storeAt("sqlite", "shop.db")
	claude = storeAt("claude-code", "/home/me/.claude/projects")
	broken = storeAt("langgraph", "x\x1b[2J/\u202ey\n.db")
)

func rowsOf(in *home.Store, list ...model.SessionInfo) (rows []Row) {
	for _, info := range list {
		rows = append(rows, Row{SessionInfo: info, Store: in})
	}
	return rows
}

// sessions are those of one store, and everything those of several, one of which cannot be read.
func sessions() []Row {
	return rowsOf(shop,
		model.SessionInfo{ID: "trip-planner", Snapshots: 14, Orphaned: 4, Head: model.Point{ID: "aa", Index: 9}, UpdatedAt: noon.Add(-90 * time.Second), Title: "Two nights in Lyon in May, please. I can spend 300 euros.", Size: 38_211},
		model.SessionInfo{ID: "6099ccde-3f20-4383-aa10-43758be8f6a0/planner", Snapshots: 3, UpdatedAt: noon.Add(-3 * time.Hour), Title: "make a plan", Size: 812},
		model.SessionInfo{ID: "Support/billing", Snapshots: 100000, Head: model.Point{ID: "bb", Index: 99999}, UpdatedAt: noon.Add(-50 * time.Hour), Faults: 2, Size: 2_400_000_000},
		model.SessionInfo{ID: "x\x1b[2J\u202ey\n", Snapshots: 1, Head: model.Point{ID: "cc"}, UpdatedAt: noon.Add(time.Minute), Title: "\x1b[31m\u202e", Faults: model.FaultsNotCounted},
		model.SessionInfo{ID: "empty"},
	)
}

func everything() []Row {
	return append(append(sessions(), rowsOf(claude,
		model.SessionInfo{ID: "7ffd5cb9-ffe6-4e2c-bd4c-340dc7362789", Snapshots: 31, Orphaned: 2, UpdatedAt: noon.Add(-20 * time.Hour), Title: "Customers get the same webhook twice, find out why", Project: "/home/me/work/api"},
		model.SessionInfo{ID: "1c1d5cb9-ffe6-4e2c-bd4c-340dc7362789", Snapshots: 4, UpdatedAt: noon.AddDate(-1, 0, 0), Title: "rename the helper", Project: "/home/me/old/api/"},
		model.SessionInfo{ID: "aaad5cb9-ffe6-4e2c-bd4c-340dc7362789", Snapshots: 4, UpdatedAt: noon.AddDate(0, -1, 0), Title: "first question", Project: `C:\me\blog`},
	)...), Row{Store: broken, Err: errors.New("file is not a database")})
}

// sums are those of three sessions.
func sums() map[Name]*Sum {
	known := map[Name]*Sum{
		{shop, "trip-planner"}:                           {Turns: 4, Left: 4, Failures: 2},
		{shop, "Support/billing"}:                        {Turns: 31, Kind: "langgraph", Failures: 1, Cost: 12.5, Money: "$12.50"},
		{claude, "1c1d5cb9-ffe6-4e2c-bd4c-340dc7362789"}: {Turns: 1, Danger: "the next start deletes this session"},
	}
	for _, row := range everything() {
		if sum := known[NameOf(&row)]; sum != nil {
			sum.Of = StampOf([]Row{row})
		}
	}
	return known
}

func openRows(w, h int, rows []Row) *Pane {
	p := New(theme.New(theme.Choice{Palette: theme.None, Profile: termenv.Ascii, Glyphs: theme.Unicode}))
	p.Resize(w, h)
	p.Set(Prepare(rows, noon))
	return p
}

func screen(p *Pane, h int) string {
	var b strings.Builder
	for y := range h {
		b.WriteString(strings.TrimRight(string(p.AppendRow(nil, y)), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

func TestPane_looksAsDrawn(t *testing.T) {
	for name, rows := range map[string][]Row{"one": sessions(), "all": everything()} {
		for _, w := range []int{20, 58, 98, 198} {
			t.Run(fmt.Sprint(name, w), func(t *testing.T) { golden.RequireEqual(t, []byte(screen(openRows(w, 18, rows), 18))) })
		}
	}
}

// A session that is kept and whose files are gone says since when, and nothing of its age.
func TestPane_saysWhatIsGone(t *testing.T) {
	info := model.SessionInfo{ID: "a", Title: "words", UpdatedAt: noon, ExpiresAt: noon, GoneSince: noon}
	p := openRows(98, 18, rowsOf(claude, info))
	if got := screen(p, 18); !strings.Contains(got, "⌫ gone since "+noon.Format("Jan 2 2006")) || strings.Contains(got, "delete") {
		t.Error(got)
	}
}

// A session that the tool deletes for its age soon says so, with or without sums.
func TestPane_saysWhatExpires(t *testing.T) {
	for left, want := range map[time.Duration]string{
		-time.Hour: "! the next start deletes this session", 20 * time.Minute: "! deleted in 1 h", 47 * time.Hour: "! deleted in 1 d",
		70 * time.Hour: "! deleted in 2 d", 73 * time.Hour: "",
	} {
		p := openRows(98, 18, rowsOf(claude, model.SessionInfo{ID: "a", Title: "words", UpdatedAt: noon, ExpiresAt: noon.Add(left)}))
		row := p.Content().Row(0)
		if _, danger := p.SumText(row); !strings.Contains(screen(p, 18), want) || strings.TrimPrefix(want, "! ") != danger || (want == "") != !strings.Contains(screen(p, 18), "delete") {
			t.Errorf("%v before: %q, want %q:\n%s", left, danger, want, screen(p, 18))
		}
	}
}

// What was read of sessions shows in cells of their rows, and a danger behind the words.
func TestPane_showsSums(t *testing.T) {
	for _, w := range []int{58, 98, 158} {
		t.Run(fmt.Sprint(w), func(t *testing.T) {
			p := openRows(w, 20, append(everything(), nested()...))
			p.AddSums(sums())
			p.Do(keymap.UnfoldAll)
			golden.RequireEqual(t, []byte(screen(p, 20)))
		})
	}
}

// The rows in sight are read first, and all others where they are sorted by it.
func TestPane_LackSums(t *testing.T) {
	ids := func(sessions [][]Row) (list []string) {
		for _, rows := range sessions {
			list = append(list, rows[0].ID)
		}
		return list
	}
	p := openRows(80, 4, sessions())
	if got := ids(p.LackSums(10, true)); !slices.Equal(got, []string{"x\x1b[2J\u202ey\n", "trip-planner"}) {
		t.Errorf("in sight: %q", got)
	}
	p.AddSums(sums())
	if got := ids(p.LackSums(10, true)); !slices.Equal(got, []string{"x\x1b[2J\u202ey\n"}) {
		t.Errorf("in sight and not known: %q", got)
	}
	for range 5 {
		p.Do(keymap.Sort)
	}
	if got := ids(p.LackSums(10, true)); len(got) != 3 {
		t.Errorf("by turns: %q", got)
	}
	if got := p.LackSums(1, true); len(got) != 1 {
		t.Errorf("%d rows, not one", len(got))
	}
	changed := sessions()
	changed[0].UpdatedAt = noon
	p.Set(Prepare(changed, noon))
	if got := ids(p.LackSums(10, true)); !slices.Contains(got, "trip-planner") || slices.Contains(got, "Support/billing") {
		t.Errorf("after one changed: %q", got)
	}
	if got := ids(p.LackSums(10, false)); slices.Contains(got, "trip-planner") {
		t.Errorf("one that has a sum already is not let rest: %q", got)
	}

	p = openRows(80, 20, nested())
	if got := p.LackSums(1, true); len(got[0]) != 4 || got[0][0].ID != "main" {
		t.Errorf("a session comes without its sub-agents: %q", ids(got))
	}
	p.AddSums(map[Name]*Sum{{claude, "main"}: {Of: StampOf(p.LackSums(1, true)[0])}})
	if got := ids(p.LackSums(10, true)); slices.Contains(got, "main") {
		t.Errorf("what has a sum lacks it: %q", got)
	}
	changed = nested()
	changed[3].Size++
	p.Set(Prepare(changed, noon))
	if got := ids(p.LackSums(10, true)); !slices.Contains(got, "main") {
		t.Errorf("after a sub-agent changed: %q", got)
	}
}

// nested are sessions and those of their sub-agents, one without the session that started it.
func nested() []Row {
	return rowsOf(claude,
		model.SessionInfo{ID: "main", UpdatedAt: noon.Add(-2 * time.Hour), Title: "Run three sub-agents", Project: "/home/me/work/api"},
		model.SessionInfo{ID: "main/a", Parent: "main", UpdatedAt: noon.Add(-time.Hour), Title: "first part"},
		model.SessionInfo{ID: "main/b", Parent: "main", UpdatedAt: noon.Add(-3 * time.Hour), Title: "second part"},
		model.SessionInfo{ID: "main/b/c", Parent: "main/b", UpdatedAt: noon.Add(-4 * time.Hour), Title: "a part of it"},
		model.SessionInfo{ID: "lost/d", Parent: "lost", UpdatedAt: noon.Add(-4 * time.Hour), Title: "its session is gone"},
		model.SessionInfo{ID: "x", Parent: "y", Title: "a cycle"},
		model.SessionInfo{ID: "y", Parent: "x", Title: "a cycle"},
	)
}

// Sub-agents fold under the session that started them; a key shows them.
func TestPane_foldsAgents(t *testing.T) {
	p := openRows(98, 20, nested())
	all := []string{"main", "main/a", "main/b", "main/b/c", "lost/d", "x", "y"}
	folded := []string{"main", "lost/d", "x", "y"}
	check := func(what, selected string, want []string) {
		t.Helper()
		if got := shownIDs(p); !slices.Equal(got, want) || p.Name().ID != selected {
			t.Errorf("%s: %q with %q selected, want %q with %q", what, got, p.Name().ID, want, selected)
		}
	}
	check("at first", "main", folded)
	if text := screen(p, 20); !strings.Contains(text, "Run three sub-agents") || !strings.Contains(text, "+3 agents") {
		t.Errorf("no count of agents:\n%s", text)
	}
	p.Do(keymap.Unfold)
	check("unfolded", "main", all)
	p.Do(keymap.MoveDown)
	p.Do(keymap.MoveDown)
	p.Do(keymap.Fold)
	check("folded at a sub-agent", "main", folded)
	p.Do(keymap.UnfoldAll)
	check("all unfolded", "main", all)
	p.Do(keymap.FoldAll)
	p.Select(Name{claude, "main/b/c"})
	check("a sub-agent that is selected", "main", folded)
}

// Whatever sessions name as their parents, each is shown once or folds under a row that is shown.
func TestPane_losesNoSession(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rows []Row
		for i := range rapid.IntRange(1, 12).Draw(t, "rows") {
			parent := ""
			if n := rapid.IntRange(0, 14).Draw(t, "parent"); n < 12 {
				parent = fmt.Sprint(n)
			}
			rows = append(rows, rowsOf(claude, model.SessionInfo{ID: fmt.Sprint(i), Parent: parent})...)
		}
		p := openRows(80, 20, rows)
		folded := 0
		for i, ids := 0, shownIDs(p); i < len(rows); i++ {
			if at := p.content.above[i]; at >= 0 {
				folded++
				if !slices.Contains(ids, rows[at].ID) || slices.Contains(ids, rows[i].ID) {
					t.Fatalf("row %d folds under %d, and %q show", i, at, ids)
				}
			}
		}
		if got := len(shownIDs(p)) + folded; got != len(rows) {
			t.Fatalf("%d of %d rows", got, len(rows))
		}
		if p.Do(keymap.UnfoldAll); len(shownIDs(p)) != len(rows) {
			t.Fatalf("%d of %d rows are unfolded", len(shownIDs(p)), len(rows))
		}
	})
}

func TestPane_rowsAreExactAndClean(t *testing.T) {
	for w := range 130 {
		p := openRows(w, 20, append(everything(), nested()...))
		p.AddSums(sums())
		p.Do(keymap.UnfoldAll)
		for range groupings {
			for y := range 22 {
				line := string(p.AppendRow(nil, y))
				if got := ansi.StringWidth(line); got != w {
					t.Fatalf("at width %d row %d has %d cells: %q", w, y, got, line)
				}
				if strings.ContainsAny(line, "\x1b\u202e\n") {
					t.Fatalf("row %d lets control characters through: %q", y, line)
				}
			}
			p.Do(keymap.Group)
		}
	}
}

// shownIDs returns the ids of the rows that show, from top to bottom.
func shownIDs(p *Pane) (ids []string) {
	for _, i := range p.lines {
		if i >= 0 {
			ids = append(ids, p.content.rows[i].ID)
		}
	}
	return ids
}

func TestPane_FindRows(t *testing.T) {
	p := openRows(80, 20, everything())
	for words, want := range map[string][]string{
		"sup bill":        {"Support/billing"},
		"lyon may":        {"trip-planner"},
		"claude api":      {"7ffd5cb9-ffe6-4e2c-bd4c-340dc7362789", "1c1d5cb9-ffe6-4e2c-bd4c-340dc7362789"},
		"/old/":           {"1c1d5cb9-ffe6-4e2c-bd4c-340dc7362789"},
		"nothing like it": nil,
	} {
		var got []string
		for _, i := range p.FindRows(strings.Fields(words), func(*Row) bool { return true }) {
			got = append(got, p.Content().Row(i).ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, not %q", words, got, want)
		}
		if kept := p.FindRows(strings.Fields(words), func(*Row) bool { return false }); kept != nil {
			t.Errorf("%q: %v are found though none is kept", words, kept)
		}
	}
}

func TestPane_sorts(t *testing.T) {
	p := openRows(98, 10, sessions())
	billing := Name{shop, "Support/billing"}
	p.Select(billing)
	p.AddSums(sums())
	for _, c := range []struct{ status, first, last string }{
		{"5 sessions, by name", "6099ccde-3f20-4383-aa10-43758be8f6a0/planner", "x\x1b[2J\u202ey\n"},
		{"5 sessions, most snapshots first", "Support/billing", "empty"},
		{"5 sessions, largest first", "Support/billing", "empty"},
		{"5 sessions, most faults first", "Support/billing", "x\x1b[2J\u202ey\n"},
		{"5 sessions, most turns first", "Support/billing", "empty"},
		{"5 sessions, most flags first", "trip-planner", "empty"},
		{"5 sessions, most failures first", "trip-planner", "empty"},
		{"5 sessions, dearest first", "Support/billing", "empty"},
		{"5 sessions", "x\x1b[2J\u202ey\n", "empty"},
	} {
		if !p.Do(keymap.Sort) || p.Name() != billing || p.Status() != c.status {
			t.Errorf("%q is selected, and the list says %q; want %q", p.Name().ID, p.Status(), c.status)
		}
		if ids := shownIDs(p); ids[0] != c.first || ids[4] != c.last {
			t.Errorf("%s: %q is first and %q last, want %q and %q", c.status, ids[0], ids[4], c.first, c.last)
		}
	}
}

// Days rule the newest first alone; the other groups hold together in every order, and none loses a row.
func TestPane_groups(t *testing.T) {
	headings := func(p *Pane) (list []string) {
		for _, i := range p.lines {
			if i < 0 {
				list = append(list, p.headings[-i-1])
			}
		}
		return list
	}
	p := openRows(98, 30, everything())
	if got, want := headings(p), []string{"cannot be read", "today", "yesterday", "Thursday", "October", "November 2025", "no date"}; !slices.Equal(got, want) {
		t.Errorf("days: %q", got)
	}
	p.Do(keymap.Sort)
	if got := headings(p); got != nil {
		t.Errorf("days rule names: %q", got)
	}
	for range len(orders) - 1 {
		p.Do(keymap.Sort)
	}
	for _, want := range [][]string{
		{"no project", "work/api", "blog", "old/api"},
		{"langgraph", "hindcast", "claude"},
		{"langgraph  " + broken.At, "sqlite  shop.db", "claude-code  " + claude.At},
	} {
		if p.Do(keymap.Group); !slices.Equal(headings(p), want) {
			t.Errorf("%s: %q, want %q", p.Status(), headings(p), want)
		}
		if n := len(shownIDs(p)); n != 9 {
			t.Errorf("%s: %d rows", p.Status(), n)
		}
	}
	if p.Do(keymap.Group); p.Status() != "8 sessions" {
		t.Errorf("behind the last group: %s", p.Status())
	}
}

// The cursor is on a row, whatever moves it and whatever the list becomes.
func TestPane_cursorIsOnARow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := openRows(rapid.IntRange(10, 120).Draw(t, "w"), rapid.IntRange(0, 12).Draw(t, "h"), append(everything(), nested()...))
		actions := []keymap.Action{
			keymap.MoveDown, keymap.MoveUp, keymap.HalfDown, keymap.HalfUp, keymap.PageDown, keymap.PageUp,
			keymap.Top, keymap.Bottom, keymap.Sort, keymap.Group, keymap.Fold, keymap.Unfold, keymap.FoldAll, keymap.UnfoldAll,
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.IntRange(1, 4).Draw(t, "kind") {
			case 1:
				p.Wheel(rapid.IntRange(-5, 5).Draw(t, "wheel"))
			case 2:
				p.Click(3, rapid.IntRange(-1, 20).Draw(t, "y"))
			default:
				p.Do(rapid.SampledFrom(actions).Draw(t, "action"))
			}
			if _, ok := p.SelectedRow(); ok != (p.shown > 0) {
				t.Fatalf("line %d of %v is selected", p.window.Cursor, p.lines)
			}
		}
	})
}

func TestPane_keepsTheSelectionOnItsSession(t *testing.T) {
	p := openRows(80, 10, sessions())
	p.Select(Name{shop, "empty"})
	p.Set(Prepare(append(rowsOf(claude, model.SessionInfo{ID: "empty", UpdatedAt: noon}), sessions()...), noon))
	if got := p.Name(); got != (Name{shop, "empty"}) {
		t.Errorf("after a new list %q of %s is selected", got.ID, got.Store.At)
	}
	p = openRows(80, 10, nil)
	p.Grow(Prepare(sessions()[4:], noon))
	p.Grow(Prepare(sessions(), noon))
	if got := p.Name().ID; got != "x\x1b[2J\u202ey\n" {
		t.Errorf("a list that grows has %q selected, not its top", got)
	}
	p.Do(keymap.MoveDown)
	p.Grow(Prepare(everything(), noon))
	if got := p.Name().ID; got != "trip-planner" {
		t.Errorf("a list that grows has %q selected", got)
	}
}

func TestPane_moves(t *testing.T) {
	p := openRows(80, 10, sessions()) // future, a session, today, …
	for _, c := range []struct {
		do   func()
		want string
	}{
		{func() { p.Do(keymap.MoveDown) }, "trip-planner"},
		{func() { p.Do(keymap.Bottom) }, "empty"},
		{func() { p.Do(keymap.MoveDown) }, "empty"},
		{func() { p.Do(keymap.Top) }, "x\x1b[2J\u202ey\n"},
		{func() { p.Do(keymap.MoveUp) }, "x\x1b[2J\u202ey\n"},
		{func() { p.Click(3, 1) }, "x\x1b[2J\u202ey\n"}, // a heading
		{func() { p.Click(3, 3) }, "trip-planner"},
		{func() { p.Do(keymap.MoveUp) }, "x\x1b[2J\u202ey\n"},
	} {
		c.do()
		if got := p.Name().ID; got != c.want {
			t.Errorf("%q is selected, not %q:\n%s", got, c.want, screen(p, 10))
		}
	}
	if p.Do(keymap.Restore) {
		t.Error("an action that means nothing here counts as carried out")
	}
}

// Ids of 200 characters that begin alike are told apart.
func TestPane_longIDs(t *testing.T) {
	for _, w := range []int{58, 98, 198} {
		var rows []Row
		for i, row := range sessions() {
			row.ID = "customer-" + strings.Repeat("x", 186) + fmt.Sprintf("-%04d", i)
			rows = append(rows, row)
		}
		text := screen(openRows(w, 12, rows), 12)
		for i := range rows {
			if !strings.Contains(text, fmt.Sprintf("%03d", i)) {
				t.Errorf("%d: session %d is not told from the others:\n%s", w, i, text)
			}
		}
	}
}

// From the width of a small terminal on, the words have 20 cells, and the last column stays off the border.
func TestPane_wordsHaveRoom(t *testing.T) {
	for w := 56; w < 200; w++ {
		p := openRows(w, 20, everything())
		if _, words := p.layOutColumns(); words < wordsWidth {
			t.Errorf("at width %d the words have %d cells", w, words)
		}
		for y := range 20 {
			if line := string(p.AppendRow(nil, y)); !strings.HasSuffix(line, " ") {
				t.Errorf("at width %d row %d reaches the border: %q", w, y, line)
			}
		}
	}
}

// A project has as many of the last parts of its path as tell it from the others.
func TestShortProjects(t *testing.T) {
	rows := rowsOf(claude, model.SessionInfo{Project: "/a/b/api"}, model.SessionInfo{Project: "/a/c/api"}, model.SessionInfo{Project: "/x/c/api"},
		model.SessionInfo{Project: "/x/web/"}, model.SessionInfo{}, model.SessionInfo{Project: "api"}, model.SessionInfo{Project: "/a/b/api"}, model.SessionInfo{Project: "/"})
	want := []string{"b/api", "a/c/api", "x/c/api", "web", "", "api", "b/api", ""}
	if got := shortProjects(rows); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestCalendar(t *testing.T) {
	zone := time.FixedZone("there", 3*3600)
	c := calendar{time.Date(2026, 3, 2, 1, 30, 0, 0, zone)} // 22:30 of the day before in Greenwich
	for _, at := range []struct {
		t              time.Time
		heading, short string
	}{
		{time.Date(2026, 3, 1, 21, 30, 0, 0, time.UTC), "today", "00:30"},
		{time.Date(2026, 3, 1, 20, 30, 0, 0, time.UTC), "yesterday", "23:30"},
		{time.Date(2026, 3, 1, 22, 31, 0, 0, time.UTC), "today", "01:31"},
		{time.Date(2026, 3, 2, 22, 31, 0, 0, time.UTC), "in future", "3 Mar"},
		{time.Date(2026, 2, 28, 12, 0, 0, 0, zone), "Saturday", "28 Feb"},
		{time.Date(2026, 2, 24, 12, 0, 0, 0, zone), "Tuesday", "24 Feb"},
		{time.Date(2026, 2, 23, 12, 0, 0, 0, zone), "February", "23 Feb"},
		{time.Date(2025, 12, 31, 12, 0, 0, 0, zone), "December 2025", "2025-12"},
		{time.Time{}, "no date", ""},
	} {
		if heading, short := c.heading(at.t), c.short(at.t); heading != at.heading || short != at.short {
			t.Errorf("%v is %q under %q, want %q under %q", at.t, short, heading, at.short, at.heading)
		}
	}
}

// A mark is a sign beside the row and a number in the status, in the order of marking. It stays on its session whatever
// the list becomes; a heading and a store that cannot be read have no mark.
func TestPane_marks(t *testing.T) {
	p := openRows(80, 20, everything())
	marked := func() (ids []string) {
		for _, row := range p.Marked() {
			ids = append(ids, row.ID)
		}
		return ids
	}
	p.Select(Name{shop, "empty"})
	p.Do(keymap.MarkSession)
	p.Select(Name{shop, "trip-planner"})
	p.Do(keymap.MarkSession)
	if got := marked(); !slices.Equal(got, []string{"empty", "trip-planner"}) || p.Status() != "8 sessions, 2 marked" {
		t.Errorf("%q, %s", got, p.Status())
	}
	if text := screen(p, 20); strings.Count(text, "=") != 2 || !strings.Contains(text, "▌=") {
		t.Errorf("no signs:\n%s", text)
	}
	for i := range p.lines { // the row of the store that cannot be read, too
		p.moveTo(i)
		if row, _ := p.SelectedRow(); row.Err != nil {
			p.Do(keymap.MarkSession)
		}
	}
	p.Do(keymap.Sort)
	p.Set(Prepare(sessions()[:1], noon))
	if got := marked(); !slices.Equal(got, []string{"trip-planner"}) {
		t.Errorf("of a list that lacks one: %q", got)
	}
	p.Do(keymap.MarkSession)
	p.Set(Prepare(everything(), noon))
	if p.Do(keymap.ClearMarks); len(marked()) > 0 || p.CountMarked() != 0 {
		t.Errorf("cleared: %q", marked())
	}
}
