package files

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"time"

	"hindcast/store/media/disk"
)

// MaxSize bounds the files that are read, in bytes: a message with pictures
// takes a few megabytes, and reading needs several times the size in memory.
const MaxSize = disk.MaxSize

var (
	// ErrTooLarge: the file is larger than MaxSize.
	ErrTooLarge = disk.ErrTooLarge
	// ErrNotRegular: it is a folder, a pipe, a device.
	ErrNotRegular = disk.ErrNotRegular
	// ErrSymlink: it is a symbolic link, wherever that leads.
	ErrSymlink = disk.ErrSymlink
)

// Reader reads the file of a name into buf, from its start, and gives the bytes.
// buf may be nil and is used as far as it is large enough.
type Reader func(name string, buf []byte) ([]byte, error)

// From reads files below root: what a name leads to is read as [Folder.Read]
// reads it. For many files of one folder, a [Folder] is faster. It
// returns errors of this package and of the file system, without a path.
func From(root *os.Root) Reader {
	return func(name string, buf []byte) (data []byte, err error) {
		dir, file := path.Split(name)
		f, err := OpenFolder(root, path.Clean(dir))
		if err != nil {
			return buf[:0], err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		return f.Read(file, buf)
	}
}

// Cause takes the path out of an error: its reporter names the file.
func Cause(err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return path.Err
	}
	return err
}

// Entries lists a folder below root in no particular order. In an [os.Root] it
// looks at every entry, which takes longer than reading the names. The errors are
// without a path, like the errors of Names.
func Entries(root *os.Root, dir string) (entries []fs.DirEntry, err error) {
	f, err := OpenFolder(root, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	entries, err = f.dir.ReadDir(-1)
	return entries, Cause(err)
}

// Names lists the names in a folder below root in no particular order.
func Names(root *os.Root, dir string) (names []string, err error) {
	f, err := OpenFolder(root, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.Names()
}

// rest is how long a temporary file has to be left alone until its writer is
// taken for stopped. The SDKs take milliseconds.
const rest = 5 * time.Second

// IsAbandoned reports whether the stamp is that of a temporary file to which no program
// writes any more.
func (s Stamp) IsAbandoned() bool { return s.Kind != Nothing && time.Since(s.Modified).Abs() >= rest }
