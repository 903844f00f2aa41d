package dialog

import (
	"fmt"
	"time"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/tui/theme"
)

// Journal lists Hindcast's own writes to a store, newest first.
type Journal struct{ box }

// NewJournal makes the list. clock gives a time as people read it.
func NewJournal(styles *theme.Styles, keys *keymap.Map, entries []model.JournalEntry, clock func(time.Time) string) *Journal {
	d := &Journal{box{styles: styles, title: "Journal: what Hindcast wrote", selects: true}}
	for i := range entries {
		e := &entries[i]
		p := paragraph{
			label: fmt.Sprintf("%d", e.ID), labelPick: muted,
			text: fmt.Sprintf("%s  %-7s  %s  #%d %s #%d", clock(e.At), e.Op, e.Session, e.FromIndex, styles.Glyphs.Arrow, e.ToIndex),
		}
		if e.Undone {
			p.text, p.pick = p.text+"  undone", orphan
		}
		d.paragraphs = append(d.paragraphs, p)
	}
	if len(entries) == 0 {
		d.selects = false
		d.paragraphs = []paragraph{{text: "Hindcast has written nothing to this store.", pick: muted}}
	}
	d.foot = append(keyHelp(keys, keymap.Session, keymap.Undo, "undo the last"), keyHelp(keys, keymap.Overlay, keymap.Back, "close")...)
	return d
}

// Scope gives the scope of the dialog's keys.
func (d *Journal) Scope() keymap.Scope { return keymap.Overlay }

// Do carries out an action; it reports whether it knew it.
func (d *Journal) Do(a keymap.Action) bool { return d.move(a) }
