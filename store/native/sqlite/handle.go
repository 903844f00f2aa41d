package sqlite

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"hindcast/store/media/sqlitefile"
)

//go:embed schema.sql
var schemaSQL string

const (
	applicationID = 0x48637374 // "Hcst"
	schemaVersion = 2

	// pragmas are how a connection for writing is set up.
	pragmas = "&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)"
)

// checkStore refuses a database that is not a store of this version.
func checkStore(ctx context.Context, t *sqlitefile.Tx) error {
	var id int64
	if err := t.Row(ctx, "PRAGMA application_id").Scan(&id); err != nil {
		return err
	}
	if id != applicationID {
		return foreignError(id)
	}
	var version int64
	if err := t.Row(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if version != schemaVersion {
		return fmt.Errorf("%w: its schema is version %d, this program reads %d; open it with the hindcast that wrote it", ErrVersion, version, schemaVersion)
	}
	return checkSchema(ctx, t)
}

func foreignError(id int64) error { return fmt.Errorf("%w: its application id is %#x", ErrForeign, id) }

// checkSchema compares what is declared in the file with schema.sql, word for
// word: a file may not add a trigger or a view.
func checkSchema(ctx context.Context, t *sqlitefile.Tx) error {
	rows, err := t.Rows(ctx, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")
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

// createSchema puts the schema into a file that is not there or empty. Only the
// user can read the file: states hold what people told an agent. A file that is there is not
// opened for it: to close it would end the locks that SQLite has on it in this process, and
// another program could take its log away.
func createSchema(ctx context.Context, path string) (err error) {
	info, err := os.Stat(path)
	switch {
	case err == nil && (info.IsDir() || info.Size() > 0):
		return fs.ErrExist
	case errors.Is(err, fs.ErrNotExist):
		var f *os.File
		if f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			err = f.Close()
		} else if errors.Is(err, fs.ErrExist) {
			err = nil // another program was as quick
		}
	}
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err // the caller names the path
	}
	if err != nil {
		return err
	}
	return sqlitefile.NewOwn(path, pragmas, nil).Fill(ctx, func(t *sqlitefile.Tx) error {
		var tables int
		if err := t.Row(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
			return err
		}
		if tables > 0 {
			return fs.ErrExist
		}
		_, err := t.Conn().ExecContext(ctx, fmt.Sprintf("%sPRAGMA application_id = %d; PRAGMA user_version = %d", schemaSQL, applicationID, schemaVersion))
		return err
	})
}
