package tui

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/query"
	"hindcast/tui/answers"
	"hindcast/tui/field"
)

// askFind asks for an expression of jq, and goes to the next snapshot at which it becomes
// true; with no text, for the one that was asked for before.
func (m *Model) askFind() {
	m.input = &input{Field: field.New(m.styles, m.expr), label: "find where (jq): ", meanings: expressionMeanings, done: m.findWhere}
}

// findWhere goes to the next snapshot at which an expression becomes true.
func (m *Model) findWhere(text string) tea.Cmd {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	m.expr = text
	x, err := query.ParseExpr(text)
	if err != nil {
		m.showMistake(err)
		return nil
	}
	total := int64(m.timeline.Timeline().Len())
	return m.askQuestion(question{
		title: "Where " + text, noun: "snapshot", unseen: true, near: true,
		ask: func(ctx context.Context, s *query.Session, done *progress) iter.Seq2[answers.Answer, error] {
			done.of.Store(total)
			return func(yield func(answers.Answer, error) bool) {
				for f, err := range s.Find(ctx, x) {
					done.Store(int64(f.Visit) + 1)
					a, tells := foundAnswer(&f)
					if (tells || err != nil) && !yield(a, err) {
						return
					}
				}
			}
		},
	})
}

// foundAnswer describes what an expression turned to at a visit. tells is false for a turn that the question
// does not ask for.
func foundAnswer(f *query.Found) (a answers.Answer, tells bool) {
	a.Node = f.Visit
	switch f.Turn {
	case query.TurnsTrue:
		a.Kind, a.Text = answers.Added, "becomes true"
	case query.Fails:
		a.Kind, a.Text = answers.Failed, f.Why
	case query.Unknown:
		a.Kind, a.Text = answers.Unknown, f.Why
	default:
		return a, false
	}
	if f.OrBefore {
		a.Text = "here or before: " + a.Text
	}
	return a, true
}

// showMistake shows the error in an expression or a path, and marks its place.
func (m *Model) showMistake(err error) {
	m.fail(err)
	if wrong := (interface{ Mistake() (string, int) })(nil); errors.As(err, &wrong) {
		text, offset := wrong.Mistake()
		offset = max(0, min(offset, len(text)))
		m.message.whole = text[:offset] + " <-- here --> " + text[offset:] + "\n\n" + err.Error()
	}
}

// goNear goes to the first answer behind the snapshot at which the question was asked, as soon
// as there is one; once all answers are there, else to the first of them.
func (m *Model) goNear(all bool) tea.Cmd {
	if !m.asked.near || m.asked.went {
		return nil
	}
	rows := m.answers.Rows()
	i := slices.IndexFunc(rows, func(a answers.Answer) bool { return a.Node > m.asked.from })
	switch {
	case i < 0 && all && len(rows) > 0:
		i = 0
	case i < 0 && all:
		m.say(m.answers.Title() + ": never")
		return nil
	case i < 0:
		return nil
	}
	m.asked.went = true
	m.answers.Select(i)
	return tea.Batch(m.goToAnswer(), m.followCursor())
}
