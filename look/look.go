// Package look reads how the user and the environment want output drawn: the
// shapes, and the palette that was chosen by name. The screen and the command
// line both read it here, so that they draw alike on one terminal.
package look

import (
	"fmt"
	"strings"
)

// Variable is the environment variable that chooses the theme; see [Read].
const Variable = "HINDCAST_THEME"

// Asked is the requested look of the drawing.
type Asked struct {
	// Palette is dark, light, 16 or none; "" where none was asked for by name.
	Palette string
	// Glyphs are the shapes to draw with.
	Glyphs Glyphs
}

// Words returns the words that [Read] knows, each once.
func Words() []string { return []string{"auto", "dark", "light", "16", "none", "unicode", "ascii"} }

// Read returns the shapes and the palette to draw with. names is the theme from the
// command line; if it is "", Read uses HINDCAST_THEME. A theme is a comma-separated
// list of auto, dark, light, 16, none, unicode and ascii. An unknown word is an
// error. Of several words for the palette, or for the shapes, the last counts. If no word
// names the shapes, TERM and the locale choose them.
func Read(names string, getenv func(string) string) (Asked, error) {
	asked := Asked{Glyphs: Unicode}
	if Dumb(getenv) || !utf8Locale(getenv) {
		asked.Glyphs = ASCII
	}
	from := "--theme"
	if names == "" {
		names, from = getenv(Variable), Variable
	}
	for name := range strings.SplitSeq(names, ",") {
		switch word := strings.TrimSpace(name); word {
		case "", "auto":
		case "dark", "light", "16", "none":
			asked.Palette = word
		case "unicode":
			asked.Glyphs = Unicode
		case "ascii":
			asked.Glyphs = ASCII
		default:
			return asked, fmt.Errorf("theme: read %s: %q is none of %s", from, name, strings.Join(Words(), ", "))
		}
	}
	return asked, nil
}

// Dumb reports whether the terminal says that it takes text only.
func Dumb(getenv func(string) string) bool { return getenv("TERM") == "dumb" }

// utf8Locale reports whether the locale lets us draw beyond ASCII. A locale
// that is not set says nothing, and terminals of today take UTF-8.
func utf8Locale(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(getenv(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return true
}
