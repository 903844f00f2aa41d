package sqlitefile

import "testing"

// What was made of a file is kept until the file changes, or another key is asked for. While
// a program has the file open, it is made each time.
func TestKeep(t *testing.T) {
	f, writer := written(t)
	made := 0
	keep := func(key string) (n int) {
		err := f.Read(t.Context(), func(tx *Tx) error {
			got, err := Keep(tx, key, func() (int, error) {
				made++
				var n int
				err := tx.Row(t.Context(), "SELECT count(*) FROM rows").Scan(&n)
				return n, err
			})
			n = got
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	insert := func() {
		if _, err := writer.Exec("INSERT INTO rows VALUES (1)"); err != nil {
			t.Fatal(err)
		}
	}
	hold := func(what string, got, want, times int) {
		t.Helper()
		if got != want || made != times {
			t.Errorf("%s: %d, made %d times, want %d and %d", what, got, made, want, times)
		}
	}
	hold("being written", keep("a"), 1, 1)
	hold("again", keep("a"), 1, 2)
	if _, err := writer.Exec("PRAGMA journal_mode = DELETE"); err != nil { // there is no log any more
		t.Fatal(err)
	}
	hold("at rest", keep("a"), 1, 3)
	hold("again", keep("a"), 1, 3)
	hold("another key", keep("b"), 1, 4)
	hold("the first key", keep("a"), 1, 5)
	insert()
	hold("one more row", keep("a"), 2, 6)
	hold("again", keep("a"), 2, 6)
}
