package cli

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"github.com/spf13/cobra"

	"hindcast/look"
	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/filechange"
	"hindcast/model/printable"
	"hindcast/query"
)

// commandsCommand is `hindcast commands`.
func (a *App) commandsCommand() *cobra.Command {
	asked, _ := look.Read("", a.Getenv) // a wrong word is an error when the command runs
	g := &asked.Glyphs
	var filter string
	var expr *query.Expr
	cmd := a.readingCommand(oneSession, &cobra.Command{
		Use:   "commands [STORE...] [SESSION]",
		Short: "list the commands that a session ran",
		Long: `Commands lists each command that the tools of a session ran, on every branch, in the
order in which they were recorded: its time, how it ended, how long it took, what
allowed it, and the files that it changed, as far as they are recorded.

  ` + g.Active + `  on the active path    ` + g.Head + `  the head    ` + g.Orphaned + `  off the active path    ` + g.Dot + `  a step of a turn

What allowed it is the mode of permissions at the time, in the agent's own word. The
time is that of the agent's record; ` + "`~`" + ` stands before one between two snapshots, which has
the wait for the person in it. --jq keeps the commands for which an expression of jq
is true: it sees the elements of --json.`,
		Example: `  hindcast commands projects 7ffd5cb9
  hindcast commands projects 7ffd5cb9 --jq '.exit != "0" and (.command | test("npm"))'
  hindcast commands projects --jq '.files | length > 0' --json | jq '.[].command'`,
	}, func(ctx context.Context, p *printer, of *subject) error {
		return of.writeCommands(ctx, p, expr)
	})
	cmd.PreRunE = func(*cobra.Command, []string) (err error) {
		if filter == "" {
			return nil
		}
		if expr, err = query.ParseExpr(filter); err != nil {
			return &usageError{fmt.Errorf("commands: %w", err)}
		}
		return nil
	}
	cmd.Flags().StringVar(&filter, "jq", "", "only commands for which an `expression` of jq is true")
	return cmd
}

// commandJSON is an element of `commands --json`.
type commandJSON struct {
	stepJSON
	Tool      string   `json:"tool"`
	Call      string   `json:"call,omitempty"`
	Command   string   `json:"command"`
	Exit      string   `json:"exit,omitempty"`
	Failed    bool     `json:"failed"`
	Refused   bool     `json:"refused,omitempty"`
	Mode      string   `json:"mode,omitempty"`
	Took      *float64 `json:"durationMs,omitempty"`
	Between   *float64 `json:"betweenMs,omitempty"`
	Files     []string `json:"files"`
	MoreFiles int      `json:"moreFiles,omitempty"`
}

// ranCommand is a command with the visit that has its result.
type ranCommand struct {
	commandJSON
	visit model.Node
}

// yieldCommands yields the commands of a session that a filter is true of; nil is true of all.
func (o *subject) yieldCommands(ctx context.Context, t *model.Timeline, expr *query.Expr) iter.Seq2[ranCommand, error] {
	return func(yield func(ranCommand, error) bool) {
		test := func([]byte) (bool, error) { return true, nil }
		if expr != nil {
			var end func()
			test, end = expr.Filter(ctx)
			defer end()
		}
		for step, err := range query.Open(o.store, t).Files(ctx, false) {
			if err != nil {
				yield(ranCommand{}, err)
				return
			}
			mode, asked := "", false
			for i := range step.Effects {
				e := &step.Effects[i]
				if e.Command == "" {
					continue
				}
				if !asked {
					mode, asked = o.modeAt(ctx, t.Header(step.Visit).Ref()), true
				}
				c := o.commandDocument(t, step.Visit, e)
				c.Mode = mode
				document, err := encodeJSON(c)
				is := false
				if err == nil {
					is, err = test(document)
				}
				if err != nil {
					err = fmt.Errorf("commands: at %s: %w", t.Name(step.Visit), err)
				}
				if (is || err != nil) && (!yield(ranCommand{c, step.Visit}, err) || err != nil) {
					return
				}
			}
		}
	}
}

// modeAt returns the mode of permissions at a snapshot, "" where the store does not tell it.
func (o *subject) modeAt(ctx context.Context, ref model.Ref) string {
	if o.store.Features().Facts == nil {
		return ""
	}
	facts, err := o.store.Features().Facts(ctx, ref)
	if err != nil {
		return "" // a command is told without it
	}
	for _, fact := range facts {
		if fact.Label == "mode" {
			return fact.Value
		}
	}
	return ""
}

// commandDocument returns the document of a command.
func (o *subject) commandDocument(t *model.Timeline, n model.Node, e *filechange.Effect) commandJSON {
	c := commandJSON{stepJSON: stepOf(t, n), Tool: e.Tool, Call: e.ID, Command: e.Command, Exit: e.Exit, Failed: e.Failed, Refused: e.Refused, Files: []string{}}
	if e.Milliseconds >= 0 {
		c.Took = &e.Milliseconds
	} else if before := t.Parent(n); before != model.NoNode {
		from, to := t.Header(before).CreatedAt, t.Header(n).CreatedAt
		if between := float64(to.Sub(from).Milliseconds()); !from.IsZero() && between >= 0 {
			c.Between = &between
		}
	}
	for i := range e.Changes {
		change := &e.Changes[i]
		if c.MoreFiles += change.More; change.Path != "" {
			path, _ := filechange.PathIn(o.info.Project, change.Path)
			c.Files = append(c.Files, path)
		}
	}
	return c
}

// writeCommands writes a line for each command.
func (o *subject) writeCommands(ctx context.Context, p *printer, expr *query.Expr) error {
	t, err := o.readTimeline(ctx)
	if err != nil {
		return err
	}
	list := o.yieldCommands(ctx, t, expr)
	if p.json {
		return writeArray(p, mapElements(list, func(c ranCommand) commandJSON { return c.commandJSON }))
	}
	lines, some := p.newVisits(t), false
	for c, err := range list {
		if err != nil {
			return err
		}
		some = true
		behind := lines.beginLine(c.visit)
		colour := ""
		end := "ended"
		switch {
		case c.Refused:
			end, colour = "refused", faint
		case c.Exit != "":
			end = "exit " + c.Exit
		case c.Failed:
			end = "failed"
		}
		if c.Failed && !c.Refused {
			colour = red
		}
		took := ""
		if c.Took != nil {
			took = model.ShortTime(*c.Took)
		} else if c.Between != nil {
			took = "~" + model.ShortTime(*c.Between)
		}
		text := padRight(printable.String(end), len("exit 127")) + "  " + padRight(took, len("~1m30s")) + "  "
		if c.Mode != "" {
			text += printable.String(c.Mode) + "  "
		}
		files := o.filesText(&c.commandJSON)
		room := 0
		if p.width > 0 {
			room = behind + displaywidth.String(text) + displaywidth.String(files)
		}
		lines.endLine(colour, text+p.fitLine("$ "+printable.String(conversation.OneLine(c.Command)), room)+files)
	}
	if !some {
		what := "no record of %.80q tells of a command"
		if expr != nil {
			what = "the expression is true of no command of %.80q"
		}
		return fmt.Errorf("commands: "+what, o.session)
	}
	return nil
}

// filesText tells which files a command changed.
func (o *subject) filesText(c *commandJSON) string {
	const most = 3
	n := len(c.Files) + c.MoreFiles
	if n == 0 {
		return ""
	}
	names := c.Files[:min(len(c.Files), most)]
	if len(names) == 0 {
		return "  changed " + model.Count(n, "file")
	}
	text := "  changed " + printable.String(strings.Join(names, ", "))
	if more := n - len(names); more > 0 {
		text += ", " + model.Count(more, "more file")
	}
	return text
}
