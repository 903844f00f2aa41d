package cli

import (
	"context"
	"fmt"
	"iter"

	"github.com/clipperhouse/displaywidth"
	"github.com/spf13/cobra"

	"hindcast/look"
	"hindcast/model"
	"hindcast/model/printable"
	"hindcast/query"
)

// historyCommand is `hindcast history`.
func (a *App) historyCommand() *cobra.Command {
	asked, _ := look.Read("", a.Getenv) // a wrong word is an error when the command runs
	g := &asked.Glyphs
	return &cobra.Command{
		Use:   "history [STORE...] [SESSION] PATH",
		Short: "list the snapshots at which a value changed",
		Long: `History lists each snapshot at which the value at PATH changed, on every branch, in
the order in which they were recorded. Each is compared with its parent. Values are
compared, not their spelling: 1 and 1.0 are equal. PATH is a JSON Pointer or a jq path, such
as /messages/3 or .messages[3]; "" and . are the whole state.

  +  appeared    -  removed    ~  became another    ?  not known there

  ` + g.Active + `  on the active path    ` + g.Head + `  the head    ` + g.Orphaned + `  off the active path    ` + g.Dot + `  a step of a turn

"In #7 or before" stands where the parent is missing or does not have the value
recorded. The exit code is 1 where no snapshot has the value.`,
		Example: `  hindcast history trips.db trip-planner /cart/total
  hindcast history trips.db .messages[3].content
  hindcast history trips.db /messages/3 --json | jq '.[].name'`,
		Args:              a.argsCheck(oneOf),
		ValidArgsFunction: a.completePath(0),
		RunE: a.runReading(func(ctx context.Context, p *printer, args []string) error {
			// PATH begins as a file does, so it is parted from what names a store.
			last := len(args) - 1
			path, err := query.ParsePath(args[last])
			if err != nil {
				return &usageError{fmt.Errorf("history: %w; PATH is a JSON Pointer or a jq path, such as /cart/total or .cart.total", err)}
			}
			return a.withSubject(oneSession, func(ctx context.Context, p *printer, of *subject) error {
				return p.writeHistory(ctx, of, path, args[last])
			})(ctx, p, args[:last])
		}),
	}
}

// historyJSON is an element of `history --json`. Old is absent where the value appears
// and New where it is removed; both are where it is not known.
type historyJSON struct {
	headerJSON
	Old      value  `json:"old,omitempty"`
	New      value  `json:"new,omitempty"`
	OrBefore bool   `json:"orBefore,omitempty"`
	Unknown  string `json:"unknown,omitempty"`
}

// writeHistory writes the changes of the value at a path, which was given as pointer.
func (p *printer) writeHistory(ctx context.Context, of *subject, path query.Path, pointer string) error {
	t, err := of.readTimeline(ctx)
	if err != nil {
		return err
	}
	found := false
	changes := func(yield func(query.Change, error) bool) {
		for c, err := range query.Open(of.store, t).History(ctx, path) {
			found = true
			if !yield(c, err) {
				return
			}
		}
	}
	if p.json {
		err = writeArray(p, mapElements(changes, func(c query.Change) historyJSON {
			return historyJSON{headerOf(t, c.Visit), c.Old, c.New, c.OrBefore, c.Unknown}
		}))
	} else {
		err = p.writeChanges(t, changes)
	}
	if err == nil && !found {
		err = &advisedError{
			fmt.Errorf("history: no snapshot of %.80q has a value at %.80q", of.session, pointer),
			"hindcast show STORE SESSION head prints a state; PATH is /KEY/INDEX/… or .KEY[INDEX]…",
		}
	}
	return err
}

// writeChanges writes a line for each change of a value.
func (p *printer) writeChanges(t *model.Timeline, changes iter.Seq2[query.Change, error]) error {
	lines := p.newVisits(t)
	for c, err := range changes {
		if err != nil {
			return err
		}
		behind := lines.beginLine(c.Visit)
		where := ""
		if c.OrBefore {
			where = "in " + t.Name(c.Visit) + " or before: "
		}
		what, colour := "", yellow
		switch room := behind + 2 + len(where); {
		case c.Unknown != "":
			what, colour = "? "+printable.String(c.Unknown), faint
		case c.Old == nil:
			what, colour = "+ "+where+p.briefValue(c.New, room), green
		case c.New == nil:
			what, colour = "- "+where+p.briefValue(c.Old, room), red
		default:
			what = "~ " + where + p.showReplacement(c.Old, c.New, room)
		}
		lines.endLine(colour, what)
	}
	return nil
}

// visitShape returns the shape of a visit and the colour of its row.
func (p *printer) visitShape(t *model.Timeline, n model.Node) (shape, sgr string) {
	switch {
	case n == t.Head():
		return p.glyphs.Head, boldGreen
	case !t.OnPath(n):
		return p.glyphs.Orphaned, faint
	case t.IsStep(n):
		return p.glyphs.Dot, ""
	}
	return p.glyphs.Active, ""
}

// visits writes lines that begin with a visit: its shape, name, turn and time.
type visits struct {
	*printer
	*model.Timeline
	columns logColumns
	line    []byte
	sgr     string
}

func (p *printer) newVisits(t *model.Timeline) *visits {
	return &visits{printer: p, Timeline: t, columns: p.measureColumns(t, rowSpan{0, t.Rows()})}
}

// beginLine begins a line and returns behind how many cells the rest of it stands.
func (v *visits) beginLine(n model.Node) (behind int) {
	if v.line, v.sgr = append(v.line[:0], "? not recorded here"...), faint; n != model.NoNode {
		h := v.Header(n)
		shape, sgr := v.visitShape(v.Timeline, n)
		v.sgr = sgr
		v.line = appendPadded(append(v.line[:0], shape+" "...), v.Name(n), v.columns.name)
		v.line = appendPadded(append(v.line, "  turn "...), v.turn(&h), v.columns.turn)
		v.line = appendMoment(append(v.line, "  "...), h.CreatedAt)
	}
	return displaywidth.Bytes(v.line) + 2
}

// endLine ends the line with a text that is safe to print.
func (v *visits) endLine(colour, text string) {
	text = v.fitLine(text, displaywidth.Bytes(v.line)+2)
	fmt.Fprintf(v, "%s  %s\n", v.paint.in(v.sgr, string(v.line)), v.paint.in(colour, text))
}
