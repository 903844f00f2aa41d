package tui

import (
	"context"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// taskKind is a kind of work; only the latest of a kind counts.
type taskKind uint8

const (
	listing    taskKind = iota // the sessions
	reading                    // the headers of a session
	checking                   // the faults of a session
	preparing                  // what a tab shows
	fetching                   // states that may be wanted next
	finding                    // a search
	searching                  // what was said in sessions
	locating                   // the snapshot of a hit
	settling                   // whether hits in view are off the path
	asking                     // a question about time
	blaming                    // which snapshot set each value
	comparing                  // two lines
	watching                   // values that are watched
	planning                   // what a write will do
	arming                     // the wait for no keys, until the dialog that is open takes an answer
	editing                    // the editor has the terminal
	applying                   // the write
	recalling                  // the journal
	labelling                  // the labels of the session
	naming                     // the setting of a label
	addingUp                   // what the session cost
	filing                     // what the session did to files
	sharing                    // the session, in a file
	crossing                   // where the session of a sub-agent meets another
	playing                    // the next step of a session that is played
	growing                    // what is new in the session, or in the list
	summing                    // what sessions of the list cost
	previewing                 // what the session under the cursor of the list ends with
	charting                   // what each day cost
	aligning                   // runs beside each other
	viewing                    // a picture
	drawing                    // pictures among the messages
	taskKinds
)

// task is the work of one kind that runs now, or ran last.
type task struct {
	gen     uint64
	cancel  context.CancelFunc
	running bool
	slow    bool   // it has been running for longer than patience
	what    string // for the progress line
	done    *progress
}

const (
	// patience is how long work may take before the screen shows that it goes on.
	patience = 200 * time.Millisecond
	// turn is how long each frame of the spinner shows.
	turn = 100 * time.Millisecond
)

// fact is the result of a command: a function for the update to run.
type fact func() tea.Cmd

// start begins work of a kind and cancels what runs of it. what says in the progress line what goes on; it is "" for
// work that the person does not wait for. The command runs work, which gets a context and a counter to tell how far it
// is. The fact that it returns, or nil, is dropped where other work of the kind began or the work was stopped.
func (m *Model) start(kind taskKind, what string, work func(ctx context.Context, done *progress) fact) tea.Cmd {
	return m.startLent(kind, what, 0, work)
}

// startLent starts work that reads the timeline, as start does. lent is the result of lendTimeline, 0 for no loan.
func (m *Model) startLent(kind taskKind, what string, lent uint64, work func(ctx context.Context, done *progress) fact) tea.Cmd {
	return m.begin(kind, what, func(ctx context.Context, gen uint64, done *progress) fact {
		then := work(ctx, done)
		return func() tea.Cmd {
			m.takeBack(lent)
			if !m.finish(kind, gen) || then == nil {
				return nil
			}
			return then()
		}
	})
}

// begin is start of work that brings several facts: they ask by its generation themselves whether they are waited for.
func (m *Model) begin(kind taskKind, what string, work func(ctx context.Context, gen uint64, done *progress) fact) tea.Cmd {
	t := &m.tasks[kind]
	m.stop(kind)
	ctx, cancel := context.WithCancel(m.ctx)
	t.gen++
	t.cancel, t.running, t.what, t.done = cancel, true, what, new(progress)
	gen, done := t.gen, t.done
	cmd := makeCommand(func() fact { return work(ctx, gen, done) })
	if what == "" {
		return cmd
	}
	return tea.Batch(cmd, m.runLater(patience, func() tea.Cmd { return m.ranLong(kind, gen) }))
}

// stop cancels what runs of a kind; its fact will be dropped.
func (m *Model) stop(kind taskKind) {
	t := &m.tasks[kind]
	if t.cancel != nil {
		t.cancel()
	}
	t.gen++
	t.running, t.slow = false, false
}

// awaits reports whether a fact of a generation is the one that is waited for.
func (m *Model) awaits(kind taskKind, gen uint64) bool {
	t := &m.tasks[kind]
	return t.running && gen == t.gen
}

// finish takes a fact of a generation: it reports whether it is the one that is
// waited for, and ends the work if so.
func (m *Model) finish(kind taskKind, gen uint64) bool {
	t := &m.tasks[kind]
	if !m.awaits(kind, gen) {
		return false
	}
	t.cancel()
	t.running, t.slow = false, false
	m.dirty = m.dirty || t.what != ""
	return true
}

// slowestTask returns the work that the progress line shows, or nil.
func (m *Model) slowestTask() *task {
	for i := range m.tasks {
		if t := &m.tasks[i]; t.running && t.slow {
			return t
		}
	}
	return nil
}

// cancelSlow cancels the work that the progress line shows and reports whether
// there was some. A write is not cancelled: it is whole or not at all, and ends
// by itself. The search for stores ends with the screen.
func (m *Model) cancelSlow() bool {
	cancelled := false
	for kind := range taskKinds {
		if t := &m.tasks[kind]; t.running && t.slow && kind != applying && (kind != listing || m.alone) {
			m.stop(kind)
			m.say("cancelled: " + t.what)
			cancelled = true
		}
	}
	return cancelled
}

// panickedMsg: a command panicked. It ends the screen.
type panickedMsg struct{ err *PanicError }

// makeCommand makes a command of work, which returns nil for no fact.
func makeCommand(work func() fact) tea.Cmd {
	return func() (msg tea.Msg) {
		defer func() {
			if value := recover(); value != nil {
				msg = panickedMsg{newPanicError(value)}
			}
		}()
		if f := work(); f != nil {
			return f
		}
		return nil
	}
}

// runLater returns a command that brings a fact after a while.
func (m *Model) runLater(d time.Duration, f fact) tea.Cmd {
	ctx, after := m.ctx, m.o.After
	return func() tea.Msg {
		select {
		case <-after(d):
			return f
		case <-ctx.Done():
			return nil
		}
	}
}
