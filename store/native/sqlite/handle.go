package sqlite

import (
	"context"
	_ "embed"
	"fmt"
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

// createSchema puts the schema into a file that is not there or empty.
func createSchema(ctx context.Context, path string) error {
	return sqlitefile.CreateFile(ctx, path, fmt.Sprintf("%sPRAGMA application_id = %d; PRAGMA user_version = %d", schemaSQL, applicationID, schemaVersion), pragmas)
}
