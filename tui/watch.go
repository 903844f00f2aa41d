package tui

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/query"
	"hindcast/tui/cell"
	"hindcast/tui/field"
	"hindcast/tui/timeline"
)

// A watch is an expression whose value stands in each row of the timeline. Values are asked
// for the rows in sight alone, off the loop, and kept while the timeline stays.

// watches are the expressions that are watched in the store that is open.
type watches struct {
	list []*watch
}

// watch is one of them.
type watch struct {
	text string
	expr *query.Expr
	// of is the timeline that the values are of.
	of     *model.Timeline
	values map[model.Node]string
}

const (
	// mostWatches is how many columns there may be; the last ones have room on wide screens.
	mostWatches = 8
	// watchWidth is how many cells a column takes at most, and leastWatch at the least.
	watchWidth, leastWatch = 12, 5
)

// askWatch asks what to watch. A text that is watched already is watched no longer, as is the
// last one where no text is given.
func (m *Model) askWatch() {
	text := ""
	if c := m.selectedTab(); c != nil && m.focus == onTab {
		text = c.Path()
	}
	label := "watch (jq or path): "
	if len(m.watches.list) > 0 {
		label = "watch (jq or path; none: one less): "
	}
	m.input = &input{Field: field.New(m.styles, text), label: label, meanings: watchMeanings, done: m.setWatch}
}

// setWatch watches one more expression, or one less.
func (m *Model) setWatch(text string) tea.Cmd {
	w := &m.watches
	text = strings.TrimSpace(text)
	at := slices.IndexFunc(w.list, func(w *watch) bool { return w.text == text })
	if text == "" {
		at = len(w.list) - 1
	}
	switch {
	case at >= 0:
		w.list = slices.Delete(w.list, at, at+1)
	case text == "":
		return nil
	case len(w.list) == mostWatches:
		m.say("no more than 8 are watched at once")
		return nil
	default:
		x, err := parseWatch(text)
		if err != nil {
			m.showMistake(err)
			return nil
		}
		w.list = append(w.list, &watch{text: text, expr: x})
	}
	m.stop(watching)
	if hidden := m.showColumns(); hidden > 0 {
		m.say(model.Count(hidden, "watch") + " has no room: make the timeline larger")
	}
	return m.keepWatches()
}

// parseWatch reads an expression of jq, or a path.
func parseWatch(text string) (*query.Expr, error) {
	if strings.HasPrefix(text, "/") {
		path, err := query.ParsePath(text)
		if err != nil {
			return nil, err
		}
		text = path.JQ()
	}
	return query.ParseExpr(text)
}

// keepWatches has them kept for the next time.
func (m *Model) keepWatches() tea.Cmd {
	if m.o.Watches == nil {
		return nil
	}
	s, keeper, ctx := m.o.Store, m.o.Watches, m.ctx
	var texts []string
	for _, w := range m.watches.list {
		texts = append(texts, w.text)
	}
	return makeCommand(func() fact {
		if err := keeper.SetWatches(ctx, s, texts); err != nil {
			return func() tea.Cmd {
				m.fail(err)
				return nil
			}
		}
		return nil
	})
}

// readWatches has the watches of the open store read.
func (m *Model) readWatches() tea.Cmd {
	if m.o.Watches == nil {
		return nil
	}
	s, keeper, ctx := m.o.Store, m.o.Watches, m.ctx
	return makeCommand(func() fact {
		texts, err := keeper.Watches(ctx, s)
		return func() tea.Cmd {
			if s == m.o.Store {
				m.watchesRead(texts, err)
			}
			return nil
		}
	})
}

// watchesRead shows what was watched the last time. What is no expression any more is left out.
func (m *Model) watchesRead(texts []string, err error) {
	if len(m.watches.list) > 0 {
		return
	}
	if err != nil {
		m.fail(err)
		return
	}
	for _, text := range texts[:min(len(texts), mostWatches)] {
		if x, err := parseWatch(text); err == nil {
			m.watches.list = append(m.watches.list, &watch{text: text, expr: x})
		}
	}
	m.showColumns()
	m.dirty = true
}

// showColumns has the timeline show its columns. It returns how many have no room.
func (m *Model) showColumns() (hidden int) {
	var columns []timeline.Column
	if m.usage.column {
		columns = append(columns, m.tokensColumn())
		if m.usage.bill != nil && m.usage.isFilled {
			columns = append(columns, m.fullColumn())
		}
	}
	if m.files.column {
		columns = append(columns, m.linesColumn())
	}
	for _, w := range m.watches.list {
		columns = append(columns, timeline.Column{
			Title: w.title(), Width: max(min(cell.Width(w.title()), watchWidth), leastWatch),
			Text: func(_, last model.Node) (string, bool) { text, known := w.values[last]; return text, known },
		})
	}
	m.timeline.SetColumns(columns)
	return len(columns) - m.timeline.CountFitting()
}

// title is the last key of a path, or the expression.
func (w *watch) title() string {
	at := strings.LastIndexAny(w.text, "/.")
	if last := w.text[at+1:]; at >= 0 && last != "" && !strings.ContainsAny(w.text, " |()\"[]") {
		return last
	}
	return w.text
}

// mostValues bounds the values of a watch that are kept.
const mostValues = 1 << 16

// watchedValue is the value of a watch at a snapshot.
type watchedValue struct {
	of   *watch
	node model.Node
	text string
}

// lookUp has the values of the rows in sight worked out that are not known yet.
func (m *Model) lookUp() tea.Cmd {
	if len(m.watches.list) == 0 || m.place != inSession || m.tasks[watching].running {
		return nil
	}
	t := m.timeline.Timeline()
	wanted := map[*watch][]model.Node{}
	for _, w := range m.watches.list {
		if w.of != t || len(w.values) > mostValues {
			w.of, w.values = t, map[model.Node]string{}
		}
		for _, n := range m.timeline.InSight() {
			if _, known := w.values[n]; !known {
				wanted[w] = append(wanted[w], n)
			}
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	bad := m.styles.Glyphs.Bad
	return streamAnswers(m, watching, "", func(ctx context.Context, s *query.Session, _ *progress) iter.Seq2[watchedValue, error] {
		return func(yield func(watchedValue, error) bool) {
			for w, nodes := range wanted {
				for v, err := range s.Values(ctx, nodes, w.expr) {
					if !yield(watchedValue{w, v.Visit, shownValue(&v, bad)}, err) {
						return
					}
				}
			}
		}
	}, func(got part[watchedValue]) tea.Cmd { return m.valuesWatched(t, got) })
}

// shownValue returns a value as a column shows it: a string as it reads.
func shownValue(v *query.Value, bad string) string {
	switch v.Turn {
	case query.Fails:
		return bad
	case query.Unknown:
		return "?"
	}
	if len(v.JSON) > 1 && v.JSON[0] == '"' && !v.Cut && jsontape.Valid(v.JSON) {
		return conversation.OneLine(jsontape.Unquote(v.JSON))
	}
	return conversation.OneLine(string(v.JSON))
}

// valuesWatched shows values that were worked out.
func (m *Model) valuesWatched(of *model.Timeline, got part[watchedValue]) tea.Cmd {
	for _, v := range got.got {
		if v.of.of == of {
			v.of.values[v.node] = v.text
			m.dirty = true
		}
	}
	if got.err != nil {
		m.watches.list = nil
		m.showColumns()
		m.fail(fmt.Errorf("watch: %w", got.err))
	}
	return nil
}

// forgetValues has all values worked out anew: what a state was may have changed.
func (w *watches) forgetValues() {
	for _, w := range w.list {
		w.of = nil
	}
}
