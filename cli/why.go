package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"hindcast/model/printable"
	"hindcast/prices"
	"hindcast/query"
)

// whyCommand is `hindcast why`.
func (a *App) whyCommand() *cobra.Command {
	var at pathFlag
	cmd := a.answeringCommand(oneOrHead, &cobra.Command{
		Use:   "why [STORE...] [SESSION] [SNAPSHOT]",
		Short: "put together what is known about a call that failed, or a value",
		Long: `Why tells of the call that failed at SNAPSHOT, or of the last one that failed before it;
without SNAPSHOT before the head: the calls that failed for the same reason before it,
where its arguments come from, where the line on which the same tool worked differs, and
the restore that goes back before it. With --at it tells of the value there instead: what
set it, what it was before, where its text comes from, and what it is on other branches.
Below each fact stands the command that shows more.`,
		Example: `  hindcast why trips.db trip-planner '#3'
  hindcast why trips.db trip-planner --at /cart/total
  hindcast why 5eed0001 --json`,
	}, func(ctx context.Context, p *printer, of *subject) error {
		document, err := of.explain(ctx, at.Path)
		if err != nil {
			return err
		}
		if p.json {
			return p.writeDocument(document)
		}
		for _, line := range document.Lines {
			fmt.Fprintf(p, "%s  %s\n", padRight(line.Is, len("before")), p.fitLine(printable.String(line.Text), len("before")+2))
			fmt.Fprintf(p, "%s  %s\n", padRight("", len("before")), p.paint.in(faint, printable.String(line.Command)))
		}
		return nil
	})
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if cmd.Flags().Changed("at") && at.Pointer() == "" {
			return usagef("why: --at names a value in the state, and not the whole of it")
		}
		return nil
	}
	cmd.Flags().Var(&at, "at", "tell of the value at a `PATH`, such as /cart/total or .cart.total")
	return cmd
}

// whyJSON is `why --json`: of a call, or of the value at a path.
type whyJSON struct {
	SessionID string        `json:"sessionId"`
	Name      string        `json:"name"`
	Call      *callJSON     `json:"call,omitempty"`
	At        string        `json:"at,omitempty"`
	Lines     []whyLineJSON `json:"lines"`
}

// whyLineJSON is a fact, with the command that shows more.
type whyLineJSON struct {
	Is      string `json:"is"`
	Name    string `json:"name,omitempty"`
	Text    string `json:"text"`
	Command string `json:"command"`
}

// explain puts together the facts about a call that failed, or about the value at a path that is not the whole state.
func (o *subject) explain(ctx context.Context, path query.Path) (*whyJSON, error) {
	t, n, err := o.resolveVisit(ctx, o.firstSnapshot())
	if err != nil {
		return nil, err
	}
	tips := []tip{{o, t, n}}
	if err := fillInfo(ctx, tips); err != nil {
		return nil, fmt.Errorf("why: %w", err)
	}
	session, at := query.Open(o.store, t), path.Pointer()
	out := &whyJSON{SessionID: o.session, Name: t.Name(n), At: at}
	var facts []query.Fact
	if at != "" {
		facts, err = session.ExplainValue(ctx, t, n, path, o.info.Project)
	} else {
		list, failed := prices.Load(prices.Path(o.app.Getenv))
		if failed != nil {
			return nil, failed
		}
		var w *query.Why
		if w, err = session.Explain(ctx, t, n, o.info.Project, list); err == nil {
			c := &w.Calls[w.Call]
			call := (&run{tips[0], w.Run}).callDocument(c)
			out.Name, out.Call, facts = t.Name(c.Visit), &call, w.Facts(t)
		}
	}
	switch {
	case errors.Is(err, query.ErrNoFailure):
		return nil, fmt.Errorf("why: no call failed on the line to %s of %.80q", t.Name(n), o.session)
	case errors.Is(err, query.ErrNeverSet):
		return nil, fmt.Errorf("why: nothing set %.80q on the line to %s of %.80q", at, t.Name(n), o.session)
	case err != nil:
		return nil, fmt.Errorf("why: %w", err)
	}
	of := shellWord(shownAddress(o.address, o.store)) + " " + shellWord(o.session)
	for _, fact := range facts {
		visit := t.Name(fact.Visit)
		command, rest := string(fact.In), shellWord(visit)
		switch fact.In {
		case query.InState:
			rest += " --at " + shellWord(at)
		case query.InDiff:
			rest = shellWord(out.Name) + " " + rest
		case query.InRestore:
			if o.store.Features().Plan == nil {
				command = "fork"
			}
			rest += " --dry-run"
		}
		out.Lines = append(out.Lines, whyLineJSON{fact.Is, visit, fact.Text, "hindcast " + command + " " + of + " " + rest})
	}
	return out, nil
}
