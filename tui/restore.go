package tui

import (
	"context"
	"errors"
	"fmt"
	"hindcast/model/printable"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/store"
	"hindcast/tui/cell"
	"hindcast/tui/dialog"
	"hindcast/tui/sheet"
)

// Every write goes the same way: a plan is worked out, the person reads it
// whole, agrees, and only then it is carried out. The plan names the head that
// it was made against; where another program moved that in between, the store
// refuses and the plan is made anew.

// quietTime is how long no key may come before a question takes an answer: keys
// that were typed ahead were not meant for it.
const quietTime = 300 * time.Millisecond

// movedOn is said of a plan that was made against a head of before.
const movedOn = "the session has moved on since: nothing was changed, and this is the plan anew"

// write is a change of the store that a person asked for.
type write struct {
	model.Change
	// difference returns the change of the state; nil means to compare the states at the head and at the
	// target.
	difference func(context.Context) dialog.Change
	prompt     *dialog.Prompt // that asked for it; nil for none
	draft      *draft         // the edit that it starts from; nil for none
	into       *target        // the store of another tool that changes; nil for the store in view
}

// proposal is the plan of a write, about which a person is asked.
type proposal struct {
	write
	made    model.Plan
	changed dialog.Change
}

// planChange has a change planned.
func (m *Model) planChange(c model.Change) tea.Cmd { return m.planWrite(write{Change: c}) }

// planWrite has a plan worked out, each time against the store as it is then.
func (m *Model) planWrite(w write) tea.Cmd {
	plan := m.features.Plan
	if w.into != nil {
		plan = w.into.planChange
	}
	if plan == nil {
		return nil // the action is disabled
	}
	states, tree, session, lent := m.states, m.timeline.Timeline(), m.session, m.lendTimeline()
	return m.startLent(planning, "planning the "+string(w.Op), lent, func(ctx context.Context, _ *progress) fact {
		p, err := plan(ctx, w.Change)
		if err != nil {
			return func() tea.Cmd { return m.showPlan(proposal{write: w}, err) }
		}
		if p.Session == session {
			tree.NamePlan(&p)
		}
		var changed dialog.Change
		if w.difference != nil {
			changed = w.difference(ctx)
		} else {
			changed = stateChange(ctx, states, &p)
		}
		return func() tea.Cmd { return m.showPlan(proposal{write: w, made: p, changed: changed}, nil) }
	})
}

// showPlan shows the plan and asks.
func (m *Model) showPlan(p proposal, err error) tea.Cmd {
	asking := m.dialog == p.prompt // it is open still, and says what is wrong with the text
	var nothing *model.NothingToError
	switch {
	case errors.As(err, &nothing):
		m.say(nothing.Error())
		return nil
	case asking && errors.Is(err, store.ErrSessionExists):
		p.prompt.Refuse(store.ErrSessionExists.Error())
		return nil
	case p.draft != nil && err != nil:
		m.rejectEdit(p.draft, err)
		return nil
	case asking && err != nil:
		p.prompt.Refuse(err.Error())
		return nil
	case err != nil:
		m.unwritten = fmt.Errorf("cannot %s: %w", p.Op, err)
		m.tellFailure("cannot "+string(p.Op), err)
		return m.dropTarget(p.into)
	case p.made.Idle():
		m.say(fmt.Sprintf("nothing to write: %s is at %s already", p.made.Session, p.made.Target))
		return nil
	}
	return m.proposePlan(p)
}

// proposePlan asks about a plan. Where nothing takes it back, a yes leads to a second question.
func (m *Model) proposePlan(p proposal) tea.Cmd {
	answers := dialog.Answers{
		Yes: func() tea.Cmd { return m.applyPlan(p) },
		No: func() tea.Cmd {
			m.say("nothing was changed")
			m.keepDraft(p.draft)
			return m.dropTarget(p.into)
		},
		Anew: func() tea.Cmd {
			m.say(movedOn)
			return m.planWrite(p.write)
		},
	}
	first := answers
	if len(p.made.Asks) > 0 && !p.made.CanBeUndone() {
		first.Yes = func() tea.Cmd { return m.openQuestion(dialog.NewSecondQuestion(m.styles, m.keys, &p.made, answers)) }
	}
	return m.openQuestion(dialog.NewQuestion(m.styles, m.keys, &p.made, p.changed, first))
}

// openQuestion opens a question, which takes an answer as soon as no keys come any more.
func (m *Model) openQuestion(q *dialog.Question) tea.Cmd {
	m.openDialog(q)
	return m.awaitQuiet()
}

// tellFailure shows at once the whole error of an action that the person asked for.
func (m *Model) tellFailure(what string, err error) {
	m.fail(err)
	m.openDialog(dialog.NewText(m.styles, m.keys, what, printable.Addresses(err.Error())))
}

// awaitQuiet waits anew for keys to stop coming.
func (m *Model) awaitQuiet() tea.Cmd {
	after := m.o.After
	return m.start(arming, "", func(ctx context.Context, _ *progress) fact {
		select {
		case <-after(quietTime):
		case <-ctx.Done():
		}
		return func() tea.Cmd {
			m.dialog.Arm()
			m.dirty = true
			return nil
		}
	})
}

// applyPlan carries a plan out.
func (m *Model) applyPlan(p proposal) tea.Cmd {
	apply := m.features.Apply
	if p.into != nil {
		apply = p.into.applyPlan
	}
	if apply == nil {
		return nil // what plans applies
	}
	return m.start(applying, "writing: "+p.made.Headline(), func(ctx context.Context, _ *progress) fact {
		receipt, err := apply(ctx, p.made)
		return func() tea.Cmd { return m.tellReceipt(p, &receipt, err) }
	})
}

// tellReceipt reports the write that was made, and reads the session again.
func (m *Model) tellReceipt(p proposal, receipt *model.Receipt, err error) tea.Cmd {
	plan := &p.made
	var drop tea.Cmd
	if err == nil {
		drop = p.draft.removeFile()
	}
	if m.unwritten = nil; err != nil {
		m.unwritten = fmt.Errorf("cannot %s: %w", plan.Op, err)
	}
	if m.leaving {
		return tea.Sequence(drop, tea.Quit)
	}
	m.states.forgetAll()
	switch {
	case errors.Is(err, model.ErrHeadMoved):
		m.say(movedOn)
		m.message.whole = movedOn + "\n\n" + err.Error()
		return tea.Batch(m.rereadShown(), m.planWrite(p.write))
	case err != nil:
		m.tellFailure("cannot "+string(plan.Op), err)
		m.keepDraft(p.draft)
		return m.rereadShown()
	}
	closing := m.continued
	if m.continued = nil; plan.Op == model.OpContinue {
		m.continued, m.lacks[keymap.Undo] = p.into, ""
	} else if closing != nil {
		m.lacks[keymap.Undo] = store.Reason(m.o.Store, model.OpUndo)
	}
	drop = tea.Batch(drop, m.closeTarget(closing))
	m.onward = resumeCall{}
	if len(plan.Resume) > 0 {
		m.onward = resumeCall{call: plan.Resume[0].Call, then: plan.Resume[0].Then}
	}
	switch {
	case plan.Op == model.OpContinue:
	case plan.NewSession != "":
		m.only, m.made = false, plan.NewSession
	case plan.Removes && receipt.Session == m.made:
		m.made = ""
	case receipt.Session == m.session:
		m.toHead = true
	}
	m.written = true
	if plan.Op == model.OpRestore && m.tour != nil {
		m.endTour()
	}
	text, brief := m.receiptLine(plan, receipt)
	m.confirm(text)
	for _, less := range brief {
		m.message.brief = append(m.message.brief, m.styles.Glyphs.Good+" "+less)
	}
	return tea.Batch(drop, m.rereadShown())
}

// resumeCall is how a framework goes on after the last write.
type resumeCall struct{ call, then string }

// rereadShown reads again what shows: the session, or the list of them.
func (m *Model) rereadShown() tea.Cmd {
	if m.place == inSession {
		return m.readSession()
	}
	return m.listSessions()
}

// receiptLine says in one line what was done, the call to go on with and the keys that
// copy it and take the write back. brief says less and less, for a narrow screen: the keys
// stay longest.
func (m *Model) receiptLine(plan *model.Plan, r *model.Receipt) (text string, brief []string) {
	done := m.doneTexts(plan, r)
	if plan.Op == model.OpPurge {
		return done[0], done[1:]
	}
	menu, call := m.keys.Keys(keymap.Session, keymap.Yank), m.keys.Keys(keymap.Menu, keymap.YankCall)
	copies := m.onward.call != "" && m.place == inSession && len(menu) > 0 && len(call) > 0
	long, keys := []string{done[0]}, []string{}
	switch {
	case copies:
		long = append(long, "go on with "+m.styles.Glyphs.Sentence(m.onward.call))
		keys = append(keys, keymap.Label([]string{menu[0], call[0]})+" copies")
	case r.Orphaned > 0:
		long = append(long, fmt.Sprintf("%d left the path", r.Orphaned))
	}
	if r.Reactivated > 0 {
		long = append(long, fmt.Sprintf("%d came back", r.Reactivated))
	}
	copied := len(keys)
	back := keymap.Undo
	if plan.Op == model.OpUndo {
		back = keymap.Redo
	}
	if key := keymap.Label(m.keys.Keys(keymap.Session, back)); key != "" && back.WhyDisabled(m.keyContext()) == "" && plan.Op != model.OpRun && !plan.Final {
		keys = append(keys, key+" "+back.Help())
	}
	leave, open := m.keys.Keys(keymap.Session, keymap.Back), m.keys.Keys(keymap.Picker, keymap.Open)
	if plan.NewSession != "" && plan.Op != model.OpContinue && m.place == inSession && len(leave) > 0 && len(open) > 0 {
		keys = append(keys, keymap.Label([]string{leave[0], open[0]})+" "+keymap.Open.Help()+" it")
	}
	joined := func(parts ...string) string { return strings.Join(parts, " "+m.styles.Glyphs.Dot+" ") }
	for _, place := range done {
		brief = append(brief, joined(append([]string{place}, keys...)...))
	}
	brief = append(brief, joined(append(done[len(done)-1:], keys[copied:]...)...))
	return joined(append(long, keys...)...), brief
}

// doneTexts describes a finished write, at length and then in fewer and fewer words.
func (m *Model) doneTexts(plan *model.Plan, r *model.Receipt) []string {
	if plan.Op == model.OpPurge {
		return []string{"forgot what was set aside of " + r.Session}
	}
	const most = 16 // cells of a session's name that still tell it from others
	short := cell.ShortID(r.Session, most, m.styles.Glyphs.Ellipsis)
	if plan.Op == model.OpContinue {
		return []string{"continued as " + r.Session, "continued as " + short, "continued"}
	}
	if plan.Op == model.OpFork || plan.Op == model.OpEdit {
		from := "from " + plan.Target.String()
		if plan.Op == model.OpEdit {
			from = "from an edited " + plan.Target.String()
		}
		// The number of a snapshot in the fork would be that of another one here.
		as := func(name string) string { return "forked " + from + " as " + name }
		if plan.Branch != "" {
			return []string{as("the branch " + plan.Branch), "forked"}
		}
		return []string{as(r.Session), as(short), "forked as " + r.Session, "forked as " + short, "forked"}
	}
	head := r.Head
	if head.ID == plan.Target.ID {
		head.Name = plan.Target.Name
	}
	words := map[model.Op]string{model.OpUndo: "undone: ", model.OpRedo: "done again: ", model.OpRepair: "repaired: ", model.OpRun: "ran on: ", model.OpGiveBack: "given back: "}[plan.Op]
	place := func(name string) string {
		switch {
		case plan.Removes:
			return words + name + " is gone"
		case r.Head.ID == "":
			return words + name + " is without a head"
		case m.place != inSession || r.Session != m.session:
			return words + name + " is at " + head.String()
		}
		return words + "at " + head.String()
	}
	return []string{place(r.Session), place(short)}
}

// askText opens a prompt for the text that a write needs, which take puts into the change.
func (m *Model) askText(heading, label, value string, meanings []sheet.Paragraph, w write, take func(c *model.Change, text string)) {
	w.prompt = dialog.NewPrompt(m.styles, m.keys, heading, label, value, meanings, func(text string) tea.Cmd {
		take(&w.Change, text)
		return m.planWrite(w)
	}, func() tea.Cmd {
		m.stop(planning)
		m.keepDraft(w.draft)
		return nil
	})
	m.openDialog(w.prompt)
}

// newName returns a name to offer for a session that is started from the open one.
func (m *Model) newName(suffix string) string {
	session, _, _ := strings.Cut(m.session, "/") // of SESSION/AGENT the agent keeps its name
	return session + suffix
}

// planFork plans a session that starts from the snapshot under the cursor, and asks for its name
// unless the store has one.
func (m *Model) planFork() tea.Cmd {
	s := m.subject()
	if m.namesForks {
		return m.planChange(model.Change{Op: model.OpFork, Ref: s.ref})
	}
	m.askText("Fork from "+s.name, "new session", m.newName("-fork"), sessionMeanings, write{Change: model.Change{Op: model.OpFork, Ref: s.ref}}, takeName)
	return nil
}

// takeName takes a text for the name of the new session.
func takeName(c *model.Change, text string) { c.As = text }

// askRun asks for the next input of the running process, and plans to continue it from the snapshot under the
// cursor.
func (m *Model) askRun() {
	s := m.subject()
	m.askText("Run from "+s.name+": models and tools will run", "input", "", runMeanings, write{Change: model.Change{Op: model.OpRun, Ref: s.ref}}, func(c *model.Change, text string) { c.Input = text })
}

// readJournal reads what Hindcast wrote to the store.
func (m *Model) readJournal() tea.Cmd {
	writer := m.features
	if writer.Plan == nil {
		return nil // keymap.Journal is disabled
	}
	return m.start(recalling, "reading the journal", func(ctx context.Context, _ *progress) fact {
		entries, err := writer.Journal(ctx)
		return func() tea.Cmd {
			m.journalRead(entries, err)
			return nil
		}
	})
}

// journalRead shows the journal.
func (m *Model) journalRead(entries []model.JournalEntry, err error) {
	if err != nil {
		m.tellFailure("cannot read the journal", err)
		return
	}
	m.openDialog(dialog.NewJournal(m.styles, m.keys, entries, func(t time.Time) string {
		return t.In(m.o.Zone).Format(time.DateTime)
	}, dialog.JournalAnswers{Return: m.do, Purge: m.askPurge}))
}

// askPurge asks what to forget of the session of a write.
func (m *Model) askPurge(e model.JournalEntry) tea.Cmd {
	purge := func(what model.PurgeScope) func() tea.Cmd {
		return func() tea.Cmd {
			return m.planChange(model.Change{Op: model.OpPurge, Ref: model.Ref{Session: e.Session}, Scope: what})
		}
	}
	m.openDialog(dialog.NewMenu(m.styles, m.keys, keymap.PurgeMenu, "Forget for good what was set aside of "+e.Session, "plan it", []dialog.Item{
		{Action: keymap.PurgeRedacted, Text: "what the framework has redacted since", Do: purge(model.PurgeRedacted)},
		{Action: keymap.PurgeAll, Text: "branches that were left, too", Do: purge(model.PurgeAll)},
	}))
	return nil
}
