package cli

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"hindcast/model/printable"
)

// demoFile is what `hindcast demo DIR` calls the store.
const demoFile = "hindcast-demo.db"

// demo is `hindcast demo`.
func (a *App) demo() *cobra.Command {
	return &cobra.Command{
		Use:   "demo [DIR]",
		Short: "write a fresh demo store",
		Long: `Demo writes a fresh demo store, ` + demoFile + `, into DIR or the current directory.
It never replaces a file.`,
		Args: argsBetween(0, 1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: a.answer(func(ctx context.Context, p *printer, args []string) error {
			path := demoFile
			if len(args) == 1 {
				path = filepath.Join(args[0], demoFile)
			}
			done := tally{Store: path}
			if _, err := a.make(ctx, path, done.watch(a.Demo())); err != nil {
				return fmt.Errorf("demo: %w", err)
			}
			if p.json {
				return p.document(done)
			}
			fmt.Fprintf(p, "%s: %s of %s\nhindcast %s opens it\n", printable.String(path),
				count(done.Snapshots, "snapshot"), count(done.Sessions, "session"), printable.String(path))
			return nil
		}),
	}
}
