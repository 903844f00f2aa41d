package tui

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/query"
	"hindcast/store"
	"hindcast/tui/picker"
	"hindcast/tui/timeline"
)

// countFaults has the only session listed, once it was read, if it was not before: the list tells
// how many faults there are where they are not looked for.
func (m *Model) countFaults() tea.Cmd {
	if _, listed := m.list.FindSession(m.rowName(m.session)); listed || !m.only || m.info.checked {
		return nil
	}
	h, now, zone := m.home, m.o.Now, m.o.Zone
	return m.start(listing, "", func(ctx context.Context, _ *progress) fact {
		var rows []picker.Row
		for row, err := range h.Sessions(ctx) {
			if cmp.Or(err, row.Err) != nil {
				return nil // it was told when the session was read
			}
			rows = append(rows, *row)
		}
		content := picker.Prepare(rows, now().In(zone))
		return func() tea.Cmd {
			m.list.Set(content)
			m.info.listed, m.dirty = m.listedFaults(m.session), true
			return nil
		}
	})
}

// openSession shows a session from its head.
func (m *Model) openSession(id string) tea.Cmd {
	m.stop(listing) // it would bring us back to the list
	m.place, m.session = inSession, id
	m.against, m.query, m.news.cursor = theParent, "", nil
	m.toHead, m.written = false, false
	m.usage = usage{column: m.usage.column, asked: m.usage.column}
	m.files = fileChanges{column: m.files.column}
	m.past = &past{store: m.o.Store}
	if m.current >= namedTabs {
		m.showTab(0)
	}
	m.landing, m.asked = model.Ref{}, asked{}
	m.showTimeline(timeline.Prepare(model.NewTimeline(nil)))
	m.timeline.SetNouns(m.countingNouns())
	m.focusOn(onTimeline)
	read := m.readSession()
	m.info.listed = m.listedFaults(id)
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
	return m.start(reading, "reading "+session, func(ctx context.Context, _ *progress) fact {
		var cursor *store.Cursor
		headers, before, err := tail(ctx, session, tailSize)
		if err == nil && before == 0 { // a store may read the whole session for the cursor
			cursor = cursorOf(ctx, s, session)
			headers, before, err = tail(ctx, session, tailSize)
		}
		if err != nil {
			return func() tea.Cmd { return m.showUnreadable(err) }
		}
		content := timeline.Prepare(model.NewTimeline(slices.Grow(headers, timeline.Spare(len(headers)))))
		content.More = before != 0
		total := 0
		if before != store.Uncounted {
			total = before + len(headers)
		}
		return func() tea.Cmd { return m.tailRead(content, total, cursor) }
	})
}

// cursorOf returns how far a session reaches, to be asked before it is read. It is
// nil where the store cannot tell; an error is told by the reading.
func cursorOf(ctx context.Context, s store.Store, session string) *store.Cursor {
	features := s.Features()
	if features.Cursor == nil {
		return nil
	}
	cursor, err := features.Cursor(ctx, session)
	if err != nil {
		return nil
	}
	return &cursor
}

// tailRead shows the newest snapshots and has the others read, about as many as total in all, 0 where that is not known.
// cursor is how far the session reached before, nil where others are to be read or the store cannot tell.
func (m *Model) tailRead(content *timeline.Content, total int, cursor *store.Cursor) tea.Cmd {
	m.news.cursor = cursor
	m.showTimeline(content)
	if !content.More {
		return tea.Batch(m.followCursor(), m.findFaultsUnasked(), m.countFaults(), m.readLabels())
	}
	return tea.Batch(m.followCursor(), m.readHeaders(total), m.readLabels())
}

// readHeaders reads all headers of the open session, about as many as total; 0 where
// that is not known.
func (m *Model) readHeaders(total int) tea.Cmd {
	s, session := m.o.Store, m.session
	return m.start(reading, "reading "+session, func(ctx context.Context, done *progress) fact {
		done.of.Store(int64(total))
		content, cursor, err := readAll(ctx, s, session, done)
		if err != nil {
			return func() tea.Cmd { return m.showUnreadable(err) }
		}
		return func() tea.Cmd { return m.headersRead(content, cursor) }
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
func (m *Model) headersRead(content *timeline.Content, cursor *store.Cursor) tea.Cmd {
	m.news.cursor = cursor
	m.showTimeline(content)
	m.written = false
	if m.toHead {
		m.toHead = false
		m.timeline.Do(keymap.GoHead)
	}
	return tea.Batch(m.followCursor(), m.findFaultsUnasked(), m.countFaults(), m.readLabels())
}

// showUnreadable says that the session could not be read: in the list of sessions
// if there is nothing of it to show.
func (m *Model) showUnreadable(err error) tea.Cmd {
	if m.written && errors.Is(err, model.ErrNoSession) {
		m.only = false // a fork that was undone
		return m.backToList()
	}
	m.fail(err)
	switch {
	case m.content.Timeline.Len() > 0:
	case m.list.Len() > 1:
		return m.backToList() // it was opened before all were listed
	default:
		m.showUnusable("This session cannot be shown.", err)
	}
	return nil
}

// showTimeline puts a timeline on the screen.
func (m *Model) showTimeline(content *timeline.Content) {
	first := m.content == nil || m.content.Timeline.Len() == 0
	m.timeline.Set(content)
	m.followContent(content)
	m.landAtTarget()
	if first {
		m.beginTour(content)
	}
}

// followContent has everything else go by the content that the timeline shows now.
func (m *Model) followContent(content *timeline.Content) {
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

// findFaultsUnasked has the store check a session that was read, unless the check takes long. A broken
// session should not look like any other.
func (m *Model) findFaultsUnasked() tea.Cmd {
	if !store.IsQuickToCheck(m.content.Timeline) {
		return nil
	}
	return m.findFaults("")
}

// findFaults has the store check the session, once for each reading. The progress line shows the text what.
func (m *Model) findFaults(what string) tea.Cmd {
	if m.info.checked {
		return nil
	}
	m.info.checked = true
	s, session := m.o.Store, m.session
	return m.start(checking, what, func(ctx context.Context, _ *progress) fact {
		faults, err := s.Faults(ctx, session)
		faults = model.Harmful(faults)
		// The file or row of a snapshot is called by its id.
		ids := make(map[string]struct{}, len(faults))
		for i := range faults {
			name := path.Base(faults[i].File)
			ids[name], ids[strings.TrimSuffix(name, path.Ext(name))] = struct{}{}, struct{}{}
		}
		return func() tea.Cmd { return m.faultsFound(faults, ids, err) }
	})
}

// faultsFound keeps the faults for the header, the rows and the tab that tell of
// them. The faults call what they are about by ids.
func (m *Model) faultsFound(faults []model.Fault, ids map[string]struct{}, err error) tea.Cmd {
	asked := m.tasks[checking].what != ""
	if err != nil {
		if asked {
			m.fail(err)
		}
		m.info.checked = asked
		return nil
	}
	before := len(m.info.faults)
	m.info.faults, m.info.known, m.dirty = faults, true, true
	m.timeline.Fault(ids)
	if len(faults)+before == 0 {
		return nil
	}
	if slices.ContainsFunc(faults, hidesStates) {
		m.outdateTab(keymap.ShowMessages) // it says why it shows none
	}
	return m.refreshInfo()
}

// refreshInfo has the Info tab worked out anew: what it tells besides the snapshot has changed.
func (m *Model) refreshInfo() tea.Cmd {
	m.outdateTab(keymap.ShowInfo)
	return m.followCursor()
}

// outdateTab has a tab worked out anew once it shows.
func (m *Model) outdateTab(show keymap.Action) {
	tab := tabOf(show)
	m.tabs[tab].shows = subjectKey{}
	if m.current == tab {
		m.wanted = wanted{}
	}
}

// subject returns the subject of the tabs: the snapshot under the cursor, with its parent or the mark. It
// returns the zero subject when no snapshot is selected.
func (m *Model) subject() subject {
	t, n := m.timeline.Timeline(), m.timeline.SelectedNode()
	if n == model.NoNode {
		return subject{}
	}
	s := subject{header: t.FullHeader(n), name: t.Name(n), faults: m.info.faults, labels: m.timeline.Labels().Of(n)}
	base := t.Base(n)
	switch {
	case m.against == theMark:
		base = m.timeline.MarkedNode()
	case m.against == theHead && n != t.Head():
		base = t.Head()
	}
	s.subjectKey = subjectKey{ref: s.header.Ref(), reading: m.info.reading, head: s.header.Head}
	if last := m.timeline.LastOf(n); last != n && m.current == tabOf(keymap.ShowFiles) {
		s.to = t.Header(last).Ref()
	}
	if base != model.NoNode {
		s.base, s.baseName = t.FullHeader(base), t.Name(base)
		s.with = s.base.Ref()
	}
	if m.current == tabOf(keymap.ShowContext) {
		if s.around = query.AroundOf(t, n); base != model.NoNode && base != t.Base(n) {
			s.aroundBase = query.AroundOf(t, base)
		}
	}
	return s
}

// followCursor has the tab that shows follow the cursor: what it shows no longer is
// cancelled, and what it should show is worked out once the cursor stands still.
func (m *Model) followCursor() tea.Cmd {
	if m.place != inSession || m.timeline.SelectedNode() == model.NoNode {
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
		s.usage = m.usageOf(m.timeline.SelectedNode())
	}
	if m.tabs[m.current].scope == keymap.Files {
		s.files = m.filesOf(&s)
	}
	t, tab := m.tabs[m.current], m.current
	m.stop(fetching)
	if t.shows == s.subjectKey {
		m.stop(preparing)
		return tea.Batch(find, m.fetchNeighbours())
	}
	after, slow := m.o.After, m.tasks[preparing].slow
	work := m.start(preparing, "reading "+s.name, func(ctx context.Context, _ *progress) fact {
		if wait > 0 {
			select {
			case <-after(wait):
			case <-ctx.Done():
				return nil
			}
		}
		if t.preview != nil {
			if content, err := t.preview(ctx, s); content != nil || err != nil {
				return func() tea.Cmd { return m.showContent(tab, s, content, err == nil, err) }
			}
		}
		content, err := t.prepare(ctx, s)
		return func() tea.Cmd { return m.showContent(tab, s, content, false, err) }
	})
	m.tasks[preparing].slow = slow // keys that follow each other do not begin patience anew
	return tea.Batch(find, work)
}

// prepareRest has a tab prepare the whole of a content that shows in part. dragged says that the cursor moved
// along with the head.
func (m *Model) prepareRest(tab int, s subject, dragged bool) tea.Cmd {
	t := m.tabs[tab]
	cmd := m.start(preparing, "reading "+s.name, func(ctx context.Context, _ *progress) fact {
		content, err := t.prepare(ctx, s)
		return func() tea.Cmd { return m.showContent(tab, s, content, false, err) }
	})
	if dragged {
		m.hideProgress()
	}
	return cmd
}

// showContent shows in a tab what was worked out of a subject, or a part of it that can be shown at once.
func (m *Model) showContent(tab int, s subject, content any, part bool, err error) tea.Cmd {
	dragged := m.tasks[preparing].gen == m.news.dragged
	if dragged && m.news.rest > firstRest && err == nil {
		m.news.late = true // it is that of a head which will have moved on by the next update, which draws it
	} else {
		m.dirty = true
	}
	t := m.tabs[tab]
	t.shows, t.content, t.trouble = s.subjectKey, content, nil
	t.about = about{s.ref, s.with, s.name}
	if err != nil {
		t.content = nil
		t.trouble = m.troubleSheet("This cannot be shown.", err)
		m.fail(err)
	}
	t.set(t.content)
	m.resizeTab(t)
	if part {
		t.shows = subjectKey{} // not all of it yet
		return m.prepareRest(tab, s, dragged)
	}
	return tea.Batch(m.fetchNeighbours(), m.reachAim())
}

// fetchNeighbours reads the states one step back and one step forward, so that
// the next key finds them read.
func (m *Model) fetchNeighbours() tea.Cmd {
	t, n := m.timeline.Timeline(), m.timeline.SelectedNode()
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
	return m.start(fetching, "", func(ctx context.Context, _ *progress) fact {
		for _, ref := range refs {
			// An error is told when the person goes there.
			if s, err := states.get(ctx, ref); err == nil {
				s.Conversation()
			} else if errors.Is(err, context.Canceled) {
				break
			}
		}
		return nil
	})
}
