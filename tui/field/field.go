// Package field is one line of text that a person types: what is searched for,
// the filter, a name.
//
// A field draws itself into a row that its owner began.
// It runs no program: the clipboard of the desktop is left to the terminal's own paste.
package field

import (
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"

	"hindcast/tui/cell"
	"hindcast/tui/theme"
)

// longest bounds what can be typed, in characters.
const longest = 256

// Field is a text and the place in it. Make it with New.
type Field struct {
	styles *theme.Styles
	input  textinput.Model
	begun  string // the text to begin with
}

// New makes a field with a text to begin with; the cursor is at its end.
func New(styles *theme.Styles, text string) *Field {
	f := &Field{styles: styles, input: textinput.New(), begun: text}
	f.input.CharLimit = longest
	f.input.KeyMap.Paste.SetEnabled(false) // it would run a program of the desktop
	f.input.Focus()
	f.input.SetValue(text)
	return f
}

// Type hands the field a key: a character, or one that edits.
func (f *Field) Type(k tea.KeyMsg) { f.input, _ = f.input.Update(k) }

// SetText replaces what was typed; the cursor is at its end.
func (f *Field) SetText(text string) { f.input.SetValue(text) }

// Text returns the typed text.
func (f *Field) Text() string { return f.input.Value() }

// IsUntouched reports whether the text is the one that the field began with. A key of the help is one until then.
func (f *Field) IsUntouched() bool { return f.Text() == f.begun }

// Draw puts the text with its cursor into what is left of a row. Where it does
// not fit, its beginning goes out of sight.
func (f *Field) Draw(r *cell.Row) {
	runes, at := []rune(f.input.Value()), f.input.Position()
	from := 0
	for from < at && cell.Width(string(runes[from:at])) >= r.Room() {
		from++
	}
	under, after := " ", ""
	if at < len(runes) {
		under, after = string(runes[at]), string(runes[at+1:])
	}
	r.Put(f.styles.Text, string(runes[from:at]))
	r.Put(f.styles.Selected.Strong, under)
	r.Put(f.styles.Text, after)
}
