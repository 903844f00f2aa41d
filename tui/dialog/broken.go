package dialog

import (
	"hindcast/keymap"
	"hindcast/tui/sheet"
	"hindcast/tui/theme"
)

// Broken says why an edited text will not do, and asks what to do with it: to edit
// it again, or to discard it. Leaving the dialog does neither.
type Broken struct {
	box
	chosen keymap.Action
}

// NewBroken makes the dialog. reason is untrusted; where says where the text is.
func NewBroken(styles *theme.Styles, keys *keymap.Map, reason, where string) *Broken {
	d := &Broken{box: box{styles: styles, title: "This edit cannot be used", text: sheet.New(styles), kept: sheet.New(styles), keptTitle: "nothing is lost"}}
	d.text.Set([]sheet.Paragraph{{Text: reason, Pick: sheet.Error}})
	d.kept.Set([]sheet.Paragraph{{Label: "kept in", LabelPick: sheet.Muted, Text: where}})
	d.foot = append(keyHelp(keys, keymap.Broken, keymap.EditAgain, "edit again"), keyHelp(keys, keymap.Broken, keymap.Discard, "discard")...)
	d.foot = append(d.foot, keyHelp(keys, keymap.Broken, keymap.Back, "leave it")...)
	return d
}

// Scope gives the scope of the dialog's keys.
func (d *Broken) Scope() keymap.Scope { return keymap.Broken }

// Chosen gives keymap.EditAgain, keymap.Discard or keymap.Back, and keymap.None
// until one of them was chosen.
func (d *Broken) Chosen() keymap.Action { return d.chosen }

// Do carries out an action; it reports whether it knew it. Enter edits again.
func (d *Broken) Do(a keymap.Action) bool {
	switch a {
	case keymap.EditAgain, keymap.Accept:
		d.chosen = keymap.EditAgain
	case keymap.Discard, keymap.Back:
		d.chosen = a
	default:
		return d.move(a)
	}
	return true
}
