package rows

import (
	"context"
	"errors"
	"os"
	"reflect"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store/media/files"
	"hindcast/store/media/sqlitefile"
	"hindcast/store/storetest"
	"hindcast/store/storetest/rowstest"
)

// countedLogs is the demo's format. It counts the sessions that are read.
type countedLogs struct {
	demo
	logs *int
}

func (c countedLogs) Log(ctx context.Context, t Tx, of Place, from string) (Log, error) {
	*c.logs++
	return c.demo.Log(ctx, t, of, from)
}

func TestSessions_areReadOnceOfAnUnchangedFile(t *testing.T) {
	logs, k := 0, demoKind
	k.Format, k.Cache = countedLogs{logs: &logs}, files.NewCache(t.TempDir())
	path := demoFile(t, "CREATE TABLE ballast (data)", "INSERT INTO ballast VALUES (zeroblob(5000000))")
	settle := func() { // as though nothing had been written for a while
		t.Helper()
		for _, name := range []string{path, path + "-wal"} {
			old := time.Now().Add(-time.Hour)
			if err := os.Chtimes(name, old, old); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
		}
	}
	// list lists in a store that was just opened, and reports whether a session was read.
	list := func() (list []model.SessionInfo, read bool) {
		t.Helper()
		logs = 0
		s := openDemo(t, k, path)
		list = storetest.Sessions(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return list, logs > 0
	}
	check := func(when string, sessions int, reads bool) {
		t.Helper()
		switch got, read := list(); {
		case len(got) != sessions || read != reads:
			t.Errorf("%s: %d sessions, some read: %v; want %d, %v", when, len(got), read, sessions, reads)
		case !reads:
			k := k
			k.Cache = nil
			if want := storetest.Sessions(t, openDemo(t, k, path)); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: listed from the note:\n%+v\nwant\n%+v", when, got, want)
			}
		}
	}
	settle()
	first, _ := list()
	n := len(first)
	check("unchanged", n, false)

	rowstest.Execute(t, path, entryRow("new", "", "n1", "", 900, "user", "one"))
	check("just written", n+1, true)
	settle()
	check("written a while ago", n+1, true)
	check("unchanged since", n+1, false)

	writer := sqlitefile.NewOwn(path, "&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)", nil)
	write := func(statement string) {
		t.Helper()
		if err := writer.Write(t.Context(), func(tx *sqlitefile.Tx) error {
			_, err := tx.Exec(t.Context(), statement)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	write(entryRow("newer", "", "n2", "", 901, "user", "two"))
	check("in a log just written", n+2, true)
	settle()
	check("in a log written a while ago", n+2, true)
	check("in the same log", n+2, false)
	write(entryRow("newest", "", "n3", "", 902, "user", "three"))
	check("in more of the log", n+3, true)
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
}

func FuzzParseList(f *testing.F) {
	f.Add(appendList(nil, "beside", []model.SessionInfo{{ID: "a", Kind: "k", Title: "t", Head: model.Point{ID: "h", Index: 3}, Snapshots: 4, Orphaned: -1, UpdatedAt: time.Unix(5, 6).UTC(), Size: 7}}))
	f.Fuzz(func(t *testing.T, text []byte) {
		if list, ok := parseList(text, "beside", "k"); ok && len(list) > 0 {
			if again, ok := parseList(appendList(nil, "beside", list), "beside", "k"); !ok || !reflect.DeepEqual(again, list) {
				t.Errorf("%+v was noted, and read as %+v", list, again)
			}
		}
	})
}
