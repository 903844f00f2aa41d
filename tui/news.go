package tui

import (
	"context"
	"errors"
	"fmt"
	"hindcast/model/printable"
	"reflect"
	"slices"
	"strconv"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/store"
	"hindcast/tui/timeline"
)

// The screen keeps up with a store that others write to. There is one turn at a
// time, and each fact of it leads to the next:
//
//	await ─▶ changed ─▶ catch up ─▶ caught up ─▶ rest ─▶ await …
//	  ▲ nothing changes: no work      │ the timeline, or the list of sessions
//
// So however fast changes come, there is one update for each rest. The first
// change after a calm time shows at once; while there is news in every turn, each
// rest is twice the one before, up to a limit that still shows everything within
// a second, and never shorter than catching up took. Changes that come during a
// rest are one value in the store's channel, and what they brought is read at
// once, so none is lost.
//
// A turn is held while something else reads or writes: what that reads is newer
// than what the turn would bring.
const (
	firstRest   = 220 * time.Millisecond
	longestRest = 850 * time.Millisecond
	// calm is how long nothing may change after a rest until the next change
	// shows at once again; polling stores tell of changes that far apart.
	calm = 350 * time.Millisecond
)

// news is how the screen keeps up.
type news struct {
	watch   uint64             // number of the watch, which the facts of its turns carry
	ctx     context.Context    // of the watch
	end     context.CancelFunc // ends it; nil without one
	watched bool               // there is a turn, or will be once Watch has answered
	changes <-chan struct{}    // of the store; nil unless it is watched
	rest    time.Duration      // the last one, 0 in calm times
	held    fact               // the fact that a turn is held at, or nil
	lent    int                // commands that read the timeline, which must not grow under them
	cursor  *store.Cursor      // how far the timeline reaches, nil if that is not known
	seen    int                // snapshots that there were when the person was at the head
	dragged uint64             // generation of what a tab prepares because the head moved
	late    bool               // a tab holds something that is drawn with the next update
	trouble string             // why the last turn brought nothing, "" if it did
}

// watchPlace starts to watch the store of the session, or all stores of the list. It does nothing if the watch runs
// or the store cannot be watched. The watch of an only store lasts as long as the screen.
func (m *Model) watchPlace() tea.Cmd {
	watch := m.features.Watch
	if m.place == atList && !m.alone {
		watch = m.home.Watch
	}
	if watch == nil || m.news.watched {
		return nil
	}
	ctx, end := context.WithCancel(m.ctx)
	m.news.watched, m.news.end = true, end
	m.news.ctx = ctx
	n := m.news.watch
	return makeCommand(func() fact {
		changes, err := watch(ctx)
		return m.ofWatch(n, func() tea.Cmd { return m.beginTurns(changes, err) })
	})
}

// ofWatch returns a fact of a turn of the watch of that number. Those of an earlier store are dropped.
func (m *Model) ofWatch(n uint64, f fact) fact {
	return func() tea.Cmd {
		if n != m.news.watch {
			return nil
		}
		return f()
	}
}

// forgetWatch ends the watch of a store that is shown no longer.
func (m *Model) forgetWatch() {
	if m.news.end != nil {
		m.news.end()
	}
	m.news = news{watch: m.news.watch + 1}
}

// beginTurns begins the first turn: what changed before the watch began is unknown.
func (m *Model) beginTurns(changes <-chan struct{}, err error) tea.Cmd {
	if err != nil {
		m.news.watched = false
		m.fail(err)
		return nil
	}
	m.news.changes, m.dirty = changes, true
	return m.catchUp()
}

// awaitChange waits for a change. In calm times nothing in the program moves until
// there is one.
func (m *Model) awaitChange() tea.Cmd {
	ctx, changes, after, waiting := m.news.ctx, m.news.changes, m.o.After, &m.waiting
	busy, n := m.news.rest > 0, m.news.watch
	changed := func(open bool) fact {
		if !open {
			return m.ofWatch(n, m.watchBroke)
		}
		return m.ofWatch(n, m.catchUp)
	}
	return makeCommand(func() fact {
		var quiet <-chan time.Time
		if busy {
			select {
			case _, open := <-changes:
				return changed(open)
			default:
				quiet = after(calm)
			}
		} else {
			waiting.Add(1)
			defer waiting.Add(-1)
		}
		select {
		case _, open := <-changes:
			return changed(open)
		case <-quiet:
			return m.ofWatch(n, m.endChanges)
		case <-ctx.Done():
			return nil
		}
	})
}

// Waiting returns the number of commands in flight that wait for the store to
// change and for nothing that the program does. It is safe for concurrent use.
func (m *Model) Waiting() int { return int(m.waiting.Load()) }

// endChanges ends a time of changes.
func (m *Model) endChanges() tea.Cmd {
	m.news.rest = 0
	m.dirty = m.dirty || m.news.late
	m.news.late = false
	return m.awaitChange()
}

// restTurn has the turn rest, at least as long as it took so far.
func (m *Model) restTurn(took time.Duration) tea.Cmd {
	m.news.rest = max(m.news.rest, firstRest)
	return m.runLater(max(m.news.rest, took), m.ofWatch(m.news.watch, m.awaitChange))
}

// lengthenRest notes that there was something new, so that the rest gets longer if
// there was some before.
func (m *Model) lengthenRest() {
	m.news.rest = max(firstRest, min(2*m.news.rest, longestRest))
}

// lendTimeline notes that a command reads the timeline from now on. It returns the argument for takeBack, a number of
// the watch that is never 0.
func (m *Model) lendTimeline() uint64 {
	m.news.lent++
	return m.news.watch + 1
}

// takeBack says that a command reads the timeline no longer. One that was lent nothing,
// or the timeline of another store, changes nothing.
func (m *Model) takeBack(lent uint64) {
	if lent == m.news.watch+1 {
		m.news.lent--
	}
}

// isOccupied reports whether something goes on that turns wait for.
func (m *Model) isOccupied() bool {
	return m.tasks[listing].running || m.tasks[reading].running || m.tasks[applying].running || m.news.lent > 0
}

// resumeTurn goes on with a turn that was held, once it can.
func (m *Model) resumeTurn() tea.Cmd {
	if m.news.held == nil || m.isOccupied() {
		return nil
	}
	held := m.news.held
	m.news.held = nil
	return held()
}

// catchUp catches up with the store.
func (m *Model) catchUp() tea.Cmd {
	if m.isOccupied() {
		m.news.held = m.catchUp
		return nil
	}
	switch m.place {
	case inSession:
		return m.readGrowth()
	case atList:
		return m.relistSessions()
	}
	return m.restTurn(0) // what cannot be read is read again when the person says so
}

// watchBroke says that the store is watched no longer, unless the last line says
// why already.
func (m *Model) watchBroke() tea.Cmd {
	m.news.changes, m.news.watched, m.news.rest = nil, false, 0
	m.dirty = true
	if m.ctx.Err() == nil && m.news.trouble == "" {
		m.fail(fmt.Errorf("the store cannot be watched any longer; %s reads it again", keymap.Label(m.keys.Keys(keymap.Session, keymap.Reload))))
	}
	return nil
}

// growth is the change of a session since it was read.
type growth struct {
	gen uint64 // of the task that read it
	// matches are the timeline's matches, searched for again in its new content. search is the generation of
	// the latest search at that time.
	matches timeline.Matches
	search  uint64
	// only says that the store has no other session.
	only bool
	took time.Duration
	err  error
	// headers are the headers that the timeline can take in on the spot. content is the new timeline where it
	// cannot.
	headers []model.Header
	content *timeline.Content
	// whole says that more than growth happened: the session has to be read again.
	whole  bool
	cursor *store.Cursor
}

// readGrowth reads what is new in the open session: that alone, where the store can
// tell it from the rest.
func (m *Model) readGrowth() tea.Cmd {
	s, session, content, since, now, only := m.o.Store, m.session, m.content, m.news.cursor, m.o.Now, m.only
	matches, search, n := m.timeline.Matches(), m.tasks[finding].gen, m.news.watch
	return m.begin(growing, "", func(ctx context.Context, gen uint64, done *progress) fact {
		began := now()
		g, err := growthOf(ctx, s, session, content, since)
		if err == nil && g.whole {
			g.content, g.cursor, err = readAll(ctx, s, session, done)
			if err == nil && g.content.Same(content) {
				g.content = nil // another session changed
			}
		}
		if err == nil && g.content != nil {
			matches, err = matches.In(ctx, g.content)
		}
		if err == nil && g.content == nil && len(g.headers) == 0 && only {
			only, err = hasOneSession(ctx, s)
		}
		g.gen, g.matches, g.search, g.only, g.took, g.err = gen, matches, search, only, now().Sub(began), err
		return m.ofWatch(n, func() tea.Cmd { return m.showGrowth(g) })
	})
}

// hasOneSession reports whether a store has no more than one session.
func hasOneSession(ctx context.Context, s store.Store) (bool, error) {
	n := 0
	for _, err := range store.AnyOrder(ctx, s) {
		if n++; err != nil || n > 1 {
			return false, err
		}
	}
	return true, nil
}

// growthOf asks the store what became of a session since a cursor. What the
// content has already is left out.
func growthOf(ctx context.Context, s store.Store, session string, content *timeline.Content, since *store.Cursor) (growth, error) {
	features := s.Features()
	if features.Growth == nil || since == nil {
		return growth{whole: true}, nil
	}
	g, err := features.Growth(ctx, session, *since)
	if err != nil || g.Rewritten {
		return growth{whole: true}, err
	}
	known := map[model.Ref]bool{} // what came while the session was read is at its end
	n := content.Timeline.Len()
	for i := range min(n, len(g.Headers)) {
		known[content.Timeline.Header(model.Node(n-1-i)).Ref()] = true
	}
	fresh := slices.DeleteFunc(slices.Clone(g.Headers), func(h model.Header) bool { return known[h.Ref()] })
	if len(fresh) == 0 || content.Takes(fresh) {
		return growth{headers: fresh, cursor: &g.Cursor}, nil
	}
	return growth{content: content.With(fresh), cursor: &g.Cursor}, nil
}

// showGrowth shows what is new in the session.
func (m *Model) showGrowth(g growth) tea.Cmd {
	if m.isOccupied() {
		m.news.held = func() tea.Cmd { return m.showGrowth(g) }
		return nil
	}
	if !m.finish(growing, g.gen) {
		return m.restTurn(g.took)
	}
	if g.err != nil {
		m.tellLoss(g.err)
		return m.restTurn(g.took)
	}
	m.clearLoss()
	m.news.cursor = g.cursor
	if m.only != g.only {
		m.only, m.dirty = g.only, true
	}
	var label tea.Cmd
	switch {
	case g.content != nil:
		m.showRenewed(g)
		label = m.readLabels()
	case len(g.headers) > 0:
		m.timeline.Append(g.headers)
		if m.features.Facts != nil {
			m.watches.forgetValues()
		}
		if m.timeline.Labels().Lacking() {
			label = m.readLabels()
		}
	default:
		m.news.rest = firstRest
		return m.restTurn(g.took)
	}
	m.lengthenRest()
	m.dirty, m.news.late = true, false
	if t := m.timeline.Timeline(); m.dialog != nil && t.Head() != model.NoNode {
		m.dialog.NoteHead(m.session, t.Header(t.Head()).Ref())
	}
	return tea.Batch(m.restTurn(g.took), m.dragTab(), m.askAgain(), label)
}

// dragTab has the tab follow a cursor that went along with the head.
func (m *Model) dragTab() tea.Cmd {
	cmd := m.followCursor()
	if cmd != nil && m.tasks[preparing].running {
		m.hideProgress()
	}
	return cmd
}

// hideProgress notes that the person does not wait for the tab's new content, so no progress shows.
func (m *Model) hideProgress() {
	t := &m.tasks[preparing]
	t.what = ""
	m.news.dragged = t.gen
}

// showRenewed shows the session made anew. What the tabs show stays, unless the
// snapshots that it is about have changed.
func (m *Model) showRenewed(g growth) {
	old, before := m.timeline.Timeline(), m.subject()
	if g.whole {
		m.states.forgetAll()
	}
	m.info = sessionFacts{reading: m.info.reading + 1, faults: m.info.faults, listed: m.info.countFaults()}
	switch {
	case g.search != m.tasks[finding].gen:
		g.matches = timeline.Matches{} // those of another search; the next step looks again
	case m.searched.focus == onTimeline && m.searched.subject.reading == m.info.reading-1:
		m.searched.subject.reading++
	}
	m.timeline.Renew(g.content, g.matches)
	m.followContent(g.content)
	if after := m.subject(); reflect.DeepEqual(before.header, after.header) && reflect.DeepEqual(before.base, after.base) {
		m.renameSubject(before.subjectKey, after.subjectKey)
	}
	if t := m.timeline.Timeline(); movedBack(old, t) {
		m.say("head moved to " + t.Name(t.Head()) + ": restored elsewhere")
	}
}

// renameSubject gives what is shown of a subject its new key.
func (m *Model) renameSubject(before, after subjectKey) {
	keys := []*subjectKey{&m.wanted.subjectKey, &m.searched.subject}
	for _, t := range m.tabs {
		keys = append(keys, &t.shows)
	}
	for _, k := range keys {
		if *k == before {
			*k = after
		}
	}
}

// movedBack reports whether the head of a timeline was put elsewhere than to
// where the old one grew: to a snapshot that the old one had, or away from the
// old head.
func movedBack(old, t *model.Timeline) bool {
	was, is := old.Head(), t.Head()
	if was == model.NoNode || is == model.NoNode || int(was) >= t.Len() {
		return false
	}
	ref := old.Header(was).Ref()
	return t.Header(was).Ref() == ref && t.Header(is).Ref() != ref && (!t.OnPath(was) || int(is) < old.Len())
}

// tellLoss says, once, why the screen could not keep up. What it shows stays, and the
// next change is an occasion to read all of it again.
func (m *Model) tellLoss(err error) {
	m.news.cursor = nil
	if m.place == inSession && errors.Is(err, model.ErrNoSession) {
		err = fmt.Errorf("the session is no longer in the store; what shows was read before: %w", err)
	}
	if text := printable.Addresses(err.Error()); text != m.news.trouble {
		m.fail(err)
		m.news.trouble = text
	}
}

// clearLoss takes back what lost said.
func (m *Model) clearLoss() {
	if m.news.trouble != "" && m.message.whole == m.news.trouble {
		m.message, m.dirty = message{}, true
	}
	m.news.trouble = ""
}

// cursorStanding returns "following" while the cursor moves along with the head, else the number of unseen
// snapshots. It returns "" when that is unknown.
func (m *Model) cursorStanding() string {
	switch unseen := m.timeline.Timeline().Len() - m.news.seen; {
	case m.news.changes == nil:
	case m.timeline.Following():
		return "following"
	case unseen > 0:
		return strconv.Itoa(unseen) + " new"
	}
	return ""
}
