package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"hindcast/model"
)

// How a file is opened
//
// SQLite keeps a database in WAL mode in three files: the database, the log
// (-wal) and an index of the log in shared memory (-shm). Opened the plain way,
// even read-only, it creates the last two and leaves them behind. A store that
// is only looked at is therefore opened in one of two other ways:
//
//   - Without a log, or with one that was only begun, nobody has written to the
//     file since its last word: it is opened as immutable, which takes no lock and
//     creates nothing. Since SQLite then trusts that the file stays as it is,
//     its size, time and inode are compared after every reading, and the
//     reading is done again if they moved.
//   - With a log, a writer is at work, or was killed: the file is opened
//     read-only with a read-only index, which SQLite supports as long as the
//     -shm file is there. Connections are not kept between readings, so that
//     a writer that ends can tidy up.
//
// The first write opens the file the plain way, and it stays so until Close.

//go:embed schema.sql
var schemaSQL string

const (
	applicationID = 0x48637374 // "Hcst"
	schemaVersion = 2
)

// access is one of the ways above.
type access string

const (
	immutable access = "mode=ro&immutable=1"
	beside    access = "mode=ro&readonly_shm=1&_pragma=busy_timeout(5000)"
	settling  access = "mode=rw&_pragma=busy_timeout(5000)"
	writable  access = "mode=rw&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)"
	// Whatever is in the file is data: it may not bring code with it.
	guarded = "&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)&_pragma=temp_store(2)&_dqs=0"
)

// handle is a pool of connections that were all opened in one way.
type handle struct {
	db     *sql.DB
	access access
	// stamp is the file as it was when an immutable handle was made.
	stamp fs.FileInfo
	// users and retired are guarded by the store's mutex.
	users   int
	retired bool
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
	if how == beside {
		db.SetMaxIdleConns(0)
	}
	return db, nil
}

// look says how the file can be read just now.
func look(path string) (access, fs.FileInfo, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", nil, plain(err)
	case info.IsDir():
		return "", nil, errors.New("it is a directory")
	case !info.Mode().IsRegular():
		return "", nil, errors.New("it is not a regular file")
	case info.Size() == 0:
		return "", nil, fmt.Errorf("the file is empty: %w", ErrNotSQLite)
	}
	if size(path+"-journal") > 0 {
		return "", nil, ErrUnsettled
	}
	// A log that was only begun says nothing yet, and its index may not be ready:
	// whoever began it may have been killed there.
	if size(path+"-wal") <= logHeader {
		return immutable, info, nil
	}
	if size(path+"-shm") == 0 {
		return "", nil, ErrUnsettled
	}
	return beside, info, nil
}

// logHeader is the size of the header of a log, in bytes.
const logHeader = 32

// size returns the size of a file, 0 where there is none.
func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
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
func (s *Store) acquire(ctx context.Context) (*handle, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	if h := s.handle; h != nil && h.access == writable {
		h.users++
		return h, nil
	}
	how, info, err := look(s.file)
	if err != nil {
		return nil, err
	}
	if h := s.handle; h != nil && h.access == how && (how == beside || sameFile(h.stamp, info)) {
		h.users++
		return h, nil
	}
	if err := s.swap(ctx, how, info); err != nil {
		return nil, s.blame(&handle{access: how, stamp: info}, err)
	}
	s.handle.users++
	return s.handle, nil
}

// acquireWritable returns the handle for writing, which from then on is the one
// for reading too.
func (s *Store) acquireWritable(ctx context.Context) (*handle, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	if s.handle == nil || s.handle.access != writable {
		if _, _, err := look(s.file); err != nil && !errors.Is(err, ErrUnsettled) {
			return nil, err
		}
		if err := s.swap(ctx, writable, nil); err != nil {
			return nil, err
		}
	}
	s.handle.users++
	return s.handle, nil
}

// settleFile has SQLite finish, or take back, the write that was left unfinished in
// a store. It does nothing else to the file.
func settleFile(ctx context.Context, path string) (err error) {
	db, err := open(path, settling)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return (&handle{db: db, access: settling}).check(ctx)
}

// swap replaces the handle by one of another way, once that is seen to be a
// store. The caller holds the mutex.
func (s *Store) swap(ctx context.Context, how access, stamp fs.FileInfo) error {
	db, err := open(s.file, how)
	if err != nil {
		return err
	}
	h := &handle{db: db, access: how, stamp: stamp}
	if err := h.check(ctx); err != nil {
		return errors.Join(err, db.Close())
	}
	before := s.handle
	s.handle = h
	return s.retireLocked(before)
}

// release hands a handle back.
func (s *Store) release(h *handle) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.users--
	if h.retired && h.users == 0 {
		return h.db.Close()
	}
	return nil
}

// retire closes a handle as soon as nobody uses it.
func (s *Store) retire(h *handle) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.retireLocked(h)
}

func (s *Store) retireLocked(h *handle) error {
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
func (s *Store) stale(h *handle) bool {
	if h.access != immutable {
		return false
	}
	info, err := os.Stat(s.file)
	return err != nil || !sameFile(h.stamp, info)
}

// blame turns an error into ErrChanged if a writer came or went while the file was
// read: it is another one, is no longer to be opened in the way in which it was, or its
// log was not all there.
func (s *Store) blame(h *handle, err error) error {
	if err == nil || h.access == writable {
		return err
	}
	now, _, lookErr := look(s.file)
	switch {
	case s.stale(h), lookErr == nil && now != h.access, lookErr == nil && halfThere(err) && s.readable():
		return fmt.Errorf("%w (%w)", ErrChanged, err)
	}
	return err
}

// halfThere reports whether SQLite found no log, or an index of it that is not ready.
func halfThere(err error) bool {
	coded, ok := errors.AsType[*driver.Error](err)
	return ok && (coded.Code()&0xff == lib.SQLITE_CANTOPEN || coded.Code() == lib.SQLITE_READONLY_CANTINIT)
}

// The uses for which denied asks, as access(2) has them.
const (
	toWrite = 2
	toRead  = 4
)

// readable reports whether the system lets all files of the store be read. A log that
// cannot be opened all the same went in that moment, with the writer that it was of. The
// files are only asked about: to open and close one would end SQLite's locks on it.
func (s *Store) readable() bool {
	for _, part := range []string{"", "-wal", "-shm"} {
		if errors.Is(denied(s.file+part, toRead), fs.ErrPermission) {
			return false
		}
	}
	return true
}

// read runs what on a connection, in one transaction, so that it sees one
// state of the store. It runs it again when the file moved meanwhile.
func (s *Store) read(ctx context.Context, what func(t *tx) error) error {
	return retry(ctx, func() error { return s.readOnce(ctx, what) })
}

// retry reads again when the file moved meanwhile.
func retry(ctx context.Context, once func() error) (err error) {
	const attempts = 5
	for range attempts {
		if err = once(); !errors.Is(err, ErrChanged) || ctx.Err() != nil {
			break
		}
	}
	// What looks left behind may be that of a writer at work, who is soon done; and
	// writers may come and go.
	for pause := time.Millisecond; (errors.Is(err, ErrUnsettled) || errors.Is(err, ErrChanged)) && pause < 100*time.Millisecond && ctx.Err() == nil; pause *= 2 {
		time.Sleep(pause)
		err = once()
	}
	return err
}

func (s *Store) readOnce(ctx context.Context, what func(t *tx) error) error {
	h, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	err = s.blame(h, h.transaction(ctx, beginRead, what))
	if s.stale(h) {
		err = ErrChanged
	}
	return errors.Join(err, s.release(h))
}

// update runs what in a transaction that writes: all of it or nothing.
func (s *Store) update(ctx context.Context, what func(t *tx) error) error {
	err := s.write(ctx, what)
	// Within one process SQLite shares the index of the log between connections: as
	// long as another store only reads there, this one cannot write.
	for pause := time.Millisecond; isCode(err, lib.SQLITE_READONLY) && pause < 200*time.Millisecond && ctx.Err() == nil; pause *= 2 {
		time.Sleep(pause)
		err = s.write(ctx, what)
	}
	return err
}

func (s *Store) write(ctx context.Context, what func(t *tx) error) error {
	select {
	case s.writing <- struct{}{}:
		defer func() { <-s.writing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	h, err := s.acquireWritable(ctx)
	if err != nil {
		return s.unwritable(err)
	}
	err = h.transaction(ctx, beginWrite, what)
	if isCode(err, lib.SQLITE_READONLY) {
		err = errors.Join(err, s.forget(h))
	}
	return errors.Join(s.unwritable(err), s.release(h))
}

// unwritable says of an error of a write what the system has against it: SQLite's codes
// are the same for a file system that is read-only.
func (s *Store) unwritable(err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	cause := cmp.Or(denied(s.file, toWrite), denied(filepath.Dir(s.file), toWrite), err)
	return &model.UnwritableError{Err: cause, Became: "nothing was changed"}
}

// forget has the next use open the file anew.
func (s *Store) forget(h *handle) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.handle != h {
		return nil
	}
	s.handle = nil
	return s.retireLocked(h)
}

// tx is a transaction: one connection, and the statements prepared on it.
type tx struct {
	conn       *sql.Conn
	statements map[string]*sql.Stmt
}

// prepare returns a statement, which is kept until the transaction ends.
func (t *tx) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if statement := t.statements[query]; statement != nil {
		return statement, nil
	}
	statement, err := t.conn.PrepareContext(ctx, query)
	if err == nil {
		t.statements[query] = statement
	}
	return statement, err
}

func (t *tx) exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	statement, err := t.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	return statement.ExecContext(ctx, args...)
}

func (t *tx) rows(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	statement, err := t.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	return statement.QueryContext(ctx, args...)
}

func (t *tx) row(ctx context.Context, query string, args ...any) *sql.Row {
	statement, err := t.prepare(ctx, query)
	if err != nil {
		// It fails in the same way, and the row carries the error.
		return t.conn.QueryRowContext(ctx, query, args...)
	}
	return statement.QueryRowContext(ctx, args...)
}

// close lets go of the statements and the connection.
func (t *tx) close() error {
	var errs []error
	for _, statement := range t.statements {
		errs = append(errs, statement.Close())
	}
	return errors.Join(append(errs, t.conn.Close())...)
}

// transaction runs what between begin and COMMIT, or ROLLBACK if it fails.
func (h *handle) transaction(ctx context.Context, begin func(context.Context, *sql.Conn) error, what func(t *tx) error) (err error) {
	c, err := connect(ctx, h.db)
	if err != nil {
		return explain(err)
	}
	t := &tx{conn: c, statements: map[string]*sql.Stmt{}}
	defer func() { err = interrupted(ctx, errors.Join(err, t.close())) }()
	if err := begin(ctx, c); err != nil {
		return explain(err)
	}
	open := true
	defer func() {
		if open {
			_, undo := c.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
			err = errors.Join(err, undo)
		}
	}()
	if err := what(t); err != nil {
		return explain(err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := c.ExecContext(context.WithoutCancel(ctx), "COMMIT"); err != nil {
		return explain(err)
	}
	open = false
	return nil
}

// explain puts SQLite's own error codes into the package's errors.
func explain(err error) error {
	coded, ok := errors.AsType[*driver.Error](err)
	if !ok {
		return err
	}
	if coded.Code() == lib.SQLITE_READONLY_RECOVERY {
		return fmt.Errorf("%w (%w)", ErrUnsettled, err)
	}
	switch coded.Code() & 0xff {
	case lib.SQLITE_PROTOCOL:
		// The log and its index do not go together: a writer was killed between
		// changing the one and the other.
		return fmt.Errorf("%w (%w)", ErrUnsettled, err)
	case lib.SQLITE_NOTADB:
		return ErrNotSQLite
	case lib.SQLITE_CANTOPEN, lib.SQLITE_PERM, lib.SQLITE_READONLY:
		return fmt.Errorf("%w (%w)", fs.ErrPermission, err)
	case lib.SQLITE_CORRUPT:
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	case lib.SQLITE_BUSY:
		return fmt.Errorf("%w (%w)", ErrBusy, err)
	}
	return err
}

// check refuses a database that is not a store of this version.
func (h *handle) check(ctx context.Context) error {
	return h.transaction(ctx, beginRead, func(t *tx) error {
		var id int64
		if err := t.row(ctx, "PRAGMA application_id").Scan(&id); err != nil {
			return err
		}
		if id != applicationID {
			return fmt.Errorf("%w: its application id is %#x", ErrForeign, id)
		}
		var version int64
		if err := t.row(ctx, "PRAGMA user_version").Scan(&version); err != nil {
			return err
		}
		if version != schemaVersion {
			return fmt.Errorf("%w: its schema is version %d, this program reads version %d only; open it with the hindcast that wrote it", ErrVersion, version, schemaVersion)
		}
		return checkSchema(ctx, t)
	})
}

// checkSchema compares what is declared in the file with schema.sql, word for
// word: a file may not add a trigger or a view.
func checkSchema(ctx context.Context, t *tx) error {
	rows, err := t.rows(ctx, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")
	if err != nil {
		return err
	}
	defer rows.Close()
	var have []string
	for rows.Next() {
		var statement string
		if err := rows.Scan(&statement); err != nil {
			return err
		}
		have = append(have, statement)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	want := strings.Split(strings.TrimSuffix(strings.TrimSpace(schemaSQL), ";"), ";\n")
	slices.Sort(want)
	slices.Sort(have)
	if !slices.Equal(have, want) {
		return fmt.Errorf("%w: its schema is not that of its version", ErrForeign)
	}
	return nil
}

// create puts the schema into a file that is not there or empty. Only the
// user can read the file: states hold what people told an agent.
func create(ctx context.Context, path string) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if errors.Is(err, syscall.EISDIR) {
		return fs.ErrExist
	}
	if err != nil {
		return plain(err)
	}
	info, err := f.Stat()
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if info.Size() > 0 {
		return fs.ErrExist
	}
	db, err := open(path, "mode=rwc&_pragma=busy_timeout(5000)&_pragma=synchronous(FULL)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	h := &handle{db: db, access: writable}
	err = h.transaction(ctx, beginWrite, func(t *tx) error {
		var tables int
		if err := t.row(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
			return err
		}
		if tables > 0 {
			return fs.ErrExist
		}
		_, err := t.conn.ExecContext(ctx, fmt.Sprintf("%sPRAGMA application_id = %d; PRAGMA user_version = %d", schemaSQL, applicationID, schemaVersion))
		return err
	})
	if err != nil {
		return err
	}
	if _, err = db.ExecContext(ctx, "PRAGMA journal_mode = WAL"); isCode(err, lib.SQLITE_BUSY) {
		return nil // somebody else looks at the file; the first write does it then
	}
	return err
}
