package tui_test

import (
	"context"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/muesli/termenv"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/store/sample"
	"hindcast/tui"
	"hindcast/tui/screentest"
	"hindcast/tui/theme"
)

// heldStore is a store that reads states and headers as far as a test lets it.
type heldStore struct{ *scripted }

// patient returns options with a clock on which patience and the spinner wait.
func patient(s *heldStore, choice theme.Choice) (tui.Options, *held) {
	clock := &held{}
	o := options(s)
	o.Session = sample.Trip
	o.Theme = theme.New(choice)
	o.After = func(d time.Duration) <-chan time.Time {
		if d == 200*time.Millisecond || d == 100*time.Millisecond {
			return clock.after(d)
		}
		return fired(d)
	}
	return o, clock
}

// impatient lets patience run out until the screen has a text.
func impatient(p *screentest.Program, clock *held, text string) {
	p.WaitFor(text, func(screen string) bool {
		clock.fire(200 * time.Millisecond)
		return strings.Contains(screen, text)
	})
}

// While a state is read no tab says that there is nothing: it says what is read. What
// it shows of another snapshot steps back, and its foot says of which one it is.
func TestWaiting_aStateIsRead(t *testing.T) {
	t.Parallel()
	for _, tab := range tabs {
		if tab.scope == keymap.Files { // it reads the whole session, and says so
			continue
		}
		t.Run(tab.name, func(t *testing.T) {
			atSizes(t, func(t *testing.T, w, h int) {
				first, second := newGate(), newGate()
				inner := demoStore(t)
				slow := ""
				s := &heldStore{scripted: &scripted{Store: inner}}
				for hd, err := range inner.Headers(t.Context(), sample.Trip) {
					if err != nil {
						t.Fatal(err)
					}
					if hd.Index == 12 && !hd.Orphaned {
						slow = hd.ID
					}
				}
				s.state = func(ctx context.Context, ref model.Ref) ([]byte, error) {
					gate := first
					if ref.ID == slow {
						gate = second
					}
					if err := gate.wait(ctx); err != nil {
						return nil, err
					}
					return inner.State(ctx, ref)
				}
				o, clock := patient(s, theme.Choice{Palette: theme.Dark, Profile: termenv.TrueColor, Glyphs: theme.Unicode})
				p := startBusy(t, o, w, h)
				waitFor(t, p, "▌ ◉   13")
				p.Send(screentest.Key(t, o.Keys.Keys(keymap.Timeline, tab.show)[0]))
				waitFor(t, p, "["+title(tab.show)+"]")
				lacks(t, p, "nothing to compare", "no state", "no messages", "reading #13")
				impatient(p, clock, "  reading #13 …")
				lacks(t, p, "nothing to compare", "no state", "no messages")
				p.Golden()
			})
		})
	}
}

func title(show keymap.Action) string {
	return map[keymap.Action]string{keymap.ShowDiff: "Diff", keymap.ShowState: "State", keymap.ShowMessages: "Messages",
		keymap.ShowFiles: "Files", keymap.ShowResume: "Resume", keymap.ShowInfo: "Info"}[show]
}

// What a tab shows of the snapshot before steps back while the next one is read, in
// colour and without.
func TestWaiting_whatIsStaleStepsBack(t *testing.T) {
	t.Parallel()
	for name, choice := range map[string]theme.Choice{
		"colour":   {Palette: theme.Dark, Profile: termenv.TrueColor, Glyphs: theme.Unicode},
		"NO_COLOR": {Palette: theme.Dark, Profile: termenv.Ascii, Glyphs: theme.Unicode},
		"ASCII":    {Palette: theme.Dark, Profile: termenv.Ascii, Glyphs: theme.ASCII},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gate := newGate()
			inner := demoStore(t)
			s := &heldStore{scripted: &scripted{Store: inner}}
			slow := map[string]bool{}
			for hd, err := range inner.Headers(t.Context(), sample.Trip) {
				if err != nil {
					t.Fatal(err)
				}
				if hd.Index == 10 || hd.Index == 11 {
					slow[hd.ID] = true
				}
			}
			s.state = func(ctx context.Context, ref model.Ref) ([]byte, error) {
				if slow[ref.ID] {
					if err := gate.wait(ctx); err != nil {
						return nil, err
					}
				}
				return inner.State(ctx, ref)
			}
			o, clock := patient(s, choice)
			p := startBusy(t, o, 100, 30)
			arrow := " " + choice.Glyphs.Arrow + " "
			waitFor(t, p, "#12.2"+arrow+"#13")
			p.Send(screentest.Key(t, "k"))
			p.Send(screentest.Key(t, "k"))
			p.WaitFor("the cursor", func(screen string) bool {
				return strings.Contains(screen, choice.Glyphs.Cursor+" "+choice.Glyphs.Open+"   11.2")
			})
			shows(t, p, "#12.2"+arrow+"#13") // within patience nothing flickers
			ellipsis := choice.Glyphs.Ellipsis
			impatient(p, clock, "  reading #11")
			shows(t, p, " of #13 ", "reading #11", ellipsis)
			lacks(t, p, "nothing to compare")
			p.Golden()
			p.Send(screentest.Key(t, "k")) // another key does not begin patience anew
			p.WaitFor("the next name", func(screen string) bool { return strings.Contains(screen, "reading #12") })
			shows(t, p, " of #13 ")
			p.Send(screentest.Key(t, "j"))
			gate.open()
			waitFor(t, p, "#10"+arrow+"#11")
			lacks(t, p, "reading #11", " of #13 ")
		})
	}
}

// The footer keeps its keys, and progress with a total has a bar.
func TestWaiting_progressHasABar(t *testing.T) {
	t.Parallel()
	for name, glyphs := range map[string]theme.Glyphs{"Unicode": theme.Unicode, "ASCII": theme.ASCII} {
		t.Run(name, func(t *testing.T) {
			atSizes(t, func(t *testing.T, w, h int) {
				gate := newGate()
				inner := demoStore(t)
				s := &heldStore{scripted: &scripted{Store: inner}}
				s.tail = func(ctx context.Context, session string, _ int) ([]model.Header, int, error) {
					headers, _, err := inner.Tail(ctx, session, 6)
					return headers, 40 - len(headers), err
				}
				s.headers = func(ctx context.Context, session string) iter.Seq2[model.Header, error] {
					return func(yield func(model.Header, error) bool) {
						for hd, err := range inner.Headers(ctx, session) {
							if !yield(hd, err) {
								return
							}
						}
						yield(model.Header{}, gate.wait(ctx))
					}
				}
				o, clock := patient(s, theme.Choice{Palette: theme.Dark, Profile: termenv.Ascii, Glyphs: glyphs})
				p := startBusy(t, o, w, h)
				waitFor(t, p, "booked")
				p.WaitFor("18 of 40", func(screen string) bool {
					clock.fire(200 * time.Millisecond)
					clock.fire(100 * time.Millisecond) // the count may come behind the first frame
					return strings.Contains(screen, "18 of 40")
				})
				p.Golden()
				shows(t, p, "[ ] step")
			})
		})
	}
}
