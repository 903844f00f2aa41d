package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"hindcast/look"
	"hindcast/model"
	"hindcast/model/printable"
	"hindcast/query"
)

// sought says which answers find gives.
type sought struct {
	all, last, reverse bool
	// sent has the expression see requests.
	sent bool
	// within bounds the time of the expression on one state.
	within time.Duration
}

// findCommand is `hindcast find`.
func (a *App) findCommand() *cobra.Command {
	asked, _ := look.Read("", a.Getenv) // a wrong word is an error when the command runs
	g := &asked.Glyphs
	var what sought
	cmd := &cobra.Command{
		Use:   "find [STORE...] [SESSION] EXPR",
		Short: "find the snapshot at which an expression becomes true",
		Long: `Find evaluates EXPR, an expression of jq, on the states of a session, and prints the
first snapshot at which it becomes true. Each snapshot is compared with its parent;
one without a parent counts as false before. An expression is true if its last output
is neither null nor false, as for jq -e.

--all prints each such snapshot on every branch, in the order in which they were
recorded, and those where the expression becomes false or cannot be evaluated.
--last prints the newest one on the active path. --reverse looks for the snapshots at
which the expression becomes false.

  ` + g.Active + `  on the active path    ` + g.Head + `  the head    ` + g.Orphaned + `  off the active path    ` + g.Dot + `  a step of a turn

An error is shown as an error and never counts as false. "In #7 or before" stands
where nothing is known of the snapshot before. An expression sees nothing but the
state: no file, no environment, no time. The exit code is 1 if it never becomes true.

With --sent EXPR sees the request to the model that an answer came from, as hindcast
context --body prints it, in place of the state: since when does the model not see
AGENTS.md? Each request is compared with the one before it.

An expression of paths, such as .plan.status == "done", or about the elements of one
list, such as any(.messages[]; .role == "tool"), is evaluated only where what it asks
for changed. Of any other one, such as ..|strings, each state is looked at whole. One
that takes longer on one state than --within says, or more than 256 MB, is ended.`,
		Example: `  hindcast find trips.db trip-planner '.cart.total > 200'
  hindcast find trips.db 'any(.messages[]; .role == "tool")' --last
  hindcast find projects 7ffd5cb9 '.messages | tostring | test("AGENTS.md")' --sent --reverse
  hindcast find trips.db trip-planner '.status == "booked"' --all --json | jq '.[].name'`,
		Args:              a.argsCheck(oneOf),
		ValidArgsFunction: a.completePath(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			run := a.runAnswer // one line needs no pager
			if what.all {
				run = a.runReading
			}
			return run(func(ctx context.Context, p *printer, args []string) error {
				if what.all && (what.last || what.reverse) {
					return usagef("--all prints each snapshot: give it without --last and --reverse")
				}
				last := len(args) - 1
				x, err := query.ParseExpr(args[last])
				if err != nil {
					return &usageError{fmt.Errorf("find: %w", err)}
				}
				return a.withSubject(oneSession, func(ctx context.Context, p *printer, of *subject) error {
					return raiseLimit("find", a.runFind(ctx, p, of, x.Within(what.within), what))
				})(ctx, p, args[:last])
			})(cmd, args)
		},
	}
	cmd.Flags().BoolVar(&what.all, "all", false, "print each snapshot at which it becomes true, false, or an error")
	cmd.Flags().BoolVar(&what.last, "last", false, "print the newest one on the active path")
	cmd.Flags().BoolVar(&what.reverse, "reverse", false, "look for where it becomes false")
	cmd.Flags().BoolVar(&what.sent, "sent", false, "look at the requests to the model in place of the states")
	limitFlag(cmd, &what.within)
	return cmd
}

// limitFlag adds the flag that bounds the time of an expression.
func limitFlag(cmd *cobra.Command, within *time.Duration) {
	cmd.Flags().DurationVar(within, "within", query.MostTime, "the `TIME` that an expression may take on one state")
}

// raiseLimit adds to the error of an expression that took too long how to let it.
func raiseLimit(command string, err error) error {
	limit := (*query.LimitError)(nil)
	if !errors.As(err, &limit) {
		return err
	}
	err = fmt.Errorf("%s: %w", command, limit)
	if limit.Time > 0 {
		return &advisedError{err, "Does it end? --within 5m gives it more time."}
	}
	return &advisedError{err, "Ask for less at once: an expression that counts or compares needs no list of all."}
}

// soughtTurn is the turn that is looked for; with --all it is any.
func (w sought) soughtTurn() query.Turn {
	if w.reverse {
		return query.TurnsFalse
	}
	return query.TurnsTrue
}

// runFind finds what is looked for and writes it.
func (a *App) runFind(ctx context.Context, p *printer, of *subject, x *query.Expr, what sought) error {
	t, err := of.readTimeline(ctx)
	if err != nil {
		return err
	}
	q := query.Open(of.store, t)
	all := q.Find(ctx, x)
	switch {
	case what.sent && what.last:
		all = onPathBackwards(t, q.FindSent(ctx, t, x))
	case what.sent:
		all = q.FindSent(ctx, t, x)
	case what.last:
		all = q.FindBack(ctx, x, t.Head())
	}
	seeking := &seeking{sought: what, timeline: t}
	if a.ErrTerminal && !(what.all && a.OutTerminal) { // else a pager has the terminal
		seeking.shown = &progress{out: a.Err}
	}
	if p.json {
		err = writeArray(p, mapElements(seeking.among(all), func(f query.Found) foundJSON {
			return foundJSON{headerOf(t, f.Visit), turnWords[f.Turn], f.OrBefore, f.Why}
		}))
	} else {
		err = p.writeFound(t, seeking.among(all))
	}
	if err != nil {
		return err
	}
	if seeking.failed > 0 && !what.all {
		fmt.Fprintf(a.Err, "hindcast: find: %s\n", printable.String(seeking.describeFailures()))
	}
	if !seeking.found {
		where := "in"
		if what.last {
			where = "on the active path of"
		}
		return &advisedError{
			fmt.Errorf("find: %.80q never becomes %s %s %.80q", x, turnWords[what.soughtTurn()], where, of.session),
			"hindcast find --all also lists where it becomes false, or cannot be evaluated.",
		}
	}
	return nil
}

// onPathBackwards yields what is found on the active path, the newest first, once all is found.
func onPathBackwards(t *model.Timeline, all iter.Seq2[query.Found, error]) iter.Seq2[query.Found, error] {
	return func(yield func(query.Found, error) bool) {
		var list []query.Found
		for f, err := range all {
			if err != nil {
				yield(f, err)
				return
			}
			if t.OnPath(f.Visit) {
				list = append(list, f)
			}
		}
		for _, f := range slices.Backward(list) {
			if !yield(f, nil) {
				return
			}
		}
	}
}

// seeking is the progress of find.
type seeking struct {
	sought
	timeline *model.Timeline
	// shown tells on a terminal how far the search is; nil where it does not.
	shown *progress
	found bool
	// failed counts the snapshots from which on nothing can be said, and first is the
	// first of them.
	failed int
	first  query.Found
}

// among returns the results that are looked for.
func (s *seeking) among(all iter.Seq2[query.Found, error]) iter.Seq2[query.Found, error] {
	return func(yield func(query.Found, error) bool) {
		if s.shown != nil {
			defer s.shown.clearLine()
		}
		for f, err := range all {
			switch {
			case err != nil:
				yield(f, err)
				return
			case f.Turn == query.Passed:
				if s.shown != nil {
					s.shown.writeLine(s.progressText(f.Visit))
				}
				continue
			case f.Turn == query.Fails || f.Turn == query.Unknown:
				if s.failed++; s.failed == 1 {
					s.first = f
				}
			case f.Turn == s.soughtTurn():
				s.found = true
			}
			if s.shown != nil {
				s.shown.clearLine()
			}
			if (s.all || f.Turn == s.soughtTurn()) && !yield(f, nil) || s.found && !s.all {
				return
			}
		}
	}
}

// progressText says how far the search is.
func (s *seeking) progressText(n model.Node) string {
	if s.last {
		return "back to " + s.timeline.Name(n)
	}
	return fmt.Sprintf("%d of %s", n+1, model.Count(s.timeline.Len(), "snapshot"))
}

// describeFailures says where nothing can be said of the expression.
func (s *seeking) describeFailures() string {
	text := fmt.Sprintf("at %s: %s", s.timeline.Name(s.first.Visit), s.first.Why)
	if s.failed > 1 {
		text += fmt.Sprintf(" (and from %s on something else)", model.Count(s.failed-1, "other snapshot"))
	}
	return text
}

var turnWords = map[query.Turn]string{
	query.TurnsTrue: "true", query.TurnsFalse: "false", query.Fails: "error", query.Unknown: "unknown",
}

// foundJSON is an element of `find --json`.
type foundJSON struct {
	headerJSON
	Becomes  string `json:"becomes"`
	OrBefore bool   `json:"orBefore,omitempty"`
	Why      string `json:"why,omitempty"`
}

// writeFound writes a line for each snapshot at which an expression turned.
func (p *printer) writeFound(t *model.Timeline, found iter.Seq2[query.Found, error]) error {
	lines := p.newVisits(t)
	for f, err := range found {
		if err != nil {
			return err
		}
		lines.beginLine(f.Visit)
		what, colour := turnWords[f.Turn], green
		switch f.Turn {
		case query.TurnsFalse:
			colour = red
		case query.Fails:
			what, colour = "! "+f.Why, yellow
		case query.Unknown:
			what, colour = "? "+f.Why, faint
		}
		if f.OrBefore {
			what += ", in " + t.Name(f.Visit) + " or before"
		}
		lines.endLine(colour, printable.String(what))
	}
	return nil
}
