package opencode

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/storetest"
)

// titleRows are the titles that sessions have in turn, and titlesTyped what they are shown as: %d is the prompt.
var titleRows, titlesTyped = []string{
	"title\t%d", "New session - 2026-11-28T10:00:00.000Z", "<system-reminder>\nnot typed\n</system-reminder>\nfix %d", "Child session - 2026-11-28T10:00:00.000Z", "<system-reminder>not typed</system-reminder>", "New session - for %d",
}, []string{"title %d", "say %d", "fix %d", "say %d", "say %d", "New session - for %d"}

// numbered returns a title with the number of its session.
func numbered(title string, n int) string { return strings.ReplaceAll(title, "%d", strconv.Itoa(n)) }

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
			fmt.Sprintf("INSERT INTO session (id, title, directory, parent_id, time_created, time_updated) VALUES ('%s', '%s', '/work', %s, %d, %d)", id, numbered(titleRows[i%len(titleRows)], i), parent, i, i+1),
			fmt.Sprintf(`INSERT INTO message VALUES ('msg_%05d', '%s', %d, %d, '{"role":"user","time":{"created":%d}}')`, i, id, i, i, i),
			fmt.Sprintf(`INSERT INTO message VALUES ('msg_%05d_b', '%s', %d, %d, '{"role":"user"}')`, i, id, i+1, i),
			fmt.Sprintf(`INSERT INTO part VALUES ('prt_%05d', 'msg_%05d', '%s', %d, %d, '{"type":"text","synthetic":true,"text":"by opencode"}')`, i, i, id, i, i),
			fmt.Sprintf(`INSERT INTO part VALUES ('prt_%05d_a', 'msg_%05d', '%s', %d, %d, '{"type":"text","text":"say %d"}')`, i, i, id, i, i, i),
			fmt.Sprintf(`INSERT INTO part VALUES ('prt_%05d_b', 'msg_%05d_b', '%s', %d, %d, '{"type":"text","text":"later"}')`, i, i, id, i, i))
	}
	return made(t, statements...)
}

// A list of many sessions takes as many transactions as one of few.
func TestSessions_takesTheSameTransactions(t *testing.T) {
	queried := func(n int) int64 {
		var f *format
		a := *agent
		a.Format = func(dir string) chat.Format {
			f = agent.Format(dir).(*format)
			return f
		}
		s, err := a.Open(t.Context(), engine.SiteOf(storeOf(t, n)), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		list := storetest.Sessions(t, s)
		if len(list) != n {
			t.Fatalf("%d sessions of %d", len(list), n)
		}
		for _, info := range list {
			if i, _ := strconv.Atoi(info.ID[len(info.ID)-5:]); info.Title != numbered(titlesTyped[i%len(titlesTyped)], i) || info.Project != "/work" || info.Snapshots != store.Uncounted {
				t.Fatalf("a session of many is %+v", info)
			}
		}
		return f.CountQueries()
	}
	if few, many := queried(2*mostWhole), queried(6*mostWhole); few != many || few == 0 {
		t.Errorf("%d transactions for %d sessions, %d for %d", few, 2*mostWhole, many, 6*mostWhole)
	}
}

// A title is what the person typed in a short list as in a long one, where no session is read.
func TestSessions_titlesAreTyped(t *testing.T) {
	for _, n := range []int{len(titleRows), mostWhole + 1} {
		for _, info := range storetest.Sessions(t, storetest.OpenStore(t, Kind(nil).Kind, storeOf(t, n))) {
			if i, _ := strconv.Atoi(info.ID[len(info.ID)-5:]); info.Title != numbered(titlesTyped[i%len(titlesTyped)], i) {
				t.Errorf("of %d sessions %s is called %q", n, info.ID, info.Title)
			}
		}
	}
}
