package tui

import (
	"cmp"
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/tui/dialog"
)

// Update implements tea.Model. A panic ends the screen in good order; Run
// returns it as an error.
func (m *Model) Update(msg tea.Msg) (next tea.Model, cmd tea.Cmd) {
	defer func() {
		if value := recover(); value != nil {
			next = m // Bubble Tea asks it for one more view
			m.crash, cmd = newPanicError(value), tea.Quit
		}
	}()
	cmd = m.handle(msg)
	if turn := m.resumeTurn(); turn != nil {
		cmd = tea.Batch(cmd, turn)
	}
	for _, more := range []tea.Cmd{m.lookUp(), m.askBlame(), m.sumRows(), m.followRow(), m.drawPictures(), m.settleHits()} {
		if more != nil {
			cmd = tea.Batch(cmd, more)
		}
	}
	for _, more := range []tea.Cmd{m.addUp(), m.readFiles()} {
		if more != nil {
			cmd = tea.Batch(cmd, more)
		}
	}
	m.pointAtRow()
	m.refreshTitles()
	if more := m.searchArrivals(); more != nil {
		cmd = tea.Batch(cmd, more)
	}
	if m.place == inSession && m.timeline.Following() {
		m.news.seen = m.timeline.Timeline().Len()
	}
	return m, cmd
}

// handle takes what happened: a key, the mouse, a size, or a fact.
func (m *Model) handle(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.KeyMsg:
		return m.takeKeys(msg)
	case tea.MouseMsg:
		return m.takeMouse(msg)
	case tea.WindowSizeMsg:
		m.resize(msg.Width, msg.Height)
	case panickedMsg:
		m.crash = msg.err
		return tea.Quit
	case fact:
		return msg()
	}
	return nil
}

// takeKeys takes what one read of the terminal gave: several characters may come
// at once, and each is a key. Pasted text is text, never keys.
func (m *Model) takeKeys(k tea.KeyMsg) tea.Cmd {
	if k.Paste {
		return m.takeText(k)
	}
	if k.Type != tea.KeyRunes || len(k.Runes) < 2 {
		return m.handleKey(k)
	}
	var cmds []tea.Cmd
	for _, r := range k.Runes {
		cmds = append(cmds, m.handleKey(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}, Alt: k.Alt}))
	}
	return tea.Batch(cmds...)
}

// handleKey takes one key.
func (m *Model) handleKey(k tea.KeyMsg) tea.Cmd {
	var wait tea.Cmd
	if m.tasks[arming].running {
		wait = m.awaitQuiet()
	}
	a, ok := m.actionOf(k.String())
	stopped := (!ok || !setsPace(a)) && m.stopPlaying()
	switch {
	case stopped && a == keymap.Play:
		return wait // the key that began it
	case ok:
		return tea.Batch(wait, m.do(a))
	case !stopped:
		m.sayElsewhere(k.String())
	}
	return tea.Batch(wait, m.takeText(k))
}

// actionOf returns the action of a key now. A key without an action in the timeline has the action of the tab
// in view. So does a key that sets a pace while nothing plays and no scrubber shows.
func (m *Model) actionOf(key string) (keymap.Action, bool) {
	a, ok := m.keys.Action(m.keyScope(), key)
	if m.keyScope() != keymap.Timeline || ok && (!setsPace(a) || m.tasks[playing].running || m.scrubs) {
		return a, ok
	}
	if of, known := m.keys.Action(m.tabs[m.current].scope, key); known {
		return of, true
	}
	return a, ok
}

// sayElsewhere names the tab in which a key does something that means nothing here.
func (m *Model) sayElsewhere(key string) {
	if m.dialog != nil || m.input != nil || m.isSearching() || m.place != inSession {
		return
	}
	for i, t := range m.tabs[:namedTabs] {
		a, ok := m.keys.Action(t.scope, key)
		show := m.keys.Keys(keymap.Session, keymap.ShowDiff+keymap.Action(i))
		if !ok || len(show) == 0 {
			continue
		}
		m.say(fmt.Sprintf("%s: in the %s (%s)", a.Help(), t.scope.Where(), keymap.Label(show[:1])))
		return
	}
}

// takeText takes text for the field that is open; without one it means nothing.
func (m *Model) takeText(k tea.KeyMsg) tea.Cmd {
	switch {
	case m.dialog != nil:
		m.dialog.Type(k)
		m.dirty = true
		return nil
	case m.isSearching() && m.search.typing:
		return m.typeInSearch(k)
	case m.input == nil:
		return nil
	}
	before := m.input.Text()
	m.dirty = true
	if a, _ := m.keys.Action(keymap.Browse, k.String()); a == keymap.Help && m.input.IsUntouched() {
		return m.editField(a)
	}
	m.input.Type(k)
	if text := m.input.Text(); text != before && m.input.typed != nil {
		return m.input.typed(text)
	}
	return nil
}

// do carries out an action.
func (m *Model) do(a keymap.Action) tea.Cmd {
	m.dirty = true
	if why := a.WhyDisabled(m.keyContext()); why != "" {
		m.say(a.Help() + ": " + why)
		return nil
	}
	switch a {
	case keymap.Quit:
		return m.quit()
	case keymap.Suspend:
		return tea.Suspend
	case keymap.Redraw:
		return tea.ClearScreen
	}
	switch {
	case m.dialog != nil:
		return m.answerDialog(a)
	case m.input != nil:
		return m.editField(a)
	case m.isSearching():
		return m.doInSearch(a)
	}
	if a != keymap.Details {
		m.message = message{}
	}
	switch a {
	case keymap.Help:
		m.openDialog(dialog.NewHelp(m.styles, m.keys, m.keyScope(), m.keyContext()))
		return nil
	case keymap.Details:
		m.openDialog(dialog.NewText(m.styles, m.keys, cmp.Or(m.message.about, "Message"), m.message.wholeText()))
		return nil
	case keymap.Undo:
		return m.planWrite(write{Change: model.Change{Op: model.OpUndo}, into: m.continued})
	case keymap.Redo:
		return m.planChange(model.Change{Op: model.OpRedo})
	case keymap.Journal:
		return m.readJournal()
	}
	switch {
	case m.isComparing():
		return m.doInRuns(a)
	case m.place != inSession:
		return m.doInList(a)
	}
	return tea.Batch(m.doInSession(a), m.followCursor())
}

// doInSession carries out an action in a session: the root's own, those that
// travel in the timeline wherever the keys are, and else those of the pane that
// has the keys.
func (m *Model) doInSession(a keymap.Action) tea.Cmd {
	if m.current >= namedTabs && m.focus == onTab {
		if cmd, ok := m.doInGuide(a); ok {
			return cmd
		}
	}
	switch a {
	case keymap.Back:
		return m.goBack()
	case keymap.Reload:
		m.states.forgetAll() // the store may have changed
		return tea.Batch(m.watchPlace(), m.readSession())
	case keymap.NextTab:
		m.showTab((m.current + 1) % namedTabs)
	case keymap.PrevTab:
		m.showTab((min(m.current, namedTabs) + namedTabs - 1) % namedTabs)
	case keymap.ShowDiff, keymap.ShowState, keymap.ShowMessages, keymap.ShowContext, keymap.ShowFiles, keymap.ShowResume, keymap.ShowInfo:
		m.showTab(tabOf(a))
	case keymap.Mark:
		m.toggleMark()
	case keymap.ClearMark:
		m.timeline.Mark(model.NoNode)
		m.compareNoMark()
	case keymap.Compare:
		m.toggleCompare(theMark)
	case keymap.CompareHead:
		if m.showsTwoLines() {
			return m.showParting()
		}
		m.toggleCompare(theHead)
	case keymap.Zoom:
		m.shares.zoomed = !m.shares.zoomed
		m.resize(m.layout.w, m.layout.h)
	case keymap.SplitLess:
		m.moveSplit(-1)
	case keymap.SplitMore:
		m.moveSplit(1)
	case keymap.NextError:
		m.nextError()
	case keymap.Why:
		return m.askWhy()
	case keymap.History:
		return m.askHistory()
	case keymap.PrevSet:
		return m.stepToChange(keymap.PrevSet)
	case keymap.NextSet:
		return m.stepToChange(keymap.NextSet)
	case keymap.FindWhere:
		m.askFind()
	case keymap.Bisect:
		m.askBisect()
	case keymap.Blame:
		m.toggleBlame()
	case keymap.Watch:
		m.askWatch()
	case keymap.Answers:
		m.showGuide(answerTab)
	case keymap.Play:
		return m.playSession()
	case keymap.Faster, keymap.Slower:
		return m.setPace(a)
	case keymap.Scrubber:
		m.showScrubber()
	case keymap.Tokens:
		return m.showTokens()
	case keymap.Lines:
		return m.showEdits()
	case keymap.Across:
		return m.crossSessions()
	case keymap.TraceFile:
		return m.traceFile()
	case keymap.OpenPicture:
		return m.openPicture()
	case keymap.SetLabel:
		m.askLabel()
	case keymap.GoLabel:
		m.listLabels()
	case keymap.Search:
		return m.openSearch()
	case keymap.SearchNext:
		return m.searchOn(1)
	case keymap.SearchPrev:
		return m.searchOn(-1)
	case keymap.Restore:
		if m.forks {
			return m.planFork()
		}
		return m.planChange(model.Change{Op: model.OpRestore, Ref: m.subject().ref})
	case keymap.Fork:
		return m.planFork()
	case keymap.Continue:
		m.askContinue()
	case keymap.Edit:
		return m.chooseEdit()
	case keymap.Run:
		m.askRun()
	case keymap.Repair:
		return m.planChange(model.Change{Op: model.OpRepair, Ref: model.Ref{Session: m.session}})
	case keymap.Yank:
		m.askYank()
	case keymap.HideTour:
		m.endTour()
	case keymap.StepBack, keymap.StepForward, keymap.Child, keymap.Parent,
		keymap.PrevBranch, keymap.NextBranch, keymap.GoHead:
		m.timeline.Do(a)
	default:
		return m.doInPane(a)
	}
	return nil
}

// doInPane carries out an action in the pane that has the keys, or in the tab in view.
func (m *Model) doInPane(a keymap.Action) tea.Cmd {
	switch {
	case m.focus == onTab:
		m.tabs[m.current].paneInView().Do(a)
	case a == keymap.Open:
		m.focusOn(onTab)
	case !m.timeline.Do(a):
		m.tabs[m.current].paneInView().Do(a) // a key of the tab in view
	}
	return nil
}

// goBack leaves one level: work that goes on, the tab, the session, the program.
func (m *Model) goBack() tea.Cmd {
	switch {
	case m.cancelSlow():
		return nil
	case m.shares.zoomed:
		m.shares.zoomed = false
		m.resize(m.layout.w, m.layout.h)
		return nil
	case m.search != nil:
		return m.backToSearch()
	case m.focus == onTab:
		m.focusOn(onTimeline)
		return nil
	case m.only:
		return m.quit()
	}
	return m.backToList()
}

// quit ends the program; while a write goes on, as soon as that has ended.
func (m *Model) quit() tea.Cmd {
	if m.tasks[applying].running {
		m.leaving = true
		m.say("leaving once this is done: " + m.tasks[applying].what)
		return nil
	}
	return tea.Quit
}

// tabOf returns the place of the tab that an action shows.
func tabOf(show keymap.Action) int { return int(show - keymap.ShowDiff) }

// showTab shows a tab.
func (m *Model) showTab(i int) { m.current = i }

// toggleMark sets the snapshot under the cursor aside, or takes the mark away from it.
func (m *Model) toggleMark() {
	n := m.timeline.SelectedNode()
	if n == m.timeline.MarkedNode() {
		n = model.NoNode
	}
	m.timeline.Mark(n)
	m.compareNoMark()
}

// toggleCompare shows the diff with the mark, or with the head; where that shows already,
// and where there is no mark, the diff with the parent.
func (m *Model) toggleCompare(with opposite) {
	diff := tabOf(keymap.ShowDiff)
	if with == theMark && m.timeline.MarkedNode() == model.NoNode || with == m.against && m.current == diff {
		with = theParent
	}
	m.against = with
	m.showTab(diff)
}

// compareNoMark compares with the parent again once the mark is gone.
func (m *Model) compareNoMark() {
	if m.against == theMark && m.timeline.MarkedNode() == model.NoNode {
		m.against = theParent
	}
}

// openDialog opens a dialog over the screen, in place of the one that is open; nil closes that.
func (m *Model) openDialog(d dialogPane) {
	m.stop(arming)
	m.dialog = d
	m.fitDialog()
}

// fitDialog gives the dialog the room that there is.
func (m *Model) fitDialog() {
	if m.dialog != nil {
		m.dialog.Resize(m.layout.w-4, m.layout.h-2)
	}
}

// answerDialog carries out an action in the dialog.
func (m *Model) answerDialog(a keymap.Action) tea.Cmd {
	then, closes := m.dialog.Do(a)
	if closes {
		m.openDialog(nil)
	}
	if then == nil {
		return nil
	}
	return then()
}

// wholeText returns the whole text of a message.
func (s *message) wholeText() string {
	if s.whole != "" {
		return s.whole
	}
	return s.text
}

// ranLong shows that work goes on, and starts the spinner.
func (m *Model) ranLong(kind taskKind, gen uint64) tea.Cmd {
	t := &m.tasks[kind]
	if !t.running || t.gen != gen || t.what == "" {
		return nil
	}
	first := m.slowestTask() == nil
	t.slow, m.dirty = true, true
	if first {
		return m.runLater(turn, m.turnSpinner)
	}
	return nil
}

// turnSpinner turns the spinner for as long as there is something to wait for.
func (m *Model) turnSpinner() tea.Cmd {
	if m.slowestTask() == nil {
		return nil
	}
	m.spin++
	m.dirty = true
	return m.runLater(turn, m.turnSpinner)
}
