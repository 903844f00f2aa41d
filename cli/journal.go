package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"hindcast/model"
	"hindcast/model/printable"
	"hindcast/store"
)

// journal is `hindcast journal`.
func (a *App) journal() *cobra.Command {
	return &cobra.Command{
		Use:               "journal STORE",
		Short:             "list Hindcast's own writes to a store, the newest first",
		Args:              argsBetween(1, 1),
		ValidArgsFunction: completeStore,
		RunE: a.answer(func(ctx context.Context, p *printer, args []string) error {
			s, err := a.open(ctx, args[0])
			if err != nil {
				return err
			}
			defer s.Close()
			keeper, ok := s.(store.Undoer)
			if !ok {
				return &model.UnsupportedError{Op: model.OpUndo, Reason: store.Reason(s, model.OpUndo)}
			}
			entries, err := keeper.Journal(ctx)
			if err != nil {
				return err
			}
			if p.json {
				return array(p, each(entries))
			}
			p.journal(entries)
			return nil
		}),
	}
}

func (p *printer) journal(entries []model.JournalEntry) {
	if len(entries) == 0 {
		fmt.Fprintln(p, "nothing written yet")
		return
	}
	var t table
	t.row("ENTRY", "AT", "WRITE", "SESSION", "FROM", "TO", "")
	for i := range entries {
		e := &entries[i]
		undone := ""
		if e.Undone {
			undone = "undone"
		}
		t.row(strconv.FormatInt(e.ID, 10), moment(e.At), string(e.Op), printable.String(e.Session),
			place(e.From, e.FromIndex), place(e.To, e.ToIndex), undone)
	}
	t.write(p)
}

// place names a head, "none" for a session without one.
func place(id string, index int) string {
	if id == "" {
		return "none"
	}
	return fmt.Sprintf("#%d %s", index, shortID(id))
}
