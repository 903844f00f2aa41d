package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hindcast/model"
	"hindcast/model/printable"
	"hindcast/query"
	"hindcast/store"
	"hindcast/store/home"
)

// divergeCommand is `hindcast diverge`.
func (a *App) divergeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "diverge [STORE] [SESSION] A B",
		Short: "show where two branches or sessions parted, and what each did since",
		Long: `Diverge shows where the lines that lead to A and B parted, what each did since, turn
by turn, and what their states differ in. A terminal of 100 columns shows the two
beside each other.

A and B are in one store. They are each a SNAPSHOT, a SESSION, whose head is meant,
or SESSION:SNAPSHOT. A word that fits a session is one. A SNAPSHOT without a session
is one of the other word's session, else of SESSION, else of the session that changed
last.

Two sessions parted behind the last state that both were in, or else behind the last
message that both have, from the first message on.`,
		Example: `  hindcast diverge trips.db trip-planner '#8.1' head
  hindcast diverge trips.db trip-planner other-plan
  hindcast diverge trips.db trip-planner:12 other-plan:head --json`,
		Args:              argsBetween(2, 4),
		ValidArgsFunction: a.completeSnapshot(2),
		RunE: a.runReading(func(ctx context.Context, p *printer, args []string) error {
			// Three words are a store and two lines, or a session and two lines.
			address, words, err := a.storeOf(ctx, args, len(args) > 3)
			if err != nil {
				return err
			}
			if len(words) < 2 {
				return usagef("diverge: A and B are both needed")
			}
			s, err := a.openStore(ctx, address)
			if err != nil {
				return err
			}
			defer s.Close()
			x, y, err := a.findTips(ctx, s, words)
			if err != nil {
				session := ""
				if len(words) > 2 {
					session = words[0]
				}
				return inOneStore(noSessionIn(ctx, home.FromStore(s), address, session, err), shownAddress(address, s))
			}
			return p.writeDiverge(ctx, s, x, y)
		}),
	}
}

// inOneStore returns the error about a word that names nothing with the advice that both lines are in one store.
func inOneStore(err error, address string) error {
	if !errors.Is(err, model.ErrNoSession) && !errors.Is(err, model.ErrNoSnapshot) {
		return err
	}
	return &advisedError{err, fmt.Sprintf(
		"diverge looks in one store, %[1]s: hindcast sessions %[1]s lists its sessions.", shellWord(address))}
}

// tip is a visit that a line leads to.
type tip struct {
	session string
	*model.Timeline
	node model.Node
}

// findTips finds the two visits that words mean, the last two of them.
func (a *App) findTips(ctx context.Context, s store.Store, words []string) (x, y tip, err error) {
	lines := words[len(words)-2:]
	var sessions, specs [2]string
	for i, word := range lines {
		if sessions[i], specs[i], err = sessionIn(ctx, s, word); err != nil {
			return x, y, err
		}
	}
	given := ""
	if len(words) > 2 {
		given = words[0]
	}
	for i := range sessions {
		for _, of := range []string{given, sessions[1-i]} {
			if sessions[i] == "" {
				sessions[i] = of
			}
		}
		if sessions[i] == "" {
			if sessions[i], err = latestSession(ctx, s); err != nil {
				return x, y, err
			}
		}
	}
	var tips [2]tip
	for i, session := range sessions {
		t := tips[0].Timeline
		if i == 0 || session != sessions[0] {
			if t, err = a.labelledTimeline(ctx, s, session); err != nil {
				return x, y, err
			}
		}
		n, err := findVisit(t, specs[i])
		if err != nil {
			return x, y, err
		}
		tips[i] = tip{session, t, n}
	}
	return tips[0], tips[1], nil
}

// sessionIn parts a word into a session of the store and a snapshot of it; session is ""
// where the word names none. A session may have a colon in its name.
func sessionIn(ctx context.Context, s store.Store, word string) (session, spec string, err error) {
	for end := len(word); end > 0; end = strings.LastIndexByte(word[:end], ':') {
		err := store.Find(ctx, s, word[:end])
		switch {
		case err == nil && end == len(word):
			return word, "head", nil
		case err == nil:
			return word[:end], word[end+1:], nil
		case !errors.Is(err, model.ErrNoSession):
			return "", "", err
		}
	}
	return "", word, nil
}

// nameVisit returns the name of a visit of one of the lines, with its session where there are two.
func (t *tip) nameVisit(n model.Node, other *tip) string {
	if t.session == other.session {
		return t.Name(n)
	}
	return printable.String(t.session) + " " + t.Name(n)
}

// divergeJSON is `diverge --json`.
type divergeJSON struct {
	A       lineJSON     `json:"a"`
	B       lineJSON     `json:"b"`
	Changes []changeJSON `json:"changes"`
}

// lineJSON is one of the lines. Fork is nil where the two have nothing in common.
type lineJSON struct {
	SessionID string       `json:"sessionId"`
	Name      string       `json:"name"`
	Fork      *headerJSON  `json:"fork"`
	Since     []headerJSON `json:"since"`
}

func lineOf(t tip, line query.Line) lineJSON {
	out := lineJSON{SessionID: t.session, Name: t.Name(t.node), Since: []headerJSON{}}
	if line.Fork != model.NoNode {
		fork := headerOf(t.Timeline, line.Fork)
		out.Fork = &fork
	}
	for _, n := range line.Since {
		out.Since = append(out.Since, headerOf(t.Timeline, n))
	}
	return out
}

// writeDiverge writes where two lines parted.
func (p *printer) writeDiverge(ctx context.Context, s store.Store, x, y tip) error {
	parting, err := findParting(ctx, s, x, y)
	if err != nil {
		return fmt.Errorf("diverge: %w", err)
	}
	h, g := x.Header(x.node), y.Header(y.node)
	both := sides{side{&h, x.nameVisit(x.node, &y)}, side{&g, y.nameVisit(y.node, &x)}}
	result, gaps, err := both.compareStates(ctx, s)
	if err != nil {
		return err
	}
	if p.json {
		list := []changeJSON{}
		for c := range yieldChanges(result) {
			list = append(list, c)
		}
		return p.writeDocument(divergeJSON{lineOf(x, parting.A), lineOf(y, parting.B), list})
	}
	p.writeParting(parting, x, y)
	p.writeDiff(both.titleLine(p.glyphs.Arrow), result)
	p.leftOut(gaps)
	return nil
}

// findParting returns where the lines to two visits parted.
func findParting(ctx context.Context, s store.Store, x, y tip) (query.Parting, error) {
	q := query.Open(s, x.Timeline)
	if x.session == y.session {
		return q.Diverge(x.node, y.node), nil
	}
	return q.DivergeFrom(ctx, x.node, query.Open(s, y.Timeline), y.node)
}

// besideWidth is from how many columns on two lines stand beside each other.
const besideWidth = 100

// writeParting writes where two lines parted and what each did since.
func (p *printer) writeParting(parting query.Parting, x, y tip) {
	title := x.nameVisit(x.node, &y) + " and " + y.nameVisit(y.node, &x)
	switch a, b := parting.A.Fork, parting.B.Fork; {
	case a == model.NoNode:
		title += " have nothing in common"
	case x.session == y.session:
		title += " parted at " + x.Name(a)
	default:
		title += " parted at " + x.nameVisit(a, &y) + " and " + y.nameVisit(b, &x)
	}
	fmt.Fprintln(p, p.paint.in(bold, title))
	left, right := p.turnsOf(x, parting.A), p.turnsOf(y, parting.B)
	if p.width >= besideWidth {
		p.writeColumns(left, right, []string{p.countSince(x, &y, parting.A), p.countSince(y, &x, parting.B)})
		return
	}
	for _, side := range []struct {
		head  string
		turns []turnRows
	}{{p.countSince(x, &y, parting.A), left}, {p.countSince(y, &x, parting.B), right}} {
		fmt.Fprintf(p, "\n%s\n", p.paint.in(bold, p.fitLine(side.head, 0)))
		for _, turn := range side.turns {
			for _, row := range turn.rows {
				fmt.Fprintln(p, p.fitLine(row, 0))
			}
		}
	}
	p.WriteByte('\n')
}

// countSince says how many snapshots a line has since it parted.
func (p *printer) countSince(t tip, other *tip, line query.Line) string {
	n := 0
	for _, node := range line.Since {
		if !t.IsStep(node) {
			n++
		}
	}
	return t.nameVisit(t.node, other) + ": " + model.Count(n, "snapshot") + " since"
}

// turnRows are the rows of one turn. Turns are counted from where the lines parted.
type turnRows struct {
	turn int
	rows []string
}

// turnsOf returns the turns of a line since it parted.
func (p *printer) turnsOf(t tip, line query.Line) (turns []turnRows) {
	from := 0
	if line.Fork != model.NoNode {
		from = t.Header(line.Fork).TurnIndex
	}
	cells := 0
	for _, n := range line.Since {
		cells = max(cells, len(t.Name(n)))
	}
	for _, n := range line.Since {
		h := t.Header(n)
		turn := h.TurnIndex - from
		if last := len(turns) - 1; last < 0 || turns[last].turn != turn {
			turns = append(turns, turnRows{turn: turn})
		}
		shape, _ := p.visitShape(t.Timeline, n)
		row := &turns[len(turns)-1]
		row.rows = append(row.rows, strings.TrimRight(shape+" "+padRight(t.Name(n), cells)+"  turn "+p.turn(&h)+"  "+p.titleText(&h), " "))
	}
	return turns
}

// writeColumns writes two lines beside each other, the turns of both at the same height.
func (p *printer) writeColumns(left, right []turnRows, heads []string) {
	half := (p.width - 3) / 2
	row := func(l, r string) {
		line := padRight(p.cutCell(l, half), half) + " | " + p.cutCell(r, half)
		p.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	p.WriteByte('\n')
	row(heads[0], heads[1])
	for len(left) > 0 || len(right) > 0 {
		var l, r []string
		takeLeft := len(right) == 0 || len(left) > 0 && left[0].turn <= right[0].turn
		takeRight := len(left) == 0 || len(right) > 0 && right[0].turn <= left[0].turn
		if takeLeft {
			l, left = left[0].rows, left[1:]
		}
		if takeRight {
			r, right = right[0].rows, right[1:]
		}
		for i := range max(len(l), len(r)) {
			row(rowAt(l, i), rowAt(r, i))
		}
	}
	p.WriteByte('\n')
}

// rowAt returns a row, "" behind the last.
func rowAt(rows []string, i int) string {
	if i < len(rows) {
		return rows[i]
	}
	return ""
}

// cutCell cuts a text to so many cells.
func (p *printer) cutCell(text string, cells int) string { return p.fitLine(text, p.width-cells) }
