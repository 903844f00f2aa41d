package keep

import (
	"context"
	"fmt"
	"strings"

	"hindcast/store/media/pg"
)

// carrier is a database that holds the tables of an archive. One transaction writes at a time, whatever programs there are.
type carrier interface {
	// readTx runs what on the archive as it is at one moment, and may run it again. The error is fs.ErrNotExist without an archive, and
	// ErrForeign where the archive is not one that the program reads.
	readTx(ctx context.Context, what func(tx) error) error
	// writeTx runs what in a transaction, all of it or nothing, and may run it again. It returns the errors of readTx.
	writeTx(ctx context.Context, what func(tx) error) error
	// makeTables makes the archive unless it exists, of any version.
	makeTables(ctx context.Context) error
	// renewSchema makes an archive of an earlier version one of this version.
	renewSchema(ctx context.Context) error
	// wipeDeleted leaves no byte of deleted blocks in the archive.
	wipeDeleted(ctx context.Context) error
	// String names the archive for people.
	fmt.Stringer
	Close() error
}

// tx is a transaction. A placeholder of a statement is ?, and one query is read to its end before another is made.
type tx interface {
	// scanRow scans the first row of a query. It reports false without a row.
	scanRow(ctx context.Context, into []any, query string, args ...any) (found bool, err error)
	// eachRow calls row with each row of a query.
	eachRow(ctx context.Context, row func(scan func(into ...any) error) error, query string, args ...any) error
	// execLater runs a statement that changes rows. It may put that off until the next query or the end of the transaction.
	execLater(ctx context.Context, query string, args ...any) error
	// addBlock adds a block with its parts, but for parts that are there. ids get the numbers of all its parts.
	addBlock(ctx context.Context, b *block, ids map[*piece]int64) error
	// findParts calls a function with the parts of these numbers, in any order. Missing ones are left out.
	findParts(ctx context.Context, ids []int64, found func(p placedPart)) error
	// findNewest calls a function with the newest rows of files of these names, in any order: their ids and tags.
	findNewest(ctx context.Context, names []string, found func(name string, r fileRow)) error
}

// placedPart is a part with its block.
type placedPart struct{ id, block, at, size int64 }

// errBucket is ErrNoArchive for a bucket: it has no transactions, so that two programs that keep at once would lose what one of them kept.
var errBucket = fmt.Errorf("%w, and a bucket has no transactions: copy a file to it, or name postgres://user@host/db", ErrNoArchive)

// newCarrier returns the carrier at an address: of a file, or of a database on a server.
func newCarrier(address string) carrier {
	switch {
	case pg.IsURL(address):
		server, err := pg.New(address)
		if err != nil {
			return failed{address, err}
		}
		return newServed(server)
	case strings.Contains(address, "://"):
		return failed{address, errBucket}
	}
	return newInFile(address)
}

// failed is the carrier at an address where no archive can be.
type failed struct {
	address string
	why     error
}

func (f failed) readTx(context.Context, func(tx) error) error  { return f.why }
func (f failed) writeTx(context.Context, func(tx) error) error { return f.why }
func (f failed) makeTables(context.Context) error              { return f.why }
func (f failed) renewSchema(context.Context) error             { return f.why }
func (f failed) wipeDeleted(context.Context) error             { return f.why }
func (f failed) Close() error                                  { return nil }

// String returns the address without what may be a password in it.
func (f failed) String() string {
	if shown, err := pg.HidePassword(f.address); err == nil {
		return shown
	}
	scheme, _, _ := strings.Cut(f.address, "://")
	return scheme + "://…"
}
