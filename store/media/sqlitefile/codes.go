package sqlitefile

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// errHot is ErrUnsettled where SQLite's locks tell that no writer is at work.
var errHot = fmt.Errorf("%w", ErrUnsettled)

// explainError puts SQLite's own error codes into the package's errors.
func explainError(err error) error {
	coded, ok := errors.AsType[*driver.Error](err)
	if !ok {
		return err
	}
	switch coded.Code() {
	case lib.SQLITE_READONLY_RECOVERY, lib.SQLITE_READONLY_ROLLBACK, lib.SQLITE_PROTOCOL:
		// A writer was killed in a commit, or between changing the log and its index.
		return fmt.Errorf("%w (%w)", errHot, err)
	}
	switch coded.Code() & 0xff {
	case lib.SQLITE_NOTADB:
		return ErrNotSQLite
	case lib.SQLITE_CANTOPEN, lib.SQLITE_PERM, lib.SQLITE_READONLY:
		return fmt.Errorf("%w (%w)", syscall.EACCES, err)
	case lib.SQLITE_CORRUPT:
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	case lib.SQLITE_BUSY:
		return fmt.Errorf("%w (%w)", ErrBusy, err)
	case lib.SQLITE_TOOBIG:
		return fmt.Errorf("%w (%w)", ErrTooLarge, err)
	case lib.SQLITE_FULL:
		return fmt.Errorf("%w (%w)", syscall.ENOSPC, err)
	}
	return err
}

// halfThere reports whether SQLite found no log, or an index of it that is not ready.
func halfThere(err error) bool {
	coded, ok := errors.AsType[*driver.Error](err)
	return isCode(err, lib.SQLITE_CANTOPEN) || ok && coded.Code() == lib.SQLITE_READONLY_CANTINIT
}

// isCode reports whether an error is one of SQLite with that primary code.
func isCode(err error, code int) bool {
	coded, ok := errors.AsType[*driver.Error](err)
	return ok && coded.Code()&0xff == code
}

// preferContext returns the context's error for one of SQLite that only says that
// the context ended. A statement that is interrupted while it is prepared has a general
// code: "expected 0 columns".
func preferContext(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil && (isCode(err, lib.SQLITE_INTERRUPT) || isCode(err, lib.SQLITE_ERROR)) {
		return ended
	}
	return err
}
