// Package keep keeps the files of stores byte for byte, so that a session whose files are gone can still be read and
// put back. It knows no format: a kind reads what is kept as it reads a folder or a bucket.
//
//	archive.go   the database, and what is in it
//	tables.go    the rows of sessions in databases
//	rowlist.go   the rows of a session as a file
//	mask.go      a file without its secrets
//	recorded.go  which files a kind looks at
//	pick.go      which files belong to a store
//	cut.go       a file in parts
//	add.go       new parts into blocks, blocks and files into the database
//	read.go      the bytes of a file
//	source.go    what is kept as a medium
//	gone.go      the sessions whose files are gone, and which files are theirs
//	back.go      how they are given back
//	made.go      databases that are made of kept rows
//	rowsback.go  how rows are given back
//	forget.go    a session that is removed for good
//	laid.go      a folder with kept files laid over it, in which that is planned
//	verify.go    whether each byte is as it was kept
//
// A file is a list of parts. A part has the hash of its bytes for a name, and is kept once. Parts lie one behind the
// other in blocks, which are compressed as a whole. One transaction adds a few megabytes: a program that is killed
// leaves what was kept before, and the next one goes on behind it.
package keep

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"hindcast/store/engine"
	"hindcast/store/media/sqlitefile"
)

//go:embed schema.sql
var schemaSQL string

const (
	applicationID = 0x48634b70 // "HcKp"
	// schemaVersion 1 lacks the column redacted.
	schemaVersion = 2

	pragmas = "&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)&_pragma=secure_delete(1)"
)

// ErrForeign: the file is no archive, or one of another version of the program.
var ErrForeign = errors.New("no archive of kept sessions that this program reads")

// Archive keeps files in a database, which is made when it is first written to. It is safe for concurrent use, by
// several programs too.
type Archive struct {
	path  string
	kinds []engine.Kind
	now   func() time.Time
	file  *sqlitefile.Own
	codec codec

	mu     sync.Mutex
	blocks []decodedBlock // the last used first
}

// New returns the archive in a file, which need not exist. kinds are the kinds whose stores it keeps. Nothing is
// opened.
func New(path string, kinds []engine.Kind) *Archive {
	return &Archive{path: path, kinds: kinds, now: time.Now, file: sqlitefile.NewOwn(path, pragmas, checkArchive), codec: newCodec()}
}

// Path returns the path of the archive's file.
func (a *Archive) Path() string { return a.path }

// Close lets go of the file.
func (a *Archive) Close() error { return a.file.Close() }

func checkArchive(ctx context.Context, t *sqlitefile.Tx) error {
	var id, version int64
	if err := t.Row(ctx, "PRAGMA application_id").Scan(&id); err != nil {
		return err
	}
	if err := t.Row(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if id != applicationID || version < 1 || version > schemaVersion {
		return fmt.Errorf("%w: its application id is %#x, its version %d", ErrForeign, id, version)
	}
	return nil
}

// readTx runs what on the archive as it is at one moment. An archive that does not exist is fs.ErrNotExist.
func (a *Archive) readTx(ctx context.Context, what func(*sqlitefile.Tx) error) error {
	err := a.file.Read(ctx, what)
	if errors.Is(err, sqlitefile.ErrUnsettled) {
		if err = a.file.Settle(ctx); err == nil {
			err = a.file.Read(ctx, what)
		}
	}
	return err
}

// renewSchema makes an archive of an earlier version one of this version.
func (a *Archive) renewSchema(ctx context.Context) error {
	var version int64
	if err := a.readTx(ctx, func(t *sqlitefile.Tx) error { return t.Row(ctx, "PRAGMA user_version").Scan(&version) }); err != nil || version == schemaVersion {
		return err
	}
	return a.writeTx(ctx, func(t *sqlitefile.Tx) error {
		has, err := t.Columns(ctx, "files")
		if err != nil || has["redacted"] {
			return err
		}
		return t.Define(ctx, fmt.Sprintf("ALTER TABLE files ADD COLUMN redacted INTEGER NOT NULL DEFAULT 0; PRAGMA user_version = %d", schemaVersion))
	})
}

// writeTx runs what in a transaction, all of it or nothing.
func (a *Archive) writeTx(ctx context.Context, what func(*sqlitefile.Tx) error) error {
	return a.file.Write(ctx, what)
}

// makeFile makes the archive unless it exists.
func (a *Archive) makeFile(ctx context.Context) error {
	err := os.MkdirAll(filepath.Dir(a.path), 0o700)
	if err == nil {
		err = sqlitefile.CreateFile(ctx, a.path, fmt.Sprintf("%sPRAGMA application_id = %d; PRAGMA user_version = %d", schemaSQL, applicationID, schemaVersion), pragmas)
	}
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	if err == nil {
		err = a.renewSchema(ctx)
	}
	if err != nil {
		return fmt.Errorf("open the archive %q: %w", a.path, err)
	}
	return nil
}

// findKind returns the kind with a name.
func (a *Archive) findKind(name string) (engine.Kind, bool) {
	for _, k := range a.kinds {
		if k.Name == name {
			return k, true
		}
	}
	return engine.Kind{}, false
}
