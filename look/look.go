// Package look is what a person and their environment ask of the drawing: the
// shapes, and the palette that was chosen by name. The screen and the command
// line read it here, so that both draw alike on one terminal.
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

// Read works out what is asked for. names is what the person asked for on the
// command line, "" to look at HINDCAST_THEME: a comma-separated list of auto,
// dark, light, 16, none, unicode and ascii; the last one counts, and an
// unknown word is an error. Shapes that are not asked for follow from TERM and
// the locale.
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
