package sqlitefile

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hindcast/store/storetest"
)

// written makes a database in WAL mode with a table of one row. It returns what wrote
// it, too, which is closed when the test ends.
func written(t testing.TB) (*File, *sql.DB) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "theirs.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = db.Exec("PRAGMA journal_mode = WAL; CREATE TABLE rows (n INTEGER); INSERT INTO rows VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	f := New(path, nil)
	t.Cleanup(func() {
		if err := errors.Join(f.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	})
	return f, db
}

// count returns how many rows a reader sees.
func count(t testing.TB, f *File) (n int) {
	t.Helper()
	err := f.Read(t.Context(), func(tx *Tx) error { return tx.Row(t.Context(), "SELECT count(*) FROM rows").Scan(&n) })
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Another program has the database open, has just written to it, or has ended: a reader
// sees the last row, and no file of the folder changes, comes or goes.
func TestFile_leavesNoTrace(t *testing.T) {
	if path := os.Getenv("HINDCAST_TEST_WRITES"); path != "" {
		writeOnDemand(t, path)
		return
	}
	f, writer := written(t)
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFile_leavesNoTrace$")
	cmd.Env = append(os.Environ(), "HINDCAST_TEST_WRITES="+f.Path())
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(out)
	order := func(what string) {
		t.Helper()
		_, err := fmt.Fprintln(in, what)
		line, readErr := said.ReadString('\n')
		if err != nil || readErr != nil || line != "done\n" {
			t.Fatalf("%s: the writer says %q, %v, %v", what, line, err, readErr)
		}
	}
	for i, step := range []struct {
		order string
		log   bool
	}{
		{"INSERT INTO rows VALUES (2)", true},
		{"INSERT INTO rows VALUES (3)", true},
		{"PRAGMA wal_checkpoint(TRUNCATE)", true},
		{"INSERT INTO rows VALUES (4)", true},
		{"close", false},
	} {
		order(step.order)
		if _, err := os.Stat(f.Path() + "-wal"); (err == nil) != step.log {
			t.Errorf("%s: the log: %v", step.order, err)
		}
		untouched := storetest.Untouched(t, filepath.Dir(f.Path()))
		want := min(i+2, 3) + min(i/3, 1)
		for range 3 {
			other := New(f.Path(), nil)
			if n, m := count(t, f), count(t, other); n != want || m != want {
				t.Errorf("%s: readers see %d and %d rows, want %d", step.order, n, m, want)
			}
			if err := other.Close(); err != nil {
				t.Error(err)
			}
		}
		untouched()
	}
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		t.Error(err)
	}
}

// writeOnDemand runs each statement that the standard input orders.
func writeOnDemand(t *testing.T, path string) {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	for orders := bufio.NewScanner(os.Stdin); orders.Scan(); {
		if orders.Text() == "close" {
			err = db.Close()
		} else {
			_, err = db.Exec(orders.Text())
		}
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("done")
	}
}

// A check that refuses a database is asked at each opening, and its error is that of
// the reading.
func TestFile_checkRefuses(t *testing.T) {
	f, _ := written(t)
	foreign := errors.New("foreign")
	refuses := New(f.Path(), func(ctx context.Context, tx *Tx) error { return foreign })
	if err := refuses.Read(t.Context(), func(*Tx) error { return nil }); !errors.Is(err, foreign) {
		t.Errorf("the reading: %v", err)
	}
	if err := refuses.Close(); err != nil {
		t.Error(err)
	}
	if err := refuses.Read(t.Context(), func(*Tx) error { return nil }); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// What is no database is named, and nothing changes beside it.
func TestFile_refusals(t *testing.T) {
	f, _ := written(t)
	dir := filepath.Dir(f.Path())
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	untouched := storetest.Untouched(t, dir)
	for path, want := range map[string]error{text: ErrNotSQLite, filepath.Join(dir, "none"): fs.ErrNotExist} {
		file := New(path, nil)
		err := file.Read(t.Context(), func(tx *Tx) error { return tx.Row(t.Context(), "SELECT count(*) FROM sqlite_schema").Scan(new(int)) })
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}
	untouched()
}

// A log that was copied without its index is read, and no file changes, comes or goes. What
// changes under the reading is read again.
func TestFile_logWithoutItsIndex(t *testing.T) {
	f, writer := written(t)
	if _, err := writer.Exec("PRAGMA wal_checkpoint; INSERT INTO rows VALUES (2)"); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "copied.db")
	old := time.Now().Add(-time.Hour)
	take := func() {
		t.Helper()
		for _, part := range []string{"", "-wal"} {
			content, err := os.ReadFile(f.Path() + part)
			if err == nil {
				err = os.WriteFile(path+part, content, 0o600)
			}
			if err = errors.Join(err, os.Chtimes(path+part, old, old)); err != nil {
				t.Fatal(err)
			}
		}
		old = old.Add(time.Minute)
	}
	take()
	untouched := storetest.Untouched(t, filepath.Dir(path))
	copied := New(path, nil)
	for range 2 {
		if n := count(t, copied); n != 2 {
			t.Errorf("%d rows, want 2", n)
		}
	}
	untouched()

	var seen []int
	err := copied.Read(t.Context(), func(tx *Tx) error {
		var n int
		err := tx.Row(t.Context(), "SELECT count(*) FROM rows").Scan(&n)
		if seen = append(seen, n); len(seen) == 1 {
			if _, err := writer.Exec("INSERT INTO rows VALUES (3)"); err != nil {
				return err
			}
			take()
		}
		return err
	})
	if err != nil || !slices.Equal(seen, []int{2, 3}) {
		t.Errorf("readings saw %v rows, %v", seen, err)
	}
	untouched = storetest.Untouched(t, filepath.Dir(path))
	if err := copied.Close(); err != nil {
		t.Error(err)
	}
	untouched()
}

// Within one process, those who only read beside a writer do not keep it from writing.
func TestFile_amendsWhileOthersRead(t *testing.T) {
	theirs, _ := written(t)
	// A copy of all three files, since a writer in this process would let others write.
	f := New(filepath.Join(t.TempDir(), "copied.db"), nil)
	for _, part := range []string{"", "-wal", "-shm"} {
		content, err := os.ReadFile(theirs.Path() + part)
		if err == nil {
			err = os.WriteFile(f.Path()+part, content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for ctx.Err() == nil {
				other := New(f.Path(), nil)
				if n := count(t, other); n == 0 {
					t.Error("a reading finds no row")
				}
				if err := other.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 50 {
		if err := f.Amend(t.Context(), func(tx *Tx) error {
			_, err := tx.Conn().ExecContext(t.Context(), "INSERT INTO rows VALUES (?)", i)
			return err
		}); err != nil {
			t.Errorf("write %d: %v", i, err)
		}
	}
	stop()
	readers.Wait()
}

// A writer that ends between the look at the files and their opening takes the index with it, or the log as well, and
// another may have begun a log without an index yet: each is a change of the file, not a refusal of the system.
func TestFile_writerEndsAtTheOpening(t *testing.T) {
	for name, gone := range map[string][]string{"the index": {"-shm"}, "both": {"-shm", "-wal"}, "all": {"-shm", "-wal", ""}} {
		t.Run(name, func(t *testing.T) {
			theirs, _ := written(t)
			f := New(filepath.Join(t.TempDir(), "copied.db"), nil)
			for _, part := range []string{"", "-wal", "-shm"} {
				content, err := os.ReadFile(theirs.Path() + part)
				if err == nil {
					err = os.WriteFile(f.Path()+part, content, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			how, seen, err := lookAt(f.Path())
			if how != beside || err != nil {
				t.Fatalf("opened with %q, %v", how, err)
			}
			for _, part := range gone {
				if err := os.Remove(f.Path() + part); err != nil {
					t.Fatal(err)
				}
			}
			h, err := newHandle(f.Path(), how, seen)
			if err != nil {
				t.Fatal(err)
			}
			err = f.runTransaction(t.Context(), h, h.beginReading(), func(*Tx) error { return nil })
			if blamed := f.blameChange(h, err); err == nil || !errors.Is(blamed, ErrChanged) {
				t.Errorf("%v is taken for %v", err, blamed)
			}
			if err := h.close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTx_scansBytes: values are scanned into bytes as database/sql scans them, and are not shared by rows.
func TestTx_scansBytes(t *testing.T) {
	f, _ := written(t)
	const query = "SELECT column1 FROM (VALUES (1), (2.5), (1e300), ('text'), (''), (x'00ff'), (x''), (NULL), ('last'))"
	err := f.Read(t.Context(), func(tx *Tx) error {
		var want, got [][]byte
		rows, err := tx.Conn().QueryContext(t.Context(), query)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var value []byte
			if err := rows.Scan(&value); err != nil {
				return err
			}
			want = append(want, value)
		}
		err = tx.Each(t.Context(), func(scan func(...any) error) error {
			var value []byte
			err := scan(&value)
			got = append(got, value)
			return err
		}, query)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q, not %q", got, want)
		}
		var first []byte
		if err := tx.Row(t.Context(), "SELECT 'alone'").Scan(&first); err != nil || string(first) != "alone" {
			t.Errorf("%q, %v", first, err)
		}
		return errors.Join(err, rows.Err())
	})
	if err != nil {
		t.Error(err)
	}
}
