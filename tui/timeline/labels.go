package timeline

import (
	"cmp"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/tui/cell"
	"hindcast/tui/match"
	"hindcast/tui/theme"
)

// Labels are the labels of a session at the nodes of its timeline. The zero Labels are empty. They are
// read-only.
type Labels struct {
	at      map[model.Node][]model.Label
	nodes   []model.Node // in the order of their rows
	refs    map[model.Ref][]model.Label
	lacking int // labels whose snapshot is not there
}

// PlaceLabels finds the snapshots of labels in a timeline. The time is linear in its length,
// so it belongs in a command.
func PlaceLabels(t *model.Timeline, list []model.Label) Labels {
	l := Labels{at: map[model.Node][]model.Label{}, refs: map[model.Ref][]model.Label{}}
	for i, n := range t.Places(list) {
		l.putLabel(t, n, list[i])
	}
	l.sort(t)
	return l
}

// putLabel takes in a label at a node, which may be NoNode.
func (l *Labels) putLabel(t *model.Timeline, n model.Node, label model.Label) {
	if n == model.NoNode {
		l.lacking++
		return
	}
	if len(l.at[n]) == 0 {
		l.nodes = append(l.nodes, n)
	}
	l.at[n] = append(l.at[n], label)
	ref := t.Header(n).Ref()
	l.refs[ref] = append(l.refs[ref], label)
}

// sort puts the nodes into the order of their rows.
func (l *Labels) sort(t *model.Timeline) {
	slices.SortFunc(l.nodes, func(a, b model.Node) int { return cmp.Compare(t.RowOf(a), t.RowOf(b)) })
}

// Of returns the labels of a node, by name, or nil.
func (l Labels) Of(n model.Node) []model.Label { return l.at[n] }

// Nodes returns the nodes that have labels, in the order of their rows.
func (l Labels) Nodes() []model.Node { return l.nodes }

// Find returns the node with a label, or NoNode.
func (l Labels) Find(name string) model.Node {
	for n, list := range l.at {
		if slices.ContainsFunc(list, func(label model.Label) bool { return label.Name == name }) {
			return n
		}
	}
	return model.NoNode
}

// Lacking reports whether the snapshots of some labels are not there. They may come yet.
func (l Labels) Lacking() bool { return l.lacking > 0 }

// labelsIn returns the labels for another timeline, as far as their snapshots stand in the same
// place there from the front or from the back: until they are placed anew.
func (l Labels) labelsIn(was, is *model.Timeline) Labels {
	if len(l.nodes) == 0 {
		return Labels{}
	}
	moved := Labels{at: map[model.Node][]model.Label{}, refs: map[model.Ref][]model.Label{}, lacking: l.lacking}
	for _, n := range l.nodes {
		to := model.NoNode
		for _, guess := range []model.Node{n, n + model.Node(is.Len()-was.Len())} {
			if to == model.NoNode && guess >= 0 && int(guess) < is.Len() && is.Header(guess).Ref() == was.Header(n).Ref() {
				to = guess
			}
		}
		for _, label := range l.at[n] {
			moved.putLabel(is, to, label)
		}
	}
	moved.sort(is)
	return moved
}

// labelQuery begins a query for labels alone.
const labelQuery = "label:"

// labelTest returns a test whether the name of a node's label holds a text. It returns nil for a query that
// does not search labels.
func (l Labels) labelTest(query string) func(*model.Timeline, model.Node) bool {
	text, ok := strings.CutPrefix(query, labelQuery)
	if !ok {
		return nil
	}
	q := match.New(text)
	return func(t *model.Timeline, n model.Node) bool {
		return slices.ContainsFunc(l.refs[t.Header(n).Ref()], func(label model.Label) bool { return text == "" || q.InString(label.Name) })
	}
}

// holdsText reports whether the name or the note of a label of a snapshot holds a text.
func (l Labels) holdsText(ref model.Ref, q match.Query) bool {
	return len(l.refs) > 0 && slices.ContainsFunc(l.refs[ref], func(label model.Label) bool { return q.InString(label.Name) || q.InString(label.Note) })
}

// Labels returns the labels that show.
func (p *Pane) Labels() Labels { return p.labels }

// SetLabels shows labels that were placed in the timeline that shows, in place of others.
func (p *Pane) SetLabels(l Labels) {
	p.labels, p.scrub = l, nil
	p.showLabelled()
	p.refold()
}

// showLabelled shows the row of each call that has a label.
func (p *Pane) showLabelled() {
	for _, n := range p.labels.nodes {
		if p.folds.IsInResult(n) {
			p.folds.ShowSteps(n)
		}
	}
}

// drawLabels draws the names of a row's labels before its title, in a third of the cells that
// are left at the most.
func (p *Pane) drawLabels(r *cell.Row, st theme.Style, n model.Node) {
	list := p.labels.Of(n)
	if len(list) == 0 {
		return
	}
	text := Names(list)
	r.Column(st, text, min(cell.Width(text), max(r.Room()/3, 0)))
	r.Fill(st, 1)
}

// Names returns the names of labels as a row shows them. It is untrusted.
func Names(list []model.Label) string {
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].Name
	}
	return "(" + strings.Join(names, ", ") + ")"
}
