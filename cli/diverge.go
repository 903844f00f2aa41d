package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"hindcast/diff"
	"hindcast/model"
	"hindcast/model/printable"
	"hindcast/query"
	"hindcast/store/home"
)

// divergeCommand is `hindcast diverge`.
func (a *App) divergeCommand() *cobra.Command {
	var byText string
	var all, full bool
	var by *query.Expr
	words := func(args []string) words {
		w := twoOf
		if w.most = len(args); all {
			w = allStores
		} else if by != nil {
			w.least = 1
		}
		return w
	}
	cmd := &cobra.Command{
		Use:   "diverge [STORE...] [SESSION] A B...",
		Short: "show where branches or sessions parted, and what each did since",
		Long: `Diverge shows where the lines that lead to A and B parted, what each did since, turn
by turn, and what their states differ in. A terminal of 100 columns shows the two
beside each other.

A and B are each a SNAPSHOT, a SESSION, whose head is meant, or SESSION:SNAPSHOT. The
sessions may be of different stores and kinds: a STORE right before B is that of B alone.
A word that fits a session is one. A SNAPSHOT without a session is one of SESSION, else
of the other word's session, else of the session that changed last.

Two sessions parted behind the last state that both were in, or else behind the last
message that both have, from the first message on.

Of more than two each is a column. A row is a prompt, or a call of a tool, in all runs
that have it: turn by turn, calls stand in one row that have the same fingerprint, whose
rule is told. ` + "`✗`" + ` is a call that failed, ` + "`?`" + ` one without a result. The row
where they part is marked, and rows before it are folded unless --full is given. Below
stand the calls, the tokens, the cost, the time, the files and the result of each. --all
takes the heads of all sessions of the stores, without sub-agents. --by groups the runs
by what an expression of jq says of each: it sees an element of runs of --json.`,
		Example: `  hindcast diverge trips.db trip-planner '#8.1' head
  hindcast diverge trips.db trip-planner other-plan
  hindcast diverge 5eed0001 019d22a1
  hindcast diverge trips.db trip-planner copy.db trip-planner
  hindcast diverge trips.db trip-planner:12 other-plan:head --json
  hindcast diverge evals --all --by 'any(.calls[]; .command // "" | test("go test"))'`,
		Args: func(cmd *cobra.Command, args []string) (err error) {
			if byText != "" {
				if by, err = query.ParseExpr(byText); err != nil {
					return &usageError{fmt.Errorf("diverge: --by: %w", err)}
				}
			}
			return a.argsCheck(words(args))(cmd, args)
		},
		ValidArgsFunction: a.completeSnapshot(2),
		RunE: a.runReading(func(ctx context.Context, p *printer, args []string) error {
			if all || by != nil || a.countLines(args) > 2 {
				tips, closeHomes, err := a.findRuns(ctx, args, all, by != nil)
				if err != nil {
					return err
				}
				if len(tips) > 0 || all {
					c, err := a.compareRuns(ctx, tips, by)
					switch {
					case err != nil:
						err = fmt.Errorf("diverge: %w", err)
					case p.json:
						err = p.writeDocument(c.newDocument())
					default:
						p.writeRuns(c, full)
					}
					return errors.Join(err, closeHomes())
				}
				if err := closeHomes(); err != nil {
					return err
				}
			}
			x, y, closeHomes, err := a.findTips(ctx, args)
			if err != nil {
				return err
			}
			return errors.Join(p.writeDiverge(ctx, x, y), closeHomes())
		}),
	}
	cmd.Flags().StringVar(&byText, "by", "", "group the runs by the value of an `expression` of jq")
	cmd.Flags().BoolVar(&all, "all", false, "compare the heads of all sessions of the stores")
	cmd.Flags().BoolVar(&full, "full", false, "print the rows that all runs have, too")
	return cmd
}

// countLines counts the words that name lines, by the shape of words alone: SESSION may be one of them.
func (a *App) countLines(args []string) (n int) {
	for _, word := range args {
		if !a.isStore(word) {
			n++
		}
	}
	return n
}

// tip is a visit that a line leads to.
type tip struct {
	*subject
	*model.Timeline
	node model.Node
}

// findTips finds the two visits that the words of diverge mean. closeHomes closes their stores. A STORE that has
// one word behind it is the store of B alone.
func (a *App) findTips(ctx context.Context, args []string) (x, y tip, closeHomes func() error, err error) {
	second := len(args) - 2
	if apart := second > 0 && a.isStore(args[second]) && !a.isStore(args[second-1]); !apart {
		second = len(args)
	}
	var homes []*subject
	closeHomes = func() (err error) {
		for _, o := range homes {
			err = errors.Join(err, o.home.Close())
		}
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, closeHomes())
		}
	}()
	w := twoOf
	if second < len(args) {
		w.least = 1
	}
	h, address, rest, err := a.homeOf(ctx, w, args[:second])
	if err != nil {
		return x, y, closeHomes, err
	}
	one := &subject{app: a, home: h, address: address}
	homes, lines := append(homes, one), rest[max(len(rest)-w.least, 0):]
	if len(lines) < w.least {
		return x, y, closeHomes, usagef("diverge: A and B are both needed")
	}
	if given := rest[:len(rest)-w.least]; len(given) > 0 {
		session, err := a.sessionOf(ctx, h, address, given[0])
		if err = one.meet(ctx, session, err); err != nil {
			return x, y, closeHomes, err
		}
	}
	other := one
	if second < len(args) {
		if h, err = a.homeAt(ctx, args[second]); err != nil {
			return x, y, closeHomes, err
		}
		other = &subject{app: a, home: h, address: args[second]}
		homes, lines = append(homes, other), append(lines[:1:1], args[second+1])
	}
	x, y, err = one.findLines(ctx, other, lines)
	return x, y, closeHomes, err
}

// findLines finds the visits that a word means in the home of o, and another one in the home of other, which may be o.
func (o *subject) findLines(ctx context.Context, other *subject, lines []string) (x, y tip, err error) {
	of, specs := [2]*subject{o, other}, [2]string{}
	var named [2]*subject
	for i, word := range lines {
		if named[i], specs[i], err = of[i].sessionIn(ctx, word); err != nil {
			return x, y, err
		}
	}
	for i := range of {
		switch {
		case named[i] != nil:
			of[i] = named[i]
		case of[i].session != "":
		case o == other && named[1-i] != nil:
			of[i] = named[1-i]
		default:
			session, err := latestOf(ctx, of[i].home)
			if err := of[i].meet(ctx, session, err); err != nil {
				return x, y, err
			}
		}
	}
	var tips [2]tip
	for i, of := range of {
		t := tips[0].Timeline
		if i == 0 || !of.isSameSession(tips[0].subject) {
			if t, err = of.readTimeline(ctx); err != nil {
				return x, y, err
			}
		}
		n, err := o.findLine(of, t, specs[i])
		if err != nil {
			return x, y, err
		}
		tips[i] = tip{of, t, n}
	}
	return tips[0], tips[1], nil
}

// findLine finds the visit that a word means in the session of another subject. The error says that it may have been
// meant for a session of o.
func (o *subject) findLine(of *subject, t *model.Timeline, spec string) (model.Node, error) {
	n, err := findVisit(t, spec)
	if errors.Is(err, model.ErrNoSnapshot) {
		store := shellWord(shownAddress(of.address, of.store))
		err = &advisedError{err, fmt.Sprintf("Nor is it a session of %s. hindcast sessions lists these; hindcast log %s %s lists the snapshots.",
			shownHome(o.address, o.home), store, shellWord(of.session))}
	}
	return n, err
}

// isSameSession reports whether two subjects are of one session.
func (o *subject) isSameSession(other *subject) bool {
	return o.in == other.in && o.session == other.session
}

// sessionIn parts a word into a session of the home and a snapshot of it; the subject is nil where the word names no
// session. A session may have a colon in its name.
func (o *subject) sessionIn(ctx context.Context, word string) (of *subject, spec string, err error) {
	for end := len(word); end > 0; end = strings.LastIndexByte(word[:end], ':') {
		if isVisitName(word[:end]) {
			break
		}
		found, err := o.home.FindSession(ctx, word[:end])
		if err == nil && len(found) == 0 {
			continue
		}
		var session home.Session
		if err == nil {
			session, err = o.app.pickSession(ctx, o.home, o.address, word[:end], found)
		}
		if spec = "head"; end < len(word) {
			spec = word[end+1:]
		}
		of = &subject{app: o.app, home: o.home, address: o.address}
		return of, spec, of.meet(ctx, session, err)
	}
	return nil, word, nil
}

// isVisitName reports whether a word names a visit by its shape alone, so that no session is looked for by it.
func isVisitName(word string) bool {
	word, _, _ = strings.Cut(word, "~")
	_, err := strconv.Atoi(word)
	return err == nil || word == "@" || word == "head" || word == "HEAD" || strings.HasPrefix(word, "#")
}

// nameVisit returns the name of a visit of one of the lines, with its session where there are two.
func (t *tip) nameVisit(n model.Node, other *tip) string {
	if t.isSameSession(other.subject) {
		return t.Name(n)
	}
	name := printable.String(t.session) + " " + t.Name(n)
	if t.session == other.session {
		return printable.String(shownAddress(t.address, t.store)) + " " + name
	}
	return name
}

// divergeJSON is `diverge --json`.
type divergeJSON struct {
	A       lineJSON     `json:"a"`
	B       lineJSON     `json:"b"`
	Changes []changeJSON `json:"changes"`
}

// lineJSON is one of the lines. Fork is nil where the two have nothing in common.
type lineJSON struct {
	Store     string       `json:"store,omitempty"`
	SessionID string       `json:"sessionId"`
	Name      string       `json:"name"`
	Fork      *headerJSON  `json:"fork"`
	Since     []headerJSON `json:"since"`
}

func lineOf(t, other tip, line query.Line) lineJSON {
	out := lineJSON{SessionID: t.session, Name: t.Name(t.node), Since: []headerJSON{}}
	if t.in != other.in {
		out.Store = t.store.Address()
	}
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
func (p *printer) writeDiverge(ctx context.Context, x, y tip) error {
	parting, err := findParting(ctx, x, y)
	if err != nil {
		return fmt.Errorf("diverge: %w", err)
	}
	h, g := x.Header(x.node), y.Header(y.node)
	both := sides{side{&h, x.nameVisit(x.node, &y)}, side{&g, y.nameVisit(y.node, &x)}}
	var result *diff.Result
	var gaps model.Gaps
	if x.in == y.in {
		result, gaps, err = both.compareStates(ctx, x.store)
	} else {
		result, gaps, err = both.compareAcross(ctx, x.store, y.store)
	}
	if err != nil {
		return err
	}
	if p.json {
		list := []changeJSON{}
		for c := range yieldChanges(result) {
			list = append(list, c)
		}
		return p.writeDocument(divergeJSON{lineOf(x, y, parting.A), lineOf(y, x, parting.B), list})
	}
	p.writeParting(parting, x, y)
	p.writeDiff(both.titleLine(p.glyphs.Arrow), result)
	p.leftOut(gaps)
	return nil
}

// findParting returns where the lines to two visits parted.
func findParting(ctx context.Context, x, y tip) (query.Parting, error) {
	q := query.Open(x.store, x.Timeline)
	if x.isSameSession(y.subject) {
		return q.Diverge(x.node, y.node), nil
	}
	return q.DivergeFrom(ctx, x.node, query.Open(y.store, y.Timeline), y.node)
}

// besideWidth is from how many columns on two lines stand beside each other.
const besideWidth = 100

// writeParting writes where two lines parted and what each did since.
func (p *printer) writeParting(parting query.Parting, x, y tip) {
	title := x.nameVisit(x.node, &y) + " and " + y.nameVisit(y.node, &x)
	switch a, b := parting.A.Fork, parting.B.Fork; {
	case a == model.NoNode:
		title += " have nothing in common"
	case x.isSameSession(y.subject):
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
