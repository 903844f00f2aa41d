package keep

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"time"

	"hindcast/store/media/disk"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
)

// readOnly is a tree as a disk that refuses every change.
type readOnly struct{ on tree.Tree }

// look is a look at a name of a tree.
type look struct {
	name string
	tree.Stamp
}

// Name implements fs.FileInfo.
func (l look) Name() string { return path.Base(l.name) }

// Size implements fs.FileInfo.
func (l look) Size() int64 { return l.Stamp.Size }

// Mode implements fs.FileInfo.
func (l look) Mode() fs.FileMode {
	if l.IsDir() {
		return fs.ModeDir | 0o700
	}
	return 0o600
}

// ModTime implements fs.FileInfo.
func (l look) ModTime() time.Time { return l.Modified }

// IsDir implements fs.FileInfo.
func (l look) IsDir() bool { return l.Kind == files.Directory }

// Sys implements fs.FileInfo.
func (l look) Sys() any { return nil }

func denyChange(op, name string) error {
	return &fs.PathError{Op: op, Path: name, Err: fs.ErrPermission}
}

// Lstat implements disk.Disk.
func (d readOnly) Lstat(name string) (fs.FileInfo, error) {
	at, err := d.on.Stamp(name)
	if err == nil && at.Kind == files.Nothing {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, &fs.PathError{Op: "lstat", Path: name, Err: err}
	}
	return look{name, at}, nil
}

// SameFile implements disk.Disk.
func (d readOnly) SameFile(a, b fs.FileInfo) bool {
	x, ok := a.(look)
	y, both := b.(look)
	return ok && both && x.name == y.name && x.Is(y.Stamp)
}

// Names implements disk.Disk.
func (d readOnly) Names(dir string) ([]string, error) {
	names, err := d.on.List(dir)
	names = slices.Clone(names)
	slices.Sort(names)
	return names, err
}

// Read implements disk.Disk.
func (d readOnly) Read(name string) ([]byte, error) {
	data, _, err := d.Load(name, nil)
	return data, err
}

// Load implements disk.Disk.
func (d readOnly) Load(name string, buf []byte) ([]byte, fs.FileInfo, error) {
	data, at, err := d.on.Read(name, buf)
	if err != nil {
		return data, nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return data, look{name, at}, nil
}

// Create implements disk.Disk.
func (d readOnly) Create(name string, _ []byte, _ fs.FileMode) error {
	return denyChange("create", name)
}

// Append implements disk.Disk.
func (d readOnly) Append(name string, _ []byte) error { return denyChange("append", name) }

// Copy implements disk.Disk.
func (d readOnly) Copy(_, name string, _ fs.FileMode) error { return denyChange("copy", name) }

// Flush implements disk.Disk.
func (d readOnly) Flush([]string) error { return denyChange("flush", ".") }

// Rename implements disk.Disk.
func (d readOnly) Rename(_, name string) error { return denyChange("rename", name) }

// Place implements disk.Disk.
func (d readOnly) Place(_, name string) error { return denyChange("rename", name) }

// Exchange implements disk.Disk.
func (d readOnly) Exchange(string, string) error { return errors.ErrUnsupported }

// Mkdir implements disk.Disk.
func (d readOnly) Mkdir(name string, _ fs.FileMode) error { return denyChange("mkdir", name) }

// Remove implements disk.Disk.
func (d readOnly) Remove(name string) error { return denyChange("remove", name) }

// Sync implements disk.Disk.
func (d readOnly) Sync(name string) error { return denyChange("sync", name) }

// Lock implements disk.Disk.
func (d readOnly) Lock(string) (unlock func() error, err error) { return nil, errors.ErrUnsupported }

var _ disk.Disk = readOnly{}
