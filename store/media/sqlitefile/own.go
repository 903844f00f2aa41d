package sqlitefile

import (
	"context"
	"errors"
	"io/fs"
	"os"

	lib "modernc.org/sqlite/lib"
)

// Own is a file of this program, which it may write.
type Own struct {
	*File
	how access
	// writing lets one write at a time in, and a context give up waiting.
	writing chan struct{}
}

// NewOwn returns the file at a path as New does. pragmas are how a connection for
// writing is set up, in the words of the driver's URI, such as "&_pragma=foreign_keys(1)".
func NewOwn(path, pragmas string, check func(context.Context, *Tx) error) *Own {
	return &Own{File: New(path, check), how: "mode=rw" + access(pragmas), writing: make(chan struct{}, 1)}
}

// Open reports whether the file is open for writing, and so its log may be of this
// program.
func (o *Own) Open() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.handle.isForWriting()
}

// Write runs what in a transaction that writes: all of it or nothing. It returns
// the errors of Read.
func (o *Own) Write(ctx context.Context, what func(*Tx) error) error {
	return o.untilWritable(ctx, func() error { return o.writeOwn(ctx, what) })
}

func (o *Own) writeOwn(ctx context.Context, what func(*Tx) error) error {
	select {
	case o.writing <- struct{}{}:
		defer func() { <-o.writing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	h, err := o.acquireOwn(ctx)
	if err != nil {
		return err
	}
	err = o.runTransaction(ctx, h, beginWrite, what)
	if isCode(err, lib.SQLITE_READONLY) {
		err = errors.Join(err, o.forgetHandle(h))
	}
	return errors.Join(err, o.releaseHandle(h))
}

// acquireOwn returns the handle for writing, which from then on is the one for
// reading too.
func (o *Own) acquireOwn(ctx context.Context) (*handle, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil, errClosed
	}
	if !o.handle.isForWriting() {
		if err := checkWritable(o.path); err != nil {
			return nil, err
		}
		if err := o.swapHandle(ctx, o.how, sight{}); err != nil {
			return nil, err
		}
	}
	o.handle.users++
	return o.handle, nil
}

// CreateFile makes a file by the statements of a schema, where no file is there or an empty one. Only the
// user can read it: it holds what people told an agent. A file that is there is not
// opened for it: to close it would end the locks that SQLite has on it in this process, and
// another program could take its log away. The error is fs.ErrExist if something is there.
func CreateFile(ctx context.Context, path, schema, pragmas string) (err error) {
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
	return NewOwn(path, pragmas, nil).Fill(ctx, func(t *Tx) error {
		var tables int
		if err := t.Row(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
			return err
		}
		if tables > 0 {
			return fs.ErrExist
		}
		_, err := t.Conn().ExecContext(ctx, schema)
		return err
	})
}

// Settle has SQLite finish, or take back, the write that was left unfinished in a
// file. It does nothing else to the file, whose check is that of Read.
func (o *Own) Settle(ctx context.Context) error {
	if err := checkWritable(o.path); err != nil {
		return err
	}
	return o.onHandle(ctx, "mode=rw&_pragma=busy_timeout(5000)", func(h *handle) error {
		return o.runTransaction(ctx, h, beginRead, func(t *Tx) error { return o.checkPages(ctx, t) })
	})
}

// Fill runs what in the file, which is there and empty, and puts it into WAL mode.
func (o *Own) Fill(ctx context.Context, what func(*Tx) error) error {
	return o.onHandle(ctx, "mode=rwc&_pragma=busy_timeout(5000)&_pragma=synchronous(FULL)", func(h *handle) error {
		if err := o.runTransaction(ctx, h, beginWrite, what); err != nil {
			return err
		}
		_, err := h.db.ExecContext(ctx, "PRAGMA journal_mode = WAL")
		if isCode(err, lib.SQLITE_BUSY) {
			return nil // another program looks at the file; the first write does it then
		}
		return err
	})
}

// ErrRead says that another program reads the file, so that its log stays.
var ErrRead = errors.New("another program reads the file just now")

// EmptyLog moves all that is in the log into the file, and empties the log. The error is ErrRead while another program reads.
func (o *Own) EmptyLog(ctx context.Context) error {
	return o.onHandle(ctx, "mode=rw&_pragma=busy_timeout(5000)", func(h *handle) error {
		var busy, in, moved int
		err := h.db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &in, &moved)
		if err == nil && busy != 0 {
			err = ErrRead
		}
		return err
	})
}

// The uses for which denied asks, as access(2) has them.
const (
	toWrite = 2
	toRead  = 4
)
