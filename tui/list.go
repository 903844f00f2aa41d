package tui

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strconv"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/store"
	"hindcast/store/home"
	"hindcast/tui/answers"
	"hindcast/tui/cell"
	"hindcast/tui/parting"
	"hindcast/tui/picker"
)

// The screen begins with the list of the sessions of all stores that are found, or of the one that was named.
// Sessions show as they are read. A session opens in its store, and leaving it leads back to its row.

// notOpen is why nothing can be done to a store yet.
const notOpen = "no store is open yet"

// listSessions reads the sessions of the home.
func (m *Model) listSessions() tea.Cmd {
	m.stop(growing)
	h, s, now, zone, without, least := m.home, m.o.Store, m.o.Now, m.o.Zone, m.o.Without, m.list.Len()
	mayBeOnly := m.alone && m.session == ""
	what := "reading the sessions"
	if s == nil && m.list.Len() == 0 {
		what = "looking for stores"
	}
	return m.begin(listing, what, func(ctx context.Context, gen uint64, done *progress) fact {
		if mayBeOnly {
			if only := store.Only(ctx, s); only != "" {
				return func() tea.Cmd {
					if !m.finish(listing, gen) {
						return nil
					}
					m.only = true
					return m.openSession(only)
				}
			}
		}
		l := &lister{shown: m.sessionsListed, gen: gen, done: done, least: least}
		l.arrange = func(rows []picker.Row) *picker.Content { return picker.Prepare(slices.Clip(rows), now().In(zone)) }
		l.without = func(err error) (Options, error) {
			if err != nil || h.CountStores() > 0 {
				return Options{}, err
			}
			return without(ctx)
		}
		l.next, l.stop = iter.Pull2(h.Batches(ctx))
		return l.readPart()
	})
}

// lister reads the sessions of a home, those of a part at a time.
type lister struct {
	shown   func(l *lister, ended bool) tea.Cmd
	arrange func([]picker.Row) *picker.Content
	gen     uint64
	done    *progress
	next    func() ([]picker.Row, error, bool)
	stop    func()
	// least is how many rows show already: content stays nil, and they stay, until as many are read.
	least int
	// rows are the sessions read so far, content what shows of them, and err why some were not found.
	rows    []picker.Row
	content *picker.Content
	err     error
	// without returns the options for a home without a store, or the error err; instead holds its result.
	without func(err error) (Options, error)
	instead Options
}

// readPart reads the next part.
func (l *lister) readPart() fact {
	rows, err, more := l.next()
	if more && err != nil {
		l.err = cmp.Or(l.err, err)
		return l.readPart()
	}
	l.rows = append(l.rows, rows...)
	l.done.Add(int64(len(rows)))
	if !more || len(l.rows) >= l.least {
		l.content = l.arrange(l.rows)
	}
	if !more {
		l.stop()
		l.instead, l.err = l.without(l.err)
	}
	return func() tea.Cmd { return l.shown(l, !more) }
}

// dropListing ends a listing whose answer came too late.
func (l *lister) dropListing() fact {
	l.stop()
	return nil
}

// sessionsListed shows the sessions that were read, or the only one at once.
func (m *Model) sessionsListed(l *lister, ended bool) tea.Cmd {
	switch {
	case ended && !m.finish(listing, l.gen):
		return nil
	case !ended && !m.awaits(listing, l.gen):
		return makeCommand(l.dropListing)
	}
	m.place, m.dirty = atList, true
	switch {
	case l.content == nil: // more of them show
	case ended:
		m.list.Set(l.content)
	default:
		m.list.Grow(l.content)
	}
	stall := m.awaitStall()
	if !ended {
		return tea.Batch(makeCommand(l.readPart), stall)
	}
	if only := m.home.OnlyStore(); only != nil && !m.alone && !m.home.MayGrow() {
		m.beAlone(only)
	}
	switch err := cmp.Or(l.err, m.aloneTrouble(l.rows)); {
	case len(l.rows) == 0 && !m.alone && m.home.CountStores() == 0:
		return m.showWithout(l.instead, err)
	case err != nil && m.alone && len(l.rows) < 2:
		m.showUnusable("This store cannot be shown.", err)
		return nil
	case err != nil:
		m.fail(err)
	case m.alone && len(l.rows) == 1 && m.session == "":
		m.only = true
		return tea.Batch(m.watchPlace(), m.openSession(l.rows[0].ID))
	}
	if at := cmp.Or(m.made, m.session); at != "" {
		m.list.Select(m.rowName(at))
	}
	m.made = ""
	return m.watchPlace()
}

// aloneTrouble returns why the only store, or the rest of it, could not be read.
func (m *Model) aloneTrouble(rows []picker.Row) error {
	for i := range rows {
		if m.alone && rows[i].Err != nil {
			return rows[i].Err
		}
	}
	return nil
}

// rowName returns the name of the row of a session of the store that keys mean.
func (m *Model) rowName(session string) picker.Name {
	for _, s := range m.home.Stores() {
		if s.Opened() == m.o.Store {
			return picker.Name{Store: s, ID: session}
		}
	}
	return picker.Name{ID: session}
}

// listedFaults returns how many faults the list has of a session, 0 where it does not tell.
func (m *Model) listedFaults(session string) int {
	row, _ := m.list.FindSession(m.rowName(session))
	return row.Faults
}

// showWithout shows what there is to see without a store, or ends with why there is nothing.
func (m *Model) showWithout(o Options, err error) tea.Cmd {
	if err != nil {
		m.noStore = err
		return tea.Quit
	}
	m.o.Session, m.o.Watches, m.o.Tour, m.tour = o.Session, o.Watches, o.Tour, o.Tour
	m.input, m.search, m.home = nil, nil, home.FromStore(o.Store)
	m.beAlone(o.Store)
	return m.enterStore()
}

// changes are the operations behind the actions that change a store.
var changes = map[keymap.Action]model.Op{
	keymap.Restore: model.OpRestore, keymap.Fork: model.OpFork, keymap.Edit: model.OpEdit, keymap.Run: model.OpRun,
	keymap.Repair: model.OpRepair, keymap.Purge: model.OpPurge, keymap.Undo: model.OpUndo, keymap.Redo: model.OpRedo,
}

// lackAll says that nothing can be done yet.
func (m *Model) lackAll() {
	m.lacks = map[keymap.Action]string{keymap.Journal: notOpen, keymap.Continue: notOpen}
	for a := range changes {
		m.lacks[a] = notOpen
	}
}

// beAlone makes the only store of the home the one that is shown.
func (m *Model) beAlone(s store.Store) {
	m.alone = true
	m.adoptStore(s)
}

// pointAt makes a store the one that keys mean.
func (m *Model) pointAt(s store.Store) {
	m.o.Store, m.features, m.states = s, s.Features(), newStates(s, stateBudget)
	m.lacks = map[keymap.Action]string{}
	if len(m.o.Continuers) == 0 {
		m.lacks[keymap.Continue] = "no other tool is known"
	}
	if m.o.Labels == nil {
		m.lacks[keymap.SetLabel], m.lacks[keymap.GoLabel] = noLabels, noLabels
	}
	for a, op := range changes {
		m.lacks[a] = store.Reason(s, op)
	}
	m.namesForks = store.NamesForks(s)
	if m.forks = m.namesForks && m.lacks[keymap.Restore] != "" && m.lacks[keymap.Fork] == ""; m.forks {
		m.lacks[keymap.Restore] = ""
	}
	if m.features.Journal == nil {
		m.lacks[keymap.Journal] = m.lacks[keymap.Undo]
	}
	m.dirty = true
}

// adoptStore makes a store the one whose sessions are opened.
func (m *Model) adoptStore(s store.Store) {
	m.pointAt(s)
	m.source = &source{s, m.features, m.states, m.o.Now, m.o.Zone}
	m.answers, m.asked = answers.New(m.styles, m.o.Zone), asked{}
	m.parting = parting.New(m.styles)
	m.tabs, m.current = newTabs(m.styles, m.source), 0
	for _, g := range []guide{m.answers, m.parting} {
		m.tabs = append(m.tabs, &tab{scope: keymap.Tab, pane: g, set: func(any) {}})
	}
	m.watches, m.blame = watches{}, blame{}
	m.showColumns()
	m.resize(m.layout.w, m.layout.h)
}

// pointAtRow makes the store of the row under the cursor the one that keys mean.
func (m *Model) pointAtRow() {
	if row, ok := m.list.SelectedRow(); ok && m.place == atList && !m.alone {
		if s := row.Store.Opened(); s != nil && s != m.o.Store {
			m.pointAt(s)
		} else if s == nil {
			m.o.Store, m.features = nil, store.Features{}
			m.lackAll()
		}
	}
}

// doInList carries out an action in the list.
func (m *Model) doInList(a keymap.Action) tea.Cmd {
	switch a {
	case keymap.Back:
		if m.cancelSlow() {
			return nil
		}
		return m.quit()
	case keymap.Open:
		return m.openRow()
	case keymap.Reload:
		m.home.Forget()
		return tea.Batch(m.watchPlace(), m.listSessions())
	case keymap.Search:
		if m.place == atList {
			return m.openSearch()
		}
	case keymap.Days:
		return m.chartDays()
	case keymap.CompareRuns:
		return m.compareMarked()
	case keymap.Repair:
		return m.repairSelected()
	case keymap.YankCall:
		return m.copyRowCall()
	case keymap.Restore:
		return m.planChange(model.Change{Op: m.listedChange(), Ref: m.listedHead()})
	default:
		if m.place == nowhere {
			m.trouble.Do(a)
			return nil
		}
		m.list.Do(a)
	}
	return nil
}

// openRow opens the session under the cursor, or says why its store could not be read.
func (m *Model) openRow() tea.Cmd {
	row, ok := m.list.SelectedRow()
	switch {
	case !ok:
		return nil
	case row.Err != nil:
		m.fail(row.Err)
		return nil
	}
	return m.openIn(row.Store, row.ID)
}

// listedHead returns the head of the session under the cursor of the list, where a fork is
// the one way back to it, or its files are gone: the zero value elsewhere.
func (m *Model) listedHead() (head model.Ref) {
	if row, ok := m.list.SelectedRow(); ok && m.place == atList && (m.forks && row.Head.ID != "" || !row.GoneSince.IsZero()) {
		head = model.Ref{Session: row.ID, ID: row.Head.ID}
	}
	return head
}

// listedChange returns the operation that brings the session under the cursor of the list back.
func (m *Model) listedChange() model.Op {
	if row, ok := m.list.SelectedRow(); ok && !row.GoneSince.IsZero() {
		return model.OpGiveBack
	}
	return model.OpFork
}

// repairSelected plans to mend the session under the cursor.
func (m *Model) repairSelected() tea.Cmd {
	row, ok := m.list.SelectedRow()
	if !ok || m.place != atList {
		m.say("no session is selected")
		return nil
	}
	return m.planChange(model.Change{Op: model.OpRepair, Ref: model.Ref{Session: row.ID}})
}

// leaveSession stops all that goes on in a session.
func (m *Model) leaveSession() {
	for kind := range taskKinds {
		if kind != applying && kind != searching {
			m.stop(kind)
		}
	}
	m.forgetLabels()
}

// backToList goes from a session to the list.
func (m *Model) backToList() tea.Cmd {
	m.leaveSession()
	m.place = atList
	m.resize(m.layout.w, m.layout.h)
	if !m.alone {
		m.forgetWatch()
	}
	return m.listSessions()
}

// relistSessions reads again what changed of the list.
func (m *Model) relistSessions() tea.Cmd {
	h, now, zone, n := m.home, m.o.Now, m.o.Zone, m.news.watch
	read := h.Relist
	if m.alone {
		read = h.Batches
	}
	return m.begin(growing, "", func(ctx context.Context, gen uint64, done *progress) fact {
		began := now()
		var rows []picker.Row
		var err error
		for part, wrong := range read(ctx) {
			rows, err = append(rows, part...), cmp.Or(err, wrong)
			done.Add(int64(len(part)))
		}
		content := picker.Prepare(rows, now().In(zone))
		took := now().Sub(began)
		return m.ofWatch(n, func() tea.Cmd {
			return m.showList(gen, content, took, cmp.Or(err, m.aloneTrouble(rows)))
		})
	})
}

// showList shows the list of sessions as it is now.
func (m *Model) showList(gen uint64, content *picker.Content, took time.Duration, err error) tea.Cmd {
	if m.isOccupied() {
		m.news.held = func() tea.Cmd { return m.showList(gen, content, took, err) }
		return nil
	}
	switch {
	case !m.finish(growing, gen):
	case err != nil:
		m.tellLoss(err)
	default:
		m.clearLoss()
		m.lengthenRest()
		m.list.Set(content)
		m.dirty = true
	}
	return m.restTurn(took)
}

func (m *Model) listBox() box {
	b := box{rect: m.layout.rows, edge: m.styles.Focus, pane: m.list, title: m.titleOf(m.list.Title()), foot: m.list.Status()}
	if m.list.Len() == 0 {
		b.pane, b.foot = blank{m, "There are no sessions yet."}, ""
		if m.alone {
			b.pane = blank{m, "This store has no sessions yet."}
		}
		if listing := &m.tasks[listing]; listing.running {
			b.pane = waiting{nil, m.styles, b.insideBorder().w, m.workName(listing)}
		}
	}
	return b
}

// previewBox is the box beside the list.
func (m *Model) previewBox() box {
	p := &m.preview
	return box{rect: m.layout.preview, edge: m.styles.Border, pane: p.pane, title: m.titleOf(p.pane.Title()), foot: p.pane.Status()}
}

// putHome says how many sessions there are in how many stores.
func (m *Model) putHome(r *cell.Row) {
	r.Put(m.styles.Muted, "all sessions")
	if stores := m.home.CountStores(); stores > 0 {
		r.Put(m.styles.Muted, " "+m.styles.Glyphs.Dot+" "+thousands(m.list.Sessions())+" in "+model.Count(stores, "store"))
	}
}

// thousands returns a number with commas.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
