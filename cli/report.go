package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"hindcast/model"
	"hindcast/query"
	"hindcast/report"
	"hindcast/store"
	"hindcast/store/media/scratch"
)

// reportCommand is `hindcast report`.
func (a *App) reportCommand() *cobra.Command {
	var to string
	var how sharing
	cmd := a.answeringCommand(oneSession, &cobra.Command{
		Use:   "report [STORE...] [SESSION]",
		Short: "write a session as one page that opens in any browser",
		Long: `Report writes a session as one page of HTML: the tree with its abandoned branches and
why they were left, and for each snapshot its header, what changed since the one
before, and the messages that came. The page needs nothing besides and asks for
nothing: send it to a colleague. It follows the dark or the light of the browser; j and
k go from snapshot to snapshot, and it is whole without scripts. Texts of the session
are text in it, whatever they hold. Without SESSION it is the one that changed last.

` + redacts,
		Example: `  hindcast report trips.db trip-planner -o trip.html
  hindcast report trips.db trip-planner --only 3..11.1 --redact -o part.html`,
	}, func(ctx context.Context, p *printer, of *subject) error {
		var err error
		done := tally{Store: to, Sessions: 1}
		write := func(w io.Writer) error { return a.writeReport(ctx, w, of.store, of.session, &how, &done) }
		if to == "" {
			err = write(p)
		} else {
			err = writeFile(to, write)
		}
		if err != nil {
			return err
		}
		if done.Hidden != nil && !p.json {
			listHidden(a.Err, done.Hidden)
		}
		if to == "" {
			return nil
		}
		return p.writeTally("reported", &done)
	})
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case asJSON(cmd) && to == "":
			return usagef("report: the page is HTML, and no JSON: with --json, name a file with -o")
		case to == "" && a.OutTerminal:
			return usagef("report: the page is HTML, which a terminal does not show: name a file with -o")
		}
		return nil
	}
	cmd.Flags().StringVarP(&to, "output", "o", "", "write to a new `FILE` instead of the standard output")
	how.addFlags(cmd)
	return cmd
}

// writeReport writes the page on a session, or on what is shared of it, and fills in done.
// What is shared is put into a portable file first, which is a store as any other.
func (a *App) writeReport(ctx context.Context, w io.Writer, s store.Store, session string, how *sharing, done *tally) (err error) {
	var notes []string
	if how.isAsked() {
		what, err := a.shareRows(ctx, s, []string{session}, how)
		if err != nil {
			return err
		}
		folder, err := scratch.Make("")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, folder.Remove()) }()
		path := filepath.Join(folder.Path, "shared.jsonl")
		if err := writeRows(path, what.rows, a.Encode); err != nil {
			return err
		}
		if s, err = a.Kinds.Open(ctx, "jsonl:"+path); err != nil {
			return err
		}
		defer s.Close()
		done.Hidden = what.hiddenSecrets()
		notes = shareNotes(how, done)
	}
	t, err := a.labelledTimeline(ctx, s, session)
	if err != nil {
		return err
	}
	done.Snapshots = t.Snapshots()
	shown := progress{out: a.Err, done: &tally{Sessions: 1}}
	defer shown.clearLine()
	states := func(headers []model.Header) store.StateReader {
		read := query.States(s, headers)
		return func(ctx context.Context, i int) ([]byte, error) {
			state, err := read(ctx, i)
			if shown.done.Snapshots++; a.ErrTerminal {
				shown.addSnapshot(len(state))
			}
			return state, err
		}
	}
	return report.Write(ctx, w, report.Session{Store: s, Timeline: t, ID: session, States: states, Notes: notes})
}

// shareNew writes a session, or those of its snapshots that only names, to a new file, its
// secrets hidden, while the screen has the terminal: it writes nothing else.
func (a *App) shareNew(ctx context.Context, s store.Store, session, only, path string) (places int, hidden string, err error) {
	quiet := *a
	quiet.Err = io.Discard
	how, done := sharing{only: only, hides: true}, tally{}
	if filepath.Ext(path) == ".jsonl" {
		var what shared
		if what, err = quiet.shareRows(ctx, s, []string{session}, &how); err == nil {
			err = writeRows(path, what.rows, quiet.Encode)
			done.Hidden = what.hiddenSecrets()
		}
	} else {
		err = writeFile(path, func(w io.Writer) error { return quiet.writeReport(ctx, w, s, session, &how, &done) })
	}
	if err != nil {
		return 0, "", fmt.Errorf("share: %w", err)
	}
	var list strings.Builder
	listHidden(&list, done.Hidden)
	return len(done.Hidden), list.String(), nil
}

// shareNotes says on the page that it is not all of the session.
func shareNotes(how *sharing, done *tally) (notes []string) {
	if how.only != "" {
		notes = append(notes, fmt.Sprintf("a part of the session: %s", how.only))
	}
	if done.Hidden != nil {
		notes = append(notes, fmt.Sprintf("secrets were hidden at %s: [redacted KIND N] stands for each", model.Count(len(done.Hidden), "place")))
	}
	return notes
}

// writeFile writes a file that is not there yet, which its owner alone can read.
func writeFile(path string, write func(io.Writer) error) error {
	return fillBeside(path, func(draft string) error {
		f, err := os.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		err = write(f)
		return errors.Join(err, f.Sync(), f.Close())
	})
}
