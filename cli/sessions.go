package cli

import (
	"context"
	"fmt"
	"iter"
	"strconv"

	"github.com/spf13/cobra"

	"hindcast/model"
	"hindcast/model/printable"
	"hindcast/store"
)

// sessionsCommand is `hindcast sessions`.
func (a *App) sessionsCommand() *cobra.Command {
	return a.readingCommand(storeOnly, &cobra.Command{
		Use:   "sessions [STORE]",
		Short: "list the sessions of a store, the last changed first",
	}, func(ctx context.Context, p *printer, of *subject) error {
		if p.json {
			return writeArray(p, mapElements(of.store.Sessions(ctx), sessionOf))
		}
		return p.writeSessions(of.store.Sessions(ctx))
	})
}

func (p *printer) writeSessions(seq iter.Seq2[model.SessionInfo, error]) error {
	var t table
	t.addRow("SESSION", "PROJECT", "SNAPSHOTS", "OFF PATH", "HEAD", "CHANGED", "SIZE", "FAULTS", "BEGINS WITH")
	for info, err := range seq {
		if err != nil {
			return err
		}
		head := "none"
		if info.Head.ID != "" {
			head = fmt.Sprintf("#%d %s", info.Head.Index, shortID(info.Head.ID))
		}
		size, faults := "", ""
		if info.Size > 0 {
			size = string(model.AppendSize(nil, info.Size))
		}
		if info.Faults > 0 {
			faults = "! " + strconv.Itoa(info.Faults)
		}
		snapshots, orphaned := strconv.Itoa(info.Snapshots), strconv.Itoa(info.Orphaned)
		if info.Snapshots == store.Uncounted {
			snapshots, orphaned, head = "", "", ""
		} else if info.Orphaned == store.Uncounted {
			orphaned = ""
		}
		t.addRow(printable.String(info.ID), printable.String(info.Project), snapshots, orphaned, head, formatMoment(info.UpdatedAt), size, faults, printable.String(info.Title))
	}
	if len(t.rows) == 1 {
		fmt.Fprintln(p, "no sessions")
		return nil
	}
	t.dropEmpty()
	t.writeTable(p)
	return nil
}
