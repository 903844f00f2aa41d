package tui_test

import (
	"slices"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/store/sample"
	"hindcast/tui/screentest"
)

// everyKey returns all keys that mean something anywhere, and a few that mean
// nothing.
func everyKey(tb testing.TB) []tea.KeyMsg {
	tb.Helper()
	names := []string{"x", "ü", "0", "backspace", "f19"}
	for scope := keymap.Global; scope <= keymap.Input; scope++ {
		for _, section := range keymap.Default().Help(scope) {
			for _, line := range section.Lines {
				for _, a := range line.Actions {
					if a != keymap.Quit && a != keymap.Suspend {
						names = append(names, keymap.Default().Keys(scope, a)...)
					}
				}
			}
		}
	}
	slices.Sort(names)
	var keys []tea.KeyMsg
	for _, name := range slices.Compact(names) {
		keys = append(keys, screentest.Key(tb, name))
	}
	return keys
}

// FuzzModel presses any keys in any order, with the mouse, the size of the screen
// and the store changing in between: nothing panics, no line is too long, and
// nothing but text is sent. A case has up to 300 keys, so that some ten of them
// take a second; FuzzRow of package cell is quicker.
func FuzzModel(f *testing.F) {
	keys := everyKey(f)
	f.Add([]byte("\x00\x01\x02\x03\x04\x05\x06\x07"))
	f.Add([]byte{40, 41, 42, 250, 10, 251, 7, 43, 44, 255, 45, 46})
	for seed := range byte(8) {
		var all []byte
		for i := range byte(200) {
			all = append(all, i*(2*seed+1)+seed)
		}
		f.Add(all)
	}
	f.Fuzz(func(t *testing.T, presses []byte) {
		s := demoStore(t)
		o := options(s)
		o.Temp = t.TempDir() // nothing starts an editor here
		l := newLoop(t, o, 100, 30)
		w, h := 100, 30
		for i, b := range presses[:min(len(presses), 300)] {
			switch {
			case i%29 == 28:
				restore(t, s, model.Ref{Session: sample.Trip, ID: idAt(t, s, int(b)%5)})
				l.news()
			case i%7 == 6:
				newWriter(t, s, sample.Trip).write(t, 1+int(b)%3)
				l.news()
			case b < 240:
				l.send(keys[int(b)%len(keys)])
			case b < 246:
				l.send(click((i*37)%(w+5), (i*13)%(h+5)))
			case b < 250:
				l.send(wheel((i*37)%(w+5), (i*13)%(h+5), tea.MouseButtonWheelUp+tea.MouseButton(b%2)))
			default:
				w, h = []int{1, 60, 80, 100, 140, 200}[b-250], []int{1, 18, 24, 30, 5, 50}[b-250]
				l.send(tea.WindowSizeMsg{Width: w, Height: h})
			}
			lines := strings.Split(l.m.View(), "\n")
			if len(lines) != h {
				t.Fatalf("%d lines on a screen of %d", len(lines), h)
			}
			for y, line := range lines {
				if got := ansi.StringWidth(line); got != w {
					t.Fatalf("line %d is %d cells wide, not %d: %q", y, got, w, line)
				}
			}
		}
	})
}
