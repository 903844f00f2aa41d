package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"hindcast/model"
	"hindcast/query"
	"hindcast/store"
)

// continueCommand is `hindcast continue`, into one of some kinds.
func (a *App) continueCommand(kinds store.Kinds) *cobra.Command {
	var in, to, project, as string
	cmd := a.writingCommand(oneOf.itself, &cobra.Command{
		Use:   "continue [STORE...] [SESSION] SNAPSHOT --in TOOL",
		Short: "start a session of another tool from a snapshot",
		Long: `Continue starts a session of another tool that begins with the conversation in a
snapshot, also in one that was left. It is written where the tool looks for it, and
the plan has the call that resumes it. --to names the store of a tool without a usual
place; a file that is not there is made. Texts, calls with their results and pictures
go over. A call becomes one of the tool's own where the arguments fit it. The plan
says what is changed, and what stays behind. The session that is continued is not
touched, and hindcast undo takes the new one away.`,
		Example: `  hindcast continue ~/.claude/projects 7ffd5cb9 '#7' --in codex --dry-run
  hindcast continue agent.db trip-planner head --in claude-code --project ~/trips
  hindcast continue 7ffd5cb9 head --in openai-agents --to agents.db`,
		PreRunE: func(*cobra.Command, []string) error {
			if in == "" {
				return usagef("continue needs --in with a tool: %s", strings.Join(continuers(kinds), ", "))
			}
			return nil
		},
	}, func(ctx context.Context, p *printer, of *subject, agreed consent) (err error) {
		kind, err := findContinuer(kinds, in)
		if err != nil {
			return err
		}
		do := func(into store.Store) error {
			if into.Kind() != kind.Name && !(store.HoldsRecordings(into.Kind()) && store.HoldsRecordings(kind.Name)) {
				return usagef("%q is a store of %s, not of %s", to, into.Kind(), kind.Name)
			}
			return a.continueInto(ctx, p, into, of, project, as, agreed)
		}
		switch {
		case to == "":
			return a.inUsualPlace(ctx, kind, do)
		case a.Kinds.IsURL(to):
			return a.intoStore(ctx, to, agreed, do)
		}
		return a.intoStore(ctx, kind.Name+":"+to, agreed, do)
	})
	cmd.Flags().StringVar(&in, "in", "", "the `TOOL` that goes on: "+strings.Join(continuers(kinds), ", "))
	cmd.Flags().StringVar(&to, "to", "", "the `STORE` of the tool, where it is not in a usual place")
	cmd.Flags().StringVar(&project, "project", "", "the `FOLDER` that it goes on in, where that is not the session's")
	cmd.Flags().StringVar(&as, "as", "", "id of the new session")
	return cmd
}

// continueInto plans and carries out a session that begins with the conversation in the snapshot that is named.
func (a *App) continueInto(ctx context.Context, p *printer, into store.Store, of *subject, project, as string, agreed consent) error {
	if into.Features().PlanContinue == nil {
		return lackError(into, model.OpContinue, store.Reason(into, model.OpContinue))
	}
	t, n, err := of.resolveVisit(ctx, of.firstSnapshot())
	if err != nil {
		return err
	}
	from, err := query.Handover(ctx, of.store, t, n, &of.info, project)
	if err != nil {
		return err
	}
	todo, err := into.Features().PlanContinue(ctx, from, as)
	if err != nil {
		return err
	}
	return a.carryOut(ctx, p, into, agreed, &planned{Plan: todo, back: shownAddress(into.Address(), into)})
}

// continuers returns the names of the kinds whose tools go on with conversations of others.
func continuers(kinds store.Kinds) (names []string) {
	for _, k := range kinds {
		if k.Continues {
			names = append(names, k.Name)
		}
	}
	return names
}

// findContinuer returns the kind of a tool, by its name or the beginning of it.
func findContinuer(kinds store.Kinds, name string) (*store.Kind, error) {
	var fit []*store.Kind
	for i := range kinds {
		if k := &kinds[i]; k.Continues && strings.HasPrefix(k.Name, name) {
			fit = append(fit, k)
		}
	}
	if len(fit) == 1 {
		return fit[0], nil
	}
	return nil, usagef("%.80q goes on with no conversation of another tool: --in takes %s", name, strings.Join(continuers(kinds), ", "))
}

// inUsualPlace runs do with the store in the usual place of a kind.
func (a *App) inUsualPlace(ctx context.Context, kind *store.Kind, do func(store.Store) error) error {
	into, undo, err := kind.OpenUsual(ctx, a.Around, !a.reads)
	if errors.Is(err, store.ErrNoPlace) {
		return usagef("sessions of %s have no usual place: --to names their store", kind.Name)
	}
	if err != nil {
		return err
	}
	return errors.Join(do(into), into.Close(), undo())
}
