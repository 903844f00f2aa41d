package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
)

// ErrLocked: another process has the lock.
var ErrLocked = errors.New("another process is writing here")

// OS is a Disk of the operating system. Use Open.
type OS struct{ root *os.Root }

// Open opens a folder. Nothing is written.
func Open(dir string) (*OS, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &OS{root}, nil
}

// Close lets go of the folder.
func (d *OS) Close() error { return d.root.Close() }

// Lstat implements Disk.
func (d *OS) Lstat(name string) (fs.FileInfo, error) { return d.root.Lstat(name) }

// Names implements Disk.
func (d *OS) Names(dir string) (names []string, err error) {
	f, err := d.root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	names, err = f.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// Read implements Disk.
func (d *OS) Read(name string) ([]byte, error) { return d.root.ReadFile(name) }

// Create implements Disk.
func (d *OS) Create(name string, data []byte, mode fs.FileMode) (err error) {
	f, err := d.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Close()) // whatever the umask is
	if err != nil {
		err = errors.Join(err, d.root.Remove(name))
	}
	return err
}

// Append implements Disk.
func (d *OS) Append(name string, data []byte) (err error) {
	f, err := d.root.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	n, err := f.Write(data)
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	return err
}

// Link implements Disk.
func (d *OS) Link(old, new string) error { return d.root.Link(old, new) }

// Rename implements Disk.
func (d *OS) Rename(old, new string) error { return d.root.Rename(old, new) }

// Mkdir implements Disk.
func (d *OS) Mkdir(name string, mode fs.FileMode) error { return d.root.Mkdir(name, mode) }

// Remove implements Disk.
func (d *OS) Remove(name string) error { return d.root.Remove(name) }

// Sync implements Disk.
func (d *OS) Sync(name string) (err error) {
	f, err := d.root.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.Sync()
}
