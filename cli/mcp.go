package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"hindcast/mcp"
)

// mcpCommand is `hindcast mcp`.
func (a *App) mcpCommand() *cobra.Command {
	var secrets bool
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "answer agents over the Model Context Protocol",
		Long: `Mcp is a server of the Model Context Protocol on the standard streams, through which an
agent asks about the sessions that hindcast sessions lists. It reads only: plan shows
what restore, fork or continue would do, with the command for you to run. Secrets are
hidden, and long answers come in pages.`,
		Example: `  claude mcp add hindcast -- hindcast mcp
  codex mcp add hindcast -- hindcast mcp`,
		Args:              argsBetween(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.InTerminal {
				return usagef("mcp: an agent starts it and talks to it; claude mcp add hindcast -- hindcast mcp tells Claude Code of it")
			}
			return mcp.Serve(cmd.Context(), a.In, a.Out, a.runQuietly, mcp.Options{Version: a.Version, Secrets: secrets, Quote: shellWord})
		},
	}
	cmd.Flags().BoolVar(&secrets, "with-secrets", false, "hide no secrets")
	return cmd
}

// runQuietly runs a command that only reads, and takes what it prints.
func (a *App) runQuietly(ctx context.Context, out *mcp.Output, command []string) error {
	var said bytes.Buffer
	inner := *a
	inner.In, inner.Out, inner.Err = strings.NewReader(""), out, &said
	inner.InTerminal, inner.OutTerminal, inner.ErrTerminal, inner.Pager = false, false, false, ""
	inner.reads = true
	if code := Run(ctx, &inner, command); code != exitDone {
		return errors.New(strings.TrimSpace(said.String()))
	}
	return nil
}
