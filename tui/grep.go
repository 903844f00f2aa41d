package tui

import (
	"context"
	"iter"
	"strings"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/query"
	"hindcast/store"
	"hindcast/tui/answers"
)

// A search looks first at the place where the keys are. A key widens it to all snapshots of the open session,
// and then to all sessions of the store.

// reach is how far a search looks.
type reach struct {
	label string
	// start begins the search; nil for the one where the keys are.
	start func(m *Model, text string) tea.Cmd
}

var reaches = []reach{
	{},
	{"search all snapshots: ", func(m *Model, text string) tea.Cmd { return m.grepOpen(text, query.Literal(text, query.SmartCase)) }},
	{"search all snapshots (regexp): ", func(m *Model, text string) tea.Cmd { return m.grepRegexp(text, m.grepOpen) }},
	{"search all sessions: ", func(m *Model, text string) tea.Cmd { return m.grepStore(text, query.Literal(text, query.SmartCase)) }},
	{"search all sessions (regexp): ", func(m *Model, text string) tea.Cmd { return m.grepRegexp(text, m.grepStore) }},
}

// widenSearch has the search that is typed look further, or after the widest where the keys are.
func (m *Model) widenSearch() {
	in := m.input
	in.reach = (in.reach + 1) % len(reaches)
	to := reaches[in.reach]
	if to.start == nil {
		text := in.Text()
		m.askSearch()
		m.input.SetText(text)
		return
	}
	in.label = to.label
	in.done = func(text string) tea.Cmd {
		if text == "" {
			return nil
		}
		return to.start(m, text)
	}
}

// grepRegexp searches for a regular expression.
func (m *Model) grepRegexp(text string, search func(string, *query.Pattern) tea.Cmd) tea.Cmd {
	pattern, err := query.Regexp(text, query.SmartCase)
	if err != nil {
		m.fail(err)
		return nil
	}
	return search(text, pattern)
}

// grepOpen lists where in the session a pattern is found.
func (m *Model) grepOpen(text string, pattern *query.Pattern) tea.Cmd {
	return m.askQuestion(question{
		title: "Search " + text, noun: "text",
		ask: func(ctx context.Context, s *query.Session, _ *progress) iter.Seq2[answers.Answer, error] {
			return answersOf(s.Grep(ctx, query.Search{Pattern: pattern}), hitAnswer)
		},
	})
}

// grepStore lists where in all sessions of the store a pattern is found.
func (m *Model) grepStore(text string, pattern *query.Pattern) tea.Cmd {
	s := m.o.Store
	return m.askQuestion(question{
		title: "Search all sessions " + text, noun: "text", everywhere: true,
		ask: func(ctx context.Context, _ *query.Session, done *progress) iter.Seq2[answers.Answer, error] {
			return func(yield func(answers.Answer, error) bool) {
				for info, err := range pattern.Candidates(ctx, query.Sources(s, store.AnyOrder(ctx, s))) {
					if err != nil {
						yield(answers.Answer{}, err)
						return
					}
					done.Add(1)
					if !info.Passed && !grepSession(ctx, s, info.ID, pattern, yield) {
						return
					}
				}
			}
		},
	})
}

// grepSession yields where in a session a pattern is found, and reports whether to go on. A
// session that cannot be read is an answer that says so.
func grepSession(ctx context.Context, s store.Store, session string, pattern *query.Pattern, yield func(answers.Answer, error) bool) bool {
	content, _, err := readAll(ctx, s, session, new(progress))
	if ctx.Err() != nil {
		return yield(answers.Answer{}, ctx.Err())
	}
	if err != nil {
		return yield(answers.Answer{Node: model.NoNode, Session: session, Kind: answers.Failed, Text: err.Error()}, nil)
	}
	t := content.Timeline
	for hit, err := range query.Open(s, t).Grep(ctx, query.Search{Pattern: pattern}) {
		a := answers.Answer{Node: model.NoNode, Session: session}
		switch {
		case ctx.Err() != nil:
			return yield(a, ctx.Err())
		case err != nil:
			a.Kind, a.Text = answers.Failed, err.Error()
		default:
			a.Text, a.Name, a.Ref = hitAnswer(&hit).Text, t.Name(hit.Visit), t.Header(hit.Visit).Ref()
		}
		if !yield(a, nil) {
			return false
		}
		if err != nil {
			break
		}
	}
	return true
}

// before is how many bytes of a text stand before what was found in it.
const before = 24

// hitAnswer says in a line where a text stands, and the text around what was found.
func hitAnswer(hit *query.Hit) answers.Answer {
	where := hit.Path
	if hit.Message >= 0 {
		where = hit.Role
		if hit.Tool != "" {
			where += " " + hit.Tool
		}
	}
	from := max(0, min(hit.From, len(hit.Text))-before)
	for from > 0 && !utf8.RuneStart(hit.Text[from]) {
		from--
	}
	to := min(len(hit.Text), hit.To+4*briefText)
	text := hit.Text[from:to]
	if from > 0 {
		text = "…" + text
	}
	return answers.Answer{Node: hit.Visit, Text: strings.TrimSpace(where + "  " + conversation.OneLine(text))}
}

// goTo goes to a snapshot of a session of the store.
func (m *Model) goTo(session string, ref model.Ref) tea.Cmd {
	var open tea.Cmd
	if session != m.session {
		open = m.openSession(session)
	}
	m.landing = ref
	m.landAtTarget()
	return open
}

// landAtTarget goes to the snapshot that the person wanted to go to, once the session that has it is
// read so far.
func (m *Model) landAtTarget() {
	if m.landing == (model.Ref{}) {
		return
	}
	t := m.timeline.Timeline()
	for n := model.Node(t.Len()) - 1; n >= 0; n-- {
		if t.Header(n).Ref() == m.landing {
			m.timeline.Select(n)
			m.landing = model.Ref{}
			return
		}
	}
}
