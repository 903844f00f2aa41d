package messages

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"path"
	"slices"
	"strconv"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/media/files"
	"hindcast/store/media/journal"
	"hindcast/store/media/tree"
)

// How a log is put back.
//
// The SDK has no head: the last file is. So to put a log back to a message is to
// take away the files behind it, and to bring back those of its branch if it was set
// aside. agent.json says how many messages from the start are left out, and a count
// that leaves none makes the SDK write over the first. So the files change in an
// order in which the log could be loaded at any moment: agent.json first where its
// window begins earlier then, else last; the messages behind the end from the
// highest down, then those that take the place of others, then those that are new
// from the lowest up.

// mover is a plan in the making for a log.
type mover struct {
	*engine.Move
	in engine.In
	op model.Op
	// now is the log as it is, and snapshot what is aimed at. busy says that an agent may be
	// at work.
	now *reading
	snapshot
	busy bool
	// head is the message that becomes the last.
	head message
	// agent is the agent.json as it will be. It is put back from version if that
	// is set.
	agent   []byte
	version journal.Version
	// lowered says that its window begins earlier than now, unchanged that its bytes equal
	// the current file.
	lowered, unchanged bool
	// made are the messages that an edit gives another content.
	made map[string][]byte
	// midway says that the model had said more before the turn was over.
	midway bool
}

// aim works out where the snapshot leads.
func (m *mover) aim(ctx context.Context) (err error) {
	m.made = map[string][]byte{}
	if m.head, err = m.log.message(ctx, m.i); err != nil {
		return err
	}
	m.Target = model.Point{ID: idText(m.head.id), Index: m.i}
	if err := m.decideAgent(); err != nil {
		return err
	}
	m.midway, err = m.goesOn(ctx)
	return err
}

// restore plans that the log ends with the target.
func (m *mover) restore() {
	l := m.now
	m.Steps, m.Was, m.Closed = m.steps(), namesOf(l.files), []string{l.path("messages")}
	if m.stays() {
		m.hazard("the snapshot is the head already: only agent.json is written anew")
	}
	m.Hazards = append(m.Hazards, m.redactedSince()...)
	if m.aside < 0 {
		m.Uses[l.dir+l.files[m.i].name] = fmt.Sprintf("%x", m.head.sum)
	}
	if m.busy {
		m.hazard("an agent that still runs goes on from what it holds in memory and numbers its messages from there, so stop it first; one that starts just now may end with a FileNotFoundError, and starts the next time")
	}
	if m.busy || m.leftOut() {
		m.keepStays()
	}
}

// stays reports whether the log ends with the target already.
func (m *mover) stays() bool { return m.aside < 0 && m.i == len(m.now.files)-1 }

// message reads message i of a log, whose body is not kept.
func (l *messageLog) message(ctx context.Context, i int) (m message, err error) {
	err = l.readAlone(ctx, l.files[i:i+1], l.known, func(_ int, read *message) error {
		m = *read
		m.calls, m.results = slices.Clone(read.calls), slices.Clone(read.results)
		return nil
	})
	return m, err
}

// goesOn reports whether the message after an answer of the model is another one.
func (m *mover) goesOn(ctx context.Context) (bool, error) {
	if m.head.role != "assistant" || len(m.head.calls) > 0 {
		return false, nil
	}
	role := ""
	if m.aside >= 0 {
		for _, k := range m.branches.children[m.aside] {
			var d decoder
			var next message
			m.branches.read(&d, k, &next)
			role = next.role
		}
	} else if m.i+1 < len(m.now.files) {
		next, err := m.now.message(ctx, m.i+1)
		if err != nil {
			return false, err
		}
		role = next.role
	}
	return role == "assistant", nil
}

// decideAgent finds the agent.json of the time when the snapshot was the head, or
// makes one of the file that lies there.
func (m *mover) decideAgent() error {
	l, name := m.now, m.now.path("agent.json")
	d := files.ReadDocument(tree.From(l.tree), name, nil)
	if v, ok := m.branches.agents[m.Target.ID]; ok && !m.stays() {
		if data, err := l.readKept(v); err == nil {
			m.agent, m.version = data, v
			a := parseAgent(name, data, l.running, new(store.FaultList))
			m.lowered = a.start(m.i+1) < l.start
			m.hazard("agent.json goes back to what it was when this was the head, with the agent's state")
			return nil
		}
	}
	if d.Err != nil {
		if errors.Is(d.Err, fs.ErrNotExist) {
			return errors.New("without agent.json the SDK starts a new agent over these messages: repair the session first")
		}
		return fmt.Errorf("read %s: %w", name, d.Err)
	}
	m.Uses[name] = fmt.Sprintf("%x", sha256.Sum256(d.Data))
	data, of, common := d.Data, &l.agent, m.common
	if behind := m.log.behind; behind != nil {
		was := parseAgent(name, behind, l.running, new(store.FaultList))
		data, of, common = behind, &was, m.i+1
		m.hazard("agent.json goes back to what it was when a snapshot behind this one was the head, with the agent's state and the window of then")
	}
	becomes := agentMove{n: m.i + 1, common: common, same: m.stays(), pending: of.waitsFor(&m.head)}
	if m.op == model.OpRestore {
		// It is written anew, so that it is kept: it is the one record of what the agent's
		// state was while this was the head. That of a fork stays as it is where it can.
		becomes.updated = m.in.Now
	}
	moved, err := becomes.apply(data, of)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	m.agent, m.lowered, m.unchanged = moved.data, moved.lowered, bytes.Equal(moved.data, d.Data)
	m.Hazards = append(m.Hazards, moved.hazards...)
	if m.log.behind != nil {
		became := parseAgent(name, m.agent, l.running, new(store.FaultList))
		m.lowered = became.start(m.i+1) < l.start
		return nil
	}
	if state := d.Tape.Find(0, "state"); !m.stays() && state >= 0 && d.Tape.Count(state) > 0 {
		m.hazard("the agent's state has no history: it stays as it is now")
	}
	return nil
}

func (m *mover) hazard(format string, args ...any) {
	m.Hazards = append(m.Hazards, fmt.Sprintf(format, args...))
}

// waitsFor reports whether the interrupt waits for exactly the tool calls of a
// message.
func (a *agentFile) waitsFor(m *message) bool {
	if !a.interrupted || len(a.held) == 0 || len(m.calls) != len(a.held) {
		return false
	}
	missing, stale := mismatch(a.held, resultsOf(m.calls))
	return len(missing)+len(stale) == 0
}

// ending is the end of a log, with the effect of a start on it.
type ending struct {
	*reading
	// midway says that the model had said more before the turn was over.
	midway bool
	// holds says how many messages a start holds where it drops or puts in some.
	holds string
}

// muchContext is how many bytes of a context may have been too much for a model. Then
// the SDK's conversation managers first cut long tool results, in memory alone.
const muchContext = 100_000

// sound refuses what the SDK would not start from, or would write over, and returns the
// warnings.
func (e *ending) sound(ctx context.Context, m *mover) (hazards []string, err error) {
	if e.mended {
		if e.holds, err = e.startHolds(ctx); err != nil {
			return nil, err
		}
	}
	if e.loaded >= muchContext && e.agent.manager != "NullConversationManager" {
		hazards = append(hazards, fmt.Sprintf("the context is as the files have it, %d kB: what the conversation manager cut out of long tool results in memory was never written, and is whole again", e.loaded/1000))
	}
	for _, f := range e.found.All() {
		refused := pairing[f.Code] && f.Severity == model.Loses || conversation.Meaning(f.Code) != ""
		if f.Severity == model.Stops && f.Code == FaultManager || refused {
			hazards = append(hazards, fmt.Sprintf("%s: the SDK %s", f.Meaning, f.Verdict))
		}
	}
	if err := m.refused(e.reading, ""); err != nil {
		return nil, err
	}
	odd, err := e.continues(m.op)
	if odd != "" {
		hazards = append(hazards, odd)
	}
	return hazards, err
}

// refused returns why the SDK would not start from a log, by the first fault of a code; "" is
// any but that of a conversation manager, which the program may have.
func (m *mover) refused(r *reading, code string) error {
	for _, f := range r.found.All() {
		if f.Severity == model.Stops && (f.Code == code || code == "" && f.Code != FaultManager) {
			file := m.now.shown(path.Join(m.now.session, within(r.session, f.File)))
			return &model.UnsupportedError{Op: m.op, Reason: fmt.Sprintf("%s: %s: the SDK %s; repair the session first", file, f.Meaning, f.Verdict)}
		}
	}
	return nil
}

// continues makes sure that the next message becomes the last file, and a new one.
// The SDK counts on from the field message_id of the last message that it loads.
func (e *ending) continues(op model.Op) (hazard string, err error) {
	last := e.files[len(e.files)-1]
	refuse := func(format string, args ...any) (string, error) {
		return "", &model.UnsupportedError{Op: op, Reason: fmt.Sprintf(format, args...) + "; repair the session first"}
	}
	if removed := (&agentFile{removed: e.agent.removed}).start(len(e.files)); e.start >= len(e.files) || removed >= len(e.files) {
		return refuse("the SDK would load no message, and write the next one over message_0.json")
	}
	if !e.last.hasID {
		return refuse("the message_id of %s is no integer, and the SDK counts on from it", last.name)
	}
	next := big.NewInt(e.last.messageID + 1)
	if next.Cmp(last.number()) <= 0 {
		return refuse("%s has the message_id %d: the next message would become message_%s.json, among those that are there", last.name, e.last.messageID, next)
	}
	if n, ok := last.int64(); !ok || e.last.messageID != n {
		hazard = fmt.Sprintf("%s has the message_id %d: the next message becomes message_%s.json", last.name, e.last.messageID, next)
	}
	return hazard, nil
}

// next returns the name of the file that the SDK writes next.
func (e *ending) next() string { return fmt.Sprintf("message_%d.json", e.last.messageID+1) }

// leftOut reports whether the window leaves out, as it lies there, at least as many
// messages as the restore leaves. An agent that runs writes that back into agent.json
// with its next message; one that starts then loads none, and numbers from 0 (initialize
// of session/repository_session_manager.py).
func (m *mover) leftOut() bool { return m.now.agent.removed >= m.i+1 }

// keepStays has the write keep the messages that stay where they are: an agent that runs
// may have them written over.
func (m *mover) keepStays() {
	if m.common == 0 {
		return
	}
	for _, f := range m.now.files[:m.common] {
		m.Keeps = append(m.Keeps, m.now.dir+f.name)
	}
	m.Writes = append(m.Writes, fmt.Sprintf("kept, too: the %d messages that stay, which an agent that still runs may write over", m.common))
}

// steps returns what changes in this log. Of a plan that makes a session it is what another
// one would change.
func (m *mover) steps() tree.Steps {
	l := m.now
	steps := l.leads(m.common, m.back)
	if m.op.MakesSession() {
		for _, name := range l.strays { // they stay behind
			steps = append(steps, tree.Step{Name: l.dir + name, Aside: true})
		}
	}
	for name, data := range m.made {
		steps = append(steps, tree.Step{Name: l.dir + name, Data: data})
	}
	agent := tree.Step{Name: l.path("agent.json"), Data: m.agent, Version: m.version}
	if m.lowered {
		return slices.Insert(steps, 0, agent)
	}
	return append(steps, agent)
}

// pyText writes a text, which is UTF-8, as a literal: Go's are Python's, too.
func pyText(text string) string { return strconv.Quote(text) }
