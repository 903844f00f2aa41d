package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

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
	for _, fact := range w.Facts(t) {
		at := t.Name(fact.Visit)
		words := []string{string(fact.In), at}
		switch fact.In {
		case query.InDiff:
			words = []string{words[0], out.Name, at}
		case query.InRestore:
			if o.store.Features().Plan == nil {
				words[0] = "fork"
			}
			words = append(words, "--dry-run")
		}
		out.Lines = append(out.Lines, whyLineJSON{fact.Is, at, fact.Text, o.commandLine(words...)})
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
