package look_test

import (
	"testing"

	"hindcast/look"
)

func TestGlyphs_DrawBlocks(t *testing.T) {
	for _, c := range []struct {
		glyphs *look.Glyphs
		share  float64
		want   string
	}{
		{&look.Unicode, 0, ""}, {&look.Unicode, 1e-9, "▏"}, {&look.Unicode, 0.5, "██"}, {&look.Unicode, 0.6, "██▍"},
		{&look.Unicode, 1, "████"}, {&look.Unicode, 7, "████"}, {&look.Unicode, -1, ""},
		{&look.ASCII, 0, ""}, {&look.ASCII, 0.01, "#"}, {&look.ASCII, 0.6, "##"}, {&look.ASCII, 1, "####"},
	} {
		if got := c.glyphs.DrawBlocks(c.share, 4); got != c.want {
			t.Errorf("%v is %q, not %q", c.share, got, c.want)
		}
	}
}
