package keep

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/media/disk"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
)

// laid is a folder of this machine with kept files laid over it, as a source: a kind plans in it as if the files were
// there. What is written through it goes into the folder.
type laid struct {
	*Source // with the kept files alone
	*folders
}

// folders are the folders that a laid one leads to.
type folders struct {
	// deep says that what a write copies may be one of the kept files.
	deep bool

	mu     sync.Mutex
	opened map[string]*openedFolder
}

// openedFolder is a folder that is open for reading and for writing. The fields are nil if it does not exist.
type openedFolder struct {
	tree *tree.Disk
	disk *disk.OS
}

// openLaid opens the store as it is with kept files laid over it.
func (s *goneStore) openLaid(ctx context.Context, list []backFile, deep bool) (store.Store, error) {
	over := &kept{a: s.a, ctx: s.source.ctx, files: map[string]*keptFile{}}
	for _, b := range list {
		over.files[b.name] = b.f
	}
	over.enterAll()
	on := &laid{&Source{over, s.source.at, nil}, &folders{deep: deep, opened: map[string]*openedFolder{}}}
	inner, err := s.kind.OpenAt(ctx, engine.Site{On: on})
	if err != nil {
		return nil, errors.Join(err, on.closeAll())
	}
	return &laidStore{inner, on}, nil
}

// laidStore closes the folders with the store.
type laidStore struct {
	store.Store
	on *laid
}

// Close closes the store.
func (s *laidStore) Close() error { return errors.Join(s.Store.Close(), s.on.closeAll()) }

// openFolder opens a folder, once.
func (f *folders) openFolder(dir string) *openedFolder {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.opened[dir] == nil {
		one := new(openedFolder)
		one.tree, _ = tree.OpenDisk(filepath.FromSlash(dir)) // a folder that cannot be opened is read as an empty one
		one.disk, _ = disk.Open(filepath.FromSlash(dir))
		f.opened[dir] = one
	}
	return f.opened[dir]
}

func (f *folders) closeAll() (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.opened {
		if one.tree != nil {
			err = errors.Join(err, one.tree.Close())
		}
		if one.disk != nil {
			err = errors.Join(err, one.disk.Close())
		}
	}
	f.opened = map[string]*openedFolder{}
	return err
}

// Folder implements tree.Source.
func (l *laid) Folder() string { return filepath.FromSlash(l.at) }

// Tree implements tree.Source.
func (l *laid) Tree() tree.Remote {
	return laidTree{keptTree{l.Source}, l.openFolder(l.at).tree}
}

// Disk implements tree.Source.
func (l *laid) Disk() disk.Disk {
	var on disk.Disk = l.openFolder(l.at).disk
	if l.openFolder(l.at).disk == nil {
		on = readOnly{keptTree{&Source{&kept{files: map[string]*keptFile{}, folders: map[string]*keptFolder{}}, l.at, nil}}}
	}
	if !l.deep {
		return on
	}
	over := keptTree{l.Source}
	return laidDisk{on, readOnly{over}, over}
}

// At implements tree.Source.
func (l *laid) At(way string) (tree.Source, bool) {
	return &laid{&Source{l.kept, path.Join(l.at, way), nil}, l.folders}, true
}

// laidTree is the tree of a laid folder: a kept file comes before the one that is there.
type laidTree struct {
	keptTree
	there *tree.Disk // nil if the folder does not exist
}

// List implements tree.Tree.
func (t laidTree) List(dir string) ([]string, error) {
	over, err := t.keptTree.List(dir)
	if t.there == nil {
		return over, err
	}
	names, failed := t.there.List(dir)
	switch {
	case errors.Is(failed, fs.ErrNotExist), failed != nil && len(over) > 0:
		return over, err
	case failed != nil:
		return nil, failed
	}
	names = slices.Concat(names, over)
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Folders implements tree.Tree.
func (t laidTree) Folders(dir string) ([]string, error) { return tree.FoldersOf(t, dir) }

// isOver reports whether a kept file is laid over a name.
func (t keptTree) isOver(name string) bool { return t.s.files[t.wholeName(name)] != nil }

// Stamp implements tree.Tree.
func (t laidTree) Stamp(name string) (tree.Stamp, error) {
	over, err := t.keptTree.Stamp(name)
	if t.there == nil || err != nil || over.Kind == files.Regular {
		return over, err
	}
	at, err := t.there.Stamp(name)
	if over.Kind == files.Directory && at.Kind != files.Directory {
		return over, nil
	}
	return at, err
}

// Read implements tree.Tree.
func (t laidTree) Read(name string, buf []byte) ([]byte, tree.Stamp, error) {
	if t.there == nil || t.isOver(name) {
		return t.keptTree.Read(name, buf)
	}
	return t.there.Read(name, buf)
}

// OpenFile implements tree.Tree.
func (t laidTree) OpenFile(name string) (tree.Opened, error) {
	if t.there == nil || t.isOver(name) {
		return t.keptTree.OpenFile(name)
	}
	return t.there.OpenFile(name)
}

// laidDisk is the disk of a folder, which reads kept files as if they were there.
type laidDisk struct {
	disk.Disk
	kept readOnly
	over keptTree
}

// Lstat implements disk.Disk.
func (d laidDisk) Lstat(name string) (fs.FileInfo, error) {
	if d.over.isOver(name) {
		return d.kept.Lstat(name)
	}
	return d.Disk.Lstat(name)
}

// SameFile implements disk.Disk.
func (d laidDisk) SameFile(a, b fs.FileInfo) bool {
	return d.kept.SameFile(a, b) || d.Disk.SameFile(a, b)
}

// Read implements disk.Disk.
func (d laidDisk) Read(name string) ([]byte, error) {
	if d.over.isOver(name) {
		return d.kept.Read(name)
	}
	return d.Disk.Read(name)
}

// Load implements disk.Disk.
func (d laidDisk) Load(name string, buf []byte) ([]byte, fs.FileInfo, error) {
	if d.over.isOver(name) {
		return d.kept.Load(name, buf)
	}
	return d.Disk.Load(name, buf)
}

// Copy implements disk.Disk.
func (d laidDisk) Copy(name, to string, mode fs.FileMode) error {
	if !d.over.isOver(name) {
		return d.Disk.Copy(name, to, mode)
	}
	data, err := d.kept.Read(name)
	if err != nil {
		return err
	}
	return d.Disk.Create(to, data, mode)
}

// isFolder reports whether there is a folder at a path.
func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
