package model

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A plan names visits as their timeline does, and a run of them in one line.
func TestPlan_LinesAreRangesInDrawingOrder(t *testing.T) {
	headers, _ := picture{"", `
a - v1           ¦
b a v2           ¦
c b v3 orphaned  ¦
d c v4 orphaned  ¦
e b v5           ¦
f e v6           ¦
s f v7 step #4   ¦
a s v8 #4 head   ¦
`}.read(t)
	tl := NewTimeline(headers)
	plan := Plan{
		Op: OpRestore, Session: "s",
		Target: Point{ID: "a", Visit: 1}, Head: Point{ID: "a", Index: 4},
		Orphans: []Point{{ID: "b", Index: 1, Visit: 2}, {ID: "d", Index: 3, Visit: 4}, {ID: "e", Index: 2, Visit: 5}, {ID: "f", Index: 3, Visit: 6}, {ID: "a", Index: 4}},
	}
	lines := func() string {
		var text []string
		for _, line := range plan.Lines() {
			text = append(text, line.Label()+": "+line.Text)
		}
		return strings.Join(text, "\n")
	}
	if want := "head now: #4 a\nhead then: #0 a\nleaves path: #1 b\nleaves path: #3 d\nleaves path: #2 … #4, 3 snapshots"; lines() != want {
		t.Errorf("without names the plan is\n%s\nnot\n%s", lines(), want)
	}
	tl.NamePlan(&plan)
	if want := "head now: #4 a\nhead then: #0 a\nleaves path: #1 b\nleaves path: #3.1 d\nleaves path: #2.2 … #4, 3 snapshots"; lines() != want {
		t.Errorf("the plan is\n%s\nnot\n%s", lines(), want)
	}
	if plan.Target.Name != "#0" || plan.Head.Name != "#4" || plan.Orphans[2].Name != "#2.2" || plan.Orphans[1].Name != "#3.1" {
		t.Errorf("names: target %s, head %s, %+v", plan.Target.Name, plan.Head.Name, plan.Orphans)
	}
	for spec, want := range map[string]string{"#2.2": "restore s to #2.2", "#4": "restore s to #4"} {
		n, err := tl.Resolve(spec)
		if err != nil {
			t.Fatal(err)
		}
		h := tl.Header(n)
		p := Plan{Op: OpRestore, Session: "s", Target: h.Point()}
		if tl.NamePlan(&p); p.Headline() != want {
			t.Errorf("%s: the headline is %q", spec, p.Headline())
		}
	}
}

// However many snapshots leave the path, a plan is a few lines.
func TestPlan_LinesAreFew(t *testing.T) {
	const n = 50_000
	headers := make([]Header, n)
	for i := range headers {
		headers[i] = Header{ID: fmt.Sprint("id", i), Index: i}
		if i > 0 {
			headers[i].ParentID = headers[i-1].ID
		}
	}
	tl := NewTimeline(headers)
	plan := Plan{Op: OpRestore, Target: Point{ID: "id0"}}
	for i := range headers[1:] {
		plan.Orphans = append(plan.Orphans, Point{ID: headers[i+1].ID, Index: i + 1})
	}
	tl.NamePlan(&plan)
	if got := plan.Lines()[2].Text; got != "#1 … #49999, 49999 snapshots" {
		t.Errorf("one run is %q", got)
	}
	plan.Orphans = slices.DeleteFunc(plan.Orphans, func(it Point) bool { return it.Index%100 == 0 })
	lines := plan.Lines()
	if len(lines) != 2+mostRanges+1 || lines[3].Text != "#101 … #199, 99 snapshots" || lines[10].Text != fmt.Sprintf("and %d more snapshots", len(plan.Orphans)-mostRanges*99) {
		t.Errorf("500 runs are %d lines: %q", len(lines), lines)
	}
}

// Lines come in the order of their kinds wherever they are from, each with a label; one
// without a text is left out.
func TestPlan_LinesAreInTheOrderOfTheirKinds(t *testing.T) {
	plan := Plan{
		Op: OpRestore, Session: "s", Target: Point{ID: "a"}, Head: Point{ID: "b", Index: 1},
		Orphans: []Point{{ID: "b", Index: 1}}, Reactivates: []Point{{ID: "c", Index: 2}},
		Writes: []string{"a row"}, Files: []PlanFile{{Path: "f", Does: FileSetAside}},
		Loads: "the state", Resume: []Resume{{"go()", "goes on"}}, Hazards: []string{"careful"}, Asks: []string{"sure"},
	}
	var labels []string
	for _, line := range plan.Lines(PlanLine{Kind: PlanSDK, Text: "1.2"}, PlanLine{Kind: PlanState, Text: "+1"}, PlanLine{Kind: PlanLoads}) {
		labels = append(labels, line.Label())
	}
	want := "asks, warning, head now, head then, leaves path, comes back, state, loads, resume, sdk, writes, set aside"
	if got := strings.Join(labels, ", "); got != want {
		t.Errorf("the lines are\n%s\nnot\n%s", got, want)
	}
	for kind := range PlanFiles {
		if (PlanLine{Kind: kind}).Label() == "" {
			t.Errorf("kind %d has no label", kind)
		}
	}
}
