package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
)

// Folder is a folder that is held open, so that to read a file in it takes no
// more of the system than must be: a message log is a folder of 100,000 small
// files. It stays the same folder when another takes its name. It is safe for
// concurrent use.
type Folder struct {
	dir *os.File
	entries
	// listing is held while dir is listed, which has one position and one buffer,
	// and while it is closed: the os package gives the buffer away at Close, also
	// from under a listing.
	listing sync.Mutex
	// moved says that dir may no longer be at its first name: it has to go back there, which
	// is an error once it is closed.
	moved bool
}

// entries look at what is in a folder that is held open. The errors may name paths.
type entries interface {
	readEntry(name string, buf []byte) ([]byte, error)
	// readStamped looks before it reads.
	readStamped(name string, buf []byte) ([]byte, Stamp, error)
	statEntry(name string) (Stamp, error)
	leadsTo(dir string, to *os.File) bool
	openFile(name string) (Opened, error)
	// let ends what holds the folder besides its file.
	let() error
}

// OpenFolder opens the folder of a name below root. Links are followed as far as
// they stay below root, as the frameworks follow links to folders. It returns
// the errors of the file system, without a path.
func OpenFolder(root *os.Root, dir string) (*Folder, error) {
	f, err := openFolder(root, dir)
	return f, Cause(err)
}

// OpenFolder opens what the function does, where f is the folder of the root itself, for
// less of the system.
func (f *Folder) OpenFolder(root *os.Root, dir string) (*Folder, error) {
	switch opened, err := f.openBelow(dir); {
	case opened != nil:
		return opened, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	return OpenFolder(root, dir)
}

// Names lists the names in the folder, in no particular order. It looks at no
// entry.
func (f *Folder) Names() ([]string, error) {
	f.listing.Lock()
	defer f.listing.Unlock()
	if err := f.rewind(); err != nil {
		return nil, err
	}
	names, err := f.dir.Readdirnames(-1)
	return names, Cause(err)
}

// Folders lists the names in the folder that are folders or links. It calls stat only where
// the listing does not give the types of the entries.
func (f *Folder) Folders() ([]string, error) {
	f.listing.Lock()
	defer f.listing.Unlock()
	if err := f.rewind(); err != nil {
		return nil, err
	}
	names, err := f.listFolders()
	return names, Cause(err)
}

// leadsOn reports whether an entry is a folder or a link.
func (f *Folder) leadsOn(name string) bool {
	at, err := f.statEntry(name)
	return err == nil && (at.Kind == Directory || at.Kind == Link)
}

// rewind goes back to the first name, where the folder was listed before.
func (f *Folder) rewind() error {
	if f.moved {
		if _, err := f.dir.Seek(0, 0); err != nil {
			return Cause(err)
		}
	}
	f.moved = true
	return nil
}

// Read is a [Reader] of the files in the folder: a name is that of an entry. Any
// other name is refused with [fs.ErrInvalid].
func (f *Folder) Read(name string, buf []byte) ([]byte, error) {
	if !isEntry(name) {
		return buf[:0], fs.ErrInvalid
	}
	return f.readEntry(name, buf)
}

// OpenFile opens a regular file in the folder for one reader of a part. It returns the
// same errors as Read.
func (f *Folder) OpenFile(name string) (Opened, error) {
	if !isEntry(name) {
		return nil, fs.ErrInvalid
	}
	file, err := f.openFile(name)
	if err != nil {
		return nil, Cause(err)
	}
	return file, nil
}

// Opened is an open file. The caller closes it.
type Opened interface {
	io.ReaderAt
	io.Closer
}

// ReadStamped reads as [Folder.Read] does, and returns the stamp that the file had
// before it was read: what [Memory.Note] needs, for less than a look of its own.
func (f *Folder) ReadStamped(name string, buf []byte) ([]byte, Stamp, error) {
	if !isEntry(name) {
		return buf[:0], Stamp{}, fs.ErrInvalid
	}
	return f.readStamped(name, buf)
}

// Stat returns the stamp of an entry as it is now. Of a link it is that of the
// link itself.
func (f *Folder) Stat(name string) (Stamp, error) {
	if !isEntry(name) {
		return Stamp{}, fs.ErrInvalid
	}
	return f.statEntry(name)
}

// Leads reports whether the name of a folder below f leads to another one that is open.
// It follows links wherever they lead.
func (f *Folder) Leads(dir string, to *Folder) bool { return f.leadsTo(dir, to.dir) }

// Close ends what holds the folder. What runs in other goroutines ends as if it
// had come before or after.
func (f *Folder) Close() error {
	f.listing.Lock()
	defer f.listing.Unlock()
	f.moved = true
	return errors.Join(f.dir.Close(), f.let())
}

// isEntry reports whether a name can be that of an entry of a folder.
func isEntry(name string) bool {
	for i := range len(name) {
		if name[i] == 0 || os.IsPathSeparator(name[i]) {
			return false
		}
	}
	return name != "" && name != "." && name != ".."
}
