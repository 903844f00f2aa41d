package folder

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"hindcast/store/files"
)

// Tree is a set of named files: a folder of a disk, or one with steps laid over it. It is
// rooted at the storage folder, in which the journal lies. Names are relative, with
// slashes; the root is ".".
type Tree interface {
	// List returns the names in a folder, in no particular order: to sort 100,000 takes as
	// long as to list them. The caller may not write to the list. The error is
	// fs.ErrNotExist where there is none.
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
	// From is the file that it is to be a copy of, which has this stamp; "" for none.
	From string
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
	base *openFolder // of root

	mu   sync.RWMutex
	held map[string]*holding
	// opened counts the folders that were opened.
	opened atomic.Int64
}

// openFolder is a folder that is open for some users; a holding is one.
type openFolder struct {
	*files.Folder
	users atomic.Int64
}

// holding is a folder that some hold. It is opened when it is first used.
type holding struct {
	holders int
	folder  *openFolder // nil until it was opened
}

// OpenDisk opens the tree of a folder.
func OpenDisk(dir string) (*Disk, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, files.Cause(err)
	}
	base, err := files.OpenFolder(root, ".")
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	d := &Disk{root: root, base: &openFolder{Folder: base}, held: map[string]*holding{}}
	d.base.users.Add(1) // until Close
	return d, nil
}

// holder is a tree whose folders can be held open.
type holder interface {
	// hold keeps a folder open, so that to look at many files in it takes less of the
	// system, until release is called. It then is the folder that was there when it was first
	// looked into, also if another takes its name, until that is listed.
	hold(dir string) (release func())
}

// Hold keeps a folder of a tree open, if it is one of a disk: see holder. What is not
// there is not held: to look into it is an error.
func Hold(t Tree, dir string) (release func()) {
	if h, ok := t.(holder); ok {
		return h.hold(dir)
	}
	return func() {}
}

func (d *Disk) hold(dir string) (release func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h := d.held[dir]
	if h == nil {
		h = &holding{}
		d.held[dir] = h
	}
	h.holders++
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if h.holders--; h.holders > 0 {
			return
		}
		delete(d.held, dir)
		if h.folder != nil {
			h.folder.release()
		}
	}
}

// use returns a folder that is held open, or opens it. It is to be released.
func (d *Disk) use(dir string) (*openFolder, error) {
	if f := d.heldOpen(dir); f != nil {
		return f, nil
	}
	return d.open(dir)
}

// heldOpen returns a folder that is held and open, nil for none. It is to be released.
func (d *Disk) heldOpen(dir string) *openFolder {
	f := d.base
	if dir != "." {
		d.mu.RLock()
		defer d.mu.RUnlock()
		h := d.held[dir]
		if h == nil || h.folder == nil {
			return nil
		}
		f = h.folder
	}
	f.users.Add(1)
	return f
}

// open opens a folder. Where it is held, it is the one that is held from now on.
func (d *Disk) open(dir string) (*openFolder, error) {
	opened, err := d.base.OpenFolder(d.root, dir)
	if err != nil {
		return nil, err
	}
	d.opened.Add(1)
	f := &openFolder{Folder: opened}
	f.users.Add(1)
	d.mu.Lock()
	defer d.mu.Unlock()
	if h := d.held[dir]; h != nil {
		if h.folder != nil {
			h.folder.release()
		}
		f.users.Add(1)
		h.folder = f
	}
	return f, nil
}

func (f *openFolder) release() {
	if f.users.Add(-1) == 0 {
		f.Close() // it was only read from
	}
}

// List implements Tree.
func (d *Disk) List(dir string) (names []string, err error) {
	f := d.heldOpen(dir)
	if f != nil && !d.base.Leads(dir, f.Folder) {
		f.release()
		f = nil
	}
	if f == nil {
		if f, err = d.open(dir); err != nil {
			return nil, err
		}
	}
	defer f.release()
	return f.Names()
}

// Read implements Tree.
func (d *Disk) Read(name string, buf []byte) (data []byte, at Stamp, err error) {
	dir, base := split(name)
	f, err := d.use(dir)
	if err != nil {
		return buf[:0], at, err
	}
	defer f.release()
	data, at.Stamp, err = f.ReadStamped(base, buf)
	return data, at, err
}

// Opened is an open file of a tree. The caller closes it.
type Opened = files.Opened

// OpenFile opens a file of a tree for a reader of a part. In a tree that is no disk it reads
// all. The errors are those of [Tree].Read.
func OpenFile(t Tree, name string) (Opened, error) {
	if o, ok := t.(interface {
		openFile(name string) (Opened, error)
	}); ok {
		return o.openFile(name)
	}
	if o, ok := t.(Remote); ok {
		return o.OpenFile(name)
	}
	data, _, err := t.Read(name, nil)
	if err != nil {
		return nil, err
	}
	return inMemory{bytes.NewReader(data)}, nil
}

// Remote is a tree that lies on another machine: what it is asked takes a while, and many
// answers come in the time of one.
type Remote interface {
	Tree
	// Ahead reads files that will be read soon, many at once, until stop is called.
	Ahead(names []string) (stop func())
	// OpenFile opens a file for a reader of a part, see the function.
	OpenFile(name string) (Opened, error)
	// Fresh has the next look at the tree see it as it is then, and not as it was a moment ago.
	Fresh()
}

// layer is a tree that is laid over another.
type layer interface{ under() Tree }

func (v *View) under() Tree       { return v.on }
func (o *overlay) under() Tree    { return o.below }
func (p *provenTree) under() Tree { return p.Tree }

// remote returns the tree on another machine that a tree is, or is laid over; nil for none.
func remote(t Tree) Remote {
	for {
		switch at := t.(type) {
		case Remote:
			return at
		case layer:
			t = at.under()
		default:
			return nil
		}
	}
}

// Ahead says which files of a tree will be read soon, where that is of use: see
// [Remote]. needed reports whether one will; it is not asked otherwise.
func Ahead(t Tree, names iter.Seq[string], needed func(name string) bool) (stop func()) {
	r := remote(t)
	if r == nil {
		return func() {}
	}
	var list []string
	for name := range names {
		if needed(name) {
			list = append(list, name)
		}
	}
	return r.Ahead(list)
}

// fresh has a tree on another machine be looked at anew.
func fresh(t Tree) {
	if r := remote(t); r != nil {
		r.Fresh()
	}
}

type inMemory struct{ *bytes.Reader }

func (inMemory) Close() error { return nil }

func (d *Disk) openFile(name string) (Opened, error) {
	dir, base := split(name)
	f, err := d.use(dir)
	if err != nil {
		return nil, err
	}
	defer f.release()
	return f.OpenFile(base)
}

// From reads files of a tree.
func From(t Tree) files.Reader {
	return func(name string, buf []byte) ([]byte, error) {
		data, _, err := t.Read(name, buf)
		return data, err
	}
}

// Stamp implements Tree.
func (d *Disk) Stamp(name string) (at Stamp, err error) {
	dir, base := split(name)
	f, err := d.use(dir)
	if err == nil {
		defer f.release()
		at.Stamp, err = f.Stat(base)
	}
	if isFree(err) {
		return Stamp{}, nil
	}
	return at, err
}

// split returns the folder and the last part of a clean name.
func split(name string) (dir, base string) {
	at := strings.LastIndexByte(name, '/')
	if at < 0 {
		return ".", name
	}
	return name[:at], name[at+1:]
}

// Join returns the name of an entry of a folder. Both are clean.
func Join(dir, base string) string {
	if dir == "." {
		return base
	}
	return dir + "/" + base
}

// IsFolder reports whether a name is a folder, or a link to one that is in the tree.
func IsFolder(t Tree, name string) bool {
	at, err := t.Stamp(name)
	if err == nil && at.Kind == files.Link {
		_, err = t.List(name)
		return err == nil || errors.Is(err, fs.ErrPermission)
	}
	return at.Kind == files.Directory
}

// Close lets go of the folder.
func (d *Disk) Close() error { return errors.Join(d.base.Close(), d.root.Close()) }

// isFree reports whether an error says that nothing is at a name.
func isFree(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// View is a tree as one plan sees it: it lists each folder and looks at each name once,
// so that all that is read from it agrees. It is safe for concurrent use.
type View struct {
	on Tree

	mu     sync.Mutex
	lists  map[string][]string
	stamps map[string]Stamp
	// failed are the names that could not be read, with why.
	failed map[string]error
	// changed is the first file that changed between two looks, nil for none.
	changed *ChangedError
}

// NewView begins to look at a tree.
func NewView(on Tree) *View {
	return &View{on: on, lists: map[string][]string{}, stamps: map[string]Stamp{}, failed: map[string]error{}}
}

// ChangedError says that a file changed between two looks of one view.
type ChangedError struct{ Name string }

func (e *ChangedError) Error() string { return fmt.Sprintf("%s changed while it was read", e.Name) }

func (v *View) hold(dir string) (release func()) { return Hold(v.on, dir) }

// List implements Tree.
func (v *View) List(dir string) ([]string, error) {
	v.mu.Lock()
	names, seen := v.lists[dir]
	v.mu.Unlock()
	if seen {
		return names, nil
	}
	names, err := v.on.List(dir)
	v.mu.Lock()
	defer v.mu.Unlock()
	if err != nil {
		v.failed[dir] = err
		return names, err
	}
	v.lists[dir] = names
	return names, nil
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
	v.mu.Lock()
	defer v.mu.Unlock()
	if err != nil {
		v.failed[name] = err
		return at, err
	}
	v.stamps[name] = at
	return at, nil
}

// Read implements Tree. The error is a ChangedError where the file is no longer what a
// look at it found.
func (v *View) Read(name string, buf []byte) ([]byte, Stamp, error) {
	data, at, err := v.on.Read(name, buf)
	v.mu.Lock()
	defer v.mu.Unlock()
	if err != nil {
		v.failed[name] = err
		return data, at, err
	}
	if before, seen := v.stamps[name]; seen && !before.Is(at) {
		changed := &ChangedError{name}
		v.changed = cmp.Or(v.changed, changed)
		return data, at, changed
	}
	v.stamps[name] = at
	return data, at, nil
}

func (v *View) openFile(name string) (Opened, error) {
	if _, err := v.Stamp(name); err != nil { // what is read in it then is told of by Moved
		return nil, err
	}
	return OpenFile(v.on, name)
}

// Moved returns a name that is no longer as the view found it, "" for none. It looks at
// each once more.
func (v *View) Moved() string {
	seen := v.Seen()
	seen.failed = nil // that is told as it is
	return seen.Moved(v.on)
}

// Seen is all that was seen in a view.
type Seen struct {
	lists  map[string][]string
	stamps map[string]Stamp
	failed map[string]error
}

// Seen returns what was seen in the view until now.
func (v *View) Seen() Seen {
	v.mu.Lock()
	defer v.mu.Unlock()
	return Seen{maps.Clone(v.lists), maps.Clone(v.stamps), maps.Clone(v.failed)}
}

// Moved returns a name that a tree has otherwise than it was seen, "" for none. What could
// not be read counts as another, but for what was not there and is not.
func (v Seen) Moved(on Tree) string {
	for name, why := range v.failed {
		if now, err := on.Stamp(name); err != nil || now.Kind != files.Nothing || !isFree(why) {
			return name
		}
	}
	for dir, names := range v.lists {
		now, err := on.List(dir)
		if err != nil || !slices.Equal(slices.Sorted(slices.Values(now)), slices.Sorted(slices.Values(names))) {
			return dir
		}
	}
	for name, at := range v.stamps {
		if now, err := on.Stamp(name); err != nil || !now.Is(at) {
			return name
		}
	}
	return ""
}

// Changed returns the first file that changed between two looks of the view, nil for
// none: what was made of the view is then not of one moment.
func (v *View) Changed() *ChangedError {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.changed
}
