package pg

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"hindcast/store/media/pg/pgtest"
	"hindcast/store/storetest/skip"
)

// counts runs two statements in three transactions, and returns how many the server keeps for the connection.
func counts(t *testing.T, o *Own) (kept int) {
	t.Helper()
	for i := range 3 {
		rows := 0
		err := o.Write(t.Context(), func(tx *Tx) error {
			for n := range 3 {
				text := any(fmt.Sprint(n))
				if n == 0 {
					text = nil
				}
				if err := tx.Later("INSERT INTO things (i, n, word) VALUES (?, ?, ?)", i, n, text); err != nil {
					return err
				}
			}
			if err := tx.Row(t.Context(), "SELECT count(*) FROM things WHERE i = ?1 AND coalesce(word, '0') = n::text", i).Scan(&rows); err != nil {
				return err
			}
			return tx.Row(t.Context(), "SELECT count(*) FROM pg_prepared_statements").Scan(&kept)
		})
		if err != nil || rows != 3 {
			t.Fatal(rows, err)
		}
	}
	return kept
}

// The server keeps the statements that come again, those that failed too.
func TestOwn_keepsStatements(t *testing.T) {
	c := pgtest.SharedCluster(t)
	s, address := server(t, c)
	c.Exec(t, address, "CREATE TABLE things (i bigint, n bigint, word text)")
	o := s.Own(Terms{})
	if kept := counts(t, o); kept != 3 {
		t.Errorf("the server keeps %d statements", kept)
	}
	for range 3 {
		err := o.Write(t.Context(), func(tx *Tx) error {
			_, err := tx.Exec(t.Context(), "INSERT INTO nothing VALUES (?)", 1)
			return err
		})
		if Code(err) != "42P01" {
			t.Error(err)
		}
	}
	c.Exec(t, address, "CREATE TABLE nothing (i bigint)")
	err := o.Write(t.Context(), func(tx *Tx) error {
		for range 3 {
			if _, err := tx.Exec(t.Context(), "INSERT INTO nothing VALUES (?)", 1); err != nil {
				return err
			}
		}
		return nil
	})
	if n := count(t, s, "SELECT count(*) FROM nothing"); err != nil || n != 3 {
		t.Error(n, err)
	}
}

// Behind a pooler that hands on transactions nothing is kept, for the next one may be in another process.
func TestOwn_keepsNothingBehindAPooler(t *testing.T) {
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		skip.Missing(t, "there is no pgbouncer")
	}
	c := pgtest.SharedCluster(t)
	address := c.Database(t)
	c.Exec(t, address, "CREATE TABLE things (i bigint, n bigint, word text)")
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	pooler := l.Addr().(*net.TCPAddr)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	settings := fmt.Sprintf(`[databases]
* = host=%s port=%s user=%s password=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
`, u.Hostname(), u.Port(), u.User.Username(), pgtest.Password, pooler.Port)
	file := filepath.Join(dir, "pgbouncer.ini")
	if err := errors.Join(os.WriteFile(file, []byte(settings), 0o644), os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, file)
	if os.Getuid() == 0 {
		cmd = exec.CommandContext(t.Context(), program, "-u", "nobody", file)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // the end of the test's context ended it
	u.Host = pooler.String()
	var o *Own
	for began := time.Now(); ; {
		o = connect(t, u.String()).Own(Terms{Patience: 100 * time.Millisecond})
		err := o.Read(t.Context(), func(tx *Tx) error { return tx.Row(t.Context(), "SELECT 1").Scan(new(int)) })
		if err == nil {
			break
		}
		if !errors.Is(err, ErrUnreachable) || time.Since(began) > 20*time.Second {
			t.Fatal(err)
		}
	}
	if kept := counts(t, o); kept != 0 {
		t.Errorf("the server keeps %d statements", kept)
	}
}
