package folder

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hindcast/model"
	"hindcast/store/files"
	"hindcast/store/journal"
	"hindcast/store/writing"
)

// Storage is a folder of sessions of one format, with the journal that lies in it. It is
// safe for concurrent use.
type Storage struct {
	*writing.Desk
	format Mover
	tree   Tree
	// Memo is what is remembered of the files.
	Memo *Memo
	disk *Disk
}

// Options are what a format says about its storage.
type Options struct {
	// Ignore is that of journal.Options.
	Ignore func(name string) bool
	// Notes are what is remembered of the files.
	Notes *files.Memory
	// Now tells the time.
	Now func() time.Time
}

// Open opens the storage in a folder. Nothing is written.
func Open(dir string, f Mover, o Options) (*Storage, error) {
	disk, err := OpenDisk(dir)
	if err != nil {
		return nil, err
	}
	desk := writing.New(dir, "", o.Ignore)
	desk.Now = o.Now
	return &Storage{Desk: desk, format: f, tree: disk, disk: disk, Memo: NewMemo(o.Notes)}, nil
}

// Close lets go of the folder, and keeps what is remembered.
func (s *Storage) Close() error {
	s.Memo.Notes.Keep()
	return errors.Join(s.disk.Close(), s.Desk.Close())
}

// Through has the format read another tree instead of the one that it would, such as one
// that changes meanwhile.
func (s *Storage) Through(other func(Tree) Tree) { s.tree = other(s.tree) }

// In returns what the format reads now, from the disk.
func (s *Storage) In() In { return In{Tree: s.tree, Memo: s.Memo, Now: s.Now()} }

// planning returns what the format reads in the course of one plan.
func (s *Storage) planning() (In, *View) {
	v := NewView(s.tree)
	return In{Tree: v, Memo: s.Memo.Planning(), Now: s.Now()}, v
}

// Kept reads a content that the journal keeps.
func (s *Storage) Kept(v journal.Version) ([]byte, error) {
	j, err := s.Journal()
	if err != nil {
		return nil, err
	}
	return j.Read(v)
}

// Log returns the log of a session as it is now.
func (s *Storage) Log(ctx context.Context, at Place) (*Log, error) {
	in := s.In()
	if s.Begun() {
		in.Memo = s.Memo.Planning() // what was set aside is read with the rest once more
	}
	w := s.Writes(ctx)
	return w.Log(ctx, s.format, in, at)
}

// liveWithin is how fresh a row may be without a question whether the agent still runs.
const liveWithin = 10 * time.Second

// carry is what a plan needs to be carried out.
type carry struct {
	storage *Storage
	journal any // what the journal's own plan carries
	session string
	// before is the session as it was, the one that the plan changes or makes, and after
	// as it has to be.
	before, after *Log
}

// Plan plans a change of the session at a place. Names in the plan are those of the
// storage. The errors are those of store.Writer.
func (s *Storage) Plan(ctx context.Context, at Place, change model.Change) (model.Plan, error) {
	w, err := s.plan(ctx, at, change)
	if err != nil {
		return model.Plan{}, err
	}
	j, err := s.Journal()
	if err != nil {
		return model.Plan{}, err
	}
	d := Draft(j, w.move.Steps)
	for name, sum := range w.move.Uses {
		d.Expect(name)
		now, err := j.Version(name)
		if err != nil {
			return model.Plan{}, err
		}
		if now.SHA256 != sum {
			return model.Plan{}, &journal.ConflictError{Path: name, Found: "was changed"}
		}
	}
	d.Leads(w.after.HeadPoint().ID)
	d.Rows(w.before.Place.Folders...)
	if w.plan, err = d.Plan(w.plan); err != nil {
		return model.Plan{}, err
	}
	c := carry{storage: s, session: w.plan.Session, journal: w.plan.Carry, before: w.before, after: w.after}
	w.plan.Carry = &c
	return w.plan, nil
}

// Preview is Plan without a way to carry the plan out: the framework itself will write
// what the steps say.
func (s *Storage) Preview(ctx context.Context, at Place, change model.Change) (model.Plan, *Move, error) {
	w, err := s.plan(ctx, at, change)
	if err != nil {
		return model.Plan{}, nil, err
	}
	return w.plan, w.move, nil
}

// planned is a plan with the logs that it was made from.
type planned struct {
	plan          model.Plan
	move          *Move
	before, after *Log
}

func (s *Storage) plan(ctx context.Context, at Place, change model.Change) (*planned, error) {
	in, view := s.planning()
	p, err := s.planIn(ctx, in, at, change)
	if changed := view.Changed(); changed != nil {
		return nil, &journal.ConflictError{Path: changed.Name, Found: "was changed"}
	}
	return p, err
}

func (s *Storage) planIn(ctx context.Context, in In, at Place, change model.Change) (*planned, error) {
	if trouble := s.Broken(); trouble != nil {
		return nil, trouble
	}
	writes := s.Writes(ctx)
	before, err := writes.Log(ctx, s.format, in, at)
	if err != nil {
		return nil, err
	}
	if len(before.Rows) == 0 {
		return nil, model.ErrNoSession
	}
	m, err := s.format.Move(ctx, in, before, change)
	if err != nil {
		return nil, err
	}
	p := &planned{move: m, before: before}
	p.plan = model.Plan{Op: change.Op, Session: at.Session, Target: m.Target, Writes: m.Writes, Hazards: m.Hazards, Asks: append(m.Asks, s.live(before)...)}
	over, place := in, at
	over.Tree = Overlay(in.Tree, m.Steps, s.Kept)
	if m.New != nil {
		place = *m.New
		p.plan.NewSession = place.Session
		if p.before, err = s.format.Read(ctx, in, place); err != nil {
			return nil, err
		}
	}
	p.after, err = lead(ctx, s.format, &p.plan, m, before, func(ctx context.Context) (*Log, error) {
		return writes.Log(ctx, s.format, over, place)
	})
	return p, err
}

// live returns the reason to think that an agent is at work on a session, if there is one.
func (s *Storage) live(log *Log) []string {
	var recent []writing.Stamp
	for i, file := range log.Files {
		recent = append(recent, writing.Stamp{Name: file, At: log.Written[i]})
	}
	if ago, lively := s.Lively(liveWithin, recent...); lively {
		return []string{fmt.Sprintf("the session was written %s ago: an agent may still be running", ago.Truncate(time.Second))}
	}
	return nil
}

// Apply carries out a plan of Plan or of Back. A row of the session that came, or went,
// since the plan was made is a journal.ConflictError, which is model.ErrHeadMoved.
func Apply(ctx context.Context, plan model.Plan) (model.Receipt, error) {
	c, ok := plan.Carry.(*carry)
	if !ok {
		return model.Receipt{}, journal.ErrNoCarry
	}
	s := c.storage
	read := func(ctx context.Context) (*Log, error) { return s.format.Read(ctx, s.In(), c.before.Place) }
	now, err := read(ctx)
	if err == nil {
		err = expect(c.before, now)
	}
	if err != nil {
		return model.Receipt{}, err
	}
	j, err := s.Journal()
	if err != nil {
		return model.Receipt{}, err
	}
	session := plan.Session
	if plan.NewSession != "" {
		session, plan.NewSession = plan.NewSession, c.before.Place.Session
	}
	plan.Carry, plan.Session = c.journal, c.session
	receipt, err := j.Apply(ctx, plan, func(ctx context.Context) error {
		now, err := read(ctx)
		if err != nil {
			return err
		}
		return verify(c.after, now)
	})
	if err != nil {
		return model.Receipt{}, err
	}
	receipt.Session, receipt.Head = session, c.after.HeadPoint()
	return receipt, nil
}
