package sqlitefile

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hindcast/store/storetest"
)

// A statement ends when its context does, wherever it is: before its first row, between rows, in a
// transaction that writes, in a check of the file's own. The connection serves again.
func TestFile_endsWithItsContext(t *testing.T) {
	endless := "WITH RECURSIVE q(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM q) SELECT n FROM q"
	each := func(query string) func(context.Context, *Tx) error {
		return func(ctx context.Context, tx *Tx) error {
			return tx.Each(ctx, func(func(...any) error) error { return nil }, query)
		}
	}
	for name, what := range map[string]func(context.Context, *Tx) error{
		"before a row": each(endless + " WHERE n < 0"),
		"between rows": each(endless),
		"a sort":       each(endless + " ORDER BY -n"),
		"one row": func(ctx context.Context, tx *Tx) error {
			return tx.Row(ctx, "SELECT count(*) FROM ("+endless+")").Scan(new(int))
		},
		"records": func(ctx context.Context, tx *Tx) error {
			return tx.Records(ctx, func(map[string]any) error { return nil }, endless)
		},
		"a write": func(ctx context.Context, tx *Tx) error {
			_, err := tx.Exec(ctx, "INSERT INTO rows "+endless)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, _ := written(t)
			run := f.Read
			if name == "a write" {
				run = f.Amend
			}
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if err := run(ctx, func(tx *Tx) error { return what(ctx, tx) }); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the statement: %v", err)
			}
			if n := count(t, f); n != 1 {
				t.Errorf("%d rows afterwards, want 1", n)
			}
		})
	}
	t.Run("the check of a database", func(t *testing.T) {
		f, _ := written(t)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		checked := New(f.Path(), func(ctx context.Context, tx *Tx) error { return each(endless)(ctx, tx) })
		defer checked.Close()
		if err := checked.Read(ctx, func(*Tx) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the check: %v", err)
		}
	})
}

// What a reader waits for ends with its context, too: here a program that does not end its commit.
func TestFile_waitEndsWithItsContext(t *testing.T) {
	f := killedWriter(t, "DELETE")
	holder, err := sql.Open("sqlite", f.Path()+"?_pragma=locking_mode(EXCLUSIVE)")
	if err == nil {
		_, err = holder.Exec("BEGIN EXCLUSIVE; INSERT INTO rows VALUES (9)")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := f.Read(ctx, func(*Tx) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the reading: %v", err)
	}
}

// killedWriter returns a database with two rows, one of them on a page that a killed writer had
// already changed.
func killedWriter(t *testing.T, mode string) *File {
	t.Helper()
	dir := t.TempDir()
	path, left := filepath.Join(dir, "theirs.db"), filepath.Join(dir, "left.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	defer db.Close()
	for _, statement := range []string{
		"PRAGMA journal_mode = " + mode, "PRAGMA cache_size = 1", "CREATE TABLE rows (n)", "CREATE TABLE more (text)", "INSERT INTO rows VALUES (1), (2)",
		"INSERT INTO more SELECT randomblob(3000) FROM json_each('[1,2,3,4,5,6,7,8,9]')",
		"BEGIN", "DELETE FROM rows", "UPDATE more SET text = randomblob(2000)", "INSERT INTO more SELECT randomblob(30000) FROM more",
	} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	for _, part := range []string{"", "-journal", "-wal"} {
		data, err := os.ReadFile(path + part)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		long := time.Now().Add(-time.Minute)
		if err = errors.Join(err, os.WriteFile(left+part, data, 0o600), os.Chtimes(left+part, long, long)); err != nil {
			t.Fatal(err)
		}
	}
	f := New(left, nil)
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// What a killed writer left is read as SQLite settles it, and nothing is written. A copy of the
// files is given to SQLite, and every page compared.
func TestFile_readsWhatAKilledWriterLeft(t *testing.T) {
	for _, mode := range []string{"DELETE", "PERSIST", "TRUNCATE", "WAL"} {
		for _, cut := range []int64{0, 1, 9, 600, 4000, 5000, 30000} {
			t.Run(fmt.Sprintf("%s cut by %d", mode, cut), func(t *testing.T) {
				f := killedWriter(t, mode)
				beside := f.Path() + map[bool]string{true: "-wal", false: "-journal"}[mode == "WAL"]
				info, err := os.Stat(beside)
				if err == nil {
					err = os.Truncate(beside, max(info.Size()-cut, 0))
				}
				if err != nil {
					t.Fatal(err)
				}
				settling := filepath.Join(t.TempDir(), "settling.db")
				for _, part := range []string{"", strings.TrimPrefix(beside, f.Path())} {
					data, err := os.ReadFile(f.Path() + part)
					if err = errors.Join(err, os.WriteFile(settling+part, data, 0o600)); err != nil {
						t.Fatal(err)
					}
				}
				untouched := storetest.Untouched(t, filepath.Dir(f.Path()))
				got := pagesOf(t, f)
				untouched()
				db, err := sql.Open("sqlite", settling)
				if err == nil {
					_, err = db.Exec("PRAGMA user_version")
				}
				if err = errors.Join(err, db.Close()); err != nil {
					t.Fatal(err)
				}
				settled := New(settling, nil)
				defer settled.Close()
				if want := pagesOf(t, settled); got != want {
					t.Errorf("%d bytes of pages are not the %d that SQLite leaves", len(got), len(want))
				}
			})
		}
	}
}

// pagesOf returns all pages of a database, as a transaction sees them.
func pagesOf(t *testing.T, f *File) string {
	t.Helper()
	var all strings.Builder
	err := f.Read(t.Context(), func(tx *Tx) error {
		all.Reset()
		return tx.Each(t.Context(), func(scan func(...any) error) error {
			var page string
			err := scan(&page)
			all.WriteString(page)
			return err
		}, "SELECT data FROM sqlite_dbpage")
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// A journal may name a file that SQLite deletes when it rolls the journal back: no write begins
// then. Where that file is gone the journal counts no more.
func TestFile_superJournal(t *testing.T) {
	for name, there := range map[string]bool{"there": true, "gone": false} {
		t.Run(name, func(t *testing.T) {
			f := killedWriter(t, "DELETE")
			other := filepath.Join(t.TempDir(), "precious")
			if there {
				if err := os.WriteFile(other, []byte("precious"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			journal, err := os.OpenFile(f.Path()+"-journal", os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			end := []byte(other)
			sum := uint32(0)
			for _, c := range end {
				sum += uint32(c)
			}
			end = binary.BigEndian.AppendUint32(end, uint32(len(other)))
			end = append(binary.BigEndian.AppendUint32(end, sum), journalMagic...)
			_, err = journal.Write(end)
			if err = errors.Join(err, journal.Close()); err != nil {
				t.Fatal(err)
			}
			if there {
				if n := count(t, f); n != 2 {
					t.Errorf("%d rows, want 2", n)
				}
			}
			err = f.Amend(t.Context(), func(*Tx) error { return nil })
			if !errors.Is(err, ErrUnsettled) || !strings.Contains(err.Error(), other) {
				t.Errorf("the write: %v", err)
			}
			if _, err := os.Stat(other); there && err != nil {
				t.Errorf("the other file: %v", err)
			}
		})
	}
}

// A descriptor of our own does not end the locks that SQLite has on the file in this process.
func TestFile_ownDescriptorKeepsSQLitesLocks(t *testing.T) {
	f := killedWriter(t, "DELETE")
	if n := count(t, f); n != 2 {
		t.Fatalf("%d rows, want 2", n)
	}
	other := New(f.Path(), nil)
	defer other.Close()
	err := other.Amend(t.Context(), func(tx *Tx) error {
		if _, err := tx.Exec(t.Context(), "INSERT INTO rows VALUES (3)"); err != nil {
			return err
		}
		if err := f.Close(); err != nil { // with it goes the descriptor
			return err
		}
		if n := len(locks.list); n != 1 || len(locks.list[0].waiting) != 1 {
			return fmt.Errorf("%d files may be locked, %+v", n, locks.list[0])
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if n := count(t, other); n != 3 || len(locks.list) != 0 {
		t.Errorf("%d rows, want 3; %d files may be locked", n, len(locks.list))
	}
}

// A view and a virtual table are no tables.
func TestTx_Columns(t *testing.T) {
	f, writer := written(t)
	if _, err := writer.Exec("CREATE VIEW seen AS SELECT n FROM rows; CREATE VIRTUAL TABLE found USING fts5(n); CREATE TABLE Mixed (n, b AS (n + 1))"); err != nil {
		t.Fatal(err)
	}
	err := f.Read(t.Context(), func(tx *Tx) error {
		for name, want := range map[string]struct {
			columns int
			instead string
		}{"rows": {1, ""}, "ROWS": {1, ""}, "mixed": {1, ""}, "seen": {0, "a view"}, "Found": {0, "a virtual table"}, "none": {0, ""}} {
			has, err := tx.Columns(t.Context(), name)
			instead, wrong := tx.Instead(t.Context(), name)
			if err != nil || wrong != nil || len(has) != want.columns || instead != want.instead {
				t.Errorf("%s: %v, %q, %v, %v", name, has, instead, err, wrong)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
