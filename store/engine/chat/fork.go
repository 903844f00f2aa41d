package chat

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/store/engine"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
)

// A session that a model goes on from may not end with a tool call that nothing answers: a
// provider refuses it, or the agent runs the tool again. So a fork is cut behind the answers.

// Open returns the tool calls of the last answer on the way to an entry that nothing on that
// way answers. Where the model answered again behind a call, it went on without the result,
// and goes on again.
func (s *Session) Open(to *Entry) (calls []string) {
	last := User
	for _, i := range s.Reads(s.At(to.ID)) {
		said := &s.Entries[i].Said
		if said.Role == Assistant && last != Assistant {
			calls = nil
		}
		last = said.Role
		for _, c := range said.Calls {
			calls = append(calls, c.ID)
		}
		for _, r := range said.Results {
			calls = slices.DeleteFunc(calls, func(id string) bool { return id == r.ID })
		}
	}
	return calls
}

// Reads returns the entries whose messages make the state at one, by their positions: see
// [Entry].Context.
func (s *Session) Reads(to int) []int {
	if to < 0 {
		return nil
	}
	if s.Entries[to].Context != nil {
		return s.Entries[to].Context
	}
	path := s.pathTo(to)
	for k := len(path) - 2; k >= 0; k-- {
		if first := s.Entries[path[k]].Context; first != nil {
			return append(append(make([]int, 0, len(first)+len(path)-k-1), first...), path[k+1:]...)
		}
	}
	return path
}

// refusesOpen refuses an entry that ends with a tool call which nothing answers.
func (s *Session) refusesOpen(op model.Op, at int) error {
	open := s.Open(&s.Entries[at])
	if len(open) == 0 {
		return nil
	}
	return &model.UnsupportedError{Op: op, Reason: fmt.Sprintf(
		"#%d would end with a tool call that nothing answers (%s): %s from the result, or from a message before the call", at, conversation.List(open, func(id string) string { return fmt.Sprintf("%.40q", id) }), op)}
}

// planFork plans a session that ends with an entry.
func (s *Store) planFork(in engine.In, before *engine.Log, at int, c model.Change) (*engine.Move, error) {
	forker, ok := s.format.(Forker)
	if !ok {
		return nil, &model.UnsupportedError{Op: c.Op, Reason: s.agent.Lacks}
	}
	one := before.Own.(*Session)
	if err := one.refusesOpen(c.Op, at); err != nil {
		return nil, err
	}
	return s.planSession(in, before, at, c, func(cut Cut) (*Fork, error) {
		made, err := forker.Fork(cut)
		if _, ok := s.format.(Joiner); ok && err == nil && one.needsJoin() {
			made.Hazards = append(made.Hazards, "the chain is broken, and this fork has one of its pieces: hindcast fork --join makes a session of all of them")
		}
		return made, err
	})
}

// mostCopied bounds the bytes of sub-agents that a fork copies.
const mostCopied = 64 << 20

// CopyAgents adds the files of n sub-agents of the path to a fork, in a folder, up to a size. A hazard says where
// they are larger. Agents resume without them.
func (m *Fork) CopyAgents(in engine.In, dir string, n int, names []string) error {
	var steps tree.Steps
	size := int64(0)
	for _, name := range names {
		at, err := in.Stamp(name)
		if err != nil || at.Kind == files.Nothing {
			continue
		}
		if size += at.Size; size > mostCopied {
			m.Hazards = append(m.Hazards, "the conversations of sub-agents are not copied: they are larger than 64 MB")
			return nil
		}
		data, _, err := in.Read(name, nil)
		if err != nil {
			return err
		}
		steps = append(steps, tree.Step{Name: tree.Join(dir, path.Base(name)), Data: data})
	}
	m.Steps = append(steps, m.Steps...) // the session comes when they are there
	m.Writes = append(m.Writes, fmt.Sprintf("%s: %s of the path, as they are", dir, model.Count(n, "sub-agent")))
	return nil
}

// planRestore plans to have the agent's own pointer name an entry.
func (s *Store) planRestore(in engine.In, before *engine.Log, at int, c model.Change) (*engine.Move, error) {
	one := before.Own.(*Session)
	to := &one.Entries[at]
	if err := one.refusesOpen(c.Op, at); err != nil {
		return nil, err
	}
	made, err := s.format.(Restorer).Restore(Cut{In: in, Session: one, To: to, Dir: s.folder, Op: c.Op})
	if err != nil {
		return nil, err
	}
	m := &engine.Move{Target: before.Rows[at].Point(), Steps: made.Steps, Uses: made.Uses, Writes: made.Writes, Hazards: append(made.Hazards, to.workTree()), Own: made.Calls}
	m.Writes = append(m.Writes, "journal: one entry")
	return m, nil
}

// workTree says that a way back takes back nothing but the conversation.
func (e *Entry) workTree() string {
	text := "the files of the work tree stay as they are now"
	if e.Meta == nil {
		return text
	}
	var then []string
	if e.Meta.Branch != "" {
		then = append(then, "the branch was "+e.Meta.Branch)
	}
	if e.Meta.Commit != "" {
		then = append(then, "the commit "+e.Meta.Commit)
	}
	if len(then) > 0 {
		text += "; at that message " + strings.Join(then, ", ")
	}
	return text
}
