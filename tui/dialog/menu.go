package dialog

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/tui/sheet"
	"hindcast/tui/theme"
)

// Item is one choice of a menu.
type Item struct {
	Action keymap.Action
	// Text says what the choice stands for, besides the action's own help.
	Text string
	// Disabled says why it cannot be chosen; "" if it can.
	Disabled string
	// Do is what choosing it does.
	Do func() tea.Cmd
}

// Menu offers things to choose from: by their keys, or by the cursor and Enter.
type Menu struct {
	box
	scope  keymap.Scope
	items  []Item
	chosen *Item
}

// NewMenu makes a menu whose keys are those of a scope. verb says what choosing
// does.
func NewMenu(styles *theme.Styles, keys *keymap.Map, scope keymap.Scope, heading, verb string, items []Item) *Menu {
	d := &Menu{box: box{styles: styles, title: heading, text: sheet.NewList(styles)}, scope: scope, items: items}
	var paragraphs []sheet.Paragraph
	for _, it := range items {
		p := sheet.Paragraph{Label: keymap.Label(keys.Keys(scope, it.Action)), LabelPick: sheet.Key, Text: it.Action.Help()}
		if it.Text != "" {
			p.Text += "  " + it.Text
		}
		if it.Disabled != "" {
			p.LabelPick, p.Pick = sheet.KeyOff, sheet.KeyOff
			p.Text += " (off: " + it.Disabled + ")"
		}
		paragraphs = append(paragraphs, p)
	}
	d.text.Set(paragraphs)
	d.foot = append(keyHelp(keys, scope, keymap.Accept, verb), keyHelp(keys, scope, keymap.Back, "close")...)
	return d
}

// Scope gives the scope of the dialog's keys.
func (d *Menu) Scope() keymap.Scope { return d.scope }

// Chosen returns the item that was chosen, nil until then.
func (d *Menu) Chosen() *Item { return d.chosen }

// Do carries out an action; it reports whether it knew it. Choosing an item
// that is disabled does nothing.
func (d *Menu) Do(a keymap.Action) bool {
	i := slices.IndexFunc(d.items, func(it Item) bool { return it.Action == a })
	if a == keymap.Accept {
		i = d.text.Cursor()
	}
	switch {
	case i < 0 || i >= len(d.items):
		return d.move(a)
	case d.items[i].Disabled == "":
		d.chosen = &d.items[i]
	}
	return true
}
