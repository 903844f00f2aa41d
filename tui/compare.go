package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/query"
	"hindcast/store"
	"hindcast/tui/picker"
	"hindcast/tui/runs"
)

// The marked sessions of the list are runs beside each other, as hindcast diverge compares them:
//
//	list ── D ─▶ runs ── enter ─▶ session, at the snapshot
//	  ▲ ◀─ esc ──┘  ▲ ◀──── esc ───┘
//
// The runs are read in a command, several at once. The sums of each show as it is read, the rows at the end.

// comparison is the marked sessions beside each other. It stays while a session shows that was opened from it.
type comparison struct {
	pane *runs.Pane
	// rows are the compared sessions, and names the names of the columns.
	rows  []picker.Row
	names []picker.Name
}

// isComparing reports whether runs show beside each other.
func (m *Model) isComparing() bool {
	return m.compared != nil && m.place == atList && !m.isSearching()
}

// compareMarked opens the marked sessions beside each other.
func (m *Model) compareMarked() tea.Cmd {
	c := &comparison{rows: m.list.Marked()}
	if len(c.rows) < 2 {
		m.say("the marked sessions are gone: mark two or more")
		return nil
	}
	columns := make([]runs.Run, len(c.rows))
	for i := range c.rows {
		columns[i].Title = c.rows[i].ID
		c.names = append(c.names, picker.NameOf(&c.rows[i]))
	}
	c.pane = runs.New(m.styles, columns)
	m.compared = c
	m.resize(m.layout.w, m.layout.h)
	return m.readRuns()
}

// readRun is one of the runs of a comparison, or at the end their rows.
type readRun struct {
	at   int
	run  runs.Run
	err  error
	rows *query.Comparison
}

// gatheredRuns are the runs that were read by now, by their columns, and at the end their rows.
type gatheredRuns struct {
	runs []*readRun
	rows *query.Comparison
}

// readRuns reads the compared sessions.
func (m *Model) readRuns() tea.Cmd {
	c, o, after := m.compared, m.o, m.o.After
	return m.begin(aligning, "reading runs", func(ctx context.Context, gen uint64, done *progress) fact {
		done.of.Store(int64(len(c.rows)))
		r := &reply[readRun]{make(chan item[readRun], len(c.rows)+1), after}
		go r.gatherAnswers(ctx, o.readRuns(ctx, c.rows, done))
		all := &gatheredRuns{runs: make([]*readRun, len(c.rows))}
		return readReply(m, aligning, gen, r, func(got part[readRun]) tea.Cmd { return m.showRuns(c, all, got) })
	})
}

// readRuns yields each run of some sessions, and then how they compare. A session that cannot be read is left out of that.
func (o *Options) readRuns(ctx context.Context, rows []picker.Row, done *progress) iter.Seq2[readRun, error] {
	return func(yield func(readRun, error) bool) {
		read := make(chan readRun, len(rows))
		ended := make(chan error, 1)
		go func() {
			defer close(read)
			defer store.CatchPanic(func(p store.Panic) { ended <- &PanicError{p.Value, p.Stack} })
			ended <- store.RunParallel(ctx, runtime.GOMAXPROCS(0), len(rows), func(i int) {
				run, err := o.readRun(ctx, &rows[i])
				read <- readRun{at: i, run: run, err: err}
				done.Add(1)
			})
		}()
		all := make([]*query.Run, len(rows))
		for of := range read {
			if all[of.at] = of.run.Run; !yield(of, nil) {
				return
			}
		}
		if err := <-ended; err != nil {
			yield(readRun{}, err)
			return
		}
		var lines []*query.Run
		for _, run := range all {
			if run != nil {
				lines = append(lines, run)
			}
		}
		compared, err := query.CompareRuns(ctx, lines)
		yield(readRun{rows: compared}, err)
	}
}

// errNoRun says that a session has no line to compare.
var errNoRun = errors.New("it has no snapshot")

// readRun reads the line to the head of a session.
func (o *Options) readRun(ctx context.Context, row *picker.Row) (runs.Run, error) {
	of := runs.Run{Title: row.ID}
	opened, err := row.Store.Open(ctx)
	if err != nil {
		return of, err
	}
	if of.Timeline, err = query.ReadTimeline(ctx, opened, row.ID); err != nil {
		return of, err
	}
	head := of.Timeline.Head()
	if head == model.NoNode {
		return of, errNoRun
	}
	of.Run, err = query.Open(opened, of.Timeline).ReadRun(ctx, of.Timeline, head, row.Project, o.Prices)
	if err == nil {
		of.Money = o.moneyOf(&of.Sum, true)
	}
	return of, err
}

// showRuns shows the runs that were read, and at the end how they compare. all collects them.
func (m *Model) showRuns(c *comparison, all *gatheredRuns, got part[readRun]) tea.Cmd {
	m.dirty = true
	for i := range got.got {
		of := &got.got[i]
		if of.rows != nil {
			all.rows = of.rows
			continue
		}
		if all.runs[of.at] = of; of.err == nil {
			c.pane.AddRun(of.at, of.run)
		}
	}
	if !got.last {
		return nil
	}
	var columns []runs.Run
	var names []picker.Name
	var failed error
	lost := 0
	for i, of := range all.runs {
		switch {
		case of == nil:
		case of.err != nil:
			lost++
			failed = cmp.Or(failed, fmt.Errorf("%s: %w", c.rows[i].ID, of.err))
		default:
			columns, names = append(columns, of.run), append(names, picker.NameOf(&c.rows[i]))
		}
	}
	switch {
	case got.err != nil:
		m.fail(fmt.Errorf("compare the runs: %w", got.err))
		return nil
	case len(columns) < 2:
		m.fail(fmt.Errorf("compare the runs: %s of %d could not be read: %w", model.Count(lost, "session"), len(c.rows), failed))
		return m.closeComparison()
	case lost > 0:
		m.fail(fmt.Errorf("%s of %d could not be read and stands in no column: %w", model.Count(lost, "session"), len(c.rows), failed))
	}
	c.names = names
	c.pane.Set(columns, all.rows)
	return nil
}

// closeComparison goes back to the list, whose marks stay.
func (m *Model) closeComparison() tea.Cmd {
	m.stop(aligning)
	m.compared = nil
	m.resize(m.layout.w, m.layout.h)
	return nil
}

// doInRuns carries out an action in the comparison.
func (m *Model) doInRuns(a keymap.Action) tea.Cmd {
	switch a {
	case keymap.Back:
		return m.closeComparison()
	case keymap.Open:
		return m.openRunAt()
	case keymap.Reload:
		return m.readRuns()
	default:
		m.compared.pane.Do(a)
	}
	return nil
}

// openRunAt opens the session of the run under the cursor at its snapshot in the row.
func (m *Model) openRunAt() tea.Cmd {
	c := m.compared
	run, n := c.pane.Node()
	switch {
	case m.tasks[aligning].running:
		m.say("the runs are still read")
		return nil
	case n == model.NoNode:
		m.say(fmt.Sprintf("run %d has nothing in this row", run+1))
		return nil
	}
	in := c.names[run]
	ref := c.pane.Ref()
	open := m.openIn(in.Store, in.ID)
	m.resize(m.layout.w, m.layout.h)
	m.landing = ref
	m.landAtTarget()
	return tea.Batch(open, m.followCursor())
}

// runsBox is the box of the comparison.
func (m *Model) runsBox() box {
	p := m.compared.pane
	b := box{rect: m.layout.list, edge: m.styles.Focus, pane: p, title: m.titleOf(p.Title()), foot: p.Status()}
	b.from, b.to = p.Thumb()
	return b
}

// clickInRuns selects the cell under the mouse; the second click on it opens its snapshot.
func (m *Model) clickInRuns(x, y int) tea.Cmd {
	in := m.layout.list.insideBorder()
	if m.compared.pane.Click(x-in.x, y-in.y) {
		return m.do(keymap.Open)
	}
	return nil
}
