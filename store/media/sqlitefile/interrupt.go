package sqlitefile

import (
	"context"
	"database/sql"
	"fmt"
	"reflect"
	"sync"
	"time"

	lib "modernc.org/sqlite/lib"
)

// interruptWhenDone ends the statements of a connection when a context ends, until release
// is called. The driver does so only up to the first row of a statement: a row that never
// comes would be waited for.
func interruptWhenDone(ctx context.Context, c *sql.Conn) (release func(), err error) {
	var db uintptr
	var mu sync.Mutex // the handle is gone after releaseHandle
	err = c.Raw(func(conn any) error {
		// The driver has no name for SQLite's handle, which sqlite3_interrupt takes.
		field := reflect.Indirect(reflect.ValueOf(conn)).FieldByName("db")
		if !field.IsValid() || field.Kind() != reflect.Uintptr || field.Uint() == 0 {
			return fmt.Errorf("the driver's connection %T has no handle", conn)
		}
		db = uintptr(field.Uint())
		return nil
	})
	if err != nil {
		return nil, err
	}
	released := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		// A statement that begins in this moment forgets what came before: so it is told again.
		again := time.NewTicker(interruptEvery)
		defer again.Stop()
		for {
			mu.Lock()
			select {
			case <-released:
				mu.Unlock()
				return
			default:
				lib.Xsqlite3_interrupt(nil, db) // an atomic store: it takes no thread
			}
			mu.Unlock()
			select {
			case <-released:
			case <-again.C:
			}
		}
	})
	return sync.OnceFunc(func() {
		stop()
		mu.Lock()
		defer mu.Unlock()
		close(released)
	}), nil
}

// interruptEvery is how often a statement is interrupted until it ends.
const interruptEvery = 10 * time.Millisecond
