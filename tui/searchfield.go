package tui

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/query"
	"hindcast/store/home"
	"hindcast/tui/dialog"
	"hindcast/tui/field"
	"hindcast/tui/picker"
	"hindcast/tui/results"
)

// One field searches everything. What is typed finds the sessions whose titles have it, at once, and below them what
// was ever said in the sessions of a scope, as it is found:
//
//	list ── / ─▶ search ── enter ─▶ session, at the word
//	  ▲ ◀─ esc ─┘  ▲ ◀──────── esc ──┘
//
// In a session the field begins with the session, and Esc leads back to where the person was.

// search is the field with its results. It stays while a session shows that was opened from it.
type search struct {
	*field.Field
	// open says that it shows, typing that letters are text: else keys mean what they mean in the list.
	open, typing bool
	regexp       bool
	scopes       []scope
	scope        int // in scopes
	results      *results.Pane
	// typed is the typed text, "" where the list shows, and words are its parts; wrong is a mistake in them. listed are
	// the rows whose titles were searched.
	typed  string
	words  query.Words
	wrong  error
	listed *picker.Content
	// what is searched for in texts. looksIn are the sessions of the search, and searched those of one that has ended, else nil.
	what              query.HomeSearch
	looksIn, searched *picker.Content
	from              origin
}

// scope is how far a search looks.
type scope struct {
	name string
	// holds reports whether a session is in the scope. one is the only session that is, nil for a scope of several.
	holds func(*home.Session) bool
	one   *home.Session
}

// origin is where a search began: in a session, or in the list where store is nil.
type origin struct {
	store   *home.Store
	session string
	spot
	ref model.Ref
}

// isSearching reports whether the search shows.
func (m *Model) isSearching() bool { return m.search != nil && m.search.open }

// openSearch opens the field, in a session with the session as its scope.
func (m *Model) openSearch() tea.Cmd {
	m.stop(searching)
	s := &search{Field: field.New(m.styles, ""), open: true, typing: true, results: results.New(m.styles)}
	row, listed := m.list.SelectedRow()
	if m.place == inSession {
		name := m.rowName(m.session)
		row, _ = m.list.FindSession(name)
		row.Store, row.ID, listed = name.Store, name.ID, true
		s.from = origin{row.Store, row.ID, spot{m.current, m.focus, m.timeline.SelectedNode(), m.timeline.Timeline()}, m.subject().ref}
		s.scopes = append(s.scopes, scope{"this session", func(*home.Session) bool { return true }, &row})
	}
	s.scopes = append(s.scopes, scope{name: "all sessions", holds: func(*home.Session) bool { return true }})
	if listed && row.Store != nil && m.home.CountStores() > 1 {
		in := row.Store
		s.scopes = append(s.scopes, scope{name: in.Name + " " + filepath.Base(in.At), holds: func(of *home.Session) bool { return of.Store == in }})
	}
	if listed && row.Project != "" {
		project := row.Project
		s.scopes = append(s.scopes, scope{name: "project " + filepath.Base(project), holds: func(of *home.Session) bool { return of.Project == project }})
	}
	m.search = s
	m.resize(m.layout.w, m.layout.h)
	return m.searchTyped()
}

// searchTyped searches for the typed text: titles at once.
func (m *Model) searchTyped() tea.Cmd {
	s := m.search
	m.stop(searching)
	m.stop(settling)
	s.typed, s.searched = strings.TrimSpace(s.Text()), nil
	s.words, s.wrong = query.ParseWords(s.typed, m.toolNames(), true, m.o.Now().In(m.o.Zone))
	here, said := "", s.words.Text != "" || s.narrowsTexts()
	if m.place == inSession && s.scopes[s.scope].one != nil && !s.regexp && s.words.Text != "" && len(s.words.Spans) == 0 {
		here = m.paneToSearch()
	}
	s.results.BeginSearch(titleWords(&s.words), said, here)
	m.findTitles()
	if !said {
		return nil
	}
	what := query.HomeSearch{Search: query.Search{Pattern: query.Literal(s.words.Text, query.SmartCase)}}
	if expr := s.words.Text; s.regexp || expr == "" {
		var err error
		if what.Pattern, err = query.Regexp(cmp.Or(expr, anyProse), query.SmartCase); err != nil {
			s.results.ShowTrouble(err.Error())
			return nil
		}
	}
	what.Narrow(&s.words)
	s.what = what
	return m.searchHome(what, s.scopes[s.scope], nil)
}

// anyProse is the expression of a text with several words, for a search that is narrowed by words alone.
const anyProse = `^\s*\S+\s+\S`

// narrowsTexts reports whether words narrow the texts, besides the sessions.
func (s *search) narrowsTexts() bool {
	w := &s.words
	return w.Tool != "" || w.Role != "" || w.File != "" || w.Failed || w.Left
}

// titleWords returns the words that a title must have, in lower case.
func titleWords(w *query.Words) []string { return strings.Fields(strings.ToLower(w.Text)) }

// toolNames returns the kinds of the stores.
func (m *Model) toolNames() (names []string) {
	for _, s := range m.home.Stores() {
		names = append(names, s.Name)
	}
	return names
}

// findTitles finds the sessions of the list whose titles match.
func (m *Model) findTitles() {
	s := m.search
	s.listed = m.list.Content()
	in := s.scopes[s.scope]
	var titles []results.Session
	if s.typed != "" && in.one == nil && !s.narrowsTexts() {
		var by query.HomeSearch
		by.Narrow(&s.words)
		keep := func(row *picker.Row) bool {
			of := sourceOf(row)
			return in.holds(row) && by.Selects(&of.SessionInfo)
		}
		for _, i := range m.list.FindRows(titleWords(&s.words), keep) {
			titles = append(titles, describeSession(s.listed, i))
		}
	}
	s.results.SetTitles(titles)
}

// refreshTitles finds titles anew once the list has others.
func (m *Model) refreshTitles() {
	if m.isSearching() && m.search.listed != m.list.Content() {
		m.findTitles()
	}
}

// searchArrivals searches the sessions that came or changed since the search ended. An empty list, as of a session that was
// opened by its name, has no arrivals.
func (m *Model) searchArrivals() tea.Cmd {
	s := m.search
	if !m.isSearching() || s.searched == nil || s.searched == m.list.Content() || m.list.Len() == 0 || m.tasks[searching].running || m.tasks[listing].running {
		return nil
	}
	s.results.SearchOn()
	return m.searchHome(s.what, s.scopes[s.scope], s.searched)
}

// describeSession returns a session of the list with the texts of its row.
func describeSession(c *picker.Content, i int) results.Session {
	s := results.Session{Session: *c.Row(i)}
	s.When, s.Tool, s.Project, s.Words = c.Describe(i)
	return s
}

// doInSearch carries out an action in the search.
func (m *Model) doInSearch(a keymap.Action) tea.Cmd {
	s := m.search
	switch a {
	case keymap.Accept, keymap.Open:
		return m.openResult()
	case keymap.Back:
		return m.closeSearch()
	case keymap.Search:
		s.typing = true
	case keymap.Help:
		m.openDialog(dialog.NewSheet(m.styles, m.keys, whatCanBeTyped, m.explainWords()))
	case keymap.Widen:
		return m.setScope(s.scope + 1)
	case keymap.Narrow:
		return m.setScope(s.scope - 1)
	case keymap.Regexp:
		s.regexp = !s.regexp
		return m.searchTyped()
	default:
		if s.typed == "" {
			m.list.Do(a)
		} else {
			s.results.Do(a)
		}
	}
	return nil
}

// setScope has the search look in another scope, going round at the ends.
func (m *Model) setScope(i int) tea.Cmd {
	s := m.search
	s.scope = (i + len(s.scopes)) % len(s.scopes)
	return m.searchTyped()
}

// paneToSearch returns the name of the pane that has the keys of a session, "" where it has nothing to search.
func (m *Model) paneToSearch() string {
	switch t := m.tabs[m.current]; {
	case m.focus == onTimeline:
		return "the timeline"
	case t.find != nil:
		return "the tab " + t.pane.Title()
	}
	return ""
}

// typeInSearch takes a key that is text. A key of the help is one while nothing is typed.
func (m *Model) typeInSearch(k tea.KeyMsg) tea.Cmd {
	s := m.search
	m.dirty = true
	before := s.Text()
	if a, _ := m.keys.Action(keymap.Browse, k.String()); a == keymap.Help && s.IsUntouched() {
		return m.doInSearch(a)
	}
	s.Type(k)
	if s.Text() == before {
		return nil
	}
	return m.searchTyped()
}

// openResult opens the session under the cursor at its head, or at the hit under the cursor.
func (m *Model) openResult() tea.Cmd {
	s := m.search
	if s.typed == "" || s.results.IsHere() {
		m.stop(searching)
		m.search = nil
		m.resize(m.layout.w, m.layout.h)
		if m.place == atList {
			return m.openRow()
		}
		return m.findText(s.words.Text)
	}
	if s.results.UnfoldTitles() {
		return nil
	}
	of, hit := s.results.SelectedRow()
	switch {
	case of == nil:
		return nil
	case s.results.IsCut():
		s.scopes = append([]scope{{"one session", func(*home.Session) bool { return true }, &of.Session}}, s.scopes...)
		return m.setScope(0)
	}
	s.open, s.typing = false, false
	var open tea.Cmd
	if m.place != inSession || m.rowName(m.session) != (picker.Name{Store: of.Store, ID: of.ID}) {
		open = m.openIn(of.Store, of.ID)
	}
	m.resize(m.layout.w, m.layout.h)
	if hit == nil {
		m.timeline.Do(keymap.GoHead)
		m.focusOn(onTimeline)
		return tea.Batch(open, m.followCursor())
	}
	return tea.Batch(open, m.aimAt(hit), m.followCursor())
}

// openIn opens a session of a store, whatever shows.
func (m *Model) openIn(in *home.Store, session string) tea.Cmd {
	if m.place == inSession {
		m.leaveSession()
	}
	if s := in.Opened(); !m.alone && (m.source == nil || m.source.store != s) {
		m.adoptStore(s)
	}
	if !m.alone {
		m.forgetWatch()
	}
	return tea.Batch(m.openSession(session), m.watchPlace(), m.readWatches())
}

// backToSearch goes from a session back to the results that led to it.
func (m *Model) backToSearch() tea.Cmd {
	m.stop(locating)
	m.search.open, m.aim = true, aim{}
	m.resize(m.layout.w, m.layout.h)
	if m.search.from.store == nil {
		return m.backToList()
	}
	return nil
}

// closeSearch goes back to where the search began: in the list to the row of the session under the cursor.
func (m *Model) closeSearch() tea.Cmd {
	s := m.search
	m.stop(searching)
	m.stop(locating)
	m.search, m.aim = nil, aim{}
	m.resize(m.layout.w, m.layout.h)
	from := s.from
	if m.place != inSession {
		if of, _ := s.results.SelectedRow(); of != nil {
			m.list.Select(picker.Name{Store: of.Store, ID: of.ID})
		}
		return nil
	}
	if m.rowName(m.session) != (picker.Name{Store: from.store, ID: from.session}) {
		open := m.openIn(from.store, from.session)
		m.landing = from.ref
		m.showTab(from.tab)
		m.focusOn(from.focus)
		return open
	}
	if from.of == m.timeline.Timeline() {
		m.timeline.Select(from.node)
	}
	m.showTab(from.tab)
	m.focusOn(from.focus)
	return m.followCursor()
}

// aim is the place in a tab that a hit leads to, once the tab shows its snapshot.
type aim struct {
	ref     model.Ref
	tab     int
	message int
	text    string
	// sought says that the tab is searched for the text.
	sought bool
}

// aimAt goes to the snapshot of a hit, and to the text in Messages, or in State where no message has it.
func (m *Model) aimAt(hit *results.Hit) tea.Cmd {
	if hit.Ref == (model.Ref{}) {
		return m.locateHit(hit)
	}
	show := keymap.ShowMessages
	switch {
	case hit.File:
		show = keymap.ShowFiles
	case hit.Message < 0 && hit.Role == "":
		show = keymap.ShowState
	}
	m.landing = hit.Ref
	m.aim = aim{ref: hit.Ref, tab: tabOf(show), message: hit.Message, text: hit.Find}
	m.showTab(m.aim.tab)
	m.focusOn(onTab)
	m.landAtTarget()
	return m.reachAim()
}

// locateHit goes to a hit of a session that was not read, once its snapshot is found.
func (m *Model) locateHit(hit *results.Hit) tea.Cmd {
	located := *hit
	return m.start(locating, "locating the hit", func(ctx context.Context, _ *progress) fact {
		of := *located.Unread
		ref, err := of.FindRef(ctx)
		located.Ref, located.Message = ref, of.Message
		return func() tea.Cmd {
			if err != nil {
				m.fail(err)
				return nil
			}
			return tea.Batch(m.aimAt(&located), m.followCursor())
		}
	})
}

// missAim goes on to State where Messages was searched for the text of a hit and does not show it.
func (m *Model) missAim() tea.Cmd {
	at := m.aim
	m.aim = aim{}
	if !at.sought || at.tab != m.current || at.tab != tabOf(keymap.ShowMessages) {
		return nil
	}
	if _, of := m.tabs[at.tab].step(0); of > 0 {
		return nil
	}
	m.aim = aim{ref: at.ref, tab: tabOf(keymap.ShowState), text: at.text}
	m.showTab(m.aim.tab)
	return m.reachAim()
}

// reachAim finds the text of a hit, once the tab shows its snapshot.
func (m *Model) reachAim() tea.Cmd {
	at := m.aim
	if at.text == "" || at.sought || m.current != at.tab || m.focus != onTab {
		return nil
	}
	t := m.tabs[at.tab]
	if t.content == nil || t.shows != m.subject().subjectKey || t.shows.ref != at.ref ||
		at.tab == tabOf(keymap.ShowFiles) && m.files.of != m.timeline.Timeline() {
		return nil
	}
	m.aim.sought = true
	if t.showMessage != nil {
		t.showMessage(at.message)
	}
	return m.findText(at.text)
}

// clickInSearch selects what is under the mouse; the second click on it opens it.
func (m *Model) clickInSearch(x, y int) tea.Cmd {
	in, s := m.layout.list.insideBorder(), m.search
	x, y = x-in.x, y-in.y-searchRows
	if s.typed == "" {
		if before := m.list.Name(); m.list.Click(x, y) && m.list.Name() == before {
			return m.openResult()
		}
		return nil
	}
	if before := s.results.CursorLine(); s.results.Click(x, y) && s.results.CursorLine() == before {
		return m.openResult()
	}
	return nil
}
