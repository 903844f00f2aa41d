package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"hindcast/model"
	"hindcast/model/printable"
	"hindcast/query"
	"hindcast/store"
	"hindcast/store/home"
)

// Every command that writes goes the same way: plan, show the plan whole, ask
// with No as the default, apply, show the receipt. Where the plan gives reasons
// to ask once more, a second question follows, and --yes does not answer it.

// errDeclined says that the person answered no.
var errDeclined = errors.New("nothing was written")

// consent holds the flags that answer the questions.
type consent struct{ dryRun, yes, anyway bool }

func (c *consent) addFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.dryRun, "dry-run", false, "print the plan and write nothing")
	cmd.Flags().BoolVarP(&c.yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&c.anyway, "anyway", false, "do not ask once more either, where the plan gives reasons to")
}

// checkFlags refuses what contradicts itself.
func (c *consent) checkFlags() error {
	if c.dryRun && (c.yes || c.anyway) {
		return usagef("--dry-run writes nothing, --yes and --anyway go ahead: give one of them")
	}
	return nil
}

// writingCommand makes a command of c, which writes what a person agrees to. w returns its words once the flags are known.
func (a *App) writingCommand(w func() words, c *cobra.Command, run func(ctx context.Context, p *printer, of *subject, agreed consent) error) *cobra.Command {
	var agreed consent
	agreed.addFlags(c)
	a.fillWords(w(), c)
	c.Args = func(cmd *cobra.Command, args []string) error { return a.argsCheck(w())(cmd, args) }
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if err := agreed.checkFlags(); err != nil {
			return err
		}
		return a.runAnswer(a.withSubject(w(), func(ctx context.Context, p *printer, of *subject) error {
			return run(ctx, p, of, agreed)
		}))(cmd, args)
	}
	return c
}

// changingCommand makes a command of c, which carries out a change. The flags that are added to it fill in the change.
func (a *App) changingCommand(w words, c *cobra.Command, change *model.Change) *cobra.Command {
	takes := func() words {
		if change.Join {
			return oneSession
		}
		return w
	}
	return a.writingCommand(takes, c, func(ctx context.Context, p *printer, of *subject, agreed consent) error {
		return a.changeSession(ctx, p, of, agreed, *change)
	})
}

// restoreCommand is `hindcast restore`.
func (a *App) restoreCommand() *cobra.Command {
	return a.changingCommand(oneOf, &cobra.Command{
		Use:   "restore [STORE...] [SESSION] SNAPSHOT",
		Short: "make a snapshot the head of its session again",
		Long: `Restore makes a snapshot the head of its session again, so that the framework
resumes from there. What came after it leaves the active path and stays in the
store; restoring an orphaned snapshot brings its branch back. The plan is shown
first, and hindcast undo takes the restore back.

Where going on from there does something again that was done already, such as a
tool call, the plan says so and restore asks once more; --yes does not answer
that, --anyway does.`,
		Example: `  hindcast restore trips.db trip-planner '#5' --dry-run
  hindcast restore ~/.strands/sessions chat '#12' --yes --anyway`,
	}, &model.Change{Op: model.OpRestore})
}

// giveBackCommand is `hindcast give-back`.
func (a *App) giveBackCommand() *cobra.Command {
	c := model.Change{Op: model.OpGiveBack}
	cmd := a.changingCommand(oneGone, &cobra.Command{
		Use:   "give-back [STORE...] [SESSION] [--as ID]",
		Short: "put the files of a session back that is kept and was deleted",
		Long: `Give-back writes the files of a session that hindcast keep kept and that are gone: the
same files in the same places, with the same bytes, modes and times, so that the tool
lists and resumes the session again. A file that is there already stays as it is.

Nothing is written over. Where another file is in the way, the session becomes a new one,
as by a fork from its head, if its tool takes one. hindcast undo takes either back.`,
		Example: "  hindcast give-back 7ffd5cb9 --dry-run",
	}, &c)
	cmd.Flags().StringVar(&c.As, "as", "", "id of the session that it becomes where another file is in the way")
	return cmd
}

// forgetCommand is `hindcast forget`.
func (a *App) forgetCommand() *cobra.Command {
	return a.writingCommand(oneGone.itself, &cobra.Command{
		Use:   "forget [STORE...] [SESSION]",
		Short: "remove a session from the archive of hindcast keep, for good",
		Long: `Forget removes the files of a session from the archive of hindcast keep, in all versions:
what no other file has is gone from the archive's file, and the files are not kept again.
The files of the tool stay as they are. Where other sessions are in the same file, as in
a chat of aider, it refuses.

It cannot be undone, so it asks once more: --yes --anyway answers both questions.`,
		Example: "  hindcast forget 7ffd5cb9 --dry-run",
	}, a.forgetSession)
}

// forgetSession removes a session from the archive.
func (a *App) forgetSession(ctx context.Context, p *printer, of *subject, agreed consent) (err error) {
	archive, err := a.Archive("")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, archive.Close()) }()
	found := of.in.Found
	found.At = strings.TrimPrefix(found.At, home.KeptScheme)
	s, err := archive.OpenKept(ctx, found)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("nothing of %q is kept in %s", found.At, archive.Path())
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	plan, err := s.Features().Plan(ctx, model.Change{Op: model.OpForget, Ref: model.Ref{Session: of.session}})
	if errors.Is(err, model.ErrNoSession) {
		err = fmt.Errorf("%.80q is not kept in %s", of.session, archive.Path())
	}
	if err != nil {
		return err
	}
	return a.carryOut(ctx, p, s, agreed, &planned{Plan: plan})
}

// forkCommand is `hindcast fork`.
func (a *App) forkCommand() *cobra.Command {
	c := model.Change{Op: model.OpFork}
	cmd := a.changingCommand(oneOf, &cobra.Command{
		Use:   "fork [STORE...] [SESSION] SNAPSHOT [--as ID]",
		Short: "start a new session from a snapshot; the original is untouched",
		Long: `Fork starts a new session that ends with a snapshot. The original is untouched, and
hindcast undo takes the fork away.

With --join it takes no SNAPSHOT. A conversation of Claude Code, pi or Qwen Code falls
into pieces where a record names a parent that was lost or never written: the agent then
goes on from the last piece, and does not read the others. The new session has all pieces
in the order of the file, each behind the one before it.`,
		Example: `  hindcast fork trips.db trip-planner '#5' --as cheaper
  hindcast fork ~/.claude 33333333 --join --dry-run`,
	}, &c)
	cmd.Flags().BoolVar(&c.Join, "join", false, "make a session of all pieces of a broken chain")
	cmd.Flags().StringVar(&c.As, "as", "", "id of the new session, for a coding agent in the form of its ids; without --as a coding agent's is made")
	return cmd
}

// undoCommand is `hindcast undo`.
func (a *App) undoCommand() *cobra.Command {
	return a.changingCommand(storeOnly, &cobra.Command{
		Use:   "undo [STORE]",
		Short: "take back Hindcast's last write",
		Long: `Undo takes back the last of Hindcast's own writes to a store that is not undone,
also one of another day: the store is as it was before, byte for byte. It refuses
where another program wrote to the session since. hindcast journal lists the writes.`,
		Example: "  hindcast undo trips.db --dry-run",
	}, &model.Change{Op: model.OpUndo})
}

// redoCommand is `hindcast redo`.
func (a *App) redoCommand() *cobra.Command {
	return a.changingCommand(storeOnly, &cobra.Command{
		Use:   "redo [STORE]",
		Short: "do the last undone write again",
		Long: `Redo does again what the last undo took back, unless something else was written
since.`,
		Example: "  hindcast redo trips.db --dry-run",
	}, &model.Change{Op: model.OpRedo})
}

// repairCommand is `hindcast repair`.
func (a *App) repairCommand() *cobra.Command {
	return a.changingCommand(oneSession, &cobra.Command{
		Use:   "repair [STORE...] [SESSION]",
		Short: "mend what keeps the framework from starting a session",
		Long: `Repair mends what keeps the framework from starting a session, or a model from
taking its messages, as hindcast doctor lists it. Whatever it replaces or takes away
is set aside beside the store, and hindcast undo puts it back. Where a framework
changes nothing in place, as the OpenAI Agents SDK, a new session is made that has
what was mended.`,
		Example: `  hindcast doctor ~/.strands/sessions chat
  hindcast repair ~/.strands/sessions chat --dry-run`,
	}, &model.Change{Op: model.OpRepair})
}

// purgeCommand is `hindcast purge`.
func (a *App) purgeCommand() *cobra.Command {
	c := model.Change{Op: model.OpPurge, Scope: model.PurgeRedacted}
	cmd := a.changingCommand(oneSession, &cobra.Command{
		Use:   "purge [STORE...] [SESSION]",
		Short: "forget for good what was set aside of a session and was redacted since",
		Long: `Purge forgets texts that the framework had redacted on purpose and that live on
in what Hindcast set aside beside the store. With --all it forgets all that was
set aside of the session. It is the one write that cannot be undone, and what is
forgotten cannot be restored or undone any more, so it asks once more: --yes
--anyway answers both questions.`,
		Example: `  hindcast purge ~/.strands/sessions chat --dry-run
  hindcast purge ~/.strands/sessions chat --all`,
	}, &c)
	all := cmd.Flags().Bool("all", false, "forget all that was set aside of the session")
	cmd.PreRun = func(*cobra.Command, []string) {
		if *all {
			c.Scope = model.PurgeAll
		}
	}
	return cmd
}

// runCommand is `hindcast run`.
func (a *App) runCommand() *cobra.Command {
	c := model.Change{Op: model.OpRun}
	cmd := a.changingCommand(oneOf, &cobra.Command{
		Use:   "run [STORE...] [SESSION] SNAPSHOT --input TEXT",
		Short: "let a process that is running go on from a snapshot",
		Long: `Run sends a text to a process that is running, as the next input after a snapshot.
Its models and tools run, so it asks once more: --yes --anyway answers both
questions. STORE is the process, by its URL, or a Genkit project in which one runs.
Hindcast writes nothing itself and keeps no journal of it.`,
		Example: `  hindcast run http://127.0.0.1:3100 chat '#4' --input 'try the other train'`,
		PreRunE: func(*cobra.Command, []string) error {
			if c.Input == "" {
				return usagef("run needs --input with the text of the next input")
			}
			return nil
		},
	}, &c)
	cmd.Flags().StringVar(&c.Input, "input", "", "the `TEXT` of the next input")
	return cmd
}

// changeSession carries out one write: to the first snapshot that is named, or else in the session.
func (a *App) changeSession(ctx context.Context, p *printer, of *subject, agreed consent, c model.Change) error {
	s := of.store
	if err := of.checkOperation(c.Op); err != nil {
		return err
	}
	if c.Op == model.OpFork && c.As == "" && !store.NamesForks(s) {
		return usagef("fork needs --as with the id of the new session")
	}
	c.Ref = model.Ref{Session: of.session}
	var seen *model.Timeline
	if len(of.snapshots) > 0 {
		t, n, err := of.resolveVisit(ctx, of.firstSnapshot())
		if err != nil {
			return err
		}
		seen, c.Ref = t, t.Header(n).Ref()
	}
	todo, err := s.Features().Plan(ctx, c)
	if err != nil && (c.Op == model.OpUndo || c.Op == model.OpRedo) {
		return sinceThen(err)
	}
	if err != nil {
		return err
	}
	made := &planned{Plan: todo, timeline: seen, difference: describeDifference(ctx, s, &todo)}
	if c.Op == model.OpGiveBack { // the store of what is kept is not that of its tool
		made.back = strings.TrimPrefix(s.Address(), home.KeptScheme)
	}
	return a.carryOut(ctx, p, s, agreed, made)
}

// checkOperation returns why the store cannot do an operation, nil where it can.
func (o *subject) checkOperation(op model.Op) error {
	if reason := store.Reason(o.store, op); reason != "" {
		return lackError(o.store, op, reason, o.allWords()...)
	}
	return nil
}

// planned is a plan with the facts that are shown beside it.
type planned struct {
	model.Plan
	// timeline is that of the session, nil if it is still to be read.
	timeline *model.Timeline
	// difference says how the state that a session is put to differs, or "".
	difference string
	// assumed is the version of the SDK that the plan holds for, "" for any.
	assumed string
	// back is the address by which an undo finds the store, where that is not the
	// one that was named first; else "".
	back string
}

// carryOut shows a plan, asks, and applies it. Where nothing has to be written it
// says so, and there is nothing to ask.
func (a *App) carryOut(ctx context.Context, p *printer, s store.Store, agreed consent, todo *planned) (err error) {
	todo.assumed = store.AssumedBy(s).String()
	if todo.timeline == nil {
		todo.timeline, _ = query.ReadTimeline(ctx, s, todo.Session)
	}
	if todo.timeline != nil {
		todo.timeline.NamePlan(&todo.Plan) // a session of another store stays without names
	}
	switch {
	case !p.json:
		p.writePlan(todo)
	case agreed.dryRun:
		return p.writeDocument(planOf(todo))
	case !agreed.yes && !todo.Idle():
		// The answer is the receipt; who is asked still sees the plan.
		aside := &printer{Writer: bufio.NewWriter(a.Err), glyphs: p.glyphs}
		aside.writePlan(todo)
		err = aside.Flush()
	}
	if err = errors.Join(err, p.Flush()); err != nil || agreed.dryRun {
		return err
	}
	if todo.Idle() && !p.json {
		fmt.Fprintf(p, "nothing to write: %s is at %s already\n", printable.String(todo.Session), headName(todo.Target))
		return nil
	}
	if !todo.Idle() {
		if err := a.askConsent(ctx, &todo.Plan, agreed); err != nil {
			return err
		}
	}
	receipt, err := s.Features().Apply(ctx, todo.Plan)
	if err != nil {
		return err
	}
	if p.json {
		return p.writeDocument(receiptOf(&receipt))
	}
	p.writeReceipt(&todo.Plan, &receipt)
	if way := wayBack(&todo.Plan, &receipt); way != "" {
		if todo.back != "" {
			way += " " + shellWord(todo.back)
		}
		fmt.Fprintf(p, "%s takes it back\n", way)
	}
	return nil
}

// wayBack returns the command that takes back what was done, or "".
func wayBack(plan *model.Plan, done *model.Receipt) string {
	switch {
	case done.Entry == 0 || done.Op == model.OpPurge || plan.Final:
		return "" // it is not in the journal, or gone for good
	case done.Op == model.OpUndo:
		return "hindcast redo"
	}
	return "hindcast undo"
}

// askConsent puts to the person what the command line has not answered.
func (a *App) askConsent(ctx context.Context, plan *model.Plan, agreed consent) error {
	person := asked{a, bufio.NewReader(a.In)}
	if !agreed.yes {
		if err := person.absentError(plan); err != nil {
			return err
		}
		if err := person.askYes(ctx, string(plan.Op)+" now?"); err != nil {
			return err
		}
	}
	if len(plan.Asks) == 0 || agreed.anyway {
		return nil
	}
	if agreed.yes {
		return &advisedError{
			fmt.Errorf("%s asks once more: add --anyway", plan.Op),
			"Nothing was written. The plan says why: " + strings.Join(plan.Asks, "; ") + ".",
		}
	}
	fmt.Fprintf(a.Err, "Once more, because\n")
	for _, reason := range plan.Asks {
		fmt.Fprint(a.Err, hangText("  ", printable.String(reason)))
	}
	return person.askYes(ctx, string(plan.Op)+" anyway?")
}

// asked is the person at the terminal. Questions go to Err, so that Out holds the
// plan and the receipt only.
type asked struct {
	*App
	answers *bufio.Reader
}

// absentError returns an error where there is no person.
func (a *asked) absentError(plan *model.Plan) error {
	if a.InTerminal {
		return nil
	}
	ahead := "--yes"
	if len(plan.Asks) > 0 {
		ahead += " --anyway"
	}
	return fmt.Errorf("%s needs an answer, and the input is not a terminal: %s goes ahead, --dry-run only shows the plan", plan.Op, ahead)
}

// askYes puts a question to which No is the default. The error is errDeclined.
func (a *asked) askYes(ctx context.Context, question string) error {
	text, err := a.askLine(ctx, question+" [y/N] ")
	if err == nil && text != "y" && text != "yes" {
		err = errDeclined
	}
	return err
}

// askLine returns the answer in lower case.
func (a *asked) askLine(ctx context.Context, question string) (string, error) {
	fmt.Fprint(a.Err, question)
	line := make(chan string, 1)
	go func() {
		text, _ := a.answers.ReadString('\n') // the end of the input is a no
		line <- text
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.Err)
		return "", ctx.Err()
	case text := <-line:
		return strings.ToLower(strings.TrimSpace(text)), nil
	}
}

// describeDifference says in a few words how the state that the session is put back to
// differs from that of its head; "" where there are no two states. A state that
// cannot be read does not stand in the way of leaving it.
func describeDifference(ctx context.Context, s store.Store, plan *model.Plan) string {
	moves := plan.Op == model.OpRestore || plan.Op == model.OpUndo || plan.Op == model.OpRedo
	if !moves || plan.NewSession != "" || plan.Head.ID == "" || plan.Target.ID == "" {
		return ""
	}
	head, target := plan.Ref(plan.Head), plan.Ref(plan.Target)
	two, err := store.TakeApart(ctx, s, head, target)
	if err != nil {
		return "not compared: " + err.Error()
	}
	gaps, err := store.Gaps(ctx, s, head, target)
	if err != nil {
		return "not compared: " + err.Error()
	}
	text := compareStates(ctx, two, gaps, "the head")
	if left := gaps.ComparisonLine(len(gaps.Keys)); left != "" {
		text += "; " + left
	}
	return text
}

// compareStates says how the second of two states differs from the first, which is called what,
// but for the gaps.
func compareStates(ctx context.Context, two store.Apart, gaps model.Gaps, what string) string {
	result, err := compareApart(ctx, two)
	if err != nil {
		return "not compared: " + err.Error()
	}
	return summariseChanges(result.Without(gaps.Has)) + " against " + what
}

// labelWidth is how many cells the label of a plan's line takes.
const labelWidth = 11

// writePlan writes a plan whole, with the difference between the states. Sentences are
// broken as everywhere; the calls that resume stand whole on a line, so that they
// can be copied.
func (p *printer) writePlan(plan *planned) {
	fmt.Fprintf(p, "%s\n", p.paint.in(bold, "plan: "+printable.String(plan.Headline())))
	lines := plan.Lines(model.PlanLine{Kind: model.PlanState, Text: plan.difference}, model.PlanLine{Kind: model.PlanSDK, Text: plan.assumed})
	indent := strings.Repeat(" ", 2+labelWidth+2)
	calls := plan.Resume
	for _, line := range lines {
		label := padRight(line.Label(), labelWidth)
		if line.Kind == model.PlanWarning || line.Kind == model.PlanAsks {
			label = p.paint.in(yellow, label)
		}
		text := hangText(indent, p.glyphs.Sentence(printable.String(line.Text)))
		if line.Kind == model.PlanResume {
			text = indent + p.glyphs.Sentence(printable.String(calls[0].Call)) + "\n"
			if then := calls[0].Then; then != "" {
				text += hangText(indent+"  ", p.glyphs.Sentence(printable.String(then)))
			}
			calls = calls[1:]
		}
		fmt.Fprintf(p, "  %s  %s", label, strings.TrimPrefix(text, indent))
	}
}

// writeReceipt writes what was done.
func (p *printer) writeReceipt(plan *model.Plan, r *model.Receipt) {
	fmt.Fprintf(p, "done: %s", r.Op)
	if r.Entry != 0 {
		fmt.Fprintf(p, ", entry %d", r.Entry)
	}
	switch {
	case r.Op == model.OpPurge || r.Op == model.OpForget:
		fmt.Fprintf(p, ": what was kept of %s is gone for good\n", printable.String(r.Session))
		return
	case plan.Removes:
		fmt.Fprintf(p, ": %s is gone\n", printable.String(r.Session))
		return
	}
	head := r.Head
	if head.ID == plan.Target.ID {
		head.Name = plan.Target.Name
	}
	fmt.Fprintf(p, ": %s is at %s", printable.String(r.Session), headName(head))
	if r.Orphaned > 0 {
		fmt.Fprintf(p, ", %d left the path", r.Orphaned)
	}
	if r.Reactivated > 0 {
		fmt.Fprintf(p, ", %d came back", r.Reactivated)
	}
	p.WriteByte('\n')
}
