package messages

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"
	"unicode"
	"unicode/utf8"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/files"
	"hindcast/store/folder"
	"hindcast/store/journal"
	"hindcast/store/writing"
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

// course is where a plan leads: the log as it is beside the log as it will be, which is
// read from the same tree with the steps over it.
type course struct {
	op model.Op
	snapshot
	now, log *messageLog
	// agent is the agent.json as it will be. It is put back from version if that
	// is set.
	agent   []byte
	version journal.Version
	// lowered says that its window begins earlier than now, unchanged that its
	// bytes are those that lie there.
	lowered, unchanged bool
	// made are the messages that an edit gives another content.
	made map[string][]byte
	// as is the id of a new session.
	as      string
	head    message
	headID  string
	hazards []string
	asks    []string
	// midway says that the model had said more before the turn was over.
	midway bool
	// holds says how many messages a start holds where it drops or puts in some.
	holds string
}

// planRestore plans a restore. The errors are model.ErrNoSession, model.ErrNoSnapshot,
// and a model.UnsupportedError where the SDK would not start from there, or would lose a
// message.
func (s *Store) planRestore(ctx context.Context, view *folder.View, ref model.Ref) (model.Plan, error) {
	p, err := s.locate(ref.Session)
	if err != nil {
		return model.Plan{}, err
	}
	if p.orchestrator != "" {
		return s.planRewind(ctx, p, ref)
	}
	l, err := s.logOf(p, view)
	if err != nil {
		return model.Plan{}, err
	}
	defer l.close()
	c, err := s.course(ctx, l, ref.ID, model.OpRestore)
	if err != nil {
		return model.Plan{}, err
	}
	if err := c.sound(ctx); err != nil {
		return model.Plan{}, err
	}
	plan := c.plan()
	if plan.Orphans, err = l.items(ctx, c.common); err != nil {
		return model.Plan{}, err
	}
	if plan.Reactivates, err = c.items(ctx, c.common); err != nil {
		return model.Plan{}, err
	}
	plan.Head, err = l.head(ctx)
	if err != nil {
		return model.Plan{}, err
	}
	if plan.Head.ID == plan.Target.ID {
		plan.Hazards = append(plan.Hazards, "the snapshot is the head already: only agent.json is written anew")
	}
	redacted, err := s.redactedSince(ctx, c)
	if err != nil {
		return model.Plan{}, err
	}
	plan.Hazards = append(plan.Hazards, redacted...)
	ask := s.lively(l)
	if ask != "" {
		plan.Asks = append(plan.Asks, ask)
	}
	draft := s.draft(c.steps())
	draft.Was(namesOf(l.files))
	if ask != "" || c.leftOut() {
		c.keepStays(draft, &plan, s.desk)
	}
	draft.Expect(s.onDesk(l.path("messages")))
	if target := c.log.files[len(c.log.files)-1].name; c.back[target].None() {
		draft.Expect(s.onDesk(l.path("messages", target)))
	}
	if err := l.unmoved(); err != nil {
		return model.Plan{}, err
	}
	return draft.Plan(plan)
}

// course works out where a snapshot leads.
func (s *Store) course(ctx context.Context, l *messageLog, id string, op model.Op) (*course, error) {
	at, err := s.find(ctx, l, id)
	if err != nil {
		return nil, err
	}
	if at.branches == nil {
		if at.branches, err = l.branches(ctx, s.desk); err != nil {
			return nil, err
		}
	}
	c := &course{op: op, snapshot: at, now: l, made: map[string][]byte{}}
	if err := c.readHead(ctx, at.log, at.i); err != nil {
		return nil, err
	}
	if err := c.decideAgent(s); err != nil {
		return nil, err
	}
	if c.midway, err = c.goesOn(ctx, s); err != nil {
		return nil, err
	}
	c.lay(s)
	return c, nil
}

// lay reads the log as it will be.
func (c *course) lay(s *Store) {
	c.log = s.readLog(c.now.place, folder.Overlay(c.now.tree, c.steps(), s.kept))
}

// readHead reads the message that becomes the last, message i of a log.
func (c *course) readHead(ctx context.Context, l *messageLog, i int) error {
	return l.readAlone(ctx, l.files[i:i+1], l.known, func(_ int, m *message) error {
		c.head = *m
		c.head.calls, c.head.results = slices.Clone(m.calls), slices.Clone(m.results)
		c.headID = idText(m.id)
		return nil
	})
}

// goesOn reports whether the message after an answer of the model is another one.
func (c *course) goesOn(ctx context.Context, s *Store) (bool, error) {
	if c.head.role != "assistant" || len(c.head.calls) > 0 {
		return false, nil
	}
	role := ""
	if c.aside >= 0 {
		for _, k := range c.branches.children[c.aside] {
			var d decoder
			var m message
			c.branches.read(s, &d, k, &m)
			role = m.role
		}
	} else if c.i+1 < len(c.now.files) {
		err := c.now.readAlone(ctx, c.now.files[c.i+1:c.i+2], c.now.known, func(_ int, m *message) error {
			role = m.role
			return nil
		})
		if err != nil {
			return false, err
		}
	}
	return role == "assistant", nil
}

// decideAgent finds the agent.json of the time when the snapshot was the head, or
// makes one of the file that lies there.
func (c *course) decideAgent(s *Store) error {
	l := c.now
	same := c.aside < 0 && c.i == len(l.files)-1
	if v, ok := c.branches.agents[c.headID]; ok && !same {
		if data, err := s.journal.Read(v); err == nil {
			c.agent, c.version = data, v
			a := parseAgent(l.path("agent.json"), data, l.running, new(store.FaultList))
			c.lowered = a.start(c.i+1) < l.start
			c.hazard("agent.json goes back to what it was when this was the head, with the agent's state")
			return nil
		}
	}
	name := l.path("agent.json")
	d := files.ReadDocument(folder.From(l.tree), name, nil)
	if d.Err != nil {
		if errors.Is(d.Err, fs.ErrNotExist) {
			return errors.New("without agent.json the SDK starts a new agent over these messages: repair the session first")
		}
		return fmt.Errorf("read %s: %w", name, d.Err)
	}
	data, of, common := d.Data, &l.agent, c.common
	if behind := c.snapshot.log.behind; behind != nil {
		was := parseAgent(name, behind, l.running, new(store.FaultList))
		data, of, common = behind, &was, c.i+1
		c.hazard("agent.json goes back to what it was when a snapshot behind this one was the head, with the agent's state and the window of then")
	}
	m := move{n: c.i + 1, common: common, same: same, pending: of.waitsFor(&c.head)}
	if c.op == model.OpRestore {
		// It is written anew, so that it is kept: it is the one record of what the agent's
		// state was while this was the head. That of a fork stays as it is where it can.
		m.updated = s.now()
	}
	moved, err := m.apply(data, of)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	c.agent, c.lowered, c.unchanged = moved.data, moved.lowered, bytes.Equal(moved.data, d.Data)
	c.hazards = append(c.hazards, moved.hazards...)
	if c.snapshot.log.behind != nil {
		became := parseAgent(name, c.agent, l.running, new(store.FaultList))
		c.lowered = became.start(c.i+1) < l.start
		return nil
	}
	if state := d.Tape.Find(0, "state"); !same && state >= 0 && d.Tape.Count(state) > 0 {
		c.hazard("the agent's state has no history: it stays as it is now")
	}
	return nil
}

func (c *course) hazard(format string, args ...any) {
	c.hazards = append(c.hazards, fmt.Sprintf(format, args...))
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

// muchContext is how many bytes of a context may have been too much for a model. Then
// the SDK's conversation managers first cut long tool results, in memory alone.
const muchContext = 100_000

// sound refuses what the SDK would not start from, or would write over.
func (c *course) sound(ctx context.Context) error {
	l := c.log
	in := newInspector(l)
	loaded, mended := int64(0), false
	err := l.walk(ctx, func(s *step) error {
		if !l.evicted(s.i) {
			in.see(s)
		}
		loaded, mended = s.header.Size, mended || len(s.fixes) > 0
		return nil
	})
	if err == nil && mended {
		c.holds, err = l.startHolds(ctx)
	}
	if err != nil {
		return err
	}
	if loaded >= muchContext && l.agent.manager != "NullConversationManager" {
		c.hazard("the context is as the files have it, %d kB: what the conversation manager cut out of long tool results in memory was never written, and is whole again", loaded/1000)
	}
	for _, f := range in.faults() {
		switch {
		case f.Severity < model.Stops:
		case f.Code == FaultManager:
			c.hazard("%s: the SDK %s", f.Meaning, f.Verdict)
		default:
			return &model.UnsupportedError{Op: c.op, Reason: fmt.Sprintf("%s: %s: the SDK %s; repair the session first", f.File, f.Meaning, f.Verdict)}
		}
	}
	return c.continues()
}

// continues makes sure that the next message becomes the last file, and a new one.
// The SDK counts on from the field message_id of the last message that it loads.
func (c *course) continues() error {
	l := c.log
	last := l.files[len(l.files)-1]
	refuse := func(format string, args ...any) error {
		return &model.UnsupportedError{Op: c.op, Reason: fmt.Sprintf(format, args...) + "; repair the session first"}
	}
	if removed := (&agentFile{removed: l.agent.removed}).start(len(l.files)); l.start >= len(l.files) || removed >= len(l.files) {
		return refuse("the SDK would load no message, and write the next one over message_0.json")
	}
	if !c.head.hasID {
		return refuse("the message_id of %s is no integer, and the SDK counts on from it", last.name)
	}
	next, _ := parseNumber(fmt.Sprint(c.head.messageID + 1))
	if next.compare(last.number()) <= 0 {
		return refuse("%s has the message_id %d: the next message would become message_%s.json, among those that are there", last.name, c.head.messageID, next)
	}
	if n, ok := last.int64(); !ok || c.head.messageID != n {
		c.hazard("%s has the message_id %d: the next message becomes message_%s.json", last.name, c.head.messageID, next)
	}
	return nil
}

// next returns the name of the file that the SDK writes next.
func (c *course) next() string { return fmt.Sprintf("message_%d.json", c.head.messageID+1) }

// plan returns what every plan says of where it leads.
func (c *course) plan() model.Plan {
	plan := model.Plan{
		Op: c.op, Session: c.now.id, Target: model.Point{ID: c.headID, Index: len(c.log.files) - 1},
		Hazards: slices.Clone(c.hazards), Asks: c.asks,
	}
	c.resume(&plan)
	return plan
}

// leftOut reports whether the window leaves out, as it lies there, at least as many
// messages as the restore leaves. An agent that runs writes that back into agent.json
// with its next message; one that starts then loads none, and numbers from 0 (initialize
// of session/repository_session_manager.py).
func (c *course) leftOut() bool { return c.now.agent.removed >= len(c.log.files) }

// keepStays has the write keep the messages that stay where they are: an agent that runs
// may have them written over.
func (c *course) keepStays(draft *journal.Draft, plan *model.Plan, d *desk) {
	if c.common == 0 {
		return
	}
	for _, f := range c.now.files[:c.common] {
		draft.Keep(d.onDesk(c.now.path("messages", f.name)))
	}
	plan.Writes = append(plan.Writes, fmt.Sprintf("kept, too: the %d messages that stay, which an agent that still runs may write over", c.common))
}

// steps returns what changes. Of a plan that makes a session it is what another one would
// change in this one.
func (c *course) steps() folder.Steps {
	l := c.now
	steps := l.leads(c.common, c.back)
	if c.op.MakesSession() {
		for _, name := range l.strays { // they stay behind
			steps = append(steps, folder.Step{Name: l.dir + name, Aside: true})
		}
	}
	for name, data := range c.made {
		steps = append(steps, folder.Step{Name: l.dir + name, Data: data})
	}
	agent := folder.Step{Name: l.path("agent.json"), Data: c.agent, Version: c.version}
	if c.lowered {
		return slices.Insert(steps, 0, agent)
	}
	return append(steps, agent)
}

// items returns the messages of a log from one on for a plan.
func (l *messageLog) items(ctx context.Context, from int) ([]model.Point, error) {
	list := make([]model.Point, 0, len(l.files)-from)
	err := l.read(ctx, l.files[from:], l.known, func(i int, m *message) error {
		list = append(list, model.Point{ID: idText(m.id), Index: from + i})
		return nil
	})
	return list, err
}

func (c *course) items(ctx context.Context, from int) ([]model.Point, error) {
	return c.log.items(ctx, min(from, len(c.log.files)))
}

// head returns the snapshot from which the SDK would go on now.
func (l *messageLog) head(ctx context.Context) (model.Point, error) {
	if len(l.files) == 0 {
		return model.Point{}, nil
	}
	list, err := l.items(ctx, len(l.files)-1)
	if err != nil {
		return model.Point{}, err
	}
	return list[0], nil
}

// unmoved makes sure that the names in the folder are those that were planned with.
func (l *messageLog) unmoved() error {
	names, err := l.place.tree.List(l.path("messages"))
	if err != nil {
		return err
	}
	n := 0
	for _, name := range names {
		if f, ok := fileOf(name); ok {
			n++
			if l.position(f.name) < 0 {
				n = -1
				break
			}
		}
	}
	if n != len(l.files) {
		return &journal.ConflictError{Path: l.path("messages"), Found: "got or lost messages"}
	}
	return nil
}

// quiet is how long a session has to be left alone to be taken for one without a
// writer.
const quiet = 5 * time.Second

// lively returns why an agent may still be running on the log, "" for no sign of it.
// A running agent counts on from what it holds in memory, and knows nothing of a
// restore. One that starts lists the messages and then opens one after the other, in
// every version (list_messages of session/file_session_manager.py).
func (s *Store) lively(l *messageLog) string {
	names := []string{l.path("agent.json")}
	for _, f := range l.files[max(0, len(l.files)-3):] {
		names = append(names, l.path("messages", f.name))
	}
	for _, name := range l.strays {
		if isTemporary(name) {
			names = append(names, l.path("messages", name))
		}
	}
	var stamps []writing.Stamp
	for _, name := range names {
		if at, err := l.place.tree.Stamp(name); err == nil {
			stamps = append(stamps, writing.Stamp{Name: s.onDesk(name), At: at.Modified})
		}
	}
	age, ok := s.on.Lively(quiet, stamps...)
	if !ok {
		return ""
	}
	return fmt.Sprintf("the session was written to %s ago: an agent that still runs goes on from what it holds in memory and numbers its messages from there, so stop it first; one that starts just now may end with a FileNotFoundError, and starts the next time", age.Round(100*time.Millisecond))
}

// pyText writes a text, which is UTF-8, as Python would take it.
func pyText(text string) string {
	literal := []byte{'"'}
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == '"' || r == '\\':
			literal = append(literal, '\\', byte(r))
		case !unicode.IsPrint(r) && r <= 0xffff:
			literal = fmt.Appendf(literal, `\u%04x`, r)
		case !unicode.IsPrint(r):
			literal = fmt.Appendf(literal, `\U%08x`, r)
		default:
			literal = append(literal, text[:n]...)
		}
		text = text[n:]
	}
	return string(append(literal, '"'))
}
