package kinds_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/sqlitefile"
	"hindcast/store/storetest"
)

// A write that was broken off leaves SQLite's own journal. What Hindcast left in another
// program's database it takes back when the store is opened; what that program left is for
// that program to settle, and no kind touches it.
func TestRows_openBehindAWriteThatWasBrokenOff(t *testing.T) {
	t.Parallel()
	path := storetest.Copy(t, filepath.Join(testdata, "langgraph/agent.db"))
	foreign, own := abandoned(t, path), abandoned(t, path)
	tables := storetest.Tables(t, path)

	before, err := os.ReadFile(foreign)
	if err != nil {
		t.Fatal(err)
	}
	_, err = allKinds.Open(t.Context(), foreign)
	if !errors.Is(err, store.ErrUnrecognised) || !strings.Contains(err.Error(), "another program left a write unfinished") {
		t.Errorf("the program broke its write off: %v", err)
	}
	if after, err := os.ReadFile(foreign); err != nil || !bytes.Equal(before, after) {
		t.Error("the file was settled, which is not Hindcast's to do")
	}

	open := func(path string) store.Store {
		s, err := allKinds.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	s := open(path)
	headers := storetest.Headers(t, s, "tour")
	plan, err := s.(store.Writer).Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: headers[len(headers)/2].Ref()})
	if err == nil {
		_, err = s.(store.Writer).Apply(t.Context(), plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	journal, err := os.ReadFile(path + sqlitefile.Beside)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(journal, []byte("\n"))
	intent := bytes.Join(lines[:len(lines)-2], nil) // the last line says that it is done
	if err := os.WriteFile(own+sqlitefile.Beside, intent, 0o600); err != nil {
		t.Fatal(err)
	}

	if kind := open(own).Kind(); kind != "langgraph" {
		t.Errorf("it opens as %s", kind)
	}
	if storetest.Tables(t, own) != tables {
		t.Error("what was broken off is still in the tables")
	}
}

// abandoned returns a copy of a database, with the journals beside it, that a program left
// which was killed amid a transaction.
func abandoned(t *testing.T, path string) string {
	t.Helper()
	left := filepath.Join(t.TempDir(), filepath.Base(path))
	file := sqlitefile.NewOwn(path, "&_pragma=journal_mode(DELETE)&_pragma=cache_size(1)", nil)
	killed := errors.New("killed")
	err := file.Write(t.Context(), func(tx *sqlitefile.Tx) error {
		if _, err := tx.Exec(t.Context(), "UPDATE checkpoints SET metadata = zeroblob(100000)"); err != nil {
			return err
		}
		for _, beside := range []string{"", "-journal"} {
			data, err := os.ReadFile(path + beside)
			if err == nil {
				err = os.WriteFile(left+beside, data, 0o600)
			}
			if err != nil {
				return err
			}
		}
		long := time.Now().Add(-time.Minute) // a writer at work would be waited for
		return errors.Join(killed, os.Chtimes(left+"-journal", long, long))
	})
	if closed := file.Close(); !errors.Is(err, killed) || closed != nil {
		t.Fatal(err, closed)
	}
	return left
}
