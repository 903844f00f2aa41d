package tui

import (
	"context"
	"iter"
	"strconv"
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/model"
	"hindcast/query"
	"hindcast/store"
	"hindcast/tui/answers"
)

// A question about time is asked in a command, and its answers come in as they are found:
//
//	askQuestion ─▶ begin ─▶ read ─▶ answered ─▶ read … ─▶ answered (the last)
//	           the timeline is given back        a few at a time
//
// They stand in the place of the tabs until the person goes to one of them, or back.

// past answers questions about one session. Its commands share the states that earlier ones read. It is safe
// for concurrent use.
type past struct {
	store store.Store

	mu      sync.Mutex
	session *query.Session
	of      *model.Timeline
	len     int
}

// sessionOf returns the session as a timeline tells it, which must not grow meanwhile.
func (p *past) sessionOf(t *model.Timeline) *query.Session {
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

// question is a question about a session.
type question struct {
	// title is the question as its answers are called, noun what one answer is.
	title, noun string
	// path is that of the value whose history the answers are, nil for another question.
	path *string
	// ask returns the answers. It runs in a command, and may read the timeline until it returns.
	ask func(ctx context.Context, s *query.Session, done *progress) iter.Seq2[answers.Answer, error]
	// found is called when all answers are there, nil for nothing more to do.
	found func() tea.Cmd
	// failed words the error that ended the answers early; nil to leave it.
	failed func(error) error
	// unseen says that the answers do not show by themselves; near, that the screen goes to
	// the first of them that is behind the snapshot under the cursor.
	unseen, near bool
}

// asked is the question that was asked last.
type asked struct {
	question
	// of is the timeline that the question is asked of, len how many visits it had.
	of  *model.Timeline
	len int
	// from is the snapshot under the cursor then, of the timeline of.
	from model.Node
	// said is the latest message about the answer on the screen.
	said string
	// went says that the screen went there.
	went bool
	// again says that the new answers replace the answers on the screen. got collects the new answers
	// meanwhile.
	again bool
	got   []answers.Answer
}

// askQuestion asks a question and shows its answers as they come.
func (m *Model) askQuestion(q question) tea.Cmd {
	from := m.timeline.SelectedNode()
	if m.current >= namedTabs && m.from.of == m.timeline.Timeline() {
		from = m.from.node
	}
	m.asked = asked{question: q, from: from}
	m.searched = inAnswers
	m.answers.Begin(q.title, q.noun, m.timeline.Timeline())
	if !q.unseen {
		m.showGuide(answerTab)
	}
	return m.putQuestion()
}

// askAgain asks the same question of a session that grew or was restored meanwhile. Until
// all answers are there, those that are known show.
func (m *Model) askAgain() tea.Cmd {
	if m.current != answerTab || m.asked.ask == nil || m.tasks[asking].running {
		return nil
	}
	m.asked.again, m.asked.got = true, nil
	return m.putQuestion()
}

// putQuestion begins to ask the question.
func (m *Model) putQuestion() tea.Cmd {
	of, q := m.timeline.Timeline(), m.asked.question
	m.asked.of, m.asked.len = of, of.Len()
	what := q.title
	if m.asked.again {
		what = "" // no person waits for it
	}
	return streamAnswers(m, asking, what, q.ask, func(got part[answers.Answer]) tea.Cmd { return m.showAnswers(of, got) })
}

// part is some of the answers to a question: no more come if last is set, and err is why they
// ended early.
type part[T any] struct {
	got  []T
	last bool
	err  error
}

// streamAnswers has a question asked of the session that is open, as work of a kind. took takes each part of the answers, the
// last one once the work has ended.
func streamAnswers[T any](
	m *Model, kind taskKind, what string,
	ask func(context.Context, *query.Session, *progress) iter.Seq2[T, error],
	took func(got part[T]) tea.Cmd,
) tea.Cmd {
	of, past, after, lent := m.timeline.Timeline(), m.past, m.o.After, m.lendTimeline()
	return m.begin(kind, what, func(ctx context.Context, gen uint64, done *progress) fact {
		r := &reply[T]{make(chan item[T], 256), after}
		go r.gatherAnswers(ctx, ask(ctx, past.sessionOf(of), done))
		return func() tea.Cmd {
			m.takeBack(lent)
			if !m.awaits(kind, gen) {
				return nil
			}
			return makeCommand(func() fact { return readReply(m, kind, gen, r, took) })
		}
	})
}

// readReply reads the next part of a reply, for the work of a generation. took takes each part.
func readReply[T any](m *Model, kind taskKind, gen uint64, r *reply[T], took func(part[T]) tea.Cmd) fact {
	got := r.readAnswers()
	return func() tea.Cmd {
		switch {
		case !m.awaits(kind, gen):
			return nil
		case got.last:
			m.finish(kind, gen)
			return took(got)
		}
		return tea.Batch(took(got), makeCommand(func() fact { return readReply(m, kind, gen, r, took) }))
	}
}

// answersOf returns an answer for each result of a query.
func answersOf[T any](results iter.Seq2[T, error], answer func(*T) answers.Answer) iter.Seq2[answers.Answer, error] {
	return func(yield func(answers.Answer, error) bool) {
		for result, err := range results {
			if !yield(answer(&result), err) {
				return
			}
		}
	}
}

// reply carries the answers to a question.
type reply[T any] struct {
	found chan item[T]
	after func(time.Duration) <-chan time.Time
}

// item is an answer, or the error that ends them.
type item[T any] struct {
	answer T
	err    error
}

// gatherAnswers hands on answers until there are no more, or the question is cancelled.
func (r *reply[T]) gatherAnswers(ctx context.Context, all iter.Seq2[T, error]) {
	defer close(r.found)
	send := func(i item[T]) bool {
		select {
		case r.found <- i:
			return i.err == nil
		case <-ctx.Done():
			return false
		}
	}
	defer func() {
		if value := recover(); value != nil {
			send(item[T]{err: newPanicError(value)})
		}
	}()
	for a, err := range all {
		if !send(item[T]{a, err}) {
			return
		}
	}
}

// What comes in one fact: as many answers as there are after so long, up to a number.
const (
	togetherFor  = 30 * time.Millisecond
	mostTogether = 4096
)

// readAnswers waits for an answer, and takes what else there is soon after.
func (r *reply[T]) readAnswers() (p part[T]) {
	var late <-chan time.Time
	for len(p.got) < mostTogether {
		select {
		case i, more := <-r.found:
			if p.last, p.err = !more || i.err != nil, i.err; p.last {
				return p
			}
			p.got = append(p.got, i.answer)
			if late == nil {
				late = r.after(togetherFor)
			}
		case <-late:
			return p
		}
	}
	return p
}

// showAnswers shows the answers that arrived; their nodes belong to the timeline of.
func (m *Model) showAnswers(of *model.Timeline, got part[answers.Answer]) tea.Cmd {
	m.dirty = true
	if m.asked.again {
		m.asked.got = append(m.asked.got, got.got...)
	} else {
		m.answers.Add(got.got, of)
	}
	near := m.goNear(got.last && got.err == nil)
	if !got.last {
		return near
	}
	if m.asked.again && got.err == nil {
		m.answers.Replace(m.asked.got, of)
	}
	again := m.asked.again
	m.asked.again, m.asked.got = false, nil
	m.answers.End()
	if got.err != nil {
		if m.asked.failed != nil {
			got.err = m.asked.failed(got.err)
		}
		m.fail(got.err)
		return nil
	}
	if !again && !m.asked.near {
		m.selectNear()
	}
	if m.asked.said != "" && m.message.text == m.asked.said {
		m.sayAnswer() // of all answers now
	}
	if near != nil {
		return near
	}
	if m.asked.found != nil && !again {
		return m.asked.found()
	}
	return nil
}

// selectNear moves the cursor of the answers, unless the person did, to the last one on the
// way to the snapshot at which the question was asked.
func (m *Model) selectNear() {
	t := m.timeline.Timeline()
	if m.answers.Cursor() > 0 || m.asked.of != t {
		return
	}
	at := make(map[model.Node]int, len(m.answers.Rows()))
	for i, a := range m.answers.Rows() {
		at[a.Node] = i
	}
	for n := m.asked.from; n != model.NoNode; n = t.Parent(n) {
		if i, ok := at[n]; ok {
			m.answers.Select(i)
			return
		}
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
	if m.current == answerTab {
		m.timeline.Select(m.answers.Node())
		return nil
	}
	return m.goToAnswer()
}

// goToAnswer goes to the snapshot of the answer under the cursor.
func (m *Model) goToAnswer() tea.Cmd {
	m.timeline.Select(m.answers.Node())
	m.sayAnswer()
	return nil
}

// sayAnswer says which answer the screen is at.
func (m *Model) sayAnswer() {
	m.asked.said = m.answers.Title() + ": " + strconv.Itoa(m.answers.Cursor()+1) + " of " + model.Count(len(m.answers.Rows()), m.asked.noun)
	m.say(m.asked.said)
}
