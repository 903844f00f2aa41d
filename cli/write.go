package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hindcast/diff"
	"hindcast/model"
	"hindcast/model/printable"
	"hindcast/store"
)

// Every command that writes goes the same way: plan, show the plan whole, ask
// with No as the default, apply, show the receipt.

// errDeclined says that the person answered no.
var errDeclined = errors.New("nothing was written")

// consent is what the command line says about the question.
type consent struct{ dryRun, yes bool }

func (c *consent) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.dryRun, "dry-run", false, "print the plan and write nothing")
	cmd.Flags().BoolVarP(&c.yes, "yes", "y", false, "do not ask")
}

// restore is `hindcast restore`.
func (a *App) restore() *cobra.Command {
	var agreed consent
	cmd := &cobra.Command{
		Use:   "restore STORE SESSION SNAPSHOT",
		Short: "make a snapshot the head of its session again",
		Long: `Restore makes a snapshot the head of its session again, so that the framework
resumes from there. What came after it leaves the active path and stays in the
store; restoring an orphaned snapshot brings its branch back. The plan is shown
first. hindcast undo takes the restore back.`,
		Args:              argsBetween(3, 3),
		ValidArgsFunction: a.completeSnapshot(1),
		RunE: a.answer(func(ctx context.Context, p *printer, args []string) error {
			return a.change(ctx, p, args[0], agreed, model.OpRestore, func(s store.Store) (model.Plan, error) {
				ref, err := resolve(ctx, s, args[1], args[2])
				if err != nil {
					return model.Plan{}, err
				}
				return s.(store.Restorer).PlanRestore(ctx, ref)
			})
		}),
	}
	agreed.flags(cmd)
	return cmd
}

// fork is `hindcast fork`.
func (a *App) fork() *cobra.Command {
	var agreed consent
	var as string
	cmd := &cobra.Command{
		Use:               "fork STORE SESSION SNAPSHOT --as ID",
		Short:             "start a new session from a snapshot; the original is untouched",
		Args:              argsBetween(3, 3),
		ValidArgsFunction: a.completeSnapshot(1),
		RunE: a.answer(func(ctx context.Context, p *printer, args []string) error {
			if as == "" {
				return usagef("fork needs --as with the id of the new session")
			}
			return a.change(ctx, p, args[0], agreed, model.OpFork, func(s store.Store) (model.Plan, error) {
				ref, err := resolve(ctx, s, args[1], args[2])
				if err != nil {
					return model.Plan{}, err
				}
				return s.(store.Forker).PlanFork(ctx, ref, as)
			})
		}),
	}
	cmd.Flags().StringVar(&as, "as", "", "id of the new session")
	agreed.flags(cmd)
	return cmd
}

// undo is `hindcast undo`, redo `hindcast redo`.
func (a *App) undo() *cobra.Command {
	return a.takeBack(model.OpUndo, "take back Hindcast's last write", store.Undoer.PlanUndo)
}

func (a *App) redo() *cobra.Command {
	return a.takeBack(model.OpRedo, "do the last undone write again", store.Undoer.PlanRedo)
}

func (a *App) takeBack(op model.Op, short string, plan func(store.Undoer, context.Context) (model.Plan, error)) *cobra.Command {
	var agreed consent
	cmd := &cobra.Command{
		Use:               string(op) + " STORE",
		Short:             short,
		Args:              argsBetween(1, 1),
		ValidArgsFunction: completeStore,
		RunE: a.answer(func(ctx context.Context, p *printer, args []string) error {
			return a.change(ctx, p, args[0], agreed, op, func(s store.Store) (model.Plan, error) {
				return plan(s.(store.Undoer), ctx)
			})
		}),
	}
	agreed.flags(cmd)
	return cmd
}

// change carries out one write. plan is only called on a store that has the
// capability of op.
func (a *App) change(ctx context.Context, p *printer, address string, agreed consent, op model.Op, plan func(store.Store) (model.Plan, error)) (err error) {
	if agreed.dryRun && agreed.yes {
		return usagef("--dry-run writes nothing and --yes goes ahead: give one of them")
	}
	s, err := a.open(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if reason := store.Reason(s, op); reason != "" {
		return &model.UnsupportedError{Op: op, Reason: reason}
	}
	todo, err := plan(s)
	if err != nil {
		return err
	}
	switch {
	case !p.json:
		p.plan(&todo, difference(ctx, s, &todo))
	case agreed.dryRun:
		return p.document(todo)
	case !agreed.yes:
		// The answer is the receipt; who is asked still sees the plan.
		aside := &printer{Writer: bufio.NewWriter(a.Err)}
		aside.plan(&todo, difference(ctx, s, &todo))
		err = aside.Flush()
	}
	if err = errors.Join(err, p.Flush()); err != nil || agreed.dryRun {
		return err
	}
	if !agreed.yes {
		if err := a.ask(ctx, &todo); err != nil {
			return err
		}
	}
	receipt, err := s.(store.Applier).Apply(ctx, todo)
	if err != nil {
		return err
	}
	if p.json {
		return p.document(receipt)
	}
	p.receipt(&receipt)
	return nil
}

// ask puts the question to the person. The question goes to Err, so that Out
// holds the plan and the receipt only.
func (a *App) ask(ctx context.Context, plan *model.Plan) error {
	if !a.InTerminal {
		return fmt.Errorf("%s: nobody to ask: the input is not a terminal; --yes goes ahead, --dry-run only shows the plan", plan.Op)
	}
	fmt.Fprintf(a.Err, "%s now? [y/N] ", plan.Op)
	line := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(a.In).ReadString('\n') // the end of the input is a no
		line <- text
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.Err)
		return ctx.Err()
	case text := <-line:
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "y", "yes":
			return nil
		}
		return errDeclined
	}
}

// difference says in a few words how the state that the session is put back to
// differs from that of its head; "" where there are no two states. A state that
// cannot be read does not stand in the way of leaving it.
func difference(ctx context.Context, s store.Store, plan *model.Plan) string {
	if plan.Op == model.OpFork || plan.ExpectedHead.ID == "" || plan.Target.ID == "" {
		return ""
	}
	old, err := s.State(ctx, plan.ExpectedHead)
	if err != nil {
		return "not compared: " + err.Error()
	}
	state, err := s.State(ctx, plan.Target)
	if err != nil {
		return "not compared: " + err.Error()
	}
	result, err := diff.Compare(ctx, diff.Bytes(old), diff.Bytes(state))
	if err != nil {
		return "not compared: " + err.Error()
	}
	return summary(result) + " against the head"
}

// plan writes a plan whole, with the difference between the states.
func (p *printer) plan(plan *model.Plan, difference string) {
	fmt.Fprintf(p, "%s\n", p.paint.in(bold, "plan: "+printable.String(plan.Headline())))
	lines := plan.Lines()
	if difference != "" {
		lines = append(lines, model.PlanLine{Label: "state", Text: difference})
	}
	for _, line := range lines {
		label := fmt.Sprintf("%-11s", line.Label)
		if line.Label == model.PlanWarning {
			label = p.paint.in(yellow, label)
		}
		fmt.Fprintf(p, "  %s  %s\n", label, printable.String(line.Text))
	}
}

// receipt writes what was done, and how to take it back.
func (p *printer) receipt(r *model.Receipt) {
	fmt.Fprintf(p, "done: %s, entry %d: %s is at %s", r.Op, r.Entry, printable.String(r.Session), place(r.Head, r.HeadIndex))
	if r.Orphaned > 0 {
		fmt.Fprintf(p, ", %d left the path", r.Orphaned)
	}
	if r.Reactivated > 0 {
		fmt.Fprintf(p, ", %d came back", r.Reactivated)
	}
	back := model.OpUndo
	if r.Op == model.OpUndo {
		back = model.OpRedo
	}
	fmt.Fprintf(p, "\nhindcast %s takes it back\n", back)
}
