package messages

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/store/engine/folder"
	"hindcast/store/media/journal"
	"hindcast/store/media/tree"
)

// logs reads and changes the logs of agents.
type logs struct{}

// Name implements folder.Format.
func (logs) Name() string { return "Strands" }

// row is one row of a timeline, which is lent.
type row struct {
	header *model.Header
	msg    *message
	// step is nil of a message that is aside; aside is its position among those then, else -1.
	step  *step
	aside int
}

// rows calls visit with the rows of a log from one message on: each message, and behind it
// the branches that leave there.
func (b *branches) rows(ctx context.Context, w *walker, from int, visit func(*row) error) error {
	l := w.log
	w.wide = len(b.list) > 0
	if err := w.begin(ctx, from); err != nil {
		return err
	}
	if err := b.leave(ctx, w, from-1, visit); err != nil {
		return err
	}
	return l.read(ctx, l.files[from:], l.known, func(i int, m *message) error {
		now := w.step(from+i, m)
		if err := visit(&row{header: &now.header, msg: m, step: now, aside: -1}); err != nil {
			return err
		}
		return b.leave(ctx, w, from+i, visit)
	})
}

// reading is the result of reading a log.
type reading struct {
	*messageLog
	branches *branches
	// at has for each row the position of its message: in the log, or if that is aside, -1
	// minus the one among those.
	at []int
	// last is the last message of the log, and faults are the faults of the loaded messages.
	// loaded is the size of the state; mended says that a start drops messages or inserts
	// some.
	last   message
	faults []model.Fault
	loaded int64
	mended bool
}

// Read implements folder.Format. A log that cannot be listed has no rows.
func (logs) Read(ctx context.Context, in folder.In, at folder.Place) (*folder.Log, error) {
	p := at.Own.(place)
	defer p.hold(in.Tree)()
	l := readLog(p, in)
	r := &reading{messageLog: l, branches: &branches{log: l}}
	log := &folder.Log{Place: at, Head: -1, Settled: true, Aside: map[string]*folder.Aside{}, Own: r, Written: l.stamps()}
	inspect := newInspector(l)
	if l.err != nil || p.agent == "" {
		r.faults = inspect.faults()
		return log, ctx.Err()
	}
	var err error
	if !in.There {
		r.branches, err = l.branches(ctx)
	}
	if err != nil {
		return nil, err
	}
	n := len(l.files) + len(r.branches.list)
	log.Rows, log.Files, log.Contents, r.at = make([]model.Header, 0, n), make([]string, 0, n), make([]string, 0, n), make([]int, 0, n)
	err = r.branches.rows(ctx, l.walker(), 0, func(row *row) error {
		log.Rows, log.Files = append(log.Rows, *row.header), append(log.Files, l.dir+row.msg.name)
		log.Contents = append(log.Contents, row.msg.content())
		if row.step == nil {
			version := r.branches.list[row.aside].version
			log.Aside[row.header.ID] = &folder.Aside{Name: l.dir + row.msg.name, Version: version}
			r.at = append(r.at, -1-row.aside)
			return nil
		}
		r.at = append(r.at, row.step.i)
		log.Head = len(log.Rows) - 1
		if !l.evicted(row.step.i) {
			inspect.see(row.step)
		}
		r.loaded, r.mended = row.header.Size, r.mended || len(row.step.fixes) > 0
		if row.header.Head {
			r.last = *row.msg
			r.last.calls, r.last.results = slices.Clone(row.msg.calls), slices.Clone(row.msg.results)
		}
		return nil
	})
	r.faults = inspect.faults()
	return log, err
}

// content tells the file of a message from others of its name, and from those of other
// names; "" for one that could not be read.
func (m *message) content() string {
	if m.sum == [len(m.sum)]byte{} {
		return ""
	}
	return string(m.sum[:]) + m.name
}

// broken reports whether something is wrong with the log that a repair mends.
func (r *reading) broken() bool { return slices.ContainsFunc(r.faults, isFatal) }

// gone reports whether nothing of the agent is there.
func (r *reading) gone() bool { return r.place.agent != "" && !r.there && r.agent.missing }

// stamps are when the files were written that an agent at work writes: agent.json, the last
// messages, and those that it is about to give their names.
func (l *messageLog) stamps() (list []folder.Written) {
	if l.place.agent == "" {
		return nil
	}
	names := []string{l.path("agent.json")}
	for _, f := range l.files[max(0, len(l.files)-3):] {
		names = append(names, l.dir+f.name)
	}
	for _, name := range l.strays {
		if isTemporary(name) {
			names = append(names, l.dir+name)
		}
	}
	for _, name := range names {
		if at, err := l.tree.Stamp(name); err == nil {
			list = append(list, folder.Written{Name: name, At: at.Modified})
		}
	}
	return list
}

// target finds the snapshot of an id among the rows.
func (logs) target(before *folder.Log, id string) (snapshot, error) {
	r := before.Own.(*reading)
	n := before.At(id)
	if n < 0 {
		return snapshot{}, model.ErrNoSnapshot
	}
	if i := r.at[n]; i >= 0 {
		return snapshot{log: r.messageLog, i: i, message: parseID(id), aside: -1, common: i + 1, back: map[string]journal.Version{}, branches: r.branches}, nil
	}
	return r.branches.snapshotOf(-1-r.at[n], id), nil
}

// Move implements folder.Mover. The errors are model.ErrNoSnapshot, store.ErrSessionExists,
// a model.NothingToError, and a model.UnsupportedError where the SDK would not start from
// there, or would lose a message.
func (f logs) Move(ctx context.Context, in folder.In, before *folder.Log, c model.Change) (*folder.Move, error) {
	m := &move{Move: &folder.Move{Uses: map[string]string{}}, in: in, op: c.Op, now: before.Own.(*reading), busy: before.Busy != ""}
	m.Own = m
	if c.Op == model.OpRepair {
		return m.Move, m.repair(ctx)
	}
	if m.now.err != nil {
		return nil, m.now.err
	}
	if c.Op == model.OpPurge {
		m.purge(c.Scope)
		m.Target = before.HeadPoint()
		return m.Move, nil
	}
	if c.Op.MakesSession() {
		if err := cmp.Or(checkName(in.Tree, c.Op, c.As), m.refused(m.now, FaultSessionFile)); err != nil {
			return nil, err
		}
	}
	var err error
	if m.snapshot, err = f.target(before, c.Ref.ID); err != nil {
		return nil, err
	}
	if err := m.aim(ctx); err != nil {
		return nil, err
	}
	switch c.Op {
	case model.OpRestore:
		m.restore()
		return m.Move, nil
	case model.OpEdit:
		if err := m.edit(ctx, c.State); err != nil {
			return nil, err
		}
	}
	return m.Move, m.copy(c.As)
}

// What an undo or a redo does to a session.
const (
	brokenAgain = "the session is as broken as it was: the SDK may refuse to start, or write over messages"
	mendedAgain = "the session is as it was after the repair: the SDK starts on it"
)

func goneWords(on tree.Source, id string) string {
	session, _, _ := strings.Cut(id, "/")
	return fmt.Sprintf("session %q is gone: %s begins a new one", id, manager(on, session))
}

func thereWords(id string) string {
	return fmt.Sprintf("session %q is there again, as it was made", id)
}

// Next implements folder.Mover.
func (logs) Next(ctx context.Context, before, after *folder.Log, mv *folder.Move) (next folder.Next, err error) {
	was, now := before.Own.(*reading), after.Own.(*reading)
	e := ending{reading: now}
	switch {
	case mv == nil && now.gone():
		next.Loads = goneWords(was.on, was.id)
		return next, nil
	case mv == nil && was.gone():
		next.Loads = thereWords(now.id)
		return next, nil
	case mv == nil && now.broken() && !was.broken():
		next.Loads, next.Hazards = brokenAgain, []string{brokenAgain}
		return next, nil
	}
	if mv != nil {
		m := mv.Own.(*move)
		e.midway = m.midway
		if m.op != model.OpRepair {
			if next.Hazards, err = e.sound(ctx, m); err != nil {
				return next, err
			}
		}
	}
	switch {
	case now.place.agent == "" || !now.there:
		next.Loads = "the SDK starts with the agents that it finds"
	case len(now.files) == 0:
		next.Loads = "the SDK starts, and loads no message: there is none"
	default:
		e.resume(&next)
	}
	if mv != nil && mv.Own.(*move).op == model.OpRepair {
		next.Asks = nil // what a start does is not asked by a repair
	}
	return next, nil
}
