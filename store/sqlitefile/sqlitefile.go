// Package sqlitefile reads a SQLite database that another program may be writing, and
// leaves no trace: no byte of the file or of its folder changes, no file appears or
// goes. It says what SQLite's error codes mean, and tells when the file changed.
//
// SQLite keeps a database in WAL mode in three files: the database, the log (-wal)
// and an index of the log in shared memory (-shm). Opened the plain way, even
// read-only, it creates the last two and leaves them behind. A [File] is therefore
// opened in one of three other ways:
//
//   - Without a log, or with one that was only begun, the file holds the last word of
//     its writers. It is opened as immutable, which takes no lock and creates nothing.
//     Since SQLite then trusts that the file stays as it is, its size, time and inode
//     are compared after every reading, and the reading is done again if they moved.
//   - With a log, a writer is at work, or was killed. The file is opened read-only with
//     a read-only index, which SQLite supports as long as the -shm file exists.
//     Connections are not kept between readings, so that a writer that ends can tidy up.
//   - With a log that has no index, the two files are a copy: no writer is at work, since
//     each has an index. SQLite then makes one in its own memory, and takes no lock. As
//     with an immutable file, what was read counts if the files are the same after it.
//     SQLite tries to bring the log into the file when it closes, and cannot: the file is
//     open for reading alone.
//
// [File.Suppose] reads as if rows were others, in views that only the connection has.
// [File.Amend] writes: for that one transaction the file is opened the plain way, and closed
// behind it, so that -wal and -shm go with the last program that has it open.
//
// An [Own] is a file of this program. It is read in the same ways until the first
// write, which opens it the plain way; it stays so until Close.
package sqlitefile

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	driver "modernc.org/sqlite"
)

var (
	// ErrNotSQLite: the file is no SQLite database.
	ErrNotSQLite = errors.New("not a SQLite database")
	// ErrDamaged: SQLite cannot make sense of the file.
	ErrDamaged = errors.New("the file is damaged")
	// ErrUnsettled: beside the file lies an unfinished write (a -journal, or a -wal that
	// was just written and has no -shm) that SQLite can only settle by writing.
	ErrUnsettled = errors.New("another program left a write unfinished, which only opening the file for writing settles")
	// ErrChanged: another program wrote to the file while it was read; read
	// again.
	ErrChanged = errors.New("the store changed while it was read")
	// ErrBusy: another program has been writing to the file for too long.
	ErrBusy = errors.New("another program is writing to the store")

	errClosed = fmt.Errorf("the store is closed: %w", fs.ErrClosed)
)

// access is one of the ways to open a file: parameters of its URI.
type access string

const (
	immutable access = "mode=ro&immutable=1"
	beside    access = "mode=ro&readonly_shm=1&_pragma=busy_timeout(5000)"
	indexless access = "mode=ro&vfs=" + lockless + "&_pragma=locking_mode(EXCLUSIVE)&_pragma=synchronous(OFF)"
	amending  access = "mode=rw&_pragma=busy_timeout(5000)&_pragma=synchronous(FULL)"
	// Whatever is in the file is data: it may not bring code with it.
	guarded = "&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)&_pragma=temp_store(2)&_dqs=0"
)

// File is a database that is only read. It is safe for concurrent use.
type File struct {
	path  string
	check func(context.Context, *Tx) error

	mu     sync.Mutex
	handle *handle
	closed bool
}

// New returns the file at a path, links followed: SQLite keeps the log beside the
// file itself. It opens nothing. check looks at the database whenever it was opened,
// and its error is that of the reading; nil takes any database.
func New(path string, check func(context.Context, *Tx) error) *File {
	f := &File{path: path, check: check}
	if file, err := filepath.EvalSymlinks(path); err == nil {
		f.path = file
	}
	return f
}

// Path returns the path of the file, links followed.
func (f *File) Path() string { return f.path }

// Read runs what in one transaction, so that it sees one state of the database. It
// runs it again when the file moved meanwhile. The errors are those of what,
// fs.ErrNotExist, fs.ErrPermission, fs.ErrClosed and those of the package.
func (f *File) Read(ctx context.Context, what func(*Tx) error) error {
	return Retry(ctx, func() error {
		return f.ReadOnce(ctx, func(t *Tx) error {
			err := what(t)
			if t.Stale() {
				return ErrChanged
			}
			return err
		})
	})
}

// ReadOnce is Read for rows that are handed on before all are read, and so without
// another attempt: what asks [Tx.Stale] before it does.
func (f *File) ReadOnce(ctx context.Context, what func(*Tx) error) error {
	h, err := f.acquire(ctx)
	if err != nil {
		return err
	}
	err = f.blame(h, f.transaction(ctx, h, beginRead, what))
	return errors.Join(err, f.release(h))
}

// Suppose is Read of what may make temporary tables and views, which are gone after it: the
// database itself cannot be written to in it.
func (f *File) Suppose(ctx context.Context, what func(*Tx) error) error {
	err := f.Read(ctx, func(t *Tx) error {
		t.kept = nil // what comes of it is not in the file
		if err := what(t); err != nil {
			return err
		}
		return errSupposed
	})
	if errors.Is(err, errSupposed) && !errors.Is(err, ErrChanged) {
		return nil
	}
	return err
}

// errSupposed has a transaction taken back.
var errSupposed = errors.New("it was only supposed")

// Beside is what the name of a file of another program gets for Hindcast's journal of what it
// wrote there.
const Beside = "-hindcast"

// Amend runs what in a transaction that writes: all of it or nothing. It waits for another
// program that writes, for some seconds, and ErrBusy is the error then. Neither the schema
// nor the way in which the database keeps its log changes. The errors are those of Read.
func (f *File) Amend(ctx context.Context, what func(*Tx) error) error {
	if _, _, err := look(f.path); err != nil && !errors.Is(err, ErrUnsettled) {
		return err
	}
	return f.alone(ctx, amending, func(h *handle) error {
		return f.transaction(ctx, h, beginWrite, func(t *Tx) error {
			if err := f.checked(ctx, t); err != nil {
				return err
			}
			return what(t)
		})
	})
}

// alone runs what on a handle that is closed behind it.
func (f *File) alone(ctx context.Context, how access, what func(*handle) error) error {
	return f.untilWritable(ctx, func() (err error) {
		db, err := open(f.path, how)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		return what(&handle{db: db, access: how})
	})
}

// Denied returns what the system has against a write to the file, cause where it has
// nothing: SQLite's codes are the same for a file system that is read-only.
func (f *File) Denied(cause error) error {
	return cmp.Or(denied(f.path, toWrite), denied(filepath.Dir(f.path), toWrite), cause)
}

// Close closes the file. A reading that still runs ends first.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := f.handle
	f.handle, f.closed = nil, true
	return f.retireLocked(h)
}

// handle is a pool of connections that were all opened in one way.
type handle struct {
	db     *sql.DB
	access access
	// stamp is how the files looked when the handle was made.
	stamp sight
	// users and retired are guarded by the file's mutex.
	users   int
	retired bool
	// kept is of an immutable handle.
	kept kept
}

func open(path string, how access) (*sql.DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	connector, err := driver.NewConnector((&url.URL{Scheme: "file", Path: filepath.ToSlash(abs), RawQuery: string(how) + guarded}).String())
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	if how == beside || how == indexless {
		db.SetMaxIdleConns(0)
	}
	return db, nil
}

// look says how the file can be read just now, and how it and its log look.
func look(path string) (access, sight, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", sight{}, plain(err)
	case info.IsDir():
		return "", sight{}, errors.New("it is a directory")
	case !info.Mode().IsRegular():
		return "", sight{}, errors.New("it is not a regular file")
	case info.Size() == 0:
		return "", sight{}, fmt.Errorf("the file is empty: %w", ErrNotSQLite)
	}
	if size(stat(path+"-journal")) > 0 {
		return "", sight{}, left(path + "-journal")
	}
	seen := sight{info, stat(path + "-wal")}
	switch {
	// A log that was only begun says nothing yet, and its index may not be ready:
	// its writer may have been killed there.
	case size(seen.log) <= logHeader:
		return immutable, seen, nil
	case size(stat(path+"-shm")) > 0:
		return beside, seen, nil
	}
	if err := left(path + "-wal"); lockless == "" || !errors.Is(err, errAbandoned) {
		return "", sight{}, err
	}
	return indexless, seen, nil
}

// errAbandoned is ErrUnsettled where no writer touched its journal for longer than one at
// work takes.
var errAbandoned = fmt.Errorf("%w", ErrUnsettled)

// left returns the error for what an unfinished write left.
func left(journal string) error {
	if info, err := os.Stat(journal); err == nil && time.Since(info.ModTime()) > settles {
		return errAbandoned
	}
	return ErrUnsettled
}

// ApplicationID returns the number by which a program marks its databases, 0 for none. It
// is read from the file as it is, whatever write was broken off in it: none changes it.
// The errors are those of Read, but for ErrUnsettled.
func ApplicationID(ctx context.Context, path string) (id int64, err error) {
	db, err := open(path, immutable)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = (&File{path: path}).transaction(ctx, &handle{db: db, access: immutable}, beginRead, func(t *Tx) error {
		return t.Row(ctx, "PRAGMA application_id").Scan(&id)
	})
	return id, err
}

// logHeader is the size of the header of a log, in bytes.
const logHeader = 32

// size returns the size of a file, 0 where there is none.
func size(info fs.FileInfo) int64 {
	if info == nil {
		return 0
	}
	return info.Size()
}

// plain drops the path from an error of package os: the caller names it.
func plain(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

func sameFile(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// acquire returns a handle for reading that fits the file as it is now. The
// caller hands it to release.
func (f *File) acquire(ctx context.Context) (*handle, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, errClosed
	}
	if f.handle.keeps() {
		f.handle.users++
		return f.handle, nil
	}
	how, seen, err := look(f.path)
	if err != nil {
		return nil, err
	}
	if h := f.handle; h != nil && h.access == how && (how == beside || !h.moved(seen)) {
		h.users++
		return h, nil
	}
	if err := f.swap(ctx, how, seen); err != nil {
		return nil, f.blame(&handle{access: how, stamp: seen}, err)
	}
	f.handle.users++
	return f.handle, nil
}

// keeps reports whether the handle is for writing, and so stays whatever happens to
// the file.
func (h *handle) keeps() bool {
	return h != nil && h.access != immutable && h.access != beside && h.access != indexless
}

// moved reports whether the files are others than those that a handle was made of. What is
// in the log of an immutable one is not read.
func (h *handle) moved(now sight) bool {
	return !same(h.stamp.file, now.file) || h.access == indexless && !same(h.stamp.log, now.log)
}

// swap replaces the handle by one of another way, once the check took it. The caller
// holds the mutex.
func (f *File) swap(ctx context.Context, how access, stamp sight) error {
	db, err := open(f.path, how)
	if err != nil {
		return err
	}
	h := &handle{db: db, access: how, stamp: stamp}
	if err := f.transaction(ctx, h, beginRead, func(t *Tx) error { return f.checked(ctx, t) }); err != nil {
		return errors.Join(err, db.Close())
	}
	before := f.handle
	f.handle = h
	return f.retireLocked(before)
}

func (f *File) checked(ctx context.Context, t *Tx) error {
	if f.check == nil {
		return nil
	}
	return f.check(ctx, t)
}

// release hands a handle back.
func (f *File) release(h *handle) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	h.users--
	if h.retired && h.users == 0 {
		return h.db.Close()
	}
	return nil
}

// retireLocked closes a handle as soon as it has no user.
func (f *File) retireLocked(h *handle) error {
	if h == nil {
		return nil
	}
	h.retired = true
	if h.users > 0 {
		return nil
	}
	return h.db.Close()
}

// stale reports whether what was read through h may be wrong, because the file
// moved underneath.
func (f *File) stale(h *handle) bool {
	switch h.access {
	case immutable:
		return h.moved(sight{file: stat(f.path)})
	case indexless:
		how, now, _ := look(f.path)
		return how != indexless || h.moved(now)
	}
	return false
}

// blame turns an error into ErrChanged if a writer came or went while the file was
// read: it is another one, is no longer to be opened in the way in which it was, or its
// log was not all there.
func (f *File) blame(h *handle, err error) error {
	if err == nil || h.keeps() || errors.Is(err, ErrChanged) {
		return err
	}
	now, _, lookErr := look(f.path)
	switch {
	case f.stale(h), lookErr == nil && now != h.access, lookErr == nil && halfThere(err) && f.readable():
		return fmt.Errorf("%w (%w)", ErrChanged, err)
	}
	return err
}

// readable reports whether the system lets all files of the database be read. A log
// that cannot be opened all the same went in that moment, with the writer that it was
// of. The files are only asked about: to open and close one would end SQLite's locks on it.
func (f *File) readable() bool {
	for _, part := range []string{"", "-wal", "-shm"} {
		if errors.Is(denied(f.path+part, toRead), fs.ErrPermission) {
			return false
		}
	}
	return true
}
