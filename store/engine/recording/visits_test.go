package recording_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hindcast/model"
	"hindcast/store/engine/recording"
)

// picture makes visits from words such as "a0", "b1<1-" or "c2<2*": id and
// index, the visit that it follows, "-" for an orphaned one, "*" for the head.
func picture(words string) *recording.Visits {
	v := &recording.Visits{Session: "s", Head: -1}
	for i, word := range strings.Fields(words) {
		h := model.Header{SessionID: "s", Visit: int64(i + 1)}
		h.Orphaned = strings.Contains(word, "-")
		if strings.Contains(word, "*") {
			v.Head = i
		}
		word = strings.Trim(word, "-*")
		name, parent, _ := strings.Cut(word, "<")
		h.ID = name[:1]
		fmt.Sscan(name[1:], &h.Index)
		if parent != "" {
			fmt.Sscan(parent, &h.ParentVisit)
		}
		v.Headers = append(v.Headers, h)
	}
	return v
}

func (n numbers) String() string { return strings.Trim(fmt.Sprint([]int(n)), "[]") }

type numbers []int

// visits returns the numbers of the visits at some positions.
func visits(v *recording.Visits, positions []int) (n numbers) {
	for _, i := range positions {
		n = append(n, int(v.Headers[i].Visit))
	}
	return n
}

func TestVisits_restore(t *testing.T) {
	for _, c := range []struct {
		name, picture       string
		target              int
		orphans, reactivate string
	}{
		{"to the head", "a0 b1<1 c2<2*", 2, "", ""},
		{"to an active one", "a0 b1<1 c2<2*", 0, "2 3", ""},
		{"in the order of indexes", "c2 b1 a0 d3*", 2, "2 1 4", ""},
		{"to an orphaned one", "a0 b1<1- c2<2- d1<1*", 2, "4", "2 3"},
		{"to an orphaned one in the middle", "a0 b1<1- c2<2- d1<1*", 1, "4", "2"},
		{"beside the way", "a0 b1<1- c2<2- d2<2- e1<1 f2<5*", 3, "5 6", "2 4"},
		{"without an active ancestor", "a0- b1<1- c0 d1<3*", 1, "3 4", "1 2"},
		{"with a missing parent", "a0 b1<9- c1<1*", 1, "1 3", "2"},
		{"in a circle", "a0<2- b1<1- c0*", 1, "3", "1 2"},
		{"its own parent", "a0<1- b0*", 0, "2", "1"},
		{"when nothing is active", "a0- b1<1-", 1, "", "1 2"},
		{"an earlier visit of the head's id", "a0 b1<1 a2<2*", 0, "2 3", ""},
	} {
		v := picture(c.picture)
		orphans, reactivates := v.Restore(c.target)
		if got := visits(v, orphans).String(); got != c.orphans {
			t.Errorf("%s: orphans %s, want %s", c.name, got, c.orphans)
		}
		if got := visits(v, reactivates).String(); got != c.reactivate {
			t.Errorf("%s: reactivates %s, want %s", c.name, got, c.reactivate)
		}
	}
}

// TestVisits_restoreLeavesAPath: in any session that grew by appending and
// restoring, exactly the way from the root to the target is active afterwards.
func TestVisits_restoreLeavesAPath(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		v := &recording.Visits{Session: "s", Head: -1}
		for i := range rapid.IntRange(1, 40).Draw(r, "steps") {
			if v.Head >= 0 && rapid.IntRange(0, 3).Draw(r, "restore") == 0 {
				target := rapid.IntRange(0, len(v.Headers)-1).Draw(r, "target")
				orphans, reactivates := v.Restore(target)
				for _, i := range orphans {
					v.Headers[i].Orphaned = true
				}
				for _, i := range reactivates {
					v.Headers[i].Orphaned = false
				}
				v.Head = target
			} else {
				h := model.Header{SessionID: "s", ID: fmt.Sprint(i), Visit: v.Next()}
				if v.Head >= 0 {
					h.Index, h.ParentVisit = v.Headers[v.Head].Index+1, v.Headers[v.Head].Visit
				}
				v.Headers = append(v.Headers, h)
				v.Head = len(v.Headers) - 1
			}
			path, whole := v.Path(v.Head)
			if !whole || path[len(path)-1] != v.Head {
				r.Fatalf("the path is %v, whole %v", path, whole)
			}
			for i, h := range v.Headers {
				if h.Orphaned == slices.Contains(path, i) {
					r.Fatalf("visit %d is orphaned %v, the path %v", h.Visit, h.Orphaned, path)
				}
			}
			if v.LastActive() != v.Head {
				r.Fatalf("the last active is %d, the head %d", v.LastActive(), v.Head)
			}
		}
	})
}

func TestVisits_path(t *testing.T) {
	for _, c := range []struct {
		picture string
		at      int
		path    string
		whole   bool
	}{
		{"a0 b1<1 c2<2*", 2, "1 2 3", true},
		{"a0 b1<1 c2<2 d1<1*", 3, "1 4", true},
		{"a0 b1<7 c2<2*", 2, "2 3", false},
		{"a0<3 b1<1 c2<2*", 2, "1 2 3", false},
		{"a0<1", 0, "1", false},
	} {
		v := picture(c.picture)
		path, whole := v.Path(c.at)
		if got := visits(v, path).String(); got != c.path || whole != c.whole {
			t.Errorf("%s: %s, %v; want %s, %v", c.picture, got, whole, c.path, c.whole)
		}
	}
	// By id, where no visit is named.
	v := &recording.Visits{Headers: []model.Header{{ID: "a", Visit: 1}, {ID: "b", ParentID: "a", Visit: 2}, {ID: "c", ParentID: "gone", Visit: 3}}, Head: -1}
	if path, whole := v.Path(1); !slices.Equal(path, []int{0, 1}) || !whole {
		t.Errorf("%v, %v", path, whole)
	}
	if path, whole := v.Path(2); !slices.Equal(path, []int{2}) || whole {
		t.Errorf("%v, %v", path, whole)
	}
}

func TestVisits_find(t *testing.T) {
	v := picture("a0 b1<1 a2<2*")
	for _, c := range []struct {
		ref  model.Ref
		want int
	}{
		{model.Ref{ID: "a"}, 2}, {model.Ref{ID: "a", Visit: 1}, 0}, {model.Ref{ID: "b"}, 1},
		{model.Ref{ID: "b", Visit: 1}, -1}, {model.Ref{ID: "x"}, -1}, {model.Ref{ID: "a", Visit: 9}, -1}, {model.Ref{}, -1},
	} {
		if got, err := v.Find(c.ref); got != c.want || (err != nil) != (c.want < 0) {
			t.Errorf("%+v is at %d, %v; want %d", c.ref, got, err, c.want)
		}
	}
}

func TestPlacer_numbers(t *testing.T) {
	have := picture("a0 b1<1 c2<2").Headers
	p := recording.NewPlacer(have)
	rows := picture("a0 b1<1 x2<2 y3<3 c2<2").Headers
	var got []string
	for i := range rows {
		h := rows[i]
		isNew, err := p.Place(&h)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %v %d<%d", h.ID, isNew, h.Visit, h.ParentVisit))
	}
	// x is visit 3 in the file, c is in the session: x gets the next number,
	// and y follows it there.
	want := []string{"a false 1<0", "b false 2<1", "x true 4<2", "y true 5<4", "c false 5<2"}
	if !slices.Equal(got, want) {
		t.Errorf("placed\n%q, want\n%q", got, want)
	}
}
