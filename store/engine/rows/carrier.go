package rows

import (
	"context"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/store/media/pg"
	"hindcast/store/media/sqlitefile"
)

// Query is one of several statements, its arguments, and what each of its rows is given to.
type Query = pg.Query

// Tx is a transaction in which a format reads. Placeholders are SQLite's, on every carrier.
type Tx interface {
	// Row returns the first row of a query.
	Row(ctx context.Context, query string, args ...any) interface{ Scan(into ...any) error }
	// First scans the first row of a query. found is false if the query has no rows.
	First(ctx context.Context, into []any, query string, args ...any) (found bool, err error)
	// Each runs row on each row of a query, which it scans. It may ask for nothing itself.
	Each(ctx context.Context, row func(scan func(into ...any) error) error, query string, args ...any) error
	// Ask runs statements one after the other. A server is asked once.
	Ask(ctx context.Context, queries ...Query) error
	// Records runs row on each row of a query, by the names of its columns: texts and blobs are
	// strings. It is for tables whose columns differ from version to version.
	Records(ctx context.Context, row func(map[string]any) error, query string, args ...any) error
	// Columns returns the columns of a table, none where there is no such.
	Columns(ctx context.Context, table string) (map[string]bool, error)
}

// Lister is a format that lists the sessions without reading their snapshots.
type Lister interface {
	// List returns for each session the values of the columns that name it, and what is known of it. Nil says
	// that the snapshots are to be read.
	List(ctx context.Context, t Tx) ([]Listed, error)
}

// Listed is a session of a list. Its info has no id, and its Snapshots are below 0 where its branches are not known.
type Listed struct {
	Key  []string
	Info model.SessionInfo
}

// Keep memoises the result of read by a key. Later transactions get the same value as long as the carrier knows
// that nothing changed. The value may not be changed.
func Keep[T any](t Tx, key string, read func() (T, error)) (T, error) {
	if file, ok := t.(sqliteTx); ok {
		return sqlitefile.Keep(file.Tx, key, read)
	}
	return read()
}

// mark is how far a table has been read: how many rows of a session it has, and in SQLite the
// greatest row id.
type mark struct {
	rows, last int64
	// earlier and wrote are set by PostgreSQL only, where last is the sum of the IDs of the transactions that
	// wrote the rows. earlier counts the rows before the newest snapshot, and wrote sums their transactions.
	earlier, wrote int64
}

// carrier is where the tables are, and what differs between a file and a server.
type carrier interface {
	// Read runs what in one transaction that reads.
	Read(ctx context.Context, what func(tables) error) error
	// Suppose is like Read, for a function that may lay steps over the tables.
	Suppose(ctx context.Context, what func(tables) error) error
	// Amend runs what in one transaction that writes. No other program changes the kind's tables
	// meanwhile.
	Amend(ctx context.Context, what func(tables) error) error
	// Busy reports whether an error says that another program writes.
	Busy(err error) bool
	// ExplainDenial returns why a write was not allowed, and that nothing was changed.
	ExplainDenial(cause error) error
	// Where says where the journal is, in a few words.
	Where() string
	Watch(ctx context.Context, own <-chan struct{}) (<-chan struct{}, error)
	Close() error
}

// tables is a transaction of a carrier, with the operations of the engine.
type tables interface {
	Tx
	// listTableSets returns the sets of the kind's tables, see Kind.findTableSets.
	listTableSets(ctx context.Context, k Kind) ([]map[string]string, error)
	// listKeys returns the values of the columns that name a session, of each that there is.
	listKeys(ctx context.Context, k Kind, in Place) ([][]string, error)
	// mostCounted returns how many rows are counted for the first screen, -1 for all.
	mostCounted() int
	// readMarks returns how far a session reaches in the tables. grows reports whether all changes since the last
	// reading come behind its newest snapshot. was is nil for a session that was not read yet.
	readMarks(ctx context.Context, k Kind, at Place, was []mark, newest string) (now []mark, grows bool, err error)
	// upTo returns the marks of a session that was just read, whose newest snapshot that is.
	upTo(ctx context.Context, k Kind, at Place, newest string, now []mark) ([]mark, error)
	// readExtent returns how far the tables themselves have a session, whatever is laid over them.
	readExtent(ctx context.Context, k Kind, at Place) ([]mark, error)
	// eachRow calls row with each stored row and its row id, 0 if it has no row id.
	eachRow(ctx context.Context, table, where string, row func(at int64, r Row), args ...any) error
	// currentRows returns the stored rows of steps, nil for a missing row, and notes their row ids.
	currentRows(ctx context.Context, steps []Step) ([]Row, error)
	// layViews lays steps over the tables, as long as the transaction lasts, and makes the rows after
	// them what the database keeps of them: of a document PostgreSQL keeps the members in an order
	// of its own, and of a time no zeros behind the last digit.
	layViews(ctx context.Context, steps []Step) error
	// carryOut changes the rows of steps, and no other: a trigger that does more is an error.
	carryOut(ctx context.Context, steps []Step) error
	// checkTables returns the database's own faults, and the values that are too large.
	checkTables(ctx context.Context, k Kind) ([]model.Fault, error)
}

// keysOf returns the rows of a query for the columns that name a session. Rows with NULL in one
// are of no session, and those that name one by bytes of no other than its text does.
func keysOf(ctx context.Context, t Tx, k Kind, query string) (list [][]string, err error) {
	seen := map[string]bool{}
	err = t.Each(ctx, func(scan func(...any) error) error {
		found, into := make([]*string, len(k.Key)), make([]any, len(k.Key))
		for i := range found {
			into[i] = &found[i]
		}
		if err := scan(into...); err != nil || slices.Contains(found, nil) {
			return err
		}
		names := make([]string, len(found))
		for i, name := range found {
			names[i] = *name
		}
		if key := strings.Join(names, "\x00"); !seen[key] {
			seen[key], list = true, append(list, names)
		}
		return nil
	}, query)
	return list, err
}
