package screentest

import (
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/store/storetest/skip"
)

// chain counts down through commands, some of them batches and sequences.
type chain struct {
	left int
	keys string
	w, h int
}

type stepped struct{ left int }

func step(left int) tea.Cmd {
	return func() tea.Msg { return stepped{left} }
}

func (c *chain) Init() tea.Cmd { return nil }

func (c *chain) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		c.w, c.h = msg.Width, msg.Height
	case tea.KeyMsg:
		c.keys += msg.String()
		c.left = 5
		return c, tea.Batch(step(4), tea.Sequence(step(-1), tea.Tick(time.Millisecond, func(time.Time) tea.Msg { return nil })))
	case stepped:
		if msg.left < 0 {
			return c, nil
		}
		c.left = msg.left
		if c.left > 0 {
			return c, step(c.left - 1)
		}
	}
	return c, nil
}

func (c *chain) View() string {
	return strings.Repeat("#", c.left) + "\n" + c.keys + "\n" + strings.Repeat("x", max(c.w, 0))
}

func TestProgram_waitsForAllCommands(t *testing.T) {
	skip.Sequential(t)
	p := Start(t, &chain{}, keymap.Default(), 20, 4)
	for range 20 {
		p.Press(keymap.Browse, keymap.MoveDown)
		if got := p.Screen(); strings.Contains(got, "#") {
			t.Fatalf("idle while commands are in flight:\n%s", got)
		}
	}
	want := "\n" + strings.Repeat("j", 20) + "\n" + strings.Repeat("x", 20) + "\n\n"
	if got := p.Screen(); got != want {
		t.Errorf("the screen is %q, not %q", got, want)
	}
}

func TestProgram_resizes(t *testing.T) {
	skip.Sequential(t)
	p := Start(t, &chain{}, keymap.Default(), 20, 4)
	p.Idle()
	p.Resize(7, 3)
	if got, want := p.Screen(), "\n\n"+"xxxxxxx\n"; got != want {
		t.Errorf("the screen is %q, not %q", got, want)
	}
}

func TestProgram_typesAllRunesAtOnce(t *testing.T) {
	skip.Sequential(t)
	p := Start(t, &chain{}, keymap.Default(), 20, 4)
	p.Type("xyz")
	if got := p.Screen(); !strings.Contains(got, "xyz") {
		t.Errorf("the screen is %q", got)
	}
	if len(p.Raw()) == 0 {
		t.Error("nothing was written")
	}
}

func TestKey_knowsEveryKeyOfTheKeymap(t *testing.T) {
	for _, name := range []string{"j", "G", "ctrl+d", "enter", "esc", " ", "tab", "shift+tab", "pgdown", "up", "alt+x", "?", "ctrl+c", "shift+left", "f5"} {
		if got := Key(t, name).String(); got != name {
			t.Errorf("the key %q is %q", name, got)
		}
	}
}

// A character of several runes is one, wherever the program's output was read.
func TestProgram_drawsCharactersThatCameInParts(t *testing.T) {
	skip.Sequential(t)
	const out = "a👍🏽b\r\n👩\u200d👧\x1b[1;1H"
	for torn := range len(out) {
		p := &Program{screen: newEmulator(8, 2)}
		defer p.screen.close()
		for _, part := range []string{out[:torn], out[torn:]} {
			p.raw = append(p.raw, part...)
			p.feed()
		}
		if got, want := strings.TrimRight(p.screen.text(), "\n"), "a👍🏽b\n👩\u200d👧"; got != want {
			t.Errorf("torn behind %q it is %q, want %q", out[:torn], got, want)
		}
	}
}
