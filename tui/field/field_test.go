package field

import (
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"hindcast/tui/cell"
	"hindcast/tui/theme"
)

func draw(t *testing.T, f *Field, w int) string {
	t.Helper()
	r := cell.Begin(nil, &theme.Unicode, w)
	f.Draw(&r)
	got := ansi.Strip(string(r.End(theme.Style{})))
	if ansi.StringWidth(got) != w {
		t.Errorf("%q is not %d cells wide", got, w)
	}
	return got
}

func TestField_showsTheCursor(t *testing.T) {
	f := New(theme.New(theme.Choice{Palette: theme.None, Profile: termenv.Ascii, Glyphs: theme.Unicode}), "cart.total")
	for _, tc := range []struct {
		key  tea.KeyMsg
		w    int
		want string
	}{
		{tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("東\x1b")}, 16, "cart.total東    "},
		{tea.KeyMsg{Type: tea.KeyBackspace}, 6, "total "},
		{tea.KeyMsg{Type: tea.KeyHome}, 6, "cart.…"},
		{tea.KeyMsg{Type: tea.KeyCtrlV}, 12, "cart.total  "},
		{tea.KeyMsg{Type: tea.KeyDelete}, 1, "a"},
		{tea.KeyMsg{Type: tea.KeyDelete}, 0, ""},
	} {
		f.Type(tc.key)
		if got := draw(t, f, tc.w); got != tc.want {
			t.Errorf("after %s: %q, want %q", tc.key, got, tc.want)
		}
	}
	if f.Text() != "rt.total" {
		t.Errorf("text %q", f.Text())
	}
}
