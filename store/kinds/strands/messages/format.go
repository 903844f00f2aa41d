package messages

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/kinds/strands/runs"
	"hindcast/store/media/journal"
	"hindcast/store/media/tree"
)

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
	// last is the last message of the log, and found are the faults of the log, before the journal is asked.
	// loaded is the size of the state; mended says that a start drops messages or inserts
	// some.
	last   message
	found  store.FaultList
	loaded int64
	mended bool
}

// records reads and changes the records of orchestrators.
var records = runs.Format{Files: recordFiles{}}

// readSession returns the log of an agent, or the record of an orchestrator. A log that cannot be listed has no rows.
func readSession(ctx context.Context, in engine.In, at engine.Place, _ string) (*engine.Log, error) {
	p := at.Own.(place)
	if p.orchestrator != "" {
		log, err := records.Read(ctx, in, at)
		if err == nil {
			log.Empty, log.Err = true, log.Own.(*runs.Records).Err()
		}
		return log, err
	}
	defer p.hold(in.Tree)()
	l := readLog(p, in)
	r := &reading{messageLog: l, branches: &branches{log: l}}
	log := &engine.Log{Place: at, Head: -1, Settled: true, Empty: true, Err: l.err, Aside: map[string]*engine.Aside{}, Own: r, Written: l.stamps()}
	inspect := newInspector(l)
	if l.err != nil || p.agent == "" {
		r.found = inspect.list
		return log, ctx.Err()
	}
	var err error
	var contents strings.Builder
	if !in.There {
		r.branches, err = l.branches(ctx)
	}
	if err != nil {
		return nil, err
	}
	n, x := len(l.files)+len(r.branches.list), newIndex(len(l.files))
	log.Rows, log.Files, log.Contents, r.at = make([]model.Header, 0, n), make([]string, 0, n), make([]string, 0, n), make([]int, 0, n)
	contents.Grow(n * len(message{}.sum) * 2)
	err = r.branches.rows(ctx, l.walker(), 0, func(row *row) error {
		log.Rows, log.Files = append(log.Rows, *row.header), append(log.Files, row.msg.file)
		log.Contents = append(log.Contents, row.msg.content(&contents))
		if row.step == nil {
			version := r.branches.list[row.aside].version
			log.Aside[row.header.ID] = &engine.Aside{Name: row.msg.file, Version: version}
			r.at = append(r.at, -1-row.aside)
			return nil
		}
		x.add(row.step)
		r.at = append(r.at, row.step.i)
		log.Head = len(log.Rows) - 1
		inspect.see(row.step)
		r.loaded, r.mended = row.header.Size, r.mended || len(row.step.fixes) > 0
		if row.header.Head {
			r.last = *row.msg
			r.last.calls, r.last.results = slices.Clone(row.msg.calls), slices.Clone(row.msg.results)
		}
		return nil
	})
	r.found = inspect.list
	if err == nil && !l.laid {
		l.keep(x, 0)
	}
	l.tree = nil // the next reader has its own, see readingOf
	return log, err
}

// readingOf returns what was read of a log, to read on in the tree of an input.
func readingOf(log *engine.Log, in engine.In) *reading {
	r := *log.Own.(*reading)
	l, b := *r.messageLog, *r.branches
	l.tree, l.memo, l.writes, l.laid = in.Tree, in.Memo, in.Writes, in.There
	l.told, b.log = in.Writes.ForSession(log.Place.Session), &l
	r.messageLog, r.branches = &l, &b
	return &r
}

// content tells the file of a message from others of its name, and from those of other
// names; "" for one that could not be read. It is a part of the text that to gets.
func (m *message) content(to *strings.Builder) string {
	from := to.Len()
	if m.sum != [len(m.sum)]byte{} {
		to.Write(m.sum[:])
		to.WriteString(m.name)
	}
	return to.String()[from:]
}

// broken reports whether something is wrong with the log that a repair mends.
func (r *reading) broken() bool { return slices.ContainsFunc(r.found.All(), isFatal) }

// gone reports whether nothing of the agent is there.
func (r *reading) gone() bool { return r.place.agent != "" && !r.there && r.agent.missing }

// stamps are when the files were written that an agent at work writes: agent.json, the last
// messages, and those that it is about to give their names.
func (l *messageLog) stamps() (list []engine.Written) {
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
			list = append(list, engine.Written{Name: name, At: at.Modified})
		}
	}
	return list
}

// target finds the snapshot of an id among the rows.
func (r *reading) target(before *engine.Log, id string) (snapshot, error) {
	n := before.At(id)
	if n < 0 {
		return snapshot{}, model.ErrNoSnapshot
	}
	if i := r.at[n]; i >= 0 {
		return snapshot{log: r.messageLog, i: i, message: parseID(id), aside: -1, common: i + 1, back: map[string]journal.Version{}, branches: r.branches}, nil
	}
	return r.branches.snapshotOf(-1-r.at[n], id), nil
}

// planMove plans a change. The errors are model.ErrNoSnapshot, store.ErrSessionExists,
// a model.NothingToError, and a model.UnsupportedError where the SDK would not start from
// there, or would lose a message.
func planMove(ctx context.Context, in engine.In, before *engine.Log, c model.Change) (*engine.Move, error) {
	p := before.Place.Own.(place)
	if err := p.refusal(c.Op); err != nil {
		return nil, err
	}
	if p.orchestrator != "" {
		return records.Move(ctx, in, before, c)
	}
	m := &mover{Move: &engine.Move{Uses: map[string]string{}}, in: in, op: c.Op, now: readingOf(before, in), busy: before.Busy != ""}
	m.Own = m
	if c.Op == model.OpRepair {
		return m.Move, m.repair(ctx)
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
	if m.snapshot, err = m.now.target(before, c.Ref.ID); err != nil {
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
	return fmt.Sprintf("session %q is restored as first created", id)
}

// predictNext predicts how the SDK goes on.
func predictNext(ctx context.Context, in engine.In, before, after *engine.Log, mv *engine.Move) (next engine.Next, err error) {
	switch p := before.Place.Own.(place); {
	case mv != nil && mv.Forget != nil:
		return next, nil
	case p.orchestrator != "":
		return records.Next(ctx, before, after, mv)
	}
	was, _ := before.Own.(*reading) // nil before a session that is made of a conversation
	now := readingOf(after, in)
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
		m := mv.Own.(*mover)
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
	switch {
	case mv == nil:
	case mv.Own.(*mover).op == model.OpRepair:
		next.Asks = nil // what a start does is not asked by a repair
	case mv.Own.(*mover).op == model.OpContinue:
		for i := range next.Calls {
			next.Calls[i].Call = now.opener() + next.Calls[i].Call
		}
	}
	return next, nil
}
