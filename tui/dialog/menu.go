package dialog

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/tui/sheet"
	"hindcast/tui/theme"
)

// Item is one choice of several.
type Item struct {
	Action keymap.Action
	// Label stands for the key of an item that no key chooses.
	Label string
	// Text describes the choice, besides the action's own help. The reason why it is disabled takes its
	// place.
	Text string
	// Disabled says why it cannot be chosen; "" if it can.
	Disabled string
	// Do is the action of choosing it.
	Do func() tea.Cmd
}

// Menu offers things to choose from: by their keys, or by the cursor and Enter.
type Menu struct {
	box
	scope keymap.Scope
	items []Item
}

// NewMenu makes a menu whose keys belong to a scope. verb names the effect of choosing.
func NewMenu(styles *theme.Styles, keys *keymap.Map, scope keymap.Scope, heading, verb string, items []Item) *Menu {
	d := &Menu{box: box{styles: styles, title: heading, text: sheet.NewList(styles)}, scope: scope, items: items}
	var paragraphs []sheet.Paragraph
	for i := range items {
		p := sheet.Paragraph{LabelPick: sheet.Key}
		if p.Label, p.Text = items[i].Describe(keys, scope); items[i].Disabled != "" {
			p.LabelPick, p.Pick = sheet.KeyOff, sheet.KeyOff
		}
		paragraphs = append(paragraphs, p)
	}
	d.text.Set(paragraphs)
	d.foot = append(keyHelp(keys, scope, keymap.Accept, verb), keyHelp(keys, scope, keymap.Back, "close")...)
	return d
}

// Describe returns the key of a choice and its text, with the reason why it is off.
func (it *Item) Describe(keys *keymap.Map, scope keymap.Scope) (label, text string) {
	label, text = it.Label, it.Text
	if it.Action != keymap.None {
		label, text = keymap.Label(keys.Keys(scope, it.Action)), it.Action.Help()
		if it.Text != "" && it.Disabled == "" {
			text += "  " + it.Text
		}
	}
	if it.Disabled != "" {
		text += " (off: " + it.Disabled + ")"
	}
	return label, text
}

// Items returns the choices.
func (d *Menu) Items() []Item { return d.items }

// HoldsItems reports whether row y is of the list.
func (d *Menu) HoldsItems(y int) bool { return y > 0 && y < d.h-frame+1 }

// Scope returns the scope of the dialog's keys.
func (d *Menu) Scope() keymap.Scope { return d.scope }

// Do carries out an action. Choosing an item that is disabled does nothing.
func (d *Menu) Do(a keymap.Action) (then func() tea.Cmd, closes bool) {
	i := itemOf(d.items, a)
	if a == keymap.Accept {
		i = d.text.Cursor()
	}
	switch {
	case i < 0 || i >= len(d.items):
		d.text.Do(a)
		return nil, a == keymap.Back
	case d.items[i].Disabled == "":
		return d.items[i].Do, true
	}
	return nil, false
}

// itemOf returns the place of the item that an action chooses, or -1.
func itemOf(items []Item, a keymap.Action) int {
	return slices.IndexFunc(items, func(it Item) bool { return it.Action == a })
}
