package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/diff"
	"hindcast/keymap"
	"hindcast/model"
	"hindcast/model/conversation"
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

// write is a change of the store that a person asked for.
type write struct {
	op model.Op
	// plan works out what it will do, each time against the store as it is then.
	plan func(context.Context) (model.Plan, error)
	// change says in a few lines what it changes in the state; nil to compare the
	// states at the head and at the target.
	change func(context.Context) []string
}

// proposal is the plan of a write, about which a person is asked.
type proposal struct {
	write
	made    model.Plan
	changed []string
	// second says that the plan was agreed to, and that what it asks is asked now.
	second bool
}

// planWrite has a plan worked out.
func (m *Model) planWrite(w write) tea.Cmd {
	states := m.states
	return m.start(planning, "planning the "+string(w.op), func(ctx context.Context, gen uint64, _ *atomic.Int64) tea.Msg {
		p, err := w.plan(ctx)
		if err != nil {
			return plannedMsg{gen, proposal{write: w}, err}
		}
		var changed []string
		if w.change != nil {
			changed = w.change(ctx)
		} else {
			changed = stateChange(ctx, states, &p)
		}
		return plannedMsg{gen, proposal{write: w, made: p, changed: changed}, nil}
	})
}

// planRestore plans to put the session back to a snapshot.
func (m *Model) planRestore(ref model.Ref) tea.Cmd {
	restorer, ok := m.o.Store.(store.Restorer)
	if !ok {
		return nil // keymap.Restore is disabled
	}
	return m.planWrite(write{op: model.OpRestore, plan: func(ctx context.Context) (model.Plan, error) { return restorer.PlanRestore(ctx, ref) }})
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
	return m.planWrite(write{op: op, plan: plan})
}

// planRepair plans to mend a session.
func (m *Model) planRepair(session string) tea.Cmd {
	repairer, ok := m.o.Store.(store.Repairer)
	if !ok {
		return nil // keymap.Repair is disabled
	}
	return m.planWrite(write{op: model.OpRepair, plan: func(ctx context.Context) (model.Plan, error) { return repairer.PlanRepair(ctx, session) }})
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
	case msg.proposal.op == model.OpEdit && msg.err != nil:
		m.spurn(msg.err)
		return nil
	case asking && msg.err != nil:
		prompt.Refuse(msg.err.Error())
		return nil
	case msg.err != nil:
		m.failed("cannot "+string(msg.proposal.op), msg.err)
		return nil
	case msg.proposal.made.Idle():
		m.say(fmt.Sprintf("nothing to write: %s is at #%d already", msg.proposal.made.Session, msg.proposal.made.TargetIndex))
		return nil
	}
	m.open(dialog.NewQuestion(m.styles, m.keys, &msg.proposal.made, msg.proposal.changed))
	m.proposal = &msg.proposal
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

// answerQuestion carries out an action in the question of a plan. Where the plan
// has reasons to ask once more, a yes leads to a second question.
func (m *Model) answerQuestion(q *dialog.Question, a keymap.Action) tea.Cmd {
	q.Do(a)
	switch q.Answer() {
	case dialog.Declined:
		m.close()
		m.say("nothing was changed")
		m.keepDraft()
	case dialog.Agreed:
		p := *m.proposal
		m.close()
		switch {
		case q.Outdated():
			m.say(movedOn)
			return m.planWrite(p.write)
		case len(p.made.Asks) > 0 && !p.second:
			p.second = true
			m.open(dialog.NewSecondQuestion(m.styles, m.keys, &p.made))
			m.proposal = &p
			return m.awaitQuiet()
		}
		return m.apply(p)
	}
	return nil
}

// apply carries a plan out.
func (m *Model) apply(p proposal) tea.Cmd {
	applier, ok := m.o.Store.(store.Applier)
	if !ok {
		return nil // whoever plans applies
	}
	return m.start(applying, "writing: "+p.made.Headline(), func(ctx context.Context, gen uint64, _ *atomic.Int64) tea.Msg {
		receipt, err := applier.Apply(ctx, p.made)
		return appliedMsg{gen, p, receipt, err}
	})
}

// applied says what was done, and reads the session again.
func (m *Model) applied(msg appliedMsg) tea.Cmd {
	if !m.finish(applying, msg.gen) {
		return nil
	}
	plan := &msg.proposal.made
	var drop tea.Cmd
	if msg.err == nil && plan.Op == model.OpEdit {
		drop = m.dropDraft()
	}
	if m.leaving {
		return tea.Sequence(drop, tea.Quit)
	}
	m.states.forget()
	switch {
	case errors.Is(msg.err, model.ErrHeadMoved):
		m.say(movedOn)
		m.message.whole = movedOn + "\n\n" + msg.err.Error()
		return tea.Batch(m.reread(), m.planWrite(msg.proposal.write))
	case msg.err != nil:
		m.failed("cannot "+string(plan.Op), msg.err)
		m.keepDraft()
		return m.reread()
	}
	m.onward = resumeCall{}
	if len(plan.Resume) > 0 {
		m.onward = resumeCall{call: plan.Resume[0].Call, then: plan.Resume[0].Then}
	}
	if plan.NewSession != "" {
		m.only, m.made = false, plan.NewSession
	} else if msg.receipt.Session == m.session {
		m.toHead = true
	}
	m.written = true
	m.confirmed(m.receipt(plan, &msg.receipt))
	return tea.Batch(drop, m.reread())
}

// resumeCall is how a framework goes on after the last write.
type resumeCall struct{ call, then string }

// reread reads again what shows: the session, or the list of them.
func (m *Model) reread() tea.Cmd {
	if m.place == inSession {
		return m.readSession()
	}
	return m.listSessions()
}

// receipt says in one line what was done, how to take it back, and how to have the
// call to go on with.
func (m *Model) receipt(plan *model.Plan, r *model.Receipt) string {
	text := fmt.Sprintf("%s is at #%d", r.Session, r.HeadIndex)
	switch {
	case plan.Removes:
		text = r.Session + " is gone"
	case r.Head == "":
		text = r.Session + " is without a head"
	}
	switch plan.Op {
	case model.OpFork, model.OpEdit:
		text = fmt.Sprintf("forked as %s at #%d", r.Session, r.HeadIndex)
	case model.OpUndo:
		text = "undone: " + text
	case model.OpRedo:
		text = "done again: " + text
	case model.OpRepair:
		text = "repaired: " + text
	case model.OpRun:
		text = "ran on: " + text
	case model.OpPurge:
		return "forgot what was set aside of " + r.Session
	}
	parts := []string{text}
	if r.Orphaned > 0 {
		parts = append(parts, fmt.Sprintf("%d left the path", r.Orphaned))
	}
	if r.Reactivated > 0 {
		parts = append(parts, fmt.Sprintf("%d came back", r.Reactivated))
	}
	back := keymap.Undo
	if plan.Op == model.OpUndo {
		back = keymap.Redo
	}
	if key := keymap.Label(m.keys.Keys(keymap.Session, back)); key != "" && back.Disabled(m.context()) == "" && plan.Op != model.OpRun {
		parts = append(parts, key+" "+back.Help())
	}
	leave, open := m.keys.Keys(keymap.Session, keymap.Back), m.keys.Keys(keymap.Picker, keymap.Open)
	if m.made != "" && m.place == inSession && len(leave) > 0 && len(open) > 0 {
		parts = append(parts, keymap.Label([]string{leave[0], open[0]})+" "+keymap.Open.Help()+" it")
	}
	menu, call := m.keys.Keys(keymap.Session, keymap.Yank), m.keys.Keys(keymap.Menu, keymap.YankCall)
	if m.onward.call != "" && m.place == inSession && len(menu) > 0 && len(call) > 0 {
		parts = append(parts, keymap.Label(append(slices.Clone(menu[:1]), call[0]))+" "+keymap.YankCall.Help())
	}
	return strings.Join(parts, " "+m.styles.Glyphs.Dot+" ")
}

// ask opens a prompt; then is called with what was typed when it is accepted.
func (m *Model) ask(heading, label, value string, then func(text string) tea.Cmd) {
	m.answered = then
	m.open(dialog.NewPrompt(m.styles, m.keys, heading, label, value))
}

// answerPrompt carries out an action in the prompt that is open.
func (m *Model) answerPrompt(p *dialog.Prompt, a keymap.Action) tea.Cmd {
	if a == keymap.Back {
		m.close()
		m.stop(planning)
		m.keepDraft()
		return nil
	}
	if p.Do(a) && p.Done() {
		return m.answered(p.Value())
	}
	return nil
}

// newName gives a name to offer for a session that is started from the open one.
func (m *Model) newName(suffix string) string {
	if namer, ok := m.o.Store.(store.Namer); ok {
		return namer.NewName(m.session, suffix)
	}
	return m.session + suffix
}

// askFork asks for the name of a session to start from the snapshot under the
// cursor, and plans that.
func (m *Model) askFork() {
	forker, ok := m.o.Store.(store.Forker)
	if !ok {
		return // keymap.Fork is disabled
	}
	s := m.subject()
	m.ask(fmt.Sprintf("Fork from #%d", s.header.Index), "new session", m.newName("-fork"), func(as string) tea.Cmd {
		return m.planWrite(write{op: model.OpFork, plan: func(ctx context.Context) (model.Plan, error) { return forker.PlanFork(ctx, s.ref, as) }})
	})
}

// askRun asks for what to say next to the process that is running, and plans to
// let it go on from the snapshot under the cursor.
func (m *Model) askRun() {
	runner, ok := m.o.Store.(store.Runner)
	if !ok {
		return // keymap.Run is disabled
	}
	s := m.subject()
	m.ask(fmt.Sprintf("Run from #%d: models and tools will run", s.header.Index), "input", "", func(input string) tea.Cmd {
		return m.planWrite(write{op: model.OpRun, plan: func(ctx context.Context) (model.Plan, error) { return runner.PlanRun(ctx, s.ref, input) }})
	})
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

// answerJournal carries out an action in the journal.
func (m *Model) answerJournal(d *dialog.Journal, a keymap.Action) tea.Cmd {
	switch a {
	case keymap.Back, keymap.Help, keymap.Accept:
		m.close()
	case keymap.Undo, keymap.Redo:
		m.close()
		return m.do(a)
	case keymap.Purge:
		e, ok := d.Selected()
		if !ok {
			return nil
		}
		m.purged = e.Session
		m.open(dialog.NewMenu(m.styles, m.keys, keymap.PurgeMenu, "Forget for good what was set aside of "+e.Session, "plan it", []dialog.Item{
			{Action: keymap.PurgeRedacted, Text: "what the framework has redacted since"},
			{Action: keymap.PurgeAll, Text: "branches that were left, too"},
		}))
	default:
		d.Do(a)
	}
	return nil
}

// planPurge plans to forget what was set aside of a session.
func (m *Model) planPurge(session string, what store.PurgeScope) tea.Cmd {
	purger, ok := m.o.Store.(store.Purger)
	if !ok {
		return nil // keymap.Purge is disabled
	}
	return m.planWrite(write{op: model.OpPurge, plan: func(ctx context.Context) (model.Plan, error) { return purger.PlanPurge(ctx, session, what) }})
}

// most is how many changes a plan lists; the diff tab shows them all.
const most = 6

// stateChange says what the state at a plan's target differs in from the
// head's: how much, and the first changes. A state that cannot be read is no
// reason not to show the plan, but is said; one that is yet to be says nothing.
func stateChange(ctx context.Context, states *states, plan *model.Plan) []string {
	if plan.HeadID == "" || plan.TargetID == "" {
		return nil
	}
	var sides [2][]byte
	for i, id := range []string{plan.HeadID, plan.TargetID} {
		s, err := states.get(ctx, model.Ref{Session: plan.Session, ID: id})
		switch {
		case errors.Is(err, model.ErrNoSnapshot):
			return nil
		case err != nil:
			return []string{"unknown: " + err.Error()}
		}
		sides[i] = s.data
	}
	return changeLines(ctx, "the head", sides[0], sides[1])
}

// changeLines says what a state differs in from another one, which is called so.
func changeLines(ctx context.Context, what string, old, new []byte) []string {
	result, err := diff.Compare(ctx, diff.Bytes(old), diff.Bytes(new))
	if err != nil {
		return []string{"unknown: " + err.Error()}
	}
	if result.Equal() {
		return []string{"the same as at " + what}
	}
	lines := []string{fmt.Sprintf("against %s: %d added, %d changed, %d removed", what, result.Added, result.Replaced+result.Moved, result.Removed)}
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

// brief gives the beginning of a value, in one line.
func brief(value []byte) string {
	const enough = 48
	text := value
	if len(text) > 4*enough {
		text = text[:4*enough] // the rest of it is not looked at
	}
	line := conversation.OneLine(string(text))
	if len(line) <= enough && len(text) == len(value) {
		return line
	}
	return strings.ToValidUTF8(line[:min(len(line), enough)], "") + "…"
}
