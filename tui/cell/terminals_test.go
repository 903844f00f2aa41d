package cell_test

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/vt"

	"hindcast/tui/cell"
	"hindcast/tui/screentest"
	"hindcast/tui/theme"
)

// clustering is a terminal that counts as UAX #29 does. To make one takes a hundred
// times as long as to reset it.
type clustering struct{ *vt.Emulator }

func newClustering(tb testing.TB) clustering {
	c := clustering{vt.NewEmulator(1, 1)}
	tb.Cleanup(func() { c.Close() })
	return c
}

// reset makes it an empty one of w×h cells.
func (c clustering) reset(w, h int) error {
	c.Resize(w, h)
	_, err := c.WriteString("\x1bc\x1b[2J")
	return err
}

// ends are the rightmost cells of a row of w cells between two borders, on a
// terminal that counts rune by rune and on one that counts as UAX #29 does.
func ends(t *testing.T, byCluster clustering, text string, w int) (counting, clusters string) {
	t.Helper()
	line := []byte(theme.Unicode.Vertical)
	row := cell.Begin(line, &theme.Unicode, w)
	row.Put(theme.Style{}, text)
	line = append(row.End(theme.Style{}), theme.Unicode.Vertical...)
	line = cell.Anchor(line, 0)

	byRune := screentest.NewCounting(w+2, 2)
	if err := byCluster.reset(w+2, 2); err != nil {
		t.Fatal(err)
	}
	for _, data := range []string{"\x1b[?7l", string(line)} {
		if _, err := byRune.Write([]byte(data)); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if _, err := byCluster.WriteString(data); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
	}
	for x := range w + 2 {
		if below := byRune.At(x, 1); below != " " {
			t.Fatalf("%q wraps: %q stands below", line, below)
		}
	}
	if c := byCluster.CellAt(w+1, 0); c != nil {
		clusters = c.Content
	}
	return byRune.At(w+1, 0), clusters
}

// Whatever a row holds, the border behind it stands in its column.
func FuzzRow_onEveryTerminal(f *testing.F) {
	for _, text := range []string{
		"turn end", "👍🏽 ok", "नमस्ते", "বাংলা", "தமிழ்", "ทำ", "👩‍👩‍👧 family", "❤️", "🇫🇷🇩", "東京都", "e\u0301te\u0301", "سلام שלום",
		strings.Repeat("a\u0301\u0302\u0303\u0304", 9), "\x1b[31m\u202e\u200d", strings.Repeat("ᄀ", 40), "1\ufe0f\u20e3", "\u0b95\u0bcd\u0b95",
	} {
		f.Add(text, uint8(7))
		f.Add(text, uint8(30))
	}
	terminal := newClustering(f)
	f.Fuzz(func(t *testing.T, text string, w uint8) {
		if w == 0 || w > 120 {
			return
		}
		counting, clusters := ends(t, terminal, text, int(w))
		if counting != theme.Unicode.Vertical || clusters != theme.Unicode.Vertical {
			t.Errorf("%q in %d cells: the border is %q where runes count and %q where clusters do", text, w, counting, clusters)
		}
	})
}
