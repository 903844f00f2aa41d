package sqlitefile

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"time"

	driver "modernc.org/sqlite"
	"modernc.org/sqlite/vfs"
)

// Source is what a database in memory is made of.
type Source struct {
	// Files are the paths of its files. A program writes the last of them last.
	Files []string
	// Fill makes tables in an empty database, and fills them.
	Fill func(ctx context.Context, t *Tx) error
}

// NewMade returns a database that is made of files in memory, and again when one of them changed. It has the path of
// the last file, and is only read. check is that of New.
func NewMade(of Source, check func(context.Context, *Tx) error) *File {
	return &File{path: of.Files[len(of.Files)-1], check: check, made: &of}
}

// made is how a database is opened that was made in memory; making is how it is made.
const (
	made   access = "mode=ro&immutable=1&cache=private&vfs="
	making access = "mode=memory"
)

// look says how the database can be read just now, and how its files look.
func (f *File) look() (access, sight, error) {
	if f.made == nil {
		return lookAt(f.path)
	}
	seen, err := f.made.look()
	return made, seen, err
}

// look returns how the files look. The error is that of the first one that is not there.
func (s *Source) look() (seen sight, err error) {
	for _, path := range s.Files {
		info, err := os.Stat(path)
		if err != nil {
			return sight{}, dropPath(err)
		}
		seen.made += fmt.Sprintln(info.Size(), info.ModTime().UnixNano())
	}
	return seen, nil
}

// make returns a handle of the database, made of the files as they are now.
func (s *Source) make(ctx context.Context, f *File, stamp sight) (h *handle, err error) {
	connector, err := driver.NewConnector("file::memory:?" + string(making) + guarded)
	if err != nil {
		return nil, err
	}
	filled := &handle{access: making, db: sql.OpenDB(connector), after: func() error { return nil }}
	filled.db.SetMaxOpenConns(1) // each connection has a database of its own
	defer func() { err = errors.Join(err, filled.close()) }()
	var image []byte
	begin := func(ctx context.Context, c *sql.Conn) error {
		_, err := c.ExecContext(ctx, "BEGIN")
		return err
	}
	if err := f.runTransaction(ctx, filled, begin, func(t *Tx) error { return s.Fill(ctx, t) }); err != nil {
		return nil, err
	}
	err = f.runTransaction(ctx, filled, begin, func(t *Tx) error {
		return t.conn.Raw(func(conn any) (err error) {
			image, err = conn.(interface{ Serialize() ([]byte, error) }).Serialize()
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	name, files, err := vfs.New(imageFiles(image))
	if err != nil {
		return nil, err
	}
	connector, err = driver.NewConnector((&url.URL{Scheme: "file", Opaque: settledName, RawQuery: string(made) + name + guarded}).String())
	if err != nil {
		return nil, errors.Join(err, files.Close())
	}
	return &handle{access: made, stamp: stamp, db: sql.OpenDB(connector), after: files.Close}, nil
}

// imageFiles implements fs.FS with one file, the database itself.
type imageFiles []byte

// Open implements fs.FS for SQLite, which asks for a journal and a log, too.
func (image imageFiles) Open(name string) (fs.File, error) {
	if name != settledName {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return opening{io.NewSectionReader(bytes.NewReader(image), 0, int64(len(image))), imageInfo{}}, nil
}

// imageInfo implements the rest of fs.FileInfo for an image.
type imageInfo struct{}

func (imageInfo) Name() string       { return settledName }
func (imageInfo) Size() int64        { return 0 }
func (imageInfo) Mode() fs.FileMode  { return 0o400 }
func (imageInfo) ModTime() time.Time { return time.Time{} }
func (imageInfo) IsDir() bool        { return false }
func (imageInfo) Sys() any           { return nil }
