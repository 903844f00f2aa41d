package look

import (
	"math"
	"strings"

	"hindcast/model"
)

// Glyphs are the shapes that are drawn. Each is one cell wide, but for Arrow and Good,
// which stand between words.
type Glyphs struct {
	// Gutter are the shapes in which the timeline's lanes are drawn; Active,
	// Orphaned and Head are its snapshots where a text names them.
	Gutter                 model.GlyphSet
	Active, Orphaned, Head string
	// Horizontal, Vertical and the corners draw boxes.
	Horizontal, Vertical                       string
	TopLeft, TopRight, BottomLeft, BottomRight string
	// Cursor marks the row of the cursor, Mark the one set aside.
	Cursor, Mark string
	// Open and Closed mark a fold; Ellipsis replaces text that was cut.
	Open, Closed, Ellipsis string
	// Error, Damaged, Interrupted, Repaired, Evicted, Redacted and Inferred stand
	// for the marks of a snapshot; see [Glyphs.Sign].
	Error, Damaged, Interrupted, Repaired, Evicted, Redacted, Inferred string
	// Gone stands before a session that is kept and whose files are gone.
	Gone string
	// Thumb is where a scrollbar stands.
	Thumb string
	// Dot separates facts, Arrow leads from old to new, Into leads on.
	Dot, Arrow, Into string
	// Added, Removed and Changed are signs of a diff.
	Added, Removed, Changed string
	// Good and Bad tick a result.
	Good, Bad string
	// User, Assistant, Tool and System say who speaks.
	User, Assistant, Tool, System string
	// Spinner holds the frames of the animation that runs while work goes on.
	Spinner []string
	// Spark are the heights of a sparkline, the lowest first.
	Spark []string
	// Blocks are the parts of a cell in a bar, from the left, the smallest first and the whole cell last.
	Blocks []string
	// Leaves and Ends are where in a row of time a branch leaves, and a line ends.
	Leaves, Ends string
	// Label is a snapshot that has a label, and Flag points at calls that may be wasted.
	Label, Flag string
	// Picture stands for a picture.
	Picture string
	// Bar draws how much of a whole is done: Half is half a cell more than Full.
	Bar Bar
}

// Bar holds the glyphs of a progress bar. Left and Right may be empty.
type Bar struct{ Left, Full, Half, Empty, Right string }

// Unicode are the shapes for terminals that take UTF-8.
var Unicode = Glyphs{
	Gutter: model.GlyphsUnicode, Active: "○", Orphaned: "◌", Head: "◉",
	Horizontal: "─", Vertical: "│",
	TopLeft: "┌", TopRight: "┐", BottomLeft: "└", BottomRight: "┘",
	Cursor: "▌", Mark: "=",
	Open: "▾", Closed: "▸", Ellipsis: "…",
	Error: "✗", Damaged: "!", Interrupted: "?", Repaired: "↻", Evicted: "⊘", Redacted: "▒", Inferred: "~", Gone: "⌫",
	Thumb: "┃",
	Dot:   "·", Arrow: "→", Into: "›",
	Added: "+", Removed: "−", Changed: "~",
	Good: "✓", Bad: "✗",
	User: "◇", Assistant: "◆", Tool: "□", System: "▪",
	Spinner: []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"},
	Spark:   []string{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
	Blocks:  []string{"▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"},
	Leaves:  "┬", Ends: "┴",
	Label: "◊", Flag: "◤", Picture: "▣",
	Bar: Bar{Full: "━", Half: "╸", Empty: "─"},
}

// ASCII are the shapes for all others.
var ASCII = Glyphs{
	Gutter: model.GlyphsASCII, Active: "o", Orphaned: "%", Head: "@",
	Horizontal: "-", Vertical: "|",
	TopLeft: "+", TopRight: "+", BottomLeft: "+", BottomRight: "+",
	Cursor: "*", Mark: "=",
	Open: "v", Closed: ">", Ellipsis: "~",
	Error: "x", Damaged: "!", Interrupted: "?", Repaired: "&", Evicted: "^", Redacted: "#", Inferred: "~", Gone: "<",
	Thumb: "#",
	Dot:   "-", Arrow: "->", Into: "/",
	Added: "+", Removed: "-", Changed: "~",
	Good: "ok", Bad: "!",
	User: "?", Assistant: "*", Tool: "=", System: "#",
	Spinner: []string{"|", "/", "-", "\\"},
	Spark:   []string{"_", ".", "-", "=", "*", "#"},
	Blocks:  []string{"#"},
	Leaves:  "+", Ends: "'",
	Label: "L", Flag: "F", Picture: "P",
	Bar: Bar{Left: "[", Full: "#", Half: "-", Empty: "-", Right: "]"},
}

// DrawBlocks draws a bar of a share, from 0 to 1, of some cells. A share above 0 has a part of a cell at least.
func (g *Glyphs) DrawBlocks(share float64, cells int) string {
	parts := len(g.Blocks)
	n := int(math.Round(min(max(share, 0), 1) * float64(cells*parts)))
	if share > 0 {
		n = max(n, 1)
	}
	bar := strings.Repeat(g.Blocks[parts-1], n/parts)
	if n%parts > 0 {
		bar += g.Blocks[n%parts-1]
	}
	return bar
}

// plainer spells the signs that the program's own sentences use in ASCII.
var plainer = strings.NewReplacer("…", "...", "→", "->", "·", "-", "−", "-", "×", "x", "–", "-", "—", "-", "“", `"`, "”", `"`, "↵", "\\n", "⇥", "\\t", "␣", "_", "✎", "e", "◱", "r", "▼", "v")

// Plain reports whether the shapes are ASCII.
func (g *Glyphs) Plain() bool { return g.Ellipsis != Unicode.Ellipsis }

// Sentence returns a text as it is drawn with these shapes: where they are ASCII, the
// arrows, dots and ellipses of the program's own sentences are too. The same signs in
// data are spelled alike, for a terminal that takes ASCII alone; other data stays.
func (g *Glyphs) Sentence(text string) string {
	if !g.Plain() {
		return text
	}
	return plainer.Replace(text)
}

// Sign returns the shape of a single mark of a snapshot. It returns "" for a mark
// that the timeline's lanes show.
func (g *Glyphs) Sign(mark model.Marks) string {
	switch mark {
	case model.MarkError:
		return g.Error
	case model.MarkDamaged:
		return g.Damaged
	case model.MarkInterrupted:
		return g.Interrupted
	case model.MarkRepaired:
		return g.Repaired
	case model.MarkEvicted:
		return g.Evicted
	case model.MarkRedacted:
		return g.Redacted
	case model.MarkInferred:
		return g.Inferred
	}
	return ""
}
