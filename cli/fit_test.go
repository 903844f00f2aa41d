package cli_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/clipperhouse/displaywidth"

	"hindcast/model"
	"hindcast/store"
)

var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// On a terminal lines are cut to its width; in a pipe nothing is cut.
func TestFit(t *testing.T) {
	long := strings.Repeat("ab界", 200)
	other := strings.Repeat("ab界", 100) + "X" + strings.Repeat("ab界", 100)
	c := start(t, sequenceOf([]store.Row{
		{Header: model.Header{ID: "a", SessionID: "s", Visit: 1, Title: long}, State: []byte(`{"text":"` + long + `","gone":"` + long + `"}`)},
		{Header: model.Header{ID: "b", SessionID: "s", Visit: 2, ParentVisit: 1, Index: 1, Title: long}, State: []byte(`{"text":"` + other + `","new":["` + long + `"]}`)},
	}))
	for _, args := range [][]string{{"log", "mem:", "s"}, {"diff", "mem:", "s", "1"}} {
		c.OutTerminal, c.Columns = false, func() int { return 60 }
		_, out, _ := c.run(t, args...)
		if !strings.Contains(out, long) || strings.Contains(out, "…") {
			t.Errorf("%q in a pipe is cut: %s", args, out)
		}
		for _, width := range []int{60, 100, 200} {
			c.OutTerminal, c.Columns = true, func() int { return width }
			_, out, err := c.run(t, args...)
			widest := 0
			for line := range strings.Lines(colours.ReplaceAllString(out, "")) {
				widest = max(widest, displaywidth.String(strings.TrimSuffix(line, "\n")))
			}
			if widest > width || widest < width-12 || !strings.Contains(out, "…") {
				t.Errorf("%q in %d cells is %d wide: %s%s", args, width, widest, out, err)
			}
		}
	}
}

// A log of the last snapshots says that the head is not among them.
func TestLog_saysThatTheHeadIsLeftOut(t *testing.T) {
	for args, want := range map[string]string{"3": "are left out, and the head #0 with them\n", "0": "head #0\n○"} {
		s := start(t, sequenceOf([]store.Row{
			{Header: model.Header{ID: "a", SessionID: "s", Visit: 1, Head: true}, State: []byte(`{}`)},
			{Header: model.Header{ID: "b", SessionID: "s", Visit: 2, ParentVisit: 1, Index: 1, Orphaned: true}, State: []byte(`{"n":1}`)},
			{Header: model.Header{ID: "c", SessionID: "s", Visit: 3, ParentVisit: 2, Index: 2, Orphaned: true}, State: []byte(`{"n":2}`)},
			{Header: model.Header{ID: "d", SessionID: "s", Visit: 4, ParentVisit: 3, Index: 3, Orphaned: true}, State: []byte(`{"n":3}`)},
		}))
		_, out, err := s.run(t, "log", "mem:", "s", "-n", args)
		if !strings.Contains(out, strings.ReplaceAll(want, "○", "◉")) {
			t.Errorf("-n %s: %s%s", args, out, err)
		}
	}
}

// So are the rows of a table: what a session begins with is cut, no other column.
func TestFit_ofATable(t *testing.T) {
	asked := strings.Repeat("word ", 30) + "end"
	c := start(t, sequenceOf([]store.Row{{
		Header: model.Header{ID: "a", SessionID: "s", Visit: 1, Head: true},
		State:  []byte(`{"messages":[{"role":"user","content":[{"text":"` + asked + `"}]}]}`),
	}}))
	c.OutTerminal, c.Columns = true, func() int { return 100 }
	_, out, err := c.run(t, "sessions", "mem:")
	for line := range strings.Lines(colours.ReplaceAllString(out, "")) {
		if n := displaywidth.String(strings.TrimSuffix(line, "\n")); n > 100 {
			t.Errorf("a line of %d cells: %s%s", n, line, err)
		}
	}
	if !strings.Contains(out, "word word") || !strings.Contains(out, "…") {
		t.Errorf("%s%s", out, err)
	}
}

// A name of 200 characters takes no other column its place on a terminal, and its end
// tells it from one that begins alike. In a pipe it is whole.
func TestFit_ofALongName(t *testing.T) {
	first, second := "customer-"+strings.Repeat("x", 186)+"-0001", "customer-"+strings.Repeat("x", 186)+"-0002"
	c := start(t, sequenceOf([]store.Row{
		{Header: model.Header{ID: "a", SessionID: first, Visit: 1, Head: true}, State: []byte(`{"messages":[{"role":"user","content":[{"text":"hello"}]}]}`)},
		{Header: model.Header{ID: "b", SessionID: second, ParentID: "gone", Visit: 1, Head: true}, State: []byte(`{}`)},
	}))
	for _, args := range [][]string{{"sessions", "mem:"}, {"log", "mem:", second}, {"doctor", "mem:"}} {
		c.OutTerminal, c.Columns = false, nil
		if _, out, err := c.run(t, args...); !strings.Contains(out, second) {
			t.Errorf("%q in a pipe: %s%s", args[0], out, err)
		}
		for _, width := range []int{60, 100} {
			c.OutTerminal, c.Columns = true, func() int { return width }
			_, out, err := c.run(t, args...)
			plain := colours.ReplaceAllString(out, "")
			for line := range strings.Lines(plain) {
				if n := displaywidth.String(strings.TrimSuffix(line, "\n")); n > width && (args[0] == "log" || args[0] == "sessions" && width == 100) {
					t.Errorf("%q has a line of %d cells at %d: %s%s", args, n, width, line, err)
				}
			}
			if !strings.Contains(plain, "-0002") || strings.Contains(plain, strings.Repeat("x", 100)) && args[0] != "doctor" || !strings.Contains(plain, "customer-x") {
				t.Errorf("%q at %d: %s%s", args[0], width, plain, err)
			}
		}
	}
}

// Two lines stand beside each other where there is room, turn by turn, and one behind the other
// where there is none. What is found in a long text is shown with a little around it.
func TestFit_ofTwoLinesAndOfWhatIsFound(t *testing.T) {
	long := strings.Repeat("ab界 ", 100)
	c := start(t, sequenceOf([]store.Row{
		{Header: model.Header{ID: "a", SessionID: "s", Visit: 1, Title: "first"}, State: []byte(`{"n":0}`)},
		{Header: model.Header{ID: "b", SessionID: "s", Visit: 2, ParentVisit: 1, Index: 1, TurnIndex: 1, Title: "left " + long, Orphaned: true}, State: []byte(`{"n":1}`)},
		{Header: model.Header{ID: "c", SessionID: "s", Visit: 3, ParentVisit: 1, Index: 1, TurnIndex: 1, Title: "right " + long}, State: []byte(`{"n":"` + long + `needle` + long + `"}`)},
		{Header: model.Header{ID: "d", SessionID: "s", Visit: 4, ParentVisit: 3, Index: 2, TurnIndex: 2, Title: "then"}, State: []byte(`{"n":2}`)},
	}))
	for _, width := range []int{60, 100, 160} {
		c.OutTerminal, c.Columns = true, func() int { return width }
		for _, args := range [][]string{{"diverge", "mem:", "s", "#1.1", "head"}, {"grep", "needle", "mem:"}} {
			code, out, err := c.run(t, args...)
			plain := colours.ReplaceAllString(out, "")
			for line := range strings.Lines(plain) {
				if n := displaywidth.String(strings.TrimSuffix(line, "\n")); n > width {
					t.Errorf("%q at %d has a line of %d cells: %s%s", args, width, n, line, err)
				}
			}
			if args[0] == "grep" && (code != 0 || !strings.Contains(plain, "界 needlea") || !strings.Contains(plain, "…")) {
				t.Errorf("at %d: %s%s", width, plain, err)
			}
			if beside := strings.Contains(plain, " | "); args[0] == "diverge" && (code != 0 || beside != (width >= 100) || beside && !strings.Contains(plain, "left ab") || !strings.Contains(plain, "#2    turn 2  then")) {
				t.Errorf("at %d: %s%s", width, plain, err)
			}
		}
	}
}
