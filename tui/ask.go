package tui

import (
	"context"
	"iter"
	"strconv"
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/query"
	"hindcast/store"
	"hindcast/tui/answers"
)

// A question about time is asked in a command, and its answers come in as they are found:
//
//	inquire ─▶ begun ─▶ read ─▶ answered ─▶ read … ─▶ answered (the last)
//	       the timeline is given back        a few at a time
//
// They stand in the place of the tabs until the person goes to one of them, or back.

// past answers questions about one session. Its commands share what was read for those
// before them. It is safe for concurrent use.
type past struct {
	store store.Store

	mu      sync.Mutex
	session *query.Session
	of      *model.Timeline
	len     int
}

// to returns the session as a timeline tells it, which must not grow meanwhile.
func (p *past) to(t *model.Timeline) *query.Session {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.session == nil:
		p.session = query.Open(p.store, t)
	case p.of != t || p.len != t.Len():
		p.session.Follow(t)
	}
	p.of, p.len = t, t.Len()
	return p.session
}

// question is what is asked of a session.
type question struct {
	// title is the question as its answers are called, noun what one answer is.
	title, noun string
	// path is that of the value whose history the answers are, nil for another question.
	path *string
	// ask returns the answers. It runs in a command.
	ask func(ctx context.Context, s *query.Session, done *progress) iter.Seq2[answers.Answer, error]
	// found is called when all answers are there, nil for nothing more to do.
	found func() tea.Cmd
	// unseen says that the answers do not show by themselves.
	unseen bool
}

// asked is the question that was asked last.
type asked struct {
	question
	// of is the timeline that the question is asked of, len how many visits it had.
	of  *model.Timeline
	len int
	// from is where the person was then.
	from spot
	// again says that the answers are to take the place of those that show, got what they
	// are by now.
	again bool
	got   []answers.Answer
}

// spot is where the person is in a session: a tab, a box, and a snapshot.
type spot struct {
	tab   int
	focus focus
	node  model.Node
	of    *model.Timeline
}

// answerTab is the place of the answers behind the tabs.
const answerTab = 5

// inquire asks a question and shows its answers as they come.
func (m *Model) inquire(q question) tea.Cmd {
	from := m.asked.from
	if m.current != answerTab {
		from = spot{m.current, m.focus, m.timeline.Selected(), m.timeline.Timeline()}
	}
	m.asked = asked{question: q, from: from}
	m.searched = inAnswers
	m.answers.Begin(q.title, q.noun, m.timeline.Timeline())
	if !q.unseen {
		m.showAnswers()
	}
	return m.putQuestion()
}

// askAgain asks the same question of a session that grew or was restored meanwhile. Until
// all answers are there, those that are known show.
func (m *Model) askAgain() tea.Cmd {
	if m.current != answerTab || m.asked.ask == nil || m.answers.Asking() {
		return nil
	}
	m.asked.again, m.asked.got = true, nil
	return m.putQuestion()
}

func (m *Model) showAnswers() {
	m.showTab(answerTab)
	m.focusOn(onTab)
}

// putQuestion begins to ask the question.
func (m *Model) putQuestion() tea.Cmd {
	of, past, after, q, lent := m.timeline.Timeline(), m.past, m.o.After, m.asked.question, m.lend()
	m.asked.of, m.asked.len = of, of.Len()
	what := q.title
	if m.asked.again {
		what = "" // no person waits for it
	}
	return m.start(asking, what, func(ctx context.Context, gen uint64, done *progress) tea.Msg {
		r := &reply{gen, of, make(chan foundAnswer, 256), after}
		session := past.to(of)
		go r.gather(ctx, q.ask(ctx, session, done))
		return begunMsg{lent, r}
	})
}

// reply is what answers come through.
type reply struct {
	gen uint64
	// of is the timeline that the nodes of the answers are those of.
	of    *model.Timeline
	found chan foundAnswer
	after func(time.Duration) <-chan time.Time
}

// foundAnswer is an answer, or the error that ends them.
type foundAnswer struct {
	answers.Answer
	err error
}

// gather hands on answers until there are no more, or the question is cancelled.
func (r *reply) gather(ctx context.Context, all iter.Seq2[answers.Answer, error]) {
	defer close(r.found)
	defer func() {
		if value := recover(); value != nil {
			select {
			case r.found <- foundAnswer{err: newPanicError(value)}:
			case <-ctx.Done():
			}
		}
	}()
	for a, err := range all {
		select {
		case r.found <- foundAnswer{a, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// What comes in one fact: as many answers as there are after so long, up to a number.
const (
	togetherFor  = 30 * time.Millisecond
	mostTogether = 4096
)

// read waits for an answer, and takes what else there is soon after.
func (r *reply) read() tea.Msg {
	msg := answeredMsg{reply: r}
	var late <-chan time.Time
	for len(msg.answers) < mostTogether {
		select {
		case f, more := <-r.found:
			switch {
			case !more:
				msg.last = true
				return msg
			case f.err != nil:
				msg.last, msg.err = true, f.err
				return msg
			}
			msg.answers = append(msg.answers, f.Answer)
			if late == nil {
				late = r.after(togetherFor)
			}
		case <-late:
			return msg
		}
	}
	return msg
}

// begun takes the timeline back, and has the first answers read.
func (m *Model) begun(msg begunMsg) tea.Cmd {
	m.returned(msg.lent)
	if !m.awaits(asking, msg.reply.gen) {
		return nil
	}
	return run(msg.reply.read)
}

// answered shows the answers that came.
func (m *Model) answered(msg answeredMsg) tea.Cmd {
	if !m.awaits(asking, msg.reply.gen) {
		return nil
	}
	m.dirty = true
	if m.asked.again {
		m.asked.got = append(m.asked.got, msg.answers...)
	} else {
		m.answers.Add(msg.answers, msg.reply.of)
	}
	if !msg.last {
		return run(msg.reply.read)
	}
	m.finish(asking, msg.reply.gen)
	if m.asked.again && msg.err == nil {
		m.answers.Replace(m.asked.got, msg.reply.of)
	}
	again := m.asked.again
	m.asked.again, m.asked.got = false, nil
	m.answers.End()
	if msg.err != nil {
		m.fail(msg.err)
		return nil
	}
	if !again {
		m.selectNear()
	}
	if m.asked.found != nil {
		return m.asked.found()
	}
	return nil
}

// selectNear moves the cursor of the answers, unless the person did, to the last one on the
// way to the snapshot at which the question was asked.
func (m *Model) selectNear() {
	t, from := m.timeline.Timeline(), m.asked.from
	if m.answers.Cursor() > 0 || from.of != t || from.node == model.NoNode {
		return
	}
	at := make(map[model.Node]int, len(m.answers.Rows()))
	for i, a := range m.answers.Rows() {
		at[a.Node] = i
	}
	for n := from.node; n != model.NoNode; n = t.Parent(n) {
		if i, ok := at[n]; ok {
			m.answers.Select(i)
			return
		}
	}
}

// doInAnswers carries out an action while the answers have the keys; ok is false for one
// that does what it does everywhere. The timeline goes along with the cursor.
func (m *Model) doInAnswers(a keymap.Action) (cmd tea.Cmd, ok bool) {
	switch a {
	case keymap.Open:
		return m.goToAnswer(), true
	case keymap.Back:
		if m.tasks[asking].running && m.tasks[asking].slow {
			return nil, false // which ends the question, and its answers stay
		}
		m.leaveAnswers()
		return nil, true
	}
	if !m.answers.Do(a) {
		return nil, false
	}
	m.preview()
	return nil, true
}

// preview moves the timeline's cursor to the answer under the cursor.
func (m *Model) preview() {
	if a, ok := m.answers.Selected(); ok && a.Node != model.NoNode {
		m.timeline.Select(a.Node)
	}
}

// goToAnswer goes to the snapshot of the answer under the cursor, in the tab in which the
// question was asked.
func (m *Model) goToAnswer() tea.Cmd {
	a, ok := m.answers.Selected()
	if !ok {
		return nil
	}
	m.showTab(m.asked.from.tab)
	m.focusOn(m.asked.from.focus)
	m.timeline.Select(a.Node)
	m.say(m.answers.Title() + ": " + strconv.Itoa(m.answers.Cursor()+1) + " of " + model.Count(len(m.answers.Rows()), m.asked.noun))
	return nil
}

// leaveAnswers goes back to where the question was asked.
func (m *Model) leaveAnswers() {
	m.stop(asking)
	m.answers.End()
	from := m.asked.from
	m.showTab(from.tab)
	m.focusOn(from.focus)
	if from.of == m.timeline.Timeline() {
		m.timeline.Select(from.node)
	}
}

// nextAnswer goes on by n answers from the one under the cursor.
func (m *Model) nextAnswer(n int) tea.Cmd {
	all := len(m.answers.Rows())
	if all == 0 {
		m.say(m.answers.Title() + ": none")
		return nil
	}
	m.answers.Select(((m.answers.Cursor()+n)%all + all) % all)
	m.preview()
	if m.current == answerTab {
		return nil
	}
	return m.goToAnswer()
}
