package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clipperhouse/displaywidth"

	"hindcast/model"
	"hindcast/model/align"
	"hindcast/model/conversation"
	"hindcast/model/filechange"
	"hindcast/model/jsontape"
	"hindcast/model/printable"
	"hindcast/prices"
	"hindcast/query"
	"hindcast/store"
	"hindcast/store/home"
)

// run is a line of a session, read call by call.
type run struct {
	tip
	*query.Run
}

// findRuns finds the visits that the words of diverge mean, where they are more than two. It returns no tips where the
// words are a session and two snapshots of it, which findTips finds, unless two are wanted, too. closeHomes closes the
// stores.
func (a *App) findRuns(ctx context.Context, args []string, all, two bool) (tips []tip, closeHomes func() error, err error) {
	var homes []*home.Home
	closeHomes = func() (err error) {
		for _, h := range homes {
			err = errors.Join(err, h.Close())
		}
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, closeHomes())
		}
	}()
	w := words{session: true, most: len(args) + 1}
	if all {
		w = allStores
	}
	h, address, rest, err := a.homeOf(ctx, w, args)
	if err != nil {
		return nil, closeHomes, err
	}
	homes = append(homes, h)
	one := &subject{app: a, home: h, address: address}
	if all {
		if len(rest) > 0 {
			return nil, closeHomes, usagef("diverge: --all is of whole stores; %.80q is none", rest[0])
		}
		tips, err = one.everyTip(ctx)
		return tips, closeHomes, err
	}
	var specs []string
	var named, in []*subject
	for i := 0; i < len(rest); i++ {
		of := one
		if i+1 < len(rest) && a.isStore(rest[i]) {
			other, err := a.homeAt(ctx, rest[i])
			if err != nil {
				return nil, closeHomes, err
			}
			homes = append(homes, other)
			of = &subject{app: a, home: other, address: rest[i]}
			i++
		}
		session, spec, err := of.sessionIn(ctx, rest[i])
		if err != nil {
			return nil, closeHomes, err
		}
		specs, named, in = append(specs, spec), append(named, session), append(in, of)
	}
	others := 0 // sessions behind the first word
	for _, session := range named[min(1, len(named)):] {
		if session != nil {
			others++
		}
	}
	isSession := named[0] != nil && strings.HasPrefix(named[0].session, rest[0]) // and no snapshot of it
	switch {
	case len(named) != 3 || two:
		if isSession && others == 0 && len(named) > 2 {
			one, specs, named, in = named[0], specs[1:], named[1:], in[1:]
		}
	case isSession && others < 2, named[0] == nil && !isVisitName(rest[0]):
		return nil, closeHomes, nil
	}
	for i := range specs {
		of := cmp.Or(named[i], one)
		if named[i] == nil && in[i] != one && one.home != in[i].home {
			of = in[i]
		}
		if of.session == "" {
			session, err := latestOf(ctx, of.home)
			if err := of.meet(ctx, session, err); err != nil {
				return nil, closeHomes, err
			}
		}
		if named[i] != nil {
			one = named[i] // a snapshot behind it is one of it
		}
		var t *model.Timeline
		for k := range tips {
			if tips[k].isSameSession(of) {
				t = tips[k].Timeline
			}
		}
		if t == nil {
			if t, err = of.readTimeline(ctx); err != nil {
				return nil, closeHomes, err
			}
		}
		n, err := in[i].findLine(of, t, specs[i])
		if err != nil {
			return nil, closeHomes, err
		}
		tips = append(tips, tip{of, t, n})
	}
	return tips, closeHomes, nil
}

// everyTip returns the heads of all sessions of the stores, but for sub-agents. Their timelines are not read yet.
func (o *subject) everyTip(ctx context.Context) (tips []tip, err error) {
	for session, err := range o.home.ListNewest(ctx) {
		if err = cmp.Or(err, session.Err); err != nil {
			return nil, err
		}
		if session.Parent != "" {
			continue
		}
		of := &subject{app: o.app, home: o.home, address: o.address}
		if err := of.meet(ctx, *session, nil); err != nil {
			return nil, err
		}
		tips = append(tips, tip{of, nil, model.NoNode})
	}
	if o.home.CountStores() == 0 {
		return nil, noStore()
	}
	return tips, nil
}

// fillInfo fills in the information of the lists of the stores about sessions that were found by their ids alone. Each list is read once.
func fillInfo(ctx context.Context, tips []tip) error {
	missing := map[store.Store]map[string][]*subject{}
	for i := range tips {
		of := tips[i].subject
		if of.info.Project != "" || !of.info.UpdatedAt.IsZero() {
			continue
		}
		if missing[of.store] == nil {
			missing[of.store] = map[string][]*subject{}
		}
		missing[of.store][of.session] = append(missing[of.store][of.session], of)
	}
	for s, sessions := range missing {
		for info, err := range store.AnyOrder(ctx, s) {
			if err != nil {
				return err
			}
			for _, of := range sessions[info.ID] {
				of.info = info
			}
			if delete(sessions, info.ID); len(sessions) == 0 {
				break
			}
		}
	}
	return nil
}

// readRuns reads the lines to visits, of several sessions at once. list may be nil. A tip without a timeline is the head of
// its session: its log is read once for both. One without a snapshot gives no run.
func readRuns(ctx context.Context, tips []tip, list query.Prices) ([]run, error) {
	if err := fillInfo(ctx, tips); err != nil {
		return nil, err
	}
	places := map[*model.Timeline]int{}
	var sessions [][]int // the tips of each
	for i := range tips {
		at, known := places[tips[i].Timeline]
		if !known || tips[i].Timeline == nil {
			at = len(sessions)
			places[tips[i].Timeline], sessions = at, append(sessions, nil)
		}
		sessions[at] = append(sessions[at], i)
	}
	runs, failed := make([]run, len(tips)), make([]error, len(sessions))
	err := store.RunParallel(ctx, runtime.GOMAXPROCS(0), len(sessions), func(at int) {
		first := &tips[sessions[at][0]]
		if first.Timeline == nil {
			t, err := first.readTimeline(ctx)
			if err != nil || t.Head() == model.NoNode {
				failed[at] = err
				return
			}
			first.Timeline, first.node = t, t.Head()
		}
		q := query.Open(first.store, first.Timeline)
		for _, i := range sessions[at] {
			t := &tips[i]
			r, err := q.ReadRun(ctx, t.Timeline, t.node, t.info.Project, list)
			if err != nil {
				failed[at] = fmt.Errorf("%.80q: %w", t.session, err)
				return
			}
			runs[i] = run{*t, r}
		}
	})
	runs = slices.DeleteFunc(runs, func(r run) bool { return r.Run == nil })
	return runs, errors.Join(err, errors.Join(failed...))
}

// runJSON is a run in a document.
type runJSON struct {
	Store     string        `json:"store"`
	Kind      string        `json:"kind"`
	SessionID string        `json:"sessionId"`
	Name      string        `json:"name"`
	Project   string        `json:"project,omitempty"`
	Turns     []runTurnJSON `json:"turns"`
	Calls     []callJSON    `json:"calls"`
	Flags     []flagJSON    `json:"flags"`
	Sum       sumJSON       `json:"sum"`
	Elapsed   *float64      `json:"elapsedMs,omitempty"`
	Failed    int           `json:"failed"`
	Files     []string      `json:"files"`
	Answer    string        `json:"answer,omitempty"`
	Unread    int           `json:"unreadStates,omitempty"`
}

// runTurnJSON is a turn of a run.
type runTurnJSON struct {
	Name   string  `json:"name"`
	Prompt string  `json:"prompt,omitempty"`
	From   int     `json:"from"`
	To     int     `json:"to"`
	Sum    sumJSON `json:"sum"`
}

// flagJSON is a flag of a run.
type flagJSON struct {
	Kind   string  `json:"kind"`
	Name   string  `json:"name"`
	Text   string  `json:"text"`
	Calls  []int   `json:"calls"`
	Tokens float64 `json:"tokens"`
}

// flagDocument returns the document of a flag. Its name is that of the last call.
func (r *run) flagDocument(f *query.Flag) flagJSON {
	return flagJSON{string(f.Kind), r.nameCall(f.Calls[len(f.Calls)-1]), conversation.OneLine(f.Text()), f.Calls, f.Tokens}
}

// flagsByVisit returns the flags by the visits of their last calls; nil of a nil run.
func (r *run) flagsByVisit() map[model.Node][]flagJSON {
	if r == nil {
		return nil
	}
	flags := map[model.Node][]flagJSON{}
	for _, f := range r.Run.Flags() {
		n := r.Calls[f.Calls[len(f.Calls)-1]].Visit
		flags[n] = append(flags[n], r.flagDocument(&f))
	}
	return flags
}

// writeFlags lists the flags of a run, which may be nil.
func (p *printer) writeFlags(r *run) {
	var flags []query.Flag
	if r != nil {
		flags = r.Run.Flags()
	}
	if len(flags) == 0 {
		fmt.Fprintln(p, "\nno flags")
		return
	}
	fmt.Fprintf(p, "\n%s\n", model.Count(len(flags), "flag"))
	for i := range flags {
		f := &flags[i]
		var names []string
		for _, c := range f.Calls {
			names = append(names, r.nameCall(c))
		}
		line := strings.Join(names, " ") + "  " + printable.String(conversation.OneLine(f.Text()))
		if f.Tokens > 0 {
			line += "  " + model.ShortCount(f.Tokens) + " tokens"
		}
		fmt.Fprintln(p, p.fitLine("  "+line, 0))
	}
}

// callJSON is a call of a run.
type callJSON struct {
	Name        string          `json:"name"`
	Result      string          `json:"result,omitempty"`
	Turn        int             `json:"turn"`
	ID          string          `json:"id,omitempty"`
	Tool        string          `json:"tool"`
	Input       json.RawMessage `json:"input"`
	Text        string          `json:"text"`
	Command     string          `json:"command,omitempty"`
	Exit        string          `json:"exit,omitempty"`
	Answered    bool            `json:"answered"`
	Failed      bool            `json:"failed"`
	Refused     bool            `json:"refused,omitempty"`
	Outcome     string          `json:"outcome,omitempty"`
	Error       string          `json:"error,omitempty"`
	Files       []string        `json:"files"`
	Fingerprint string          `json:"fingerprint"`
	Tokens      float64         `json:"tokens"`
}

// newDocument returns the document of a run.
func (r *run) newDocument() runJSON {
	out := runJSON{Store: r.store.Address(), Kind: r.store.Kind(), SessionID: r.session, Name: r.Name(r.node), Project: r.info.Project,
		Turns: []runTurnJSON{}, Calls: []callJSON{}, Flags: []flagJSON{}, Sum: sumOf(&r.Sum), Failed: r.CountFailed(), Files: r.Files, Answer: r.Answer, Unread: r.Unread}
	if out.Files == nil {
		out.Files = []string{}
	}
	if d, known := r.Elapsed(); known {
		ms := float64(d) / float64(time.Millisecond)
		out.Elapsed = &ms
	}
	for i := range r.Turns {
		t := &r.Turns[i]
		out.Turns = append(out.Turns, runTurnJSON{r.Name(t.Visit), t.Prompt, t.From, t.To, sumOf(&t.Sum)})
	}
	for i := range r.Calls {
		out.Calls = append(out.Calls, r.callDocument(&r.Calls[i]))
	}
	for _, f := range r.Run.Flags() {
		out.Flags = append(out.Flags, r.flagDocument(&f))
	}
	return out
}

// callDocument returns the document of a call.
func (r *run) callDocument(c *query.Call) callJSON {
	out := callJSON{Name: r.Name(c.Visit), Turn: c.Turn, ID: c.ID, Tool: c.Tool, Input: c.Input, Text: conversation.OneLine(c.Text), Command: c.Command, Exit: c.Exit,
		Answered: c.IsAnswered(), Failed: c.Failed, Refused: c.Refused, Outcome: c.Outcome, Error: c.Error, Files: []string{}, Fingerprint: c.Fingerprint, Tokens: c.Tokens}
	if out.Answered {
		out.Result = r.Name(c.ResultVisit)
	}
	if standard, err := jsontape.Standard(c.Input); err == nil {
		out.Input = standard
	} else {
		out.Input = jsontape.AppendQuoted(nil, string(c.Input))
	}
	for i := range c.Changes {
		if path, _ := filechange.PathIn(r.info.Project, c.Changes[i].Path); path != "" {
			out.Files = append(out.Files, path)
		}
	}
	return out
}

// runsJSON is `diverge --json` of more than two runs.
type runsJSON struct {
	Rule   string       `json:"rule"`
	Parts  *int         `json:"parts"`
	Runs   []runJSON    `json:"runs"`
	Rows   []runRowJSON `json:"rows"`
	Groups []groupJSON  `json:"groups,omitempty"`
}

// runRowJSON is a row in which runs stand beside each other.
type runRowJSON struct {
	Turn    int    `json:"turn"`
	Prompt  bool   `json:"prompt"`
	Text    string `json:"text"`
	Cells   []*int `json:"cells"`
	Results int    `json:"results"`
}

// groupJSON is the runs of one outcome.
type groupJSON struct {
	Outcome json.RawMessage `json:"outcome"`
	Runs    []int           `json:"runs"`
	Parts   *groupPartJSON  `json:"parts,omitempty"`
}

// groupPartJSON tells where a group parts.
type groupPartJSON struct {
	Run  int    `json:"run"`
	Call int    `json:"call"`
	Name string `json:"name"`
}

// comparison is runs beside each other.
type comparison struct {
	*query.Comparison
	runs   []run
	groups []groupJSON
	prices *prices.List
	// documents has one for each run; nil until they are asked for.
	documents []runJSON
}

// compareRuns reads the lines to visits and compares them, by the outcomes that an expression gives them unless it is
// nil.
func (a *App) compareRuns(ctx context.Context, tips []tip, by *query.Expr) (*comparison, error) {
	list, err := prices.Load(prices.Path(a.Getenv))
	if err != nil {
		return nil, err
	}
	c := &comparison{prices: list}
	if c.runs, err = readRuns(ctx, tips, list); err != nil {
		return nil, err
	}
	lines := make([]*query.Run, len(c.runs))
	for i := range c.runs {
		lines[i] = c.runs[i].Run
	}
	if c.Comparison, err = query.CompareRuns(ctx, lines); err != nil || by == nil {
		return c, err
	}
	return c, c.groupRuns(ctx, by)
}

// listDocuments returns the documents of the runs.
func (c *comparison) listDocuments() []runJSON {
	if c.documents == nil {
		c.documents = make([]runJSON, len(c.runs))
		for i := range c.runs {
			c.documents[i] = c.runs[i].newDocument()
		}
	}
	return c.documents
}

// groupRuns groups the runs by the last output of an expression.
func (c *comparison) groupRuns(ctx context.Context, by *query.Expr) error {
	outputs, end := by.Outputs(ctx)
	defer end()
	outcomes := make([]string, len(c.runs))
	for i, of := range c.listDocuments() {
		document, err := encodeJSON(of)
		if err != nil {
			return err
		}
		list, err := outputs(document)
		if err != nil {
			return fmt.Errorf("--by at %.80q: %w", of.SessionID, err)
		}
		outcome := []byte("null")
		if len(list) > 0 {
			if outcome, err = encodeJSON(list[len(list)-1]); err != nil {
				return err
			}
		}
		outcomes[i] = string(outcome)
	}
	for _, g := range query.GroupRuns(c.Runs, outcomes) {
		out := groupJSON{Outcome: json.RawMessage(outcomes[g.Runs[0]]), Runs: g.Runs}
		if g.Run >= 0 {
			out.Parts = &groupPartJSON{g.Run, g.Call, c.runs[g.Run].nameCall(g.Call)}
		}
		c.groups = append(c.groups, out)
	}
	return nil
}

// nameCall returns the name of the snapshot with a call, or of the last one behind the last call.
func (r *run) nameCall(call int) string {
	if call < len(r.Calls) {
		return r.Name(r.Calls[call].Visit)
	}
	return r.Name(r.node)
}

// newDocument returns the document of the comparison.
func (c *comparison) newDocument() runsJSON {
	out := runsJSON{Rule: query.FingerprintRule, Runs: c.listDocuments(), Rows: []runRowJSON{}, Groups: c.groups}
	if c.Parts < len(c.Rows) {
		out.Parts = &c.Parts
	}
	for i := range c.Rows {
		row := &c.Rows[i]
		of := runRowJSON{row.Turn, row.Prompt, c.RowText(i), make([]*int, len(row.Cells)), row.Results}
		for k, at := range row.Cells {
			if at != align.None {
				place := int(at)
				of.Cells[k] = &place
			}
		}
		out.Rows = append(out.Rows, of)
	}
	return out
}

// foldedRows is from how many rows on those that all runs have are folded, but for some at either end.
const foldedRows, shownRows = 8, 2

// writeRuns writes runs beside each other. With full no row is folded.
func (p *printer) writeRuns(c *comparison, full bool) {
	switch {
	case c.Parts == len(c.Rows):
		fmt.Fprintf(p, "%s, all with the same calls\n", model.Count(len(c.runs), "run"))
	default:
		fmt.Fprintf(p, "%s\n", p.paint.in(bold, fmt.Sprintf("%s part at row %d: %s", model.Count(len(c.runs), "run"), c.Parts+1, c.partsText())))
	}
	fmt.Fprintf(p, "%s\n\n", p.fitLine("a row has the same call: "+query.FingerprintRule, 0))
	p.writeRunRows(c, full)
	p.WriteByte('\n')
	p.writeRunSums(c)
	p.writeGroups(c)
}

// partsText names the snapshots at which the runs part, by the runs.
func (c *comparison) partsText() string {
	const most = 6
	var names []string
	for i := range c.Runs {
		if i == most {
			names = append(names, fmt.Sprintf("and %d more", len(c.Runs)-most))
			break
		}
		name := c.cellName(c.Parts, i)
		if name == "" {
			name = "no such call"
			if !c.Rows[c.Parts].Prompt && !c.GoesOn(i) {
				name = "ends before"
			}
		}
		names = append(names, strconv.Itoa(i+1)+" "+name)
	}
	return strings.Join(names, ", ")
}

// cellName returns the name of the snapshot of a run in row k, "" for an empty cell.
func (c *comparison) cellName(k, i int) string {
	if n := c.VisitAt(k, i); n != model.NoNode {
		return c.runs[i].Name(n)
	}
	return ""
}

// cellSign returns the sign of a cell: of a call that failed or has no result; "" of any other.
func (p *printer) cellSign(call *query.Call) string {
	switch {
	case call == nil:
	case call.Failed:
		return p.glyphs.Error
	case !call.IsAnswered():
		return p.glyphs.Interrupted
	}
	return ""
}

// runColumns are how the cells of runs are written.
type runColumns struct {
	// cells is the width of a column with its gap; 2 leaves room for a sign alone, and 0 for no columns.
	cells []int
}

// columnsOf returns the columns in which the runs fit.
func (p *printer) columnsOf(c *comparison) runColumns {
	wide := make([]int, len(c.runs))
	for i := range wide {
		wide[i] = len(strconv.Itoa(i + 1))
	}
	for k := range c.Rows {
		for i := range wide {
			wide[i] = max(wide[i], len(c.cellName(k, i))+1)
		}
	}
	all := 0
	for i := range wide {
		wide[i] += 2
		all += wide[i]
	}
	if p.width > 0 && all > p.width/2 {
		for i := range wide {
			wide[i] = 1
		}
		if len(wide) > p.width/2 {
			wide = nil
		}
	}
	return runColumns{wide}
}

// runCell returns the text of a cell of row k.
func (p *printer) runCell(c *comparison, columns runColumns, k, i int) string {
	name, sign := c.cellName(k, i), p.cellSign(c.CallAt(k, i))
	if cells := columns.cells[i]; cells > 1 {
		used := len(name)
		if name == "" || sign != "" {
			used++ // a shape is one cell wide
		}
		return cmp.Or(name+sign, p.glyphs.Dot) + strings.Repeat(" ", cells-used)
	}
	if name == "" {
		return p.glyphs.Dot
	}
	return cmp.Or(sign, p.glyphs.Active)
}

// writeRunRows writes the rows.
func (p *printer) writeRunRows(c *comparison, full bool) {
	columns := p.columnsOf(c)
	number := len(strconv.Itoa(len(c.Rows)))
	if len(columns.cells) > 0 && columns.cells[0] > 1 {
		head := padRight("", number+4)
		for i := range c.runs {
			head += padRight(strconv.Itoa(i+1), columns.cells[i])
		}
		fmt.Fprintln(p, p.paint.in(bold, strings.TrimRight(head, " ")))
	}
	folded := 0
	for k := range c.Rows {
		if !full && c.Parts >= foldedRows && k >= shownRows && k < c.Parts-shownRows && k < len(c.Rows)-shownRows {
			if folded == 0 {
				fmt.Fprintf(p, "%s  %d rows that all runs have\n", padRight(p.glyphs.Ellipsis, number+2), min(c.Parts, len(c.Rows))-2*shownRows)
			}
			folded++
			continue
		}
		p.writeRunRow(c, columns, k, number)
	}
}

// writeRunRow writes row k, whose number has so many digits.
func (p *printer) writeRunRow(c *comparison, columns runColumns, k, digits int) {
	row := &c.Rows[k]
	mark := "  "
	if k == c.Parts {
		mark = p.glyphs.Closed + " "
	}
	number := strconv.Itoa(k + 1)
	line := mark + strings.Repeat(" ", digits-len(number)) + number + "  "
	has := 0
	for i, at := range row.Cells {
		if at != align.None {
			has++
		}
		if columns.cells != nil {
			line += p.runCell(c, columns, k, i)
		}
	}
	if columns.cells == nil {
		line += padRight(fmt.Sprintf("%d of %d", has, len(row.Cells)), len("100 of 100"))
	}
	if columns.cells == nil || columns.cells[0] == 1 {
		line += "  "
	}
	if row.Prompt {
		line += fmt.Sprintf("turn %d: ", row.Turn+1)
	}
	line += printable.String(c.RowText(k))
	switch {
	case row.Results > 1 && row.Prompt:
		line += fmt.Sprintf("  (%d different prompts)", row.Results)
	case row.Results > 1:
		line += fmt.Sprintf("  (%d different results)", row.Results)
	}
	sgr := ""
	if k == c.Parts {
		sgr = bold
	} else if k > c.Parts && has < len(row.Cells) {
		sgr = faint
	}
	fmt.Fprintln(p, p.paint.in(sgr, p.fitLine(line, 0)))
}

// writeRunSums writes a line for each run: what it is, and what it came to.
func (p *printer) writeRunSums(c *comparison) {
	var cells [][]string
	cells = append(cells, []string{"", "run", "calls", "failed", "tokens", "cost", "time", "files", "result"})
	several := false
	for i := range c.runs {
		several = several || c.runs[i].in != c.runs[0].in
	}
	for i := range c.runs {
		r := &c.runs[i]
		name := printable.String(r.session) + " " + r.Name(r.node)
		if several {
			name = printable.String(shownAddress(r.address, r.store)) + " " + name
		}
		cost := r.Sum.CostText(printable.String(c.prices.Currency))
		none := "-"
		cells = append(cells, []string{strconv.Itoa(i + 1), name, strconv.Itoa(len(r.Calls)), strconv.Itoa(r.CountFailed()),
			cmp.Or(r.Sum.TotalText(), none), cmp.Or(cost, none), cmp.Or(r.ElapsedText(), none), strconv.Itoa(len(r.Files)), cmp.Or(printable.String(r.Result()), none)})
	}
	widths := make([]int, len(cells[0]))
	for _, row := range cells {
		for k, text := range row {
			widths[k] = max(widths[k], displaywidth.String(text))
		}
	}
	for k, row := range cells {
		line := ""
		for i, text := range row {
			switch {
			case i == len(row)-1:
				line += text
			case i == 1:
				line += padRight(text, widths[i]) + "  "
			default:
				line += strings.Repeat(" ", widths[i]-displaywidth.String(text)) + text + "  "
			}
		}
		sgr := ""
		if k == 0 {
			sgr = bold
		}
		fmt.Fprintln(p, p.paint.in(sgr, p.fitLine(line, 0)))
	}
}

// writeGroups writes the groups of runs: how many, where they part, and which.
func (p *printer) writeGroups(c *comparison) {
	if len(c.groups) == 0 {
		return
	}
	p.WriteByte('\n')
	for _, g := range c.groups {
		text := fmt.Sprintf("%d of %d: %s", len(g.Runs), len(c.runs), printable.String(string(g.Outcome)))
		if g.Parts != nil {
			text += fmt.Sprintf("; they part at %s of run %d", g.Parts.Name, g.Parts.Run+1)
		}
		const most = 12
		var numbers []string
		for i, of := range g.Runs {
			if i == most {
				numbers = append(numbers, fmt.Sprintf("and %d more", len(g.Runs)-most))
				break
			}
			numbers = append(numbers, strconv.Itoa(of+1))
		}
		noun := "runs "
		if len(g.Runs) == 1 {
			noun = "run "
		}
		fmt.Fprintln(p, p.fitLine(text+"  ("+noun+strings.Join(numbers, ", ")+")", 0))
	}
}
