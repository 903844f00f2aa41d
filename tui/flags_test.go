package tui_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muesli/termenv"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/query/ledger"
	"hindcast/store"
	"hindcast/store/home"
	"hindcast/store/storetest/fake"
	"hindcast/tui/theme"
)

// TestFlags looks for flags in the rows of the timeline and of the list, in ASCII and without colour too. The line below the timeline
// names them, and the help explains the sign.
func TestFlags(t *testing.T) {
	t.Parallel()
	ascii := theme.New(theme.Choice{Palette: theme.None, Profile: termenv.Ascii, Glyphs: theme.ASCII})
	for name, c := range map[string]struct {
		theme *theme.Styles
		sign  string
	}{"colour": {nil, "◤"}, "ASCII NO_COLOR": {ascii, "F"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(wasteful(t))
			if c.theme != nil {
				o.Theme = c.theme
			}
			o.Ledger = ledger.New(nil)
			p := start(t, o, 100, 30)
			waitFor(t, p, c.sign+"2")
			shows(t, p, "flags")
			p.Golden()
			p.Press(keymap.Picker, keymap.Search)
			p.Type("wasteful")
			p.Press(keymap.Input, keymap.Accept)
			p.Press(keymap.Timeline, keymap.Tokens) // of a session without prompts the sums are asked for
			waitFor(t, p, c.sign+" ")
			p.Press(keymap.Timeline, keymap.GoHead)
			shows(t, p, c.sign+" repeat 3 times: list_files")
			p.Press(keymap.Timeline, keymap.Help)
			p.Press(keymap.Manual, keymap.Search)
			p.Type("same result")
			shows(t, p, c.sign+"  flags: a call with the")
		})
	}
}

// wasteful is a store with a session of two flags, and one without.
func wasteful(t testing.TB) *fake.Store {
	t.Helper()
	s := evals(t, 1)
	k := &talker{t: t, s: s, session: "wasteful", every: time.Second}
	k.say("user", `{"text":"find the sum"}`)
	for range 2 {
		k.call("open_file", `{"path":"none"}`, "error", "no such file")
	}
	for range 3 {
		k.call("list_files", `{"path":"src"}`, "success", "sum.go")
	}
	return s
}

// The list reads a state for its flags as often as it does for its sums: where the ledger has a note, not at all.
func TestFlags_readNoSessionForThemselves(t *testing.T) {
	t.Parallel()
	inner := wasteful(t)
	s := &scripted{Store: inner}
	var reads atomic.Int64
	s.state = func(ctx context.Context, ref model.Ref) ([]byte, error) {
		reads.Add(1)
		return inner.State(ctx, ref)
	}
	o := options(nil)
	o.Ledger, o.Store, o.Home = ledger.New(nil), nil, home.FromFound([]store.Found{foundAt("adk", "a.db", has(s))})
	p := start(t, o, 100, 30)
	waitFor(t, p, "◤2")
	if once := reads.Load(); once > int64(8+11) {
		t.Errorf("%d states were read of %d", once, 8+11)
	}
	before := reads.Load()
	p.Press(keymap.Picker, keymap.Sort, keymap.Sort, keymap.MoveDown, keymap.MarkSession)
	start(t, o, 100, 30)
	if after := reads.Load(); after != before {
		t.Errorf("%d states were read again", after-before)
	}
}
