package planning_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store/engine/planning"
)

// read returns a log of words: "b<a" is a row b with the parent a. Behind it stand "*" for the
// head, "~" for a row off the path and "^" for one that only the journal has.
func read(text string) planning.Log {
	log := planning.Log{Head: -1}
	aside := map[string]bool{}
	for i, word := range strings.Fields(text) {
		name := strings.TrimRight(word, "*~^")
		id, parent, _ := strings.Cut(name, "<")
		marks := word[len(name):]
		if strings.Contains(marks, "*") {
			log.Head = i
		}
		aside[id] = strings.Contains(marks, "^")
		log.Rows = append(log.Rows, model.Header{ID: id, ParentID: parent, Index: i, Orphaned: strings.Contains(marks, "~")})
	}
	log.Aside = func(id string) bool { return aside[id] }
	return log
}

// ids returns the ids of points, with spaces between.
func ids(points []model.Point) string {
	var list []string
	for _, p := range points {
		list = append(list, p.ID)
	}
	return strings.Join(list, " ")
}

// TestDifference: what leaves the path and what comes back are all rows whose place on the path is
// another one, in the order of the log.
func TestDifference(t *testing.T) {
	for _, c := range []struct {
		what, before, after, orphans, reactivates string
	}{
		{"nothing", "a b<a*", "a b<a*", "", ""},
		{"a restore", "a b<a c<b d<c*", "a b<a* c<b~ d<c~", "c d", ""},
		{"a way back", "a b<a* c<b~ d<c~", "a b<a c<b d<c*", "", "c d"},
		{"another branch", "a b<a* c<a~ d<c~ e<a~", "a b<a~ c<a d<c* e<a~", "b", "c d"},
		{"rows that go", "a b<a x~ c<b*", "a b<a*", "c", ""},
		{"a new row", "a b<a*", "a b<a c<b*", "", ""},
		{"into nothing", "a b<a*", "", "a b", ""},
		{"out of nothing", "", "a b<a*", "", ""},
	} {
		orphans, reactivates := planning.Difference(read(c.before), read(c.after))
		if ids(orphans) != c.orphans || ids(reactivates) != c.reactivates {
			t.Errorf("%s: %q leave and %q come back", c.what, ids(orphans), ids(reactivates))
		}
	}
	// A point is the whole of it.
	orphans, _ := planning.Difference(read("a b<a*"), read("a*"))
	if want := []model.Point{{ID: "b", Index: 1}}; !reflect.DeepEqual(orphans, want) {
		t.Errorf("%+v", orphans)
	}
}

// TestDifference_contents: where an id says only where a row is, a row of another content is another
// row, and one whose content stands elsewhere on the path is still on it.
func TestDifference_contents(t *testing.T) {
	of := func(text string, contents ...string) planning.Log {
		log := read(text)
		log.Contents = contents
		return log
	}
	for _, c := range []struct {
		what                 string
		before, after        planning.Log
		orphans, reactivates string
	}{
		{"the same", of("1 2<1*", "x", "y"), of("1 2<1*", "x", "y"), "", ""},
		{"another in its place", of("1 2<1*", "x", "y"), of("1 2<1*", "x", "z"), "2", ""},
		{"moved along", of("1 2<1*", "x", "y"), of("1 2<1 3<2*", "x", "z", "y"), "", ""},
		{"moved off the path", of("1 2<1*", "x", "y"), of("1 2<1* 3<1~", "x", "z", "y"), "2", ""},
		{"back elsewhere", of("1* 2<1~", "x", "y"), of("1 2<1 3<2*", "x", "z", "y"), "", "2"},
		{"no content is named", of("1 2<1*", "x", ""), of("1 3<1*", "x", ""), "2", ""},
		{"of two the second", of("1* 2<1~ 3<1~", "x", "v", "w"), of("1 3<1*", "x", "w"), "", "3"},
	} {
		orphans, reactivates := planning.Difference(c.before, c.after)
		if ids(orphans) != c.orphans || ids(reactivates) != c.reactivates {
			t.Errorf("%s: %q leave and %q come back", c.what, ids(orphans), ids(reactivates))
		}
	}
}

// TestLead: a plan says from where it goes, whether the head is a new row, and who leaves; of a session
// that it makes nothing leaves.
func TestLead(t *testing.T) {
	before, same, fresh := read("a b<a c<b*"), read("a b<a* c<b~"), read("a b<a c<b~ d<b*")
	none := planning.Log{Head: -1}
	for _, c := range []struct {
		what          string
		plan          model.Plan
		before, after planning.Log
		head          string
		newHead       bool
		orphans       string
	}{
		{"a restore to a row", model.Plan{Op: model.OpRestore}, before, same, "c", false, "c"},
		{"a restore by a new row", model.Plan{Op: model.OpRestore}, before, fresh, "c", true, "c"},
		{"a repair by a new row", model.Plan{Op: model.OpRepair}, before, fresh, "c", true, "c"},
		{"an undo", model.Plan{Op: model.OpUndo}, before, fresh, "c", false, "c"},
		{"a fork", model.Plan{Op: model.OpFork, NewSession: "other"}, before, fresh, "c", false, ""},
		{"a repair in a new session", model.Plan{Op: model.OpRepair, NewSession: "other"}, before, fresh, "c", false, ""},
		{"from the first row", model.Plan{Op: model.OpRestore}, read("a*"), read("a b<a*"), "a", true, ""},
		{"to nothing", model.Plan{Op: model.OpRestore}, before, none, "c", false, "a b c"},
		{"from nothing", model.Plan{Op: model.OpRestore}, none, before, "", true, ""},
	} {
		planning.Lead(&c.plan, c.before, c.after)
		if c.plan.Head.ID != c.head || c.plan.NewHead != c.newHead || ids(c.plan.Orphans) != c.orphans {
			t.Errorf("%s: from %q, new %t, %q leave", c.what, c.plan.Head.ID, c.plan.NewHead, ids(c.plan.Orphans))
		}
	}
	plan := model.Plan{Op: model.OpRestore, Head: model.Point{ID: "kept"}}
	if planning.Lead(&plan, none, none); plan.Head.ID != "kept" || plan.NewHead {
		t.Errorf("of no rows: %+v", plan)
	}
	back := model.Plan{Op: model.OpRestore}
	if planning.Lead(&back, same, before); ids(back.Reactivates) != "c" {
		t.Errorf("%q come back", ids(back.Reactivates))
	}
}

// TestNext_Tell adds to what a plan says already.
func TestNext_Tell(t *testing.T) {
	plan := model.Plan{Resume: []model.Resume{{Call: "1"}}, Hazards: []string{"2"}, Asks: []string{"3"}}
	planning.Next{Loads: "all", Calls: []model.Resume{{Call: "4"}}, Hazards: []string{"5"}, Asks: []string{"6"}}.Tell(&plan)
	want := model.Plan{Loads: "all", Resume: []model.Resume{{Call: "1"}, {Call: "4"}}, Hazards: []string{"2", "5"}, Asks: []string{"3", "6"}}
	if !reflect.DeepEqual(plan, want) {
		t.Errorf("%+v", plan)
	}
}

// TestLog_Point is the head, and nothing where there is none.
func TestLog_Point(t *testing.T) {
	if got := read("a* b<a").Point(); got != (model.Point{ID: "a"}) {
		t.Errorf("%+v", got)
	}
	if got := read("a b<a").Point(); got != (model.Point{}) {
		t.Errorf("%+v", got)
	}
}

// TestExpect names the first row that is not as the plan saw it. What only the journal has is neither
// missed nor found.
func TestExpect(t *testing.T) {
	placed := func(text string, places, contents []string) planning.Log {
		log := read(text)
		log.Places, log.Contents = places, contents
		return log
	}
	for _, c := range []struct {
		what         string
		want, now    planning.Log
		place, found string
	}{
		{"the same", read("a b<a c<b*"), read("a b<a c<b*"), "", ""},
		{"in another order", read("a b<a c<a"), read("a c<a b<a"), "", ""},
		{"one more", read("a b<a"), read("a b<a c<b"), "c", "came"},
		{"one less", read("a b<a"), read("a"), "b", "went"},
		{"the first of two that came", read("a"), read("a b<a c<b"), "b", "came"},
		{"another parent", read("a b<a c<b"), read("a b<a c<a"), "c", "was changed"},
		{"one twice", read("a b<a"), read("a b<a b<a"), "b", "came"},
		{"one aside that is not there", read("a b<a^"), read("a"), "", ""},
		{"one aside that was not planned", read("a"), read("a b<a^"), "", ""},
		{"the second aside, and one behind it", read("a"), read("a b<a^ c<b"), "c", "came"},
		{"aside, and then there", read("a b<a^"), read("a b<a"), "b", "came"},
		{"there, and then aside", read("a b<a"), read("a b<a^"), "b", "went"},
		{"elsewhere", placed("a b<a", []string{"1", "2"}, nil), placed("a b<a", []string{"1", "3"}, nil), "3", "was changed"},
		{"in its place", placed("a b<a", []string{"1", "2"}, nil), placed("a b<a", []string{"1", "2"}, nil), "", ""},
		{"gone from its place", placed("a b<a", []string{"1", "2"}, nil), placed("a", []string{"1"}, nil), "2", "went"},
		{"of another content", placed("a b<a", nil, []string{"x", "y"}), placed("a b<a", nil, []string{"x", "z"}), "b", "was changed"},
		{"of its content", placed("a b<a", nil, []string{"x", "y"}), placed("a b<a", nil, []string{"x", "y"}), "", ""},
	} {
		if place, found := planning.Expect(c.want, c.now); place != c.place || found != c.found {
			t.Errorf("%s: %q %s", c.what, place, found)
		}
	}
	all := read("a b<a")
	all.Aside = nil
	if place, found := planning.Expect(all, all); found != "" {
		t.Errorf("of a log that has all: %q %s", place, found)
	}
}

// TestLoses refuses what would take rows from the agent, and nothing else.
func TestLoses(t *testing.T) {
	restore := planning.Entry{ID: 7, Op: model.OpRestore, Session: "s", From: "c", Head: "d"}
	made := planning.Entry{ID: 7, Op: model.OpFork, Session: "s", Head: "b"}
	branch := planning.Entry{ID: 7, Op: model.OpFork, Session: "s", Head: "d", Within: true}
	for _, c := range []struct {
		what          string
		op            model.Op
		e             planning.Entry
		before, after string
		says          string // "" where nothing is lost
	}{
		{"an undo of a restore", model.OpUndo, restore, "a b<a c<b~ d<b*", "a b<a c<b*", ""},
		{"an undo that leads elsewhere", model.OpUndo, restore, "a b<a c<b~ d<b*", "a b<a*", `session "s" got other rows since write 7`},
		{"the agent went on from the new head", model.OpUndo, restore, "a b<a c<b~ d<b e<d*", "a b<a c<b* e<d", `row d of write 7 has the child #4`},
		{"and from a row behind it", model.OpUndo, restore, "a b<a c<b~ x<c d<b e<d*", "a b<a c<b* x<c e<d", `row d of write 7 has the child #5`},
		{"what goes has no child that stays", model.OpUndo, restore, "a b<a c<b~ d<b e<d*", "a b<a c<b*", ""},
		{"a child gets its old parent back", model.OpUndo, planning.Entry{ID: 7, Op: model.OpRestore, Session: "s", From: "c", Head: "c"}, "a x<a c<x*", "a c<a*", ""},
		{"a child keeps a parent that goes", model.OpUndo, planning.Entry{ID: 7, Op: model.OpRestore, Session: "s", Head: "c"}, "a x<a c<x*", "a c<x*", `row x of write 7 has the child #2`},
		{"a child gets its parent back, but the agent went on", model.OpUndo, planning.Entry{ID: 7, Op: model.OpRestore, Session: "s", Head: "c"}, "a x<a c<x d<c*", "a c<a d<c*", `row x of write 7 has the child #2`},
		{"from where is not known", model.OpUndo, planning.Entry{ID: 7, Op: model.OpRestore, Session: "s"}, "a b<a*", "a*", ""},
		{"the child of a row that goes is in the journal alone", model.OpUndo, restore, "a b<a c<b~ d<b* e<d^", "a b<a c<b* e<d^", ""},
		{"the row that goes stays in the journal", model.OpUndo, restore, "a b<a c<b~ d<b e<d*", "a b<a c<b* d<b^ e<d", `row d of write 7 has the child #4`},

		{"the parent is in the journal alone before", model.OpUndo, planning.Entry{ID: 7, Op: model.OpRestore, Session: "s", Head: "c"}, "p^ c<p*", "c<p*", ""},

		{"an undo of a fork", model.OpUndo, made, "a b<a*", "", ""},
		{"all that is left is in the journal", model.OpUndo, made, "a b<a*", "a^ b<a^", ""},
		{"the agent went on in the fork", model.OpUndo, made, "a b<a c<b*", "a^ c<b*", `session "s" got the row c since write 7 made it`},
		{"an undo of a branch", model.OpUndo, branch, "a b<a c<b* d<a", "a b<a c<b*", ""},

		{"a redo", model.OpRedo, restore, "a b<a c<b*", "a b<a c<b~ d<b*", ""},
		{"a redo that leads elsewhere", model.OpRedo, restore, "a b<a c<b*", "a b<a c<b*", `session "s" got other rows since write 7 was undone`},
		{"a redo to a head that is not known", model.OpRedo, planning.Entry{ID: 7, Op: model.OpRestore, Session: "s"}, "a*", "a b<a*", ""},
		{"a redo of a fork", model.OpRedo, made, "", "a b<a*", ""},
		{"a redo of a fork beside what the journal has", model.OpRedo, made, "x^", "a b<a*", ""},
		{"a redo of a fork whose name was taken", model.OpRedo, made, "x^ y", "a b<a*", `session "s" got other rows since write 7 was undone`},
		{"the same, with one behind it in the journal", model.OpRedo, made, "y x^", "a b<a*", `session "s" got other rows since write 7 was undone`},
		{"a redo of a branch", model.OpRedo, branch, "a b<a c<b*", "a b<a c<b d<a*", ""},
	} {
		err := planning.Loses(c.op, c.e, read(c.before), read(c.after))
		switch {
		case c.says == "" && err != nil:
			t.Errorf("%s: %v", c.what, err)
		case c.says != "" && (!errors.Is(err, model.ErrHeadMoved) || !strings.HasPrefix(err.Error(), c.says)):
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

// TestBusy asks while an agent may be at work.
func TestBusy(t *testing.T) {
	for ago, want := range map[time.Duration]string{
		0:                              "the session was written 0s ago: an agent may still be running",
		59*time.Second + 900*1000*1000: "the session was written 59s ago: an agent may still be running",
		planning.LiveWithin:            "the session was written 1m0s ago: an agent may still be running",
		planning.LiveWithin + 1:        "",
		-planning.LiveWithin:           "the session was written 0s ago: an agent may still be running",
		-planning.LiveWithin - 1:       "",
	} {
		if got := planning.Busy(ago); got != want {
			t.Errorf("%v: %q", ago, got)
		}
	}
}
