package tui

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/query"
	"hindcast/tui/answers"
)

// showsFacts are the tabs that show more of facts.
var showsFacts = map[query.FactPlace]keymap.Action{
	query.InMessages: keymap.ShowMessages, query.InFiles: keymap.ShowFiles, query.InContext: keymap.ShowContext,
	query.InState: keymap.ShowState, query.InChange: keymap.ShowDiff, query.InDiff: keymap.ShowMessages,
}

// askWhy puts together the facts about the last call that failed up to the snapshot under the cursor, or of the value
// under the cursor of the State tab. Each line leads to a snapshot.
func (m *Model) askWhy() tea.Cmd {
	t, n := m.timeline.Timeline(), m.timeline.SelectedNode()
	prices := m.o.Prices
	row, _ := m.list.FindSession(m.rowName(m.session))
	q := question{noun: "fact", unseen: true, found: m.showWhy}
	ask := func(ctx context.Context, s *query.Session) ([]query.Fact, error) {
		w, err := s.Explain(ctx, t, n, row.Project, prices)
		if err != nil {
			return nil, err
		}
		return w.Facts(t), nil
	}
	q.title = "Why a call failed up to " + t.Name(n)
	q.failed = func(err error) error {
		if errors.Is(err, query.ErrNoFailure) {
			return fmt.Errorf("no call failed on the line to %s", t.Name(n))
		}
		return err
	}
	if c := m.selectedTab(); c != nil && m.focus == onTab && m.tabs[m.current].scope == keymap.State && c.Path() != "" {
		path, err := query.ParsePath(c.Path())
		if err != nil {
			m.fail(err)
			return nil
		}
		q.title = "Why " + c.Path() + " is so at " + t.Name(n)
		ask = func(ctx context.Context, s *query.Session) ([]query.Fact, error) {
			return s.ExplainValue(ctx, t, n, path, row.Project)
		}
		q.failed = nil
	}
	q.ask = func(ctx context.Context, s *query.Session, _ *progress) iter.Seq2[answers.Answer, error] {
		facts, err := ask(ctx, s) // here the timeline is still lent
		return func(yield func(answers.Answer, error) bool) {
			for i := range facts {
				if !yield(factAnswer(t, &facts[i]), nil) {
					return
				}
			}
			if err != nil {
				yield(answers.Answer{}, err)
			}
		}
	}
	return m.askQuestion(q)
}

// factAnswer returns a fact as a row, which names the visit itself.
func factAnswer(t *model.Timeline, f *query.Fact) answers.Answer {
	a := answers.Answer{Node: f.Visit, Show: showsFacts[f.In]}
	if f.Is == "failed" || f.Is == "again" {
		a.Kind = answers.Failed
	}
	a.Text = fmt.Sprintf("%-*s  %s", len("before"), f.Is, strings.TrimPrefix(f.Text, t.Name(f.Visit)+" "))
	return a
}

// showWhy shows the facts, the first one under the cursor.
func (m *Model) showWhy() tea.Cmd {
	m.answers.Select(0)
	m.showGuide(answerTab)
	m.timeline.Select(m.answers.Node())
	return nil
}
