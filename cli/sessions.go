package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"hindcast/model"
	"hindcast/model/printable"
	"hindcast/store"
	"hindcast/store/home"
)

// sessionsCommand is `hindcast sessions`.
func (a *App) sessionsCommand() *cobra.Command {
	return a.readingCommand(allStores, &cobra.Command{
		Use:   "sessions [STORE...]",
		Short: "list the sessions of all stores or of some, the last changed first",
	}, func(ctx context.Context, p *printer, of *subject) error {
		list, failed := sortedSessions(ctx, of.home)
		if failed == nil && of.home.CountStores() == 0 {
			failed = noStore()
		}
		if len(list) == 0 && failed != nil {
			return failed
		}
		if p.json {
			return errors.Join(writeArray(p, mapElements(sequenceOf(list), of.sessionOf)), failed)
		}
		p.writeSessions(list, of.home.CountStores() > 1)
		return failed
	})
}

// sortedSessions returns the sessions of a home, newest first, and why some may be missing.
func sortedSessions(ctx context.Context, h *home.Home) (list []*home.Session, failed error) {
	for session, err := range h.Sessions(ctx) {
		switch {
		case err != nil:
			failed = errors.Join(failed, err)
		case session.Err != nil:
			failed = errors.Join(failed, session.Err)
		default:
			list = append(list, session)
		}
	}
	slices.SortFunc(list, home.NewestFirst)
	return list, failed
}

// writeSessions writes a table of sessions. several says that they are of more than one store.
func (p *printer) writeSessions(list []*home.Session, several bool) {
	var t table
	t.addRow("SESSION", "TOOL", "PROJECT", "SNAPSHOTS", "OFF PATH", "HEAD", "CHANGED", "SIZE", "FAULTS", "GONE SINCE", "BEGINS WITH")
	for _, info := range list {
		head := "none"
		if info.Head.ID != "" {
			head = fmt.Sprintf("#%d %s", info.Head.Index, shortID(info.Head.ID))
		}
		size, faults, gone := "", "", ""
		if !info.GoneSince.IsZero() {
			gone = p.glyphs.Gone + " " + formatMoment(info.GoneSince)
		}
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
		tool := ""
		if several {
			tool = info.Kind
		}
		t.addRow(printable.String(info.ID), tool, printable.String(info.Project), snapshots, orphaned, head, formatMoment(info.UpdatedAt), size, faults, gone, printable.String(info.Title))
	}
	if len(t.rows) == 1 {
		fmt.Fprintln(p, "no sessions")
		return
	}
	t.dropEmpty()
	t.writeTable(p)
}
