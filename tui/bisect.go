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
	"hindcast/tui/field"
)

// askBisect asks what is true of good states, to find the first bad snapshot behind the one
// that is marked, which is good, up to the one under the cursor, which is bad.
func (m *Model) askBisect() {
	if m.timeline.MarkedNode() == m.timeline.SelectedNode() {
		m.say("the marked snapshot is the good one: go to a bad one behind it")
		return
	}
	m.input = &input{Field: field.New(m.styles, ""), label: "bisect: good where (jq): ", meanings: expressionMeanings, done: m.findFirstBad}
}

// findFirstBad finds the first bad snapshot and goes there. Each test is an answer.
func (m *Model) findFirstBad(text string) tea.Cmd {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	x, err := query.ParseExpr(text)
	if err != nil {
		m.showMistake(err)
		return nil
	}
	t, good, bad := m.timeline.Timeline(), m.timeline.MarkedNode(), m.timeline.SelectedNode()
	var end query.Tested // written before the last answer is there, read when it is
	return m.askQuestion(question{
		title: "Bisect " + t.Name(good) + ".." + t.Name(bad) + " by " + text, noun: "test",
		ask: func(ctx context.Context, s *query.Session, _ *progress) iter.Seq2[answers.Answer, error] {
			return answersOf(s.Bisect(ctx, good, bad, s.TestOf(x)), func(step *query.Tested) answers.Answer {
				end = *step
				return testAnswer(step)
			})
		},
		found:  func() tea.Cmd { return m.showFirstBad(end) },
		failed: func(err error) error { return bisectRefused(err, t, good, bad) },
	})
}

// testAnswer describes the result of a test.
func testAnswer(step *query.Tested) answers.Answer {
	a := answers.Answer{Node: step.Visit, Text: step.Verdict.String()}
	switch step.Verdict {
	case query.Good:
		a.Kind = answers.Added
	case query.Bad:
		a.Kind = answers.Removed
	case query.Skipped:
		a.Kind = answers.Unknown
		a.Text += ": " + step.Why
	}
	return a
}

// showFirstBad goes to the first bad snapshot.
func (m *Model) showFirstBad(end query.Tested) tea.Cmd {
	t := m.timeline.Timeline()
	if m.asked.of != t {
		return nil
	}
	m.showTab(tabOf(keymap.ShowDiff))
	m.against = theParent
	m.focusOn(onTimeline)
	m.timeline.Select(end.Bad)
	said := t.Name(end.Bad) + " is the first bad snapshot"
	if n := len(end.Skipped); n > 0 {
		said += ", or one of " + model.Count(n, "snapshot") + " before it that cannot be tested"
	}
	if end.Other != model.NoNode {
		said += "; not the only border: see " + t.Name(end.Other)
	}
	m.say(said)
	return m.followCursor()
}

// bisectRefused says in names why a bisection between two snapshots cannot be.
func bisectRefused(err error, t *model.Timeline, good, bad model.Node) error {
	behind := (*query.NotBehindError)(nil)
	switch {
	case errors.As(err, &behind) && behind.Branch != model.NoNode:
		return fmt.Errorf("bisect: %s and %s parted at %s: mark a good one before that", t.Name(good), t.Name(bad), t.Name(behind.Branch))
	case errors.As(err, &behind):
		return fmt.Errorf("bisect: %s does not come of %s: mark a good one before it", t.Name(bad), t.Name(good))
	case errors.Is(err, query.ErrNotBad):
		return fmt.Errorf("bisect: %s is good by that test: go to a bad one", t.Name(bad))
	}
	return err
}
