package folder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/planning"
	"hindcast/store/media/files"
	"hindcast/store/media/journal"
	"hindcast/store/media/tree"
)

// Storage is a folder of sessions, with the journal that lies in it. It is safe for
// concurrent use.
type Storage struct {
	*writer
	place func(session string) Place
	id    func(at Place) string
	tree  tree.Tree
	// Memo caches the decoded files.
	Memo *tree.Memo
	// Way leads from the storage down to the folder that was opened.
	Way  string
	disk *tree.Disk
	// refused is why nothing is written.
	refused error
	// from is the opened source if it lies on no disk, and framework names the framework that
	// reads it on a disk only.
	from      tree.Source
	framework string
}

// Options are the settings of a kind for its storage.
type Options struct {
	// Place returns where the session of a name is, see [Place].Session.
	Place func(session string) Place
	// ID returns the session's name in plans; nil means the name of the place.
	ID func(at Place) string
	// Ignore is that of journal.Options.
	Ignore func(name string) bool
	// Cache stores the notes of this kind across runs; nil keeps them in memory while the
	// storage is open.
	Cache *files.Cache
	Notes string
	// Now tells the time.
	Now func() time.Time
	// Private says that what is written is readable by its owner alone, whatever stands
	// beside it.
	Private bool
	// On is the opened source if it is not a folder of this machine. Framework names the
	// framework whose calls then go on from a copy on a disk, "" if it reads the source in
	// place.
	On        tree.Source
	Framework string
	// Up is how many folders above the one that is opened the storage lies.
	Up int
}

// Open opens the storage that a folder is, or is in. Where the latter cannot be opened, the
// folder can be read by itself. Nothing is written.
func Open(dir string, o Options) (*Storage, error) {
	if o.On != nil {
		return openOn(o), nil
	}
	if o.Up == 0 {
		return open(dir, ".", o)
	}
	around, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	way := ""
	var refused error
	for range o.Up {
		refused = cmp.Or(refused, refuseLink(around))
		around, way = filepath.Dir(around), path.Join(filepath.Base(around), way)
	}
	if refused == nil {
		s, err := open(around, way, o)
		if err == nil {
			if _, err = s.Journal(); err == nil {
				return s, nil
			}
			err = errors.Join(err, s.Close())
		}
		refused = fmt.Errorf("the folder %q, in which the journal is kept, cannot be opened: %w", around, files.Cause(err))
	}
	s, err := open(dir, ".", o)
	if err == nil {
		s.refused = refused
	}
	return s, err
}

// refuseLink returns why nothing is written where a folder is a link: what it leads to has a
// journal of its own.
func refuseLink(dir string) error {
	at, err := os.Lstat(dir)
	if err != nil || at.Mode()&fs.ModeSymlink == 0 {
		return nil
	}
	to, _ := filepath.EvalSymlinks(dir) // opening it says why it leads nowhere
	return fmt.Errorf("%s is a link to %s, and %w: open that folder", dir, to, ErrLink)
}

// ErrLink: the folder that was opened is a link, and its storage is where that leads.
var ErrLink = errors.New("nothing is written through a link")

func open(dir, way string, o Options) (*Storage, error) {
	disk, err := tree.OpenDisk(dir)
	if err != nil {
		return nil, err
	}
	s := &Storage{
		writer: &writer{Now: o.Now, dir: dir, ignore: o.Ignore, private: o.Private},
		place:  o.Place, id: o.ID, tree: disk, disk: disk, Memo: tree.NewMemo(o.Cache.Memory(o.Notes, dir)), Way: way,
	}
	if s.id == nil {
		s.id = func(at Place) string { return at.Session }
	}
	return s, nil
}

// errTop: a storage would lie above all that there is.
var errTop = errors.New("the folder around it, in which the journal is kept, is none of the bucket")

// openOn opens the storage that a source is, or is in.
func openOn(o Options) *Storage {
	on, way := o.On, "."
	var refused error
	for range o.Up {
		above, ok := on.At("..")
		if !ok {
			on, way, refused = o.On, ".", errTop
			break
		}
		on, way = above, path.Join(path.Base(on.Name()), way)
	}
	s := &Storage{
		writer: &writer{Now: o.Now, dir: on.Name(), on: on, ignore: o.Ignore, private: o.Private},
		place:  o.Place, id: o.ID, tree: on.Tree(), Memo: tree.NewMemo(o.Cache.MemoryOf(o.Notes, on.Name())), Way: way, refused: refused, from: o.On, framework: o.Framework,
	}
	if s.id == nil {
		s.id = func(at Place) string { return at.Session }
	}
	return s
}

// On returns where the storage lies, nil where that is a folder of this machine.
func (s *Storage) On() tree.Source { return s.writer.on }

// Calls returns the calls of a framework that go on from the storage: it is copied first where
// the framework does not read it.
func (s *Storage) Calls(list []model.Resume) []model.Resume {
	if s.framework == "" || len(list) == 0 {
		return list
	}
	first := model.Resume{Call: s.from.Copying(), Then: "copies the files to this folder: " + s.framework + " reads none in a bucket; then, here:"}
	return append([]model.Resume{first}, list...)
}

// Requests returns the counts for store.Asked.
func (s *Storage) Requests() (store.Requests, bool) {
	if s.writer.on == nil {
		return store.Requests{}, false
	}
	return s.writer.on.Requests(), true
}

// Opened returns how many folders were opened to read in them.
func (s *Storage) Opened() int64 {
	if s.disk == nil {
		return 0
	}
	return s.disk.CountOpened()
}

// Ready returns why nothing can be written, nil if it can.
func (s *Storage) Ready() error {
	if s.refused != nil {
		return s.refused
	}
	_, err := s.Journal()
	return err
}

// Lacks returns why no operation can be planned, "" if they can. Where a link was opened
// the plan of each refuses, as it does where a link is one session of several.
func (s *Storage) Lacks() string {
	if err := s.Ready(); err != nil && !errors.Is(err, ErrLink) {
		return err.Error()
	}
	return ""
}

// Close lets go of the folder, and keeps what is remembered.
func (s *Storage) Close() error {
	s.Memo.Notes.Keep()
	if s.disk == nil {
		return errors.Join(s.close(), s.writer.on.Close())
	}
	return errors.Join(s.disk.Close(), s.close())
}

// ReadThrough has the format read another tree instead of the one that it would, such as one
// that changes meanwhile.
func (s *Storage) ReadThrough(other func(tree.Tree) tree.Tree) { s.tree = other(s.tree) }

// In returns the current input of the format, from the disk.
func (s *Storage) In() In { return In{Tree: s.tree, Memo: s.Memo, Now: s.Now()} }

// planning returns the format's input for one plan.
func (s *Storage) planning() (In, *tree.View) {
	tree.Fresh(s.tree)
	v := tree.NewView(s.tree)
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
	return w.Log(ctx, in, at)
}

// carry is the data that carries out a plan.
type carry struct {
	storage *Storage
	journal any // what the journal's own plan carries
	session string
	steps   tree.Steps
	// before is the session that the plan changes or makes, as it was; after is the session as
	// it has to be. told are the journal's entries of it at that time.
	before, after *Log
	told          *Told
}

// Plan plans a change of the session at a place. Names of files in the plan are relative to
// the storage. The errors are documented at [store.Features].Plan.
func (s *Storage) Plan(ctx context.Context, at Place, change model.Change) (model.Plan, error) {
	w, err := s.plan(ctx, at, change)
	if err != nil {
		return model.Plan{}, err
	}
	plan, err := s.carried(ctx, w)
	plan.Session = s.id(at)
	return plan, err
}

// carried adds to a plan the data that carries it out.
func (s *Storage) carried(ctx context.Context, w *planned) (model.Plan, error) {
	j, err := s.Journal()
	if err != nil {
		return model.Plan{}, err
	}
	d, changes := tree.Draft(j, w.move.Steps), map[string]bool{}
	for i := range w.move.Steps {
		changes[w.move.Steps[i].Name] = true
	}
	for name, sum := range w.move.Uses {
		if !changes[name] {
			d.Expect(name)
		}
		now, err := j.Version(name)
		if err != nil {
			return model.Plan{}, err
		}
		if now.SHA256 != sum {
			return model.Plan{}, &journal.ConflictError{Path: name, Found: "was changed"}
		}
	}
	for _, dir := range w.move.Closed {
		if at, err := s.tree.Stamp(dir); err == nil && at.Kind == files.Directory {
			d.Expect(dir)
		}
	}
	for _, name := range w.move.Keeps {
		d.Keep(name)
	}
	if w.move.Forget != nil {
		if err := s.forget(ctx, j, d, w.before.Place.Session, w.move.Scope, w.move.Forget); err != nil {
			return model.Plan{}, err
		}
	}
	d.Leads(w.after.HeadPoint().ID)
	d.Was(w.move.Was)
	d.Rows(w.before.Place.Folders...)
	if w.plan, err = d.Plan(w.plan); err != nil {
		return model.Plan{}, err
	}
	w.plan.Carry = &carry{storage: s, session: w.plan.Session, journal: w.plan.Carry, steps: w.move.Steps, before: w.before, after: w.after, told: w.told}
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
	told          *Told
}

func (s *Storage) plan(ctx context.Context, at Place, change model.Change) (*planned, error) {
	if err := at.refusal(); err != nil {
		return nil, err
	}
	in, view := s.planning()
	p, err := s.planIn(ctx, in, at, change)
	if changed := view.FindChange(); changed != nil {
		return nil, &journal.ConflictError{Path: changed.Name, Found: "was changed"}
	}
	// What is found while a program writes can be anything, and is not told as if it were so.
	if err == nil || ctx.Err() != nil || errors.Is(err, model.ErrHeadMoved) || errors.Is(err, model.ErrNoSession) || errors.Is(err, store.ErrSessionExists) {
		return p, err
	}
	if moved := view.FindMoved(); moved != "" {
		return nil, &journal.ConflictError{Path: moved, Found: "was changed"}
	}
	return nil, err
}

func (s *Storage) planIn(ctx context.Context, in In, at Place, change model.Change) (*planned, error) {
	if s.brokenOff(ctx) {
		s.Recover(ctx) // what stood in the way may be gone
	}
	if trouble := s.Broken(); trouble != nil {
		return nil, trouble
	}
	writes := s.Writes(ctx)
	in.Writes = writes
	before, err := writes.Log(ctx, in, at)
	if err != nil {
		return nil, err
	}
	before.Busy = s.busy(before)
	in.Told = writes.Told(at.Session)
	m, err := at.Format.Move(ctx, in, before, change)
	if err != nil {
		return nil, err
	}
	m.Scope = change.Scope
	p := &planned{move: m, before: before, after: before, told: in.Told}
	p.plan = model.Plan{Op: change.Op, Session: at.Session, Target: m.Target, Writes: m.Writes, Hazards: m.Hazards, Asks: m.Asks}
	if m.Forget != nil {
		p.plan.Head = before.HeadPoint()
		return p, nil
	}
	over, place := in, at
	kept, failed := s.strictly()
	over.Tree, over.There = tree.Overlay(in.Tree, m.Steps, kept), true
	if m.New != nil {
		place = *m.New
		p.plan.NewSession = s.id(place)
		p.told = writes.Told(place.Session)
		in.Told = p.told
		if p.before, err = place.Format.Read(ctx, in, place); err != nil {
			return nil, err
		}
	} else if before.Busy != "" {
		p.plan.Asks = append([]string{before.Busy}, m.Asks...)
	}
	p.after, err = lead(ctx, place.Format, &p.plan, m, before, func(ctx context.Context) (*Log, error) {
		return writes.Log(ctx, over, place)
	})
	p.plan.Resume = s.Calls(p.plan.Resume)
	return p, cmp.Or(failed(), err)
}

// brokenOff reports whether a write was broken off that may be finished now.
func (s *Storage) brokenOff(ctx context.Context) bool {
	if s.Broken() != nil || !s.Begun() {
		return s.Broken() != nil
	}
	j, err := s.Journal()
	if err != nil {
		return false
	}
	open, err := j.Unfinished(ctx)
	return err == nil && open != nil
}

// busy returns why an agent may be at work on a session, "" for no sign of it.
func (s *Storage) busy(log *Log) string {
	ago, lively := s.lively(log.Written)
	if !lively {
		return ""
	}
	return planning.Busy(ago)
}

// strictly returns a reader of kept contents, and a function that returns its first error. A
// tree without one of its contents is not the intended tree.
func (s *Storage) strictly() (kept tree.Kept, failed func() error) {
	var mu sync.Mutex
	var first error
	kept = func(v journal.Version) ([]byte, error) {
		data, err := s.Kept(v)
		if err != nil {
			mu.Lock()
			defer mu.Unlock()
			first = cmp.Or(first, fmt.Errorf("read what is kept: %w", err))
		}
		return data, err
	}
	return kept, func() error {
		mu.Lock()
		defer mu.Unlock()
		return first
	}
}

// Apply carries out a plan of Plan or of Back. A row of the session that came, or went,
// since the plan was made is a journal.ConflictError, which is model.ErrHeadMoved.
func Apply(ctx context.Context, plan model.Plan) (model.Receipt, error) {
	c, ok := plan.Carry.(*carry)
	if !ok {
		return model.Receipt{}, journal.ErrNoCarry
	}
	s := c.storage
	tree.Fresh(s.tree)
	at, in := c.before.Place, s.In()
	in.Told, in.There = c.told, true
	now, err := at.Format.Read(ctx, in, at)
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
		tree.Fresh(s.tree)
		in.Tree = tree.Proven(in.Tree, c.steps)
		now, err := at.Format.Read(ctx, in, at)
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
