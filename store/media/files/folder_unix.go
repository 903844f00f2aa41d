//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package files

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"hindcast/store/media/disk"
)

// openFolder does not wait for anybody to write where there is a pipe instead.
func openFolder(root *os.Root, dir string) (*Folder, error) {
	f, err := root.OpenFile(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return folderOf(f), nil
}

func folderOf(dir *os.File) *Folder { return &Folder{dir: dir, entries: descriptor{dir}} }

// descriptor implements entries by the descriptor of the folder.
type descriptor struct{ dir *os.File }

func (descriptor) let() error { return nil }

// readEntry opens, looks, reads and closes: four calls of the system and nothing
// besides. A name that has no separator in it and is not followed where it is a
// link cannot lead out of the folder.
func (f descriptor) readEntry(name string, buf []byte) ([]byte, error) {
	var info unix.Stat_t
	return f.loadFile(name, buf, &info)
}

func (f descriptor) readStamped(name string, buf []byte) ([]byte, Stamp, error) {
	now := time.Now()
	var info unix.Stat_t
	data, err := f.loadFile(name, buf, &info)
	if err != nil {
		return data, Stamp{}, err
	}
	return data, stampOf(&info, now), nil
}

// loadFile reads a file that was as info then says before it was read.
func (f descriptor) loadFile(name string, buf []byte, info *unix.Stat_t) ([]byte, error) {
	// Without O_NONBLOCK a pipe would block until a program writes to it.
	file, err := f.openEntry(name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC)
	if err != nil {
		return buf[:0], f.openError(name, err)
	}
	defer unix.Close(file) // it was only read
	return disk.ReadDescriptor(file, buf, info)
}

// openEntry returns the descriptor of an entry. While it is asked for, the folder stays
// open.
func (f descriptor) openEntry(name string, how int) (file int, err error) {
	failed := f.withDescriptor(func(dir int) {
		err = disk.Retry(func() (err error) {
			file, err = unix.Openat(dir, name, how, 0)
			return err
		})
	})
	if failed != nil {
		return -1, failed
	}
	return file, err
}

// openError returns the error for an entry that cannot be opened. Systems differ in
// their errors for links and for irregular files.
func (f descriptor) openError(name string, err error) error {
	info, failed := f.rawStat(name)
	switch {
	case failed != nil:
		return err
	case info.Mode&unix.S_IFMT == unix.S_IFLNK:
		return ErrSymlink
	case info.Mode&unix.S_IFMT != unix.S_IFREG:
		return ErrNotRegular
	}
	return err
}

func (f descriptor) statEntry(name string) (Stamp, error) {
	now := time.Now()
	info, err := f.rawStat(name)
	if err != nil {
		return Stamp{}, err
	}
	return stampOf(&info, now), nil
}

// stampOf is StampOf without making an fs.FileInfo of each of 100,000 files.
func stampOf(info *unix.Stat_t, before time.Time) Stamp {
	s := Stamp{Kind: Other, Size: info.Size, Modified: time.Unix(info.Mtim.Unix())}
	switch info.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		s.Kind = Regular
	case unix.S_IFDIR:
		s.Kind = Directory
	case unix.S_IFLNK:
		s.Kind = Link
	}
	s.identify(info)
	return s.lookedAt(before)
}

func (f descriptor) leadsTo(dir string, to *os.File) bool {
	var there, open unix.Stat_t
	var err, none error
	failed := f.withDescriptor(func(at int) {
		err = disk.Retry(func() error { return unix.Fstatat(at, dir, &there, 0) })
	})
	closed := descriptor{to}.withDescriptor(func(at int) {
		none = disk.Retry(func() error { return unix.Fstat(at, &open) })
	})
	return cmp.Or(failed, err, closed, none) == nil && there.Dev == open.Dev && there.Ino == open.Ino
}

func (f descriptor) rawStat(name string) (info unix.Stat_t, err error) {
	failed := f.withDescriptor(func(dir int) {
		err = disk.Retry(func() error { return unix.Fstatat(dir, name, &info, unix.AT_SYMLINK_NOFOLLOW) })
	})
	if failed != nil {
		return info, failed
	}
	return info, err
}

// withDescriptor calls with the descriptor of the folder, which is not closed meanwhile.
func (f descriptor) withDescriptor(call func(dir int)) error {
	conn, err := f.dir.SyscallConn()
	if err == nil {
		err = conn.Control(func(dir uintptr) { call(int(dir)) })
	}
	if err != nil {
		return fs.ErrClosed // all that can fail
	}
	return nil
}

// opened is an open file. Package os would ask the system of each whether it can be waited
// for, which no regular file can.
type opened struct{ fd int }

// ReadAt implements io.ReaderAt.
func (o *opened) ReadAt(buf []byte, at int64) (n int, err error) {
	for n < len(buf) {
		var more int
		if err := disk.Retry(func() (err error) {
			more, err = unix.Pread(o.fd, buf[n:], at+int64(n))
			return err
		}); err != nil {
			return n, err
		}
		if more == 0 {
			return n, io.EOF
		}
		n += more
	}
	return n, nil
}

// Close closes the file, once: its descriptor may be that of another file then.
func (o *opened) Close() error {
	fd := o.fd
	if o.fd = -1; fd < 0 {
		return fs.ErrClosed
	}
	return unix.Close(fd)
}

func (f descriptor) openFile(name string) (Opened, error) {
	fd, err := f.openEntry(name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC)
	if err != nil {
		return nil, f.openError(name, err)
	}
	file, info := &opened{fd}, unix.Stat_t{}
	err = disk.Retry(func() error { return unix.Fstat(fd, &info) })
	if err == nil && info.Mode&unix.S_IFMT != unix.S_IFREG {
		err = ErrNotRegular
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
