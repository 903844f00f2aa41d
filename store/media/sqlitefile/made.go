package sqlitefile

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"

	driver "modernc.org/sqlite"
)

// Source describes a database in memory that is made of files.
type Source struct {
	// Files are the paths of the files. A program writes the last one last.
	Files []string
	// Fill makes tables in an empty database, and fills them.
	Fill func(ctx context.Context, t *Tx) error
}

// NewMade returns a database that is made of files in memory, and again when one of them changed. It has the path of
// the last file, and is only read. check is that of New.
func NewMade(of Source, check func(context.Context, *Tx) error) *File {
	return &File{path: of.Files[len(of.Files)-1], check: check, made: &of}
}

// made is how a database in memory is opened by its name, and making is how it is filled.
const (
	made   access = "mode=ro&vfs=memdb"
	making access = "vfs=memdb"
)

// lookNow says how the database can be read just now, and how its files look.
func (f *File) lookNow() (access, sight, error) {
	if f.made == nil {
		return lookAt(f.path)
	}
	seen, err := f.made.lookAtFiles()
	return made, seen, err
}

// lookAtFiles returns how the files look. The error is that of the first one that does not exist.
func (s *Source) lookAtFiles() (seen sight, err error) {
	for _, path := range s.Files {
		info, err := os.Stat(path)
		if err != nil {
			return sight{}, dropPath(err)
		}
		seen.made += fmt.Sprintln(info.Size(), info.ModTime().UnixNano())
	}
	return seen, nil
}

// newMade returns a pool for reading a database that is made of the files as they are now. The connection that fills
// it keeps it as long as the pool is open.
func (f *File) newMade(ctx context.Context, stamp sight) (*handle, error) {
	name := "file:/" + rand.Text() + "?"
	filled, err := newPool(name, making)
	if err != nil {
		return nil, err
	}
	filled.db.SetMaxOpenConns(1)
	begin := func(ctx context.Context, c *sql.Conn) error {
		_, err := c.ExecContext(ctx, "BEGIN")
		return err
	}
	err = f.runTransaction(ctx, filled, begin, func(t *Tx) error { return f.made.Fill(ctx, t) })
	h, failed := newPool(name, made)
	if err = errors.Join(err, failed); err != nil {
		return nil, errors.Join(err, filled.close())
	}
	h.stamp, h.after = stamp, filled.close
	return h, nil
}

// newPool returns a pool of connections to a database in memory.
func newPool(name string, how access) (*handle, error) {
	connector, err := driver.NewConnector(name + string(how) + guarded)
	if err != nil {
		return nil, err
	}
	return &handle{access: how, db: sql.OpenDB(connector), after: func() error { return nil }}, nil
}
