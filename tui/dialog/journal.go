package dialog

import (
	"fmt"
	"time"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/tui/sheet"
	"hindcast/tui/theme"
)

// Journal lists Hindcast's own writes to a store, newest first.
type Journal struct{ box }

// NewJournal makes the list. clock gives a time as people read it.
func NewJournal(styles *theme.Styles, keys *keymap.Map, entries []model.JournalEntry, clock func(time.Time) string) *Journal {
	d := &Journal{box{styles: styles, title: "Journal: what Hindcast wrote", text: sheet.NewList(styles)}}
	var paragraphs []sheet.Paragraph
	for i := range entries {
		e := &entries[i]
		p := sheet.Paragraph{
			Label: fmt.Sprintf("%d", e.ID), LabelPick: sheet.Muted,
			Text: fmt.Sprintf("%s  %-7s  %s  %s %s %s", clock(e.At), e.Op, e.Session, place(e.From, e.FromIndex), styles.Glyphs.Arrow, place(e.To, e.ToIndex)),
		}
		if e.Undone {
			p.Text, p.Pick = p.Text+"  undone", sheet.Orphaned
		}
		paragraphs = append(paragraphs, p)
	}
	if len(entries) == 0 {
		d.text = sheet.New(styles)
		paragraphs = []sheet.Paragraph{{Text: "Hindcast has written nothing to this store.", Pick: sheet.Muted}}
	}
	d.text.Set(paragraphs)
	d.foot = append(keyHelp(keys, keymap.Overlay, keymap.Undo, "undo the last"), keyHelp(keys, keymap.Overlay, keymap.Back, "close")...)
	return d
}

// Scope gives the scope of the dialog's keys.
func (d *Journal) Scope() keymap.Scope { return keymap.Overlay }

// Do carries out an action; it reports whether it knew it.
func (d *Journal) Do(a keymap.Action) bool { return d.move(a) }

// place names a head by its index.
func place(id string, index int) string {
	if id == "" {
		return "none"
	}
	return fmt.Sprintf("#%d", index)
}
