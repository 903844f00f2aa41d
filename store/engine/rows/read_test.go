package rows

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/media/pg"
	"hindcast/store/media/pg/pgtest"
	"hindcast/store/storetest"
	"hindcast/store/storetest/rowstest"
)

// served makes a database on a server of the demo's rows, and returns its URL.
func served(t testing.TB) (string, *pgtest.Cluster) {
	t.Helper()
	c := pgtest.SharedCluster(t)
	address := c.Database(t)
	c.Exec(t, address, slices.Concat(demoTables, demoRows)...)
	return address, c
}

// onServer is the kind of the demo's databases on a server.
func onServer(data string) store.Kind {
	k := demoKind.Kind(&demoKind, data)
	k.OpenAt = func(ctx context.Context, at engine.Site) (store.Store, error) {
		return newStore(demoKind.openServer(ctx, at.Server, data)), nil
	}
	return engine.Servers(k)
}

// both runs a test on the demo in a file and on the demo on a server. change runs statements.
func both(t *testing.T, test func(t *testing.T, s store.Store, change func(...string))) {
	t.Run("SQLite", func(t *testing.T) {
		path := demoFile(t)
		test(t, storetest.OpenStore(t, demoStores(), path), func(all ...string) { rowstest.Execute(t, path, all...) })
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		address, c := served(t)
		test(t, storetest.OpenStore(t, onServer(t.TempDir()), address), func(all ...string) { c.Exec(t, address, all...) })
	})
}

// drawn draws the snapshots of a session: an id with its parent, turn and event, "*" for the head, "~"
// for what is off the path and "?" for what waits.
func drawn(t testing.TB, s store.Store, session string) string {
	t.Helper()
	return drawing(storetest.Headers(t, s, session))
}

func drawing(list []model.Header) string {
	var words []string
	for _, h := range list {
		text := fmt.Sprintf("%s<%s t%d", h.ID, h.ParentID, h.TurnIndex)
		for mark, is := range map[string]bool{"*": h.Head} {
			if is {
				text += mark
			}
		}
		if h.Orphaned {
			text += "~"
		}
		if h.Marks.Has(model.MarkInterrupted) {
			text += "?"
		}
		words = append(words, text)
	}
	return strings.Join(words, " ")
}

const tour = "e1< t0 e2<e1 t0 e3<e2 t1 e4<e3 t1* e5<e2 t1~ e6<e5 t1~"

// TestStore_reads: sessions are named by their columns, turns are counted along the parents, and what
// the head does not lead to is off the path.
func TestStore_reads(t *testing.T) {
	both(t, func(t *testing.T, s store.Store, _ func(...string)) {
		var list []string
		for _, info := range storetest.Sessions(t, s) {
			list = append(list, fmt.Sprintf("%s %q %d %s %s", info.ID, info.Title, info.Snapshots, info.Head.ID, info.UpdatedAt.Format("15:04:05")))
			if info.Kind != "demo" || info.Size <= 0 || info.Faults != model.FaultsNotCounted {
				t.Errorf("%+v", info)
			}
		}
		if want := []string{`tour "find it" 6 e4 00:00:20`, `tour/side "aside" 1 s1 00:00:20`, `plain "hello" 3 p3 00:00:12`}; !slices.Equal(list, want) {
			t.Errorf("%q", list)
		}
		for session, want := range map[string]string{"tour": tour, "plain": "p1< t0 p2<p1 t0 p3<p2 t1*", "tour/side": "s1< t0*"} {
			if got := drawn(t, s, session); got != want {
				t.Errorf("%s: %s", session, got)
			}
		}
		for _, h := range storetest.Headers(t, s, "tour") {
			if h.SessionID != "tour" || h.CreatedAt.IsZero() {
				t.Errorf("%+v", h)
			}
		}
		state, err := s.State(t.Context(), model.Ref{Session: "tour", ID: "e5"})
		if want := `{"messages":[{"role":"user","content":"find it"},{"role":"assistant","content":"looking"},{"role":"user","content":"instead"}]}`; err != nil || string(state) != want {
			t.Errorf("%s, %v", state, err)
		}
		rowstest.Says(t, s, "tour", 1, "written: 2", "demo resume tour e2  goes on from it")
		if text := rowstest.About(t, s, rowstest.At(t, s, "tour", 0)); strings.Contains(text, "resume") {
			t.Error(text)
		}
		if s.Kind() != "demo" || s.Features().DerivedIDs() != "the entry's id" {
			t.Error(s.Kind(), s.Features().DerivedIDs())
		}
	})
}

// TestStore_readAll: the demo holds all that a store that is read holds.
func TestStore_readAll(t *testing.T) {
	storetest.Read(t, demoKind.Kind(nil, "").Kind, demoFile(t))
}

func TestStore_readAllServed(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs without -short")
	}
	address, _ := served(t)
	storetest.Read(t, demoKind.Kind(&demoKind, "").Kind, address)
}

// TestStore_isNotThere: what is not there is told by the errors of the port, and each error says what
// failed.
func TestStore_isNotThere(t *testing.T) {
	both(t, func(t *testing.T, s store.Store, _ func(...string)) {
		f := s.Features()
		for _, c := range []struct {
			ref  model.Ref
			want error
		}{
			{model.Ref{Session: "none", ID: "e1"}, model.ErrNoSession},
			{model.Ref{Session: "tour", ID: "p1"}, model.ErrNoSnapshot},
			{model.Ref{Session: "tour", ID: "e1", Visit: 1}, model.ErrNoSnapshot},
		} {
			_, state := s.State(t.Context(), c.ref)
			_, facts := f.Facts(t.Context(), c.ref)
			_, gaps := f.Gaps(t.Context(), c.ref)
			_, calls := f.Resume(t.Context(), c.ref)
			for what, err := range map[string]error{`read state "` + c.ref.ID + `"`: state, `describe "` + c.ref.ID + `" of`: facts, `describe "` + c.ref.ID + `" of session`: gaps, "describe": calls} {
				if !errors.Is(err, c.want) || !strings.Contains(err.Error(), "demo: "+what) {
					t.Errorf("%v: %v", c.ref, err)
				}
			}
		}
		failed := func(list func(func(model.Header, error) bool)) (err error) {
			for _, one := range list {
				err = one
			}
			return err
		}
		_, _, tail := s.Features().Tail(t.Context(), "none", 3)
		_, cursor := f.Cursor(t.Context(), "none")
		_, growth := f.Growth(t.Context(), "none", store.Cursor{})
		_, faults := s.Faults(t.Context(), "none")
		for what, err := range map[string]error{
			"list snapshots of session": failed(s.Headers(t.Context(), "none")), "list the last snapshots": tail, "follow session": cursor, `follow session "none"`: growth, "check session": faults,
		} {
			if !errors.Is(err, model.ErrNoSession) || !strings.Contains(err.Error(), what) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

// TestStore_sessionGoes: a session that was read and went is not there, and one that came in its place is.
func TestStore_sessionGoes(t *testing.T) {
	both(t, func(t *testing.T, s store.Store, change func(...string)) {
		if drawn(t, s, "plain") == "" {
			t.Fatal("it is not there")
		}
		change("DELETE FROM entries WHERE session = 'plain'", entryRow("other", "", "o1", "", 30, "user", "new"), "INSERT INTO answers VALUES ('other', '', 'o1', 0)")
		if _, err := s.State(t.Context(), model.Ref{Session: "plain", ID: "p1"}); !errors.Is(err, model.ErrNoSession) {
			t.Error(err)
		}
		if got := drawn(t, s, "other"); got != "o1< t0*" {
			t.Error(got)
		}
		change("DELETE FROM entries")
		if list := storetest.Sessions(t, s); len(list) != 0 {
			t.Errorf("%+v", list)
		}
	})
}

// TestStore_names: sessions whose columns make one name have several, and one without has a name too. A
// row that names none is of no session.
func TestStore_names(t *testing.T) {
	both(t, func(t *testing.T, s store.Store, change func(...string)) {
		change("DELETE FROM entries", "DELETE FROM heads",
			entryRow("a", "b/c", "1", "", 1, "user", "one"), entryRow("a/b", "c", "2", "", 2, "user", "two"), entryRow("", "", "3", "", 3, "user", "three"), entryRow("", "x", "4", "", 4, "user", "four"))
		var ids []string
		for _, info := range storetest.Sessions(t, s) {
			ids = append(ids, info.ID+" "+info.Title)
		}
		if want := []string{"/x four", "(no name) three", "a/b/c' two", "a/b/c one"}; !slices.Equal(ids, want) {
			t.Errorf("%q", ids)
		}
		for id, want := range map[string]string{"a/b/c": "1< t0*?", "a/b/c'": "2< t0*?", "(no name)": "3< t0*?", "/x": "4< t0*?"} {
			if got := drawn(t, s, id); got != want {
				t.Errorf("%s: %s", id, got)
			}
		}
	})
}

// TestStore_namesOfBytes: a session is named by text. SQLite keeps what it is given: a row without a
// name is passed over, and one named by bytes is that of the text.
func TestStore_namesOfBytes(t *testing.T) {
	path := demoFile(t, "INSERT INTO entries SELECT NULL, '', 'n', '', body, at FROM entries WHERE id = 'e1'",
		"INSERT INTO entries SELECT CAST('tour' AS BLOB), '', 'b', '', body, at FROM entries WHERE id = 'e1'",
		"INSERT INTO entries SELECT CAST('bytes' AS BLOB), '', 'b', '', body, at FROM entries WHERE id = 'e1'")
	s := openDemo(t, demoKind, path)
	var ids []string
	for _, info := range storetest.Sessions(t, s) {
		ids = append(ids, info.ID)
	}
	if !slices.Equal(ids, []string{"tour", "tour/side", "plain"}) {
		t.Errorf("%q", ids)
	}
}

// TestTail returns the last snapshots, of a session that was read or not.
func TestTail(t *testing.T) {
	both(t, func(t *testing.T, s store.Store, change func(...string)) {
		fresh := func() store.Store { return s }
		if file, ok := s.(*Store); ok {
			if _, is := file.carrier.(sqliteFile); is {
				fresh = func() store.Store { return openDemo(t, demoKind, file.address) }
			}
		}
		for _, c := range []struct {
			session string
			n       int
			want    string
			before  int
		}{
			{"plain", 1, "p3", 2}, {"plain", 2, "p2 p3", 1}, {"plain", 3, "p1 p2 p3", 0}, {"plain", 9, "p1 p2 p3", 0}, {"plain", 0, "", 3}, {"plain", -1, "", 3},
			{"tour", 2, "e5 e6", 4}, {"tour", 4, "e3 e4 e5 e6", 2}, {"tour/side", 1, "s1", 0},
		} {
			list, before, err := fresh().Features().Tail(t.Context(), c.session, c.n)
			var ids []string
			heads := 0
			for _, h := range list {
				ids = append(ids, h.ID)
				if h.SessionID != c.session {
					t.Errorf("%+v", h)
				}
				if h.Head {
					heads++
				}
			}
			if err != nil || strings.Join(ids, " ") != c.want || before != c.before {
				t.Errorf("the last %d of %s: %q, %d before, %v", c.n, c.session, ids, before, err)
			}
			if want := map[bool]int{true: 1}[c.session != "tour" && c.n > 0 || c.session == "tour" && c.n >= 4]; heads != want {
				t.Errorf("the last %d of %s: %d heads", c.n, c.session, heads)
			}
		}
	})
	// The turns of a session that is read in part are not known.
	path := demoFile(t)
	list, _, err := openDemo(t, demoKind, path).Tail(t.Context(), "plain", 2)
	if err != nil || list[0].TurnIndex != model.TurnUnknown || list[0].Head || !list[1].Head {
		t.Errorf("%+v, %v", list, err)
	}
	s := openDemo(t, demoKind, path)
	storetest.Headers(t, s, "plain")
	if list, before, err := s.Tail(t.Context(), "plain", 2); err != nil || drawing(list) != "p2<p1 t0 p3<p2 t1*" || before != 1 {
		t.Errorf("of a session that was read: %s, %d, %v", drawing(list), before, err)
	}
}

// TestGrowth: what comes behind the newest snapshot is read alone, and all else has the session read anew.
func TestGrowth(t *testing.T) {
	answerRow := func(id string) string {
		return "INSERT INTO answers SELECT session, branch, id, at FROM entries WHERE id = '" + id + "'"
	}
	rowstest.Growth(t, demoKind.Kind(nil, "").Kind, demoFile(t), "plain", []rowstest.Change{
		{What: "nothing", Statements: []string{"SELECT 1"}},
		{What: "one more", Statements: []string{entryRow("plain", "", "p4", "p3", 13, "assistant", "four"), answerRow("p4")}, Fresh: 1},
		{What: "two that wait", Statements: []string{entryRow("plain", "", "p5", "p4", 14, "user", "five"), entryRow("plain", "", "p6", "p5", 15, "assistant", "six"), answerRow("p5")}, Fresh: 2},
		{What: "its answer came", Statements: []string{answerRow("p6")}, Rewritten: true},
		{What: "one more behind the answer", Statements: []string{entryRow("plain", "", "p7", "p6", 16, "user", "seven"), answerRow("p7")}, Fresh: 1},
		{What: "a branch", Statements: []string{entryRow("plain", "", "p8", "p2", 17, "user", "eight"), answerRow("p8")}, Rewritten: true},
		{What: "one of an older time", Statements: []string{entryRow("plain", "", "p0", "p1", 11, "user", "before"), answerRow("p0")}, Rewritten: true},
		{What: "the newest goes", Statements: []string{"DELETE FROM entries WHERE id = 'p8'"}, Rewritten: true},
		{What: "one in the middle goes", Statements: []string{"DELETE FROM entries WHERE id = 'p5'"}, Rewritten: true},
		{What: "the newest is another", Statements: []string{`UPDATE entries SET body = '{"role":"user","content":"other"}' WHERE id = 'p7'`}, Rewritten: true},
		{What: "another session grows", Statements: []string{entryRow("tour", "", "e7", "e6", 18, "user", "seven"), answerRow("e7")}},
		{What: "the head is put back", Statements: []string{"INSERT INTO heads VALUES ('plain', '', 'p3')"}, Rewritten: true},
		{What: "and goes on from there", Statements: []string{entryRow("plain", "", "p9", "p3", 19, "user", "nine"), answerRow("p9"), "UPDATE heads SET id = 'p9' WHERE session = 'plain'"}, Rewritten: true},
		{What: "and once more, with a head among the new ones", Statements: []string{entryRow("plain", "", "q", "p9", 20, "user", "ten"), answerRow("q"), "UPDATE heads SET id = 'q' WHERE session = 'plain'"}, Fresh: 1},
	})
}

// wholes counts how often a session is read whole.
type wholes struct {
	demo
	n *int
}

func (w wholes) Log(ctx context.Context, t Tx, of Place, from string) (Log, error) {
	if from == "" {
		*w.n++
	}
	return w.demo.Log(ctx, t, of, from)
}

// TestGrowth_readsWhatIsNew: a session that only grew is not read whole again, nor one that is as it was.
func TestGrowth_readsWhatIsNew(t *testing.T) {
	n, path := 0, demoFile(t)
	s := openDemo(t, withFormat(wholes{n: &n}), path)
	for i, change := range []string{"SELECT 1", entryRow("plain", "", "p4", "p3", 13, "assistant", "four"), entryRow("plain", "", "p5", "p4", 14, "user", "five"), "SELECT 1"} {
		rowstest.Execute(t, path, change)
		if list := storetest.Headers(t, s, "plain"); n != 1 || len(list) != 3+min(i, 2) {
			t.Errorf("%q: %d snapshots, read whole %d times", change, len(list), n)
		}
	}
}

// TestGrowth_served: so it is on a server.
func TestGrowth_served(t *testing.T) {
	address, c := served(t)
	s := storetest.OpenStore(t, onServer(""), address)
	at, err := s.Features().Cursor(t.Context(), "plain")
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []rowstest.Change{
		{What: "nothing"},
		{What: "one more", Statements: []string{entryRow("plain", "", "p4", "p3", 13, "assistant", "four")}, Fresh: 1},
		{What: "its answer", Statements: []string{"INSERT INTO answers VALUES ('plain', '', 'p4', 0)"}, Rewritten: true},
		{What: "another session", Statements: []string{entryRow("tour", "", "e7", "e6", 18, "user", "seven")}},
		{What: "an older time", Statements: []string{entryRow("plain", "", "p0", "p1", 11, "user", "before")}, Rewritten: true},
		{What: "one in the middle goes", Statements: []string{"DELETE FROM entries WHERE id = 'p2'"}, Rewritten: true},
		{What: "an older one is written again", Statements: []string{"UPDATE entries SET parent = '' WHERE id = 'p3'"}, Rewritten: true},
	} {
		c.Exec(t, address, change.Statements...)
		growth, err := s.Features().Growth(t.Context(), "plain", at)
		if err != nil || growth.Rewritten != change.Rewritten || len(growth.Headers) != change.Fresh {
			t.Errorf("%s: %d new, rewritten %t, %v", change.What, len(growth.Headers), growth.Rewritten, err)
		}
		at = growth.Cursor
		if got, want := drawn(t, s, "plain"), drawn(t, storetest.OpenStore(t, onServer(""), address), "plain"); got != want {
			t.Errorf("%s: %s instead of %s", change.What, got, want)
		}
	}
}

// TestKind_sign says what tells a database of the kind, and what another lacks.
func TestKind_sign(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, statements ...string) string {
		return newDatabase(t, filepath.Join(dir, name), statements...)
	}
	if err := os.WriteFile(filepath.Join(dir, "text.db"), []byte(strings.Repeat("no database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "empty.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		file("all.db", demoTables...):     "a SQLite database with Demo's tables answers and entries and heads: true",
		file("two.db", demoTables[:2]...): "a SQLite database that has Demo's tables in part: it lacks the table heads: false",
		file("column.db", demoTables[0], demoTables[1], "CREATE TABLE heads (session, id)"):  "a SQLite database that has Demo's tables in part: it lacks in heads branch: false",
		file("view.db", demoTables[0], demoTables[1], "CREATE VIEW heads AS SELECT 1 AS id"): "not a Demo database: heads is a view: false",
		filepath.Join(dir, "text.db"):  "not a SQLite database: false",
		filepath.Join(dir, "empty.db"): ": false",
		dir:                            ": false",
	} {
		why, ok, err := demoKind.Kind(nil, "").Recognise(t.Context(), path)
		if got := fmt.Sprint(why, ": ", ok); err != nil || got != want {
			t.Errorf("%s: %s, %v", filepath.Base(path), got, err)
		}
		s, err := demoKind.openFile(t.Context(), path)
		if ok != (err == nil) {
			t.Errorf("%s opens: %v", filepath.Base(path), err)
		}
		if err == nil {
			_ = s.Close()
		} else if !strings.HasPrefix(err.Error(), "demo: open ") {
			t.Error(err)
		}
	}
	if _, _, err := demoKind.Kind(nil, "").Recognise(t.Context(), filepath.Join(dir, "none.db")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	columns := map[string]map[string]bool{}
	for table, list := range demoKind.Tables {
		columns[table] = map[string]bool{}
		for _, c := range strings.Fields(list) {
			columns[table][c] = true
		}
	}
	on := demoKind.Kind(&demoKind, "")
	at := engine.Site{Server: &pg.Server{}, Tables: columns}
	if why, ok, err := on.Sign(t.Context(), at); !ok || err != nil || why != "a PostgreSQL database with Demo's tables answers and entries and heads" || on.Name != "demo" {
		t.Error(why, ok, err, on.Name)
	}
	delete(columns["entries"], "body")
	if why, ok, err := on.Sign(t.Context(), at); ok || err != nil || why != "a PostgreSQL database without Demo's tables answers and entries and heads" {
		t.Error(why, ok)
	}
}

// TestKind_renamed: where tables may have any name, the table of snapshots refers to the others, and
// each set of them is read.
func TestKind_renamed(t *testing.T) {
	k := demoKind
	k.Renamed, k.Format = true, renamed{}
	k.Tables = map[string]string{"entries": "session branch id parent body at", "sessions": "session title"}
	path := filepath.Join(t.TempDir(), "renamed.db")
	var statements []string
	for _, name := range []string{"my", "your"} {
		statements = append(statements,
			"CREATE TABLE "+name+"_sessions (session text PRIMARY KEY, title text)",
			"CREATE TABLE "+name+"_log (session text REFERENCES "+name+"_sessions, branch text, id text, parent text, body text, at bigint, PRIMARY KEY (session, branch, id))",
			strings.Replace(entryRow(name, "", "1", "", 1, "user", "of "+name), "INTO entries", "INTO "+name+"_log", 1))
	}
	statements = append(statements, "CREATE TABLE alone (session text PRIMARY KEY, branch, id, parent, body, at)", "CREATE TABLE other (x REFERENCES my_sessions)")
	newDatabase(t, path, statements...)
	why, ok, err := k.Kind(nil, "").Recognise(t.Context(), path)
	if want := "a SQLite database with Demo's tables my_log and my_sessions"; why != want || !ok || err != nil {
		t.Error(why, ok, err)
	}
	s := openDemo(t, k, path)
	var titles []string
	for _, info := range storetest.Sessions(t, s) {
		titles = append(titles, info.ID+" "+info.Title)
	}
	slices.Sort(titles)
	if !slices.Equal(titles, []string{"my of my", "your of your"}) {
		t.Errorf("%q", titles)
	}
	if got := rowstest.State(t, s, "your", 0); !strings.Contains(got, "of your") {
		t.Error(got)
	}
	at := Place{tables: map[string]string{"entries": `odd "name"`}}
	if at.Name("entries") != `odd "name"` || at.Table("entries") != `"odd ""name"""` || at.Name("heads") != "heads" || at.Table("heads") != "heads" {
		t.Error(at.Name("entries"), at.Table("entries"), at.Name("heads"), at.Table("heads"))
	}
	if other := at.SessionPlace("x", "y", ""); other.ID != "x" || !reflect.DeepEqual(other.Key, []any{"y", ""}) || other.Name("entries") != `odd "name"` {
		t.Errorf("%+v", other)
	}
}

// renamed reads the entries of tables of any name.
type renamed struct{ plainFormat }

func (renamed) Log(ctx context.Context, t Tx, of Place, from string) (log Log, err error) {
	span, err := demoKind.Span(ctx, t, of, from, 0)
	if err != nil {
		return log, err
	}
	log.Facts.Newest = true
	err = EachRow(ctx, span, t.Each, func(scan func(...any) error) error {
		h, body := model.Header{CreatedAt: time.Unix(start, 0)}, ""
		err := scan(&h.ID, &body)
		new(Said).Add(&h, []byte(body))
		log.Title, log.Rows = h.Title, append(log.Rows, h)
		return err
	}, "SELECT id, body FROM "+of.Table("entries"))
	return log, err
}

func (renamed) State(ctx context.Context, t Tx, of Place, id string) (body []byte, err error) {
	return body, t.Row(ctx, "SELECT body FROM "+of.Table("entries")+" WHERE id = ?", id).Scan(&body)
}

// TestFaults: what cannot be read is told with what the framework does there, once each.
func TestFaults(t *testing.T) {
	path := demoFile(t,
		"INSERT INTO entries VALUES ('bad', '', 'b1', '', 'no JSON', 1767225600), ('bad', '', 'b2', 'b1', '{\"role\":\"user\",\"content\":\"x\"}', 1767225600), ('bad', '', 'b3', 'b2', 'neither', 1767225601)",
		"INSERT INTO entries VALUES ('sealed', '', 'c1', '', 'enc:1', 1767225600)", "INSERT INTO answers SELECT session, branch, id, at FROM entries WHERE session IN ('bad', 'sealed')")
	codes := func(k Kind, session string) string {
		var list []string
		for _, f := range storetest.Faults(t, openDemo(t, k, path), session) {
			list = append(list, f.Code+" "+f.File)
			if f.Code == FaultRow && (f.Verdict != "Demo fails when it lists the session" || f.Severity != model.Stops || f.Meaning == "") {
				t.Errorf("%+v", f)
			}
		}
		slices.Sort(list)
		return strings.Join(list, ", ")
	}
	if got, want := codes(demoKind, "bad"), "damaged-row b1, damaged-row b3, equal-time bad/b2"; got != want {
		t.Error(got)
	}
	seconds := demoKind
	seconds.Seconds = true
	if got, want := codes(seconds, "bad"), "damaged-row b1, damaged-row b3"; got != want {
		t.Error(got)
	}
	if got, want := codes(demoKind, "sealed"), model.FaultOpaque+" sealed"; got != want {
		t.Error(got)
	}
	if got := codes(demoKind, "tour/side"); got != "" {
		t.Error(got)
	}
	if got := codes(demoKind, ""); got != "" {
		t.Error(got)
	}
	finds := demoKind
	finds.Format = doctored{}
	if got := codes(finds, "tour/side"); got != "empty-notes tour/side" {
		t.Error(got)
	}
	lenient := demoKind
	lenient.Damage = model.Fault{Severity: model.Loses, Meaning: "no JSON", Verdict: "passes over it"}
	for _, f := range storetest.Faults(t, openDemo(t, lenient, path), "bad") {
		if f.Code == FaultRow && (f.Severity != model.Loses || f.Meaning != "no JSON" || f.Verdict != "passes over it") {
			t.Errorf("%+v", f)
		}
	}
	// A session of several roots is none that is damaged.
	rowstest.Execute(t, path, entryRow("bad", "", "b4", "", 9, "user", "anew"), "DELETE FROM entries WHERE id IN ('b1', 'b3')", "UPDATE entries SET parent = '' WHERE id = 'b2'", "INSERT INTO answers VALUES ('bad', '', 'b4', 0)")
	if got := codes(demoKind, "bad"); got != "" {
		t.Error(got)
	}
}

// TestLister: what a format lists is not read, its sessions are found, and with nil all are read.
func TestLister(t *testing.T) {
	k := demoKind
	k.Format = listing{}
	path := demoFile(t)
	s := openDemo(t, k, path)
	var list []string
	for _, info := range storetest.Sessions(t, s) {
		list = append(list, fmt.Sprint(info.ID, " ", info.Title, " ", info.Snapshots, " ", info.UpdatedAt.Second()))
		if info.Kind != "demo" || info.Faults != model.FaultsNotCounted {
			t.Errorf("%+v", info)
		}
	}
	if want := []string{"tour listed -1 20", "tour/side listed -1 20", "plain listed -1 12"}; !slices.Equal(list, want) {
		t.Errorf("%q", list)
	}
	if got := drawn(t, s, "tour"); got != tour {
		t.Error(got)
	}
	rowstest.Execute(t, path, "INSERT INTO heads VALUES ('read all', '', '')")
	if list := storetest.Sessions(t, s); list[0].Title != "find it" || list[0].Snapshots != 6 {
		t.Errorf("%+v", list)
	}
}

// TestRecords: each value is that of SQLite, on a server too.
func TestRecords(t *testing.T) {
	want := map[string]any{"a": nil, "b": "text \"ü\"", "c": int64(7), "d": 1.5, "e": int64(1), "f": int64(0), "g": int64(-9223372036854775808), "z": 0.0}
	query := `SELECT NULL AS a, 'text "ü"' AS b, 7 AS c, 1.5 AS d, true AS e, false AS f, -9223372036854775808 AS g, ?%s AS z`
	read := func(t *testing.T, s *Store, cast string, arg any) (list []map[string]any) {
		t.Helper()
		err := s.carrier.Read(t.Context(), func(tx tables) error {
			return tx.Records(t.Context(), func(r map[string]any) error { list = append(list, r); return nil }, fmt.Sprintf(query, cast), arg)
		})
		if err != nil {
			t.Fatal(err)
		}
		err = s.carrier.Read(t.Context(), func(tx tables) error {
			return tx.Records(t.Context(), func(map[string]any) error { return errBroken }, "SELECT 1 AS a")
		})
		if !errors.Is(err, errBroken) {
			t.Errorf("an error of a row: %v", err)
		}
		return list
	}
	if got := read(t, openDemo(t, demoKind, demoFile(t)), "", 0.0); len(got) != 1 || !reflect.DeepEqual(got[0], want) {
		t.Errorf("SQLite: %#v", got)
	}
	address, _ := served(t)
	if got := read(t, storetest.OpenStore(t, onServer(""), address).(*Store), "::float8", "0"); len(got) != 1 || fmt.Sprint(got[0]) != fmt.Sprint(want) {
		t.Errorf("PostgreSQL: %#v", got)
	}
	for text, want := range map[string]any{`{"a":[1]}`: `{"a":[1]}`, "[1]": "[1]", "null": nil, "true": int64(1), "false": int64(0), `"x"`: "x", "-3": int64(-3), "2.5": 2.5, "1e3": 1000.0} {
		if got := plainValue([]byte(text)); got != want {
			t.Errorf("%s: %#v", text, got)
		}
	}
}

// TestWatch tells of a change, and ends with the store.
func TestWatch(t *testing.T) {
	both(t, func(t *testing.T, s store.Store, change func(...string)) {
		changes, err := s.Features().Watch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		change("UPDATE answers SET at = 1 WHERE id = 'e1'")
		storetest.Next(t, changes)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for range changes {
		}
	})
}
