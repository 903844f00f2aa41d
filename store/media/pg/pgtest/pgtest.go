// Package pgtest runs a PostgreSQL server for tests: a cluster of their own in a temporary folder, which
// goes with them. It takes the programs of the distribution, and no rights.
//
// A package whose tests use it has
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }
package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"hindcast/store/storetest/skip"
)

// Password is that of every role.
const Password = "s3cret-of-the-tests"

// Mode is how a server is stopped.
type Mode string

// Modes of pg_ctl, and Kill, which leaves the processes of its connections no time for anything.
const (
	Fast      Mode = "SIGINT"
	Immediate Mode = "SIGQUIT"
	Kill      Mode = "SIGKILL"
)

// Cluster is a server with its databases.
type Cluster struct {
	dir, bin string
	port     int
	as       *owner
	settings []string

	mu      sync.Mutex
	process *os.Process
	gone    chan struct{}
	last    atomic.Int64
}

var shared struct {
	sync.Mutex
	cluster *Cluster
	err     error
}

// Run runs the tests, and then stops the shared cluster. It returns the exit code.
func Run(m *testing.M) int {
	defer Stop()
	return m.Run()
}

// Stop stops the shared cluster. It is for a package that has more to do than Run.
func Stop() {
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster != nil {
		shared.cluster.remove()
	}
}

// SharedCluster returns the cluster that all tests of the process share. It does not bring to the disk what it writes.
// Without PostgreSQL the test is skipped, as skip.Missing does.
func SharedCluster(t testing.TB) *Cluster {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster == nil && shared.err == nil {
		shared.cluster, shared.err = start("fsync=off", "synchronous_commit=off", "full_page_writes=off")
	}
	return here(t, shared.cluster, shared.err)
}

// New returns a cluster of the test's own, for a test that stops it or wants other settings, such as "fsync=on".
func New(t testing.TB, settings ...string) *Cluster {
	t.Helper()
	c, err := start(append([]string{"fsync=off"}, settings...)...)
	if err == nil {
		t.Cleanup(c.remove)
	}
	return here(t, c, err)
}

var errNone = errors.New("there is no PostgreSQL: install the package postgresql")

func here(t testing.TB, c *Cluster, err error) *Cluster {
	t.Helper()
	if errors.Is(err, errNone) {
		skip.Missing(t, "%v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// programs returns the folder with the newest programs of PostgreSQL.
func programs() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path), nil
		}
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", errNone
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path)))) // no number is no version
		return n
	}
	newest := slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })
	return filepath.Dir(newest), nil
}

// accounts are users of the system that the server may run as.
var accounts = []string{"postgres", "daemon"}

// owner is the user that the server runs as, where root may not.
type owner struct{ uid, gid uint32 }

func another() (*owner, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range accounts {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errU := strconv.ParseUint(u.Uid, 10, 32)
		gid, errG := strconv.ParseUint(u.Gid, 10, 32)
		return &owner{uint32(uid), uint32(gid)}, errors.Join(errU, errG)
	}
	return nil, fmt.Errorf("PostgreSQL does not run as root, and there is none of the users %s", strings.Join(accounts, ", "))
}

func start(settings ...string) (c *Cluster, err error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	as, err := another()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		return nil, err
	}
	c = &Cluster{dir: dir, bin: bin, as: as, settings: settings}
	defer func() {
		if err != nil {
			c.remove()
		}
	}()
	if as != nil {
		if err = os.Chown(dir, int(as.uid), int(as.gid)); err != nil {
			return nil, err
		}
	}
	password := filepath.Join(dir, "password")
	if err = os.WriteFile(password, []byte(Password), 0o644); err != nil {
		return nil, err
	}
	if _, err = c.run("", "initdb", "-D", filepath.Join(dir, "data"), "-U", "postgres", "--pwfile", password, "-E", "UTF8", "--no-locale", "--no-sync",
		"--auth-local=trust", "--auth-host=scram-sha-256"); err != nil {
		return nil, err
	}
	return c, c.Start()
}

// run runs a program of PostgreSQL on some input, and returns what it prints.
func (c *Cluster) run(input, name string, args ...string) (string, error) {
	command := exec.Command(filepath.Join(c.bin, name), args...)
	command.Dir, command.Stdin = c.dir, strings.NewReader(input)
	command.SysProcAttr = c.as.attributes()
	var complaints strings.Builder
	command.Stderr = &complaints
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", name, err, complaints.String())
	}
	return string(out), nil
}

// Start starts the server that was stopped, at the port that it had.
func (c *Cluster) Start() error {
	for attempt := 1; ; attempt++ {
		chosen := c.port == 0
		err := c.start()
		if err == nil || attempt == 20 {
			return err
		}
		if chosen { // another program took it
			c.port = 0
		}
		time.Sleep(50 * time.Millisecond) // what a killed server left behind is still ending
	}
}

func (c *Cluster) start() error {
	if c.port == 0 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		c.port = l.Addr().(*net.TCPAddr).Port
		if err := l.Close(); err != nil {
			return err
		}
	}
	args := []string{"-D", filepath.Join(c.dir, "data"), "-k", c.dir, "-p", strconv.Itoa(c.port), "-c", "listen_addresses=127.0.0.1"}
	for _, setting := range c.settings {
		args = append(args, "-c", setting)
	}
	log, err := os.OpenFile(filepath.Join(c.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	command := exec.Command(filepath.Join(c.bin, "postgres"), args...)
	command.Dir, command.Stderr, command.Stdout = c.dir, log, log
	command.SysProcAttr = c.as.attributes()
	gone, started := make(chan struct{}), make(chan error)
	go func() {
		// The server ends with the thread that started it, and so with a test that is killed.
		runtime.LockOSThread()
		defer close(gone)
		err := command.Start()
		started <- err
		if err == nil {
			_ = command.Wait() // how it ended is in the log
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	c.mu.Lock()
	c.process, c.gone = command.Process, gone
	c.mu.Unlock()
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		p, err := pgconn.Connect(ctx, c.address("postgres", "postgres"))
		if err == nil {
			err = p.Close(ctx)
			cancel()
			return err
		}
		cancel()
		select {
		case <-gone:
			text, _ := os.ReadFile(filepath.Join(c.dir, "log"))
			return fmt.Errorf("the server ended: %w\n%s", err, text)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Stop stops the server.
func (c *Cluster) Stop(how Mode) error {
	c.mu.Lock()
	process, gone := c.process, c.gone
	c.process = nil
	c.mu.Unlock()
	if process == nil {
		return nil
	}
	if err := how.send(process); err != nil {
		return err
	}
	<-gone
	return nil
}

// Restart stops the server, and starts it again.
func (c *Cluster) Restart(how Mode) error {
	if err := c.Stop(how); err != nil {
		return err
	}
	return c.Start()
}

// Secure has the server of a cluster of the test's own take TLS, with a certificate and its key in PEM.
func (c *Cluster) Secure(t testing.TB, certificate, key []byte) {
	t.Helper()
	for name, text := range map[string][]byte{"server.crt": certificate, "server.key": key} {
		path := filepath.Join(c.dir, "data", name)
		err := os.WriteFile(path, text, 0o600)
		if err == nil && c.as != nil {
			err = os.Chown(path, int(c.as.uid), int(c.as.gid))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	c.settings = append(c.settings, "ssl=on")
	if err := c.Restart(Fast); err != nil {
		t.Fatal(err)
	}
}

// remove stops the server, and removes its folder. No test depends on that.
func (c *Cluster) remove() {
	_ = c.Stop(Immediate)
	_ = os.RemoveAll(c.dir)
}

func (c *Cluster) address(role, database string) string {
	return (&url.URL{Scheme: "postgres", User: url.UserPassword(role, Password), Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(c.port)), Path: "/" + database}).String()
}

// Database makes a database, and returns its URL for the superuser. Only roles that are granted it may make
// temporary tables there.
func (c *Cluster) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test%d", c.last.Add(1))
	c.Exec(t, c.address("postgres", "postgres"), "CREATE DATABASE "+name, "REVOKE TEMPORARY ON DATABASE "+name+" FROM PUBLIC")
	return c.address("postgres", name)
}

// Copy makes a database as another one is, to which nothing is connected, and returns its URL for the superuser.
func (c *Cluster) Copy(t testing.TB, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("test%d", c.last.Add(1))
	c.Exec(t, c.address("postgres", "postgres"), "CREATE DATABASE "+name+" TEMPLATE "+strings.TrimPrefix(u.Path, "/"))
	return c.address("postgres", name)
}

// Restore makes a database of a script that pg_dump wrote, and returns its URL for the superuser.
func (c *Cluster) Restore(t testing.TB, file string) string {
	t.Helper()
	script, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	address := c.Database(t)
	c.Load(t, address, string(script))
	return address
}

// Role makes a role with some grants, such as "SELECT ON ALL TABLES IN SCHEMA public", in the database of a
// URL, and returns the URL for the role.
func (c *Cluster) Role(t testing.TB, address string, grants ...string) string {
	t.Helper()
	role := "role_" + strings.ToLower(rand.Text()[:8])
	statements := []string{"CREATE ROLE " + role + " LOGIN PASSWORD '" + Password + "'"}
	for _, grant := range grants {
		statements = append(statements, "GRANT "+grant+" TO "+role)
	}
	c.Exec(t, address, statements...)
	return c.address(role, database(t, address))
}

// Superuser returns the URL of the same database for the superuser.
func (c *Cluster) Superuser(t testing.TB, address string) string {
	return c.address("postgres", database(t, address))
}

func database(t testing.TB, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(u.Path, "/")
}

// Exec runs statements in the database of a URL, each in a transaction of its own.
func (c *Cluster) Exec(t testing.TB, address string, statements ...string) {
	t.Helper()
	ctx := context.Background()
	p, err := pgconn.Connect(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range statements {
		if _, err := p.Exec(ctx, statement).ReadAll(); err != nil {
			t.Errorf("%.200s: %v", statement, err)
		}
	}
	if err := p.Close(ctx); err != nil {
		t.Error(err)
	}
}

// Rows returns each row of each table in the database of a URL.
func (c *Cluster) Rows(t testing.TB, address string) string {
	t.Helper()
	ctx := context.Background()
	p, err := pgconn.Connect(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(ctx)
	ask := func(query string) (values []string) {
		results, err := p.Exec(ctx, query).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		for _, row := range results[0].Rows {
			values = append(values, string(row[0]))
		}
		return values
	}
	var text strings.Builder
	for _, table := range ask("SELECT oid::regclass::text FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 1") {
		for _, row := range ask("SELECT r::text FROM " + table + " r ORDER BY 1") {
			fmt.Fprintln(&text, table, row)
		}
	}
	return text.String()
}

// Load runs a script as pg_dump writes them in the database of a URL.
func (c *Cluster) Load(t testing.TB, address, script string) {
	t.Helper()
	if _, err := c.run(script, "psql", "-q", "-X", "-v", "ON_ERROR_STOP=1", "-h", c.dir, "-p", strconv.Itoa(c.port), "-U", "postgres", "-d", database(t, address)); err != nil {
		t.Fatal(err)
	}
}
