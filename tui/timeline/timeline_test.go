package timeline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/store/sample"
	"hindcast/tui/cell"
	"hindcast/tui/theme"
)

func styles() *theme.Styles {
	return theme.New(theme.Choice{Palette: theme.None, Profile: termenv.Ascii, Glyphs: theme.Unicode})
}

// trip returns the headers of the demo's session with branches.
func trip(t testing.TB) []model.Header {
	t.Helper()
	var headers []model.Header
	for row, err := range sample.Rows() {
		if err != nil {
			t.Fatal(err)
		}
		if row.Header.SessionID == sample.Trip {
			headers = append(headers, row.Header)
		}
	}
	return headers
}

// oneTurn returns headers as of a store that counts no turns.
func oneTurn(headers []model.Header) []model.Header {
	for i := range headers {
		headers[i].TurnIndex = 0
	}
	return headers
}

func pane(t testing.TB, headers []model.Header, w, h int) *Pane {
	t.Helper()
	p := New(styles(), time.UTC)
	p.Resize(w, h)
	p.Set(Prepare(model.NewTimeline(headers)))
	return p
}

// picture draws a pane, and holds that every row is exactly as wide as it is.
func picture(t testing.TB, p *Pane, w, h int) string {
	t.Helper()
	var b strings.Builder
	for y := range h {
		row := ansi.Strip(string(p.AppendRow(nil, y)))
		if n := ansi.StringWidth(row); n != w {
			t.Errorf("row %d is %d cells wide, want %d: %q", y, n, w, row)
		}
		b.WriteString(strings.TrimRight(row, " ") + "\n")
	}
	return b.String()
}

func check(t *testing.T, got, want string) {
	t.Helper()
	want = strings.TrimPrefix(want, "\n")
	if got != want {
		t.Errorf("drawn:\n%s\nwant:\n%s", got, want)
	}
}

func TestPane_drawsTheTree(t *testing.T) {
	check(t, picture(t, pane(t, trip(t), 60, 22), 60, 22), `
  ○    0   end    Two nights in Lyon in May, please. …
  ▾    1   tool   search_trains {f…  07:58 for 85.0… 1 step
  ○    2   end    The 09:40 costs 60.50 and Hotel Bel…  +2s
  ▾    3   tool ✗ book_hotel {hotel:…  Hotel Bellecour:… ✗1
  ○    4   tool   book_hotel {hotel…  Room 12, two ni…  +4s
  ○    5   end    Done: the 09:40, and Hotel des Terr…  +2s
  ├─╮   left by a restore to #5 at 12:06
  │ ▿  6.1 tool   book_event {even…  Box 3. 240.00 … 1 step
  │ ◌  7.1 end    You have a box at the opera! The tr…  +2s
  ▾    6.2 tool   search_events {c…  Jazz at the H… 2 steps
  ○    7.2 tool   book_event {event…  One seat. 25.00…  +3s
  ○    8   end    Jazz at the Hot Club, dry and under…  +2s
  ○    9   end    cart shown in USD                    +15s
  ○   10   end    cart shown in EUR again               +6s
  ├─╮   left by a restore to #10 at 12:07
  │ ▿ 11.1 tool   cancel_all {conf…  3 bookings can… 1 step
  │ ◌ 12.1 end    Everything is cancelled. Where woul…  +2s
  ▾   11.2 tool   change_train {fr…  Seat 18, coac… 2 steps
  ○   12.2 end    You leave at 10:40; all else stays.…  +2s
▌ ◉   13   done   the trip is booked                    +1s

 turn 6 · ◉ the framework resumes here · invocation end
`)
}

func TestPane_everySizeFits(t *testing.T) {
	headers := trip(t)
	headers[3].Title = "\x1b]52;c;aGk=\x07 東京東京東京東京東京東京東京東京東京東京東京東京東京東京東京"
	for w := range 130 {
		for _, h := range []int{0, 1, 3, 4, 12} {
			picture(t, pane(t, headers, w, h), w, h)
		}
	}
}

func TestPane_explainsTheRow(t *testing.T) {
	p := pane(t, trip(t), 80, 5)
	for _, tc := range []struct {
		node model.Node
		want string
	}{
		{5, " turn 2 · ◌ from here: #6.1 left by a restore to #5 at 12:06 · Done: the 09:40,…"},
		{7, " turn 3 · ◌ #7.1 left by a restore to #5 at 12:06 · You have a box at the opera…"},
		{3, " turn 2 · ✗ error · book_hotel {hotel: \"Hotel Bellecour\", nights: 2}  Hotel Bel…"},
		{4, " turn 2 · book_hotel {hotel: \"Hotel des Terreaux\", nights: 2}  Room 12, two nig…"},
		{0, " turn 0 · Two nights in Lyon in May, please. I can spend 300 euros."},
	} {
		p.Select(tc.node)
		lines := strings.Split(picture(t, p, 80, 5), "\n")
		if got := lines[4]; got != tc.want {
			t.Errorf("node %d: %q, want %q", tc.node, got, tc.want)
		}
	}
}

func TestPane_wideRoomShowsMore(t *testing.T) {
	p := pane(t, trip(t), 90, 6)
	p.Mark(1)
	p.Select(1)
	p.Blur()
	check(t, picture(t, p, 90, 6), `
  ○    0   end  4a6b9758 12:04:00   Two nights in Lyon in May, please. I can spend …
▌=▾    1   tool fc628baa 12:04:02   search_trains {from: …  07:58 for 85.00 EU… 1 step 2s
  ○    2   end  aeb5c015 12:04:04   The 09:40 costs 60.50 and Hotel Bellecour 110.0…  +2s
  ▾    3   tool 38521b1b 12:04:28 ✗ book_hotel {hotel: …  Hotel Bellecour:… 2 steps 6s ✗1
  ○    4   tool 6798430f 12:04:32   book_hotel {hotel: "Hot…  Room 12, two nights. …  +4s
 turn 1 · search_trains {from: "Paris", to: "Lyon", day: "2026-05-09"}  07:58 for 85.00 E…
`)
}

func TestPane_brokenLineage(t *testing.T) {
	headers := []model.Header{
		{ID: "aaaa", SessionID: "s", Index: 0},
		{ID: "bbbb", SessionID: "s", ParentID: "gone", Index: 1, Marks: model.MarkDamaged | model.MarkEvicted},
		{ID: "cccc", SessionID: "s", ParentID: "cccc", Index: 2, Event: 9},
	}
	check(t, picture(t, pane(t, headers, 60, 8), 60, 8), `
  ◌ 0 end    aaaa
  ╳ the parent cannot be followed
  ◌ 1 end    bbbb     !⊘
  ╳ the parent cannot be followed
▌ ◉ 2 event9 cccc


 turn 0 · ◉ the framework resumes here · event 9
`)
}

func TestPane_emptySession(t *testing.T) {
	p := pane(t, nil, 40, 5)
	check(t, picture(t, p, 40, 5), "  no snapshots yet\n\n\n\n\n")
	if p.Do(keymap.MoveDown) || p.SelectedNode() != model.NoNode {
		t.Error("an empty timeline moves")
	}
	p.Click(0, 0)
	p.Wheel(1)
}

func TestPane_moves(t *testing.T) {
	p := pane(t, trip(t), 80, 12)
	for _, step := range []struct {
		do   keymap.Action
		want model.Node
	}{
		{keymap.MoveUp, 16}, {keymap.Top, 0}, {keymap.MoveDown, 1}, {keymap.NextBranch, 5},
		{keymap.StepForward, 8}, {keymap.StepBack, 5}, {keymap.Child, 6}, {keymap.StepForward, 7},
		{keymap.StepForward, 7}, {keymap.Parent, 6}, {keymap.Parent, 5},
		{keymap.MoveDown, 6}, {keymap.MoveUp, 5}, {keymap.NextBranch, 7}, {keymap.NextBranch, 12}, {keymap.NextBranch, 14},
		{keymap.NextBranch, 17}, {keymap.NextBranch, 17}, {keymap.PrevBranch, 14}, {keymap.MoveUp, 13}, {keymap.PrevBranch, 12},
		{keymap.StepBack, 11}, {keymap.PrevBranch, 7}, {keymap.PrevBranch, 5}, {keymap.PrevBranch, 5},
		{keymap.GoHead, 17}, {keymap.PageUp, 8}, {keymap.HalfDown, 13}, {keymap.Bottom, 17},
	} {
		if !p.Do(step.do) {
			t.Errorf("%s is not the timeline's", step.do)
		}
		if got := p.SelectedNode(); got != step.want {
			t.Errorf("after %s at %d, want %d", step.do, got, step.want)
		}
	}
	if p.Do(keymap.Restore) {
		t.Error("the timeline restores")
	}
}

func TestPane_folds(t *testing.T) {
	headers := trip(t)
	p := pane(t, oneTurn(headers), 80, 30)
	p.Select(7)
	p.Do(keymap.Fold) // a leaf: folds the branch that it is on
	if p.SelectedNode() != 5 {
		t.Errorf("cursor at %d, want the branch point", p.SelectedNode())
	}
	if got := picture(t, p, 80, 30); !strings.Contains(got, "▸2 hidden") || strings.Contains(got, "8adc") {
		t.Errorf("the branch is not folded:\n%s", got)
	}
	p.Select(7)
	if got := picture(t, p, 80, 30); strings.Contains(got, "hidden") || !strings.Contains(got, "▌ │ ◌  7") {
		t.Errorf("the fold hides what is selected:\n%s", got)
	}
	p.Do(keymap.FoldAll)
	if got := picture(t, p, 80, 30); strings.Count(got, "hidden") != 2 || p.SelectedNode() != 5 {
		t.Errorf("fold all, cursor %d:\n%s", p.SelectedNode(), got)
	}
	p.Do(keymap.Unfold)
	p.Do(keymap.UnfoldAll)
	if got := picture(t, p, 80, 30); strings.Contains(got, "hidden") {
		t.Errorf("unfold all:\n%s", got)
	}
}

func TestPane_cursorStaysOnItsSnapshot(t *testing.T) {
	headers := trip(t)
	p := pane(t, headers[10:], 80, 12)
	p.Select(4)
	p.Mark(2)
	p.Set(Prepare(model.NewTimeline(headers)))
	if p.SelectedNode() != 14 || p.MarkedNode() != 12 {
		t.Errorf("after the older part came in: cursor %d, mark %d", p.SelectedNode(), p.MarkedNode())
	}
	p.Select(6)
	p.Do(keymap.Fold)
	more := append(trip(t), model.Header{ID: "new", SessionID: sample.Trip, ParentID: headers[17].ID, ParentVisit: headers[17].Visit, Visit: 99, Index: 14})
	p.Set(Prepare(model.NewTimeline(more)))
	if p.folds.CountHidden(6) != 1 {
		t.Error("the folds are gone")
	}
	other := trip(t)[:3]
	for i := range other {
		other[i].SessionID = "other"
	}
	p.Set(Prepare(model.NewTimeline(other)))
	if p.SelectedNode() != 2 || p.MarkedNode() != model.NoNode {
		t.Errorf("another session: cursor %d, mark %d", p.SelectedNode(), p.MarkedNode())
	}
}

func TestPane_mouse(t *testing.T) {
	p := pane(t, trip(t), 80, 12)
	p.Do(keymap.Top)
	p.Click(5, 6) // the row that draws the branch belongs to the one above
	if p.SelectedNode() != 5 {
		t.Errorf("click on a drawn row: %d", p.SelectedNode())
	}
	p.Click(5, 8)
	if p.SelectedNode() != 7 {
		t.Errorf("click: %d", p.SelectedNode())
	}
	p.Wheel(3)
	if p.SelectedNode() != 7 || p.rows.Top != 3 {
		t.Errorf("wheel: %d, top %d", p.SelectedNode(), p.rows.Top)
	}
	p.Wheel(100)
	p.Click(0, 500)
	if from, to := p.Thumb(); to != p.rows.Height || from == 0 {
		t.Errorf("thumb %d to %d", from, to)
	}
}

func TestFind_looksAtWhatRowsShow(t *testing.T) {
	c := Prepare(model.NewTimeline(trip(t)))
	for _, tc := range []struct {
		query string
		want  []model.Node
	}{
		{"OPERA", []model.Node{6, 7}},
		{"#6", []model.Node{6, 8}},
		{"13", []model.Node{17}},
		{"420.50", []model.Node{7}},
		{"aeb5", []model.Node{2}},
		{"invocation", []model.Node{17}},
		{"error", []model.Node{3}},
		{"no such", nil},
		{"", nil},
	} {
		m, err := Find(t.Context(), c, Labels{}, tc.query)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(m.nodes) != fmt.Sprint(tc.want) {
			t.Errorf("%q finds %v, want %v", tc.query, m.nodes, tc.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Find(ctx, c, Labels{}, "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestPane_matchesGoRound(t *testing.T) {
	p := pane(t, trip(t), 80, 12)
	p.Select(8)
	m, err := Find(t.Context(), p.c, Labels{}, "book_")
	if err != nil {
		t.Fatal(err)
	}
	if !p.SetMatches(m) || p.SelectedNode() != 9 {
		t.Errorf("first match from #6: %d", p.SelectedNode())
	}
	for _, step := range []struct {
		n, at int
		node  model.Node
	}{{1, 1, 3}, {1, 2, 4}, {-1, 1, 3}, {-1, 4, 9}} {
		at, of := p.Match(step.n)
		if at != step.at || of != 4 || p.SelectedNode() != step.node {
			t.Errorf("match %+d: %d of %d at %d, want %d of 4 at %d", step.n, at, of, p.SelectedNode(), step.at, step.node)
		}
	}
	if p.SetMatches(Matches{}) {
		t.Error("nothing is a match")
	}
}

// titleWidth returns how many cells the titles of a pane get: that of the narrowest.
func titleWidth(t *testing.T, headers []model.Header, w int) int {
	t.Helper()
	for i := range headers {
		headers[i].Title = strings.Repeat("T", 300)
	}
	p := pane(t, headers, w, 40)
	narrowest := w
	for line := range strings.Lines(picture(t, p, w, 39)) {
		if n := strings.Count(line, "T"); n > 0 {
			narrowest = min(narrowest, n+1) // and the ellipsis
		}
	}
	return narrowest
}

// The title comes first: 28 cells in the pane of a screen of 100 columns and more, 20
// in that of 60, whatever else there is to tell.
func TestPane_titlesGetTheirCells(t *testing.T) {
	deep := make([]model.Header, 64) // six lanes
	for i := range deep {
		deep[i] = model.Header{ID: fmt.Sprintf("%064x", i), SessionID: "s", Index: 100 + i, Visit: int64(i + 1), ParentVisit: int64(i &^ (i & -i)),
			CreatedAt: time.Unix(int64(i), 0), Event: model.SnapshotEventNamed, EventName: "an event of another framework", Marks: model.MarkError}
	}
	many := make([]model.Header, 1200) // of four digits, with a branch from each tenth
	for i := range many {
		many[i] = model.Header{ID: fmt.Sprintf("%064x", i), SessionID: "s", Index: 1000 + i - i%10/9, Visit: int64(i + 1), ParentVisit: int64(max(i-i%10/9-1, 0)) + 1,
			CreatedAt: time.Unix(int64(i)*110, 0), Event: model.SnapshotEventNamed, EventName: "an event of another framework", Marks: model.MarkError}
	}
	many[0].ParentVisit = 0
	for _, tc := range []struct {
		name    string
		headers []model.Header
		w, want int
	}{
		{"demo, 100 columns", oneTurn(trip(t)), 54, 28},
		{"demo, 60 columns", oneTurn(trip(t)), 58, 28},
		{"demo, 140 columns", oneTurn(trip(t)), 68, 35},
		{"demo, 200 columns", oneTurn(trip(t)), 98, 46},
		{"steps", oneTurn(turns()), 54, 28},
		{"deep, 100 columns", deep, 54, 28},
		{"many, 100 columns", many, 54, 28},
		{"deep, 60 columns", deep, 58, 28},
		{"deep, 120 columns", deep, 60, 28},
	} {
		if got := titleWidth(t, tc.headers, tc.w); got < tc.want {
			t.Errorf("%s: a title has %d cells, want %d:\n%s", tc.name, got, tc.want, picture(t, pane(t, tc.headers, tc.w, 30), tc.w, 30))
		}
	}
}

// A third lane comes before the time between rows, and any lane before what stays empty.
func TestPane_drawsTheLanesThatHaveRoom(t *testing.T) {
	var headers []model.Header
	for i, parent := range []int64{0, 1, 1, 3, 3} { // a branch with a branch
		headers = append(headers, model.Header{ID: fmt.Sprint(i), SessionID: "s", Index: 10 + i, Visit: int64(i + 1), ParentVisit: parent, Orphaned: i > 1,
			CreatedAt: time.Unix(int64(i), 0), Event: model.SnapshotEventNamed, EventName: "approve", Title: strings.Repeat("x", 40)})
	}
	for w, want := range map[int]string{54: "│ │ ◌", 50: "│ │ ◌", 45: "… ◌"} {
		if got := picture(t, pane(t, headers, w, 20), w, 20); !strings.Contains(got, want) {
			t.Errorf("%d cells lack %q:\n%s", w, want, got)
		}
	}
	p := pane(t, headers, 54, 20)
	p.SetColumns([]Column{{Title: "tokens", Width: 6, Text: func(_, _ model.Node) (string, bool) { return "", true }}})
	if got := picture(t, p, 54, 20); !strings.Contains(got, "│ │ ◌") {
		t.Errorf("beside another column:\n%s", got)
	}
}

// The columns that a row can do without leave one by one.
// The words of another framework are drawn whole where titles leave room, and are the same
// wherever the pane is scrolled.
func TestPane_longEventsGetTheRoomOfShortTitles(t *testing.T) {
	for _, c := range []struct {
		title string
		w     int
		want  string
	}{
		{"", 40, "session star…"},
		{"short", 40, "session star… short"},
		{strings.Repeat("x", 60), 42, "sessi… " + strings.Repeat("x", 20)},
		{strings.Repeat("x", 60), 55, "session star… " + strings.Repeat("x", 20)},
	} {
		headers := []model.Header{{ID: "a", SessionID: "s", Event: model.SnapshotEventNamed, EventName: "session started", Title: c.title, CreatedAt: time.Unix(1, 0)}}
		for i := range 40 {
			headers = append(headers, model.Header{ID: fmt.Sprint(i), SessionID: "s", ParentID: headers[i].ID, Index: i + 1, CreatedAt: time.Unix(int64(i), 0)})
		}
		p := pane(t, headers, c.w, 10)
		end := p.columns.event
		p.Do(keymap.Top)
		if got := picture(t, p, c.w, 10); !strings.Contains(got, c.want) || p.columns.event != end {
			t.Errorf("%d cells lack %q:\n%s", c.w, c.want, got)
		}
	}
}

func TestPane_narrowRowsKeepNameAndTitle(t *testing.T) {
	for _, tc := range []struct {
		w    int
		want string
	}{
		{90, "  ○    3   tool 38521b1b 12:04:28 ✗ book_hotel {hotel: \"Hot…  Hotel Bellecour: no r… +24s"},
		{78, "  ○    3   tool 38521b1b 12:04:28 ✗ book_hotel {hotel…  Hotel Bellecour… +24s"},
		{70, "  ○    3   tool 38521b1b ✗ book_hotel {hotel:…  Hotel Bellecour… +24s"},
		{60, "  ○    3   tool ✗ book_hotel {hotel…  Hotel Bellecour… +24s"},
		{55, "  ○    3   tool ✗ book_hotel {hot…  Hotel Bellec… +24s"},
		{40, "  ○    3   tool ✗ book_hotel {hotel: \"H…"},
		{24, "  ○    3   tool ✗ book_…"},
	} {
		lines := strings.Split(picture(t, pane(t, oneTurn(trip(t)), tc.w, 30), tc.w, 30), "\n")
		if got := strings.TrimRight(lines[3], " "); got != strings.TrimRight(tc.want, " ") {
			t.Errorf("%d cells: %q, want %q", tc.w, got, tc.want)
		}
	}
}

// What most rows have is said once; the rows that differ from the rest are marked.
// A call that has no room keeps the end of its path, and what came of it.
func TestDrawTitle_keepsTheEndOfAPath(t *testing.T) {
	for _, c := range []struct {
		title string
		w     int
		want  string
	}{
		{"◱ packages/tui/src/editor.ts 1-80", 30, "◱ …/tui/src/editor.ts 1-80"},
		{"✎ packages/tui/src/components/editor.ts  +3 −1", 30, "✎ …/editor.ts  +3 −1"},
		{"✎ packages/a_name_longer_than_all_the_room.ts", 30, "✎ …longer_than_all_the_room.ts"},
		{"grep borderColor in packages/tui/src  3 lines", 36, "grep borderColor in …/src  3 lines"},
		{"$ npx tsc --noEmit --project packages/tui/src/tsconfig.json  exit 1: TS2339 Property 'x'", 60, "$ npx tsc --noEmit --project p…  exit 1: TS2339 Property 'x'"},
		{"fetch https://a.example/docs/a-page  12 lines", 30, "fetch https://a.exa…  12 lines"},
		{"◱ src/a.ts 1-80 · ◱ packages/tui/src/editor.ts 1-80", 40, "◱ src/a.ts 1-80 · ◱ packages/tui/src/ed…"},
		{"I moved packages/tui/src/editor.ts to packages/editor", 30, "I moved packages/tui/src/edit…"},
		{"◱ src/editor.ts 1-80", 30, "◱ src/editor.ts 1-80"},
	} {
		g := &styles().Glyphs
		r := cell.Begin(nil, g, c.w)
		drawTitle(&r, theme.Style{}, c.title, c.w, g.Ellipsis)
		if got := strings.TrimRight(ansi.Strip(string(r.End(theme.Style{}))), " "); got != c.want {
			t.Errorf("%q in %d cells: %q, want %q", c.title, c.w, got, c.want)
		}
	}
}

func TestPane_usualMarksAreSaidOnce(t *testing.T) {
	some := func(n int) []model.Header {
		headers := trip(t)
		for i := range n {
			headers[i].Marks |= model.MarkInferred
		}
		return headers
	}
	few := pane(t, some(2), 54, 30)
	if got := picture(t, few, 54, 30); strings.Count(got, "~ ") != 2 || strings.Contains(few.Position(), "inferred") {
		t.Errorf("two of them, foot %q:\n%s", few.Position(), got)
	}
	most := pane(t, some(17), 54, 30)
	if got := picture(t, most, 54, 30); strings.Contains(got, "~ ") || most.Position() != "parents inferred · 20 of 20" {
		t.Errorf("most of them, foot %q:\n%s", most.Position(), got)
	}
}

func TestPane_marksFaultySnapshots(t *testing.T) {
	headers := trip(t)
	p := pane(t, headers, 54, 30)
	p.Fault(map[string]struct{}{headers[2].ID: {}, "another": {}})
	lines := strings.Split(picture(t, p, 54, 30), "\n")
	if want := "  ○    2   end  ! The 09:40"; !strings.HasPrefix(lines[2], want) || strings.Contains(lines[1], "!") {
		t.Errorf("%q, want %q…", lines[2], want)
	}
	p.Select(2)
	if got := picture(t, p, 54, 30); !strings.Contains(got, " turn 1 · ! damaged · The") {
		t.Errorf("the line at the bottom:\n%s", got)
	}
	p.Fault(nil)
	if got := picture(t, p, 54, 30); strings.Contains(got, "!") && strings.Contains(got, "damaged") {
		t.Errorf("the fault stays:\n%s", got)
	}
}

func TestPane_goesFromErrorToError(t *testing.T) {
	headers := trip(t)
	headers[11].Marks |= model.MarkError
	p := pane(t, headers, 80, 12)
	for _, want := range []model.Node{3, 11, 3} { // from the head it begins again
		at := p.NextFailed()
		if p.SelectedNode() != want || at != 1 && want == 3 || at != 2 && want == 11 {
			t.Errorf("error %d at %d, want it at %d", at, p.SelectedNode(), want)
		}
	}
	none := pane(t, turns()[:1], 80, 12)
	if none.CountFailed() != 0 || none.NextFailed() != 0 || none.SelectedNode() != 0 {
		t.Error("there is an error")
	}
	steps := pane(t, turns(), 60, 12)
	steps.NextFailed()
	if steps.SelectedNode() != 2 || !strings.Contains(picture(t, steps, 60, 12), "▌ │ ·") {
		t.Errorf("an error in a step that is closed: at %d", steps.SelectedNode())
	}
}

func BenchmarkPane_frame(b *testing.B) {
	for _, n := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			headers := make([]model.Header, n)
			for i := range headers {
				headers[i] = model.Header{ID: fmt.Sprintf("%064x", i), SessionID: "s", Index: i, TurnIndex: i / 3, Visit: int64(i + 1), ParentVisit: int64(i), Title: "Booked the 09:40 to Lyon."}
			}
			p := pane(b, headers, 80, 48)
			dst := make([]byte, 0, 64<<10)
			for b.Loop() {
				p.Do(keymap.MoveUp)
				dst = dst[:0]
				for y := range 48 {
					dst = p.AppendRow(dst, y)
				}
			}
		})
	}
}

// turns is a session in which two turns have steps: the one left behind, and the
// last, whose turn was not counted yet.
func turns() []model.Header {
	at := func(s int) time.Time { return time.Date(2026, time.November, 21, 12, 0, s, 0, time.UTC) }
	step := func(visit int64, id, parent string, index int, s int, title string) model.Header {
		return model.Header{ID: id, ParentID: parent, SessionID: "s", Visit: visit, ParentVisit: visit - 1, Index: index, TurnIndex: index,
			CreatedAt: at(s), Event: model.SnapshotEventToolIterationEnd, Title: title, Marks: model.MarkTraced}
	}
	turn := func(visit, follows int64, id, parent string, index int, s int) model.Header {
		return model.Header{ID: id, ParentID: parent, SessionID: "s", Visit: visit, ParentVisit: follows, Index: index, TurnIndex: index, CreatedAt: at(s)}
	}
	list := []model.Header{
		turn(1, 0, "aaaa", "", 0, 0),
		step(2, "s1s1", "aaaa", 1, 1, "tool look → ok"), step(3, "s2s2", "s1s1", 1, 2, "tool book → error"),
		turn(4, 3, "bbbb", "aaaa", 1, 3),
		turn(5, 1, "cccc", "aaaa", 2, 4),
		step(6, "s3s3", "cccc", 3, 5, "tool pay → ok"),
		turn(7, 6, "dddd", "cccc", 3, 6),
	}
	list[2].Marks |= model.MarkError
	list[6].TurnIndex = model.TurnUnknown
	return list
}

func TestPane_stepsAreClosedUntilAskedFor(t *testing.T) {
	p := pane(t, turns(), 60, 8)
	check(t, picture(t, p, 60, 8), `
  ○   0   end
  ├─╮   another branch was chosen
  │ ◌ 1   end    ▸2                                     +3s
  ○   2   end                                           +4s
▌ ◉   3   end    ▸1                                     +2s


 turn … · ◉ the framework resumes here · turn end · dddd
`)
	for _, do := range []keymap.Action{keymap.Unfold, keymap.StepBack} {
		p.Do(do)
	}
	check(t, picture(t, p, 60, 8), `
  ○   0   end
  ├─╮   another branch was chosen
  │ ◌ 1   end    ▸2                                     +3s
  ○   2   end                                           +4s
▌ ·    :1 tool   tool pay → ok                          +1s
  ◉   3   end                                           +1s

 turn 3 · a step of #3, from its trace · tool iteration
`)
	p.Select(p.t.EndOf(1))
	p.Do(keymap.Unfold)
	p.Resize(60, 10)
	check(t, picture(t, p, 60, 10), `
  ○   0   end
  ├─╮   another branch was chosen
  │ ·  :1 tool   tool look → ok                         +1s
  │ ·  :2 tool ✗ tool book → error                      +1s
▌ │ ◌ 1   end                                           +1s
  ○   2   end                                           +4s
  ·    :1 tool   tool pay → ok                          +1s
  ◉   3   end                                           +1s

 turn 1 · ◌ #1 another branch was chosen · turn end
`)
}

// The keys walk what shows: steps that are closed are passed over, and open when
// a search or a click names them.
func TestPane_keysAndSteps(t *testing.T) {
	p := pane(t, turns(), 60, 10)
	walk := func(want string, actions ...keymap.Action) {
		t.Helper()
		for _, a := range actions {
			p.Do(a)
		}
		if got := p.t.Header(p.SelectedNode()).ID; got != want {
			t.Errorf("%v: at %s, not %s", actions, got, want)
		}
	}
	walk("cccc", keymap.StepBack)
	walk("aaaa", keymap.StepBack)
	walk("cccc", keymap.StepForward)
	walk("dddd", keymap.StepForward)
	walk("cccc", keymap.Parent)
	walk("dddd", keymap.Child)
	walk("s3s3", keymap.Unfold, keymap.StepBack)
	walk("cccc", keymap.StepBack)
	walk("s3s3", keymap.StepForward)
	walk("dddd", keymap.Fold) // the step is hidden, and its snapshot stands for it
	walk("bbbb", keymap.GoHead, keymap.StepBack, keymap.StepBack, keymap.Child)
	walk("bbbb", keymap.Unfold)
	walk("s1s1", keymap.Parent, keymap.Parent)
	walk("bbbb", keymap.Fold)
	walk("aaaa", keymap.Fold) // and then the branch
	p.Select(2)
	walk("s2s2")
	found, err := Find(t.Context(), p.c, Labels{}, "step")
	if err != nil || found.Len() != 3 {
		t.Errorf("step: %d matches, %v", found.Len(), err)
	}
	if found, err = Find(t.Context(), p.c, Labels{}, "#3"); err != nil || found.Len() != 1 {
		t.Errorf("#3: %d matches, %v", found.Len(), err)
	}
	if got := p.Status(); got != "4 snapshots · 1 off the path" {
		t.Errorf("status %q", got)
	}
}

// A trace is written after the snapshot that its turn ended in: its steps come in
// before that, and everything else stays where it is.
func TestPane_stepsComeInLater(t *testing.T) {
	var bare []model.Header
	for _, h := range turns()[:5] {
		if h.Marks.Has(model.MarkTraced) {
			continue
		}
		h.Visit, h.ParentVisit = 0, 0
		bare = append(bare, h)
	}
	p := pane(t, bare, 60, 8)
	p.Select(0)
	p.Do(keymap.Fold)
	p.Mark(2)
	p.Renew(Prepare(model.NewTimeline(turns()[:5])), Matches{})
	check(t, picture(t, p, 60, 8), `
▌ ○   0   end    ▸3 hidden
 =◉   2   end                                           +4s





 turn 0 · ◌ from here: #1 another branch was chosen
`)
	p.Do(keymap.Unfold)
	p.Do(keymap.Child)
	p.Do(keymap.Unfold)
	p.Renew(Prepare(model.NewTimeline(turns())), Matches{})
	check(t, picture(t, p, 60, 8), `
  ○   0   end
  ├─╮   another branch was chosen
  │ ·  :1 tool   tool look → ok                         +1s
  │ ·  :2 tool ✗ tool book → error                      +1s
▌ │ ◌ 1   end                                           +1s
 =○   2   end                                           +4s
  ◉   3   end    ▸1                                     +2s
 turn 1 · ◌ #1 another branch was chosen · turn end
`)
}
