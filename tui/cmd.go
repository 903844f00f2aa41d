package tui

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"math"
	"path"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/store"
	"hindcast/tui/timeline"
)

// listSessions reads what sessions the store has. Where none show yet, the first of them do
// before the last are read.
func (m *Model) listSessions() tea.Cmd {
	m.stop(growing)
	s, most := m.o.Store, math.MaxInt
	if m.sessions.Len() == 0 {
		most = firstSessions
	}
	unnamed := m.session == ""
	return m.start(listing, "reading the sessions", func(ctx context.Context, gen uint64, done *progress) tea.Msg {
		if only := store.Only(ctx, s); unnamed && only != "" {
			return onlySessionMsg{gen, only}
		}
		l := &lister{gen: gen, done: done, most: most}
		l.next, l.stop = iter.Pull2(store.AnyOrder(ctx, s))
		return l.read()
	})
}

// firstSessions is how many sessions are read before the first of them show: as many as a
// screen has, and a few more. Each time after that it is twice as many.
const firstSessions = 60

// lister reads the sessions of a store, those of a part at a time.
type lister struct {
	gen  uint64
	done *progress
	next func() (model.SessionInfo, error, bool)
	stop func()
	// sessions are those that were read, most is how many have to be before they show, and
	// part how often that was so.
	sessions   []model.SessionInfo
	most, part int
}

// read reads the next part.
func (l *lister) read() tea.Msg {
	for len(l.sessions) < l.most {
		info, err, more := l.next()
		if err != nil || !more {
			l.stop()
			return sessionsListedMsg{l.gen, l.sessions, l.part, nil, err}
		}
		l.sessions = append(l.sessions, info)
		l.done.Add(1)
	}
	l.most, l.part = 2*l.most, l.part+1
	return sessionsListedMsg{l.gen, l.sessions, l.part - 1, l, nil}
}

// drop ends a listing whose answer came too late.
func (l *lister) drop() tea.Msg {
	l.stop()
	return nil
}

// sessionsOf returns the sessions of a store, those before an error too.
func sessionsOf(ctx context.Context, s store.Store, done *progress) ([]model.SessionInfo, error) {
	var sessions []model.SessionInfo
	for info, err := range store.AnyOrder(ctx, s) {
		if err != nil {
			return sessions, err
		}
		sessions = append(sessions, info)
		done.Add(1)
	}
	return sessions, nil
}

// sessionsListed shows the sessions, or the only one at once.
func (m *Model) sessionsListed(msg sessionsListedMsg) tea.Cmd {
	switch {
	case msg.rest == nil && !m.finish(listing, msg.gen):
		return nil
	case msg.rest != nil && !m.awaits(listing, msg.gen):
		return run(msg.rest.drop)
	}
	m.place, m.dirty = atSessions, true
	switch {
	case msg.rest != nil && len(msg.sessions) < m.sessions.Len(): // all were read meanwhile
	case msg.part == 0:
		m.sessions.Set(msg.sessions)
	default:
		m.sessions.Grow(msg.sessions)
	}
	switch {
	case msg.rest != nil:
		return run(msg.rest.read)
	case msg.err != nil && len(msg.sessions) == 0:
		m.unusable("This store cannot be shown.", msg.err)
	case msg.err != nil:
		m.fail(msg.err)
	case len(msg.sessions) == 1 && m.session == "":
		m.only = true
		return m.openSession(msg.sessions[0].ID)
	}
	if m.made != "" {
		m.sessions.Filter("") // it may not let through what was made
	}
	if at := cmp.Or(m.made, m.session); at != "" {
		m.sessions.Select(at)
	}
	m.made = ""
	return nil
}

// onlySession opens the only session of the store, which was not read for the list.
func (m *Model) onlySession(msg onlySessionMsg) tea.Cmd {
	if !m.finish(listing, msg.gen) {
		return nil
	}
	m.only = true
	return m.openSession(msg.session)
}

// count has the only session listed, once it was read, if it was not before: the list tells
// how many faults there are where they are not looked for.
func (m *Model) count() tea.Cmd {
	if _, listed := m.sessions.Named(m.session); listed || !m.only || m.info.checked {
		return nil
	}
	s := m.o.Store
	return m.start(listing, "", func(ctx context.Context, gen uint64, done *progress) tea.Msg {
		sessions, err := sessionsOf(ctx, s, done)
		return countedMsg{gen, sessions, err}
	})
}

// counted notes what the list tells of the session that is open. An error was told when that
// was read.
func (m *Model) counted(msg countedMsg) {
	if !m.finish(listing, msg.gen) || msg.err != nil {
		return
	}
	m.sessions.Set(msg.sessions)
	if info, ok := m.sessions.Named(m.session); ok {
		m.info.listed, m.dirty = info.Faults, true
	}
}

// openSession shows a session from its head.
func (m *Model) openSession(id string) tea.Cmd {
	m.stop(listing) // it would bring us back to the list
	m.place, m.session = inSession, id
	m.against, m.query, m.news.cursor = theParent, "", nil
	m.toHead, m.written = false, false
	m.usage = usage{column: m.usage.column, asked: m.usage.column}
	m.past = &past{store: m.o.Store}
	if m.current >= namedTabs {
		m.showTab(0)
	}
	if m.landing = (model.Ref{}); !m.asked.everywhere {
		m.asked = asked{}
	}
	m.show(timeline.Prepare(model.NewTimeline(nil)))
	m.focusOn(onTimeline)
	read := m.readSession()
	if info, ok := m.sessions.Named(id); ok {
		m.info.listed = info.Faults
	}
	return tea.Batch(read, m.watchLabels())
}

// tailSize is how many of the newest snapshots the first screen needs: as many
// as fit, and a few more to move in.
const tailSize = 256

// readSession reads the open session: its newest snapshots first where the
// store can return those at once, then all.
func (m *Model) readSession() tea.Cmd {
	m.stop(growing)
	m.info = sessionFacts{reading: m.info.reading + 1}
	m.timeline.Fault(nil)
	tail := m.features.Tail
	if known := m.content.Timeline.Len(); tail == nil || known > 0 {
		return m.readHeaders(known)
	}
	s, session := m.o.Store, m.session
	return m.start(reading, "reading "+session, func(ctx context.Context, gen uint64, _ *progress) tea.Msg {
		cursor := cursorOf(ctx, s, session)
		headers, before, err := tail(ctx, session, tailSize)
		if err != nil {
			return tailReadMsg{gen: gen, err: err}
		}
		content := timeline.Prepare(model.NewTimeline(slices.Grow(headers, timeline.Spare(len(headers)))))
		content.More = before != 0
		total := 0
		if before != store.Uncounted {
			total = before + len(headers)
		}
		return tailReadMsg{gen, content, total, cursor, nil}
	})
}

// cursorOf returns how far a session reaches, to be asked before it is read. It is
// nil where the store cannot tell; an error is told by the reading.
func cursorOf(ctx context.Context, s store.Store, session string) *store.Cursor {
	features := store.FeaturesOf(s)
	if features.Cursor == nil {
		return nil
	}
	cursor, err := features.Cursor(ctx, session)
	if err != nil {
		return nil
	}
	return &cursor
}

// tailRead shows the newest snapshots and has the others read.
func (m *Model) tailRead(msg tailReadMsg) tea.Cmd {
	if !m.finish(reading, msg.gen) {
		return nil
	}
	if msg.err != nil {
		return m.unreadable(msg.err)
	}
	m.news.cursor = msg.cursor
	m.show(msg.content)
	if !msg.content.More {
		return tea.Batch(m.follow(), m.findFaultsUnasked(), m.count(), m.readLabels())
	}
	return tea.Batch(m.follow(), m.readHeaders(msg.total), m.readLabels())
}

// readHeaders reads all headers of the open session, about as many as total; 0 where
// that is not known.
func (m *Model) readHeaders(total int) tea.Cmd {
	s, session := m.o.Store, m.session
	return m.start(reading, "reading "+session, func(ctx context.Context, gen uint64, done *progress) tea.Msg {
		done.of.Store(int64(total))
		content, cursor, err := readAll(ctx, s, session, done)
		return headersReadMsg{gen, content, cursor, err}
	})
}

// readAll returns the timeline of a session and how far it reaches at the least.
func readAll(ctx context.Context, s store.Store, session string, done *progress) (*timeline.Content, *store.Cursor, error) {
	cursor := cursorOf(ctx, s, session)
	var all model.Headers
	for h, err := range s.Headers(ctx, session) {
		if err != nil {
			return nil, nil, err
		}
		all.Add(&h)
		done.Add(1)
	}
	content := timeline.Prepare(all.Timeline(timeline.Spare(all.Len())))
	letGo(headerSize * content.Timeline.Len())
	return content, cursor, nil
}

// headerSize is about how many bytes a header has where it is read.
const headerSize = 256

// headersRead shows the whole session.
func (m *Model) headersRead(msg headersReadMsg) tea.Cmd {
	if !m.finish(reading, msg.gen) {
		return nil
	}
	if msg.err != nil {
		return m.unreadable(msg.err)
	}
	m.news.cursor = msg.cursor
	m.show(msg.content)
	m.written = false
	if m.toHead {
		m.toHead = false
		m.timeline.Do(keymap.GoHead)
	}
	return tea.Batch(m.follow(), m.findFaultsUnasked(), m.count(), m.readLabels())
}

// unreadable says that the session could not be read: in the list of sessions
// if there is nothing of it to show.
func (m *Model) unreadable(err error) tea.Cmd {
	if m.written && errors.Is(err, model.ErrNoSession) {
		m.place, m.only = atSessions, false // a fork that was undone
		return m.listSessions()
	}
	m.fail(err)
	switch {
	case m.content.Timeline.Len() > 0:
	case m.sessions.Len() > 1:
		m.place = atSessions
		return m.listSessions() // it was opened before all were listed
	default:
		m.unusable("This session cannot be shown.", err)
	}
	return nil
}

// show puts a timeline on the screen.
func (m *Model) show(content *timeline.Content) {
	first := m.content == nil || m.content.Timeline.Len() == 0
	m.timeline.Set(content)
	m.showing(content)
	m.land()
	if first {
		m.beginTour(content)
	}
}

// showing has everything else go by the content that the timeline shows now.
func (m *Model) showing(content *timeline.Content) {
	switch n := content.Timeline.Len(); {
	case n == 0 || m.content == nil || m.content.Timeline.Len() == 0:
		m.news.seen = n
	case m.content.More && !content.More:
		m.news.seen += n - m.content.Timeline.Len() // what came in front is not new
	}
	m.content = content
	m.answers.Follow(content.Timeline)
	if m.current == partingTab {
		m.leaveGuide() // it is of a timeline that shows no longer
	}
	m.compareNoMark()
	if content.Timeline.Len() == 0 {
		m.wanted = wanted{}
		for _, t := range m.tabs {
			t.shows, t.content, t.trouble, t.about = subjectKey{}, nil, nil, about{}
			t.set(nil)
			m.resizeTab(t)
		}
	}
}

// findFaultsUnasked has the store look for what is wrong with a session that was
// read, unless that takes long: a broken session should not look like any other.
func (m *Model) findFaultsUnasked() tea.Cmd {
	if !store.IsQuickToCheck(m.content.Timeline) {
		return nil
	}
	return m.findFaults("")
}

// findFaults has the store look for what is wrong with the session, once for each
// reading. what is for the progress line.
func (m *Model) findFaults(what string) tea.Cmd {
	if m.info.checked {
		return nil
	}
	m.info.checked = true
	s, session := m.o.Store, m.session
	return m.start(checking, what, func(ctx context.Context, gen uint64, _ *progress) tea.Msg {
		faults, err := s.Faults(ctx, session)
		faults = model.Harmful(faults)
		// The file or row of a snapshot is called by its id.
		ids := make(map[string]struct{}, len(faults))
		for i := range faults {
			name := path.Base(faults[i].File)
			ids[name], ids[strings.TrimSuffix(name, path.Ext(name))] = struct{}{}, struct{}{}
		}
		return faultsFoundMsg{gen, faults, ids, err}
	})
}

// faultsFound keeps the faults for the header, the rows and the tab that tell of
// them.
func (m *Model) faultsFound(msg faultsFoundMsg) tea.Cmd {
	asked := m.tasks[checking].what != ""
	if !m.finish(checking, msg.gen) {
		return nil
	}
	if msg.err != nil {
		if asked {
			m.fail(msg.err)
		}
		m.info.checked = asked
		return nil
	}
	before := len(m.info.faults)
	m.info.faults, m.info.known, m.dirty = msg.faults, true, true
	m.timeline.Fault(msg.ids)
	if len(msg.faults)+before == 0 {
		return nil
	}
	if slices.ContainsFunc(msg.faults, opaque) {
		m.outdate(keymap.ShowMessages) // it says why it shows none
	}
	return m.retell()
}

// retell has the Info tab worked out anew: what it tells besides the snapshot has changed.
func (m *Model) retell() tea.Cmd {
	m.outdate(keymap.ShowInfo)
	return m.follow()
}

// outdate has a tab worked out anew once it shows.
func (m *Model) outdate(show keymap.Action) {
	tab := tabOf(show)
	m.tabs[tab].shows = subjectKey{}
	if m.current == tab {
		m.wanted = wanted{}
	}
}

// subject returns what the tabs are about: the snapshot under the cursor, and its
// parent or the mark. It is the zero subject where nothing is selected.
func (m *Model) subject() subject {
	t, n := m.timeline.Timeline(), m.timeline.Selected()
	if n == model.NoNode {
		return subject{}
	}
	s := subject{header: t.Described(n), name: t.Name(n), faults: m.info.faults, labels: m.timeline.Labels().Of(n)}
	base := t.Base(n)
	switch {
	case m.against == theMark:
		base = m.timeline.Marked()
	case m.against == theHead && n != t.Head():
		base = t.Head()
	}
	s.subjectKey = subjectKey{ref: s.header.Ref(), reading: m.info.reading, head: s.header.Head}
	if base != model.NoNode {
		s.base, s.baseName = t.Described(base), t.Name(base)
		s.with = s.base.Ref()
	}
	return s
}

// follow has the tab that shows follow the cursor: what it shows no longer is
// cancelled, and what it should show is worked out once the cursor stands still.
func (m *Model) follow() tea.Cmd {
	if m.place != inSession || m.timeline.Selected() == model.NoNode {
		return nil
	}
	s := m.subject()
	if m.current >= namedTabs {
		m.stop(preparing)
		m.stop(fetching)
		m.wanted = wanted{}
		return nil
	}
	want := wanted{m.current, s.subjectKey}
	if want == m.wanted {
		return nil
	}
	wait := settle
	if want.subjectKey == m.wanted.subjectKey {
		wait = 0 // only the tab is another
	}
	m.wanted = want
	var find tea.Cmd
	if m.tabs[m.current].scope == keymap.Info {
		find = m.findFaults("looking for faults in " + m.session)
		s.usage = m.usageOf(m.timeline.Selected())
	}
	t, tab := m.tabs[m.current], m.current
	m.stop(fetching)
	if t.shows == s.subjectKey {
		m.stop(preparing)
		return tea.Batch(find, m.fetchNeighbours())
	}
	after, slow := m.o.After, m.tasks[preparing].slow
	work := m.start(preparing, "reading "+s.name, func(ctx context.Context, gen uint64, _ *progress) tea.Msg {
		fact := preparedMsg{gen: gen, tab: tab, subject: s}
		if wait > 0 {
			select {
			case <-after(wait):
			case <-ctx.Done():
				return fact
			}
		}
		if t.preview != nil {
			fact.content, fact.err = t.preview(ctx, s)
			if fact.content != nil || fact.err != nil {
				fact.part = fact.err == nil
				return fact
			}
		}
		fact.content, fact.err = t.prepare(ctx, s)
		return fact
	})
	m.tasks[preparing].slow = slow // keys that follow each other do not begin patience anew
	return tea.Batch(find, work)
}

// prepareRest has a tab prepare the whole of what it shows a part of.
func (m *Model) prepareRest(part preparedMsg) tea.Cmd {
	t := m.tabs[part.tab]
	dragged := part.gen == m.news.dragged
	cmd := m.start(preparing, "reading "+part.subject.name, func(ctx context.Context, gen uint64, _ *progress) tea.Msg {
		content, err := t.prepare(ctx, part.subject)
		return preparedMsg{gen: gen, tab: part.tab, subject: part.subject, content: content, err: err}
	})
	if dragged {
		m.unhurried()
	}
	return cmd
}

// prepared shows in a tab what was worked out for it.
func (m *Model) prepared(msg preparedMsg) tea.Cmd {
	if !m.finish(preparing, msg.gen) {
		return nil
	}
	if m.together(&msg) {
		m.news.late = true
	} else {
		m.dirty = true
	}
	t := m.tabs[msg.tab]
	t.shows, t.content, t.trouble = msg.subject.subjectKey, msg.content, nil
	t.about = about{msg.subject.ref, msg.subject.with, msg.subject.name}
	if msg.err != nil {
		t.content = nil
		t.trouble = m.troubleSheet("This cannot be shown.", msg.err)
		m.fail(msg.err)
	}
	t.set(t.content)
	m.resizeTab(t)
	if msg.part {
		t.shows = subjectKey{} // not all of it yet
		return m.prepareRest(msg)
	}
	return m.fetchNeighbours()
}

// fetchNeighbours reads the states one step back and one step forward, so that
// the next key finds them read.
func (m *Model) fetchNeighbours() tea.Cmd {
	t, n := m.timeline.Timeline(), m.timeline.Selected()
	if n == model.NoNode {
		return nil
	}
	var refs []model.Ref
	for _, near := range []model.Node{t.Prev(n), t.Next(n)} {
		if near != model.NoNode && t.Header(near).Size < stateBudget/16 {
			refs = append(refs, t.Header(near).Ref())
		}
	}
	states := m.states
	return m.start(fetching, "", func(ctx context.Context, gen uint64, _ *progress) tea.Msg {
		for _, ref := range refs {
			// An error is told when the person goes there.
			if s, err := states.get(ctx, ref); err == nil {
				s.Conversation()
			} else if errors.Is(err, context.Canceled) {
				break
			}
		}
		return fetchedMsg{gen}
	})
}
