package model

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// A picture is a table of two columns: left the headers in recorded order,
// right the drawing. A header is its id and its parent's, then words:
//
//	orphaned, head, error   the flags of the header
//	step                    it is a step of a turn
//	#4                      its index; else one more than its parent's
//	@4                      its time in seconds; else its position
//	v2, ^v1                 its visit, the visit that it follows
//	in:s                    its session
//
// "-" is no parent. A row of the drawing is the gutter and the id, and off the
// path the kind of the reason, with the index of its target.
type picture struct{ name, table string }

// epoch is second 0 of the pictures.
var epoch = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)

// read returns the two sides of the picture.
func (p picture) read(t testing.TB) (headers []Header, drawing []string) {
	t.Helper()
	index := make(map[string]int)
	for line := range strings.Lines(strings.Trim(p.table, "\n")) {
		left, right, ok := strings.Cut(strings.TrimRight(line, "\n"), "¦")
		if !ok {
			t.Fatalf("%s: no ¦ in %q", p.name, line)
		}
		if words := strings.Fields(left); len(words) > 0 {
			h := readHeader(t, words, index)
			if h.CreatedAt.IsZero() {
				h.CreatedAt = epoch.Add(time.Duration(len(headers)) * time.Second)
			}
			index[h.ID] = h.Index
			headers = append(headers, h)
		}
		drawing = append(drawing, strings.TrimRight(strings.TrimPrefix(right, " "), " "))
	}
	for len(drawing) > 0 && drawing[len(drawing)-1] == "" {
		drawing = drawing[:len(drawing)-1]
	}
	return headers, drawing
}

// readHeader reads one header of a picture; index has those read before.
func readHeader(t testing.TB, words []string, index map[string]int) Header {
	t.Helper()
	h := Header{ID: words[0], SessionID: "s"}
	if len(words) > 1 && words[1] != "-" {
		h.ParentID = words[1]
		if before, ok := index[h.ParentID]; ok {
			h.Index = before + 1
		}
	}
	for _, word := range words[min(2, len(words)):] {
		number := func(prefix string) int {
			n, err := strconv.Atoi(strings.TrimPrefix(word, prefix))
			if err != nil {
				t.Fatalf("%q: %v", words, err)
			}
			return n
		}
		switch {
		case word == "orphaned":
			h.Orphaned = true
		case word == "head":
			h.Head = true
		case word == "step":
			h.Marks |= MarkTraced
		case word == "error":
			h.Marks |= MarkError
		case strings.HasPrefix(word, "in:"):
			h.SessionID = word[len("in:"):]
		case word[0] == '#':
			h.Index = number("#")
		case word[0] == '@':
			h.CreatedAt = epoch.Add(time.Duration(number("@")) * time.Second)
		case strings.HasPrefix(word, "^v"):
			h.ParentVisit = int64(number("^v"))
		case word[0] == 'v':
			h.Visit = int64(number("v"))
		default:
			t.Fatalf("%q: what is %q?", words, word)
		}
	}
	return h
}

// draw returns the drawing of a timeline in the manner of a picture.
func draw(tl *Timeline, set GlyphSet) []string {
	var rows []string
	for i := range tl.Rows() {
		row, line := tl.Row(i), string(tl.AppendGutter(nil, i, tl.Lanes(), set))
		if row.Node != NoNode {
			line += tl.Header(row.Node).ID
			if !tl.OnPath(row.Node) {
				reason := tl.Reason(row.Node)
				line += " " + reason.Kind.String()
				if reason.TargetID != "" {
					line += fmt.Sprintf(" #%d", reason.TargetIndex)
				}
			}
		}
		rows = append(rows, strings.TrimRight(line, " "))
	}
	return rows
}

// check compares a timeline with the drawing of a picture.
func (p picture) check(t *testing.T) *Timeline {
	t.Helper()
	headers, want := p.read(t)
	tl := NewTimeline(headers)
	if got := draw(tl, GlyphsUnicode); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s: drawn as\n%s\nnot as\n%s", p.name, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	return tl
}

func TestTimeline_draws(t *testing.T) {
	pictures := []picture{
		{"nothing", `
                 ¦
`}, {"one", `
a                ¦ ◉ a
`}, {"a line", `
a                ¦ ○ a
b a              ¦ ○ b
c b              ¦ ◉ c
`}, {"the screen of the design", `
0                ¦ ○   0
1 0              ¦ ○   1
2 1              ¦ ○   2
3 2 orphaned     ¦ ├─╮
4 3 orphaned     ¦ │ ◌ 3 restore #2
5 2              ¦ │ ◌ 4 restore #2
6 5              ¦ ○   5
                 ¦ ◉   6
`}, {"restored, and nothing new yet", `
0                ¦ ○   0
1 0              ¦ ◉   1
2 1 orphaned     ¦ ╰─╮
3 2 orphaned     ¦   ◌ 2 restore #1
                 ¦   ◌ 3 restore #1
`}, {"restored twice to one place, and nothing new yet", `
0                ¦ ◉   0
1 0 orphaned     ¦ ├─╮
2 0 orphaned     ¦ │ ◌ 1 restore #0
3 2 orphaned     ¦ ╰─╮
                 ¦   ◌ 2 restore #0
                 ¦   ◌ 3 restore #0
`}, {"restored to different places: each branch names the restore that left it first", `
0                ¦ ○     0
1 0              ¦ ○     1
2 1 orphaned     ¦ ├─╮
3 2 orphaned     ¦ │ ◌   2 restore #1
4 3 orphaned     ¦ │ ◌   3 restore #1
5 3 orphaned     ¦ │ ├─╮
6 1              ¦ │ │ ◌ 4 restore #3
                 ¦ │ ◌   5 restore #1
                 ¦ ◉     6
`}, {"off the path the heaviest child keeps the lane", `
0                ¦ ○     0
1 0 orphaned     ¦ ├─╮
2 1 orphaned     ¦ │ ◌   1 restore #0
3 2 orphaned     ¦ │ ├─╮
4 1 orphaned     ¦ │ │ ◌ 4 restore #0
5 0              ¦ │ ◌   2 restore #1
                 ¦ │ ◌   3 restore #1
                 ¦ ◉     5
`}, {"a leaf that is second, another that failed", `
0                ¦ ○   0
1 0              ¦ ├─╮
2 0 error        ¦ │ ◌ 1 secondLeaf
3 0              ¦ ├─╮
                 ¦ │ ◌ 2 failedLeaf
                 ¦ ◉   3
`}, {"the pointer of the framework names an older leaf", `
0                ¦ ○   0
1 0 head         ¦ ├─╮
2 0              ¦ │ ◌ 2 pointer
3 2              ¦ │ ◌ 3 pointer
                 ¦ ◉   1
`}, {"the pointer of the framework names an earlier row", `
0 - head         ¦ ◉   0
1 0              ¦ ╰─╮
2 1              ¦   ◌ 1 pointer
                 ¦   ◌ 2 pointer
`}, {"what comes after the pointer was passed over, however old it is", `
0 - head #5      ¦ ◉   0
1 0 #3           ¦ ╰─╮
                 ¦   ◌ 1 pointer
`}, {"two sessions in one: the newer first visit leads to the head", `
a - #0           ¦ ◌ a secondLeaf
b a              ¦ ◌ b secondLeaf
c - #5           ¦
                 ¦ ◉ c
`}, {"everything was left", `
0 - orphaned     ¦ ◌ 0 restore
1 0 orphaned     ¦ ◌ 1 restore
`},
	}
	for _, p := range pictures {
		t.Run(p.name, func(t *testing.T) { p.check(t) })
	}
}

func TestRule10_damagedLineageIsDrawnAndNamed(t *testing.T) {
	pictures := []struct {
		picture
		faults string
	}{
		{picture{"missing parent, off the path", `
a                ¦ ╳
b a              ¦ ◌ x parentPruned
x gone #1        ¦ ◌ y parentPruned
y x #2           ¦
c b #9           ¦ ○ a
                 ¦ ○ b
                 ¦ ◉ c
`}, "missing-parent x; several-roots x"},
		{picture{"missing parent, on the path: the first rows were pruned", `
c gone #7        ¦ ╳
d c              ¦ ○ c
                 ¦ ◉ d
`}, "missing-parent c"},
		{picture{"its own parent", `
a a              ¦ ╳
b a              ¦ ○ a
                 ¦ ◉ b
`}, "self-parent a"},
		{picture{"a circle is cut at its lowest index", `
a                ¦ ╳
x z #3           ¦ ◌ y cycle
y x #2           ¦ ◌ z cycle
z y #4           ¦ ◌ x cycle
b a #9           ¦
                 ¦ ○ a
                 ¦ ◉ b
`}, "index-back x; parent-newer x; parent-cycle y; several-roots y"},
		{picture{"a circle with a tail, and nothing else", `
a b #1           ¦ ╳
b a #2           ¦ ○ a
c b #3           ¦ ○ b
                 ¦ ◉ c
`}, "parent-cycle a"},
		{picture{"a parent of another session", `
a                ¦ ◌ z secondLeaf
z - in:other #7  ¦ ╳
b z #1           ¦ ◌ b parentPruned
c a #9           ¦
                 ¦ ○ a
                 ¦ ◉ c
`}, "foreign-parent b; several-roots z; several-roots b"},
		{picture{"several roots", `
a                ¦ ◌ a secondLeaf
b                ¦
c                ¦ ◌ b secondLeaf
                 ¦
                 ¦ ◉ c
`}, "several-roots b; several-roots c"},
		{picture{"equal indexes on one path, and one that goes back", `
a - #4           ¦ ○ a
b a #4           ¦ ○ b
c b #3           ¦ ◉ c
`}, "equal-index b; index-back c"},
		{picture{"equal times, and a parent that is newer", `
a - @5           ¦ ○ a
b a @5           ¦ ○ b
c b @2           ¦ ◉ c
`}, "equal-time b; parent-newer c"},
		{picture{"a child that was recorded before its parent", `
c b #2 @2        ¦ ○ a
a - #0 @0        ¦ ○ b
b a #1 @1        ¦ ◉ c
`}, ""},
		{picture{"one visit twice", `
a - v1           ¦ ○   a
b a v2           ¦ ├─╮
c a v2           ¦ │ ◌ b secondLeaf
                 ¦ ◉   c
`}, "duplicate-visit c"},
		{picture{"a visit that does not follow the parent it names", `
a - v1           ¦ ○   a
b a v2           ¦ ├─╮
c b v3 ^v1       ¦ │ ◌ b secondLeaf
                 ¦ ◉   c
`}, "parent-mismatch c"},
		{picture{"a visit that follows one that is not there", `
a - v1           ¦ ◌ a secondLeaf
b a v2 ^v9       ¦ ╳
                 ¦ ◉ b
`}, "missing-parent b; several-roots b"},
		{picture{"two heads, and an orphan on the path", `
a - head         ¦ ○ a
b a orphaned     ¦ ○ b
c b head         ¦ ◉ c
`}, "several-heads a; orphaned-path b"},
	}
	for _, p := range pictures {
		t.Run(p.name, func(t *testing.T) {
			var got []string
			for _, fault := range p.check(t).Faults() {
				_, id, _ := strings.Cut(fault.File, "/")
				got = append(got, fault.Code+" "+id)
				if fault.Meaning == "" || fault.Verdict == "" {
					t.Errorf("%s: without a meaning or a verdict: %+v", fault.Code, fault)
				}
			}
			if strings.Join(got, "; ") != p.faults {
				t.Errorf("faults %q, not %q", strings.Join(got, "; "), p.faults)
			}
		})
	}
}

// Steps stand on the line to their snapshot, and leave with it; everything that
// is said of snapshots looks through them.
func TestTimeline_drawsStepsBeforeTheirSnapshot(t *testing.T) {
	pictures := []struct {
		picture
		faults, head string
		all, orphans int
	}{
		{picture{"two turns with steps", `
a - v1                     ¦ ○ a
s a v2 step #1 @1          ¦ · s
t s v3 step #1 @1          ¦ · t
b a v4 ^v3 #1 @1           ¦ ○ b
u b v5 step #2 error       ¦ · u
c b v6 ^v5 #2              ¦ ◉ c
`}, "", "c", 3, 0},
		{picture{"an abandoned turn", `
a - v1                     ¦ ○   a
s a v2 step #1             ¦ ├─╮
t s v3 step #1 error       ¦ │ · s failedLeaf
b a v4 ^v3 #1 error        ¦ │ · t failedLeaf
c a v5 #2                  ¦ │ ◌ b failedLeaf
                           ¦ ◉   c
`}, "", "c", 3, 1},
		{picture{"a turn that still runs is no head", `
a - v1                     ¦ ○   a
b a v2                     ¦ ◉   b
s b v3 step #2             ¦ ╰─╮
t s v4 step #2             ¦   · s secondLeaf
                           ¦   · t secondLeaf
`}, "", "b", 2, 0},
		{picture{"orphaned with its steps", `
a - v1                     ¦ ○   a
s a v2 step orphaned #1    ¦ ├─╮
b a v3 ^v2 orphaned #1     ¦ │ · s restore #0
c a v4 #1                  ¦ │ ◌ b restore #0
                           ¦ ◉   c
`}, "", "c", 3, 1},
		{picture{"the first turn has steps", `
s - v1 step #0             ¦ · s
a - v2 ^v1 #0              ¦ ○ a
b a v3                     ¦ ◉ b
`}, "", "b", 2, 0},
		{picture{"the parent was pruned", `
s gone v1 step #4          ¦ ╳
b gone v2 ^v1 #4           ¦ · s
c b v3                     ¦ ○ b
                           ¦ ◉ c
`}, "missing-parent b", "c", 2, 0},
		{picture{"its own parent", `
s - v1 step #0             ¦ · s
a a v2 ^v1 #0              ¦ ◉ a
`}, "self-parent a", "a", 1, 0},
		{picture{"another parent than the one before the steps", `
a - v1                     ¦ ○   a
b a v2                     ¦ ├─╮
s a v3 step #2             ¦ │ ◌ b secondLeaf
c b v4 ^v3 #2              ¦ ·   s
                           ¦ ◉   c
`}, "parent-mismatch c", "c", 3, 1},
		{picture{"an index that goes back behind steps", `
a - v1 #3                  ¦ ○ a
s a v2 step #3             ¦ · s
b a v3 ^v2 #3              ¦ ◉ b
`}, "equal-index b", "b", 2, 0},
		{picture{"several roots, told of snapshots", `
s - v1 step                ¦ · s secondLeaf
a - v2 ^v1                 ¦ ◌ a secondLeaf
t - v3 step #1             ¦
b - v4 ^v3 #1              ¦ · t
                           ¦ ◉ b
`}, "several-roots b", "b", 2, 1},
	}
	for _, p := range pictures {
		t.Run(p.name, func(t *testing.T) {
			tl := p.check(t)
			var got []string
			for _, fault := range tl.Faults() {
				got = append(got, fault.Code+" "+strings.TrimPrefix(fault.File, "s/"))
			}
			if strings.Join(got, "; ") != p.faults {
				t.Errorf("faults %q, not %q", strings.Join(got, "; "), p.faults)
			}
			if head := tl.Header(tl.Head()).ID; head != p.head || tl.Snapshots() != p.all || tl.Orphans() != p.orphans {
				t.Errorf("head %s, %d snapshots, %d orphans", head, tl.Snapshots(), tl.Orphans())
			}
		})
	}
}

// A snapshot is compared with a snapshot: what a step says of the state leaves out
// what its trace does not know.
func TestTimeline_BaseOfASnapshotIsASnapshot(t *testing.T) {
	headers, _ := picture{"", `
r - v1 step      ¦
a - v2 ^v1       ¦
s a v3 step #1   ¦
t s v4 step #1   ¦
b a v5 ^v4 #1    ¦
c b v6 #2        ¦
`}.read(t)
	tl := NewTimeline(headers)
	want := []Node{NoNode, NoNode, 1, 2, 1, 4}
	for n := range Node(tl.Len()) {
		if got := tl.Base(n); got != want[n] {
			t.Errorf("the base of %s is %d, not %d", tl.Header(n).ID, got, want[n])
		}
	}
}

// Numbers that a session does not have cannot be wrong.
func TestTimeline_FaultsJudgeNoNumbersThatAreNotThere(t *testing.T) {
	headers := []Header{{ID: "a"}, {ID: "b", ParentID: "a"}, {ID: "c", ParentID: "b"}}
	if faults := NewTimeline(headers).Faults(); len(faults) > 0 {
		t.Errorf("faults %v", faults)
	}
}

func TestTimeline_FaultsAreBounded(t *testing.T) {
	headers := make([]Header, 1000)
	for i := range headers {
		headers[i] = Header{ID: strconv.Itoa(i), ParentID: "gone", Index: i}
	}
	faults := NewTimeline(headers).Faults()
	if len(faults) != 2*(maxFaultsOfKind+1) {
		t.Fatalf("%d faults", len(faults))
	}
	if rest := faults[maxFaultsOfKind]; rest.Code != FaultMissingParent || rest.Meaning != "980 more of this kind" {
		t.Errorf("the rest is told as %+v", rest)
	}
}

func TestTimeline_drawsInASCII(t *testing.T) {
	headers, _ := picture{"", `
0                ¦
1 0              ¦
2 1 orphaned     ¦
3 2 orphaned     ¦
4 2 orphaned     ¦
5 gone orphaned  ¦
`}.read(t)
	want := `
x
%     5 parentPruned

o     0
@     1
` + "`-\\" + `
  %   2 restore #1
  +-\
  | % 3 restore #2
  %   4 restore #1`
	if got := strings.Join(draw(NewTimeline(headers), GlyphsASCII), "\n"); got != want[1:] {
		t.Errorf("drawn as\n%s\nnot as%s", got, want)
	}
}

// A deep row in a narrow gutter keeps its innermost lanes.
func TestTimeline_AppendGutterKeepsItsWidth(t *testing.T) {
	headers, _ := picture{"", `
0                ¦
1 0 orphaned     ¦
2 1 orphaned     ¦
3 2 orphaned     ¦
4 3 orphaned     ¦
5 3 orphaned     ¦
6 2 orphaned     ¦
7 6 orphaned     ¦
8 7 orphaned     ¦
9 7 orphaned     ¦
A 0              ¦
`}.read(t)
	tl := NewTimeline(headers)
	if tl.Lanes() != 4 {
		t.Fatalf("%d lanes, the picture needs 4", tl.Lanes())
	}
	deepest := tl.RowOf(4)
	for lanes, want := range []string{"", "◌ ", "… ◌ ", "… │ ◌ ", "│ │ │ ◌ ", "│ │ │ ◌   "} {
		if got := string(tl.AppendGutter(nil, deepest, lanes, GlyphsUnicode)); got != want {
			t.Errorf("node in %d lanes: %q, not %q", lanes, got, want)
		}
	}
	for lanes, want := range []string{"", "╮ ", "… ╮ ", "… ├─╮ ", "│ │ ├─╮ ", "│ │ ├─╮   "} {
		if got := string(tl.AppendGutter(nil, deepest-1, lanes, GlyphsUnicode)); got != want {
			t.Errorf("branch in %d lanes: %q, not %q", lanes, got, want)
		}
	}
	for lanes := range 6 {
		for row := range tl.Rows() {
			gutter := tl.AppendGutter([]byte("kept"), row, lanes, GlyphsUnicode)
			if !strings.HasPrefix(string(gutter), "kept") {
				t.Fatalf("row %d: dst is lost: %q", row, gutter)
			}
			if got := utf8.RuneCount(gutter) - len("kept"); got != 2*lanes {
				t.Errorf("row %d in %d lanes is %d columns wide", row, lanes, got)
			}
		}
	}
}
