package opencode

import (
	"fmt"
	"testing"

	"hindcast/store"
	"hindcast/store/coding"
	"hindcast/store/storetest"
)

// storeOf makes a database of n sessions of one message each, of which every other one is a
// sub-agent.
func storeOf(t *testing.T, n int) (dir string) {
	t.Helper()
	var statements []string
	for i := range n {
		id, parent := fmt.Sprintf("ses_%05d", i), "NULL"
		if i%2 == 1 {
			parent = fmt.Sprintf("'ses_%05d'", i-1)
		}
		statements = append(statements,
			fmt.Sprintf("INSERT INTO session (id, title, directory, parent_id, time_created, time_updated) VALUES ('%s', 'title\t%d', '/work', %s, %d, %d)", id, i, parent, i, i+1),
			fmt.Sprintf(`INSERT INTO message VALUES ('msg_%05d', '%s', %d, %d, '{"role":"user","time":{"created":%d}}')`, i, id, i, i, i),
			fmt.Sprintf(`INSERT INTO part VALUES ('prt_%05d', 'msg_%05d', '%s', %d, %d, '{"type":"text","text":"%d"}')`, i, i, id, i, i, i))
	}
	return made(t, statements...)
}

// A list of many sessions takes as many transactions as one of few.
func TestSessions_takesTheSameTransactions(t *testing.T) {
	queried := func(n int) int64 {
		var f *format
		a := *agent
		a.Format = func(dir string) coding.Format {
			f = agent.Format(dir).(*format)
			return f
		}
		s, err := a.Open(t.Context(), storeOf(t, n), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		list := storetest.Sessions(t, s)
		if len(list) != n {
			t.Fatalf("%d sessions of %d", len(list), n)
		}
		for _, info := range list {
			if info.Title == "" || info.Project != "/work" || info.Snapshots != store.Uncounted {
				t.Fatalf("a session of many is %+v", info)
			}
		}
		return f.Queried()
	}
	if few, many := queried(2*mostWhole), queried(6*mostWhole); few != many || few == 0 {
		t.Errorf("%d transactions for %d sessions, %d for %d", few, 2*mostWhole, many, 6*mostWhole)
	}
}
