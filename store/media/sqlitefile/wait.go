package sqlitefile

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	lib "modernc.org/sqlite/lib"
)

// A transaction begins at once or not at all, and no context may end between
// the two: the driver would say that it had not begun, and the connection would
// go back to the pool with it.

// beginRead begins a transaction that reads: it does not wait.
func beginRead(ctx context.Context, c *sql.Conn) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, err := c.ExecContext(context.WithoutCancel(ctx), "BEGIN")
	return err
}

// beginLocked is beginRead beside a writer. While the writer is in a commit it waits, as
// beginWrite does. Behind it the transaction has its lock, and no statement waits.
func beginLocked(ctx context.Context, c *sql.Conn) error {
	return untilFree(ctx, readPatience, func() error {
		err := beginRead(ctx, c)
		if err != nil {
			return err
		}
		if err = c.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT 1 FROM sqlite_schema LIMIT 1)").Scan(new(int)); err != nil {
			_, undo := c.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
			err = errors.Join(err, undo)
		}
		return err
	})
}

// beginWrite begins a transaction that writes. While another connection does,
// it waits here, for as long as the connection's busy_timeout says: SQLite's
// own waiting hears of nothing, and a context would end unheard for seconds.
func beginWrite(ctx context.Context, c *sql.Conn) (err error) {
	var patience int64
	if err := c.QueryRowContext(ctx, "PRAGMA busy_timeout").Scan(&patience); err != nil {
		return err
	}
	defer func() {
		if failed := setPatience(context.WithoutCancel(ctx), c, patience); failed != nil {
			// The connection may not be used as it is.
			err = errors.Join(err, failed, c.Raw(func(any) error { return driver.ErrBadConn }))
		}
	}()
	if err := setPatience(ctx, c, 0); err != nil {
		return err
	}
	return untilFree(ctx, time.Duration(patience)*time.Millisecond, func() error {
		_, err := c.ExecContext(context.WithoutCancel(ctx), "BEGIN IMMEDIATE")
		return err
	})
}

// mostPatience is how long it is waited for another connection where nothing else says so.
const mostPatience = 5 * time.Second

// readPatience is how long a reading waits for a writer that is in a commit.
const readPatience = 15 * time.Second

// openConn returns a connection. To make one sets the journal mode, for which SQLite
// does not wait where another program is just closing the file or taking up a log,
// whatever the busy_timeout is: so it is waited here.
func openConn(ctx context.Context, db *sql.DB) (c *sql.Conn, err error) {
	err = untilFree(ctx, mostPatience, func() (err error) {
		c, err = db.Conn(ctx)
		return err
	})
	return c, err
}

// untilFree tries something again as long as another connection has the file, and no
// longer than the patience lasts.
func untilFree(ctx context.Context, patience time.Duration, try func() error) error {
	return retryWithin(ctx, try, func(err error) time.Duration {
		if isCode(err, lib.SQLITE_BUSY) {
			return patience
		}
		return enough
	})
}

// untilWritable tries something again that SQLite refuses as though the file could not be
// written, although it can. Within one process SQLite shares the index of the log between
// connections: as long as another store only reads there, none can write.
func (f *File) untilWritable(ctx context.Context, try func() error) error {
	return retryWithin(ctx, try, func(err error) time.Duration {
		if isCode(err, lib.SQLITE_READONLY) && f.WhyDenied(nil) == nil {
			return mostPatience
		}
		return enough
	})
}

// settles is how long what looks left behind may be that of a writer at work.
const settles = 500 * time.Millisecond

// Retry reads again when the file moved meanwhile. Writers may come and go: it is waited
// for a while in which none does, as it would be for one that stays.
func Retry(ctx context.Context, once func() error) error {
	return retryWithin(ctx, once, func(err error) time.Duration {
		switch {
		case errors.Is(err, ErrUnsettled):
			return settles
		case errors.Is(err, ErrChanged):
			return mostPatience
		}
		return enough
	})
}

// enough is the patience with an error that another try does not change, and with success.
const enough = -1

// retryWithin tries something again while it takes no longer, in all, than the patience with its
// error, and the context has not ended.
func retryWithin(ctx context.Context, try func() error, patience func(error) time.Duration) error {
	began := time.Now()
	for pause := time.Millisecond; ; pause = min(2*pause, 32*time.Millisecond) {
		err := try()
		if time.Since(began) > patience(err) {
			return err
		}
		// Those who wait do not all come back at once.
		wait := time.NewTimer(pause/2 + rand.N(pause))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return ctx.Err()
		}
	}
}

func setPatience(ctx context.Context, c *sql.Conn, milliseconds int64) error {
	_, err := c.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", milliseconds))
	return err
}
