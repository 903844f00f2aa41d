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
