package sqlitefile

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/store/media/column"
)

const keyedTable = "CREATE TABLE t (a INTEGER NOT NULL, b INTEGER NOT NULL, c ANY, d TEXT, PRIMARY KEY (a, b)) STRICT, WITHOUT ROWID"

// keyedFile makes a file of such pages, with a table of some runs of rows.
func keyedFile(t *testing.T, r *rand.Rand, pageSize int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.db")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	do := func(query string, args ...any) {
		t.Helper()
		if _, err := db.Exec(query, args...); err != nil {
			t.Fatal(err)
		}
	}
	do(fmt.Sprintf("PRAGMA page_size = %d", pageSize))
	do(keyedTable)
	do("BEGIN")
	for a := range 3 {
		b := -r.Int64N(10)
		for range []int{0, 1, 40, 3000}[r.IntN(4)] {
			b += 1 + r.Int64N(1<<r.IntN(40))
			do("INSERT INTO t VALUES (?, ?, ?, ?)", a-1, b, anyValue(r), anyText(r))
		}
	}
	do("COMMIT")
	return path
}

func anyValue(r *rand.Rand) any {
	switch r.IntN(6) {
	case 0:
		return nil
	case 1:
		return r.Float64()
	case 2:
		return bytes.Repeat([]byte{1}, r.IntN(100))
	case 3:
		return anyText(r)
	}
	return (r.Int64() >> r.IntN(64)) - int64(r.IntN(2))
}

func anyText(r *rand.Rand) string {
	return strings.Repeat("é", r.IntN(1<<[]int{1, 5, 5, 5, 12}[r.IntN(5)]))
}

// keyed returns the rows of a run as Keyed gives them, and as SQLite does.
func keyed(t *testing.T, tx *Tx, key, after int64) (got, want [][]column.Value, err error) {
	t.Helper()
	err = tx.Keyed(t.Context(), "t", key, after, func(row []column.Value) error {
		got = append(got, slices.Clone(row))
		return nil
	})
	failed := tx.Each(t.Context(), func(scan func(...any) error) error {
		var a, b, c, d any
		err := scan(&a, &b, &c, &d)
		want = append(want, []column.Value{column.Of(a), column.Of(b), column.Of(c), column.Of(d)})
		return err
	}, "SELECT a, b, c, d FROM t WHERE a = ? AND b > ? ORDER BY b", key, after)
	return got, want, errors.Join(err, failed)
}

// TestKeyed: the rows are those that SQLite returns, whatever the size of the pages and
// the values are, where rows go on on other pages, and before a transaction commits.
func TestKeyed(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for i := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, i))
		pageSize := 512 << r.IntN(8)
		f := NewOwn(keyedFile(t, r, pageSize), "", nil)
		compare := func(tx *Tx) error {
			for key := int64(-2); key < 3; key++ {
				for _, after := range []int64{-1 << 63, 0, r.Int64N(1 << 30), r.Int64N(1 << 45)} {
					got, want, err := keyed(t, tx, key, after)
					if err != nil {
						return err
					}
					if !slices.EqualFunc(got, want, slices.Equal[[]column.Value]) {
						t.Errorf("pages of %d: %d rows of %d after %d instead of %d", pageSize, len(got), key, after, len(want))
					}
				}
			}
			return nil
		}
		if err := f.Read(t.Context(), compare); err != nil {
			t.Fatal(err)
		}
		err := f.Write(t.Context(), func(tx *Tx) error {
			for n := range 500 {
				if _, err := tx.Exec(t.Context(), "INSERT OR REPLACE INTO t VALUES (1, ?, ?, ?)", n*7, anyValue(r), anyText(r)); err != nil {
					return err
				}
			}
			return compare(tx)
		})
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestKeyed_damagedPages: whatever the bytes of a file are, the reading ends.
func TestKeyed_damagedPages(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	whole, err := os.ReadFile(keyedFile(t, r, 512))
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		damaged := slices.Clone(whole)
		for range 1 + r.IntN(40) {
			at := 512 + r.IntN(max(len(damaged)-512, 1))
			if at >= len(damaged) {
				break
			}
			if r.IntN(2) == 0 { // where the header of a page is
				at = at/512*512 + r.IntN(20)
			}
			damaged[at] = byte(r.IntN(256))
		}
		path := filepath.Join(t.TempDir(), "file.db")
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		f := New(path, nil)
		last := int64(-1 << 63)
		_ = f.Read(t.Context(), func(tx *Tx) error {
			return tx.Keyed(t.Context(), "t", 0, last, func(row []column.Value) error {
				if len(row) < 2 || row[0] != (column.Value{Kind: column.Integer}) || row[1].Int <= last {
					t.Errorf("row %v after %d", row[:min(2, len(row))], last)
				}
				last = row[1].Int
				return nil
			})
		})
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
