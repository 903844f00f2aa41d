package cli

import (
	"context"

	"github.com/spf13/cobra"

	"hindcast/model"
)

// repair is `hindcast repair`.
func (a *App) repair() *cobra.Command {
	var agreed consent
	cmd := &cobra.Command{
		Use:   "repair [STORE] [SESSION]",
		Short: "mend what keeps the framework from starting a session",
		Long: `Repair mends what keeps the framework from starting a session, or a model from
taking its messages, as hindcast doctor lists it. Whatever it replaces or takes away
is set aside beside the store, and hindcast undo puts it back. Where a framework
changes nothing in place, as the OpenAI Agents SDK, a new session is made that has
what was mended.`,
		Example: `  hindcast doctor ~/.strands/sessions chat
  hindcast repair ~/.strands/sessions chat --dry-run`,
		Args:              oneSession.args(),
		ValidArgsFunction: a.completeSnapshot(0),
		RunE: a.answer(a.placed(oneSession, func(ctx context.Context, p *printer, args []string) error {
			return a.change(ctx, p, args, agreed, model.Change{Op: model.OpRepair}, inSession(args[1]))
		})),
	}
	agreed.flags(cmd)
	return cmd
}

// purge is `hindcast purge`.
func (a *App) purge() *cobra.Command {
	var agreed consent
	var all bool
	cmd := &cobra.Command{
		Use:   "purge [STORE] [SESSION]",
		Short: "forget for good what was set aside of a session and was redacted since",
		Long: `Purge forgets texts that the framework had redacted on purpose and that live on
in what Hindcast set aside beside the store. With --all it forgets all that was
set aside of the session. It is the one write that cannot be undone, and what is
forgotten cannot be restored or undone any more, so it asks once more: --yes
--anyway answers both questions.`,
		Example: `  hindcast purge ~/.strands/sessions chat --dry-run
  hindcast purge ~/.strands/sessions chat --all`,
		Args:              oneSession.args(),
		ValidArgsFunction: a.completeSnapshot(0),
		RunE: a.answer(a.placed(oneSession, func(ctx context.Context, p *printer, args []string) error {
			what := model.PurgeRedacted
			if all {
				what = model.PurgeAll
			}
			return a.change(ctx, p, args, agreed, model.Change{Op: model.OpPurge, Scope: what}, inSession(args[1]))
		})),
	}
	cmd.Flags().BoolVar(&all, "all", false, "forget all that was set aside of the session")
	agreed.flags(cmd)
	return cmd
}

// run is `hindcast run`.
func (a *App) run() *cobra.Command {
	var agreed consent
	var input string
	cmd := &cobra.Command{
		Use:   "run [STORE] [SESSION] SNAPSHOT --input TEXT",
		Short: "let a process that is running go on from a snapshot",
		Long: `Run sends a text to a process that is running, as the next input after a snapshot.
Its models and tools run, so it asks once more: --yes --anyway answers both
questions. STORE is the process, by its URL, or a Genkit project in which one runs.
Hindcast writes nothing itself and keeps no journal of it.`,
		Example:           `  hindcast run http://127.0.0.1:3100 chat '#4' --input 'try the other train'`,
		Args:              oneOf.args(),
		ValidArgsFunction: a.completeSnapshot(1),
		RunE: a.answer(a.placed(oneOf, func(ctx context.Context, p *printer, args []string) error {
			if input == "" {
				return usagef("run needs --input with the text of the next input")
			}
			return a.change(ctx, p, args, agreed, model.Change{Op: model.OpRun, Input: input}, a.atSnapshot(args[1], args[2]))
		})),
	}
	cmd.Flags().StringVar(&input, "input", "", "the `TEXT` of the next input")
	agreed.flags(cmd)
	return cmd
}
