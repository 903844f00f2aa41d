package tui_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/muesli/termenv"

	"hindcast/keymap"
	"hindcast/store/sample"
	"hindcast/store/storetest/skip"
	"hindcast/tui"
	"hindcast/tui/screentest"
	"hindcast/tui/theme"
)

// A screen that takes the colours of another background looks as one that began with them: in each tab, in a dialog
// and in a search.
func TestBackground_recoloursEverything(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	begin := func(palette theme.Palette) (*tui.Model, *screentest.Program) {
		o := options(demoStore(t))
		o.Session, o.Theme = sample.Trip, styles(palette, termenv.TrueColor)
		m, err := tui.New(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		p := screentest.Start(t, m, o.Keys, 120, 40)
		p.Idle()
		return m, p
	}
	m, turned := begin(theme.Dark)
	_, light := begin(theme.Light)
	steps := []func(p *screentest.Program){
		func(*screentest.Program) {},
		func(p *screentest.Program) {
			p.Press(keymap.Timeline, keymap.Search)
			p.Type("hotel")
			p.Press(keymap.Input, keymap.Accept)
		},
	}
	for a := keymap.ShowDiff; a <= keymap.ShowInfo; a++ {
		steps = append(steps, func(p *screentest.Program) { p.Press(keymap.Timeline, a) })
	}
	steps = append(steps, func(p *screentest.Program) { p.Press(keymap.Timeline, keymap.Restore) })
	for i, step := range steps {
		turned.Send(m.Recoloured(false))
		step(turned)
		step(light)
		turned.Idle()
		light.Idle()
		if i == 0 && reflect.DeepEqual(turned.Picture(), light.Picture()) {
			t.Fatal("dark and light look alike")
		}
		turned.Send(m.Recoloured(true))
		turned.WaitFor(fmt.Sprintf("the colours of light after step %d", i), func(string) bool {
			return reflect.DeepEqual(turned.Picture(), light.Picture())
		})
	}
}
