package pg

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	mathrand "math/rand/v2"
	"slices"
	"time"
)

// Own is a database in which this program has tables of its own, and many processes of it write
// at the same time. It differs from [Server] in how it writes:
//
//   - Each statement sees what was committed before it began (READ COMMITTED): a transaction that waited for
//     the lock of a row sees the row as the one before left it, and need not begin anew.
//   - [Tx.Later] puts statements off, and COMMIT goes out with the last of them.
//   - A transaction leaves a mark that only its connection leaves. When the connection is lost
//     while COMMIT is under way, the mark says whether it happened: what was committed is not written again,
//     and what was not is.
//   - A server that went away is waited for, and so is a program that holds what is to be changed.
//   - The server keeps the statements that a connection runs again, parsed and planned, unless a pooler is between.
type Own struct {
	*Server
	terms Terms
}

// Terms are the statements of an [Own] that depend on its tables; "" means no statement. Without marks
// a COMMIT whose answer is lost is ErrOutcome.
type Terms struct {
	// Setup is run at the beginning of each transaction.
	Setup []string
	// Mark leaves the mark ?2 for the connection ?1. Marked returns the mark that it left last, and
	// waits for the transaction that may be leaving one.
	Mark, Marked string
	// Forget removes marks that are of no use any more. Each connection runs it once.
	Forget string
	// Tell is run at the end of each transaction that writes, and tells others of it.
	Tell string
	// Raced is the error after which a transaction is run again, besides those of the server.
	Raced error
	// Patience is how long a server that went away is waited for, and a lock that another program holds;
	// 0 is 30 seconds.
	Patience time.Duration
}

const (
	beginOwn = "BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE"
	// ownAttempts is how often a transaction is tried that others cross.
	ownAttempts = 20
	ownPatience = 30 * time.Second
	// longestWait is the longest pause between two attempts.
	longestWait = time.Second
)

// Own returns the database as one of this program's. To close one closes the other.
func (s *Server) Own(terms Terms) *Own {
	if terms.Patience == 0 {
		terms.Patience = ownPatience
	}
	return &Own{s, terms}
}

// beginStatements is how a transaction begins that may write.
func (o *Own) beginStatements() []string {
	locks := fmt.Sprint("SET LOCAL lock_timeout = ", min(max(1, o.terms.Patience.Milliseconds()), math.MaxInt32))
	return append([]string{beginOwn, locks}, o.terms.Setup...)
}

// Read runs what in one transaction, as that of Server does.
func (o *Own) Read(ctx context.Context, what func(*Tx) error) error {
	return o.rolledBack(ctx, func(t *Tx) error {
		t.keeps = true
		return what(t)
	}, append([]string{beginRead}, o.terms.Setup...)...)
}

// Write runs what in one transaction: all of it or nothing, and nothing twice. It runs it again where
// others crossed it, and where the connection was lost before the transaction was committed.
func (o *Own) Write(ctx context.Context, what func(*Tx) error) error {
	return o.writeTimes(ctx, ownAttempts, what)
}

// WriteOnce is Write for a function that cannot run again once it has begun.
func (o *Own) WriteOnce(ctx context.Context, what func(*Tx) error) error {
	return o.writeTimes(ctx, 1, what)
}

func (o *Own) writeTimes(ctx context.Context, attempts int, what func(*Tx) error) error {
	began, pause := time.Now(), 2*time.Millisecond
	for crossings, fresh := 0, false; ; {
		begun := false
		err := o.writeOwn(ctx, fresh, func(t *Tx) error {
			begun = true
			return what(t)
		})
		fresh = errors.Is(err, ErrUnreachable)
		switch {
		case err == nil || ctx.Err() != nil:
			return err
		case begun && attempts == 1:
			return err
		case fresh && time.Since(began) < o.terms.Patience:
		case isConflict(err) || o.terms.Raced != nil && errors.Is(err, o.terms.Raced):
			if crossings++; crossings == attempts {
				return err
			}
		default:
			return err
		}
		if !sleep(ctx, pause/2+mathrand.N(pause)) {
			return err
		}
		pause = min(2*pause, longestWait)
	}
}

// sleep waits, and reports whether ctx did not end meanwhile.
func sleep(ctx context.Context, pause time.Duration) bool {
	wait := time.NewTimer(pause)
	defer wait.Stop()
	select {
	case <-wait.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// writeOwn is one attempt of Write. After ErrUnreachable nothing was written.
func (o *Own) writeOwn(ctx context.Context, fresh bool, what func(*Tx) error) error {
	c, err := o.acquireConn(ctx, fresh)
	if err != nil {
		return err
	}
	defer o.releaseConn(c)
	t := c.newTx(o.beginStatements()...)
	t.keeps = true
	if err = preferContext(ctx, explainError(what(t))); err == nil {
		err = ctx.Err()
	}
	switch {
	case err != nil && c.pg.IsClosed() && ctx.Err() == nil:
		return unreachableError(err)
	case err != nil:
		return err
	}
	if len(t.begin) > 0 && len(t.later) == 0 { // it asked for nothing
		return nil
	}
	if c.name == "" {
		c.name = rand.Text()
	}
	c.marks++
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTime)
	defer cancel()
	err = o.commitRest(bounded, t)
	if err == nil || !c.pg.IsClosed() {
		return err
	}
	happened, unknown := false, error(nil)
	if o.terms.Marked != "" {
		happened, unknown = o.isCommitted(ctx, c)
	}
	switch {
	case unknown != nil || o.terms.Marked == "":
		return fmt.Errorf("%w (%w)", ErrOutcome, errors.Join(err, unknown))
	case happened:
		return nil
	}
	return unreachableError(err)
}

// commitRest sends what is left, and COMMIT. Where one of the statements fails the server skips those behind it.
func (o *Own) commitRest(ctx context.Context, t *Tx) error {
	var queries []Query
	if t.c.marks == 1 {
		queries = append(queries, Query{SQL: o.terms.Forget})
	}
	queries = append(queries, Query{SQL: o.terms.Mark, Args: []any{t.c.name, t.c.marks}}, Query{SQL: o.terms.Tell}, Query{SQL: "COMMIT"})
	queries = slices.DeleteFunc(queries, func(q Query) bool { return q.SQL == "" })
	results, err := t.sendQueries(ctx, queries)
	if err != nil {
		return explainError(err)
	}
	tag := ""
	for results.NextResult() {
		done, err := results.ResultReader().Close()
		if err != nil {
			break // Close has it
		}
		tag = done.String()
	}
	if err := results.Close(); err != nil {
		return explainError(err)
	}
	if tag != "COMMIT" {
		return errRolledBack
	}
	return nil
}

// isCommitted reports whether the last transaction of a connection, which was lost, was committed.
func (o *Own) isCommitted(ctx context.Context, lost *conn) (yes bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(commitTime, o.terms.Patience))
	defer cancel()
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, longestWait) {
		if yes, err = o.findMark(ctx, lost); err == nil {
			return yes, nil
		}
		if !sleep(ctx, pause) {
			return false, err
		}
	}
}

// findMark looks once.
func (o *Own) findMark(ctx context.Context, lost *conn) (bool, error) {
	c, err := o.acquireConn(ctx, true)
	if err != nil {
		return false, err
	}
	defer o.releaseConn(c)
	t := c.newTx(o.beginStatements()...)
	last := int64(math.MinInt64)
	_, err = t.First(ctx, []any{&last}, o.terms.Marked, lost.name)
	return last == lost.marks, err
}
