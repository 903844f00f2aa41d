// Package look reads how the user and the environment want output drawn: the
// shapes, and the palette that was chosen by name. The screen and the command
// line both read it here, so that they draw alike on one terminal.
package look

import (
	"fmt"
	"strconv"
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
	// Links says that the terminal opens links to files (OSC 8).
	Links bool
	// Pictures says that the terminal draws pictures among text, by kitty's protocol with placeholders.
	Pictures bool
}

// Words returns the words that [Read] knows, each once.
func Words() []string {
	return []string{"auto", "dark", "light", "16", "none", "unicode", "ascii", "links", "nolinks"}
}

// Read returns the shapes and the palette to draw with. names is the theme from the
// command line; if it is "", Read uses HINDCAST_THEME. A theme is a comma-separated
// list of the [Words]. An unknown word is an
// error. Of several words for the palette, or for the shapes, the last counts. If no word
// names the shapes, TERM and the locale choose them. If none is about links, the
// terminal's own variables tell whether it has them.
func Read(names string, getenv func(string) string) (Asked, error) {
	asked := Asked{Glyphs: Unicode, Links: opensLinks(getenv), Pictures: drawsPictures(getenv)}
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
		case "links", "nolinks":
			asked.Links = word == "links"
		default:
			return asked, fmt.Errorf("theme: read %s: %q is none of %s", from, name, strings.Join(Words(), ", "))
		}
	}
	return asked, nil
}

// opensLinks reports whether the environment is that of a terminal which opens links to files. A multiplexer may pass
// none on, and over SSH a file is on another machine.
func opensLinks(getenv func(string) string) bool {
	term := getenv("TERM")
	for _, name := range []string{"TMUX", "STY", "SSH_CONNECTION", "SSH_TTY"} {
		if getenv(name) != "" {
			return false
		}
	}
	if strings.HasPrefix(term, "screen") || strings.HasPrefix(term, "tmux") || Dumb(getenv) {
		return false
	}
	for _, name := range []string{"KITTY_WINDOW_ID", "WT_SESSION", "KONSOLE_VERSION", "WEZTERM_PANE", "GHOSTTY_RESOURCES_DIR"} {
		if getenv(name) != "" {
			return true
		}
	}
	const withLinks = 5000 // the first version of VTE that has them
	if version, err := strconv.Atoi(getenv("VTE_VERSION")); err == nil && version >= withLinks {
		return true
	}
	switch getenv("TERM_PROGRAM") {
	case "iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "rio", "Tabby":
		return true
	}
	for _, name := range []string{"xterm-kitty", "xterm-ghostty", "alacritty", "foot", "wezterm"} {
		if strings.HasPrefix(term, name) {
			return true
		}
	}
	return false
}

// drawsPictures reports whether the environment is that of a terminal with placeholders for pictures. Other terminals with
// kitty's protocol lack these, and a multiplexer passes no picture on.
func drawsPictures(getenv func(string) string) bool {
	term := getenv("TERM")
	return term == "xterm-kitty" || term == "xterm-ghostty"
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
