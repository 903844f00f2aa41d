package keep

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"sync"

	"hindcast/store"
	"hindcast/store/media/disk"
	"hindcast/store/media/tree"
)

// recorder notes the names of the files that a kind reads, and of the files that it only looks at. The names
// are whole, with slashes. It is safe for concurrent use. A nil one notes nothing.
type recorder struct {
	mu   sync.Mutex
	read map[string]int // how often
	seen map[string]bool
}

func newRecorder() *recorder { return &recorder{read: map[string]int{}, seen: map[string]bool{}} }

func (r *recorder) noteRead(name string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read[name]++
	r.seen[name] = true
}

func (r *recorder) noteSeen(name string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen[name] = true
}

// recorded is a folder of this machine, or a file in one, as a source that tells a recorder what is looked at. Nothing
// is written through it.
type recorded struct {
	on   *recorder
	dir  string // of the folder that is open, whole, with slashes
	file string // the file in it that the source is; "" for the folder itself
	disk *tree.Disk
	// above are the folders that At opened, which are closed with the first.
	mu    sync.Mutex
	above []*recorded
}

// recordPath returns the source of a path.
func recordPath(on *recorder, at string, isFolder bool) (*recorded, error) {
	s := &recorded{on: on, dir: filepath.ToSlash(at)}
	if !isFolder {
		s.dir, s.file = path.Dir(s.dir), path.Base(s.dir)
	}
	var err error
	s.disk, err = tree.OpenDisk(filepath.FromSlash(s.dir))
	return s, err
}

// Name implements tree.Source.
func (s *recorded) Name() string { return path.Join(s.dir, s.file) }

// Tree implements tree.Source.
func (s *recorded) Tree() tree.Remote { return recordedTree{s} }

// Disk implements tree.Source.
func (s *recorded) Disk() disk.Disk { return readOnly{s.Tree()} }

// Watch implements tree.Source.
func (s *recorded) Watch(context.Context) (<-chan struct{}, error) { return nil, errors.ErrUnsupported }

// Requests implements tree.Source.
func (s *recorded) Requests() store.Requests { return store.Requests{} }

// At implements tree.Source.
func (s *recorded) At(way string) (tree.Source, bool) {
	above, err := recordPath(s.on, path.Join(s.Name(), way), true)
	if err != nil {
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.above = append(s.above, above)
	return above, true
}

// Folder implements tree.Source.
func (s *recorded) Folder() string { return "" }

// Server implements tree.Source.
func (s *recorded) Server() (bucket, prefix, endpoint string) { return "", s.Name(), "" }

// Copying implements tree.Source.
func (s *recorded) Copying() string { return "" }

// Close implements tree.Source. The folders that it opened stay open until closeAll.
func (s *recorded) Close() error { return nil }

// closeAll closes the folder and the folders that At opened.
func (s *recorded) closeAll() error {
	errs := []error{s.disk.Close()}
	for _, above := range s.above {
		errs = append(errs, above.closeAll())
	}
	return errors.Join(errs...)
}

// recordedTree is the tree of a recorded source.
type recordedTree struct{ s *recorded }

// nameOf returns a name as the open folder has it.
func (t recordedTree) nameOf(name string) string { return path.Join(t.s.file, name) }

func (t recordedTree) wholeName(name string) string { return path.Join(t.s.dir, t.nameOf(name)) }

// List implements tree.Tree.
func (t recordedTree) List(dir string) ([]string, error) { return t.s.disk.List(t.nameOf(dir)) }

// Folders implements tree.Tree.
func (t recordedTree) Folders(dir string) ([]string, error) { return t.s.disk.Folders(t.nameOf(dir)) }

// Read implements tree.Tree.
func (t recordedTree) Read(name string, buf []byte) ([]byte, tree.Stamp, error) {
	t.s.on.noteRead(t.wholeName(name))
	return t.s.disk.Read(t.nameOf(name), buf)
}

// Stamp implements tree.Tree.
func (t recordedTree) Stamp(name string) (tree.Stamp, error) {
	t.s.on.noteSeen(t.wholeName(name))
	return t.s.disk.Stamp(t.nameOf(name))
}

// OpenFile implements tree.Tree.
func (t recordedTree) OpenFile(name string) (tree.Opened, error) {
	t.s.on.noteRead(t.wholeName(name))
	return t.s.disk.OpenFile(t.nameOf(name))
}

// Hold implements tree.Tree.
func (t recordedTree) Hold(dir string) (release func()) { return t.s.disk.Hold(t.nameOf(dir)) }

// Remote implements tree.Tree: it is as near as a folder.
func (t recordedTree) Remote() tree.Remote { return nil }

// Ahead implements tree.Remote.
func (t recordedTree) Ahead([]string) (stop func()) { return func() {} }

// Fresh implements tree.Remote.
func (t recordedTree) Fresh() {}
