package model

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hindcast/model/jsontape/jsontest"
)

// shapes are trees of n nodes by the parent of each, which comes before it.
var shapes = map[string]func(rng *rand.Rand, n int) []int{
	"random": func(rng *rand.Rand, n int) []int {
		return parents(n, func(i int) int { return rng.IntN(i) })
	},
	"history": func(rng *rand.Rand, n int) []int { return history(rng, n) },
	"line":    func(_ *rand.Rand, n int) []int { return parents(n, func(i int) int { return i - 1 }) },
	"star":    func(_ *rand.Rand, n int) []int { return parents(n, func(int) int { return 0 }) },
	"binary":  func(_ *rand.Rand, n int) []int { return parents(n, func(i int) int { return (i - 1) / 2 }) },
	// A line on which each node has a leaf besides.
	"comb": func(_ *rand.Rand, n int) []int { return parents(n, func(i int) int { return max(0, i-1-(i+1)%2) }) },
	// A line, then leaves anywhere on it.
	"caterpillar": func(rng *rand.Rand, n int) []int {
		return parents(n, func(i int) int {
			if i < n/2 {
				return i - 1
			}
			return rng.IntN(max(1, n/2))
		})
	},
	// The shape that needs the most lanes: a full binary tree below a root that
	// is the head.
	"worst": func(_ *rand.Rand, n int) []int {
		return parents(n, func(i int) int {
			if i == 1 {
				return 0
			}
			return i / 2
		})
	},
}

func parents(n int, of func(i int) int) []int {
	tree := make([]int, n)
	for i := range tree {
		tree[i] = -1
		if i > 0 {
			tree[i] = of(i)
		}
	}
	return tree
}

// history is a line with a restore about every 50 nodes, some nodes back.
func history(rng *rand.Rand, n int) []int {
	at := -1
	return parents(n, func(i int) int {
		at = i - 1
		if rng.IntN(50) == 0 {
			at = max(0, at-1-rng.IntN(40))
		}
		return at
	})
}

// headersOf returns headers for a tree, with ids as long as real ones.
func headersOf(tree []int) []Header {
	headers := make([]Header, len(tree))
	for i, p := range tree {
		h := &headers[i]
		*h = Header{ID: SnapshotID(strconv.AppendInt(nil, int64(i), 10)), SessionID: "s", CreatedAt: epoch.Add(time.Duration(i) * time.Second)}
		if p >= 0 {
			h.ParentID, h.Index = headers[p].ID, headers[p].Index+1
		}
	}
	return headers
}

func TestTimeline_neverNeedsMoreLanesThanTheLogarithm(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	sizes := []int{100, 1000, 4095, 4096, 10_000}
	for n := 1; n <= 40; n++ {
		sizes = append(sizes, n)
	}
	for name, shape := range shapes {
		for _, n := range sizes {
			headers := headersOf(shape(rng, n))
			for _, head := range []int{0, n - 1, rng.IntN(n)} {
				marked := slices.Clone(headers)
				marked[head].Head = true
				if got, most := NewTimeline(marked).Lanes(), bits.Len(uint(n)); got > most {
					t.Errorf("%s of %d with head %d: %d lanes, more than %d", name, n, head, got, most)
				}
			}
		}
	}
}

// The bound cannot be lower.
func TestTimeline_needsAsManyLanesAsTheLogarithm(t *testing.T) {
	for k := range 14 {
		n := 1 << k
		headers := headersOf(shapes["worst"](nil, n))
		headers[0].Head = true
		if got := NewTimeline(headers).Lanes(); got != k+1 {
			t.Errorf("the worst tree of %d: %d lanes, not %d", n, got, k+1)
		}
	}
}

// oracle is a timeline worked out as plainly as can be.
type oracle struct {
	headers []Header
	parent  []Node
	head    Node
	path    map[Node]bool
	rows    []Row
	gutters []string
	lanes   int
}

func newOracle(headers []Header) *oracle {
	o := &oracle{headers: headers, head: NoNode, path: make(map[Node]bool)}
	for i := range headers {
		o.parent = append(o.parent, o.findParent(i))
	}
	for i := range headers {
		o.cut(Node(i))
	}
	o.findHead()
	for n := o.head; n != NoNode; n = o.parent[n] {
		o.path[n] = true
	}
	o.drawAll()
	return o
}

func (o *oracle) findParent(i int) Node {
	h := &o.headers[i]
	fits := func(other Header) bool {
		if h.ParentVisit != 0 {
			return other.SessionID == h.SessionID && other.Visit == h.ParentVisit
		}
		return h.ParentID != "" && other.SessionID == h.SessionID && other.ID == h.ParentID
	}
	for j := i - 1; j >= 0; j-- {
		if fits(o.headers[j]) {
			return Node(j)
		}
	}
	if h.ParentVisit == 0 && h.ParentID == h.ID {
		return NoNode
	}
	for j := i + 1; j < len(o.headers); j++ {
		if fits(o.headers[j]) {
			return Node(j)
		}
	}
	return NoNode
}

// cut opens the circle that n is in, if it is in one.
func (o *oracle) cut(n Node) {
	circle := []Node{n}
	for at := o.parent[n]; at != n; at = o.parent[at] {
		if at == NoNode || len(circle) > len(o.headers) {
			return
		}
		circle = append(circle, at)
	}
	lowest := slices.MinFunc(circle, o.compare)
	o.parent[lowest] = NoNode
}

func (o *oracle) compare(a, b Node) int {
	if c := CompareHeaders(&o.headers[a], &o.headers[b]); c != 0 {
		return c
	}
	return int(a - b)
}

func (o *oracle) children(n Node) (children []Node) {
	for i, p := range o.parent {
		if p == n {
			children = append(children, Node(i))
		}
	}
	return children
}

func (o *oracle) findHead() {
	for i := range o.headers {
		if o.headers[i].Head {
			o.head = Node(i)
		}
	}
	if o.head != NoNode {
		return
	}
	for i := range o.headers {
		if h := &o.headers[i]; h.Orphaned || o.traced(Node(i)) || slices.ContainsFunc(o.children(Node(i)), o.live) {
			continue
		}
		if o.head == NoNode || o.compare(Node(i), o.head) > 0 {
			o.head = Node(i)
		}
	}
}

func (o *oracle) traced(n Node) bool { return o.headers[n].Marks.Has(MarkTraced) }

// live reports whether n is a snapshot that is not orphaned, or one follows its steps.
func (o *oracle) live(n Node) bool {
	if o.traced(n) {
		return slices.ContainsFunc(o.children(n), o.live)
	}
	return !o.headers[n].Orphaned
}

// snapshots counts all snapshots and those off the path.
func (o *oracle) snapshots() (all, orphans int) {
	for i := range o.headers {
		if !o.traced(Node(i)) {
			all++
			if !o.path[Node(i)] {
				orphans++
			}
		}
	}
	return all, orphans
}

func (o *oracle) size(n Node) int {
	size := 1
	for _, c := range o.children(n) {
		size += o.size(c)
	}
	return size
}

// next is the child that keeps the lane of n.
func (o *oracle) next(n Node) Node {
	keep := NoNode
	for _, c := range o.children(n) {
		switch {
		case o.path[n]:
			if o.path[c] {
				return c
			}
		case keep == NoNode || o.size(c) >= o.size(keep):
			keep = c
		}
	}
	return keep
}

func (o *oracle) drawAll() {
	roots := o.children(NoNode)
	slices.SortStableFunc(roots, func(a, b Node) int {
		if o.path[a] != o.path[b] {
			if o.path[a] {
				return 1
			}
			return -1
		}
		return 0
	})
	for i, root := range roots {
		h := &o.headers[root]
		switch {
		case h.ParentID != "" || h.ParentVisit != 0:
			o.add(Row{RowBreak, NoNode, root, 0}, "╳")
		case i > 0:
			o.add(Row{RowGap, NoNode, root, 0}, "")
		}
		o.draw(root, 0, "")
	}
}

func (o *oracle) add(row Row, gutter string) {
	o.rows, o.gutters = append(o.rows, row), append(o.gutters, gutter)
	o.lanes = max(o.lanes, row.Lane+1)
}

// draw draws n and all below it; outer is what the lanes to its left show.
func (o *oracle) draw(n Node, lane int, outer string) {
	shape := map[bool]string{true: "○", false: "◌"}[o.path[n]]
	switch {
	case n == o.head:
		shape = "◉"
	case o.traced(n):
		shape = "·"
	}
	o.add(Row{RowNode, n, n, lane}, outer+shape)
	keep := o.next(n)
	branches := slices.DeleteFunc(o.children(n), func(c Node) bool { return c == keep })
	for i, c := range branches {
		corner, line := "├─╮", "│ "
		if i == len(branches)-1 && keep == NoNode {
			corner, line = "╰─╮", "  "
		}
		o.add(Row{RowBranch, NoNode, n, lane}, outer+corner)
		o.draw(c, lane+1, outer+line)
	}
	if keep != NoNode {
		o.draw(keep, lane, outer)
	}
}

func (o *oracle) branchPoint(n Node) bool {
	return slices.ContainsFunc(o.rows, func(r Row) bool { return r.Kind == RowBranch && r.At == n })
}

// check compares a timeline with the oracle.
func (o *oracle) check(t *testing.T, tl *Timeline) {
	t.Helper()
	all, orphans := o.snapshots()
	if tl.Head() != o.head || tl.Orphans() != orphans || tl.Snapshots() != all || tl.Len() != len(o.headers) {
		t.Fatalf("head %d, %d orphans of %d; not head %d, %d of %d", tl.Head(), tl.Orphans(), tl.Snapshots(), o.head, orphans, all)
	}
	rows := []Row(nil)
	for i := range tl.Rows() {
		rows = append(rows, tl.Row(i))
	}
	if !slices.Equal(rows, o.rows) {
		t.Fatalf("rows\n%v\nnot\n%v", rows, o.rows)
	}
	for i, row := range rows {
		if row.Node != NoNode && tl.RowOf(row.Node) != i {
			t.Fatalf("RowOf(%d) is %d, not %d", row.Node, tl.RowOf(row.Node), i)
		}
		if got := strings.TrimRight(string(tl.AppendGutter(nil, i, tl.Lanes(), GlyphsUnicode)), " "); got != o.gutters[i] {
			t.Fatalf("row %d is drawn as %q, not %q", i, got, o.gutters[i])
		}
	}
	if tl.Lanes() != o.lanes {
		t.Fatalf("%d lanes, not %d", tl.Lanes(), o.lanes)
	}
	for i := range o.headers {
		n := Node(i)
		if tl.Parent(n) != o.parent[n] || tl.Prev(n) != o.parent[n] || tl.OnPath(n) != o.path[n] || tl.Next(n) != o.next(n) {
			t.Fatalf("node %d: parent %d, on path %v, next %d; not %d, %v, %d", n, tl.Parent(n), tl.OnPath(n), tl.Next(n), o.parent[n], o.path[n], o.next(n))
		}
		if children := slices.Collect(tl.Children(n)); !slices.Equal(children, o.children(n)) {
			t.Fatalf("children of %d are %v, not %v", n, children, o.children(n))
		}
		if tl.BranchPoint(n) != o.branchPoint(n) {
			t.Fatalf("branch point %d: %v", n, tl.BranchPoint(n))
		}
		on := o.next(n)
		for on != NoNode && !o.branchPoint(on) {
			on = o.next(on)
		}
		if tl.NextBranchPoint(n) != on {
			t.Fatalf("the branch point after %d is %d, not %d", n, tl.NextBranchPoint(n), on)
		}
		if reason := tl.Reason(n); (reason.Kind == ReasonUnknown) != o.path[n] {
			t.Fatalf("node %d, on path %v, has the reason %v", n, o.path[n], reason.Kind)
		}
	}
}

// randomHeaders returns headers in any state of repair.
func randomHeaders(rng *rand.Rand) []Header {
	n := rng.IntN(24)
	visits := rng.IntN(3) == 0
	orphans, damage := rng.IntN(4), rng.IntN(4)
	traced := max(0, rng.IntN(8)-4)
	headers := make([]Header, n)
	for i := range headers {
		h := &headers[i]
		*h = Header{ID: fmt.Sprint("id", i), SessionID: "s", Index: rng.IntN(6), Orphaned: rng.IntN(4) < orphans, Head: rng.IntN(40) == 0}
		h.CreatedAt = epoch.Add(time.Duration(rng.IntN(4)) * time.Second)
		if rng.IntN(4) < traced {
			h.Marks = MarkTraced
		}
		if visits {
			h.Visit = int64(i) + 3
		}
		if i > 0 {
			p := max(0, i-1-rng.IntN(3))
			h.ParentID, h.Index = headers[p].ID, headers[p].Index+1
			if visits && rng.IntN(2) == 0 {
				h.ParentVisit = headers[p].Visit
			}
		}
		if rng.IntN(8) >= damage {
			continue
		}
		switch rng.IntN(6) {
		case 0:
			h.ParentID = fmt.Sprint("id", rng.IntN(n+3))
		case 1:
			h.ID = fmt.Sprint("id", rng.IntN(n))
		case 2:
			h.SessionID = "other"
		case 3:
			h.ParentID, h.ParentVisit = "", 0
		case 4:
			h.ParentVisit = int64(rng.IntN(n + 6))
		case 5:
			h.Index = rng.IntN(3)
		}
	}
	return headers
}

func TestTimeline_isTheOraclesWhateverIsWrong(t *testing.T) {
	for seed := range uint64(4000) {
		headers := randomHeaders(rand.New(rand.NewPCG(seed, 1)))
		o := newOracle(headers)
		o.check(t, NewTimeline(slices.Clone(headers)))
		if t.Failed() {
			t.Fatalf("seed %d: %+v", seed, headers)
		}
	}
}

// However the headers are cut into batches, the timeline is the same.
func TestTimeline_AppendIsAsGoodAsNew(t *testing.T) {
	for seed := range uint64(4000) {
		rng := rand.New(rand.NewPCG(seed, 2))
		headers := randomHeaders(rng)
		first := rng.IntN(len(headers) + 1)
		tl := NewTimeline(slices.Clone(headers[:first]))
		for at := first; at < len(headers); {
			to := at + 1 + rng.IntN(min(4, len(headers)-at))
			tl.Append(headers[at:to]...)
			newOracle(headers[:to]).check(t, tl)
			if t.Failed() {
				t.Fatalf("seed %d, headers %d to %d: %+v", seed, at, to, headers)
			}
			at = to
		}
		if whole := NewTimeline(slices.Clone(headers)); !reflect.DeepEqual(reasons(tl), reasons(whole)) {
			t.Fatalf("seed %d: reasons %v, not %v", seed, reasons(tl), reasons(whole))
		}
	}
}

func reasons(tl *Timeline) (all []Reason) {
	for n := range tl.Len() {
		all = append(all, tl.Reason(Node(n)))
	}
	return all
}

// The common case takes no time that grows with the timeline.
func TestTimeline_AppendToTheHeadTouchesNothingElse(t *testing.T) {
	headers := headersOf(shapes["history"](rand.New(rand.NewPCG(1, 1)), 5000))
	for i := range headers {
		headers[i].Head = true // each was the head when it was written
	}
	tl := NewTimeline(slices.Clone(headers[:1000]))
	changes := tl.changes
	appended := 0
	for i := 1000; i < len(headers); i++ {
		follows := headers[i].ParentID == tl.Header(tl.Head()).ID
		tl.Append(headers[i])
		if follows != (tl.changes == changes) {
			t.Fatalf("header %d, child of the head %v: rows moved %v", i, follows, tl.changes != changes)
		}
		if changes = tl.changes; follows {
			appended++
		}
	}
	if appended < 3800 {
		t.Errorf("only %d of 4000 headers were children of the head", appended)
	}
}

func TestTimeline_AppendTakesTheHeadMark(t *testing.T) {
	tl := NewTimeline([]Header{{ID: "a", Head: true}})
	tl.Append(Header{ID: "b", ParentID: "a", Index: 1, Head: true})
	if tl.Head() != 1 || tl.Header(0).Head || len(tl.Faults()) > 0 {
		t.Errorf("head %d, a still bears the mark: %v, faults %v", tl.Head(), tl.Header(0).Head, tl.Faults())
	}
	// The store says where it stands, so what it does not call the head is not.
	tl.Append(Header{ID: "c", ParentID: "b", Index: 2})
	if tl.Head() != 1 || tl.Reason(2).Kind != ReasonPointer {
		t.Errorf("head %d, c %v", tl.Head(), tl.Reason(2).Kind)
	}
}

func TestTimeline_DescribedTellsWhatTheTreeKnows(t *testing.T) {
	tl := NewTimeline([]Header{
		{ID: "a"},
		{ID: "b", ParentID: "a", Index: 1, Orphaned: true},
		{ID: "c", ParentID: "a", Index: 1},
	})
	if h := tl.FullHeader(2); !h.Head || h.Reason != nil || tl.Header(2).Head {
		t.Errorf("the head is described as %+v", h)
	}
	h := tl.FullHeader(1)
	if want := (Reason{Kind: ReasonRestore, TargetID: "a", TargetName: "#0"}); h.Head || h.Reason == nil || *h.Reason != want {
		t.Errorf("the orphan is described as %+v", h)
	}
	if tl.Header(1).Reason != nil {
		t.Error("the header itself was written to")
	}
}

func TestTimeline_ReasonOfTheStoreWins(t *testing.T) {
	given := &Reason{Kind: ReasonRewind, TargetID: "a", TargetIndex: 0, At: epoch}
	tl := NewTimeline([]Header{
		{ID: "a"},
		{ID: "b", ParentID: "a", Index: 1, Orphaned: true, Reason: given},
		{ID: "c", ParentID: "a", Index: 1, Reason: given},
		{ID: "d", ParentID: "a", Index: 1, Orphaned: true, Reason: &Reason{}},
	})
	want := *given
	want.TargetName = "#0"
	if got := tl.Reason(1); got != want {
		t.Errorf("b: %+v", got)
	}
	if got := tl.Reason(2); got != (Reason{}) {
		t.Errorf("c, on the path: %+v", got)
	}
	if got := tl.Reason(3); got.Kind != ReasonRestore {
		t.Errorf("d, of which the store knows no reason: %+v", got)
	}
}

// Edges that lead nowhere, or in circles, take time that is linear too, and are
// named in few words.
func TestTimeline_damageNeverHangs(t *testing.T) {
	const large = 100_000
	damage := map[string]func(i, n int, h *Header){
		"one circle":         func(i, n int, h *Header) { h.ParentID = strconv.Itoa((i + 1) % n) },
		"circles of two":     func(i, n int, h *Header) { h.ParentID = strconv.Itoa(i ^ 1) },
		"no parent found":    func(i, n int, h *Header) { h.ParentID = "gone" },
		"all their own":      func(i, n int, h *Header) { h.ParentID = h.ID },
		"one id":             func(i, n int, h *Header) { h.ID, h.ParentID = "a", "a" },
		"children first":     func(i, n int, h *Header) { h.ParentID = strconv.Itoa(i + 1) },
		"a session for each": func(i, n int, h *Header) { h.SessionID, h.ID, h.ParentID = h.ID, "a", "a" },
		"visits all over":    func(i, n int, h *Header) { h.Visit, h.ParentVisit = int64(i)*7+1, int64((i*31)%n)*7+1 },
	}
	for name, spoil := range damage {
		t.Run(name, func(t *testing.T) {
			var tl *Timeline
			var faults []Fault
			jsontest.Linear(t, large, func(n int) func() {
				headers := make([]Header, n)
				for i := range headers {
					headers[i] = Header{ID: strconv.Itoa(i), SessionID: "s", Index: i}
					spoil(i, n, &headers[i])
				}
				return func() {
					tl = NewTimeline(headers)
					faults = tl.Faults()
				}
			})
			if len(faults) > 15*(maxFaultsOfKind+1) {
				t.Errorf("%d faults", len(faults))
			}
			if tl.Rows() < large || tl.Lanes() > bits.Len(large) {
				t.Errorf("%d rows, %d lanes", tl.Rows(), tl.Lanes())
			}
		})
	}
}

func FuzzTimeline(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x04\x05\x06\x07"), uint8(3))
	f.Add([]byte("\x20\x41\x62\x83\xa4\xc5\xe6\xff\x10\x31"), uint8(0))
	f.Add([]byte{0, 0, 1, 1, 2, 0x82, 0x83, 4, 0x44, 0xc1}, uint8(5))
	f.Fuzz(func(t *testing.T, data []byte, cut uint8) {
		data = data[:min(len(data), 40)]
		var headers []Header
		for i := 0; i+1 < len(data); i += 2 {
			who, how := data[i], data[i+1]
			headers = append(headers, Header{
				ID: strconv.Itoa(int(who & 15)), ParentID: strconv.Itoa(int(who >> 4)), SessionID: "s",
				Index: int(how & 7), Orphaned: how&8 != 0, Head: how&0xf0 == 0xf0,
			})
			if how&16 != 0 {
				headers[len(headers)-1].ParentID = ""
			}
		}
		o := newOracle(headers)
		o.check(t, NewTimeline(slices.Clone(headers)))
		at := min(int(cut), len(headers))
		tl := NewTimeline(slices.Clone(headers[:at]))
		for _, h := range headers[at:] {
			tl.Append(h)
		}
		o.check(t, tl)
	})
}
