package model

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestTimeline_labels(t *testing.T) {
	headers := []Header{
		{ID: "aa11bb", Visit: 1}, {ID: "bb22cc", ParentID: "aa11bb", Visit: 2, ParentVisit: 1, Index: 1},
		{ID: "aa11bb", ParentID: "bb22cc", Visit: 3, ParentVisit: 2, Index: 2}, {ID: "opera9", ParentID: "aa11bb", Visit: 4, ParentVisit: 3, Index: 3},
	}
	tl := NewTimeline(headers[:3])
	tl.SetLabels([]Label{
		{ID: "aa11bb", Visit: 3, Name: "back"}, {ID: "aa11bb", Visit: 1, Name: "start"}, {ID: "aa11bb", Visit: 77, Name: "renumbered"},
		{ID: "gone00", Visit: 9, Name: "gone"}, {ID: "bb22cc", Visit: 2, Name: "oper"}, {ID: "opera9", Visit: 4, Name: "later"},
	})
	for _, c := range []struct {
		spec      string
		want      Node
		ambiguous []string
	}{
		{spec: "back", want: 2},
		{spec: "start", want: 0},
		{spec: "renumbered", want: 0},
		{spec: "back~", want: 1},
		{spec: "gone", want: NoNode},
		{spec: "later", want: NoNode},
		{spec: "oper", want: 1},
		{spec: "Back", want: NoNode},
		{spec: "2", want: 2},
	} {
		n, err := tl.Resolve(c.spec)
		if n != c.want || (err == nil) != (c.want != NoNode) {
			t.Errorf("%s is %d, %v, and not %d", c.spec, n, err, c.want)
		}
	}
	var names []string
	for _, l := range tl.Labels(0) {
		names = append(names, l.Name)
	}
	if want := []string{"renumbered", "start"}; !slices.Equal(names, want) {
		t.Errorf("the labels of #0 are %q, and not %q", names, want)
	}
	// What is appended leaves them where they are, and makes a name of theirs mean two.
	tl.Append(headers[3])
	if tl.FindLabel("back") != 2 || tl.FindLabel("later") != NoNode {
		t.Error("an append moved a label")
	}
	ambiguous := (*AmbiguousError)(nil)
	if _, err := tl.Resolve("oper"); !errors.As(err, &ambiguous) || !slices.Equal(ambiguous.Candidates, []string{"#1", "#3"}) {
		t.Errorf("a label that begins an id is %v", err)
	}
	// A parent that comes late has the timeline built anew, of the same nodes.
	tl = NewTimeline([]Header{{ID: "b", ParentID: "a", Index: 1}})
	tl.SetLabels([]Label{{ID: "b", Name: "kept"}})
	tl.Append(Header{ID: "a"})
	if tl.FindLabel("kept") != 0 {
		t.Error("a label went with an edge that was mended")
	}
}

func TestLabel_Check(t *testing.T) {
	for _, name := range []string{"opera", "v1.2", "before/the-opera", "größe", "4.2-beta", "日本", "beef"} {
		if err := (&Label{Name: name}).Check(); err != nil {
			t.Error(err)
		}
	}
	bad := (*LabelError)(nil)
	for _, name := range []string{
		"", "7", "-1", "6.2", "6:1", "#7", "head", "HEAD", "@", "a..b", "a~2", "a b", "-f", "/x", "a\x1b[2J", "a\u202eb", "a\nb", "\xff", strings.Repeat("a", 81),
	} {
		if err := (&Label{Name: name}).Check(); !errors.As(err, &bad) {
			t.Errorf("%q is taken: %v", name, err)
		}
	}
	if err := (&Label{Name: "a", Note: strings.Repeat("n", 5000)}).Check(); !errors.As(err, &bad) {
		t.Errorf("a note of 5000 bytes is taken: %v", err)
	}
}
