package query

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"hindcast/model"
	"hindcast/model/filechange"
)

// The changes of files by a step stand in its messages, in the sessions of the sub-agents that it started, and in the copies
// of files that its agent keeps:
//
//	messages ──▶ effects ─┐
//	sub-agents ▶ effects ─┴▶ merged with copies ──▶ steps
//
// Copies tell the sum of several steps, sub-agents and commands included: so they are merged last, and a change that no
// call accounts for belongs to the only command among these, or to no call.

// Files returns a FileStep for each visit that ran commands or changed files, in the order in which the visits were
// recorded. With whole the texts before and after a change are read, too. The error ends the sequence.
func (q *Session) Files(ctx context.Context, whole bool) iter.Seq2[FileStep, error] {
	return q.collectFiles(ctx, fileSteps{whole: whole}, nil)
}

// AllFiles adds to Files the changes of files by sub-agents, and by their own, at the steps that started them.
func (q *Session) AllFiles(ctx context.Context, whole bool) iter.Seq2[FileStep, error] {
	return q.collectFiles(ctx, fileSteps{whole: whole, agents: true}, nil)
}

// collectFiles implements Files and AllFiles, as the flags of how say. above are the sessions that started this one.
func (q *Session) collectFiles(ctx context.Context, how fileSteps, above []string) iter.Seq2[FileStep, error] {
	own := q.ownFiles(ctx, how.whole)
	f := q.features
	if f.SubAgents == nil || !how.agents && f.FileCopies == nil {
		return own
	}
	return func(yield func(FileStep, error) bool) {
		s := how
		s.Session, s.at = q, map[model.Node]*FileStep{}
		err := s.readSteps(ctx, own, above)
		if err != nil {
			yield(FileStep{}, err)
			return
		}
		for _, n := range slices.Sorted(maps.Keys(s.at)) {
			step := s.at[n]
			if !s.agents {
				step.Effects = slices.DeleteFunc(step.Effects, func(e filechange.Effect) bool { return e.Agent != "" })
			}
			if (len(step.Effects) > 0 || step.Unread != nil) && !yield(*step, nil) {
				return
			}
		}
	}
}

// fileSteps are the steps of a session while they are put together.
type fileSteps struct {
	*Session
	// whole, agents and called are documented at Files, AllFiles and FileSearch.
	whole, agents, called bool
	at                    map[model.Node]*FileStep
	nodes                 map[string]model.Node // the first visit of each id
}

// stepAt returns the step of a visit.
func (s *fileSteps) stepAt(n model.Node) *FileStep {
	if s.at[n] == nil {
		s.at[n] = &FileStep{Visit: n}
	}
	return s.at[n]
}

// readSteps reads the steps.
func (s *fileSteps) readSteps(ctx context.Context, own iter.Seq2[FileStep, error], above []string) error {
	v := s.view()
	session := ""
	s.nodes = make(map[string]model.Node, len(v.visits))
	for n := range v.nodes() {
		ref := v.visits[n].ref
		session = ref.Session
		if _, known := s.nodes[ref.ID]; !known {
			s.nodes[ref.ID] = n
		}
	}
	for step, err := range own {
		if err != nil {
			return err
		}
		s.at[step.Visit] = &step
	}
	if session == "" {
		return nil
	}
	if err := s.addAgents(ctx, session, append(slices.Clip(above), session)); err != nil || s.features.FileCopies == nil {
		return err
	}
	for c, err := range s.features.FileCopies(ctx, session) {
		if err != nil {
			return err
		}
		if !s.called || !c.At.IsZero() {
			s.mergeCopies(&c)
		}
	}
	return nil
}

// addAgents adds the effects of sub-agents.
func (s *fileSteps) addAgents(ctx context.Context, session string, above []string) error {
	started, err := s.features.SubAgents(ctx, session)
	if err != nil {
		return err
	}
	told := map[string]bool{}
	for _, of := range started {
		n, known := s.nodes[of.ID]
		if !known || told[of.Session] || slices.Contains(above, of.Session) {
			continue
		}
		told[of.Session] = true
		effects, err := s.agentEffects(ctx, of.Session, above)
		if err != nil && ctx.Err() != nil {
			return err
		}
		step := s.stepAt(n)
		if step.Effects = append(step.Effects, effects...); err != nil && !errors.Is(err, model.ErrNoSession) {
			step.Unread = fmt.Errorf("sub-agent %.80q: %w", of.Session, err)
		}
	}
	return nil
}

// agentEffects returns the changing effects of a sub-agent and its own sub-agents.
func (s *fileSteps) agentEffects(ctx context.Context, session string, above []string) (list []filechange.Effect, err error) {
	t, err := ReadTimeline(ctx, s.store, session)
	if err != nil {
		return nil, err
	}
	for step, err := range Open(s.store, t).collectFiles(ctx, fileSteps{whole: s.whole, agents: true}, above) {
		if err == nil {
			err = step.Unread
		}
		if err != nil {
			return list, err
		}
		for _, e := range step.Effects {
			if len(e.Changes) == 0 {
				continue
			}
			if e.Agent == "" {
				e.Agent = session
			}
			list = append(list, e)
		}
	}
	return list, nil
}

// mergeCopies completes the effects of some steps by the agent's copies of files.
func (s *fileSteps) mergeCopies(c *filechange.Copies) {
	var effects []*filechange.Effect
	last := model.NoNode
	for _, id := range c.Snapshots {
		n, known := s.nodes[id]
		if !known {
			continue
		}
		if last = n; s.at[n] != nil {
			for i := range s.at[n].Effects {
				effects = append(effects, &s.at[n].Effects[i])
			}
		}
	}
	if last == model.NoNode {
		return
	}
	rest := c.Merge(effects)
	var by *filechange.Effect // the only command
	commands := 0
	for _, e := range effects {
		if e.Command != "" {
			by, commands = e, commands+1
		}
	}
	switch {
	case len(rest) == 0:
	case commands == 1:
		by.Changes = append(by.Changes, rest...)
	default:
		effects = append(effects, &filechange.Effect{Tool: filechange.ByCopies, Milliseconds: -1, Changes: rest})
	}
	for _, e := range effects {
		if e.At = c.At; !s.whole {
			e.ForgetTexts()
		}
	}
	if len(rest) > 0 && commands != 1 {
		step := s.stepAt(last)
		step.Effects = append(step.Effects, *effects[len(effects)-1])
	}
}
