package tui

import (
	"context"
	"iter"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/diff"
	"hindcast/keymap"
	"hindcast/model"
	"hindcast/query"
	"hindcast/tui/answers"
	"hindcast/tui/field"
)

// askHistory lists the changes of the value under the cursor. Without such a value it asks for a path.
func (m *Model) askHistory() tea.Cmd {
	if m.current == tabOf(keymap.ShowFiles) {
		return m.askFile()
	}
	if c := m.selectedTab(); c != nil {
		if path, err := query.ParsePath(c.Path()); err == nil && path.Indexed() {
			return m.askTrace(path, c.Path())
		}
		return m.askHistoryOf(c.Path(), false, nil)
	}
	m.input = &input{Field: field.New(m.styles, "/"), label: "history of the value at: ", meanings: pathMeanings, done: func(text string) tea.Cmd {
		return m.askHistoryOf(text, false, nil)
	}}
	return nil
}

// askHistoryOf asks for the changes of the value at a path.
func (m *Model) askHistoryOf(text string, unseen bool, found func() tea.Cmd) tea.Cmd {
	path, err := query.ParsePath(text)
	if err != nil {
		m.fail(err)
		return nil
	}
	title := "History of " + text
	if text == "" {
		title = "History of the state"
	}
	return m.askQuestion(question{
		title: title, noun: "change", path: &text, unseen: unseen, found: found,
		ask: func(ctx context.Context, s *query.Session, _ *progress) iter.Seq2[answers.Answer, error] {
			return answersOf(s.History(ctx, path), func(c *query.Change) answers.Answer { return changeAnswer(ctx, c) })
		},
	})
}

// askTrace lists the changes of the value under the cursor, which is in a list, wherever in
// that it was on the line of the snapshot.
func (m *Model) askTrace(path query.Path, pointer string) tea.Cmd {
	n := m.timeline.SelectedNode()
	return m.askQuestion(question{
		title: "History of " + pointer + ", followed", noun: "change",
		ask: func(ctx context.Context, s *query.Session, _ *progress) iter.Seq2[answers.Answer, error] {
			return answersOf(s.Trace(ctx, n, path), func(c *query.Traced) answers.Answer {
				a := changeAnswer(ctx, &c.Change)
				if c.Path != pointer {
					a.Text = "at " + c.Path + ": " + a.Text
				}
				return a
			})
		},
	})
}

// mostAnswered is how many bytes of values an answer shows: as many as a wide row has room for.
const mostAnswered = 160

// mostCompared bounds the bytes of two lists or objects whose changes an answer names. Within it, comparing
// them takes a fraction of the time that finding them takes.
const mostCompared = 64 << 10

// changeAnswer describes a change of a value.
func changeAnswer(ctx context.Context, c *query.Change) answers.Answer {
	a := answers.Answer{Node: c.Visit}
	before := ""
	if c.OrBefore {
		before = "here or before: "
	}
	switch {
	case c.Unknown != "":
		a.Kind, a.Text = answers.Unknown, c.Unknown
	case c.Old == nil:
		a.Kind, a.Text = answers.Added, before+startOfValue(c.New, mostAnswered)
	case c.New == nil:
		a.Kind, a.Text = answers.Removed, before+startOfValue(c.Old, mostAnswered)
	default:
		a.Kind, a.Text = answers.Changed, before+describeChange(ctx, c.Old, c.New)
	}
	if number, err := strconv.ParseFloat(string(c.New), 64); err == nil {
		a.Number, a.Numeric = number, true
	}
	return a
}

// describeChange says how a value became another: of two lists or objects what changed in them, since
// they mostly begin alike.
func describeChange(ctx context.Context, old, new []byte) string {
	if isBranch(old) && isBranch(new) && old[0] == new[0] && len(old)+len(new) <= mostCompared {
		if r, err := diff.Compare(ctx, diff.Bytes(old), diff.Bytes(new)); err == nil {
			var words []string
			for _, e := range r.Changes() {
				if len(words) == mostKeys {
					words = append(words, "and more")
					break
				}
				if e.Op != diff.Respelled {
					words = append(words, changeLine(r, e))
				}
			}
			return strings.Join(words, ", ")
		}
	}
	return startOfValue(old, mostAnswered/2) + " → " + startOfValue(new, mostAnswered/2)
}

// isBranch reports whether a value is a list or an object.
func isBranch(value []byte) bool { return len(value) > 0 && (value[0] == '[' || value[0] == '{') }

// stepToChange goes to the snapshot before or after this one on its line at which the value
// under the cursor changed.
func (m *Model) stepToChange(to keymap.Action) tea.Cmd {
	c := m.selectedTab()
	if c == nil {
		m.say("no value is selected: " + keymap.Label(m.keys.Keys(keymap.Session, keymap.ShowState)) + " shows the state")
		return nil
	}
	path := c.Path()
	if !m.knowsHistory(path) {
		return m.askHistoryOf(path, true, func() tea.Cmd { return m.takeStep(to, path) })
	}
	return m.takeStep(to, path)
}

// knowsHistory reports whether the answers are all changes of the value at a path, in the
// session as it is now.
func (m *Model) knowsHistory(path string) bool {
	t := m.timeline.Timeline()
	return m.asked.path != nil && *m.asked.path == path && !m.answers.Asking() && m.asked.of == t && m.asked.len == t.Len()
}

// takeStep goes to the nearest answer on the line of the snapshot under the cursor.
func (m *Model) takeStep(to keymap.Action, path string) tea.Cmd {
	t, at := m.timeline.Timeline(), m.timeline.SelectedNode()
	step, where := t.Parent, "before"
	if to == keymap.NextSet {
		step, where = t.Next, "after"
	}
	changed := make(map[model.Node]int, len(m.answers.Rows()))
	for i, a := range m.answers.Rows() {
		changed[a.Node] = i
	}
	for n := step(at); n != model.NoNode; n = step(n) {
		if i, ok := changed[n]; ok {
			m.answers.Select(i)
			m.timeline.Select(n)
			m.say(path + " " + m.answers.SignedText(i))
			return m.followCursor()
		}
	}
	m.say(path + ": no change " + where + " this snapshot")
	return nil
}
