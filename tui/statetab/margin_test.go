package statetab

import (
	"strings"
	"testing"

	"hindcast/tui/screentest"
)

// The margin says before each value where it comes from, and goes where there is no room.
func TestPane_margin(t *testing.T) {
	p := show(prepare([]byte(`{"cart":{"total":3,"items":["a"]},"plan":null}`)), 40, 8)
	p.SetMargin(8, func(path string) (string, bool) {
		return path + "'s turn", path != "/cart/total"
	})
	got := screentest.Draw(p, 8)
	for _, want := range []string{"/cart's…│   ▾ cart", "\n …       │       total"} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %q:\n%s", want, got)
		}
	}
	screentest.Exact(t, p, 40, 8)
	p.Resize(20, 8)
	if got := screentest.Draw(p, 8); strings.Contains(got, "│") {
		t.Errorf("there is no room for a margin:\n%s", got)
	}
	p.Resize(40, 8)
	p.SetMargin(0, nil)
	if got := screentest.Draw(p, 8); strings.Contains(got, "│") {
		t.Errorf("the margin stays:\n%s", got)
	}
}

// A text that is known is asked for once, in each state and for each margin.
func TestPane_marginIsAskedOnce(t *testing.T) {
	asked, known := 0, false
	origin := func(string) (string, bool) {
		asked++
		return "#1", known
	}
	p := show(prepare([]byte(`{"a":1}`)), 40, 4)
	drawn := func(what string, want int) {
		t.Helper()
		if asked = 0; !strings.Contains(screentest.Draw(p, 4), "a  1") || asked != want {
			t.Errorf("%s: asked %d times, want %d", what, asked, want)
		}
	}
	p.SetMargin(8, origin)
	drawn("unknown", 2)
	drawn("unknown still", 2)
	known = true
	drawn("known", 2)
	drawn("known before", 0)
	p.Set(prepare([]byte(`{"b":0,"a":1}`)))
	drawn("another state", 3)
	p.SetMargin(9, origin)
	drawn("another margin", 3)
}
