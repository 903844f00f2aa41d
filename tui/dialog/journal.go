package dialog

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/tui/sheet"
	"hindcast/tui/theme"
)

// Journal lists Hindcast's own writes to a store, newest first, and says below what
// the one under the cursor did to files.
type Journal struct {
	box
	entries []model.JournalEntry
	answers JournalAnswers
}

// JournalAnswers are the actions of a journal.
type JournalAnswers struct {
	// Return takes back or repeats the last write: the action says which.
	Return func(keymap.Action) tea.Cmd
	// Purge is about the entry under the cursor.
	Purge func(model.JournalEntry) tea.Cmd
}

// fileRows is how many rows there are for the files of an entry.
const fileRows = 6

// NewJournal makes the list. clock returns a time as people read it.
func NewJournal(styles *theme.Styles, keys *keymap.Map, entries []model.JournalEntry, clock func(time.Time) string, answers JournalAnswers) *Journal {
	d := &Journal{box: box{styles: styles, title: "Journal: what Hindcast wrote", text: sheet.NewList(styles)}, entries: entries, answers: answers}
	var paragraphs []sheet.Paragraph
	for i := range entries {
		paragraphs = append(paragraphs, d.entryRow(&entries[i], clock))
	}
	if slices.ContainsFunc(entries, func(e model.JournalEntry) bool { return len(e.Files) > 0 || e.Broken != "" }) {
		d.kept, d.keptFixed = sheet.New(styles), fileRows
	}
	d.foot = keyHelp(keys, keymap.Written, keymap.Undo, "undo the last")
	if len(entries) == 0 {
		d.text = sheet.New(styles)
		paragraphs = []sheet.Paragraph{{Text: "Hindcast has written nothing to this store.", Pick: sheet.Muted}}
		d.foot = nil
	} else {
		d.foot = append(d.foot, keyHelp(keys, keymap.Written, keymap.Purge, "purge")...)
	}
	d.foot = append(d.foot, keyHelp(keys, keymap.Written, keymap.Back, "close")...)
	d.text.Set(paragraphs)
	d.tellFiles()
	return d
}

// entryRow returns an entry as a row of the list.
func (d *Journal) entryRow(e *model.JournalEntry, clock func(time.Time) string) sheet.Paragraph {
	p := sheet.Paragraph{
		Label: strconv.FormatInt(e.ID, 10), LabelPick: sheet.Muted,
		Text: fmt.Sprintf("%s  %-7s  %s  %s %s %s", clock(e.At), e.Op, model.AndOthers(e.Session, e.Others), headName(e.From, e.FromIndex), d.styles.Glyphs.Arrow, headName(e.To, e.ToIndex)),
	}
	switch {
	case e.Broken != "":
		p.Text, p.Pick = "broken off  "+p.Text, sheet.Warn
	case e.Undone:
		p.Text, p.Pick = p.Text+"  undone", sheet.Orphaned
	}
	return p
}

// tellFiles lists what the write under the cursor did to files.
func (d *Journal) tellFiles() {
	e, ok := d.selectedEntry()
	if !ok || d.kept == nil {
		return
	}
	d.keptTitle = "write " + strconv.FormatInt(e.ID, 10)
	var paragraphs []sheet.Paragraph
	if e.Broken != "" {
		paragraphs = append(paragraphs, sheet.Paragraph{Label: "broken off", LabelPick: sheet.Warn, Text: e.Broken + "; all of it was taken back", Pick: sheet.Warn})
	}
	for _, line := range model.FileLines(e.Files) {
		paragraphs = append(paragraphs, sheet.Paragraph{Label: line.Label(), LabelPick: sheet.Muted, Text: line.Text})
	}
	if len(paragraphs) == 0 {
		paragraphs = append(paragraphs, sheet.Paragraph{Text: "it changed no files", Pick: sheet.Muted})
	}
	d.kept.Set(paragraphs)
}

// selectedEntry returns the entry under the cursor; false when the journal is empty.
func (d *Journal) selectedEntry() (model.JournalEntry, bool) {
	if i := d.text.Cursor(); i < len(d.entries) {
		return d.entries[i], true
	}
	return model.JournalEntry{}, false
}

// Scope returns the scope of the dialog's keys.
func (d *Journal) Scope() keymap.Scope { return keymap.Written }

// Do carries out an action.
func (d *Journal) Do(a keymap.Action) (then func() tea.Cmd, closes bool) {
	switch e, ok := d.selectedEntry(); {
	case a == keymap.Undo || a == keymap.Redo:
		return func() tea.Cmd { return d.answers.Return(a) }, true
	case a == keymap.Purge && ok:
		return func() tea.Cmd { return d.answers.Purge(e) }, true
	}
	d.text.Do(a)
	d.tellFiles()
	return nil, closesText(a)
}

// Wheel scrolls by n rows.
func (d *Journal) Wheel(n int) {
	d.box.Wheel(n)
	d.tellFiles()
}

// headName names a head by its index.
func headName(id string, index int) string {
	if id == "" {
		return "none"
	}
	return fmt.Sprintf("#%d", index)
}
