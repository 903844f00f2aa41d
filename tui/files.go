package tui

import (
	"context"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/filechange"
	"hindcast/query"
	"hindcast/store"
	"hindcast/tui/answers"
	"hindcast/tui/filestab"
	"hindcast/tui/timeline"
)

// The changes of files by the steps of a session are read off the loop, once the Files tab or the column of lines shows, and
// again where the session changed.
//
//	Files, ± ─▶ steps, some at a time ─▶ read ─▶ tab, column

// fileChanges holds the changes of files by the steps of the session.
type fileChanges struct {
	column bool // shows
	// begun is the extent that was read last, or is being read.
	begun extent
	// of is the timeline that the steps are of, nil while none is read.
	of    *model.Timeline
	dir   string // the folder in which the agent works, or ""
	steps map[model.Node]query.FileStep
	// coming are the steps while they are read.
	coming map[model.Node]query.FileStep
}

// readingFiles is the text that stands until the changes show.
const readingFiles = "reading what was done to files"

// linesWidth is how wide the column of lines is.
const linesWidth = 9

// linesColumn returns the column with the lines that each snapshot adds to files and removes, and each folded turn.
func (m *Model) linesColumn() timeline.Column {
	return timeline.Column{Title: "±", Width: linesWidth, Right: true, Text: func(n, last model.Node) (string, bool) {
		f := &m.files
		if f.of == nil || f.of != m.timeline.Timeline() {
			return "", false
		}
		added, removed, unknown := 0, 0, false
		for _, at := range pathBetween(f.of, f.of.Parent(n), last) {
			step := f.steps[at]
			for _, c := range step.Changes() {
				more, less := c.Count()
				added, removed, unknown = added+more, removed+less, unknown || len(c.Hunks) == 0
			}
		}
		text := conversation.Change(added, removed)
		if text == "" && unknown {
			text = "±"
		}
		return text, true
	}}
}

// pathBetween returns the visits behind one up to another that comes of it, the first one first.
func pathBetween(t *model.Timeline, from, to model.Node) (list []model.Node) {
	for n := to; n != from && n != model.NoNode; n = t.Parent(n) {
		list = append(list, n)
	}
	slices.Reverse(list)
	return list
}

// showEdits shows the column of lines, or no longer.
func (m *Model) showEdits() tea.Cmd {
	m.files.column = !m.files.column
	m.showColumns()
	if m.files.column && m.timeline.CountFitting() == 0 {
		m.say("the lines have no room: make the timeline larger")
	}
	return nil
}

// readFiles reads the changes of files by the session, where they show and are not known yet.
func (m *Model) readFiles() tea.Cmd {
	t, f := m.timeline.Timeline(), &m.files
	if m.place != inSession || t.Len() == 0 || m.content.More || m.tasks[filing].running || f.begun == (extent{t, t.Len()}) ||
		!f.column && m.current != tabOf(keymap.ShowFiles) {
		return nil
	}
	f.begun, f.coming = extent{t, t.Len()}, map[model.Node]query.FileStep{}
	what := ""
	if f.of != t {
		what = readingFiles
	}
	features, last, dir := m.features, t.Header(model.Node(t.Len()-1)).Ref(), "" // dir is set before the first part comes
	return streamAnswers(m, filing, what, func(ctx context.Context, s *query.Session, _ *progress) iter.Seq2[query.FileStep, error] {
		dir = folderOf(ctx, features, last)
		return s.AllFiles(ctx, false)
	}, func(got part[query.FileStep]) tea.Cmd { return m.filesRead(t, &dir, got) })
}

// folderOf returns the folder in which an agent works, as the facts of a snapshot tell it, or "".
func folderOf(ctx context.Context, f store.Features, ref model.Ref) string {
	if f.Facts == nil {
		return ""
	}
	facts, err := f.Facts(ctx, ref)
	if err != nil {
		return "" // paths are shown whole
	}
	for _, fact := range facts {
		if fact.Label == "folder" {
			return fact.Value
		}
	}
	return ""
}

// filesRead takes in some steps. Once all are known, the tab and the column show them.
func (m *Model) filesRead(of *model.Timeline, dir *string, got part[query.FileStep]) tea.Cmd {
	f := &m.files
	for _, step := range got.got {
		f.coming[step.Visit] = step
	}
	if !got.last {
		return nil
	}
	if got.err != nil {
		m.fail(got.err)
		return nil
	}
	if of != m.timeline.Timeline() {
		return nil // of a session that was read anew
	}
	f.of, f.dir, f.steps, f.coming = of, *dir, f.coming, nil
	m.dirty = true
	m.outdateTab(keymap.ShowFiles)
	return m.followCursor()
}

// filesOf returns the changes for the Files tab: since the snapshot that the one under the cursor is compared with, or in
// the turn that is folded.
func (m *Model) filesOf(s *subject) *filestab.Shown {
	f, t, n := &m.files, m.timeline.Timeline(), m.timeline.SelectedNode()
	out := &filestab.Shown{Dir: f.dir, Title: s.name}
	if f.of != t {
		out.Unknown = readingFiles
		return out
	}
	from, to := t.Base(n), n
	switch {
	case m.against == theMark:
		from = m.timeline.MarkedNode()
	case m.against == theHead && n != t.Head():
		from = t.Head()
	case m.timeline.LastOf(n) != n:
		from, to = t.Parent(n), m.timeline.LastOf(n)
		s.name += " to " + t.Name(to)
	}
	if from != model.NoNode {
		out.Title = t.Name(from) + " " + m.styles.Glyphs.Arrow + " " + t.Name(to)
	}
	fork := from
	up := map[model.Node]bool{}
	for at := to; at != model.NoNode; at = t.Parent(at) {
		up[at] = true
	}
	for fork != model.NoNode && !up[fork] {
		fork = t.Parent(fork)
	}
	r := query.FileRange{}
	for _, at := range slices.Backward(pathBetween(t, fork, from)) {
		r.Back = append(r.Back, f.steps[at])
	}
	for _, at := range pathBetween(t, fork, to) {
		r.Forth = append(r.Forth, f.steps[at])
	}
	for how, c := range r.Changes() {
		out.Changes = append(out.Changes, filestab.Change{Change: c, How: how})
	}
	return out
}

// fileKinds are the kinds of answers for the kinds of changes.
var fileKinds = map[filechange.Kind]answers.Kind{filechange.Created: answers.Added, filechange.Deleted: answers.Removed, filechange.Changed: answers.Changed, filechange.Moved: answers.Changed}

// askFile lists the steps of the session that touched the file under the cursor.
func (m *Model) askFile() tea.Cmd {
	p := m.tabs[tabOf(keymap.ShowFiles)].pane.(*filestab.Pane)
	file, dir := p.FilePath(), m.files.dir
	if file == "" {
		m.say("no file is under the cursor")
		return nil
	}
	return m.askQuestion(question{
		title: "Changes of " + conversation.OneLine(file), noun: "step",
		ask: func(ctx context.Context, s *query.Session, _ *progress) iter.Seq2[answers.Answer, error] {
			return func(yield func(answers.Answer, error) bool) {
				for step, err := range s.AllFiles(ctx, false) {
					if err != nil {
						yield(answers.Answer{}, err)
						return
					}
					for e, c := range step.Changes() {
						if !c.IsOf(file, dir) {
							continue
						}
						text := c.Kind.String() + "  " + conversation.Change(c.Count()) + "  " + e.How()
						if !yield(answers.Answer{Node: step.Visit, Kind: fileKinds[c.Kind], Text: text}, nil) {
							return
						}
					}
				}
			}
		},
	})
}

// traceFile searches all sessions for the steps that touched the file under the cursor.
func (m *Model) traceFile() tea.Cmd {
	file := m.tabs[tabOf(keymap.ShowFiles)].pane.(*filestab.Pane).FilePath()
	switch {
	case file == "":
		m.say("no file is under the cursor")
		return nil
	case strings.ContainsFunc(file, func(r rune) bool { return r == '"' || unicode.IsControl(r) }):
		m.say("the search takes no quotes and no control characters in the name of a file")
		return nil
	}
	if m.files.dir != "" && !filepath.IsAbs(file) {
		file = m.files.dir + "/" + file
	}
	if strings.ContainsFunc(file, unicode.IsSpace) {
		file = `"` + file + `"`
	}
	begun := m.openSearch()
	m.search.SetText("file:" + file)
	return tea.Batch(begun, m.setScope(1)) // in all sessions
}
