// Package sqlite is Hindcast's own store: one SQLite file, for agents written
// in Go and for keeping what was imported. It is pure Go.
//
// Reading never writes: not a byte of the file nor of its directory changes before the
// first Save, Apply or Import.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"hindcast/store"
	"hindcast/store/media/sqlitefile"
	"hindcast/store/native"
)

const kind = "sqlite"

var (
	// ErrForeign: the file is a SQLite database of another program.
	ErrForeign = errors.New("a SQLite database, but not a Hindcast store")
	// ErrVersion: the store was written by a version of the program with another schema.
	ErrVersion = errors.New("a Hindcast store of another version")
)

// Kind describes the sqlite store.
func Kind() store.Kind {
	return store.Kind{
		Name:      kind,
		Files:     []string{"*.db", "*.db3", "*.sqlite", "*.sqlite3"},
		Recognise: recognise,
		Open:      func(ctx context.Context, path string) (store.Store, error) { return openSettled(ctx, path) },
		Places:    func(around store.Surroundings) []string { return patternIn(around.Work, "*.db") },
		Continues: true,
		Make: func(ctx context.Context, path string) error {
			s, err := Create(ctx, path)
			if err != nil {
				return err
			}
			return s.Close()
		},
	}
}

// patternIn returns a pattern below a folder that is known.
func patternIn(dir, pattern string) []string {
	if dir == "" {
		return nil
	}
	return []string{filepath.Join(dir, pattern)}
}

// recognise asks SQLite itself: a descriptor of our own on the file would,
// when closed, drop the locks that this process holds on it.
func recognise(ctx context.Context, path string) (string, bool, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", false, err
	}
	if !info.Mode().IsRegular() {
		return "", false, nil
	}
	if info.Size() == 0 {
		return "the file is empty", false, nil
	}
	s, err := Open(ctx, path)
	switch {
	case err == nil:
		return "a SQLite database with Hindcast's application id", true, s.Close()
	case errors.Is(err, sqlitefile.ErrNotSQLite):
		return sqlitefile.ErrNotSQLite.Error(), false, nil
	case errors.Is(err, ErrForeign):
		return ErrForeign.Error(), false, nil
	case errors.Is(err, ErrVersion), errors.Is(err, sqlitefile.ErrUnsettled), errors.Is(err, sqlitefile.ErrDamaged):
		// It is SQLite's format at least; Open tells the error.
		return err.Error(), true, nil
	}
	return "", false, err
}

// Store is an open file. It has every capability of the port and is a
// model.Store of raw JSON states. It is safe for concurrent use, by several
// programs at once too. Use Open or Create.
type Store struct {
	*native.Store
	file *sqlitefile.Own
}

// settings are the values that options change.
type settings struct{ now func() time.Time }

// An Option changes how Open and Create make a Store.
type Option func(*settings)

// WithClock sets where the store takes the time from, instead of time.Now.
func WithClock(now func() time.Time) Option { return func(s *settings) { s.now = now } }

// Open opens the store in a file, which must exist; it writes nothing. The
// errors are fs.ErrNotExist, fs.ErrPermission, sqlitefile.ErrNotSQLite, ErrForeign,
// ErrVersion, sqlitefile.ErrDamaged and sqlitefile.ErrUnsettled.
func Open(ctx context.Context, path string, options ...Option) (*Store, error) {
	s := newStore(path, options)
	err := s.file.Read(ctx, func(*sqlitefile.Tx) error { return nil })
	if errors.Is(err, sqlitefile.ErrUnsettled) {
		// What another program left is for that program to settle.
		if id, unread := sqlitefile.ApplicationID(ctx, path); unread == nil && id != applicationID {
			err = foreignError(id)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("sqlite: open %q: %w", path, errors.Join(err, s.Close()))
	}
	return s, nil
}

// Create makes the store in a new file, or in an empty one. The error is
// fs.ErrExist where there is something already.
func Create(ctx context.Context, path string, options ...Option) (*Store, error) {
	if err := createSchema(ctx, path); err != nil {
		return nil, fmt.Errorf("sqlite: create %q: %w", path, err)
	}
	return Open(ctx, path, options...)
}

// OpenOrCreate opens the store in a file for a program that will write to it, and creates the store if it is
// missing. Unlike Open, it finishes a write that a killed program left unfinished, which changes the file.
// Otherwise it returns the errors of Open.
func OpenOrCreate(ctx context.Context, path string, options ...Option) (*Store, error) {
	s, err := Create(ctx, path, options...)
	if !errors.Is(err, fs.ErrExist) {
		return s, err
	}
	return openSettled(ctx, path, options...)
}

// openSettled opens the store in a file and settles what a program left unfinished
// there when it was killed, Hindcast itself for one: SQLite then takes back what
// was not done, and forgets nothing that was. The errors are otherwise those of
// Open; sqlitefile.ErrUnsettled is left where the file cannot be written.
func openSettled(ctx context.Context, path string, options ...Option) (*Store, error) {
	s, err := Open(ctx, path, options...)
	if !errors.Is(err, sqlitefile.ErrUnsettled) {
		return s, err
	}
	if settling := sqlitefile.NewOwn(path, pragmas, checkStore).Settle(ctx); settling != nil {
		return nil, errors.Join(err, fmt.Errorf("sqlite: settle %q: %w", path, settling))
	}
	return Open(ctx, path, options...)
}

func newStore(path string, options []Option) *Store {
	return newStoreOf(path, sqlitefile.NewOwn(path, pragmas, checkStore), options)
}

func newStoreOf(path string, file *sqlitefile.Own, options []Option) *Store {
	set := settings{now: time.Now}
	for _, o := range options {
		o(&set)
	}
	return &Store{Store: native.New(kind, path, &carrier{file: file}, dialect, set.now), file: file}
}

// Features returns the store's features.
func (s *Store) Features() store.Features {
	f := s.Store.Features()
	f.LabelFile = s.LabelFile
	return f
}

// LabelFile returns where the labels of a session are, see package labels: in a file beside
// the store.
func (s *Store) LabelFile(_ context.Context, session string) (dir, file, name string) {
	path := s.Address()
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // where SQLite has its own files, too
	}
	return filepath.Dir(path), filepath.Base(path) + "-labels", session
}
