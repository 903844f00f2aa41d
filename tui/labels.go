package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/store"
	"hindcast/tui/dialog"
	"hindcast/tui/timeline"
)

// Labels are read beside the session, and placed in its timeline in a command: whenever there
// is another timeline, and when the labels changed.
//
//	session shows ─▶ read ─▶ labelsRead ─▶ rows, scrubber, Info
//	                  ▲ watch ─▶ labelsChanged, and what m did

// Labels keeps the labels of the snapshots of all stores.
type Labels interface {
	// Of returns the labels of a session, by name.
	Of(ctx context.Context, s store.Store, session string) ([]model.Label, error)
	// Set labels a snapshot, in place of the label of that name that another one had.
	Set(ctx context.Context, s store.Store, label model.Label) (model.Label, error)
	// Remove takes a label away.
	Remove(ctx context.Context, s store.Store, session, name string) error
	// Watch tells that labels of a session may have changed, until ctx ends.
	Watch(ctx context.Context, s store.Store, session string) <-chan struct{}
}

// noLabels is why there are no labels where the screen was given no place for them.
const noLabels = "labels are kept nowhere here"

// labelWatch is the watch of the labels of one session.
type labelWatch struct {
	number  uint64 // which the facts carry
	ctx     context.Context
	end     context.CancelFunc // nil before the first session
	changes <-chan struct{}
}

// readLabels has the labels of the session read, and placed in the timeline that shows.
func (m *Model) readLabels() tea.Cmd {
	if m.o.Labels == nil {
		return nil
	}
	from, s, session, t, lent := m.o.Labels, m.o.Store, m.session, m.timeline.Timeline(), m.lendTimeline()
	return m.startLent(labelling, "", lent, func(ctx context.Context, _ *progress) fact {
		list, err := from.Of(ctx, s, session)
		labels := timeline.PlaceLabels(t, list)
		return func() tea.Cmd { return m.labelsRead(t, labels, err) }
	})
}

// labelsRead shows the labels of a timeline. Those that cannot be read are said to be so, and what shows
// stays.
func (m *Model) labelsRead(of *model.Timeline, labels timeline.Labels, err error) tea.Cmd {
	if of != m.timeline.Timeline() {
		return nil
	}
	if err != nil {
		m.fail(err)
		return nil
	}
	none := len(m.timeline.Labels().Nodes())+len(labels.Nodes()) == 0
	m.timeline.SetLabels(labels)
	if none {
		return nil
	}
	m.dirty = true
	return m.refreshInfo()
}

// watchLabels has the labels of the session watched, and those of the one before no longer.
func (m *Model) watchLabels() tea.Cmd {
	m.forgetLabels()
	if m.o.Labels == nil {
		return nil
	}
	w := &m.labels
	w.ctx, w.end = context.WithCancel(m.ctx)
	from, s, session, watch := m.o.Labels, m.o.Store, m.session, *w
	return makeCommand(func() fact {
		watch.changes = from.Watch(watch.ctx, s, session)
		return func() tea.Cmd {
			if watch.number != m.labels.number {
				return nil
			}
			m.labels = watch
			return m.awaitLabels()
		}
	})
}

// forgetLabels ends the watch.
func (m *Model) forgetLabels() {
	if m.labels.end != nil {
		m.labels.end()
	}
	m.labels = labelWatch{number: m.labels.number + 1}
}

// awaitLabels waits until the labels change.
func (m *Model) awaitLabels() tea.Cmd {
	w, waiting := m.labels, &m.waiting
	return makeCommand(func() fact {
		waiting.Add(1)
		defer waiting.Add(-1)
		select {
		case _, open := <-w.changes:
			if open {
				return func() tea.Cmd { return m.labelsChanged(w.number) }
			}
		case <-w.ctx.Done():
		}
		return nil
	})
}

// labelsChanged reads them again, by the watch of that number. What changes meanwhile is one change more.
func (m *Model) labelsChanged(watch uint64) tea.Cmd {
	if watch != m.labels.number || m.place != inSession {
		return nil
	}
	return tea.Batch(m.readLabels(), m.runLater(firstRest, func() tea.Cmd {
		if watch != m.labels.number {
			return nil
		}
		return m.awaitLabels()
	}))
}

// askLabel asks for a name and a note for the snapshot under the cursor. It starts from the text of an
// existing label; clearing the text removes the label.
func (m *Model) askLabel() {
	s := m.subject()
	heading, value, was := "Label "+s.name, "", ""
	if list := s.labels; len(list) > 0 {
		was, value = list[0].Name, strings.TrimSpace(list[0].Name+" "+list[0].Note)
		heading += "; no text takes the label away"
	}
	var prompt *dialog.Prompt
	refused := "" // the name that another snapshot has, once that was said
	prompt = dialog.NewPrompt(m.styles, m.keys, heading, "name, note", value, labelMeanings, func(text string) tea.Cmd {
		label := model.Label{Session: s.header.SessionID, ID: s.header.ID, Visit: s.header.Visit}
		label.Name, label.Note, _ = strings.Cut(strings.TrimSpace(text), " ")
		label.Note = strings.TrimSpace(label.Note)
		if label.Name == "" {
			if was == "" {
				m.openDialog(nil)
				return nil
			}
			return m.setLabel(prompt, s.name, label, was)
		}
		if err := label.Check(); err != nil {
			prompt.Refuse(err.Error())
			return nil
		}
		t := m.timeline.Timeline()
		if at := m.timeline.Labels().Find(label.Name); at != model.NoNode && t.Header(at).Ref() != s.ref && refused != label.Name {
			refused = label.Name
			prompt.Refuse(t.Name(at) + " has this label; the same again moves it here")
			return nil
		}
		return m.setLabel(prompt, s.name, label, was)
	}, nil)
	m.openDialog(prompt)
}

// setLabel sets a label in place of the one that the snapshot had, or takes that away where
// the label has no name.
func (m *Model) setLabel(prompt *dialog.Prompt, snapshot string, label model.Label, was string) tea.Cmd {
	to, s := m.o.Labels, m.o.Store
	return m.start(naming, "labelling "+snapshot, func(ctx context.Context, _ *progress) fact {
		done, err := snapshot+" has no label any more", error(nil)
		if label.Name != "" {
			done = snapshot + " is called " + label.Name
			_, err = to.Set(ctx, s, label)
		}
		if err == nil && was != "" && was != label.Name {
			err = to.Remove(ctx, s, label.Session, was)
		}
		return func() tea.Cmd { return m.tellLabel(prompt, done, err) }
	})
}

// tellLabel reports the change and closes the prompt. After an error an open prompt stays and shows it.
func (m *Model) tellLabel(prompt *dialog.Prompt, done string, err error) tea.Cmd {
	asking := m.dialog == prompt
	switch {
	case err != nil && asking && !errors.Is(err, context.Canceled):
		m.dirty = true
		prompt.Refuse(err.Error())
		return nil
	case err != nil:
		m.fail(err)
	default:
		m.confirm(done)
		if asking {
			m.openDialog(nil)
		}
	}
	return m.readLabels()
}

// listLabels lists the labels of the session, to go to one of them.
func (m *Model) listLabels() {
	labels, t := m.timeline.Labels(), m.timeline.Timeline()
	var items []dialog.Item
	for _, n := range labels.Nodes() {
		for _, label := range labels.Of(n) {
			items = append(items, dialog.Item{
				Label: label.Name, Text: strings.TrimSpace(t.Name(n) + "  " + label.Note),
				Do: func() tea.Cmd { return m.goToLabel(label.Name) },
			})
		}
	}
	m.openDialog(dialog.NewMenu(m.styles, m.keys, keymap.Menu, "Labels", "go there", items))
}

// goToLabel goes to the snapshot with a label.
func (m *Model) goToLabel(name string) tea.Cmd {
	n := m.timeline.Labels().Find(name)
	if n == model.NoNode {
		m.say(fmt.Sprintf("the label %s is gone", name))
		return nil
	}
	m.timeline.Select(n)
	m.say(m.timeline.Timeline().Name(n) + " is called " + name)
	return m.followCursor()
}
