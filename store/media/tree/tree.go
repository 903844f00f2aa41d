// Package tree has trees of named files: a folder of a disk or of a bucket, one plan's view of it, and
// one with steps laid over it. What a program makes of files is noted until they change.
//
//	tree.go     trees, disks and views
//	overlay.go  a tree with steps laid over it
//	steps.go    steps as a journal has them
//	notes.go    what files hold, remembered until they change
//	source.go   what was opened that is no folder of this machine
package tree

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"hindcast/store/media/files"
)

// Tree is a set of named files: a folder of a disk, or one with steps laid over it. It is
// rooted at the storage folder, in which the journal lies. Names are relative, with
// slashes; the root is ".".
type Tree interface {
	// List returns the names in a folder, in no particular order: to sort 100,000 takes as
	// long as to list them. The caller may not write to the list. The error is
	// fs.ErrNotExist if there is no such folder.
	List(dir string) ([]string, error)
	// Folders returns the names of List that are folders or links. Of a disk the listing
	// tells which, so that no other name is looked at.
	Folders(dir string) ([]string, error)
	// Read reads a file into buf as far as that is large enough, and returns the stamp of
	// the very bytes that it read. It returns the errors of package files.
	Read(name string, buf []byte) ([]byte, Stamp, error)
	// OpenFile opens a file for a reader of a part: the rest of it is not read. It reads the
	// same bytes as Read, and returns the same errors.
	OpenFile(name string) (Opened, error)
	// Stamp returns the stamp of a name; its zero value where the name is free.
	Stamp(name string) (Stamp, error)
	// Hold keeps a folder open, so that to look at many files in it takes less of the system,
	// until release is called. It then is the folder that was there when it was first looked
	// into, also if another takes its name, until that is listed. What is not there is not
	// held: to look into it is an error.
	Hold(dir string) (release func())
	// Remote returns the tree on another machine that it is, or is laid over; nil if it is local.
	Remote() Remote
}

// Stamp is the stamp of a name in a tree.
type Stamp struct {
	files.Stamp
	// Tag names a content, "" where the tree has no name for it. Two files of one tag
	// have the same bytes.
	Tag string
	// From is the file with this stamp that the name will be a copy of; "" if it is not a copy.
	From string
}

// Is reports whether two stamps identify the same content.
func (s Stamp) Is(other Stamp) bool {
	if s.Tag != "" || other.Tag != "" {
		return s.Tag == other.Tag && s.Size == other.Size
	}
	return s.Kind == other.Kind && s.Stamp.LooksSame(other.Stamp)
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

// Hold implements Tree.
func (d *Disk) Hold(dir string) (release func()) {
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

// useFolder returns a folder that is held open, or opens it. It is to be released.
func (d *Disk) useFolder(dir string) (*openFolder, error) {
	if f := d.heldOpen(dir); f != nil {
		return f, nil
	}
	return d.openFolder(dir)
}

// heldOpen returns a held, open folder, nil if it is not held. The caller releases it.
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

// openFolder opens a folder. Where it is held, it is the one that is held from now on.
func (d *Disk) openFolder(dir string) (*openFolder, error) {
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
func (d *Disk) List(dir string) ([]string, error) { return d.listFolder(dir, (*files.Folder).Names) }

// Folders implements Tree.
func (d *Disk) Folders(dir string) ([]string, error) {
	return d.listFolder(dir, (*files.Folder).Folders)
}

// listFolder lists a folder as it is now at its name.
func (d *Disk) listFolder(dir string, names func(*files.Folder) ([]string, error)) (_ []string, err error) {
	f := d.heldOpen(dir)
	if f != nil && !d.base.Leads(dir, f.Folder) {
		f.release()
		f = nil
	}
	if f == nil {
		if f, err = d.openFolder(dir); err != nil {
			return nil, err
		}
	}
	defer f.release()
	return names(f.Folder)
}

// FoldersOf implements Folders for a tree whose Stamp is at hand.
func FoldersOf(t Tree, dir string) (folders []string, err error) {
	names, err := t.List(dir)
	for _, name := range names {
		if at, err := t.Stamp(Join(dir, name)); err == nil && (at.Kind == files.Directory || at.Kind == files.Link) {
			folders = append(folders, name)
		}
	}
	return folders, err
}

// Read implements Tree.
func (d *Disk) Read(name string, buf []byte) (data []byte, at Stamp, err error) {
	dir, base := splitName(name)
	f, err := d.useFolder(dir)
	if err != nil {
		return buf[:0], at, err
	}
	defer f.release()
	data, at.Stamp, err = f.ReadStamped(base, buf)
	return data, at, err
}

// Opened is an open file of a tree. The caller closes it.
type Opened = files.Opened

// Remote is a tree that lies on another machine: what it is asked takes a while, and many
// answers come in the time of one.
type Remote interface {
	Tree
	// Ahead reads files that will be read soon, many at once, until stop is called.
	Ahead(names []string) (stop func())
	// Fresh has the next look at the tree see it as it is then, and not as it was a moment ago.
	Fresh()
}

// Ahead says which files of a tree will be read soon, where that is of use: see
// [Remote]. needed reports whether one will; it is not asked otherwise.
func Ahead(t Tree, names iter.Seq[string], needed func(name string) bool) (stop func()) {
	r := t.Remote()
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

// Fresh has a tree on another machine be looked at anew.
func Fresh(t Tree) {
	if r := t.Remote(); r != nil {
		r.Fresh()
	}
}

// InMemory returns an open file with the bytes of data.
func InMemory(data []byte) Opened { return inMemory{bytes.NewReader(data)} }

type inMemory struct{ *bytes.Reader }

func (inMemory) Close() error { return nil }

// Remote implements Tree.
func (d *Disk) Remote() Remote { return nil }

// OpenFile implements Tree.
func (d *Disk) OpenFile(name string) (Opened, error) {
	dir, base := splitName(name)
	f, err := d.useFolder(dir)
	if err != nil {
		return nil, err
	}
	defer f.release()
	return f.OpenFile(base)
}

// Head returns the beginning of a file, of at most so many bytes.
func Head(t Tree, name string, most int64) ([]byte, error) {
	f, err := t.OpenFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	buf := heads.Get().(*[]byte)
	defer heads.Put(buf)
	*buf = slices.Grow((*buf)[:0], int(most))
	n, err := f.ReadAt((*buf)[:most], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, files.Cause(err)
	}
	return bytes.Clone((*buf)[:n]), nil
}

// heads are buffers for beginnings: most files are shorter than what is asked of them.
var heads = sync.Pool{New: func() any { return new([]byte) }}

// Beginnings returns a tree in which each file ends after at most so many bytes: what is looked
// for in it takes no longer where files are large. It remembers what it read of each, so that a file
// may be asked several times; release, after which it is not used, forgets that.
func Beginnings(on Tree, most int64) (t Tree, release func()) {
	b := &beginnings{Tree: on, most: most, heads: map[string]*beginning{}}
	return b, b.releaseHeads
}

type beginnings struct {
	Tree
	most int64

	mu    sync.Mutex
	heads map[string]*beginning
}

// beginning caches the first bytes of a file, which may end where other files go on.
type beginning struct {
	mu   sync.Mutex
	lent *[]byte
	head []byte // in lent
	ends bool   // with head
}

// releaseHeads returns the memory of the heads to the pool.
func (b *beginnings) releaseHeads() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, known := range b.heads {
		*known.lent = known.head[:0]
		heads.Put(known.lent)
	}
	b.heads = nil
}

// OpenFile implements Tree.
func (b *beginnings) OpenFile(name string) (Opened, error) {
	f, err := b.Tree.OpenFile(name)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	known := b.heads[name]
	if known == nil {
		known = &beginning{lent: heads.Get().(*[]byte)}
		known.head = *known.lent
		b.heads[name] = known
	}
	return begun{f, known, b.most}, nil
}

// begun is an open file whose beginning alone is read.
type begun struct {
	Opened
	known *beginning
	most  int64
}

// ReadAt implements io.ReaderAt.
func (f begun) ReadAt(p []byte, at int64) (n int, err error) {
	b := f.known
	b.mu.Lock()
	defer b.mu.Unlock()
	if end, have := min(at+int64(len(p)), f.most), int64(len(b.head)); end > have && !b.ends {
		b.head = slices.Grow(b.head, int(end-have))
		n, err := f.Opened.ReadAt(b.head[have:end], have)
		b.head, b.ends = b.head[:have+int64(n)], errors.Is(err, io.EOF)
		if err != nil && !b.ends {
			return 0, err
		}
	}
	if at < int64(len(b.head)) {
		n = copy(p, b.head[at:])
	}
	if n < len(p) {
		err = io.EOF
	}
	return n, err
}

// Stamp implements Tree.
func (b *beginnings) Stamp(name string) (Stamp, error) {
	at, err := b.Tree.Stamp(name)
	at.Size = min(at.Size, b.most)
	return at, err
}

// Read implements Tree.
func (b *beginnings) Read(name string, buf []byte) ([]byte, Stamp, error) {
	at, err := b.Tree.Stamp(name)
	if err != nil || at.Kind != files.Regular || at.Size <= b.most {
		return b.Tree.Read(name, buf)
	}
	data, err := Head(b.Tree, name, b.most)
	at.Size = int64(len(data))
	return data, at, err
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
	dir, base := splitName(name)
	f, err := d.useFolder(dir)
	if err == nil {
		defer f.release()
		at.Stamp, err = f.Stat(base)
	}
	if isFree(err) {
		return Stamp{}, nil
	}
	return at, err
}

// splitName returns the folder and the last part of a clean name.
func splitName(name string) (dir, base string) {
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

// IsFolder reports whether a name is a folder, or a link to a folder within the tree.
func IsFolder(t Tree, name string) bool {
	at, err := t.Stamp(name)
	if err == nil && at.Kind == files.Link {
		_, err = t.List(name)
		return err == nil || errors.Is(err, fs.ErrPermission)
	}
	return at.Kind == files.Directory
}

// CountOpened returns how many folders were opened.
func (d *Disk) CountOpened() int64 { return d.opened.Load() }

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
	// changed is the first file that changed between two looks, nil if no file did.
	changed *ChangedError
}

// NewView begins to look at a tree.
func NewView(on Tree) *View {
	return &View{on: on, lists: map[string][]string{}, stamps: map[string]Stamp{}, failed: map[string]error{}}
}

// ChangedError says that a file changed between two looks of one view.
type ChangedError struct{ Name string }

func (e *ChangedError) Error() string { return fmt.Sprintf("%s changed while it was read", e.Name) }

// Hold implements Tree.
func (v *View) Hold(dir string) (release func()) { return v.on.Hold(dir) }

// Remote implements Tree.
func (v *View) Remote() Remote { return v.on.Remote() }

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

// Folders implements Tree.
func (v *View) Folders(dir string) ([]string, error) { return FoldersOf(v, dir) }

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

// OpenFile implements Tree.
func (v *View) OpenFile(name string) (Opened, error) {
	at, err := v.Stamp(name) // what is read in it then is told of by Moved
	if err == nil && at.Kind == files.Nothing {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, err
	}
	return v.on.OpenFile(name)
}

// FindMoved returns a name that is no longer as the view found it, "" if there is no such name. It looks at
// each once more.
func (v *View) FindMoved() string {
	seen := v.ListSeen()
	seen.failed = nil // that is told as it is
	return seen.FindMoved(v.on)
}

// Seen is all that was seen in a view.
type Seen struct {
	lists  map[string][]string
	stamps map[string]Stamp
	failed map[string]error
}

// ListSeen returns the listings, stamps and errors that the view has seen. Nothing may be read from the view any
// more.
func (v *View) ListSeen() Seen {
	v.mu.Lock()
	defer v.mu.Unlock()
	return Seen{v.lists, v.stamps, v.failed}
}

// Len returns how many files and folders were seen.
func (v Seen) Len() int { return len(v.lists) + len(v.stamps) + len(v.failed) }

// FindMoved returns a name that has changed in a tree since it was seen, "" if no name has. A name
// that could not be read counts as changed, unless it was missing and still is.
func (v Seen) FindMoved(on Tree) string {
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

// FindChange returns the first file that changed between two looks of the view, nil if no
// file did. After a change, results from the view mix two moments.
func (v *View) FindChange() *ChangedError {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.changed
}
