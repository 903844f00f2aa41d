package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"
)

// openRooted opens a folder as package os can, on each system. It first makes sure that there is
// one: another thing may block.
func openRooted(root *os.Root, dir string) (*Folder, error) {
	info, err := root.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, syscall.ENOTDIR
	}
	sub, err := root.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	list, err := sub.Open(".")
	if err != nil {
		return nil, errors.Join(err, sub.Close())
	}
	return &Folder{dir: list, entries: rooted{sub}}, nil
}

// rooted implements entries where the system cannot read by a descriptor of the folder.
type rooted struct{ root *os.Root }

func (f rooted) let() error { return f.root.Close() }

// readEntry first makes sure that the entry is no link, and that it is a regular file,
// because others may block or never end.
func (f rooted) readEntry(name string, buf []byte) (data []byte, err error) {
	info, err := f.root.Lstat(name)
	switch {
	case err != nil:
		return buf[:0], Cause(err)
	case info.Mode()&fs.ModeSymlink != 0:
		return buf[:0], ErrSymlink
	case !info.Mode().IsRegular():
		return buf[:0], ErrNotRegular
	case info.Size() > MaxSize:
		return buf[:0], ErrTooLarge
	}
	// Without O_NONBLOCK a pipe that has just taken the file's place would
	// block, and package os takes four more system calls for each file.
	file, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return buf[:0], Cause(err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	data = buf[:0]
	for {
		if len(data) == cap(data) {
			data = slices.Grow(data, max(len(data), 8<<10))
		}
		n, err := file.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case errors.Is(err, io.EOF), int64(len(data)) == info.Size():
			return data, nil
		case err != nil:
			return data, Cause(err)
		case len(data) > MaxSize:
			return data, ErrTooLarge
		}
	}
}

// readStamped looks before it reads: a file that is written in between has another
// stamp from then on.
func (f rooted) readStamped(name string, buf []byte) ([]byte, Stamp, error) {
	stamp, err := f.statEntry(name)
	if err != nil {
		return buf[:0], Stamp{}, err
	}
	data, err := f.readEntry(name, buf)
	return data, stamp, err
}

func (f rooted) statEntry(name string) (Stamp, error) {
	now := time.Now()
	info, err := f.root.Lstat(name)
	if err != nil {
		return Stamp{}, Cause(err)
	}
	return StampOf(info, now), nil
}

func (f rooted) leadsTo(dir string, to *os.File) bool {
	there, err := f.root.Stat(dir)
	open, failed := to.Stat()
	return err == nil && failed == nil && os.SameFile(there, open)
}

func (f rooted) openFile(name string) (Opened, error) {
	info, err := f.root.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, ErrSymlink
	}
	file, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err = file.Stat(); err == nil && !info.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err != nil {
		return nil, errors.Join(Cause(err), file.Close())
	}
	return file, nil
}
