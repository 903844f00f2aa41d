// Package postgres is Hindcast's own store in a PostgreSQL database, so that many agents on
// many machines record into one store. It has the tables of package sqlite, in the schema
// hindcast, and package native writes to both.
//
// Several sessions can be written at once: a transaction locks the row of its session, and
// waits for others only at a state that both have. A commit takes effect exactly once, even
// if the server restarts or the connection is lost during it; see [pg.Own].
//
// A role that only reads needs USAGE on the schema and SELECT on its tables. A role that
// records also needs INSERT, UPDATE and DELETE on them, and USAGE on the sequences. [Grants]
// returns the statements. Only [Migrate], [Create] and [OpenOrCreate] of a database without a
// store need CREATE on the database; no role needs to be a superuser.
//
// A URL says how the connection is protected, in pgx's words and libpq's:
// sslmode=verify-full with sslrootcert has the server prove who it is, sslcert and
// sslkey are the client's.
package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"hindcast/store/media/pg"
	"hindcast/store/native"
)

const (
	kind = "postgres"
	// version is the number of the last migration.
	version = 1
)

//go:embed migrations/*.sql
var migrations embed.FS

var (
	// ErrNone: the database holds no store of Hindcast's.
	ErrNone = errors.New("the database holds no Hindcast store")
	// ErrVersion: the store has tables of another version.
	ErrVersion = errors.New("a Hindcast store of another version")
)

// Store is an open database. It has every capability of the port and is a model.Store of
// raw JSON states. It is safe for concurrent use, by several programs at once too. Use
// Open, Create or OpenOrCreate.
type Store struct {
	*native.Store
}

// settings are the values that options change.
type settings struct {
	now      func() time.Time
	patience time.Duration
}

// An Option changes how Open and Create make a Store.
type Option func(*settings)

// WithClock sets where the store takes the time from, instead of time.Now.
func WithClock(now func() time.Time) Option { return func(s *settings) { s.now = now } }

// WithPatience sets how long a write waits for a server that went away, and for another
// program that holds what it changes, instead of 30 seconds.
func WithPatience(patience time.Duration) Option { return func(s *settings) { s.patience = patience } }

// terms are the settings that the tables need in each transaction.
var terms = pg.Terms{
	// What other schemas hold is not looked at. All rows are found by an index, in its order: without
	// statistics, which a table has a minute after it was filled, the server would sort the session for
	// each screen. What has no index costs as much as the server can say then, and would be compiled.
	Setup: []string{`SELECT set_config('search_path', 'pg_catalog, hindcast, pg_temp', true), set_config('enable_seqscan', 'off', true),
		set_config('enable_bitmapscan', 'off', true), set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true), set_config('jit', 'off', true)`},
	Mark: `INSERT INTO marks (connection, mark) VALUES (?1, ?2)
		ON CONFLICT (connection) DO UPDATE SET mark = excluded.mark, at = now()`,
	Marked: `INSERT INTO marks (connection, mark) VALUES (?1, 0)
		ON CONFLICT (connection) DO UPDATE SET mark = marks.mark RETURNING mark`,
	Forget: `DELETE FROM marks WHERE connection IN (SELECT connection FROM marks
		WHERE at < now() - interval '7 days' FOR UPDATE SKIP LOCKED)`,
	Tell:  "NOTIFY hindcast",
	Raced: native.ErrRaced,
}

// Open opens the store in a database; it writes nothing. The errors are ErrNone,
// ErrVersion and those of package pg.
func Open(ctx context.Context, url string, options ...Option) (*Store, error) {
	server, err := pg.New(url)
	if err != nil {
		return nil, fmt.Errorf("postgres: open: %w", err)
	}
	return On(ctx, server, options...)
}

// On opens the store in the database of a server. The server is closed with the store, or if On fails. It
// returns the errors of Open.
func On(ctx context.Context, server *pg.Server, options ...Option) (*Store, error) {
	set := settings{now: time.Now}
	for _, o := range options {
		o(&set)
	}
	terms := terms
	terms.Patience = set.patience
	own := server.Own(terms)
	if err := own.Read(ctx, func(t *pg.Tx) error { return checkStore(ctx, t) }); err != nil {
		return nil, fmt.Errorf("postgres: open %q: %w", own, errors.Join(err, own.Close()))
	}
	return &Store{native.New(kind, own.String(), &carrier{own}, dialect, set.now)}, nil
}

// Create makes the store in a database. The error is fs.ErrExist where there is one
// already.
func Create(ctx context.Context, url string, options ...Option) (*Store, error) {
	made, err := migrateTables(ctx, url)
	if err == nil && !made {
		err = fs.ErrExist
	}
	if err != nil {
		return nil, fmt.Errorf("postgres: create: %w", err)
	}
	return Open(ctx, url, options...)
}

// OpenOrCreate opens the store in a database for a program that will write to it, and creates the store if it
// is missing. Otherwise it returns the errors of Open.
func OpenOrCreate(ctx context.Context, url string, options ...Option) (*Store, error) {
	s, err := Open(ctx, url, options...)
	if !errors.Is(err, ErrNone) {
		return s, err
	}
	if _, err := migrateTables(ctx, url); err != nil {
		return nil, fmt.Errorf("postgres: create: %w", err)
	}
	return Open(ctx, url, options...)
}

// Migrate brings the tables of the store in a database to the version of this program, or creates them. The
// role must own the schema, or have CREATE on the database.
func Migrate(ctx context.Context, url string) error {
	if _, err := migrateTables(ctx, url); err != nil {
		return fmt.Errorf("postgres: migrate: %w", err)
	}
	return nil
}

// migrating has programs that migrate one database at the same time wait for each other.
const migrating = "SELECT pg_advisory_xact_lock(7521983, 1)"

// migrateTables makes or changes the tables, and reports whether there were none. All of it is
// one transaction.
func migrateTables(ctx context.Context, url string) (made bool, err error) {
	server, err := pg.New(url)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	// It sees what those made for which it waited.
	return made, server.Own(pg.Terms{}).Write(ctx, func(t *pg.Tx) error {
		if _, err := t.Exec(ctx, migrating); err != nil {
			return err
		}
		made = false
		have, err := schemaVersion(ctx, t)
		if errors.Is(err, ErrNone) {
			made = true
			err = execScript(ctx, t, "CREATE SCHEMA IF NOT EXISTS hindcast;\nCREATE TABLE hindcast.migrations (version bigint PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())")
		}
		if err != nil {
			return err
		}
		if have > version {
			return newerError(have)
		}
		for next := have + 1; next <= version; next++ {
			script, err := migrations.ReadFile("migrations/" + strconv.FormatInt(next, 10) + ".sql")
			if err == nil {
				err = execScript(ctx, t, string(script))
			}
			if err == nil {
				_, err = t.Exec(ctx, "INSERT INTO hindcast.migrations (version) VALUES (?)", next)
			}
			if err != nil {
				return fmt.Errorf("migration %d: %w", next, err)
			}
		}
		return nil
	})
}

// execScript runs the statements of a script.
func execScript(ctx context.Context, t *pg.Tx, script string) error {
	for statement := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(script), ";"), ";\n") {
		if _, err := t.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%.60q: %w", statement, err)
		}
	}
	return nil
}

// Is reports whether a database holds a store of Hindcast, of any version. A view of that name does not count.
func Is(ctx context.Context, t *pg.Tx) (yes bool, err error) {
	err = t.Row(ctx, "SELECT EXISTS (SELECT FROM pg_class WHERE oid = to_regclass('hindcast.migrations') AND relkind IN ('r', 'p'))").Scan(&yes)
	return yes, err
}

// schemaVersion returns the version of the tables; the error is ErrNone.
func schemaVersion(ctx context.Context, t *pg.Tx) (have int64, err error) {
	is, err := Is(ctx, t)
	if err != nil {
		return 0, err
	}
	if !is {
		return 0, ErrNone
	}
	return lastVersion(ctx, t)
}

func lastVersion(ctx context.Context, t *pg.Tx) (have int64, err error) {
	err = t.Row(ctx, "SELECT coalesce(max(version), 0) FROM hindcast.migrations").Scan(&have)
	return have, err
}

// checkStore refuses a database without a store of this version. It makes one query if the database has no store.
func checkStore(ctx context.Context, t *pg.Tx) error {
	have, err := schemaVersion(ctx, t)
	switch {
	case err != nil:
		return err
	case have > version:
		return newerError(have)
	case have < version:
		return fmt.Errorf("%w: its tables are of version %d, this program's of %d: call postgres.Migrate as their owner", ErrVersion, have, version)
	}
	return nil
}

func newerError(have int64) error {
	return fmt.Errorf("%w: its tables are of version %d, this program knows %d: take the program that made them", ErrVersion, have, version)
}

// Grants returns the statements that let a role look at the store in a database, or record
// in it, which the owner of the tables runs.
func Grants(role string, records bool) []string {
	name := `"` + strings.ReplaceAll(role, `"`, `""`) + `"`
	if !records {
		return []string{"GRANT USAGE ON SCHEMA hindcast TO " + name, "GRANT SELECT ON ALL TABLES IN SCHEMA hindcast TO " + name}
	}
	return []string{
		"GRANT USAGE ON SCHEMA hindcast TO " + name,
		"GRANT SELECT ON ALL TABLES IN SCHEMA hindcast TO " + name,
		"GRANT INSERT, UPDATE, DELETE ON hindcast.sessions, hindcast.visits, hindcast.reasons, hindcast.states, hindcast.blocks, hindcast.parts, hindcast.journal, hindcast.journal_visits, hindcast.marks TO " + name,
		"GRANT USAGE ON ALL SEQUENCES IN SCHEMA hindcast TO " + name,
	}
}
