// Package pg reads and writes tables in a database on a PostgreSQL server, as package
// sqlitefile does those in a file of SQLite. It knows no kind of store.
//
// [Server.Read] is one transaction that sees one state of the database and cannot write.
// [Server.Write] is one that writes all or nothing. [Server.Suppose] may make temporary views, which
// only its own connection sees, and is always rolled back.
//
// Over a network each answer takes as long as the way there and back. So BEGIN goes out with the first
// statement, and with it the end of a transaction that only read; no statement is prepared on a way of its own,
// and [Tx.Ask] sends several statements at once:
//
//	Read with n statements    n ways
//	Write with n statements   n + 1 ways, the last is COMMIT's
//	a new connection          1 for TCP, 1 or 2 for TLS, and up to 3 for the password
//
// Statements are written as for SQLite: "?" stands for the next argument and "?3" for the third.
package pg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgtype"
)

// Schemes are the schemes of URLs that name a database.
var Schemes = []string{"postgres", "postgresql"}

// IsURL reports whether an address is the URL of a database.
func IsURL(address string) bool {
	scheme, _, is := strings.Cut(address, "://")
	return is && slices.Contains(Schemes, scheme)
}

const (
	// mostConnections is how many connections there are at once. Those that follow changes are not counted.
	mostConnections = 4
	// connectTime bounds how long a connection may take to be made, unless the URL or PGCONNECT_TIMEOUT say.
	connectTime = 10 * time.Second
	// commitTime bounds the wait for the outcome of a COMMIT.
	commitTime = 30 * time.Second
	// attempts is how often a transaction is tried that others cross.
	attempts = 6
)

// Server is a database on a server, with the connections to it. It is safe for concurrent use.
type Server struct {
	config *pgconn.Config
	shown  string

	free chan struct{} // has a value for each connection that may still be made or taken
	mu   sync.Mutex
	idle []*conn
	done context.Context
	end  context.CancelFunc
}

// New returns the database that a URL names, as libpq and pgx read it: PGHOST and its like, ~/.pgpass,
// and a service file say what the URL leaves out. It connects to nothing. The error is ErrAddress.
func New(address string) (*Server, error) {
	shown, err := HidePassword(address)
	if err != nil {
		return nil, err
	}
	config, err := pgconn.ParseConfig(address)
	if err != nil {
		// The error would show the URL; what is wrong with it is behind that.
		return nil, fmt.Errorf("%s: %w: %v", shown, ErrAddress, leafError(err))
	}
	if os.Getenv("PGCONNECT_TIMEOUT") == "" && !strings.Contains(address, "connect_timeout=") {
		config.ConnectTimeout = connectTime
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "hindcast"
	}
	// What is given up is cancelled on the server, and the connection can go on. A statement that is
	// answered at once is let go: to cancel one takes a tenth of a second.
	config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, CancelRequestDelay: 20 * time.Millisecond, DeadlineDelay: time.Second}
	}
	s := &Server{config: config, shown: shown, free: make(chan struct{}, mostConnections)}
	for range mostConnections {
		s.free <- struct{}{}
	}
	s.done, s.end = context.WithCancel(context.Background())
	return s, nil
}

// HidePassword returns the URL of a database without its password, for titles, errors and notes. The error is
// ErrAddress, and shows no part of the address that may belong to the password.
func HidePassword(address string) (string, error) {
	u, err := url.Parse(address)
	_, behind, _ := strings.Cut(strings.TrimPrefix(address, "postgresql://"), "/")
	switch {
	case !strings.ContainsAny(address, "@=") && !strings.Contains(address, "://"):
		return "", fmt.Errorf("%.100q: %w: write postgres://user@host/database", address, ErrAddress)
	case err != nil, !strings.Contains(address, "://"):
		return "", fmt.Errorf("%w: write postgres://user@host/database, and each of @ : / # ? in a password as %%40 and its like", ErrAddress)
	case u.Fragment != "", strings.Contains(u.Path+u.RawQuery, "@") && strings.Contains(behind, "@"):
		return "", fmt.Errorf("%w: write each of @ : / # ? in a password as %%40 and its like", ErrAddress)
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	query := u.Query()
	for name := range query {
		if strings.Contains(strings.ToLower(name), "password") {
			query.Del(name)
			u.RawQuery = query.Encode()
		}
	}
	return u.String(), nil
}

// String returns the URL without its password.
func (s *Server) String() string { return s.shown }

// Place returns the host, the port and the name of the database, which tell databases apart.
func (s *Server) Place() (host, port, database string) {
	return s.config.Host, fmt.Sprint(s.config.Port), cmp.Or(s.config.Database, s.config.User)
}

// conn is a connection.
type conn struct {
	pg    *pgconn.PgConn
	types *pgtype.Map
	// settled is closed when the end of the last transaction is through.
	settled chan struct{}
	// lingers ends the last transaction, unless another one begins before: then that is its first statement.
	lingers *time.Timer
	used    bool
	// name and marks identify the transactions of an Own.
	name  string
	marks int64
	// known are the statements of the transactions of an Own.
	known known
}

func (s *Server) dialServer(ctx context.Context, config *pgconn.Config) (*conn, error) {
	pg, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return nil, explainError(err)
	}
	return &conn{pg: pg, types: pgtype.NewMap(), settled: closedChannel(), known: known{statements: map[string]*statement{}}}, nil
}

func closedChannel() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// lingerTime is how long a transaction that only read stays open behind its last statement.
const lingerTime = 30 * time.Millisecond

// newTx returns a transaction, which is begun by its first statement, and ended before where one still is.
func (c *conn) newTx(begin ...string) *Tx {
	if c.pg.TxStatus() != 'I' {
		begin = append([]string{"ROLLBACK"}, begin...)
	}
	return &Tx{c: c, begin: begin}
}

// acquireConn returns a connection, which the caller hands to releaseConn. The last transaction may be open on it
// still: begun ends it.
func (s *Server) acquireConn(ctx context.Context, fresh bool) (*conn, error) {
	if s.done.Err() != nil {
		return nil, errClosed
	}
	select {
	case <-s.free:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.done.Done():
		return nil, errClosed
	}
	for {
		c := s.takeIdle(fresh)
		if c == nil {
			c, err := s.dialServer(ctx, s.config)
			if err != nil {
				s.free <- struct{}{}
			}
			return c, err
		}
		if c.lingers != nil && c.lingers.Stop() {
			c.lingers, c.settled = nil, closedChannel()
			return c, nil
		}
		select {
		case <-c.settled:
		case <-ctx.Done():
			s.putBack(c) // as it is: its transaction is still ending
			return nil, ctx.Err()
		}
		if !c.pg.IsClosed() {
			return c, nil
		}
	}
}

// takeIdle returns an idle connection, nil if no connection is idle; fresh closes all idle connections.
func (s *Server) takeIdle(fresh bool) *conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if fresh {
		for _, c := range s.idle {
			s.hangUp(c)
		}
		s.idle = nil
	}
	if n := len(s.idle); n > 0 {
		c := s.idle[n-1]
		s.idle = s.idle[:n-1]
		return c
	}
	return nil
}

// hangUp ends a connection, and waits for nothing.
func (s *Server) hangUp(c *conn) {
	go func() {
		<-c.settled
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = c.pg.Close(ctx) // the server ends what is cut off
	}()
}

// releaseConn hands a connection back. One that is within a transaction ends it, which nothing waits for.
func (s *Server) releaseConn(c *conn) { s.releaseAfter(c, 0) }

// releaseAfter is release of a transaction that only read, which keeps nothing from others: it stays open
// for a while.
func (s *Server) releaseAfter(c *conn, lingers time.Duration) {
	if c.lingers = nil; !c.pg.IsClosed() && c.pg.TxStatus() != 'I' {
		settled := make(chan struct{})
		c.settled = settled
		c.lingers = time.AfterFunc(lingers, func() {
			defer close(settled)
			ctx, cancel := context.WithTimeout(context.Background(), commitTime)
			defer cancel()
			if _, err := c.pg.Exec(ctx, "ROLLBACK").ReadAll(); err != nil {
				_ = c.pg.Close(ctx) // it may not be used as it is
			}
		})
	}
	s.putBack(c)
}

// putBack has a connection taken again, once its last transaction has ended.
func (s *Server) putBack(c *conn) {
	s.mu.Lock()
	if s.done.Err() != nil {
		s.hangUp(c)
	} else {
		c.used = true
		s.idle = append(s.idle, c)
	}
	s.mu.Unlock()
	s.free <- struct{}{}
}

// Close lets go of all connections, and ends what Watch returned. What runs ends first.
func (s *Server) Close() error {
	s.end()
	s.takeIdle(true)
	return nil
}

// How transactions begin.
const (
	beginRead    = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
	beginSuppose = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ WRITE"
	beginWrite   = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ WRITE"
	patience     = "SET LOCAL lock_timeout = '5s'"
)

// Read runs what in one transaction, so that it sees one state of the database. It runs it again where
// a connection that was kept turns out to be lost.
func (s *Server) Read(ctx context.Context, what func(*Tx) error) error {
	return s.rolledBack(ctx, what, beginRead)
}

// Suppose is Read for a function that may make temporary tables and views: all is rolled back. It takes
// the right TEMPORARY of the database.
func (s *Server) Suppose(ctx context.Context, what func(*Tx) error) error {
	return s.rolledBack(ctx, what, beginSuppose, patience)
}

func (s *Server) rolledBack(ctx context.Context, what func(*Tx) error, begin ...string) error {
	for fresh := false; ; fresh = true {
		c, err := s.acquireConn(ctx, fresh)
		if err != nil {
			return err
		}
		err = preferContext(ctx, explainError(what(c.newTx(begin...))))
		lost, kept := c.pg.IsClosed(), c.used
		s.releaseAfter(c, lingerTime)
		switch {
		case err == nil || ctx.Err() != nil || !lost:
			return cmp.Or(err, ctx.Err())
		case fresh || !kept:
			return unreachableError(err)
		}
	}
}

// Write runs what in one transaction: all of it or nothing. It runs it again where another program wrote
// the same rows meanwhile, and where the connection was lost before COMMIT was sent. The error is ErrBusy where another
// program holds the rows for long, and ErrOutcome where no answer to COMMIT came.
func (s *Server) Write(ctx context.Context, what func(*Tx) error) (err error) {
	pause := 5 * time.Millisecond
	for attempt := 1; ; attempt++ {
		again := false
		if again, err = s.tryWrite(ctx, what, attempt > 1); err == nil || !again || attempt == attempts || ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
			return err
		}
		pause *= 2
	}
}

// tryWrite is one attempt of Write. It reports whether nothing was written and another may help.
func (s *Server) tryWrite(ctx context.Context, what func(*Tx) error, fresh bool) (again bool, err error) {
	c, err := s.acquireConn(ctx, fresh)
	if err != nil {
		return false, err
	}
	defer s.releaseConn(c)
	t := c.newTx(beginWrite, patience)
	if err = preferContext(ctx, explainError(what(t))); err == nil {
		err = ctx.Err()
	}
	switch {
	case err != nil && c.pg.IsClosed() && ctx.Err() == nil:
		return c.used, unreachableError(err)
	case err != nil:
		return isConflict(err), err
	case len(t.begin) > 0: // it asked for nothing
		return false, nil
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTime)
	defer cancel()
	results, err := c.pg.Exec(bounded, "COMMIT").ReadAll()
	switch err = explainError(err); {
	case err == nil && len(results) == 1 && results[0].CommandTag.String() == "COMMIT":
		return false, nil
	case err == nil:
		return false, errRolledBack
	case Code(err) == "" || c.pg.IsClosed():
		return false, fmt.Errorf("%w (%w)", ErrOutcome, err)
	}
	return isConflict(err), err
}

// errRolledBack: what a transaction ran ignored an error.
var errRolledBack = errors.New("the server rolled the transaction back")

var errClosed = fmt.Errorf("the store is closed: %w", fs.ErrClosed)
