package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/printable"
	"hindcast/prices"
	"hindcast/query"
)

// whyCommand is `hindcast why`.
func (a *App) whyCommand() *cobra.Command {
	return a.answeringCommand(oneOrHead, &cobra.Command{
		Use:   "why [STORE...] [SESSION] [SNAPSHOT]",
		Short: "put together what is known about a call that failed",
		Long: `Why tells of the call that failed at SNAPSHOT, or of the last one that failed before it;
without SNAPSHOT before the head: the calls that failed for the same reason before it,
where its arguments come from, where the line on which the same tool worked differs, and
the restore that goes back before it. Below each stands the command that shows more.`,
		Example: `  hindcast why trips.db trip-planner '#3'
  hindcast why 5eed0001 --json`,
	}, func(ctx context.Context, p *printer, of *subject) error {
		document, err := of.explain(ctx)
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
}

// whyJSON is `why --json`.
type whyJSON struct {
	SessionID string        `json:"sessionId"`
	Name      string        `json:"name"`
	Call      callJSON      `json:"call"`
	Lines     []whyLineJSON `json:"lines"`
}

// whyLineJSON is a fact, with the command that shows more.
type whyLineJSON struct {
	Is      string `json:"is"`
	Name    string `json:"name,omitempty"`
	Text    string `json:"text"`
	Command string `json:"command"`
}

// explain puts together the facts about a call that failed.
func (o *subject) explain(ctx context.Context) (*whyJSON, error) {
	t, n, err := o.resolveVisit(ctx, o.firstSnapshot())
	if err != nil {
		return nil, err
	}
	list, err := prices.Load(prices.Path(o.app.Getenv))
	if err != nil {
		return nil, err
	}
	tips := []tip{{o, t, n}}
	if err := fillInfo(ctx, tips); err != nil {
		return nil, fmt.Errorf("why: %w", err)
	}
	w, err := query.Open(o.store, t).Explain(ctx, t, n, o.info.Project, list)
	if errors.Is(err, query.ErrNoFailure) {
		return nil, fmt.Errorf("why: no call failed on the line to %s of %.80q", t.Name(n), o.session)
	}
	if err != nil {
		return nil, fmt.Errorf("why: %w", err)
	}
	r := &run{tips[0], w.Run}
	c := &w.Calls[w.Call]
	out := &whyJSON{SessionID: o.session, Name: t.Name(c.Visit), Call: r.callDocument(c)}
	add := func(is string, at model.Node, text string, words ...string) {
		line := whyLineJSON{Is: is, Text: conversation.OneLine(text), Command: o.commandLine(words...)}
		if at != model.NoNode {
			line.Name = t.Name(at)
		}
		out.Lines = append(out.Lines, line)
	}
	text := t.Name(c.ResultVisit) + " " + c.Text
	if c.Exit != "" {
		text += "  exit " + c.Exit
	}
	add("failed", c.ResultVisit, text+": "+c.Outcome, "messages", t.Name(c.ResultVisit))
	for _, i := range w.Before {
		before := &w.Calls[i]
		add("again", before.ResultVisit, t.Name(before.ResultVisit)+" failed for the same reason: "+before.Text, "messages", t.Name(before.ResultVisit))
	}
	for i := range w.Origins {
		origin := &w.Origins[i]
		switch {
		case origin.Changed >= 0:
			by := &w.Calls[origin.Changed]
			add("from", by.Visit, fmt.Sprintf("%s = %s was last changed at %s by %s", origin.Path, origin.Text, t.Name(by.Visit), by.Text), "files", t.Name(by.Visit))
		case origin.Visit != model.NoNode:
			who := origin.Role
			if origin.Tool != "" {
				who = strings.TrimSpace(who + " " + origin.Tool)
			}
			add("from", origin.Visit, fmt.Sprintf("%s = %q first stands in %s (%s)", origin.Path, origin.Text, t.Name(origin.Visit), who), "messages", t.Name(origin.Visit))
		default:
			add("from", c.Visit, fmt.Sprintf("%s = %q is the model's own: nothing before has it", origin.Path, origin.Text), "context", t.Name(c.Visit))
		}
	}
	if w.Worked != nil {
		worked := &w.Worked.Calls[w.WorkedCall]
		where := "on the line that goes on"
		if fork := w.Parting.A.Fork; len(w.Parting.A.Since) > 0 && fork != model.NoNode {
			where = "on the branch that parted at " + t.Name(fork)
		}
		add("worked", worked.Visit, fmt.Sprintf("%s %s, %s", t.Name(worked.Visit), worked.Text, where), "diverge", t.Name(c.Visit), t.Name(worked.Visit))
	}
	if w.Back != model.NoNode {
		does := "fork"
		if o.store.Features().Plan != nil {
			does = "restore"
		}
		add("before", w.Back, t.Name(w.Back)+" is the snapshot before the call", does, t.Name(w.Back), "--dry-run")
	}
	return out, nil
}

// commandLine returns the command of Hindcast that asks a question about the session: its name, and the words behind
// the session.
func (o *subject) commandLine(words ...string) string {
	line := []string{"hindcast", words[0], shellWord(shownAddress(o.address, o.store)), shellWord(o.session)}
	for _, word := range words[1:] {
		line = append(line, shellWord(word))
	}
	return strings.Join(line, " ")
}
