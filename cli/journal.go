package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"hindcast/model"
	"hindcast/model/printable"
	"hindcast/store"
)

// journalCommand is `hindcast journal`.
func (a *App) journalCommand() *cobra.Command {
	return a.readingCommand(storeOnly, &cobra.Command{
		Use:   "journal [STORE]",
		Short: "list Hindcast's own writes to a store, the newest first",
		Long: `Journal lists Hindcast's own writes to a store, the newest first: from which head
to which, how many files changed and what of them was set aside and is kept, and
what was undone or broken off. Of a damaged one it lists what can be read, tells
what cannot, and exits with 3. In a store of files the journal and what is kept
are in the folder .hindcast beside the sessions. --json names each file.`,
		Example: "  hindcast journal ~/.strands/sessions",
	}, func(ctx context.Context, p *printer, of *subject) error {
		features := of.store.Features()
		if features.Journal == nil {
			return lackError(of.store, model.OpUndo, store.Reason(of.store, model.OpUndo))
		}
		var err error
		entries, damaged := features.Journal(ctx)
		if entries == nil && damaged != nil {
			return damaged
		}
		switch {
		case p.json:
			err = writeArray(p, sequenceOf(entries))
		case len(entries) > 0 || damaged == nil:
			p.writeJournal(entries)
		}
		if damaged != nil {
			a.reportError("hindcast journal", damaged)
			err = cmp.Or(err, errFaults)
		}
		return err
	})
}

func (p *printer) writeJournal(entries []model.JournalEntry) {
	if len(entries) == 0 {
		fmt.Fprintln(p, "nothing written yet")
		return
	}
	var t table
	files := ""
	if slices.ContainsFunc(entries, func(e model.JournalEntry) bool { return len(e.Files) > 0 }) {
		files = "FILES"
	}
	t.addRow("ENTRY", "AT", "WRITE", "SESSION", "FROM", "TO", files)
	for i := range entries {
		e := &entries[i]
		last := filesText(e.Files)
		if e.Undone {
			last = joinTexts(last, "undone")
		}
		if e.Broken != "" {
			last = joinTexts(last, "broken off: "+printable.String(e.Broken))
		}
		t.addRow(strconv.FormatInt(e.ID, 10), formatMoment(e.At), string(e.Op), printable.String(model.AndOthers(e.Session, e.Others)),
			headName(model.Point{ID: e.From, Index: e.FromIndex}), headName(model.Point{ID: e.To, Index: e.ToIndex}), last)
	}
	t.writeTable(p)
}

// joinTexts puts a semicolon between two texts; the first may be "".
func joinTexts(text, more string) string {
	if text == "" {
		return more
	}
	return text + "; " + more
}

// filesText says how many files a write changed, and what of them is kept.
func filesText(list []model.PlanFile) string {
	if len(list) == 0 {
		return ""
	}
	var aside, replaced int
	var size int64
	for _, f := range list {
		switch f.Does {
		case model.FileSetAside:
			aside++
			size += f.Size
		case model.FileReplaced:
			replaced++
		}
	}
	text := model.Count(len(list), "file")
	if aside > 0 {
		text += fmt.Sprintf(", %d set aside (%s)", aside, model.AppendSize(nil, size))
	}
	if replaced > 0 {
		text += fmt.Sprintf(", %d replaced", replaced)
	}
	return text
}

// headName names a head, "none" for a session without one.
func headName(at model.Point) string {
	if at.ID == "" {
		return "none"
	}
	return at.String() + " " + shortID(at.ID)
}
