package cli

import (
	"testing"

	"hindcast/look"
)

func TestPrinter_fitsALineThatWasCutBefore(t *testing.T) {
	p := &printer{width: leastFit, glyphs: look.Unicode}
	for line, want := range map[string]string{"0123456789 fol… (ls)": "0123456789 fol…", "0123456789": "0123456789", "0123456789 ……": "0123456789 ……"} {
		if got := p.fitLine(line, 0); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
