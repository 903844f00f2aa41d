// Package keep keeps the files of stores byte for byte, so that a session whose files are gone can still be read and
// put back. It knows no format: a kind reads what is kept as it reads a folder or a bucket.
//
//	archive.go   the archive, and the kinds that it keeps
//	carrier.go   the database that it lies in
//	infile.go    a file of SQLite's
//	served.go    a database on a PostgreSQL server
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
	"errors"
	"fmt"
	"sync"
	"time"

	"hindcast/store/engine"
	"hindcast/store/home"
)

// schemaVersion is that of the tables. The first lacks the column redacted, and is in files alone.
const schemaVersion = 2

var (
	// ErrForeign: a file or a database holds no archive, or one of another version of the program.
	ErrForeign = errors.New("no archive of kept sessions that this program reads")
	// ErrNoArchive: there is no archive at such an address.
	ErrNoArchive = errors.New("an archive is a file or a PostgreSQL database")
)

// Archive keeps files in a database, which is made when it is first written to. It is safe for concurrent use, by
// several programs too.
type Archive struct {
	address string
	kinds   []engine.Kind
	now     func() time.Time
	on      carrier
	codec   codec

	mu     sync.Mutex
	blocks []decodedBlock // the last used first
}

// New returns the archive at an address: the path of a file, which need not exist, or the URL of a PostgreSQL database.
// kinds are the kinds whose stores it keeps. Nothing is opened: another address fails with ErrNoArchive when it is used.
func New(address string, kinds []engine.Kind) *Archive {
	return &Archive{address: address, kinds: kinds, now: time.Now, on: newCarrier(address), codec: newCodec()}
}

// Path returns the address of the archive without a password.
func (a *Archive) Path() string { return a.on.String() }

// Close lets go of the database.
func (a *Archive) Close() error { return a.on.Close() }

// makeArchive makes the archive unless it exists.
func (a *Archive) makeArchive(ctx context.Context) error {
	err := a.on.makeTables(ctx)
	if err == nil {
		err = a.on.renewSchema(ctx)
	}
	return a.wrapError(err)
}

// wrapError returns an error of the database as one of the archive.
func (a *Archive) wrapError(err error) error {
	if err == nil || errors.Is(err, errForgotten) || errors.Is(err, context.Canceled) || errors.Is(err, home.ErrArchive) {
		return err
	}
	return fmt.Errorf("%w %q: %w", home.ErrArchive, a.Path(), err)
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
