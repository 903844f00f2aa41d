package tui

import (
	"context"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/store"
	"hindcast/tui/answers"
	"hindcast/tui/parting"
	"hindcast/tui/picker"
	"hindcast/tui/timeline"
)

// Where several stores were found, the screen begins with a list of them. Once
// one is chosen and open, all is as if it had been named.

// chooser is the common part of the lists: picking a row, and filtering.
type chooser interface {
	pane
	Click(x, y int) bool
	Filter(text string)
	IsFiltered() bool
	Name() string
}

// shownList returns the list that shows.
func (m *Model) shownList() chooser {
	if m.place == atStores {
		return m.stores
	}
	return m.sessions
}

// notOpen is why nothing can be done to a store yet.
const notOpen = "no store is open yet"

// offerStores shows the stores that there are.
func (m *Model) offerStores() {
	m.place = atStores
	m.lackAll()
	m.listStores()
}

// listStores puts the stores into the list.
func (m *Model) listStores() {
	var rows []picker.Store
	for i := range m.o.Stores {
		s := &m.o.Stores[i]
		rows = append(rows, picker.Store{Kind: s.Name, Path: s.At, Shown: m.fromHome(s.At), Changed: s.Changed, Sessions: s.Sessions})
	}
	m.stores.Grow(rows)
	m.dirty = true
}

// lookForStores has stores looked for. Those known by then show each time one is found.
func (m *Model) lookForStores() tea.Cmd {
	find := m.o.Find
	return m.begin(looking, "looking for stores", func(ctx context.Context, gen uint64, _ *progress) fact {
		facts := make(chan tea.Msg)
		tell := func(msg tea.Msg) {
			select {
			case facts <- msg:
			case <-ctx.Done():
			}
		}
		next := func() tea.Msg {
			select {
			case msg := <-facts:
				return msg
			case <-ctx.Done():
				return nil
			}
		}
		work := makeCommand(func() fact {
			o, err := find(ctx, func(known []store.Found) {
				known = slices.Clone(known)
				tell(fact(func() tea.Cmd {
					if !m.awaits(looking, gen) {
						return nil
					}
					m.o.Stores = known
					m.listStores()
					return next
				}))
			})
			return func() tea.Cmd {
				if !m.finish(looking, gen) {
					return nil
				}
				return m.storesFound(o, err)
			}
		})
		go func() { tell(work()) }()
		msg := next()
		if f, is := msg.(fact); is {
			return f
		}
		return func() tea.Cmd { return func() tea.Msg { return msg } } // the search panicked, or ended with the screen
	})
}

// storesFound shows the only store, or the list of all. A store that was chosen meanwhile stays.
func (m *Model) storesFound(o Options, err error) tea.Cmd {
	chosen := m.place != atStores || m.tasks[opening].running
	switch {
	case err != nil && chosen:
		m.fail(err)
	case err != nil:
		m.noStore = err
		return tea.Quit
	case o.Store == nil:
		m.o.Stores = o.Stores
		m.listStores()
	}
	if chosen || err != nil {
		return nil
	}
	if o.Note != "" {
		m.say(o.Note)
	}
	if o.Store == nil {
		return nil
	}
	m.o.Session, m.o.Watches, m.o.Tour, m.tour = o.Session, o.Watches, o.Tour, o.Tour
	m.place, m.input = atSessions, nil
	m.adoptStore(o.Store)
	return m.enterStore()
}

// changes are the operations behind the actions that change a store.
var changes = map[keymap.Action]model.Op{
	keymap.Restore: model.OpRestore, keymap.Fork: model.OpFork, keymap.Edit: model.OpEdit, keymap.Run: model.OpRun,
	keymap.Repair: model.OpRepair, keymap.Purge: model.OpPurge, keymap.Undo: model.OpUndo, keymap.Redo: model.OpRedo,
}

// lackAll says that nothing can be done yet.
func (m *Model) lackAll() {
	m.lacks = map[keymap.Action]string{keymap.Journal: notOpen}
	for a := range changes {
		m.lacks[a] = notOpen
	}
}

// adoptStore makes a store the one that is shown.
func (m *Model) adoptStore(s store.Store) {
	m.o.Store, m.features = s, s.Features()
	m.states = newStates(s, stateBudget)
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
	m.lacks = map[keymap.Action]string{}
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
}

// doInStores carries out an action in the list of stores.
func (m *Model) doInStores(a keymap.Action) tea.Cmd {
	switch a {
	case keymap.Back:
		if m.cancelSlow() || m.clearFilter() {
			return nil
		}
		return m.quit()
	case keymap.Open:
		return m.openStore()
	case keymap.Reload:
		m.say("stores are looked for when the program starts")
	case keymap.Search:
		m.filterList()
	default:
		m.stores.Do(a)
	}
	return nil
}

// selectedStore returns the place of the selected store in Options.Stores, or -1.
func (m *Model) selectedStore() int {
	row, ok := m.stores.SelectedRow()
	return slices.IndexFunc(m.o.Stores, func(s store.Found) bool { return ok && s.At == row.Path && s.Name == row.Kind })
}

// openStore has the selected store opened. Of several that are asked for, the
// last one counts.
func (m *Model) openStore() tea.Cmd {
	i := m.selectedStore()
	if i < 0 {
		return nil
	}
	open, chosen := m.o.Open, m.o.Stores[i]
	return m.start(opening, "opening "+chosen.At, func(ctx context.Context, _ *progress) fact {
		opened, err := open(ctx, chosen)
		return func() tea.Cmd {
			if err != nil {
				m.fail(err)
				return nil
			}
			m.adoptStore(opened)
			m.place, m.input, m.chosen = atSessions, nil, true
			return m.enterStore()
		}
	})
}

// leaveStore goes back to the list of stores. The store is not closed: what was
// asked of it may still be under way, and its opener closes it.
func (m *Model) leaveStore() tea.Cmd {
	if m.tasks[applying].running {
		m.say("this goes on: " + m.tasks[applying].what)
		return nil
	}
	for kind := range taskKinds {
		if kind != looking {
			m.stop(kind)
		}
	}
	m.forgetWatch()
	m.forgetLabels()
	m.showTimeline(timeline.Prepare(model.NewTimeline(nil)))
	m.sessions.Set(nil)
	m.o.Store, m.session, m.only, m.trouble = nil, "", false, nil
	m.info, m.onward, m.usage = sessionFacts{}, resumeCall{}, usage{column: m.usage.column}
	m.query, m.searched = "", searched{}
	m.place, m.chosen = atStores, false
	m.lackAll()
	return nil
}

func (m *Model) storesBox() box {
	foot := m.stores.Status()
	if i := m.selectedStore(); i >= 0 {
		foot += " " + m.styles.Glyphs.Dot + " " + m.styles.Glyphs.Sentence(m.o.Stores[i].Why)
	}
	b := box{rect: m.layout.list, edge: m.styles.Focus, pane: m.stores, title: m.titleOf("Stores"), foot: foot}
	if m.stores.Len() == 0 {
		b.pane, b.foot = waiting{nil, m.styles, b.insideBorder().w, m.workName(&m.tasks[looking])}, ""
	}
	return b
}
