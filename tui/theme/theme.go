// Package theme holds every colour of the screen: four palettes, and [Styles],
// the semantic tokens and the shapes that panes draw with.
//
// A token is rendered once into the bytes that switch it on and off, so that drawing a
// frame is appending bytes.
// The package never asks the terminal anything: the environment tells it, and the screen, which may ask
// for the background ([Choice.Asks]).
package theme

import (
	"io"
	"strconv"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"

	"hindcast/look"
)

// Glyphs are the shapes of the screen, which the command line draws with too.
type Glyphs = look.Glyphs

// Unicode are the shapes for terminals that take UTF-8, ASCII those for all
// others.
var (
	Unicode = look.Unicode
	ASCII   = look.ASCII
)

// Palette is a set of colours.
type Palette uint8

// The palettes. None has no colour but bold, underlined and reversed text.
const (
	Dark Palette = iota
	Light
	Sixteen
	None
)

// Choice is the input of [New].
type Choice struct {
	Palette Palette
	// Profile is how many colours the terminal has. With termenv.Ascii not even
	// bold is sent.
	Profile termenv.Profile
	// Glyphs are the shapes to draw with.
	Glyphs Glyphs
	// Asks says that Palette, Dark or Light, is a guess: the terminal may be asked for its background.
	Asks bool
	// Links says that the terminal opens links.
	Links bool
	// Pictures says that the terminal draws pictures among text.
	Pictures bool
}

// Choose works out the theme from the environment. names is the theme of the command line, "" to look at
// HINDCAST_THEME. [look.Read] defines the words and the error. Without a choice the colours follow from
// NO_COLOR, TERM, COLORTERM and COLORFGBG.
func Choose(names string, getenv func(string) string) (Choice, error) {
	asked, err := look.Read(names, getenv)
	c := Choice{Profile: colourProfile(getenv), Glyphs: asked.Glyphs, Links: asked.Links}
	switch {
	case c.Profile == termenv.Ascii && getenv("NO_COLOR") != "" && !look.Dumb(getenv):
		c.Palette, c.Profile = None, termenv.ANSI
	case c.Profile == termenv.Ascii:
		c.Palette = None
	case c.Profile == termenv.ANSI:
		c.Palette = Sixteen
	case lightBackground(getenv("COLORFGBG")):
		c.Palette = Light
	}
	c.Pictures = asked.Pictures && !asked.Glyphs.Plain() && (c.Palette == Dark || c.Palette == Light)
	c.Asks = asked.Palette == "" && (c.Palette == Dark || c.Palette == Light)
	switch asked.Palette {
	case "dark":
		c.Palette, c.Profile = Dark, atLeast(c.Profile, termenv.ANSI256)
	case "light":
		c.Palette, c.Profile = Light, atLeast(c.Profile, termenv.ANSI256)
	case "16":
		c.Palette, c.Profile = Sixteen, termenv.ANSI
	case "none":
		c.Palette, c.Profile = None, termenv.ANSI
	}
	return c, err
}

// atLeast returns the richer of two profiles; termenv counts downwards.
func atLeast(a, b termenv.Profile) termenv.Profile { return min(a, b) }

// environment shows a getenv function to termenv.
type environment func(string) string

func (e environment) Getenv(key string) string { return e(key) }
func (e environment) Environ() []string        { return nil }

// colourProfile asks termenv what the environment says about colours. The output is
// declared to be a terminal, so that nothing is looked up on it.
func colourProfile(getenv func(string) string) termenv.Profile {
	out := termenv.NewOutput(io.Discard, termenv.WithEnvironment(environment(getenv)), termenv.WithUnsafe())
	return out.EnvColorProfile()
}

// lightBackground reads COLORFGBG ("15;0", or "15;default;0"): the last number
// is the background's among the 16 colours.
func lightBackground(fgbg string) bool {
	n, err := strconv.Atoi(fgbg[strings.LastIndexByte(fgbg, ';')+1:])
	return err == nil && (n == 7 || n > 8)
}

// Style is one token, rendered: the bytes that switch it on, and the bytes that
// switch everything off again. Both are empty for a token that looks like plain
// text.
type Style struct{ Start, Reset string }

// Append appends text in the style. The text is not escaped: it must be the
// program's own, or have passed through package printable.
func (s Style) Append(dst []byte, text string) []byte {
	dst = append(dst, s.Start...)
	dst = append(dst, text...)
	return append(dst, s.Reset...)
}

// Styles are all tokens of a theme. [Styles.Recolour] changes the tokens, in the goroutine that draws, and any
// goroutine may read the glyphs, which stay.
type Styles struct {
	Tokens
	// Selected are the tokens on the row under the cursor of the pane that has the keys. Unfocused are the
	// tokens on the cursor's row of another pane.
	Selected, Unfocused *Tokens
	// Glyphs are the shapes.
	Glyphs Glyphs
	// Pictures says that the terminal draws pictures among text.
	Pictures bool
	profile  termenv.Profile
	links    bool
}

// LinkTo returns a style whose text leads to a path or an address, where the terminal opens links and [look.LinkTarget]
// has it. Another place, and "", leave the style as it is.
func (s *Styles) LinkTo(place string, style Style) Style {
	if place == "" || !s.links {
		return style
	}
	if target := look.LinkTarget(place); target != "" {
		begin, end := look.Link(target)
		return Style{begin + style.Start, style.Reset + end}
	}
	return style
}

// Highlight is embedded in a pane with a cursor and picks the look of its rows. The zero Highlight has the keys.
type Highlight struct{ blurred bool }

// Focus says that the pane has the keys, Blur that another has them.
func (h *Highlight) Focus() { h.blurred = false }

// Blur is the contrary of Focus.
func (h *Highlight) Blur() { h.blurred = true }

// RowStyle returns the tokens of a row, and the sign in front of it. under says that the row is under the cursor.
func (h *Highlight) RowStyle(s *Styles, under bool) (tokens *Tokens, sign string) {
	switch {
	case !under:
		return &s.Tokens, " "
	case h.blurred:
		return s.Unfocused, s.Glyphs.Cursor
	}
	return s.Selected, s.Glyphs.Cursor
}

// Tokens say what text is, not how it looks.
type Tokens struct {
	// Text is plain text, Strong stands out, Muted steps back.
	Text, Strong, Muted Style
	// Border and Title are of a box, Focus of the box that has the keys.
	Border, Title, Focus Style
	// Tab is the name of a tab, TabOn that of the one that shows.
	Tab, TabOn Style
	// Head, Active and Orphaned are snapshots; Mark is the one set aside to
	// compare with; Reason explains why one is off the path.
	Head, Active, Orphaned, Mark, Reason Style
	// Event, ID and Time are columns of the timeline.
	Event, ID, Time Style
	// Key is a key's name, KeyHelp what it does, KeyOff a key that is disabled.
	Key, KeyHelp, KeyOff Style
	// Error, Warn and Good are messages to the person.
	Error, Warn, Good Style
	// Added, Removed and Changed are of a diff; AddedWord and RemovedWord are
	// the words inside a line that differ.
	Added, Removed, Changed, AddedWord, RemovedWord Style
	// Match is text that a search found, MatchOn the match under the cursor.
	Match, MatchOn Style
	// Name, String, Number, Literal and Punct are parts of JSON.
	Name, String, Number, Literal, Punct Style
	// Emphasis, StrongEmphasis and Link are stretches of prose.
	Emphasis, StrongEmphasis, Link Style
	// User, Assistant, Tool and System are the roles of a conversation.
	User, Assistant, Tool, System Style
	// Badge is a short word that marks a row ("evicted").
	Badge Style
}

// New renders the tokens of a choice.
func New(c Choice) *Styles {
	s := &Styles{Glyphs: c.Glyphs, profile: c.Profile, links: c.Links, Pictures: c.Pictures}
	s.Recolour(c.Palette)
	return s
}

// Recolour renders the tokens of another palette.
func (s *Styles) Recolour(palette Palette) {
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(s.profile)
	r.SetHasDarkBackground(palette != Light)
	colours := &palettes[palette]
	s.Tokens = colours.tokens(r.NewStyle(), plainStyle)
	selected := colours.tokens(r.NewStyle(), colours.overSelected)
	unfocused := colours.tokens(r.NewStyle(), colours.overUnfocused)
	// What was found stands out on the row of the cursor too.
	selected.Match, unfocused.Match = s.MatchOn, s.MatchOn
	s.Selected, s.Unfocused = &selected, &unfocused
}

// plainStyle leaves a style as it is.
func plainStyle(s lipgloss.Style) lipgloss.Style { return s }

// renderStyle cuts the bytes of a style out of a rendered letter.
func renderStyle(s lipgloss.Style) Style {
	start, reset, _ := strings.Cut(s.Render("x"), "x")
	return Style{start, reset}
}
