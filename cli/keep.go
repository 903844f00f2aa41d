package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"hindcast/model"
	"hindcast/model/printable"
	"hindcast/store/home"
)

// keepCommand is `hindcast keep`.
func (a *App) keepCommand() *cobra.Command {
	var to string
	var schedule, watch, redacted bool
	cmd := &cobra.Command{
		Use:   "keep [STORE...]",
		Short: "keep the files of sessions, so that none is lost when its tool deletes them",
		Long: `Keep copies the files of sessions byte for byte into an archive of yours: transcripts,
attachments, sub-agents, results and indexes. Of sessions that are rows of a SQLite
database it copies the rows. Without STORE it keeps those of all stores that are found.
What is kept already is not read again, so that the next time costs what is new. The
stores stay as they are, and their tools may run meanwhile. A file that was written over
is kept in both versions. Nothing ever leaves the archive by itself.

The archive is hindcast/kept.db in $XDG_DATA_HOME or ~/.local/share, for your eyes alone.
HINDCAST_ARCHIVE names another one for all commands: a file, or a PostgreSQL database as
postgres://user@host/database. --to does so for keep. An archive has the paths of one
machine: give each machine its own.
hindcast give-back puts a session back that was deleted. --schedule prints what has the
system keep sessions every hour, and changes nothing. --watch goes on until it is stopped,
and keeps what is written meanwhile.

--redact writes the letter x over secrets of known shape in what is new. A session that had
one is then not given back byte for byte, and giving it back says so.

Files that no session needs are left out, such as the credentials of a tool. Sessions on
a server are not kept, and it says so.`,
		Example: `  hindcast keep
  hindcast keep ~/.claude/projects
  hindcast keep verify`,
		Args:              argsBetween(0, 1000),
		ValidArgsFunction: completeStore,
		RunE: a.runAnswer(func(ctx context.Context, p *printer, args []string) error {
			if schedule {
				return p.writeSchedule()
			}
			return a.onArchive(to, func(archive home.Archive) error { return a.keepStores(ctx, p, archive, args, keeping{watch, redacted}) })
		}),
	}
	cmd.Flags().BoolVar(&schedule, "schedule", false, "print what has the system keep sessions every hour, and change nothing")
	cmd.Flags().BoolVar(&watch, "watch", false, "go on until it is stopped, and keep what is written meanwhile")
	cmd.Flags().BoolVar(&redacted, "redact", false, "keep what is new without secrets of known shape")
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if watch && (schedule || asJSON(cmd)) {
			return usagef("keep --watch goes on, and takes neither --schedule nor --json")
		}
		if schedule && (len(args) > 0 || redacted || asJSON(cmd)) {
			return usagef("keep --schedule prints text, and takes no STORE, no --redact and no --json")
		}
		return nil
	}
	cmd.PersistentFlags().StringVar(&to, "to", "", "the `ADDRESS` of the archive: a file or a PostgreSQL database")
	cmd.AddCommand(&cobra.Command{
		Use:   "verify",
		Short: "read all that is kept, and compare it with its hashes",
		Long: `Verify reads the archive whole and compares each byte with the hashes that were written
with it. It exits with 3 if a file cannot be read as it was kept.`,
		Example:           "  hindcast keep verify",
		Args:              argsBetween(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.runAnswer(func(ctx context.Context, p *printer, _ []string) error {
			return a.onArchive(to, func(archive home.Archive) error { return verifyArchive(ctx, p, archive) })
		}),
	})
	return cmd
}

// onArchive calls a function with the archive at an address, "" for that of the user.
func (a *App) onArchive(address string, what func(home.Archive) error) error {
	archive, err := a.Archive(address)
	if err != nil {
		return err
	}
	return errors.Join(what(archive), archive.Close())
}

// keepJSON is the document of `keep --json`.
type keepJSON struct {
	Archive string          `json:"archive"`
	Stores  []keptStoreJSON `json:"stores"`
}

// keptStoreJSON is a store of it.
type keptStoreJSON struct {
	Kind    string `json:"kind"`
	Address string `json:"address"`
	Files   int    `json:"files"`
	Changed int    `json:"changed"`
	Gone    int    `json:"gone"`
	Bytes   int64  `json:"bytes"`
	Added   int64  `json:"added"`
	Stored  int64  `json:"stored"`
	Error   string `json:"error,omitempty"`
}

// keeping is how stores are kept: until it is stopped, and without secrets.
type keeping struct{ watch, redacted bool }

// keepStores keeps the stores that words name, or all; to watch, until ctx ends.
func (a *App) keepStores(ctx context.Context, p *printer, archive home.Archive, args []string, how keeping) error {
	h, _, rest, err := a.homeOf(ctx, allStores, args)
	if err != nil {
		return err
	}
	defer h.Close() // it was only read
	if len(rest) > 0 {
		return usagef("keep: %.80q is no store", rest[0])
	}
	done, failed := keepRound(ctx, h, archive, how)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	switch {
	case p.json:
		return errors.Join(p.writeDocument(done), failed)
	case len(done.Stores) == 0 && failed == nil && !how.watch:
		return noStore()
	}
	p.writeKept(done)
	if how.watch && failed == nil {
		return keepWatched(ctx, p, h, archive, how)
	}
	return failed
}

// longestShare is how much longer than a round of keeping the pause behind it is.
const longestShare = 4

// keepWatched keeps the stores again after each change, until ctx ends, and writes what was new. Rounds are a pause apart, so that an
// agent that writes all the time costs a part of the time.
func keepWatched(ctx context.Context, p *printer, h *home.Home, archive home.Archive, how keeping) error {
	for s, err := range h.FindStores(ctx) {
		if err == nil && !s.Gone {
			_, _ = s.Open(ctx) // a store that cannot be opened is not watched
		}
	}
	changes, err := h.Watch(ctx)
	if err != nil {
		return err
	}
	for again := true; ; {
		if again { // also what was written before the watch began
			begun := time.Now()
			done, failed := keepRound(ctx, h, archive, how)
			if ctx.Err() != nil {
				return nil
			}
			if failed != nil {
				return failed
			}
			done.Stores = slices.DeleteFunc(done.Stores, func(s keptStoreJSON) bool { return s.Error != "" || s.Changed+s.Gone == 0 })
			if len(done.Stores) > 0 {
				p.writeKept(done)
			}
			if err := p.Flush(); err != nil {
				return err
			}
			select {
			case <-time.After(longestShare * time.Since(begun)):
			case <-ctx.Done():
				return nil
			}
		}
		select {
		case _, again = <-changes:
			if !again {
				return nil
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// keepRound keeps the stores of a home once.
func keepRound(ctx context.Context, h *home.Home, archive home.Archive, how keeping) (done *keepJSON, failed error) {
	done = &keepJSON{Archive: archive.Path(), Stores: []keptStoreJSON{}}
	for s, err := range h.FindStores(ctx) {
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		if s.Gone {
			continue
		}
		keep := archive.Keep
		if how.redacted {
			keep = archive.KeepRedacted
		}
		kept, err := keep(ctx, s.Found)
		if ctx.Err() != nil {
			return done, nil
		}
		if errors.Is(err, home.ErrArchive) { // no other store could be kept either
			return done, errors.Join(failed, err)
		}
		row := keptStoreJSON{
			Kind: s.Name, Address: printable.Addresses(s.At), Files: kept.Files, Changed: kept.Changed, Gone: kept.Gone,
			Bytes: kept.Bytes, Added: kept.Added, Stored: kept.Stored,
		}
		if err != nil {
			row.Error = printable.Addresses(err.Error())
		}
		done.Stores = append(done.Stores, row)
	}
	return done, failed
}

// writeKept writes a table of the stores that were kept, and below it the stores that were not.
func (p *printer) writeKept(done *keepJSON) {
	var t table
	var all keptStoreJSON
	t.addRow("KIND", "FILES", "SIZE", "CHANGED", "NEW", "TAKES", "GONE", "ADDRESS")
	for _, s := range done.Stores {
		if s.Error != "" {
			continue
		}
		gone := ""
		if s.Gone > 0 {
			gone = strconv.Itoa(s.Gone)
		}
		t.addRow(s.Kind, strconv.Itoa(s.Files), sizeText(s.Bytes), strconv.Itoa(s.Changed), sizeText(s.Added), sizeText(s.Stored), gone, printable.String(s.Address))
		all.Files, all.Bytes, all.Stored = all.Files+s.Files, all.Bytes+s.Bytes, all.Stored+s.Stored
	}
	if len(t.rows) > 1 {
		t.dropEmpty()
		t.writeTable(p)
	}
	for _, s := range done.Stores {
		if s.Error != "" {
			fmt.Fprintf(p, "%s %s\n", p.glyphs.Bad, printable.String(s.Error))
		}
	}
	fmt.Fprintf(p, "%s, %s; %s new in %s\n", model.Count(all.Files, "file"), sizeText(all.Bytes), sizeText(all.Stored), printable.String(done.Archive))
}

// sizeText returns a number of bytes for people.
func sizeText(size int64) string { return string(model.AppendSize(nil, size)) }

// verifiedJSON is the document of `keep verify --json`.
type verifiedJSON struct {
	Archive string   `json:"archive"`
	Stores  int      `json:"stores"`
	Files   int      `json:"files"`
	Gone    int      `json:"gone"`
	Bytes   int64    `json:"bytes"`
	Stored  int64    `json:"stored"`
	Damaged []string `json:"damaged"`
}

// verifyArchive reads an archive whole.
func verifyArchive(ctx context.Context, p *printer, archive home.Archive) error {
	v, err := archive.Verify(ctx)
	if err != nil {
		return err
	}
	if p.json {
		err = p.writeDocument(verifiedJSON{archive.Path(), v.Stores, v.Files, v.Gone, v.Bytes, v.Stored, append([]string{}, v.Damaged...)})
	} else {
		for _, name := range v.Damaged {
			fmt.Fprintf(p, "%s %s is not as it was kept\n", p.glyphs.Bad, printable.String(name))
		}
		fmt.Fprintf(p, "%s of %s, %s in %s", model.Count(v.Files, "file"), model.Count(v.Stores, "store"), sizeText(v.Bytes), sizeText(v.Stored))
		if v.Gone > 0 {
			fmt.Fprintf(p, ", %d of them gone", v.Gone)
		}
		if len(v.Damaged) == 0 {
			fmt.Fprint(p, ": each byte is as it was kept")
		}
		fmt.Fprintln(p)
	}
	if err == nil && len(v.Damaged) > 0 {
		err = errFaults
	}
	return err
}
