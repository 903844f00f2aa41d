package keep

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"sync"
	"time"

	"hindcast/store"
	"hindcast/store/media/disk"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
)

// Source has the kept files of a folder as a medium: a kind reads it as it reads the folder. Nothing is
// written through it.
type Source struct {
	*kept
	at string // whole, with slashes
	on *recorder
}

var _ tree.Source = (*Source)(nil)

// kept are the newest contents of all files of an archive as one tree, from the root of the file system.
type kept struct {
	a   *Archive
	ctx context.Context

	mu      sync.Mutex
	files   map[string]*keptFile // nil until they are needed
	folders map[string]*keptFolder
}

type keptFile struct {
	fileRow
	goneAt time.Time // the zero time if it was there
}

type keptFolder struct{ names []string }

// Source returns what is kept of a path, which is whole, with slashes. It reads until ctx ends.
func (a *Archive) Source(ctx context.Context, at string) *Source {
	return &Source{&kept{a: a, ctx: ctx}, at, nil}
}

// loadFiles reads which files there are, once.
func (k *kept) loadFiles() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.files != nil {
		return nil
	}
	all := map[string]*keptFile{}
	err := k.a.on.readTx(k.ctx, func(t tx) error {
		clear(all)
		return t.eachRow(k.ctx, func(scan func(...any) error) error {
			f, name, gone := new(keptFile), "", int64(0)
			err := scan(&f.id, &name, &f.size, &f.mode, &f.modified, &f.stamp, &f.tag, &f.list, &f.redacted, &gone)
			if f.gone = gone != 0; f.gone {
				f.goneAt = time.Unix(0, gone)
			}
			all[name] = f
			return err
		}, "SELECT file, name, size, mode, modified, stamp, tag, list, redacted, coalesce(gone, 0) FROM files WHERE newest = 1")
	})
	if err != nil {
		return err
	}
	k.files = all
	k.enterAll()
	return nil
}

// enterAll enters the names of all files into folders.
func (k *kept) enterAll() {
	k.folders = map[string]*keptFolder{}
	for name := range k.files {
		if _, _, is := splitRows(name); !is {
			k.enterName(name)
		}
	}
}

// hasRows reports whether rows of databases at a path are kept, or below it.
func (k *kept) hasRows(at string) bool {
	for name := range k.files {
		if _, _, is := splitRows(name); is && isBelow(name, filepath.ToSlash(at)) {
			return true
		}
	}
	return false
}

// enterName enters a name into its folder, and that into the one above.
func (k *kept) enterName(name string) {
	for dir := path.Dir(name); dir != name; name, dir = dir, path.Dir(dir) {
		folder, known := k.folders[dir]
		if !known {
			folder = new(keptFolder)
			k.folders[dir] = folder
		}
		folder.names = append(folder.names, path.Base(name))
		if known {
			return
		}
	}
}

// Name implements tree.Source.
func (s *Source) Name() string { return s.at }

// Tree implements tree.Source.
func (s *Source) Tree() tree.Remote { return keptTree{s} }

// Disk implements tree.Source.
func (s *Source) Disk() disk.Disk { return readOnly{s.Tree()} }

// Watch implements tree.Source: what is kept is not followed.
func (s *Source) Watch(context.Context) (<-chan struct{}, error) { return nil, errors.ErrUnsupported }

// Requests implements tree.Source.
func (s *Source) Requests() store.Requests { return store.Requests{} }

// At implements tree.Source.
func (s *Source) At(way string) (tree.Source, bool) {
	return &Source{s.kept, path.Join(s.at, way), s.on}, true
}

// Folder implements tree.Source: its tool does not see what is kept.
func (s *Source) Folder() string { return "" }

// Server implements tree.Source.
func (s *Source) Server() (bucket, prefix, endpoint string) { return "", s.at, "" }

// Copying implements tree.Source.
func (s *Source) Copying() string { return "" }

// Close implements tree.Source. The archive stays open.
func (s *Source) Close() error { return nil }

// keptTree is the tree of a source.
type keptTree struct{ s *Source }

func (t keptTree) wholeName(name string) string { return path.Join(t.s.at, name) }

// List implements tree.Tree. The root is there, whatever is in it.
func (t keptTree) List(dir string) ([]string, error) {
	if err := t.s.loadFiles(); err != nil {
		return nil, err
	}
	folder := t.s.folders[t.wholeName(dir)]
	if folder == nil && dir != "." {
		return nil, fs.ErrNotExist
	}
	if folder == nil {
		return nil, nil
	}
	return folder.names, nil
}

// Folders implements tree.Tree.
func (t keptTree) Folders(dir string) ([]string, error) { return tree.FoldersOf(t, dir) }

// Stamp implements tree.Tree.
func (t keptTree) Stamp(name string) (tree.Stamp, error) {
	if err := t.s.loadFiles(); err != nil {
		return tree.Stamp{}, err
	}
	t.s.on.noteSeen(t.wholeName(name))
	if folder := t.s.folders[t.wholeName(name)]; folder != nil {
		at := files.TaggedStamp(0, time.Unix(0, 0), fmt.Sprint(len(folder.names)))
		at.Kind = files.Directory
		return tree.Stamp{Stamp: at}, nil
	}
	if f := t.s.files[t.wholeName(name)]; f != nil {
		return f.stampOf(), nil
	}
	return tree.Stamp{}, nil
}

// stampOf returns the stamp of a file: another one of another content.
func (f *keptFile) stampOf() tree.Stamp {
	return tree.Stamp{Stamp: files.TaggedStamp(f.size, time.Unix(0, f.modified), hex.EncodeToString(f.tag))}
}

func (t keptTree) findFile(name string) (*keptFile, error) {
	if err := t.s.loadFiles(); err != nil {
		return nil, err
	}
	f := t.s.files[t.wholeName(name)]
	switch {
	case f == nil && t.s.folders[t.wholeName(name)] != nil:
		return nil, files.ErrNotRegular
	case f == nil:
		return nil, fs.ErrNotExist
	case f.size > files.MaxSize:
		return nil, files.ErrTooLarge
	}
	t.s.on.noteRead(t.wholeName(name))
	return f, nil
}

// Read implements tree.Tree.
func (t keptTree) Read(name string, buf []byte) ([]byte, tree.Stamp, error) {
	f, err := t.findFile(name)
	if err != nil {
		return buf[:0], tree.Stamp{}, err
	}
	if int64(cap(buf)) < f.size {
		buf = make([]byte, f.size)
	}
	n, err := t.s.a.readAt(t.s.ctx, f.list, buf[:f.size], 0)
	return buf[:n], f.stampOf(), err
}

// OpenFile implements tree.Tree.
func (t keptTree) OpenFile(name string) (tree.Opened, error) {
	f, err := t.findFile(name)
	if err != nil {
		return nil, err
	}
	return openedFile{t.s.kept, f}, nil
}

// openedFile reads parts of a file.
type openedFile struct {
	k *kept
	f *keptFile
}

// ReadAt implements io.ReaderAt.
func (o openedFile) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fs.ErrInvalid
	}
	return o.k.a.readAt(o.k.ctx, o.f.list, p, off)
}

// Close implements io.Closer.
func (o openedFile) Close() error { return nil }

// Hold implements tree.Tree: no folder is open.
func (t keptTree) Hold(string) (release func()) { return func() {} }

// Remote implements tree.Tree: it is as near as a folder.
func (t keptTree) Remote() tree.Remote { return nil }

// Ahead implements tree.Remote.
func (t keptTree) Ahead([]string) (stop func()) { return func() {} }

// Fresh implements tree.Remote: what is kept meanwhile is seen when it is opened again.
func (t keptTree) Fresh() {}
