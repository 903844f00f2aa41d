package engine

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
	"hindcast/store/media/files"
	"hindcast/store/media/journal"
	"hindcast/store/media/tree"
)

// Storage is a folder of sessions, with the journal that lies in it. It is safe for
// concurrent use.
type Storage struct {
	*writer
	place func(session string) Place
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

// StorageOptions are the settings of a kind for its storage.
type StorageOptions struct {
	// Place returns where the session of a name is, see [Place].Session.
	Place func(session string) Place
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

// OpenStorage opens the storage that a folder is, or is in. Where the latter cannot be opened, the
// folder can be read by itself. Nothing is written.
func OpenStorage(dir string, o StorageOptions) (*Storage, error) {
	if o.On != nil {
		return openSource(o), nil
	}
	if o.Up == 0 {
		return openFolder(dir, ".", o)
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
		s, err := openFolder(around, way, o)
		if err == nil {
			if _, err = s.Journal(); err == nil {
				return s, nil
			}
			err = errors.Join(err, s.Close())
		}
		refused = fmt.Errorf("the folder %q, in which the journal is kept, cannot be opened: %w", around, files.Cause(err))
	}
	s, err := openFolder(dir, ".", o)
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

func openFolder(dir, way string, o StorageOptions) (*Storage, error) {
	disk, err := tree.OpenDisk(dir)
	if err != nil {
		return nil, err
	}
	s := &Storage{
		writer: &writer{Now: o.Now, dir: dir, ignore: o.Ignore, private: o.Private},
		place:  o.Place, tree: disk, disk: disk, Memo: tree.NewMemo(o.Cache.Memory(o.Notes, dir)), Way: way,
	}
	return s, nil
}

// errTop: a storage would lie above all that there is.
var errTop = errors.New("the folder around it, in which the journal is kept, is not in the bucket")

// openSource opens the storage that a source is, or is in.
func openSource(o StorageOptions) *Storage {
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
		place:  o.Place, tree: on.Tree(), Memo: tree.NewMemo(o.Cache.MemoryOf(o.Notes, on.Name())), Way: way, refused: refused, from: o.On, framework: o.Framework,
	}
	return s
}

// On returns where the storage lies, nil where that is a folder of this machine.
func (s *Storage) On() tree.Source { return s.writer.on }

// Calls returns the calls of a framework that go on from the storage: it is copied first where
// the framework does not read it.
func (s *Storage) Calls(list []model.Resume) []model.Resume {
	if s.framework == "" || len(list) == 0 || s.from.Folder() != "" {
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

// LabelFile returns where the labels of the session at a place are, see package labels: beside the journal, under
// the name that the session has in the storage. dir is "" where the storage cannot be opened.
func (s *Storage) LabelFile(at Place) (dir, file, name string) {
	if s.refused != nil || s.writer.on != nil && s.writer.on.Folder() == "" {
		return "", "", ""
	}
	return s.dir, journal.Folder + "/labels", at.Session
}

// CountOpenedFolders returns how many folders were opened to read in them.
func (s *Storage) CountOpenedFolders() int64 {
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
		return errors.Join(s.closeDisk(), s.writer.on.Close())
	}
	return errors.Join(s.disk.Close(), s.closeDisk())
}

// ReadThrough has the format read another tree instead of the one that it would, such as one
// that changes meanwhile.
func (s *Storage) ReadThrough(other func(tree.Tree) tree.Tree) { s.tree = other(s.tree) }

// In returns the current input of the format, from the disk.
func (s *Storage) In() In { return In{Tree: s.tree, Memo: s.Memo, Now: s.Now()} }

// planInput returns the format's input for one plan.
func (s *Storage) planInput() (In, *tree.View) {
	tree.Fresh(s.tree)
	v := tree.NewView(s.tree)
	return In{Tree: v, Memo: s.Memo.Planning(), Now: s.Now()}, v
}

// ReadKept reads a content that the journal keeps.
func (s *Storage) ReadKept(v journal.Version) ([]byte, error) {
	j, err := s.Journal()
	if err != nil {
		return nil, err
	}
	return j.Read(v)
}

// brokenOff reports whether a write was broken off that may be finished now.
func (s *Storage) brokenOff(ctx context.Context) bool {
	if s.Broken() != nil || !s.HasWrites() {
		return s.Broken() != nil
	}
	j, err := s.Journal()
	if err != nil {
		return false
	}
	open, err := j.OpenEntry(ctx)
	return err == nil && open != nil
}

// strictReader returns a reader of kept contents, and a function that returns its first error. A
// tree without one of its contents is not the intended tree.
func (s *Storage) strictReader() (kept tree.Kept, failed func() error) {
	var mu sync.Mutex
	var first error
	kept = func(v journal.Version) ([]byte, error) {
		data, err := s.ReadKept(v)
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

// Place returns where the session of a name is.
func (s *Storage) Place(session string) Place { return s.place(session) }

// FindReversal returns the journal entry of the next undo or redo, nil if the journal has no such entry. The plan
// may still refuse it.
func (s *Storage) FindReversal(ctx context.Context, op model.Op) (*journal.Entry, error) {
	_, e, err := s.nextReversal(ctx, op)
	if e != nil && errors.Is(err, model.ErrHeadMoved) {
		err = nil
	}
	return e, err
}

// nextReversal returns the journal's plan of the next undo or redo with its entry, or nil when nothing can be
// reversed. On a journal.ConflictError it also returns the newest entry, if the agent went on from there.
func (s *Storage) nextReversal(ctx context.Context, op model.Op) (model.Plan, *journal.Entry, error) {
	entries, err := s.Entries(ctx)
	if err != nil || len(entries) == 0 {
		return model.Plan{}, nil, err
	}
	plan, e, err := s.planBack(ctx, op)
	switch {
	case errors.As(err, new(*model.NothingToError)):
		return plan, nil, nil
	case errors.As(err, new(*journal.ConflictError)):
		return plan, &entries[len(entries)-1], err
	}
	return plan, e, err
}
