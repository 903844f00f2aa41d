//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
)

// OS is a Disk of the operating system. Use Open.
//
// It looks at each folder on the way before it goes through: os.Root follows the
// links that stay below it.
type OS struct{ root *os.Root }

func open(dir string) (*OS, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &OS{root}, nil
}

// Close lets go of the folder.
func (d *OS) Close() error { return d.root.Close() }

// check refuses a name that leads through a link.
func (d *OS) check(name string) error {
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

// file refuses what is no regular file.
func (d *OS) file(name string) error {
	err := d.check(name)
	if err != nil {
		return err
	}
	info, err := d.root.Lstat(name)
	switch {
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		return ErrSymlink
	case !info.Mode().IsRegular():
		return ErrNotRegular
	}
	return nil
}

// Lstat implements Disk.
func (d *OS) Lstat(name string) (fs.FileInfo, error) {
	err := d.check(name)
	if err != nil {
		return nil, pathError("lstat", name, err)
	}
	info, err := d.root.Lstat(name)
	return info, pathError("lstat", name, err)
}

// SameFile implements Disk.
func (d *OS) SameFile(a, b fs.FileInfo) bool { return os.SameFile(a, b) }

// Names implements Disk.
func (d *OS) Names(dir string) (names []string, err error) {
	info, err := d.Lstat(dir)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		err = ErrSymlink
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

// Load implements Disk.
func (d *OS) Load(name string, buf []byte) (data []byte, info fs.FileInfo, err error) {
	defer func() { err = pathError("read", name, err) }()
	if err := d.file(name); err != nil {
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
func (d *OS) Create(name string, data []byte, mode fs.FileMode) error {
	return pathError("create", name, d.make(name, data, mode, (*os.File).Sync))
}

// Copy implements Disk.
func (d *OS) Copy(old, new string, mode fs.FileMode) error {
	data, info, err := d.Load(old, nil)
	if err == nil {
		err = d.make(new, data, mode, func(*os.File) error { return nil })
	}
	if err == nil {
		err = d.root.Chtimes(new, info.ModTime(), info.ModTime())
	}
	return linkError("copy", old, new, err)
}

// make makes a file with the bytes; one that cannot be finished is removed again.
func (d *OS) make(name string, data []byte, mode fs.FileMode, finish func(*os.File) error) error {
	if err := d.check(name); err != nil {
		return err
	}
	f, err := d.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode.Perm()|0o200)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = finish(f)
	}
	if failed := f.Close(); err == nil {
		err = failed
	}
	if err == nil && mode.Perm()&0o200 == 0 {
		err = d.root.Chmod(name, mode.Perm())
	}
	if err != nil {
		return errors.Join(err, d.root.Remove(name))
	}
	return nil
}

// Append implements Disk.
func (d *OS) Append(name string, data []byte) (err error) {
	defer func() { err = pathError("append", name, err) }()
	if err := d.file(name); err != nil {
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

func (d *OS) both(old, new string) error {
	if err := d.check(old); err != nil {
		return err
	}
	return d.check(new)
}

// Rename implements Disk.
func (d *OS) Rename(old, new string) error {
	err := d.both(old, new)
	if err == nil {
		err = d.root.Rename(old, new)
	}
	return linkError("rename", old, new, err)
}

// Place implements Disk.
func (d *OS) Place(old, new string) error {
	if _, err := d.Lstat(new); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = fs.ErrExist
		}
		return linkError("place", old, new, err)
	}
	return d.Rename(old, new)
}

// Exchange implements Disk.
func (d *OS) Exchange(a, b string) error { return linkError("exchange", a, b, errors.ErrUnsupported) }

// Mkdir implements Disk.
func (d *OS) Mkdir(name string, mode fs.FileMode) error {
	err := d.check(name)
	if err == nil {
		err = d.root.Mkdir(name, mode.Perm())
	}
	return pathError("mkdir", name, err)
}

// Remove implements Disk.
func (d *OS) Remove(name string) error {
	err := d.check(name)
	if err == nil {
		err = d.root.Remove(name)
	}
	return pathError("remove", name, err)
}

// Sync implements Disk. Windows syncs no folders, and needs none to be.
func (d *OS) Sync(name string) (err error) {
	defer func() { err = pathError("sync", name, err) }()
	info, err := d.Lstat(name)
	if err != nil || info.IsDir() && runtime.GOOS == "windows" {
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
func (d *OS) Flush(names []string) error {
	for _, name := range names {
		if err := d.Sync(name); err != nil {
			return err
		}
	}
	return nil
}

// Lock implements Disk.
func (d *OS) Lock(name string) (unlock func() error, err error) {
	defer func() { err = pathError("lock", name, err) }()
	if err := d.check(name); err != nil {
		return nil, err
	}
	f, err := d.root.OpenFile(path.Clean(name), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}

// Hold opens a file, which is made if it is missing, and locks it until it is closed or
// the process ends. The errors are those of [Disk].Lock.
func Hold(name string) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
