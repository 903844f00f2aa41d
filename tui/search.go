package tui

import (
	"context"
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/tui/dialog"
	"hindcast/tui/timeline"
)

// editField carries out an action in the field of the last line.
func (m *Model) editField(a keymap.Action) tea.Cmd {
	in := m.input
	then := in.gone
	switch a {
	case keymap.Accept:
		then = in.done
	case keymap.Back:
	case keymap.Help:
		m.openDialog(dialog.NewSheet(m.styles, m.keys, whatCanBeTyped, in.meanings))
		return nil
	default:
		return nil
	}
	m.input = nil
	if then == nil {
		return nil
	}
	return then(in.Text())
}

// findText looks for a text where the keys are. An empty text is the last one again.
func (m *Model) findText(text string) tea.Cmd {
	if text == "" {
		text = m.query
	}
	if text == "" {
		return nil
	}
	m.query = text
	all, labels := m.content, m.timeline.Labels()
	look := func(ctx context.Context) (any, error) { return timeline.Find(ctx, all, labels, text) }
	if m.focus == onTab {
		t := m.tabs[m.current]
		content := t.content
		if t.find == nil || content == nil {
			m.say("there is nothing to search in " + t.pane.Title())
			return nil
		}
		look = func(ctx context.Context) (any, error) { return t.find(ctx, content, text) }
	}
	at := m.searchPlace()
	var lent uint64
	if at.focus == onTimeline {
		lent = m.lendTimeline()
	}
	return m.startLent(finding, "searching", lent, func(ctx context.Context, _ *progress) fact {
		matches, err := look(ctx)
		return func() tea.Cmd { return m.showMatches(at, matches, err) }
	})
}

// searched is where a search looks: the box that has the keys, and what it
// shows.
type searched struct {
	focus   focus
	tab     int
	subject subjectKey
}

// inAnswers is where n and N look once a question was asked, until a text is searched for.
var inAnswers = searched{focus: onTab, tab: answerTab}

// searchPlace returns where a search that starts now looks.
func (m *Model) searchPlace() searched {
	if m.focus == onTimeline {
		return searched{focus: onTimeline, subject: subjectKey{reading: m.info.reading}}
	}
	return searched{onTab, m.current, m.tabs[m.current].shows}
}

// showMatches goes to the first match.
func (m *Model) showMatches(at searched, matches any, err error) tea.Cmd {
	if at != m.searchPlace() {
		return nil
	}
	if err != nil {
		m.fail(err)
		return nil
	}
	m.searched = at
	if at.focus == onTimeline {
		m.timeline.SetMatches(matches.(timeline.Matches))
	} else {
		m.tabs[at.tab].show(matches)
	}
	return tea.Batch(m.stepMatches(0), m.missAim(), m.followCursor())
}

// searchOn goes on by n matches. It searches again when the matches belong to another pane or content.
func (m *Model) searchOn(n int) tea.Cmd {
	if m.searched == inAnswers {
		return m.nextAnswer(n)
	}
	if m.searched != m.searchPlace() {
		return m.findText(m.query)
	}
	return m.stepMatches(n)
}

// stepMatches moves by n matches and says where that is.
func (m *Model) stepMatches(n int) tea.Cmd {
	step := m.timeline.Match
	if m.focus == onTab {
		step = m.tabs[m.current].step
	}
	at, of := step(n)
	if of == 0 {
		m.say(fmt.Sprintf("%q was not found", m.query))
		return nil
	}
	m.say(fmt.Sprintf("%q: match %d of %d", m.query, at, of))
	return nil
}
