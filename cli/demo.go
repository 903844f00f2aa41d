package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"hindcast/model"
	"hindcast/model/printable"
	"hindcast/store"
)

// What `hindcast demo DIR` calls the store, and what `hindcast demo --live DIR`
// calls it.
const (
	demoFile = "hindcast-demo.db"
	liveFile = "hindcast-live.db"
)

// Live says how the agent of the live demo works.
type Live struct {
	// Resume goes on with the session that is in the store.
	Resume bool
	// Beat is the unit of its pauses; 0 is no pause.
	Beat time.Duration
	// Tell is told of each step as it happens: the turn, what it is in a word,
	// and its words.
	Tell func(turn int, what, words string)
}

// Lived is the outcome of the live demo.
type Lived struct {
	Session string
	// Captured is how many snapshots were taken; Head is where the session
	// stands.
	Captured int
	Head     model.Point
	// Stopped says that it was interrupted, which is no error.
	Stopped bool
}

// demoCommand is `hindcast demo`.
func (a *App) demoCommand() *cobra.Command {
	var isLive, force bool
	var live Live
	cmd := &cobra.Command{
		Use:   "demo [DIR]",
		Short: "write a fresh demo store, or with --live one that grows while you watch",
		Long: `Demo writes a fresh demo store, ` + demoFile + `, into DIR or the current directory.

With --live an agent works for about a minute, without a model or a network, and
records its session in ` + liveFile + ` in DIR. Follow it with hindcast DIR in a
second terminal, and put it back to an earlier snapshot, while it works or later;
--resume then goes on from there, another way. Ctrl-C ends it and keeps what it did.

DIR is made if it is not there. A file that is there is not replaced, unless --force
says so; hindcast undo takes back what you did to a demo.`,
		Example: `  hindcast demo
  hindcast demo --live .
  hindcast demo --live . --resume`,
		Args: argsBetween(0, 1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: a.runAnswer(func(ctx context.Context, p *printer, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			switch {
			case isLive && live.Beat < 0:
				return usagef("--pace %v: nothing takes less than no time", live.Beat)
			case isLive && force:
				return usagef("--force makes the still demo anew; a live one goes on with --resume")
			case isLive:
				if err := os.MkdirAll(dir, 0o700); err != nil {
					return fmt.Errorf("demo: %w", err)
				}
				return a.runLive(ctx, p, dir, live)
			case live.Resume:
				return usagef("--resume goes on with a live demo: give --live, too")
			}
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return fmt.Errorf("demo: %w", err)
			}
			return a.writeDemo(ctx, p, dir, force)
		}),
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace the demo store that is there")
	cmd.Flags().BoolVar(&isLive, "live", false, "let an agent work, and record it in "+liveFile)
	cmd.Flags().BoolVar(&live.Resume, "resume", false, "go on with the live demo that is there")
	cmd.Flags().DurationVar(&live.Beat, "pace", time.Second, "the unit of the agent's pauses; 0 for none")
	return cmd
}

// writeDemo writes the demo store.
func (a *App) writeDemo(ctx context.Context, p *printer, dir string, force bool) error {
	path := filepath.Join(dir, demoFile)
	done := tally{Store: path}
	if force {
		for _, part := range []string{"-wal", "-shm", ""} { // SQLite keeps up to three files
			if err := os.Remove(path + part); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("demo: %w", err)
			}
		}
	}
	if _, err := a.makeStore(ctx, path, "", done.watchRows(a.Demo())); errors.Is(err, fs.ErrExist) {
		return &advisedError{&wrongError{path + " exists", err}, "hindcast demo --force, or another DIR."}
	} else if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if p.json {
		return p.writeDocument(done)
	}
	fmt.Fprintf(p, "%s: %s of %s\nhindcast %s opens it\n", printable.String(path),
		model.Count(done.Snapshots, "snapshot"), model.Count(done.Sessions, "session"), printable.String(path))
	return nil
}

// runLive lets the agent work on a store of its own, and prints each step at once.
func (a *App) runLive(ctx context.Context, p *printer, dir string, how Live) error {
	path, again := filepath.Join(dir, liveFile), "hindcast demo --live "+dir+" --resume"
	if !how.Resume {
		nothing := func(func(store.Row, error) bool) {}
		if _, err := a.makeStore(ctx, path, "", nothing); errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("demo: %w", &advisedError{err, again + " goes on with it."})
		} else if err != nil {
			return fmt.Errorf("demo: %w", err)
		}
	}
	s, err := a.openStore(ctx, path)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if !p.json {
		fmt.Fprintf(p, "hindcast %s in a second terminal follows this\n", printable.String(path))
		p.Flush()
		how.Tell = p.stepPrinter()
	}
	done, err := a.Live(ctx, s, how)
	err = errors.Join(err, s.Close())
	if conflict := (*model.ConflictError)(nil); errors.As(err, &conflict) {
		return &advisedError{err, "Nothing was overwritten. " + again + " goes on from there."}
	} else if err != nil {
		return err
	}
	if p.json {
		return p.writeDocument(struct {
			Store     string `json:"store"`
			Session   string `json:"session"`
			Snapshots int    `json:"snapshots"`
			Head      string `json:"head"`
			HeadIndex int    `json:"headIndex"`
			Stopped   bool   `json:"stopped"`
		}{path, done.Session, done.Captured, done.Head.ID, done.Head.Index, done.Stopped})
	}
	word := "done"
	if done.Stopped {
		word = "stopped"
	}
	where := "before its first snapshot"
	if done.Head.ID != "" {
		where = fmt.Sprintf("at #%d %s", done.Head.Index, shortID(done.Head.ID))
	}
	fmt.Fprintf(p, "%s: %s, %s is %s\n", word, model.Count(done.Captured, "snapshot"), printable.String(done.Session), where)
	if done.Stopped {
		fmt.Fprintf(p, "%s goes on\n", printable.String(again))
	} else {
		fmt.Fprintf(p, "put it back to a snapshot, and %s goes on from there\n", printable.String(again))
	}
	return nil
}

// stepPrinter prints what the agent tells, a line for each step, the turn beside the
// first of its steps.
func (p *printer) stepPrinter() func(turn int, what, words string) {
	shown := -1
	return func(turn int, what, words string) {
		beside := ""
		if turn != shown {
			beside, shown = fmt.Sprint("turn ", turn), turn
		}
		fmt.Fprintf(p, "%-7s  %-8s  %s\n", beside, what, printable.String(words))
		p.Flush()
	}
}
