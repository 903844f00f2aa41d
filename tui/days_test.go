package tui_test

import (
	"strings"
	"testing"

	"hindcast/keymap"
	"hindcast/store/storetest/skip"
)

// t in the list draws what each day cost: the longest bar is that of the dearest day, and the days add up.
func TestDays_chart(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	atSizes(t, func(t *testing.T, w, h int) {
		o, _ := codingHome(t)
		p := start(t, o, w, h)
		p.Press(keymap.Picker, keymap.Days)
		waitFor(t, p, "The last 30 days")
		for _, words := range [][]string{{"total ", " tokens"}, {"of it left ", "$"}, {"dropped ", "$"}} {
			if rowWith(p, words...) == "" {
				t.Errorf("no line has %q:\n%s", words, p.Screen())
			}
		}
		bar := func(day string) int { return strings.Count(rowWith(p, day, "tokens"), "█") }
		if dear, cheap := bar("Sun 22 Nov"), bar("Tue 24 Nov"); dear <= cheap || cheap < 0 {
			t.Errorf("the bars have %d and %d cells:\n%s", dear, cheap, p.Screen())
		}
		p.Press(keymap.Overlay, keymap.Back)
		lacks(t, p, "The last 30 days")
	})
}
