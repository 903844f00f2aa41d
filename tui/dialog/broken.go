package dialog

import (
	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/tui/sheet"
	"hindcast/tui/theme"
)

// Broken says why an edited text will not do, and asks what to do with it.
type Broken struct {
	box
	items []Item
}

// NewBroken makes the dialog. reason is untrusted; where says where the text is. Enter
// chooses the first item.
func NewBroken(styles *theme.Styles, keys *keymap.Map, reason, where string, items []Item) *Broken {
	d := &Broken{items: items, box: box{styles: styles, title: "This edit cannot be used", text: sheet.New(styles), kept: sheet.New(styles), keptTitle: "nothing is lost"}}
	d.text.Set([]sheet.Paragraph{{Text: reason, Pick: sheet.Error}})
	d.kept.Set([]sheet.Paragraph{{Label: "kept in", LabelPick: sheet.Muted, Text: where}})
	for _, it := range items {
		d.foot = append(d.foot, keyHelp(keys, keymap.Broken, it.Action, it.Text)...)
	}
	return d
}

// Scope returns the scope of the dialog's keys.
func (d *Broken) Scope() keymap.Scope { return keymap.Broken }

// Items returns the choices, which the foot has.
func (d *Broken) Items() []Item { return d.items }

// HoldsItems reports whether row y is the foot.
func (d *Broken) HoldsItems(y int) bool { return y == d.h-2 }

// Do carries out an action.
func (d *Broken) Do(a keymap.Action) (then func() tea.Cmd, closes bool) {
	if a == keymap.Accept {
		a = d.items[0].Action
	}
	if i := itemOf(d.items, a); i >= 0 {
		return d.items[i].Do, true
	}
	d.text.Do(a)
	return nil, false
}
