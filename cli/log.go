package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"github.com/spf13/cobra"

	"hindcast/look"
	"hindcast/model"
	"hindcast/model/printable"
	"hindcast/query"
	"hindcast/store"
	"hindcast/store/home"
)

// labelledTimeline reads the headers and the labels of a session. That labels cannot be read is
// said, and stops nothing.
func (a *App) labelledTimeline(ctx context.Context, s store.Store, session string) (*model.Timeline, error) {
	t, unlabelled, err := a.readLabelled(ctx, s, session)
	a.warnUnlabelled(unlabelled)
	return t, err
}

// readLabelled returns the timeline of a session with its labels. unlabelled says why labels cannot be read.
func (a *App) readLabelled(ctx context.Context, s store.Store, session string) (t *model.Timeline, unlabelled, err error) {
	if t, err = query.ReadTimeline(ctx, s, session); err != nil {
		return nil, nil, err
	}
	labels, unlabelled := a.Labels.Of(ctx, s, session)
	t.SetLabels(labels)
	return t, unlabelled, nil
}

// warnUnlabelled says why the labels of a session cannot be read; nil says nothing.
func (a *App) warnUnlabelled(err error) {
	if err != nil {
		fmt.Fprintf(a.Err, "hindcast: %s; no label is known here\n", printable.String(err.Error()))
	}
}

// latestSession returns the session of a store that changed last.
func latestSession(ctx context.Context, s store.Store) (string, error) {
	session, err := latestOf(ctx, home.FromStore(s))
	return session.ID, err
}

// latestOf returns the session of a home that changed last.
func latestOf(ctx context.Context, h *home.Home) (home.Session, error) {
	session, err := h.LatestSession(ctx)
	switch {
	case !errors.Is(err, model.ErrNoSession):
	case h.CountStores() == 0:
		err = noStore()
	default:
		err = fmt.Errorf("%w: the store is empty", model.ErrNoSession)
	}
	return session, err
}

// logCommand is `hindcast log`.
func (a *App) logCommand() *cobra.Command {
	var last int
	var flags bool
	asked, _ := look.Read("", a.Getenv) // a wrong word is an error when the command runs
	g := &asked.Glyphs
	cmd := a.readingCommand(oneOrHead, &cobra.Command{
		Use:   "log [STORE...] [SESSION] [SNAPSHOT]",
		Short: "draw the timeline of a session as a tree",
		Long: `Log draws the timeline of a session as a tree. Time flows down; a branch stands
below the snapshot where it left. Without SESSION it is the one that changed
last. With SNAPSHOT it is what stands around that one.

  ` + g.Active + `  on the active path    ` + g.Head + `  the head, from which the framework resumes
  ` + g.Orphaned + `  off the active path; below the tree stands why
  ` + g.Dot + `  a step of the turn that ended in the snapshot below it, from a trace
  (name)  its label; see hindcast label
  {id, status=done}  the program's own id for it, and what it says about it

--flags lists below the tree the calls on the active path that may be wasted, with the
tokens of their answers: one that got the same result three times or more in a turn while
no file changed, those that failed for the same reason as one before, and an edit that
was taken back. This follows from the calls alone, and reads the states.

With --json it is one array of headers in the same order.`,
	}, func(ctx context.Context, p *printer, of *subject) error {
		t, around, err := of.resolveAround(ctx)
		if err != nil {
			return err
		}
		rows := rowSpan{firstRow(t, last), t.Rows()}
		if around != model.NoNode {
			rows = rowsAround(t, around, last)
		}
		unread, err := unreadRecords(ctx, of.store, of.session, t)
		if err != nil {
			return err
		}
		var flagged *run
		if flags && t.Head() != model.NoNode {
			runs, err := readRuns(ctx, []tip{{of, t, t.Head()}}, nil)
			if err != nil {
				return fmt.Errorf("log: %w", err)
			}
			flagged = &runs[0]
		}
		if p.json {
			return writeArray(p, headersJSON(t, rows, unread, flagged.flagsByVisit()))
		}
		mark := ""
		if unread > 0 {
			mark = fmt.Sprintf("%s %s unread: hindcast doctor %s %s", g.Damaged, model.Count(unread, "record"), shellWord(of.address), shellWord(of.session))
		}
		p.writeLog(of.session, mark, model.NounsOf(of.store.Kind()), t, rows)
		if flags {
			p.writeFlags(flagged)
		}
		return nil
	})
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if last < 0 {
			return usagef("log: -n %d: less than nothing", last)
		}
		return nil
	}
	cmd.Flags().IntVarP(&last, "last", "n", 0, "only the last `N` snapshots that are drawn, or N around SNAPSHOT; 0 for all, or 20 around SNAPSHOT")
	cmd.Flags().BoolVar(&flags, "flags", false, "also list the calls that may be wasted")
	return cmd
}

// unreadRecords returns how many records of a session have texts that no message shows, 0 where the
// session is too large to look unasked. The only error is the context's, since doctor reports the others.
func unreadRecords(ctx context.Context, s store.Store, session string, t *model.Timeline) (int, error) {
	if !store.IsQuickToCheck(t) {
		return 0, nil
	}
	faults, _ := s.Faults(ctx, session)
	return store.UnreadRecords(faults), ctx.Err()
}

// firstRow returns the row from which the last n snapshots are drawn, the first of
// them with the steps of its turn.
func firstRow(t *model.Timeline, n int) int {
	if n == 0 {
		return 0
	}
	for row := t.Rows() - 1; row >= 0; row-- {
		if !isSnapshot(t, row) {
			continue
		}
		if n--; n > 0 {
			continue
		}
		for row > 0 && t.Row(row-1).Kind == model.RowNode && !isSnapshot(t, row-1) {
			row--
		}
		return row
	}
	return 0
}

// resolveAround reads the timeline and finds the snapshot that is named, NoNode where none is.
func (o *subject) resolveAround(ctx context.Context) (*model.Timeline, model.Node, error) {
	if len(o.snapshots) > 0 {
		return o.resolveVisit(ctx, o.snapshots[0])
	}
	t, err := o.readTimeline(ctx)
	return t, model.NoNode, err
}

// rowSpan are the rows of a timeline from one on, up to another.
type rowSpan struct{ from, to int }

// rowsAround returns the rows of n snapshots around a visit, half of them before it; of 20 where n is 0.
func rowsAround(t *model.Timeline, at model.Node, n int) rowSpan {
	if n == 0 {
		n = 20
	}
	rows := rowSpan{t.RowOf(at), t.RowOf(at) + 1}
	count := func(row int) int {
		if isSnapshot(t, row) {
			return 1
		}
		return 0
	}
	left := n - 1
	for before := n / 2; rows.from > 0 && before > 0; before -= count(rows.from) {
		rows.from--
		left -= count(rows.from)
	}
	for ; rows.to < t.Rows() && left > 0; rows.to++ {
		left -= count(rows.to)
	}
	return rows
}

// isSnapshot reports whether a row shows a snapshot, and not a step or a line.
func isSnapshot(t *model.Timeline, row int) bool {
	n := t.Row(row).Node
	return n != model.NoNode && !t.IsStep(n)
}

// isStep reports whether a header is that of a step of a turn.
func isStep(h *model.Header) bool { return h.Marks.Has(model.MarkTraced) }

// maxLanes bounds how much of a line the drawing takes.
const maxLanes = 16

// writeTitle writes the name of a session, how many snapshots it has, and what more is known, in the words of its framework.
func (p *printer) writeTitle(session string, nouns model.Nouns, t *model.Timeline, more string) {
	name := p.fitName(nouns.NameSession(printable.String(session)), max(p.width/3, leastFit))
	fmt.Fprintf(p, "%s  %s, %d off the path%s\n", p.paint.in(bold, name), model.Count(t.Snapshots(), nouns.Snapshot), t.Orphans(), more)
}

// writeLog draws rows of a timeline, below the session's name and a mark, or "".
func (p *printer) writeLog(session, mark string, nouns model.Nouns, t *model.Timeline, rows rowSpan) {
	head := "no head"
	if h := t.Head(); h != model.NoNode {
		head = "head " + t.Name(h)
	}
	p.writeTitle(session, nouns, t, ", "+head)
	if mark != "" {
		p.Write(append(appendIn(nil, p.paint, red, []byte(mark)), '\n'))
	}
	if t.Len() == 0 {
		return
	}
	p.writeLeftOut(nouns, t, rowSpan{0, rows.from}, "above")
	cols := p.measureColumns(t, rows)
	var body, out []byte
	lanes := min(t.Lanes(), maxLanes)
	for row := rows.from; row < rows.to; row++ {
		body = t.AppendGutter(body[:0], row, lanes, p.glyphs.Gutter)
		r := t.Row(row)
		if r.Kind == model.RowNode {
			body = p.appendLine(body, cols, t, r.Node)
			out = p.appendRow(out[:0], body, t, r.Node)
		} else {
			out = append(out[:0], body...)
		}
		p.Write(append(bytes.TrimRight(out, " "), '\n'))
	}
	p.writeLeftOut(nouns, t, rowSpan{rows.to, t.Rows()}, "below")
	p.writeReasons(nouns, t, rows)
}

// writeLeftOut says how many snapshots have their rows among those that are not drawn, and where these are.
func (p *printer) writeLeftOut(nouns model.Nouns, t *model.Timeline, rows rowSpan, where string) {
	n := 0
	for row := rows.from; row < rows.to; row++ {
		if isSnapshot(t, row) {
			n++
		}
	}
	if n == 0 {
		return
	}
	fmt.Fprintf(p, "%s %s are left out", model.Count(n, nouns.Snapshot), where)
	if h := t.Head(); h != model.NoNode && t.RowOf(h) >= rows.from && t.RowOf(h) < rows.to {
		fmt.Fprintf(p, ", and the head %s with them", t.Name(h))
	}
	p.WriteByte('\n')
}

// appendRow appends the row of a snapshot to dst: its drawing and its columns, which
// are in body, its marks and its title.
func (p *printer) appendRow(dst, body []byte, t *model.Timeline, n model.Node) []byte {
	h := t.Header(n)
	sgr := ""
	switch {
	case n == t.Head():
		sgr = boldGreen
	case !t.OnPath(n):
		sgr = faint
	}
	dst = appendIn(dst, p.paint, sgr, body)
	dst = append(dst, ' ') // between the columns are two spaces
	remarks := markWords(&h)
	if remarks != "" {
		style := yellow
		if h.Marks.Grave() {
			style = red
		}
		dst = appendIn(append(dst, ' '), p.paint, style, remarks)
	}
	if names := labelNames(t.Labels(n)); names != "" {
		dst = appendIn(append(dst, ' '), p.paint, bold, names)
		remarks = strings.TrimLeft(remarks+" "+names, " ")
	}
	if said := h.ProgramText(); said != "" {
		said = p.clipLine(said, maxSaid)
		dst = appendIn(append(dst, ' '), p.paint, faint, said)
		remarks = strings.TrimLeft(remarks+" "+said, " ")
	}
	title := p.clipLine(p.glyphs.Sentence(h.Title), maxTitle)
	if p.width > 0 {
		title = p.fitLine(title, displaywidth.Bytes(body)+2+displaywidth.String(remarks)+1)
	}
	if title != "" {
		dst = appendIn(append(dst, ' '), p.paint, sgr, title)
	}
	return dst
}

// logColumns are the widths of the columns behind the drawing, in cells.
type logColumns struct{ name, turn, event, id int }

// An event may have any name, and a title and what a program says any length.
const (
	maxEvent = 24
	maxTitle = 200
	maxSaid  = 60
)

func (p *printer) measureColumns(t *model.Timeline, rows rowSpan) logColumns {
	c := logColumns{id: idDigits}
	for row := rows.from; row < rows.to; row++ {
		r := t.Row(row)
		if r.Kind != model.RowNode {
			continue
		}
		h := t.Header(r.Node)
		c.name = max(c.name, len(t.Name(r.Node)))
		c.turn = max(c.turn, displaywidth.String(p.turn(&h)))
		c.event = max(c.event, displaywidth.String(p.eventText(&h)))
		c.id = max(c.id, displaywidth.String(shortID(h.ID)))
	}
	return c
}

// appendLine appends the columns of a snapshot to dst.
func (p *printer) appendLine(dst []byte, c logColumns, t *model.Timeline, n model.Node) []byte {
	h := t.Header(n)
	name := len(dst)
	dst = t.AppendName(dst, n)
	short := max(c.name-(len(dst)-name), 0)
	dst = slices.Insert(dst, name, []byte(spaces(1+short))...)
	dst = appendPadded(append(dst, "  turn "...), p.turn(&h), c.turn)
	dst = appendPadded(append(dst, "  "...), p.eventText(&h), c.event)
	dst = appendPadded(append(dst, "  "...), shortID(h.ID), c.id)
	return appendMoment(append(dst, "  "...), h.CreatedAt)
}

func (p *printer) turn(h *model.Header) string { return turnText(h, p.glyphs.Ellipsis) }

// turnText returns the turn of a snapshot, or unknown where it was not counted yet.
func turnText(h *model.Header, unknown string) string {
	if h.TurnIndex == model.TurnUnknown {
		return unknown
	}
	return strconv.Itoa(h.TurnIndex)
}

func (p *printer) eventText(h *model.Header) string {
	return p.clipLine(h.EventText(), maxEvent)
}

// titleText returns the header's title behind its marks.
func (p *printer) titleText(h *model.Header) string {
	return strings.TrimLeft(markWords(h)+" "+p.clipLine(p.glyphs.Sentence(h.Title), maxTitle), " ")
}

// markWords returns the marks of a snapshot, each in brackets, or "". That a
// snapshot is a step its shape says.
func markWords(h *model.Header) string {
	var words []string
	for mark := range (h.Marks &^ model.MarkTraced).All() {
		words = append(words, "["+mark.Text()+"]")
	}
	return strings.Join(words, " ")
}

// writeReasons writes why snapshots are off the active path, a line for each reason.
func (p *printer) writeReasons(nouns model.Nouns, t *model.Timeline, rows rowSpan) {
	var order []model.Reason
	names := map[model.Reason][]string{}
	for row := rows.from; row < rows.to; row++ {
		r := t.Row(row)
		if !isSnapshot(t, row) || t.OnPath(r.Node) {
			continue
		}
		reason := t.Reason(r.Node)
		if names[reason] == nil {
			order = append(order, reason)
		}
		names[reason] = append(names[reason], t.Name(r.Node))
	}
	for _, reason := range order {
		list := names[reason]
		which := list[0]
		if len(list) > 1 {
			which += fmt.Sprintf(" to %s, %s", list[len(list)-1], model.Count(len(list), nouns.Snapshot))
		}
		fmt.Fprintf(p, "%s %s: %s\n", p.glyphs.Orphaned, which, reason.Text(formatMoment))
	}
}
