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
	"hindcast/store"
)

// history is `hindcast history`.
func (a *App) history() *cobra.Command {
	asked, _ := look.Read("", a.Getenv) // a wrong word is an error when the command runs
	g := &asked.Glyphs
	return &cobra.Command{
		Use:   "history [STORE] [SESSION] PATH",
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
		Args:              argsBetween(1, oneSession.all()+1),
		ValidArgsFunction: a.completePath(0),
		RunE: a.reading(func(ctx context.Context, p *printer, args []string) error {
			// PATH begins as a file does, so it is parted from what names a store.
			last := len(args) - 1
			path, err := query.ParsePath(args[last])
			if err != nil {
				return &usageError{fmt.Errorf("history: %w; PATH is a JSON Pointer or a jq path, such as /cart/total or .cart.total", err)}
			}
			return a.placed(oneSession, func(ctx context.Context, p *printer, words []string) error {
				s, err := a.open(ctx, words[0])
				if err != nil {
					return err
				}
				defer s.Close()
				t, err := a.timeline(ctx, s, words[1])
				if err != nil {
					return err
				}
				return p.history(ctx, s, t, words[1], path, args[last])
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

// history writes the changes of the value at a path, which was given as pointer.
func (p *printer) history(ctx context.Context, s store.Store, t *model.Timeline, session string, path query.Path, pointer string) (err error) {
	found := false
	changes := func(yield func(query.Change, error) bool) {
		for c, err := range query.Open(s, t).History(ctx, path) {
			found = true
			if !yield(c, err) {
				return
			}
		}
	}
	if p.json {
		err = array(p, historyOf(t, changes))
	} else {
		err = p.changed(t, changes)
	}
	if err == nil && !found {
		err = &advisedError{
			fmt.Errorf("history: no snapshot of %.80q has a value at %.80q", session, pointer),
			"hindcast show STORE SESSION head prints a state; PATH is /KEY/INDEX/… or .KEY[INDEX]…",
		}
	}
	return err
}

func historyOf(t *model.Timeline, changes iter.Seq2[query.Change, error]) iter.Seq2[historyJSON, error] {
	return func(yield func(historyJSON, error) bool) {
		for c, err := range changes {
			if err != nil {
				yield(historyJSON{}, err)
				return
			}
			if !yield(historyJSON{headerOf(t, c.Visit), c.Old, c.New, c.OrBefore, c.Unknown}, nil) {
				return
			}
		}
	}
}

// changed writes a line for each change of a value.
func (p *printer) changed(t *model.Timeline, changes iter.Seq2[query.Change, error]) error {
	cols := p.columns(t, 0)
	var line []byte
	for c, err := range changes {
		if err != nil {
			return err
		}
		sgr := ""
		line, sgr = p.appendVisit(line[:0], cols, t, c.Visit)
		behind := displaywidth.Bytes(line) + 2
		where := ""
		if c.OrBefore {
			where = "in " + t.Name(c.Visit) + " or before: "
		}
		what, colour := "", yellow
		switch room := behind + 2 + len(where); {
		case c.Unknown != "":
			what, colour = "? "+printable.String(c.Unknown), faint
		case c.Old == nil:
			what, colour = "+ "+where+p.brief(c.New, room), green
		case c.New == nil:
			what, colour = "- "+where+p.brief(c.Old, room), red
		default:
			what = "~ " + where + p.replaced(c.Old, c.New, room)
		}
		fmt.Fprintf(p, "%s  %s\n", p.paint.in(sgr, string(line)), p.paint.in(colour, p.fitted(what, behind)))
	}
	return nil
}

// shape returns the shape of a visit and the colour of its row.
func (p *printer) shape(t *model.Timeline, n model.Node) (shape, sgr string) {
	switch {
	case n == t.Head():
		return p.glyphs.Head, boldGreen
	case !t.OnPath(n):
		return p.glyphs.Orphaned, faint
	case t.Traced(n):
		return p.glyphs.Dot, ""
	}
	return p.glyphs.Active, ""
}

// appendVisit appends what begins the line of a visit in an answer about a whole session: its
// shape, name, turn and time. It is drawn in sgr.
func (p *printer) appendVisit(dst []byte, c logColumns, t *model.Timeline, n model.Node) (line []byte, sgr string) {
	h := t.Header(n)
	shape, sgr := p.shape(t, n)
	dst = appendPadded(append(dst, shape+" "...), t.Name(n), c.name)
	dst = appendPadded(append(dst, "  turn "...), p.turn(&h), c.turn)
	return appendMoment(append(dst, "  "...), h.CreatedAt), sgr
}
