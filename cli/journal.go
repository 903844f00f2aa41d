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

// journal is `hindcast journal`.
func (a *App) journal() *cobra.Command {
	return a.reads(storeOnly, &cobra.Command{
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
			return lacking(of.store, model.OpUndo, store.Reason(of.store, model.OpUndo))
		}
		var err error
		entries, damaged := features.Journal(ctx)
		if entries == nil && damaged != nil {
			return damaged
		}
		switch {
		case p.json:
			err = array(p, elements(entries))
		case len(entries) > 0 || damaged == nil:
			p.journal(entries)
		}
		if damaged != nil {
			a.report("hindcast journal", damaged)
			err = cmp.Or(err, errFaults)
		}
		return err
	})
}

func (p *printer) journal(entries []model.JournalEntry) {
	if len(entries) == 0 {
		fmt.Fprintln(p, "nothing written yet")
		return
	}
	var t table
	files := ""
	if slices.ContainsFunc(entries, func(e model.JournalEntry) bool { return len(e.Files) > 0 }) {
		files = "FILES"
	}
	t.row("ENTRY", "AT", "WRITE", "SESSION", "FROM", "TO", files)
	for i := range entries {
		e := &entries[i]
		last := filesText(e.Files)
		if e.Undone {
			last = join(last, "undone")
		}
		if e.Broken != "" {
			last = join(last, "broken off: "+printable.String(e.Broken))
		}
		t.row(strconv.FormatInt(e.ID, 10), moment(e.At), string(e.Op), printable.String(model.AndOthers(e.Session, e.Others)),
			place(model.Point{ID: e.From, Index: e.FromIndex}), place(model.Point{ID: e.To, Index: e.ToIndex}), last)
	}
	t.write(p)
}

// join puts a semicolon between two texts; the first may be "".
func join(text, more string) string {
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

// place names a head, "none" for a session without one.
func place(at model.Point) string {
	if at.ID == "" {
		return "none"
	}
	return at.String() + " " + shortID(at.ID)
}
