package tui

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/diff"
	"hindcast/keymap"
	"hindcast/model"
	"hindcast/store"
	"hindcast/tui/dialog"
)

// Every write goes the same way: a plan is worked out, the person reads it
// whole, agrees, and only then it is carried out. The plan names the head that
// it was made against; where somebody else moved that in between, the store
// refuses and the plan is made anew.

// quietTime is how long no key may come before a question takes an answer: keys
// that were typed ahead were not meant for it.
const quietTime = 300 * time.Millisecond

// movedOn is said of a plan that was made against a head of before.
const movedOn = "the session has moved on since: nothing was changed, and this is the plan anew"

// planWrite has a plan worked out.
func (m *Model) planWrite(op model.Op, plan func(context.Context) (model.Plan, error)) tea.Cmd {
	states := m.states
	return m.start(planning, "planning the "+string(op), func(ctx context.Context, gen uint64, _ *atomic.Int64) tea.Msg {
		p, err := plan(ctx)
		if err != nil {
			return plannedMsg{gen: gen, op: op, err: err}
		}
		return plannedMsg{gen: gen, op: op, plan: p, change: stateChange(ctx, states, &p)}
	})
}

// planRestore plans to put the session back to a snapshot.
func (m *Model) planRestore(ref model.Ref) tea.Cmd {
	restorer, ok := m.o.Store.(store.Restorer)
	if !ok {
		return nil // keymap.Restore is disabled
	}
	return m.planWrite(model.OpRestore, func(ctx context.Context) (model.Plan, error) { return restorer.PlanRestore(ctx, ref) })
}

// planFork plans to start a session from a snapshot.
func (m *Model) planFork(ref model.Ref, as string) tea.Cmd {
	forker, ok := m.o.Store.(store.Forker)
	if !ok {
		return nil // keymap.Fork is disabled
	}
	return m.planWrite(model.OpFork, func(ctx context.Context) (model.Plan, error) { return forker.PlanFork(ctx, ref, as) })
}

// planReturn plans to take the last write back, or to do it again.
func (m *Model) planReturn(op model.Op) tea.Cmd {
	undoer, ok := m.o.Store.(store.Undoer)
	if !ok {
		return nil // keymap.Undo and keymap.Redo are disabled
	}
	plan := undoer.PlanUndo
	if op == model.OpRedo {
		plan = undoer.PlanRedo
	}
	return m.planWrite(op, plan)
}

// planned shows the plan and asks.
func (m *Model) planned(msg plannedMsg) tea.Cmd {
	if !m.finish(planning, msg.gen) {
		return nil
	}
	prompt, asking := m.dialog.(*dialog.Prompt)
	var nothing *model.NothingToError
	switch {
	case errors.As(msg.err, &nothing):
		m.say(nothing.Error())
		return nil
	case asking && errors.Is(msg.err, store.ErrSessionExists):
		prompt.Refuse(store.ErrSessionExists.Error())
		return nil
	case asking && msg.err != nil:
		prompt.Refuse(msg.err.Error())
		return nil
	case msg.err != nil:
		m.failed("cannot "+string(msg.op), msg.err)
		return nil
	}
	m.open(dialog.NewQuestion(m.styles, m.keys, &msg.plan, msg.change))
	m.plan = &msg.plan
	return m.awaitQuiet()
}

// failed says what went wrong with something that the person asked for, whole
// and at once.
func (m *Model) failed(what string, err error) {
	m.fail(err)
	m.open(dialog.NewText(m.styles, m.keys, what, err.Error()))
}

// awaitQuiet waits anew for keys to stop coming.
func (m *Model) awaitQuiet() tea.Cmd {
	m.quiet++
	return m.later(quietTime, quietMsg{m.quiet})
}

// disturbed starts the wait for quiet again when a key comes while a question
// is not armed yet.
func (m *Model) disturbed() tea.Cmd {
	if q, ok := m.dialog.(*dialog.Question); ok && !q.Armed() {
		return m.awaitQuiet()
	}
	return nil
}

// quieted lets the open question be answered.
func (m *Model) quieted(msg quietMsg) {
	if q, ok := m.dialog.(*dialog.Question); ok && msg.gen == m.quiet {
		q.Arm()
		m.dirty = true
	}
}

// answerQuestion carries out an action in the question of a plan.
func (m *Model) answerQuestion(q *dialog.Question, a keymap.Action) tea.Cmd {
	q.Do(a)
	switch q.Answer() {
	case dialog.Declined:
		m.close()
		m.say("nothing was changed")
	case dialog.Agreed:
		plan := *m.plan
		m.close()
		if q.Outdated() {
			m.say(movedOn)
			return m.replan(&plan)
		}
		return m.apply(plan)
	}
	return nil
}

// apply carries a plan out.
func (m *Model) apply(plan model.Plan) tea.Cmd {
	applier, ok := m.o.Store.(store.Applier)
	if !ok {
		return nil // whoever plans applies
	}
	return m.start(applying, "writing: "+plan.Headline(), func(ctx context.Context, gen uint64, _ *atomic.Int64) tea.Msg {
		receipt, err := applier.Apply(ctx, plan)
		return appliedMsg{gen, plan, receipt, err}
	})
}

// applied says what was done, and reads the session again.
func (m *Model) applied(msg appliedMsg) tea.Cmd {
	if !m.finish(applying, msg.gen) {
		return nil
	}
	if m.leaving {
		return tea.Quit
	}
	switch {
	case errors.Is(msg.err, model.ErrHeadMoved):
		m.say(movedOn)
		return tea.Batch(m.reread(), m.replan(&msg.plan))
	case msg.err != nil:
		m.failed("cannot "+string(msg.plan.Op), msg.err)
		return m.reread()
	}
	m.confirmed(m.receipt(&msg.plan, &msg.receipt))
	return m.reread()
}

// replan has the same plan worked out against the session as it is now.
func (m *Model) replan(old *model.Plan) tea.Cmd {
	switch old.Op {
	case model.OpRestore:
		return m.planRestore(old.Target)
	case model.OpFork:
		return m.planFork(old.Target, old.NewSession)
	}
	return m.planReturn(old.Op)
}

// reread reads again what shows: the session, or the list of them.
func (m *Model) reread() tea.Cmd {
	if m.place == inSession {
		return m.readSession()
	}
	return m.listSessions()
}

// receipt says in one line what was done and how to take it back.
func (m *Model) receipt(plan *model.Plan, r *model.Receipt) string {
	dot := " " + m.styles.Glyphs.Dot + " "
	text := fmt.Sprintf("%s is at #%d", r.Session, r.HeadIndex)
	switch plan.Op {
	case model.OpFork:
		text = fmt.Sprintf("forked as %s at #%d", r.Session, r.HeadIndex)
	case model.OpUndo:
		text = "undone: " + text
	case model.OpRedo:
		text = "done again: " + text
	}
	if r.Orphaned > 0 {
		text += fmt.Sprintf("%s%d left the path", dot, r.Orphaned)
	}
	if r.Reactivated > 0 {
		text += fmt.Sprintf("%s%d came back", dot, r.Reactivated)
	}
	back := keymap.Undo
	if plan.Op == model.OpUndo {
		back = keymap.Redo
	}
	if key := keymap.Label(m.keys.Keys(keymap.Session, back)); key != "" && back.Disabled(m.context()) == "" {
		text += dot + key + " " + back.Help()
	}
	return text
}

// askFork asks for the name of a session to start from the snapshot under the
// cursor.
func (m *Model) askFork() {
	m.forkFrom = m.subject().ref
	m.open(dialog.NewPrompt(m.styles, m.keys, fmt.Sprintf("Fork from #%d", m.subject().header.Index), "new session", m.session+"-fork"))
}

// answerPrompt carries out an action in the prompt for that name.
func (m *Model) answerPrompt(p *dialog.Prompt, a keymap.Action) tea.Cmd {
	if a == keymap.Back {
		m.close()
		m.stop(planning)
		return nil
	}
	if p.Do(a) && p.Done() {
		return m.planFork(m.forkFrom, p.Value())
	}
	return nil
}

// readJournal reads what Hindcast wrote to the store.
func (m *Model) readJournal() tea.Cmd {
	undoer, ok := m.o.Store.(store.Undoer)
	if !ok {
		return nil // keymap.Journal is disabled
	}
	return m.start(recalling, "reading the journal", func(ctx context.Context, gen uint64, _ *atomic.Int64) tea.Msg {
		entries, err := undoer.Journal(ctx)
		return journalReadMsg{gen, entries, err}
	})
}

// journalRead shows the journal.
func (m *Model) journalRead(msg journalReadMsg) tea.Cmd {
	if !m.finish(recalling, msg.gen) {
		return nil
	}
	if msg.err != nil {
		m.failed("cannot read the journal", msg.err)
		return nil
	}
	m.open(dialog.NewJournal(m.styles, m.keys, msg.entries, func(t time.Time) string {
		return t.In(m.o.Zone).Format(time.DateTime)
	}))
	return nil
}

// most is how many changes a plan lists; the diff tab shows them all.
const most = 6

// stateChange says what the state at a plan's target differs in from the
// head's: how much, and the first changes. A state that cannot be read is no
// reason not to show the plan, but is said.
func stateChange(ctx context.Context, states *states, plan *model.Plan) []string {
	if plan.HeadID == "" || plan.TargetID == "" {
		return nil
	}
	var sides [2]diff.State
	for i, id := range []string{plan.HeadID, plan.TargetID} {
		s, err := states.get(ctx, model.Ref{Session: plan.Session, ID: id})
		if err != nil {
			return []string{"unknown: " + err.Error()}
		}
		sides[i] = diff.Bytes(s.data)
	}
	result, err := diff.Compare(ctx, sides[0], sides[1])
	if err != nil {
		return []string{"unknown: " + err.Error()}
	}
	if result.Equal() {
		return []string{"the same as at the head"}
	}
	lines := []string{fmt.Sprintf("against the head: %d added, %d changed, %d removed", result.Added, result.Replaced+result.Moved, result.Removed)}
	for _, e := range result.Changes() {
		if len(lines) > most {
			lines = append(lines, "and more")
			break
		}
		if e.Op != diff.Respelled {
			lines = append(lines, changeLine(result, e))
		}
	}
	return lines
}

// changeLine says one change in a line.
func changeLine(r *diff.Result, e *diff.Entry) string {
	path := r.Path(e)
	switch e.Op {
	case diff.Added:
		return fmt.Sprintf("+ %s  %s", path, brief(r.New(e)))
	case diff.Removed:
		return fmt.Sprintf("- %s  %s", path, brief(r.Old(e)))
	case diff.Moved:
		return fmt.Sprintf("~ %s  moved", path)
	}
	return fmt.Sprintf("~ %s  %s → %s", path, brief(r.Old(e)), brief(r.New(e)))
}

// brief gives the beginning of a value.
func brief(value []byte) string {
	const enough = 48
	if len(value) <= enough {
		return string(value)
	}
	return string(value[:enough]) + "…"
}
