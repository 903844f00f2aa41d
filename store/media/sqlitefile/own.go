package sqlitefile

import (
	"context"
	"errors"

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

// The uses for which denied asks, as access(2) has them.
const (
	toWrite = 2
	toRead  = 4
)
