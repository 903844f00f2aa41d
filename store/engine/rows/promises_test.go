package rows

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/inspect"
	"hindcast/store/storetest"
	"hindcast/store/storetest/rowstest"
)

// late is a carrier whose commit fails, before or after it happened.
type late struct {
	carrier
	happens bool
}

func (l late) Amend(ctx context.Context, what func(tables) error) error {
	err := l.carrier.Amend(ctx, func(t tables) error {
		if err := what(t); err != nil || l.happens {
			return err
		}
		return errBroken
	})
	if err == nil {
		err = errBroken
	}
	return err
}

// TestApply_commitFails: of a commit that failed the rows tell at once whether it happened.
func TestApply_commitFails(t *testing.T) {
	for happens, want := range map[bool]int{true: 1, false: 0} {
		s := openDemo(t, demoKind, demoFile(t))
		p, whole := plan(t, s, to(model.OpRestore, "tour", "e2")), s.carrier
		once := &oneLate{carrier: whole, late: late{whole, happens}}
		s.carrier = once
		if _, err := s.Apply(t.Context(), p); !errors.Is(err, errBroken) || strings.Contains(err.Error(), "nothing was changed") {
			t.Errorf("happens: %t: %v", happens, err)
		}
		if h, err := s.book.readHistory(); err != nil || h.open != nil || len(h.entries) != want {
			t.Errorf("happens: %t: %+v, %v", happens, h, err)
		}
		list := storetest.Headers(t, s, "tour")
		if left := list[3]; left.Orphaned != happens || happens && left.Reason.Kind != model.ReasonRestore {
			t.Errorf("happens: %t: %+v", happens, left)
		}
	}
}

// oneLate is a carrier whose first write is late.
type oneLate struct {
	carrier
	late late
	used bool
}

func (o *oneLate) Amend(ctx context.Context, what func(tables) error) error {
	if o.used {
		return o.carrier.Amend(ctx, what)
	}
	o.used = true
	return o.late.Amend(ctx, what)
}

// cutJournal takes the last lines off the journal of a file, as where a program ended before it wrote them.
func cutJournal(t *testing.T, path string, n int) {
	t.Helper()
	told, err := os.ReadFile(path + Beside)
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.DeleteFunc(strings.SplitAfter(string(told), "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
	if err := os.WriteFile(path+Beside, []byte(strings.Join(lines[:len(lines)-n], "")), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestJournal_settles: the end of a write that another process did not tell is told when the journal is
// looked at, and when the next write is planned.
func TestJournal_settles(t *testing.T) {
	for _, look := range []func(s *Store) error{
		func(s *Store) error { _, err := s.Journal(t.Context()); return err },
		func(s *Store) error { _, err := s.Plan(t.Context(), undo); return err },
	} {
		path := demoFile(t)
		s := openDemo(t, demoKind, path)
		do(t, s, to(model.OpRestore, "tour", "e2"))
		cutJournal(t, path, 1)
		if h, err := s.book.readHistory(); err != nil || h.open == nil {
			t.Fatal(h, err)
		}
		if err := look(s); err != nil {
			t.Error(err)
		}
		if h, err := s.book.readHistory(); err != nil || h.open != nil || len(h.entries) != 1 {
			t.Errorf("%+v, %v", h, err)
		}
	}
}

// TestPlan_ofAnotherVersion: what another version of Hindcast wrote is taken back by that alone.
func TestPlan_ofAnotherVersion(t *testing.T) {
	path := demoFile(t)
	s := openDemo(t, demoKind, path)
	w := wrote(1, model.OpRestore, 0)
	if err := os.WriteFile(path+Beside, []byte(line(t, record{Format: journalFormat + 1, Write: w.Write})+line(t, record{Done: 1})), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []model.Change{undo, redo} {
		if _, err := s.Plan(t.Context(), c); !errors.Is(err, errFormat) {
			t.Errorf("%s: %v", c.Op, err)
		}
	}
	if _, err := s.Journal(t.Context()); !errors.Is(err, errFormat) {
		t.Error(err)
	}
}

// decoding is a format that knows what its columns hold.
type decoding struct{ demo }

func (decoding) Decode(column string, row map[string]any) []byte {
	if text, _ := row["body"].(string); column == "body" {
		return []byte(strings.ToUpper(text))
	}
	return nil
}

// TestCarried: what the rows of a session say, in each of its tables: texts of JSON as they are, others
// quoted, and what the format decodes; nothing of what is no text.
func TestCarried(t *testing.T) {
	path := demoFile(t,
		`INSERT INTO entries VALUES ('told', '', 'a', NULL, '{"n":NaN}', 7)`, `INSERT INTO entries VALUES ('told', '', 'b', '', 'plain "words"', 8)`,
		"INSERT INTO answers VALUES ('told', '', 'a', 1)",
		"CREATE TABLE notes (about text, note text)", "INSERT INTO notes VALUES ('a', 'of a'), ('p1', 'of another')", "CREATE TABLE other (x text)")
	kind := func(f Format) Kind {
		k := withFormat(f)
		k.Sides = []Side{{Table: "notes", Column: "about", Of: "SELECT id FROM entries WHERE session = ? AND branch = ?"}, {Table: "other", Column: "about", Of: "?, ?"}, {Table: "none", Column: "about", Of: "?, ?"}}
		return k
	}
	carried := func(k Kind) (list []string) {
		t.Helper()
		s := openDemo(t, k, path)
		err := s.in(t.Context(), "told", func(tx tables, at Place) error {
			return s.yieldCarried(t.Context(), tx, at, func(c *inspect.Carried) {
				list = append(list, fmt.Sprintf("%s %q %t %s", c.File, c.Snapshot, c.Beside, c.Data))
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	plain := []string{
		`a "a" false {"body":{"n":NaN},"id":"a","session":"told"}`,
		`b "b" false {"body":"plain \"words\"","id":"b","session":"told"}`,
		`answers "a" true {"id":"a","session":"told"}`,
		`notes "" true {"about":"a","note":"of a"}`,
	}
	if got := carried(kind(demo{})); !slices.Equal(got, plain) {
		t.Errorf("%q\nand not\n%q", got, plain)
	}
	want := []string{`a "a" false {"body":"{\"N\":NAN}"}`, `b "b" false {"body":"PLAIN \"WORDS\""}`, `answers "a" true {}`, `notes "" true {}`}
	if got := carried(kind(decoding{})); !slices.Equal(got, want) {
		t.Errorf("%q\nand not\n%q", got, want)
	}
	k := kind(demo{})
	k.Reads = "id, body"
	if got := carried(k); len(got) != 4 || got[0] != `a "a" false {"body":{"n":NaN},"id":"a"}` || got[2] != plain[2] {
		t.Errorf("%q", got)
	}
}

// TestRows_withoutAKey: rows that nothing tells apart are not changed.
func TestRows_withoutAKey(t *testing.T) {
	s := openDemo(t, demoKind, demoFile(t, "CREATE TABLE bare (x text)", "INSERT INTO bare VALUES ('1')"))
	for what, ask := range map[string]func(tx tables) error{
		"rows":    func(tx tables) error { _, err := Rows(t.Context(), tx, "bare", ""); return err },
		"current": func(tx tables) error { _, err := tx.currentRows(t.Context(), []Step{{Table: "bare"}}); return err },
		"lay":     func(tx tables) error { return tx.layViews(t.Context(), []Step{{Table: "bare", After: Row{"x": "2"}}}) },
		"change":  func(tx tables) error { return tx.carryOut(t.Context(), []Step{{Table: "bare", After: Row{"x": "2"}}}) },
	} {
		if err := s.carrier.Suppose(t.Context(), ask); err == nil || !strings.Contains(err.Error(), `table "bare" has no primary key`) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestCarryOut_rowIDs: a row comes back by its row id, unless another one has that by now.
func TestCarryOut_rowIDs(t *testing.T) {
	path := demoFile(t)
	s := openDemo(t, demoKind, path)
	row := func(session string) Row { return Row{"session": session, "branch": "", "id": "x"} }
	var ids []int64
	err := s.carrier.Amend(t.Context(), func(tx tables) error {
		err := tx.carryOut(t.Context(), []Step{{Table: "heads", After: row("free"), At: 77}, {Table: "heads", After: row("taken"), At: 77}, {Table: "heads", After: row("any")}})
		for _, session := range []string{"free", "taken", "any"} {
			err = errors.Join(err, tx.eachRow(t.Context(), "heads", " WHERE session = ?", func(at int64, r Row) { ids = append(ids, at) }, session))
		}
		return err
	})
	if err != nil || len(ids) != 3 || ids[0] != 77 || ids[1] == 77 || ids[2] == 77 || ids[1] == ids[2] {
		t.Errorf("%v, %v", ids, err)
	}
	// More rows than a step says are an error, and so are none.
	for _, steps := range [][]Step{{{Table: "heads", Before: row("none")}}, {{Table: "heads", Before: row("none"), After: row("none").With("id", "y")}}} {
		err := s.carrier.Amend(t.Context(), func(tx tables) error { return tx.carryOut(t.Context(), steps) })
		if err == nil || !strings.Contains(err.Error(), "0 rows would change instead of 1") {
			t.Errorf("%+v: %v", steps, err)
		}
	}
}

// TestTail_ofOrder: the last snapshots are read alone where each follows the one before, and else the
// session is.
func TestTail_ofOrder(t *testing.T) {
	for _, c := range []struct {
		session string
		n       int
		whole   bool
	}{{"plain", 1, false}, {"plain", 2, false}, {"plain", 3, true}, {"plain", 0, true}, {"tour", 2, true}} {
		n := 0
		s := openDemo(t, withFormat(wholes{n: &n}), demoFile(t))
		if _, _, err := s.Tail(t.Context(), c.session, c.n); err != nil || (n > 0) != c.whole {
			t.Errorf("the last %d of %s: read whole %d times, %v", c.n, c.session, n, err)
		}
	}
}

// TestRecognise_damaged: a file that says to be a database and is none is one that is not known.
func TestRecognise_damaged(t *testing.T) {
	path := demoFile(t)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{"cut": string(data[:len(data)/2]), "no database": strings.Repeat("no database ", 400), "empty": ""} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if why, ok, err := demoKind.Kind(nil, "").Recognise(t.Context(), path); ok || err != nil || (why == "") != (text == "") {
			t.Errorf("%s: %q, %t, %v", what, why, ok, err)
		}
	}
	if why, ok, err := demoKind.Kind(nil, "").Recognise(t.Context(), path+"none"); ok || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%q, %t, %v", why, ok, err)
	}
}

// TestSessions_below: a session changes with those that are named below it, and no other does.
func TestSessions_below(t *testing.T) {
	s := openDemo(t, demoKind, demoFile(t, entryRow("tour", "side", "s2", "s1", 500, "user", "later"), entryRow("tourist", "", "t1", "", 900, "user", "other"), entryRow("plain", "", "p4", "p3", 300, "user", "late")))
	var got []string
	for info, err := range s.Sessions(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(info.ID, " ", info.UpdatedAt.Unix()-start))
	}
	if want := []string{"tourist 900", "tour 500", "tour/side 500", "plain 300"}; !slices.Equal(got, want) {
		t.Errorf("%q and not %q", got, want)
	}
}

// TestFaults_ofWhatIsTold: what stands for a session is told once, with what its own doctor finds, and no
// beginning anew is a fault.
func TestFaults_ofWhatIsTold(t *testing.T) {
	path := demoFile(t, entryRow("plain", "", "q1", "", 12, "user", "anew"), `INSERT INTO entries VALUES ('plain', '', 'q2', 'q1', 'no JSON', `+fmt.Sprint(start+12)+`)`)
	for name, c := range map[string]struct {
		kind func(*Kind)
		want []string
	}{
		"as it is":      {func(*Kind) {}, []string{model.FaultEqualTime, FaultRow}},
		"whole seconds": {func(k *Kind) { k.Seconds = true }, []string{FaultRow}},
		"a doctor":      {func(k *Kind) { k.Format, k.Seconds = doctored{}, true }, []string{"empty-notes", FaultRow}},
	} {
		k := demoKind
		c.kind(&k)
		var got []string
		for _, f := range storetest.Faults(t, openDemo(t, k, path), "plain") {
			if f.Code != store.FaultUnread {
				got = append(got, f.Code)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q and not %q", name, got, c.want)
		}
	}
	rowstest.Execute(t, path, "DELETE FROM entries WHERE id = 'q2'")
}

// TestGrowth_errors: whichever call fails in the course of a growth, its error is told, and the next time it
// is all there.
func TestGrowth_errors(t *testing.T) {
	path := demoFile(t)
	for n := 1; ; n++ {
		s, calls, none := openDemo(t, demoKind, path), 0, 0
		whole := s.carrier
		s.carrier = faulty{whole, &calls, &none}
		since, err := s.Cursor(t.Context(), "plain")
		if err != nil {
			t.Fatal(err)
		}
		rowstest.Execute(t, path, entryRow("plain", "", fmt.Sprintf("x%03d", n), newestOf(t, s), 100+n, "user", "more"))
		s.carrier, calls = faulty{whole, &calls, &n}, 0
		_, err = s.Growth(t.Context(), "plain", since)
		if calls < n {
			if n < 4 {
				t.Errorf("a growth takes %d calls", n)
			}
			break
		}
		if !errors.Is(err, errBroken) {
			t.Errorf("call %d: %v", n, err)
		}
		if g, err := s.Growth(t.Context(), "plain", since); err != nil || g.Rewritten || len(g.Headers) != 1 {
			t.Errorf("behind a failure of call %d: %+v, %v", n, g, err)
		}
	}
}

func newestOf(t *testing.T, s *Store) string {
	t.Helper()
	list := storetest.Headers(t, s, "plain")
	return list[len(list)-1].ID
}

// TestRows_asStored: values are what the file has, an empty blob too, and no time of a column that says to be
// one.
func TestRows_asStored(t *testing.T) {
	s := openDemo(t, demoKind, demoFile(t, "CREATE TABLE kinds (id text PRIMARY KEY, a blob, b datetime, c real, d integer, e text)", "INSERT INTO kinds VALUES ('k', x'', '2026-01-02 03:04:05', 1.5, 7, NULL), ('l', x'0001', 8, NULL, 'text', '')"))
	err := s.carrier.Read(t.Context(), func(tx tables) error {
		list, err := Rows(t.Context(), tx, "kinds", " ORDER BY id")
		want := []Row{{"id": "k", "a": []byte{}, "b": "2026-01-02 03:04:05", "c": 1.5, "d": int64(7), "e": nil}, {"id": "l", "a": []byte{0, 1}, "b": int64(8), "c": nil, "d": "text", "e": ""}}
		if err == nil && !reflect.DeepEqual(list, want) {
			t.Errorf("%#v", list)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestSaid: what a message that is added says of its row: who speaks, whether a turn ends, and what failed.
func TestSaid(t *testing.T) {
	call := `{"role":"assistant","content":[{"toolUse":{"toolUseId":"c","name":"look","input":{}}}]}`
	for body, want := range map[string]string{
		`{"role":"user","content":"words"}`:                                             "user input 1",
		`{"role":"assistant","content":"words"}`:                                        "turn end 0",
		`{"role":"assistant","content":[{"reasoning":{"text":"hm"}}]}`:                  "message 0",
		`{"role":"assistant","content":[{"reasoning":{"text":"hm"}},{"text":"words"}]}`: "turn end 0",
		call: "after model 0",
		`{"role":"tool","content":[{"toolResult":{"toolUseId":"c","status":"success","content":[]}}]}`: "tool iteration 0",
		`{"role":"system","content":"rules"}`: "message 0",
		`no JSON`:                             "message 0",
	} {
		var said Said
		var h model.Header
		if strings.Contains(body, "toolResult") {
			said.Add(new(model.Header), []byte(call))
		}
		said.Add(&h, []byte(body))
		if got := fmt.Sprint(h.EventText(), " ", h.TurnIndex); got != want {
			t.Errorf("%s: %s and not %s", body, got, want)
		}
	}
}

// TestApply_unsettled: where the end of another write cannot be told, nothing is written behind it.
func TestApply_unsettled(t *testing.T) {
	path := demoFile(t)
	s := openDemo(t, demoKind, path)
	p, before := plan(t, s, to(model.OpRestore, "tour", "e2")), storetest.Tables(t, path)
	w := wrote(1, model.OpRestore, 0)
	w.Write.Steps = []byte("no steps")
	if err := os.WriteFile(path+Beside, []byte(line(t, w)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), p); err == nil || !strings.Contains(err.Error(), "entry 1 of the journal") || storetest.Tables(t, path) != before {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(path+Beside, []byte(line(t, record{Format: journalFormat + 1, Write: w.Write})), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), p); !errors.Is(err, errFormat) || storetest.Tables(t, path) != before {
		t.Errorf("%v", err)
	}
}

// TestPlan_target: an undo leads to the head as it was, a redo to the row that the write named, and one of a
// fork to the head of what it makes.
func TestPlan_target(t *testing.T) {
	for op, want := range map[model.Op][2]string{model.OpRestore: {"e4", "e2"}, model.OpFork: {"", "e5"}} {
		s := openDemo(t, demoKind, demoFile(t))
		c := to(op, "tour", "e2")
		if op == model.OpFork {
			c.Ref.ID, c.As = "e5", "again"
		}
		do(t, s, c)
		if p := plan(t, s, undo); p.Target.ID != want[0] {
			t.Errorf("the undo of a %s leads to %+v", op, p.Target)
		}
		do(t, s, undo)
		if p := plan(t, s, redo); p.Target.ID != want[1] {
			t.Errorf("the redo of a %s leads to %+v", op, p.Target)
		}
	}
}

// TestOpen_settles: a session that is opened after a write whose end was not told shows what the write did.
func TestOpen_settles(t *testing.T) {
	path := demoFile(t)
	do(t, openDemo(t, demoKind, path), to(model.OpRestore, "tour", "e2"))
	cutJournal(t, path, 1)
	if left := storetest.Headers(t, openDemo(t, demoKind, path), "tour")[3]; !left.Orphaned || left.Reason.Kind != model.ReasonRestore {
		t.Errorf("%+v", left)
	}
}

// TestGrowth_middle: a row that goes from the middle of one table has the session read anew, though the other
// tables are as they were.
func TestGrowth_middle(t *testing.T) {
	for _, table := range []string{"entries", "answers"} {
		path := demoFile(t)
		s := openDemo(t, demoKind, path)
		since, err := s.Cursor(t.Context(), "plain")
		if err != nil {
			t.Fatal(err)
		}
		rowstest.Execute(t, path, "DELETE FROM "+table+" WHERE id = 'p2'")
		if g, err := s.Growth(t.Context(), "plain", since); err != nil || !g.Rewritten {
			t.Errorf("%s: %+v, %v", table, g, err)
		}
	}
}
