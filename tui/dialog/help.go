package dialog

import (
	"hindcast/keymap"
	"hindcast/tui/theme"
)

// Help shows every key of a scope, by group, and why some can do nothing just
// now.
type Help struct{ box }

// NewHelp makes the help of a scope. now decides which actions are disabled.
func NewHelp(styles *theme.Styles, keys *keymap.Map, scope keymap.Scope, now keymap.Context) *Help {
	d := &Help{box{styles: styles, title: "Keys: " + scope.Where()}}
	for i, section := range keys.Help(scope) {
		if i > 0 {
			d.paragraphs = append(d.paragraphs, paragraph{})
		}
		d.paragraphs = append(d.paragraphs, paragraph{text: section.Group, pick: title, wide: true})
		for _, line := range section.Lines {
			p := paragraph{label: line.Keys, labelPick: keyOn, text: line.Help}
			if reason := line.Action.Disabled(now); reason != "" {
				p.labelPick, p.pick = keyOff, keyOff
				p.text += " (off: " + reason + ")"
			}
			d.paragraphs = append(d.paragraphs, p)
		}
	}
	d.foot = keyHelp(keys, keymap.Overlay, keymap.Back, "close")
	return d
}

// Scope gives the scope of the dialog's keys.
func (d *Help) Scope() keymap.Scope { return keymap.Overlay }

// Do carries out an action; it reports whether it knew it.
func (d *Help) Do(a keymap.Action) bool { return d.move(a) }
