package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// Rooted is a Disk for any operating system, built on package os. Use OpenRooted.
//
// It looks at each folder on the way before it goes through: os.Root follows the
// links that stay below it.
type Rooted struct{ root *os.Root }

var _ Disk = (*Rooted)(nil)

// OpenRooted opens a folder as [Open] does where a system has no more than package os. Nothing is
// written.
func OpenRooted(dir string) (*Rooted, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Rooted{root}, nil
}

// Close lets go of the folder.
func (d *Rooted) Close() error { return d.root.Close() }

// checkLinks refuses a name that leads through a link.
func (d *Rooted) checkLinks(name string) error {
	if !fs.ValidPath(name) || strings.ContainsRune(name, '\\') {
		return fs.ErrInvalid
	}
	for i := range len(name) {
		if name[i] != '/' {
			continue
		}
		info, err := d.root.Lstat(name[:i])
		switch {
		case err != nil:
			return err
		case info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0:
			return ErrSymlink
		}
	}
	return nil
}

// statFile refuses what is no regular file, and a folder if it may be none.
func (d *Rooted) statFile(name string, folder bool) (fs.FileInfo, error) {
	err := d.checkLinks(name)
	if err != nil {
		return nil, err
	}
	info, err := d.root.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, ErrSymlink
	case !info.Mode().IsRegular() && !(folder && info.IsDir()):
		return nil, ErrNotRegular
	}
	return info, nil
}

// Lstat implements Disk.
func (d *Rooted) Lstat(name string) (fs.FileInfo, error) {
	err := d.checkLinks(name)
	if err != nil {
		return nil, pathError("lstat", name, err)
	}
	info, err := d.root.Lstat(name)
	return info, pathError("lstat", name, err)
}

// SameFile implements Disk.
func (d *Rooted) SameFile(a, b fs.FileInfo) bool { return os.SameFile(a, b) }

// Names implements Disk.
func (d *Rooted) Names(dir string) (names []string, err error) {
	info, err := d.statFile(dir, true)
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	var f *os.File
	if err == nil {
		f, err = d.root.Open(dir)
	}
	if err == nil {
		names, err = f.Readdirnames(-1)
		err = errors.Join(err, f.Close())
	}
	slices.Sort(names)
	return names, pathError("list", dir, err)
}

// Read implements Disk.
func (d *Rooted) Read(name string) ([]byte, error) {
	data, _, err := d.Load(name, nil)
	return data, err
}

// Load implements Disk.
func (d *Rooted) Load(name string, buf []byte) (data []byte, info fs.FileInfo, err error) {
	defer func() { err = pathError("read", name, err) }()
	if _, err := d.statFile(name, false); err != nil {
		return buf[:0], nil, err
	}
	f, err := d.root.Open(name)
	if err != nil {
		return buf[:0], nil, err
	}
	defer f.Close() // it was only read
	if info, err = f.Stat(); err != nil {
		return buf[:0], nil, err
	}
	switch {
	case !info.Mode().IsRegular():
		return buf[:0], nil, ErrNotRegular
	case info.Size() > MaxSize:
		return buf[:0], nil, ErrTooLarge
	}
	data = slices.Grow(buf[:0], int(info.Size())+1)
	for {
		if len(data) == cap(data) {
			data = slices.Grow(data, max(len(data), 8<<10))
		}
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case err == io.EOF:
			return data, info, nil
		case err != nil:
			return data, nil, err
		case len(data) > MaxSize:
			return data, nil, ErrTooLarge
		}
	}
}

// Create implements Disk.
func (d *Rooted) Create(name string, data []byte, mode fs.FileMode) error {
	return pathError("create", name, d.makeFile(name, data, mode))
}

// Copy implements Disk.
func (d *Rooted) Copy(old, new string, mode fs.FileMode) error {
	data, info, err := d.Load(old, nil)
	if err == nil {
		err = d.makeFile(new, data, mode)
	}
	if err == nil {
		if err = d.root.Chtimes(new, info.ModTime(), info.ModTime()); err != nil {
			err = errors.Join(err, d.root.Remove(new))
		}
	}
	return linkError("copy", old, new, err)
}

// makeFile makes a file with the bytes, durable; one that cannot be finished is removed again.
func (d *Rooted) makeFile(name string, data []byte, mode fs.FileMode) error {
	if err := d.checkLinks(name); err != nil {
		return err
	}
	f, err := d.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode.Perm()|0o200)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if failed := f.Close(); err == nil {
		err = failed
	}
	if err == nil { // the umask took a part of it, and a file without the right to write was made with it
		err = d.root.Chmod(name, mode.Perm())
	}
	if err != nil {
		return errors.Join(err, d.root.Remove(name))
	}
	return nil
}

// Append implements Disk.
func (d *Rooted) Append(name string, data []byte) (err error) {
	defer func() { err = pathError("append", name, err) }()
	if _, err := d.statFile(name, false); err != nil {
		return err
	}
	f, err := d.root.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	n, err := f.Write(data)
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	if err == nil {
		err = f.Sync()
	}
	if failed := f.Close(); err == nil {
		err = failed
	}
	return err
}

func (d *Rooted) checkNames(old, new string) error {
	if err := d.checkLinks(old); err != nil {
		return err
	}
	return d.checkLinks(new)
}

// Rename implements Disk.
func (d *Rooted) Rename(old, new string) error {
	err := d.checkNames(old, new)
	if err == nil {
		err = d.root.Rename(old, new)
	}
	return linkError("rename", old, new, err)
}

// Place implements Disk.
func (d *Rooted) Place(old, new string) error {
	if _, err := d.Lstat(new); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = fs.ErrExist
		}
		return linkError("place", old, new, err)
	}
	return d.Rename(old, new)
}

// Exchange implements Disk.
func (d *Rooted) Exchange(a, b string) error {
	err := d.checkNames(a, b)
	if err == nil {
		err = errors.ErrUnsupported
	}
	return linkError("exchange", a, b, err)
}

// Mkdir implements Disk.
func (d *Rooted) Mkdir(name string, mode fs.FileMode) error {
	err := d.checkLinks(name)
	if err == nil {
		err = d.root.Mkdir(name, mode.Perm())
	}
	if err == nil {
		err = d.root.Chmod(name, mode.Perm())
	}
	return pathError("mkdir", name, err)
}

// Remove implements Disk.
func (d *Rooted) Remove(name string) error {
	err := d.checkLinks(name)
	if err == nil {
		err = d.root.Remove(name)
	}
	return pathError("remove", name, err)
}

// Sync implements Disk. Windows syncs no folders, and needs none to be. A file that no
// program may write is durable since it was made.
func (d *Rooted) Sync(name string) (err error) {
	defer func() { err = pathError("sync", name, err) }()
	info, err := d.statFile(name, true)
	if err != nil || info.IsDir() && runtime.GOOS == "windows" || !info.IsDir() && info.Mode()&0o200 == 0 {
		return err
	}
	how := os.O_RDWR // Windows syncs what may be written
	if info.IsDir() {
		how = os.O_RDONLY
	}
	f, err := d.root.OpenFile(name, how, 0)
	if err != nil {
		return err
	}
	err = f.Sync()
	if failed := f.Close(); err == nil {
		err = failed
	}
	return err
}

// Flush implements Disk.
func (d *Rooted) Flush(names []string) error {
	for _, name := range names {
		if err := d.Sync(name); err != nil {
			return err
		}
	}
	return nil
}

// Lock implements Disk.
func (d *Rooted) Lock(name string) (unlock func() error, err error) {
	defer func() { err = pathError("lock", name, err) }()
	if _, err := d.statFile(name, false); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f, err := d.root.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}
