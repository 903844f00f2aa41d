package genkit

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/store/engine"
	"hindcast/store/media/runtimes"
	"hindcast/store/media/tree"
)

// turn is the data that a plan to run carries.
type turn struct {
	runtimes.Turn
	at     *runtimes.Runtime
	target *target
}

// planRun plans the row that a process of the project would write from the target: the same rows leave the path
// as in a restore. The error is a *model.UnsupportedError where Genkit does not resume the row.
func (t *target) planRun() (*engine.Move, error) {
	one := t.one
	if why := one.resumeByID(t.row, t.now).refused; why != "" {
		return nil, &model.UnsupportedError{Op: model.OpRun, Reason: why + one.insteadOf(t.row, t.now)}
	}
	child, _, err := t.copyOf(model.OpRun)
	if err != nil {
		return nil, err
	}
	m := t.newMove()
	m.Own, m.Carry = &goal{op: model.OpRun, target: t, runs: true}, &turn{target: t}
	m.Steps = tree.Steps{{Name: one.fileOf(child.id), Data: child.encodeRow(one.layout)}}
	if one.layout != layoutPython {
		m.Steps = append(m.Steps, one.pointTo(child.id, child.created, t.now))
	}
	m.Writes = []string{fmt.Sprintf("by the agent: a new row, the child of #%d, which becomes the head", m.Target.Index)}
	return m, nil
}

// planRun completes a plan that a process of the project, one that is running just now, goes on from a row.
// The error is a *model.UnsupportedError if no process runs, or none has the agent.
func (p *part) planRun(ctx context.Context, plan *model.Plan, run *turn, input string) (err error) {
	r, one := run.target.row, run.target.one
	run.Turn = runtimes.Turn{Snapshot: r.id, Text: input}
	if run.at, run.Agent, err = p.opened.findRuntime(ctx, p.shownName(one.place.dir)); err != nil {
		return err
	}
	plan.Asks = append([]string{"models and tools run: that may cost money, and what tools do cannot be undone"}, plan.Asks...)
	plan.Hazards = append(plan.Hazards, fmt.Sprintf("the process at %s runs agent %q; Hindcast writes nothing, and keeps no journal of it", run.at.Address(), run.Agent))
	plan.Loads = fmt.Sprintf("agent %q loads #%d (%s), and is sent %s", run.Agent, plan.Target.Index, messagesOf(r), one.layout.quoteText(clipText(input)))
	return nil
}

// findRuntime finds a process that is running and has the agent of a place. The rows do
// not name it; the folders that they are in may.
func (s *Store) findRuntime(ctx context.Context, below string) (*runtimes.Runtime, string, error) {
	if s.on != nil {
		return nil, "", &model.UnsupportedError{Op: model.OpRun, Reason: "a process reads the rows of its project from a disk, and these are in a bucket: copy them first"}
	}
	dir, err := filepath.Abs(filepath.Join(s.dir, filepath.FromSlash(below)))
	if err != nil {
		return nil, "", err
	}
	list := runtimes.Find(dir)
	type found struct {
		at    *runtimes.Runtime
		agent string
	}
	var able []found
	var others []string
	living := 0
	for _, r := range list {
		agents, err := r.Agents(ctx)
		if ctx.Err() != nil {
			return nil, "", context.Cause(ctx)
		}
		if err != nil {
			continue // it has ended, and left its file behind
		}
		living++
		if name := agentOf(filepath.ToSlash(dir), agents); name != "" {
			able = append(able, found{r, name})
		}
		others = append(others, agents...)
	}
	refuse := func(why string) (*runtimes.Runtime, string, error) {
		return nil, "", &model.UnsupportedError{Op: model.OpRun, Reason: why}
	}
	switch {
	case len(able) == 1:
		return able[0].at, able[0].agent, nil
	case len(able) > 1:
		return refuse(fmt.Sprintf("%d processes have the agent %q (%s, %s): stop all but one", len(able), able[0].agent, able[0].at.Address(), able[1].at.Address()))
	case living == 0:
		return refuse("no process of the project is running: start the agent with GENKIT_ENV=dev")
	}
	slices.Sort(others)
	return refuse(fmt.Sprintf("the folder of the rows is named after none of the agents that are running: %.300s", strings.Join(slices.Compact(others), ", ")))
}

// agentOf returns the agent after which a folder, or one above it, is named; else the
// only one that there is.
func agentOf(dir string, agents []string) string {
	segments := strings.Split(dir, "/")
	for _, name := range slices.Backward(segments) {
		if slices.Contains(agents, name) {
			return name
		}
	}
	if len(agents) == 1 {
		return agents[0]
	}
	return ""
}

// carryOutRun carries out a plan of planRun.
func (p *part) carryOutRun(ctx context.Context, plan model.Plan, t *turn) (model.Receipt, error) {
	out, err := t.at.Take(ctx, t.Turn)
	receipt := model.Receipt{Op: plan.Op, Session: plan.Session, Head: model.Point{ID: out.Snapshot}}
	if log, wrong := p.Log(ctx, plan.Session); wrong == nil && log.At(out.Snapshot) >= 0 {
		receipt.Head = log.Rows[log.At(out.Snapshot)].Point()
	}
	// JavaScript names the row that the failed turn began at.
	if err != nil && out.Snapshot != "" && out.Snapshot != t.Snapshot {
		err = fmt.Errorf("%w (its row is %s)", err, model.ShortID(out.Snapshot, 8))
	}
	return receipt, err
}
