package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"syscall"
)

// MaxSize bounds the files that are read, in bytes: a message with pictures
// takes a few megabytes, and reading needs several times the size in memory.
const MaxSize = 256 << 20

var (
	// ErrTooLarge: the file is larger than MaxSize.
	ErrTooLarge = fmt.Errorf("larger than %d MiB", MaxSize>>20)
	// ErrNotRegular: it is a folder, a pipe, a device.
	ErrNotRegular = errors.New("not a regular file")
	// ErrSymlink: it is a symbolic link, wherever that leads.
	ErrSymlink = errors.New("a symbolic link, which is not followed")
)

// Reader reads the file of a name into buf, from its start, and gives the bytes.
// buf may be nil and is used as far as it is large enough.
type Reader func(name string, buf []byte) ([]byte, error)

// From reads files below root. It first makes sure that the name is no symbolic
// link, and that it is a regular file, because others may block or never end.
// The errors are those of this package and of the file system, without a path.
func From(root *os.Root) Reader {
	return func(name string, buf []byte) (data []byte, err error) {
		info, err := root.Lstat(name)
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
		f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return buf[:0], Cause(err)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		data = buf[:0]
		for {
			if len(data) == cap(data) {
				data = slices.Grow(data, max(len(data), 8<<10))
			}
			n, err := f.Read(data[len(data):cap(data)])
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
}

// Cause takes the path out of an error: whoever reports it names the file.
func Cause(err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return path.Err
	}
	return err
}

// Entries lists a folder below root in no particular order. In an [os.Root] it
// looks at every entry, which takes longer than reading the names.
func Entries(root *os.Root, dir string) (entries []fs.DirEntry, err error) {
	f, err := root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.ReadDir(-1)
}

// Names lists the names in a folder below root in no particular order.
func Names(root *os.Root, dir string) (names []string, err error) {
	f, err := root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.Readdirnames(-1)
}

// IsDir reports whether an entry of a folder is a folder, or a link to one that
// is below root. The frameworks follow links to folders.
func IsDir(root *os.Root, dir string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.IsDir()
	}
	info, err := root.Stat(path.Join(dir, e.Name()))
	return err == nil && info.IsDir()
}
