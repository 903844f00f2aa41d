package pg

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

var (
	// ErrAddress: the URL cannot be read.
	ErrAddress = errors.New("it is no address of a PostgreSQL database")
	// ErrUnreachable: no server answers there, or it went away.
	ErrUnreachable = errors.New("the PostgreSQL server cannot be reached")
	// ErrDenied: the server lets this user not in, or not at the tables. It is an fs.ErrPermission.
	ErrDenied = errors.New("the PostgreSQL server does not allow it")
	// ErrNoDatabase: the server has no database of that name.
	ErrNoDatabase = errors.New("there is no such database")
	// ErrReadOnly: the server takes no writes.
	ErrReadOnly = errors.New("the PostgreSQL server is read-only")
	// ErrBusy: another program has held what was to be changed for too long.
	ErrBusy = errors.New("another program is writing to the store")
	// ErrOutcome: the connection was lost while COMMIT was under way. The write may have happened.
	ErrOutcome = errors.New("the connection was lost during COMMIT: look whether it was written")
)

// Error is an error that the server answered a statement with.
type Error struct {
	// Code is the SQLSTATE, Message the server's text.
	Code, Message string
	is            error
	remedy        string
}

// answers maps prefixes of codes to errors and remedies. The first prefix that matches counts.
var answers = []struct {
	code   string
	is     error
	remedy string
}{
	{"28", ErrDenied, "look at the user and the password: in the URL, in PGUSER and PGPASSWORD, or in ~/.pgpass"},
	{"42501", ErrDenied, "reading needs SELECT on the tables, to plan a write needs TEMPORARY on the database, and to write needs INSERT, UPDATE and DELETE"},
	{"3D000", ErrNoDatabase, "look at the name behind the last slash"},
	{"25006", ErrReadOnly, "connect to the primary server"},
	{"55P03", ErrBusy, ""},
	{"40001", ErrBusy, ""},
	{"40P01", ErrBusy, ""},
	{"53300", ErrUnreachable, "it has too many connections: try again later"},
	{"57P03", ErrUnreachable, "it is starting or stopping: try again in a moment"},
	{"57P0", ErrUnreachable, "it ended the connection: try again in a moment"},
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%.300s (SQLSTATE %s)", e.Message, e.Code)
	if e.is != nil {
		text = e.is.Error() + ": " + text
	}
	if e.remedy != "" {
		text += ": " + e.remedy
	}
	return text
}

// Is makes errors.Is hold for the errors of this package, and fs.ErrPermission for ErrDenied.
func (e *Error) Is(target error) bool {
	return e.is != nil && (target == e.is || e.is == ErrDenied && target == fs.ErrPermission)
}

// Code returns the SQLSTATE of an error, "" where it is no answer of the server.
func Code(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}

// isConflict reports whether an error says that transactions crossed each other.
func isConflict(err error) bool { return Code(err) == "40001" || Code(err) == "40P01" }

// explainError puts the driver's errors into those of the package. None shows a password, or the URL.
func explainError(err error) error {
	if err == nil || Code(err) != "" || errors.Is(err, ErrUnreachable) {
		return err
	}
	if answer, ok := errors.AsType[*pgconn.PgError](err); ok {
		e := &Error{Code: answer.Code, Message: plainText(answer.Message)}
		for _, a := range answers {
			if strings.HasPrefix(e.Code, a.code) {
				e.is, e.remedy = a.is, a.remedy
				break
			}
		}
		return e
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		if errors.Is(err, context.Canceled) {
			return context.Canceled
		}
		return unreachableError(err)
	}
	return err
}

// preferContext returns the context's error if err only reports that the context ended.
func preferContext(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil && Code(err) == "57014" {
		return ended
	}
	return err
}

// unreachableError says that a server is not there.
func unreachableError(err error) error {
	if errors.Is(err, ErrUnreachable) {
		return err
	}
	return fmt.Errorf("%w: %s: look at the host, the port and sslmode", ErrUnreachable, plainText(leafError(err).Error()))
}

// leafError returns the error that others were wrapped around, the first of several.
func leafError(err error) error {
	for {
		switch e := err.(type) {
		case interface{ Unwrap() error }:
			if e.Unwrap() == nil {
				return err
			}
			err = e.Unwrap()
		case interface{ Unwrap() []error }:
			if len(e.Unwrap()) == 0 {
				return err
			}
			err = e.Unwrap()[0]
		default:
			return err
		}
	}
}

// plainText returns a text of the server's without control characters.
func plainText(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
}
