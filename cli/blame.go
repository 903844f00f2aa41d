package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/clipperhouse/displaywidth"
	"github.com/spf13/cobra"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/model/printable"
	"hindcast/query"
	"hindcast/store"
)

// blameCommand is `hindcast blame`.
func (a *App) blameCommand() *cobra.Command {
	porcelain := false
	cmd := &cobra.Command{
		Use:   "blame [STORE...] [SESSION] [SNAPSHOT] [PATH] | FILE[:LINE]",
		Short: "show which snapshot last set each value of a state, or which session wrote a line",
		Long: `Blame prints the values of a state, each with the snapshot that last set it, in the
order of the state. Without SNAPSHOT it is the head, without PATH the whole state. PATH is
a JSON Pointer or a jq path, such as /cart or .messages[3].

An element of an array that moved was not set, and neither was a value that is only
spelled in another way. What was removed stands at the object or array that held it, where
nothing in that was set since. "In #7 or before" stands where the parent is missing or does
not have the value recorded.

FILE is a file in a git work tree that is no store. For each of its lines, or for LINE or
FIRST-LAST, blame prints the commit that git tells, and the step of a session that wrote
the line: session, snapshot, turn, tool, the person's words and the call that goes on with
the session. A step wrote a line if its patch adds that text to that file, white space
folded, before the commit and after the file's commit before that one. Where the records do
not tell which of several steps did, it names them; where it may have been a person, no
session wrote the line. A line whose step is on a branch that was thrown away says so, since
a person may have typed it again. --porcelain is what git blame --porcelain prints, with
these facts as further headers.`,
		Example: `  hindcast blame trips.db trip-planner
  hindcast blame trips.db trip-planner '#8' /cart
  hindcast blame trips.db .cart --json | jq '.[] | select(.snapshot.turnIndex == 3).path'
  hindcast blame src/cart.ts:12
  hindcast blame projects src/cart.ts:10-20 --json`,
		Args:              a.argsCheck(words{session: true, most: 2}),
		ValidArgsFunction: a.completePath(1),
		RunE: a.runReading(func(ctx context.Context, p *printer, args []string) error {
			if len(args) > 0 {
				lines, is, err := a.findLines(ctx, args[len(args)-1])
				if err != nil {
					return err
				}
				if is {
					return a.withSubject(allStores, func(ctx context.Context, p *printer, of *subject) error {
						return lines.writeLines(ctx, p, of, porcelain)
					})(ctx, p, args[:len(args)-1])
				}
			}
			if porcelain {
				return usagef("blame: --porcelain is of the lines of a FILE in a git work tree")
			}
			var path query.Path
			text := ""
			// PATH begins as a file does, but a file is the first word only. The second one
			// may be a session that begins so.
			if last := len(args) - 1; last == oneOrHead.countAll() || last > 0 && args[last] != "" && (args[last][0] == '/' || args[last][0] == '.') {
				var err error
				if path, err = query.ParsePath(args[last]); err != nil && last > 1 {
					return &usageError{fmt.Errorf("blame: %w", err)}
				} else if err == nil {
					text, args = args[last], args[:last]
				}
			}
			return a.withSubject(oneOrHead, func(ctx context.Context, p *printer, of *subject) error {
				t, n, err := of.resolveVisit(ctx, of.firstSnapshot())
				if err != nil {
					return err
				}
				err = p.answerBlame(ctx, of.store, t, n, path)
				if errors.Is(err, query.ErrNoValue) {
					err = &advisedError{
						fmt.Errorf("blame: there is nothing at %.80q in %s", text, t.Name(n)),
						"hindcast show STORE SESSION SNAPSHOT --state prints the whole state; PATH is /KEY/INDEX/… or .KEY[INDEX]…",
					}
				}
				return err
			})(ctx, p, args)
		}),
	}
	cmd.Flags().BoolVar(&porcelain, "porcelain", false, "print the lines of FILE as git blame --porcelain does, with the session's facts as headers")
	return cmd
}

// blameJSON is an element of `blame --json`. Value is absent where the value holds others, and
// Snapshot where the store does not know it.
type blameJSON struct {
	Path     string      `json:"path"`
	Value    value       `json:"value,omitempty"`
	Holds    bool        `json:"holds,omitempty"`
	Snapshot *headerJSON `json:"snapshot,omitempty"`
	OrBefore bool        `json:"orBefore,omitempty"`
}

// answerBlame writes which visit last set each value of a state at a path and below.
func (p *printer) answerBlame(ctx context.Context, s store.Store, t *model.Timeline, n model.Node, path query.Path) error {
	var list []query.Blamed
	for b, err := range query.Open(s, t).Blame(ctx, n, path) {
		if err != nil {
			return err
		}
		list = append(list, b)
	}
	slices.SortFunc(list, func(a, b query.Blamed) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End))
	})
	h := t.Header(n)
	state, err := s.State(ctx, h.Ref())
	if err != nil {
		return err
	}
	tape, _, err := jsontape.ParseTolerant(state)
	if err != nil {
		return err
	}
	if p.json {
		return writeArray(p, mapElements(sequenceOf(list), func(b query.Blamed) blameJSON { return blamedOf(t, b, tape.Data()) }))
	}
	p.writeBlame(t, list, tape.Data())
	return nil
}

func blamedOf(t *model.Timeline, b query.Blamed, state []byte) blameJSON {
	out := blameJSON{Path: b.Path, Holds: b.Holds, OrBefore: b.OrBefore}
	if !b.Holds {
		out.Value = state[b.Start:b.End]
	}
	if b.Visit != model.NoNode {
		header := headerOf(t, b.Visit)
		out.Snapshot = &header
	}
	return out
}

// writeBlame writes a line for each value that holds no others. A value that holds others gets
// a line only if something was removed from it since.
func (p *printer) writeBlame(t *model.Timeline, list []query.Blamed, state []byte) {
	lines := p.newVisits(t)
	for i, b := range list {
		if b.Holds && !removedFrom(list[i:]) {
			continue
		}
		behind := lines.beginLine(b.Visit)
		path := printable.String(b.Path)
		if path == "" {
			path = "the whole state"
		}
		if b.OrBefore {
			path = "in " + t.Name(b.Visit) + " or before: " + path
		}
		what := path + "  - something was removed"
		if !b.Holds {
			what = path + "  " + p.briefValue(state[b.Start:b.End], behind+displaywidth.String(path)+2)
		}
		lines.endLine("", what)
	}
}

// removedFrom reports whether a value was removed from the list: the first of its values last changed at a
// visit that set none of the values inside it.
func removedFrom(list []query.Blamed) bool {
	first := &list[0]
	for i := range list[1:] {
		b := &list[1+i]
		if b.Start >= first.End {
			break
		}
		if b.Visit == first.Visit {
			return false
		}
	}
	return true
}
