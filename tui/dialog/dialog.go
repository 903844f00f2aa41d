// Package dialog holds the panes that open over the screen: the plan of a write with its question and the one
// that follows, the journal, the help, menus, a name to type, an edit that cannot be used, and a text to
// read.
//
// A dialog is a plain struct that draws itself and carries the actions of its answers. Its method Do returns
// the next step, nil for nothing, and whether the dialog closes first. The root model's Update runs that
// step.
package dialog

import (
	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/tui/sheet"
	"hindcast/tui/theme"
)

// keyHelp returns the spans that tell what a key does: "y restore".
func keyHelp(keys *keymap.Map, scope keymap.Scope, a keymap.Action, what string) []span {
	label := keymap.Label(keys.Keys(scope, a))
	if label == "" {
		return nil
	}
	return []span{{sheet.Key, label}, {sheet.Text, " " + what + "   "}}
}

// Text shows a text to read: an error in full.
type Text struct{ box }

// NewText makes a dialog that shows text, which is untrusted.
func NewText(styles *theme.Styles, keys *keymap.Map, heading, text string) *Text {
	return NewSheet(styles, keys, heading, []sheet.Paragraph{{Text: text}})
}

// NewSheet makes a dialog of paragraphs with a heading.
func NewSheet(styles *theme.Styles, keys *keymap.Map, heading string, text []sheet.Paragraph) *Text {
	d := &Text{box{styles: styles, title: heading, text: sheet.New(styles)}}
	d.text.Set(text)
	d.foot = keyHelp(keys, keymap.Overlay, keymap.Back, "close")
	return d
}

// Scope returns the scope of the dialog's keys.
func (d *Text) Scope() keymap.Scope { return keymap.Overlay }

// Do carries out an action.
func (d *Text) Do(a keymap.Action) (then func() tea.Cmd, closes bool) {
	d.text.Do(a)
	return nil, closesText(a)
}

// closesText reports whether an action closes a dialog that is only read.
func closesText(a keymap.Action) bool {
	return a == keymap.Back || a == keymap.Help || a == keymap.Accept
}
