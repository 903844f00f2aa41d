package keep

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hindcast/store/media/sqlitefile"
)

//go:embed schema.sql
var schemaSQL string

const (
	applicationID = 0x48634b70 // "HcKp"

	pragmas = "&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)&_pragma=secure_delete(1)"
)

// inFile is an archive in a file of SQLite's.
type inFile struct {
	path string
	own  *sqlitefile.Own
}

func newInFile(path string) *inFile {
	return &inFile{path, sqlitefile.NewOwn(path, pragmas, checkFile)}
}

func (f *inFile) String() string { return f.path }

// Close lets go of the file.
func (f *inFile) Close() error { return f.own.Close() }

func checkFile(ctx context.Context, t *sqlitefile.Tx) error {
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

func (f *inFile) readTx(ctx context.Context, what func(tx) error) error {
	onFile := func(t *sqlitefile.Tx) error { return what(fileTx{t}) }
	err := f.own.Read(ctx, onFile)
	if errors.Is(err, sqlitefile.ErrUnsettled) {
		if err = f.own.Settle(ctx); err == nil {
			err = f.own.Read(ctx, onFile)
		}
	}
	return err
}

func (f *inFile) writeTx(ctx context.Context, what func(tx) error) error {
	return f.own.Write(ctx, func(t *sqlitefile.Tx) error { return what(fileTx{t}) })
}

func (f *inFile) makeTables(ctx context.Context) error {
	err := os.MkdirAll(filepath.Dir(f.path), 0o700)
	if err == nil {
		err = sqlitefile.CreateFile(ctx, f.path, fmt.Sprintf("%sPRAGMA application_id = %d; PRAGMA user_version = %d", schemaSQL, applicationID, schemaVersion), pragmas)
	}
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return err
}

func (f *inFile) renewSchema(ctx context.Context) error {
	var version int64
	if err := f.readTx(ctx, func(t tx) error {
		_, err := t.scanRow(ctx, []any{&version}, "PRAGMA user_version")
		return err
	}); err != nil || version == schemaVersion {
		return err
	}
	return f.own.Write(ctx, func(t *sqlitefile.Tx) error {
		has, err := t.Columns(ctx, "files")
		if err != nil || has["redacted"] {
			return err
		}
		return t.Define(ctx, fmt.Sprintf("ALTER TABLE files ADD COLUMN redacted INTEGER NOT NULL DEFAULT 0; PRAGMA user_version = %d", schemaVersion))
	})
}

// wipeDeleted empties the log: SQLite overwrites what is deleted in the file.
func (f *inFile) wipeDeleted(ctx context.Context) error { return f.own.EmptyLog(ctx) }

// fileTx is a transaction on a file.
type fileTx struct{ *sqlitefile.Tx }

func (t fileTx) scanRow(ctx context.Context, into []any, query string, args ...any) (found bool, err error) {
	return t.First(ctx, into, query, args...)
}

func (t fileTx) eachRow(ctx context.Context, row func(scan func(into ...any) error) error, query string, args ...any) error {
	return t.Each(ctx, row, query, args...)
}

func (t fileTx) execLater(ctx context.Context, query string, args ...any) error {
	_, err := t.Exec(ctx, query, args...)
	return err
}

func (t fileTx) addBlock(ctx context.Context, b *block, ids map[*piece]int64) error {
	added, err := t.Exec(ctx, insertBlock, b.size, b.encoding, b.data)
	if err != nil {
		return err
	}
	in, err := added.LastInsertId()
	if err != nil {
		return err
	}
	for _, p := range b.pieces {
		done, err := t.Exec(ctx, "INSERT OR IGNORE INTO parts (hash, block, at, size) VALUES (?, ?, ?, ?)", p.hash[:], in, p.at, p.size)
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		if err != nil {
			return err
		}
		if n == 1 {
			ids[p], err = done.LastInsertId()
		} else {
			var id int64
			err = t.Row(ctx, "SELECT part FROM parts WHERE hash = ?", p.hash[:]).Scan(&id)
			ids[p] = id
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t fileTx) findParts(ctx context.Context, ids []int64, found func(p placedPart)) error {
	for _, id := range ids {
		p := placedPart{id: id}
		is, err := t.First(ctx, []any{&p.block, &p.at, &p.size}, "SELECT block, at, size FROM parts WHERE part = ?", id)
		if err != nil {
			return err
		}
		if is {
			found(p)
		}
	}
	return nil
}

func (t fileTx) findNewest(ctx context.Context, names []string, found func(name string, r fileRow)) error {
	for _, name := range names {
		var r fileRow
		is, err := t.First(ctx, []any{&r.id, &r.tag}, "SELECT file, tag FROM files WHERE name = ? AND newest = 1", name)
		if err != nil {
			return err
		}
		if is {
			found(name, r)
		}
	}
	return nil
}
