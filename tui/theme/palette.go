package theme

import "github.com/charmbracelet/lipgloss"

// colours are the colours of one palette; an empty one is the terminal's own.
type colours struct {
	strong, muted, border, focus    string
	head, orphaned, mark, event, id string
	key, off                        string
	bad, warn, good                 string
	name, str, number, literal      string // of JSON
	added, removed, match, matchOn  pair   // words on a ground of their own
	selected, unfocused             string // grounds of the cursor's row
}

// pair is a colour on another.
type pair struct{ text, ground string }

var palettes = [...]colours{
	Dark: {
		strong: "#ffffff", muted: "#8b93a7", border: "#4b5263", focus: "#7aa2f7",
		head: "#9ece6a", orphaned: "#7f88a0", mark: "#ff9e64", event: "#c8d0e8", id: "#8fb4e3",
		key: "#7dcfff", off: "#6b7286",
		bad: "#f7768e", warn: "#e0af68", good: "#9ece6a",
		name: "#7aa2f7", str: "#9ece6a", number: "#ff9e64", literal: "#bb9af7",
		added: pair{"#d7f5c8", "#2f5b34"}, removed: pair{"#ffd7dc", "#6b2f3a"},
		match: pair{"#ffeecc", "#5f4b1f"}, matchOn: pair{"#101014", "#e0af68"},
		selected: "#283457", unfocused: "#24283b",
	},
	Light: {
		strong: "#000000", muted: "#5c6370", border: "#a8aeba", focus: "#1f5fbf",
		head: "#2d7a1f", orphaned: "#6c727e", mark: "#b8520a", event: "#2b303b", id: "#2a5a9a",
		key: "#0b6c8f", off: "#8b919c",
		bad: "#b3132b", warn: "#8a5a00", good: "#2d7a1f",
		name: "#1f5fbf", str: "#2d7a1f", number: "#a8480a", literal: "#6f3fb5",
		added: pair{"#0f3d10", "#bfe8c0"}, removed: pair{"#5c0a14", "#f5c3c8"},
		match: pair{"#3d2f00", "#f5e3a8"}, matchOn: pair{"#ffffff", "#8a5a00"},
		selected: "#c2d8f8", unfocused: "#e4e4e4",
	},
	Sixteen: {
		muted: "8", border: "8", focus: "4",
		head: "2", orphaned: "8", mark: "3", id: "4",
		key: "6", off: "8",
		bad: "1", warn: "3", good: "2",
		name: "4", str: "2", number: "3", literal: "5",
		added: pair{"0", "2"}, removed: pair{"0", "1"},
		match: pair{"0", "3"}, matchOn: pair{"0", "6"},
	},
	None: {},
}

// overSelected and overUnfocused lay the cursor's row over a style. A palette
// without a ground for it reverses the row, or makes it bold: a colour on one
// that the terminal chose may not be readable.
func (c *colours) overSelected(s lipgloss.Style) lipgloss.Style {
	if c.selected == "" {
		return s.UnsetForeground().UnsetBackground().Reverse(true)
	}
	return onGround(s, c.selected)
}

func (c *colours) overUnfocused(s lipgloss.Style) lipgloss.Style {
	if c.unfocused == "" {
		return s.Bold(true)
	}
	return onGround(s, c.unfocused)
}

// onGround puts a background on s unless it has one of its own.
func onGround(s lipgloss.Style, ground string) lipgloss.Style {
	if _, none := s.GetBackground().(lipgloss.NoColor); !none {
		return s
	}
	return s.Background(lipgloss.Color(ground))
}

// tokens renders every token from the renderer's empty style; over adds the style of the row.
func (c *colours) tokens(empty lipgloss.Style, over func(lipgloss.Style) lipgloss.Style) Tokens {
	in := func(colour string) lipgloss.Style {
		if colour == "" {
			return empty
		}
		return empty.Foreground(lipgloss.Color(colour))
	}
	// Without colours a word that differs is underlined and a match reversed.
	on := func(p pair, otherwise lipgloss.Style) lipgloss.Style {
		if p.ground == "" {
			return otherwise
		}
		return in(p.text).Background(lipgloss.Color(p.ground))
	}
	r := func(s lipgloss.Style) Style { return renderStyle(over(s)) }
	return Tokens{
		Text: r(empty), Strong: r(in(c.strong).Bold(true)), Muted: r(in(c.muted)),
		Border: r(in(c.border)), Title: r(in(c.focus).Bold(true)), Focus: r(in(c.focus)),
		Tab: r(in(c.muted)), TabOn: r(in(c.focus).Bold(true).Underline(true)),
		Head: r(in(c.head).Bold(true)), Active: r(empty), Orphaned: r(in(c.orphaned)),
		Mark: r(in(c.mark).Bold(true)), Reason: r(in(c.warn)),
		Event: r(in(c.event)), ID: r(in(c.id)), Time: r(in(c.muted)),
		Key: r(in(c.key).Bold(true)), KeyHelp: r(in(c.muted)), KeyOff: r(in(c.off)),
		Error: r(in(c.bad).Bold(true)), Warn: r(in(c.warn)), Good: r(in(c.good)),
		Added: r(in(c.good)), Removed: r(in(c.bad)), Changed: r(in(c.warn)),
		AddedWord:   r(on(c.added, empty.Underline(true))),
		RemovedWord: r(on(c.removed, empty.Underline(true))),
		Match:       r(on(c.match, empty.Reverse(true))),
		MatchOn:     renderStyle(on(c.matchOn, empty.Bold(true).Underline(true))), // on no row's ground
		Name:        r(in(c.name)), String: r(in(c.str)), Number: r(in(c.number)),
		Literal: r(in(c.literal)), Punct: r(in(c.muted)),
		Emphasis: r(empty.Underline(true)), StrongEmphasis: r(in(c.strong).Bold(true).Underline(true)),
		Link: r(in(c.name).Underline(true)),
		User: r(in(c.key).Bold(true)), Assistant: r(in(c.good).Bold(true)),
		Tool: r(in(c.warn)), System: r(in(c.literal)),
		Badge: r(in(c.warn)),
	}
}
