package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// beginRead begins a transaction that reads: it waits for nobody.
func beginRead(ctx context.Context, c *sql.Conn) error {
	_, err := c.ExecContext(ctx, "BEGIN")
	return err
}

// beginWrite begins a transaction that writes. While another connection does,
// it waits here, for as long as the connection's busy_timeout says: SQLite's
// own waiting hears of nothing, and a context would end unheard for seconds.
func beginWrite(ctx context.Context, c *sql.Conn) (err error) {
	var patience int64
	if err := c.QueryRowContext(ctx, "PRAGMA busy_timeout").Scan(&patience); err != nil {
		return err
	}
	if err := setPatience(ctx, c, 0); err != nil {
		return err
	}
	defer func() {
		if failed := setPatience(context.WithoutCancel(ctx), c, patience); failed != nil {
			// Nobody may use the connection as it is.
			err = errors.Join(err, failed, c.Raw(func(any) error { return driver.ErrBadConn }))
		}
	}()
	deadline := time.Now().Add(time.Duration(patience) * time.Millisecond)
	for pause := time.Millisecond; ; pause = min(2*pause, 32*time.Millisecond) {
		_, err := c.ExecContext(ctx, "BEGIN IMMEDIATE")
		if !busy(err) || time.Now().After(deadline) {
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

// busy reports whether an error is that another connection is at work.
func busy(err error) bool {
	coded, ok := errors.AsType[*sqlite.Error](err)
	return ok && coded.Code()&0xff == lib.SQLITE_BUSY
}
