// Package sqlitefile reads a SQLite database that another program may be writing, and
// leaves no trace: no byte of the file or of its folder changes, no file appears or
// goes. It says what SQLite's error codes mean, and tells when the file changed. A context
// that ends ends any statement.
//
// SQLite keeps a database in WAL mode in three files: the database, the log (-wal)
// and an index of the log in shared memory (-shm). Opened the plain way, even
// read-only, it creates the last two and leaves them behind. A [File] is therefore
// opened in one of these other ways:
//
//   - Without a log, or with one that was only begun, the file holds the last word of
//     its writers. It is opened as immutable, which takes no lock and creates nothing.
//     Since SQLite then trusts that the file stays as it is, its size, time and inode
//     are compared after every reading, and the reading is done again if they moved.
//   - With a log, a writer is at work, or was killed. The file is opened read-only with
//     a read-only index, which SQLite supports as long as the -shm file exists.
//     Connections are not kept between readings, so that a writer that ends can tidy up.
//   - With a journal of one of the rollback modes, it is opened read-only, and SQLite tells
//     by its locks whether a writer is at work.
//   - With what a writer left that was killed, or with a log that has no index and so is a
//     copy, the pages are put together in memory, see settled.go. As with an immutable
//     file, what was read counts if the files are the same after it.
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
	"slices"
	"sync"
	"time"

	driver "modernc.org/sqlite"
)

var (
	// ErrNotSQLite: the file is no SQLite database.
	ErrNotSQLite = errors.New("not a SQLite database")
	// ErrDamaged: SQLite cannot make sense of the file.
	ErrDamaged = errors.New("the file is damaged")
	// ErrUnsettled: beside the file lies an unfinished write, which only a program that writes
	// to the file settles.
	ErrUnsettled = errors.New("a write was left unfinished")
	// ErrChanged: another program wrote to the file while it was read; read
	// again.
	ErrChanged = errors.New("the store changed while it was read")
	// ErrTooLarge: a value is larger than a transaction reads, see [Tx.Limit].
	ErrTooLarge = errors.New("a value is too large to be read")
	// ErrBusy: another program has been writing to the file for too long.
	ErrBusy = errors.New("another program is writing to the store")

	errClosed = fmt.Errorf("the store is closed: %w", fs.ErrClosed)
)

// access is one of the ways to open a file: parameters of its URI.
type access string

const (
	immutable access = "mode=ro&immutable=1"
	beside    access = "mode=ro&readonly_shm=1"
	settled   access = "mode=ro&immutable=1&vfs="
	amending  access = "mode=rw&_pragma=busy_timeout(5000)&_pragma=synchronous(FULL)"
	// Whatever is in the file is data: it may not bring code with it.
	guarded = "&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)&_pragma=temp_store(2)&_dqs=0"
)

// File is a database that is only read. It is safe for concurrent use.
type File struct {
	path  string
	check func(context.Context, *Tx) error
	// made describes how the database is made, nil for a file.
	made *Source

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
	h, err := f.acquireHandle(ctx)
	if err != nil {
		return err
	}
	err = f.blameChange(h, f.runTransaction(ctx, h, h.beginReading(), what))
	if errors.Is(err, errHot) { // its writer was killed since the file was opened
		err = errors.Join(fmt.Errorf("%w (%w)", ErrChanged, err), f.forgetHandle(h))
	}
	return errors.Join(err, f.releaseHandle(h))
}

// Suppose is Read for a function that may make temporary tables and views, which are gone after it: the
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

// Beside is the suffix that names Hindcast's journal of its writes to another program's
// file.
const Beside = "-hindcast"

// Amend runs what in a transaction that writes: all of it or nothing. It waits for another
// program that writes, for some seconds, and ErrBusy is the error then. Neither the schema
// nor the way in which the database keeps its log changes. It returns the errors of Read.
func (f *File) Amend(ctx context.Context, what func(*Tx) error) error {
	if err := checkWritable(f.path); err != nil {
		return err
	}
	return f.onHandle(ctx, amending, func(h *handle) error {
		return f.runTransaction(ctx, h, beginWrite, func(t *Tx) error {
			if err := f.checkPages(ctx, t); err != nil {
				return err
			}
			return what(t)
		})
	})
}

// checkWritable returns why a file is not opened for writing, nil if it is.
func checkWritable(path string) error {
	if _, _, err := lookAt(path); err != nil && !errors.Is(err, ErrUnsettled) {
		return err
	}
	return withoutSuper(path)
}

// onHandle runs what on a handle that is closed behind it.
func (f *File) onHandle(ctx context.Context, how access, what func(*handle) error) error {
	return f.untilWritable(ctx, func() (err error) {
		h, err := newHandle(f.path, how, sight{})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, h.close()) }()
		return what(h)
	})
}

// WhyDenied returns the system's error against a write to the file, or cause if it has no
// such error: SQLite's codes are the same for a file system that is read-only.
func (f *File) WhyDenied(cause error) error {
	return cmp.Or(whyDenied(f.path, toWrite), whyDenied(filepath.Dir(f.path), toWrite), cause)
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
	// after releases resources that the connections need. It runs after the last connection closes.
	after func() error
}

// newReader returns a pool for reading.
func (f *File) newReader(ctx context.Context, how access, stamp sight) (*handle, error) {
	if how == made {
		return f.newMade(ctx, stamp)
	}
	return newHandle(f.path, how, stamp)
}

// newHandle returns a pool without a connection.
func newHandle(path string, how access, stamp sight) (*handle, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	h := &handle{access: how, stamp: stamp}
	name := (&url.URL{Scheme: "file", Path: filepath.ToSlash(abs), RawQuery: string(how) + guarded}).String()
	switch how {
	case immutable:
		h.after = func() error { return nil }
	case settled:
		view, err := openSettled(abs)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w (%w)", ErrChanged, err)
		}
		if err != nil {
			return nil, err
		}
		h.after = view.close
		name = (&url.URL{Scheme: "file", Opaque: settledName, RawQuery: string(how) + view.name + guarded}).String()
	default:
		h.after = locks.enterFile(abs)
	}
	connector, err := driver.NewConnector(name)
	if err != nil {
		return nil, errors.Join(err, h.after())
	}
	h.db = sql.OpenDB(connector)
	if how == beside {
		h.db.SetMaxIdleConns(0)
	}
	return h, nil
}

func (h *handle) close() error { return errors.Join(h.db.Close(), h.after()) }

// beginReading returns how a transaction begins that reads.
func (h *handle) beginReading() func(context.Context, *sql.Conn) error {
	if h.access == beside {
		return beginLocked
	}
	return beginRead
}

// lookAt says how the file can be read just now, and how it and its log look.
func lookAt(path string) (access, sight, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", sight{}, dropPath(err)
	case info.IsDir():
		return "", sight{}, errors.New("it is a directory")
	case !info.Mode().IsRegular():
		return "", sight{}, errors.New("it is not a regular file")
	case info.Size() == 0:
		return "", sight{}, fmt.Errorf("the file is empty: %w", ErrNotSQLite)
	}
	if journal := statFile(path + "-journal"); sizeOf(journal) > 0 {
		return beside, sight{file: info, log: journal}, nil
	}
	seen := sight{file: info, log: statFile(path + "-wal")}
	switch {
	// A log that was only begun says nothing yet, and its index may not be ready:
	// its writer may have been killed there.
	case sizeOf(seen.log) <= logHeader:
		return immutable, seen, nil
	case sizeOf(statFile(path+"-shm")) > 0:
		return beside, seen, nil
	}
	if time.Since(seen.log.ModTime()) <= settles { // its writer may be about to make the index
		return "", sight{}, ErrUnsettled
	}
	return settled, seen, nil
}

// lookLeft returns the sight by which files of a killed writer are seen to be unchanged: the
// journal stands for the log where there is one.
func lookLeft(path string) sight {
	seen := lookAtFiles(path)
	if journal := statFile(path + "-journal"); sizeOf(journal) > 0 {
		seen.log = journal
	}
	return seen
}

// ApplicationID returns the number by which a program marks its databases, 0 if unmarked. It
// is read from the file as it is, whatever write was broken off in it: none changes it.
// It returns the errors of Read, but for ErrUnsettled.
func ApplicationID(ctx context.Context, path string) (id int64, err error) {
	h, err := newHandle(path, immutable, sight{})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	err = (&File{path: path}).runTransaction(ctx, h, beginRead, func(t *Tx) error {
		return t.Row(ctx, "PRAGMA application_id").Scan(&id)
	})
	return id, err
}

// logHeader is the size of the header of a log, in bytes.
const logHeader = 32

// sizeOf returns the size of a file, 0 if it does not exist.
func sizeOf(info fs.FileInfo) int64 {
	if info == nil {
		return 0
	}
	return info.Size()
}

// dropPath drops the path from an error of package os: the caller names it.
func dropPath(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

func sameFile(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// acquireHandle returns a handle for reading that fits the file as it is now. The
// caller hands it to releaseHandle.
func (f *File) acquireHandle(ctx context.Context) (*handle, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, errClosed
	}
	if f.handle.isForWriting() {
		f.handle.users++
		return f.handle, nil
	}
	how, seen, err := f.lookNow()
	if err != nil {
		return nil, err
	}
	if h := f.handle; h != nil && (h.access == how || h.access == settled && how == beside) && (h.access == beside || !h.isStale(seen)) {
		h.users++
		return h, nil
	}
	err = f.swapHandle(ctx, how, seen)
	if errors.Is(err, errHot) {
		how, seen = settled, lookLeft(f.path)
		err = f.swapHandle(ctx, how, seen)
	}
	if err != nil {
		return nil, f.blameChange(&handle{access: how, stamp: seen}, err)
	}
	f.handle.users++
	return f.handle, nil
}

// isForWriting reports whether the handle is for writing, and so stays whatever happens to
// the file.
func (h *handle) isForWriting() bool {
	return h != nil && !slices.Contains([]access{immutable, beside, settled, made}, h.access)
}

// isStale reports whether the files are others than those that a handle was made of. What is
// in the log of an immutable one is not read.
func (h *handle) isStale(now sight) bool {
	return h.stamp.made != now.made || !isSameInfo(h.stamp.file, now.file) || h.access != immutable && !isSameInfo(h.stamp.log, now.log)
}

// swapHandle replaces the handle by one of another way, once the check took it. The caller
// holds the mutex.
func (f *File) swapHandle(ctx context.Context, how access, stamp sight) error {
	h, err := f.newReader(ctx, how, stamp)
	if err != nil {
		return err
	}
	if err := f.runTransaction(ctx, h, h.beginReading(), func(t *Tx) error { return f.checkPages(ctx, t) }); err != nil {
		return errors.Join(err, h.close())
	}
	before := f.handle
	f.handle = h
	return f.retireLocked(before)
}

func (f *File) checkPages(ctx context.Context, t *Tx) error {
	if f.check == nil {
		return nil
	}
	return f.check(ctx, t)
}

// releaseHandle hands a handle back.
func (f *File) releaseHandle(h *handle) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	h.users--
	if h.retired && h.users == 0 {
		return h.close()
	}
	return nil
}

// forgetHandle has the next use open the file anew.
func (f *File) forgetHandle(h *handle) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.handle != h {
		return nil
	}
	f.handle = nil
	return f.retireLocked(h)
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
	return h.close()
}

// isStale reports whether what was read through h may be wrong, because the file
// moved underneath.
func (f *File) isStale(h *handle) bool {
	switch h.access {
	case immutable:
		return h.isStale(sight{file: statFile(f.path)})
	case settled:
		return h.isStale(lookLeft(f.path))
	case made:
		now, err := f.made.lookAtFiles()
		return err != nil || h.isStale(now)
	}
	return false
}

// blameChange turns an error into ErrChanged if a writer came or went while the file was
// read: it is another one, is no longer to be opened in the way in which it was, or its
// log was not all there.
func (f *File) blameChange(h *handle, err error) error {
	if err == nil || h.isForWriting() || errors.Is(err, ErrChanged) {
		return err
	}
	now, _, lookErr := f.lookNow()
	if h.access == settled {
		now = settled
	}
	switch {
	case f.isStale(h), lookErr == nil && now != h.access, halfThere(err) && f.isReadable():
		return fmt.Errorf("%w (%w)", ErrChanged, err)
	}
	return err
}

// isReadable reports whether the system lets all files of the database be read. A log
// that cannot be opened all the same went in that moment, with the writer that it was
// of. The files are only asked about: to open and close one would end SQLite's locks on it.
func (f *File) isReadable() bool {
	for _, part := range []string{"", "-wal", "-shm"} {
		if errors.Is(whyDenied(f.path+part, toRead), fs.ErrPermission) {
			return false
		}
	}
	return true
}
