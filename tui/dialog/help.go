package dialog

import (
	"hindcast/keymap"
	"hindcast/tui/sheet"
	"hindcast/tui/theme"
)

// Help shows every key of a scope, by group, and why some can do nothing just
// now.
type Help struct{ box }

// NewHelp makes the help of a scope. now decides which actions are disabled.
func NewHelp(styles *theme.Styles, keys *keymap.Map, scope keymap.Scope, now keymap.Context) *Help {
	d := &Help{box{styles: styles, title: "Keys: " + scope.Where(), text: sheet.New(styles)}}
	var paragraphs []sheet.Paragraph
	for i, section := range keys.Help(scope) {
		if i > 0 {
			paragraphs = append(paragraphs, sheet.Paragraph{})
		}
		paragraphs = append(paragraphs, sheet.Paragraph{Text: section.Group, Pick: sheet.Title, Wide: true})
		for _, line := range section.Lines {
			p := sheet.Paragraph{Label: line.Keys, LabelPick: sheet.Key, Text: line.Help}
			if reason := line.Action.Disabled(now); reason != "" {
				p.LabelPick, p.Pick = sheet.KeyOff, sheet.KeyOff
				p.Text += " (off: " + reason + ")"
			}
			paragraphs = append(paragraphs, p)
		}
	}
	d.text.Set(paragraphs)
	d.foot = keyHelp(keys, keymap.Overlay, keymap.Back, "close")
	return d
}

// Scope gives the scope of the dialog's keys.
func (d *Help) Scope() keymap.Scope { return keymap.Overlay }

// Do carries out an action; it reports whether it knew it.
func (d *Help) Do(a keymap.Action) bool { return d.move(a) }
