package folder

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"sync"

	"hindcast/store/files"
)

// Tree is a set of named files: a folder of a disk, or one with steps laid over it. It is
// rooted at the storage folder, in which the journal lies. Names are relative, with
// slashes; the root is ".".
type Tree interface {
	// List returns the names in a folder, in order. The error is fs.ErrNotExist where
	// there is none.
	List(dir string) ([]string, error)
	// Read reads a file into buf as far as that is large enough, and returns the stamp of
	// the very bytes that it read. The errors are those of package files.
	Read(name string, buf []byte) ([]byte, Stamp, error)
	// Stamp returns the stamp of a name; its zero value where the name is free.
	Stamp(name string) (Stamp, error)
}

// Stamp is that of a name in a tree.
type Stamp struct {
	files.Stamp
	// Tag names a content, "" where the tree has no name for it. Two files of one tag
	// have the same bytes.
	Tag string
}

// Is reports whether two stamps are of one look, or of one content by its tag.
func (s Stamp) Is(other Stamp) bool {
	if s.Tag != "" || other.Tag != "" {
		return s.Tag == other.Tag && s.Size == other.Size
	}
	return s.Kind == other.Kind && s.Stamp.Unchanged(other.Stamp)
}

// Disk is the tree of a storage folder. Links to folders are followed as far as they
// stay in it: see files.OpenFolder. It is safe for concurrent use.
type Disk struct {
	root *os.Root

	mu   sync.Mutex
	open map[string]*files.Folder
}

// OpenDisk opens the tree of a folder. Folders in it stay open until Close.
func OpenDisk(dir string) (*Disk, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, files.Cause(err)
	}
	return &Disk{root: root, open: map[string]*files.Folder{}}, nil
}

// mostOpen bounds the folders that a tree holds open.
const mostOpen = 16

// in calls with an open folder. One that a listing found stays open for what is read in
// it; it may be replaced on the disk, so each listing opens it anew.
func (d *Disk) in(dir string, fresh bool, call func(*files.Folder) error) error {
	d.mu.Lock()
	f := d.open[dir]
	if f != nil && fresh {
		delete(d.open, dir)
		defer f.Close() // it was only read from
		f = nil
	}
	if f == nil {
		if len(d.open) >= mostOpen {
			for name, other := range d.open {
				delete(d.open, name)
				defer other.Close() // it was only read from
			}
		}
		var err error
		if f, err = files.OpenFolder(d.root, dir); err != nil {
			d.mu.Unlock()
			return err
		}
		d.open[dir] = f
	}
	d.mu.Unlock()
	return call(f)
}

// List implements Tree.
func (d *Disk) List(dir string) (names []string, err error) {
	err = d.in(dir, true, func(f *files.Folder) (err error) {
		names, err = f.Names()
		return err
	})
	slices.Sort(names)
	return names, err
}

// Read implements Tree.
func (d *Disk) Read(name string, buf []byte) (data []byte, at Stamp, err error) {
	data = buf[:0]
	err = d.in(path.Dir(name), false, func(f *files.Folder) (err error) {
		data, at.Stamp, err = f.ReadStamped(path.Base(name), buf)
		return err
	})
	return data, at, err
}

// Stamp implements Tree.
func (d *Disk) Stamp(name string) (at Stamp, err error) {
	err = d.in(path.Dir(name), false, func(f *files.Folder) (err error) {
		at.Stamp, err = f.Stat(path.Base(name))
		return err
	})
	if isFree(err) {
		return Stamp{}, nil
	}
	return at, err
}

// Close lets go of the folder.
func (d *Disk) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, f := range d.open {
		delete(d.open, name)
		f.Close() // it was only read from
	}
	return d.root.Close()
}

// isFree reports whether an error says that nothing is at a name.
func isFree(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// View is a tree as one plan sees it: it lists each folder and looks at each name once,
// so that all that is read from it agrees. It is safe for concurrent use.
type View struct {
	on Tree

	mu     sync.Mutex
	lists  map[string][]string
	stamps map[string]Stamp
	// changed is the first file that changed between two looks, nil for none.
	changed *ChangedError
}

// NewView begins to look at a tree.
func NewView(on Tree) *View {
	return &View{on: on, lists: map[string][]string{}, stamps: map[string]Stamp{}}
}

// ChangedError says that a file changed between two looks of one view.
type ChangedError struct{ Name string }

func (e *ChangedError) Error() string { return fmt.Sprintf("%s changed while it was read", e.Name) }

// List implements Tree.
func (v *View) List(dir string) ([]string, error) {
	v.mu.Lock()
	names, seen := v.lists[dir]
	v.mu.Unlock()
	if seen {
		return names, nil
	}
	names, err := v.on.List(dir)
	if err == nil {
		v.mu.Lock()
		v.lists[dir] = names
		v.mu.Unlock()
	}
	return names, err
}

// Stamp implements Tree.
func (v *View) Stamp(name string) (Stamp, error) {
	v.mu.Lock()
	at, seen := v.stamps[name]
	v.mu.Unlock()
	if seen {
		return at, nil
	}
	at, err := v.on.Stamp(name)
	if err == nil {
		v.mu.Lock()
		v.stamps[name] = at
		v.mu.Unlock()
	}
	return at, err
}

// Read implements Tree. The error is a ChangedError where the file is no longer what a
// look at it found.
func (v *View) Read(name string, buf []byte) ([]byte, Stamp, error) {
	data, at, err := v.on.Read(name, buf)
	if err != nil {
		return data, at, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if before, seen := v.stamps[name]; seen && !before.Is(at) {
		changed := &ChangedError{name}
		v.changed = cmp.Or(v.changed, changed)
		return data, at, changed
	}
	v.stamps[name] = at
	return data, at, nil
}

// Changed returns the first file that changed between two looks of the view, nil for
// none: what was made of the view is then not of one moment.
func (v *View) Changed() *ChangedError {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.changed
}
