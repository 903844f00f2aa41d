//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// OS is a Disk of the operating system. Use Open.
//
// Every call opens the folder of the name anew, from the disk's own folder down
// and never through a link, and then names the entry in it: the same that os.Root
// does, but for links, and with as few calls of the system as can be, because a
// message log is a folder of 10,000 files.
type OS struct{ dir *os.File }

var _ Disk = (*OS)(nil)

func open(dir string) (*OS, error) {
	f, err := os.OpenFile(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return &OS{f}, nil
}

// Close lets go of the folder. What runs in other goroutines ends as if it had
// come before or after.
func (d *OS) Close() error { return d.dir.Close() }

// withRoot calls with the disk's own folder, for a name that is valid.
func (d *OS) withRoot(name string, call func(root int) error) error {
	if !fs.ValidPath(name) {
		return fs.ErrInvalid
	}
	conn, err := d.dir.SyscallConn()
	if err != nil {
		return fs.ErrClosed
	}
	if conn.Control(func(root uintptr) { err = call(int(root)) }) != nil {
		return fs.ErrClosed
	}
	return err
}

// withFolder calls with the folder of a name and the name's last part. The folder can be
// used for names in it, and is closed afterwards.
func (d *OS) withFolder(name string, call func(dir int, base string) error) error {
	return d.withRoot(name, func(root int) error { return inFolder(root, name, call) })
}

func inFolder(root int, name string, call func(dir int, base string) error) error {
	parent, base := path.Split(name)
	if parent == "" {
		return call(root, base)
	}
	dir, err := openFolder(root, parent[:len(parent)-1])
	if err != nil {
		return err
	}
	defer unix.Close(dir) // it was only used to name things
	return call(dir, base)
}

// openStepwise opens a file to be read, after the folder that it is in.
func openStepwise(root int, name string) (file int, err error) {
	err = inFolder(root, name, func(dir int, base string) error {
		file, err = openat(dir, base, unix.O_RDONLY)
		return err
	})
	return file, err
}

// walkFolders opens a folder part by part: a part that is a link is refused.
func walkFolders(root int, name string) (int, error) {
	at := root
	for {
		part, rest := name, ""
		for i := range len(name) {
			if name[i] == '/' {
				part, rest = name[:i], name[i+1:]
				break
			}
		}
		next, err := openat(at, part, unix.O_RDONLY|unix.O_DIRECTORY)
		if at != root {
			unix.Close(at)
		}
		if err != nil || rest == "" {
			return next, err
		}
		at, name = next, rest
	}
}

// openat opens an entry of a folder that is no link. Without O_NONBLOCK a pipe
// would block until a program is at its other end.
func openat(dir int, base string, how int) (int, error) {
	var file int
	err := Retry(func() (err error) {
		file, err = unix.Openat(dir, base, how|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		return err
	})
	if err == nil || err == unix.ENOENT {
		return file, err
	}
	// Systems differ in their errors for links and for irregular files.
	var info unix.Stat_t
	if Retry(func() error { return unix.Fstatat(dir, base, &info, unix.AT_SYMLINK_NOFOLLOW) }) == nil {
		switch kind := info.Mode & unix.S_IFMT; {
		case kind == unix.S_IFLNK:
			return -1, ErrSymlink
		case how&unix.O_DIRECTORY == 0 && kind != unix.S_IFREG && kind != unix.S_IFDIR:
			return -1, ErrNotRegular
		}
	}
	return -1, err
}

// info is the result of a stat of a file.
type info struct {
	name string
	unix.Stat_t
}

func (i *info) Name() string       { return i.name }
func (i *info) Size() int64        { return i.Stat_t.Size }
func (i *info) ModTime() time.Time { return time.Unix(i.Mtim.Unix()) }
func (i *info) IsDir() bool        { return i.Mode().IsDir() }
func (i *info) Sys() any           { return &i.Stat_t }

func (i *info) Mode() fs.FileMode {
	mode := fs.FileMode(i.Stat_t.Mode & 0o777)
	switch i.Stat_t.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		mode |= fs.ModeSocket
	case unix.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	default:
		mode |= fs.ModeDevice
	}
	return mode
}

// Lstat implements Disk.
func (d *OS) Lstat(name string) (fs.FileInfo, error) {
	found := &info{name: path.Base(name)}
	err := d.withFolder(name, func(dir int, base string) error {
		return Retry(func() error { return unix.Fstatat(dir, base, &found.Stat_t, unix.AT_SYMLINK_NOFOLLOW) })
	})
	if err != nil {
		return nil, pathError("lstat", name, err)
	}
	return found, nil
}

// SameFile implements Disk.
func (d *OS) SameFile(a, b fs.FileInfo) bool {
	x, ok := a.(*info)
	y, too := b.(*info)
	return ok && too && x.Ino == y.Ino && x.Dev == y.Dev
}

// Names implements Disk.
func (d *OS) Names(dir string) (names []string, err error) {
	err = d.withFolder(dir, func(parent int, base string) error {
		fd, err := openat(parent, base, unix.O_RDONLY|unix.O_DIRECTORY)
		if err != nil {
			return err
		}
		f := os.NewFile(uintptr(fd), dir)
		names, err = f.Readdirnames(-1)
		return errors.Join(err, f.Close())
	})
	slices.Sort(names)
	return names, pathError("list", dir, err)
}

// Read implements Disk.
func (d *OS) Read(name string) ([]byte, error) {
	data, _, err := d.Load(name, nil)
	return data, err
}

// Load implements Disk.
func (d *OS) Load(name string, buf []byte) (data []byte, _ fs.FileInfo, err error) {
	found := &info{name: path.Base(name)}
	err = d.withRoot(name, func(root int) error {
		file, err := openFile(root, name)
		if err != nil {
			return err
		}
		defer unix.Close(file) // it was only read
		data, err = ReadDescriptor(file, buf, &found.Stat_t)
		return err
	})
	if err != nil {
		return data, nil, pathError("read", name, err)
	}
	return data, found, nil
}

// Create implements Disk.
func (d *OS) Create(name string, data []byte, mode fs.FileMode) error {
	return pathError("create", name, d.makeFile(name, mode, func(_ int, _ string, file int) error {
		err := writeAll(file, data)
		if err == nil {
			err = syncFile(file)
		}
		return err
	}))
}

// Copy implements Disk.
func (d *OS) Copy(old, new string, mode fs.FileMode) error {
	return linkError("copy", old, new, d.withRoot(old, func(root int) error {
		from, err := openFile(root, old)
		if err != nil {
			return err
		}
		defer unix.Close(from) // it was only read
		var found unix.Stat_t
		if err := Retry(func() error { return unix.Fstat(from, &found) }); err != nil {
			return err
		}
		return d.makeFile(new, mode, func(dir int, base string, file int) error {
			if reflink(from, file) != nil {
				data, err := ReadDescriptor(from, nil, &found)
				if err == nil {
					err = writeAll(file, data)
				}
				if err != nil {
					return err
				}
			}
			times := []unix.Timespec{found.Mtim, found.Mtim}
			return Retry(func() error { return unix.UtimesNanoAt(dir, base, times, unix.AT_SYMLINK_NOFOLLOW) })
		})
	}))
}

// makeFile makes a file and fills it; what cannot be filled is removed again.
func (d *OS) makeFile(name string, mode fs.FileMode, fill func(dir int, base string, file int) error) error {
	return d.withFolder(name, func(dir int, base string) error {
		var file int
		err := Retry(func() (err error) {
			how := unix.O_CREAT | unix.O_EXCL | unix.O_WRONLY | unix.O_NOFOLLOW | unix.O_CLOEXEC
			file, err = unix.Openat(dir, base, how, uint32(mode.Perm()))
			return err
		})
		if err != nil {
			return err
		}
		if err = Retry(func() error { return unix.Fchmod(file, uint32(mode.Perm())) }); err == nil {
			err = fill(dir, base, file)
		}
		if failed := unix.Close(file); err == nil {
			err = failed
		}
		if err != nil {
			return errors.Join(err, unix.Unlinkat(dir, base, 0))
		}
		return nil
	})
}

func writeAll(file int, data []byte) error {
	for len(data) > 0 {
		var n int
		err := Retry(func() (err error) {
			n, err = unix.Write(file, data)
			return err
		})
		if err != nil {
			return err
		}
		if n <= 0 {
			return io.ErrShortWrite
		}
		data = data[n:]
	}
	return nil
}

// Append implements Disk.
func (d *OS) Append(name string, data []byte) error {
	return pathError("append", name, d.withFolder(name, func(dir int, base string) error {
		file, err := openat(dir, base, unix.O_WRONLY|unix.O_APPEND)
		if err != nil {
			return err
		}
		var found unix.Stat_t
		err = Retry(func() error { return unix.Fstat(file, &found) })
		if err == nil && found.Mode&unix.S_IFMT != unix.S_IFREG {
			err = ErrNotRegular
		}
		if err == nil {
			var n int
			err = Retry(func() (err error) {
				n, err = unix.Write(file, data)
				return err
			})
			if err == nil && n < len(data) {
				err = io.ErrShortWrite
			}
		}
		if err == nil {
			err = syncFile(file)
		}
		if failed := unix.Close(file); err == nil {
			err = failed
		}
		return err
	}))
}

// withFolders calls with the folders of two names and their last parts.
func (d *OS) withFolders(op, old, new string, call func(from int, old string, to int, new string) error) error {
	return linkError(op, old, new, d.withFolder(old, func(from int, oldBase string) error {
		if path.Dir(old) == path.Dir(new) && fs.ValidPath(new) {
			return Retry(func() error { return call(from, oldBase, from, path.Base(new)) })
		}
		return d.withFolder(new, func(to int, newBase string) error {
			return Retry(func() error { return call(from, oldBase, to, newBase) })
		})
	}))
}

// Rename implements Disk.
func (d *OS) Rename(old, new string) error { return d.withFolders("rename", old, new, unix.Renameat) }

// Place implements Disk.
func (d *OS) Place(old, new string) error {
	err := d.withFolders("place", old, new, renameNew)
	if !isUnsupported(err) {
		return err
	}
	if _, err := d.Lstat(new); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = fs.ErrExist
		}
		return linkError("place", old, new, err)
	}
	return d.withFolders("place", old, new, unix.Renameat)
}

// Exchange implements Disk.
func (d *OS) Exchange(a, b string) error {
	err := d.withFolders("exchange", a, b, exchange)
	if isUnsupported(err) {
		err = linkError("exchange", a, b, errors.ErrUnsupported)
	}
	return err
}

// isUnsupported reports whether the system or the file system does not know a kind of
// rename. Linux says EINVAL for the latter.
func isUnsupported(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, unix.EINVAL)
}

// Mkdir implements Disk.
func (d *OS) Mkdir(name string, mode fs.FileMode) error {
	return pathError("mkdir", name, d.withFolder(name, func(dir int, base string) error {
		if err := Retry(func() error { return unix.Mkdirat(dir, base, uint32(mode.Perm())) }); err != nil {
			return err
		}
		made, err := openat(dir, base, unix.O_RDONLY|unix.O_DIRECTORY)
		if err == nil {
			err = Retry(func() error { return unix.Fchmod(made, uint32(mode.Perm())) })
			unix.Close(made)
		}
		if err != nil {
			err = errors.Join(err, unix.Unlinkat(dir, base, unix.AT_REMOVEDIR))
		}
		return err
	}))
}

// Remove implements Disk.
func (d *OS) Remove(name string) error {
	return pathError("remove", name, d.withFolder(name, func(dir int, base string) error {
		err := Retry(func() error { return unix.Unlinkat(dir, base, 0) })
		if err == unix.EISDIR || err == unix.EPERM { // EPERM is what POSIX has for folders
			if failed := Retry(func() error { return unix.Unlinkat(dir, base, unix.AT_REMOVEDIR) }); failed != unix.ENOTDIR {
				err = failed
			}
		}
		return err
	}))
}

// Sync implements Disk.
func (d *OS) Sync(name string) error {
	return pathError("sync", name, d.withFolder(name, func(dir int, base string) error {
		file, err := openat(dir, base, unix.O_RDONLY)
		if err == nil {
			err = syncFile(file)
			if failed := unix.Close(file); err == nil {
				err = failed
			}
		}
		return err
	}))
}

// Flush implements Disk.
func (d *OS) Flush(names []string) error {
	if len(names) > many {
		if err := d.withRoot(names[0], syncAll); !isUnsupported(err) {
			return pathError("sync", ".", err)
		}
	}
	for _, name := range names {
		if err := d.Sync(name); err != nil {
			return err
		}
	}
	return nil
}

// many is how many files are cheaper synced with all else that is on the file system.
const many = 32

// Lock implements Disk. It stats the file again once it has the lock: if the file was
// removed meanwhile, another program would create and lock a new one.
func (d *OS) Lock(name string) (unlock func() error, err error) {
	file := -1
	err = d.withFolder(name, func(dir int, base string) error {
		for {
			err := Retry(func() (err error) {
				how := unix.O_CREAT | unix.O_RDWR | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
				file, err = unix.Openat(dir, base, how, 0o600)
				return err
			})
			if err != nil {
				return err
			}
			err = flock(file)
			var locked, named unix.Stat_t
			if err == nil {
				err = errors.Join(unix.Fstat(file, &locked), unix.Fstatat(dir, base, &named, unix.AT_SYMLINK_NOFOLLOW))
			}
			if err == nil && locked.Ino == named.Ino && locked.Dev == named.Dev {
				return nil
			}
			unix.Close(file)
			if err != nil && !errors.Is(err, unix.ENOENT) {
				return err
			}
		}
	})
	if err != nil {
		return nil, pathError("lock", name, err)
	}
	// To close is not enough: a process that is being started just now has the file
	// open too, until it executes its program.
	return func() error { return errors.Join(unix.Flock(file, unix.LOCK_UN), unix.Close(file)) }, nil
}
