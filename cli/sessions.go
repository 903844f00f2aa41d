package cli

import (
	"context"
	"fmt"
	"iter"
	"strconv"

	"github.com/spf13/cobra"

	"hindcast/model"
	"hindcast/model/printable"
)

// sessions is `hindcast sessions`.
func (a *App) sessions() *cobra.Command {
	return &cobra.Command{
		Use:               "sessions [STORE]",
		Short:             "list the sessions of a store, the last changed first",
		Args:              storeOnly.args(),
		ValidArgsFunction: completeStore,
		RunE: a.reading(a.placed(storeOnly, func(ctx context.Context, p *printer, args []string) error {
			s, err := a.open(ctx, args[0])
			if err != nil {
				return err
			}
			defer s.Close()
			if p.json {
				return array(p, sessionsJSON(s.Sessions(ctx)))
			}
			return p.sessions(s.Sessions(ctx))
		})),
	}
}

func sessionsJSON(seq iter.Seq2[model.SessionInfo, error]) iter.Seq2[sessionJSON, error] {
	return func(yield func(sessionJSON, error) bool) {
		for info, err := range seq {
			if !yield(sessionOf(info), err) {
				return
			}
		}
	}
}

func (p *printer) sessions(seq iter.Seq2[model.SessionInfo, error]) error {
	var t table
	t.row("SESSION", "SNAPSHOTS", "ORPHANED", "HEAD", "CHANGED", "")
	for info, err := range seq {
		if err != nil {
			return err
		}
		head, note := "none", ""
		if info.Head != "" {
			head = fmt.Sprintf("#%d %s", info.HeadIndex, shortID(info.Head))
		}
		if info.Faults > 0 {
			note = count(info.Faults, "fault")
		}
		t.row(printable.String(info.ID), strconv.Itoa(info.Snapshots), strconv.Itoa(info.Orphaned), head, moment(info.UpdatedAt), note)
	}
	if len(t.rows) == 1 {
		fmt.Fprintln(p, "no sessions")
		return nil
	}
	t.write(p)
	return nil
}
