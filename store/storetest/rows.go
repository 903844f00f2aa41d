package storetest

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/storetest/skip"
)

// Rows is the suite of what every kind holds that writes rows into a SQLite file of another
// program, run at every position of every session of the store at an address, of which it
// makes a copy. Each write adds what it says, an undo leaves each table as it was to the last
// byte, and a redo does the same again. A restore adds rows, and changes one row of each of
// some tables.
func Rows(t *testing.T, kind store.Kind, address string, changes ...string) {
	skip.Sequential(t)
	wrote := 0
	for _, info := range Sessions(t, OpenStore(t, kind, address)) {
		mine := Copy(t, address)
		r := rowing{
			TB: t, s: AsWriter(OpenStore(t, kind, mine)), changes: changes,
			tables: func() string { return Tables(t, mine) },
			beside: func() []string { return beside(t, mine) },
			forget: func() error { return os.Remove(mine + "-hindcast") },
		}
		wrote += r.session(info.ID, 1)
	}
	if wrote == 0 {
		t.Error("nothing of the store could be written")
	}
}

// RowsOn is Rows of an open store on a server. tables returns the contents of all its tables. RowsOn writes
// at some positions only: a row is written alike wherever it is.
func RowsOn(t *testing.T, s Writer, tables func() string, changes ...string) {
	skip.Sequential(t)
	wrote, r := 0, rowing{TB: t, s: s, changes: changes, tables: tables, beside: func() []string { return nil }, forget: func() error { return nil }}
	for _, info := range Sessions(t, s) {
		wrote += r.session(info.ID, 12)
	}
	if wrote == 0 {
		t.Error("nothing of the store could be written")
	}
}

// session writes at every so many positions of a session, and returns how often it could.
func (r *rowing) session(id string, every int) (wrote int) {
	r.Helper()
	for i, h := range Headers(r, r.s, id) {
		if i%every > 0 {
			continue
		}
		for _, change := range []model.Change{{Op: model.OpRestore, Ref: h.Ref()}, {Op: model.OpFork, Ref: h.Ref(), As: "again, with ünicode"}} {
			if r.write(change) {
				wrote++
			}
			if err := r.forget(); err != nil && !errors.Is(err, fs.ErrNotExist) {
				r.Fatal(err)
			}
		}
	}
	return wrote
}

// Build returns a SQLite file that the statements in a file make.
func Build(t testing.TB, statements string) string {
	t.Helper()
	text, err := os.ReadFile(statements)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "built.db")
	db, err := sql.Open("sqlite", file)
	if err == nil {
		_, err = db.ExecContext(t.Context(), string(text))
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// Tables returns all that a SQLite file holds, exactly: how it keeps its log, the schema, and
// each row of each table with its row id, but for the counters of AUTOINCREMENT, which no undo
// can put back. No program has the file open.
func Tables(t testing.TB, file string) string {
	t.Helper()
	file, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: file, RawQuery: "mode=ro&immutable=1"}).String())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var b strings.Builder
	lines := func(query string, args ...any) (all []string) {
		found, err := db.QueryContext(t.Context(), query, args...)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		defer found.Close()
		for found.Next() {
			var line string
			if err := found.Scan(&line); err != nil {
				t.Fatal(err)
			}
			all = append(all, line)
		}
		if err := found.Err(); err != nil {
			t.Fatal(err)
		}
		return all
	}
	header := make([]byte, 20)
	f, err := os.Open(file)
	if err == nil {
		_, err = f.ReadAt(header, 0)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&b, "versions of the file %v\n", header[18:]) // 1 of a journal, 2 of a log
	for _, table := range lines("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'sqlite_sequence' ORDER BY name") {
		fmt.Fprintln(&b, lines("SELECT ifnull(sql, '') FROM sqlite_schema WHERE tbl_name = ? ORDER BY name", table))
		var columns []string
		for _, c := range lines("SELECT name FROM pragma_table_info(?)", table) {
			columns = append(columns, `quote("`+c+`")`)
		}
		for _, row := range lines(fmt.Sprintf(`SELECT rowid || ' ' || %s FROM "%s" ORDER BY rowid`, strings.Join(columns, " || ', ' || "), table)) {
			fmt.Fprintln(&b, table, row)
		}
	}
	return b.String()
}

// rowing is a store to which rows are written.
type rowing struct {
	testing.TB
	s Writer
	// tables returns all that is in the tables, and beside what lies beside them. forget
	// takes the journal away: a long one takes its time.
	tables func() string
	beside func() []string
	forget func() error
	// changes names the tables in which a restore changes a row.
	changes []string
}

// beside returns the names of the folder of a file, but for the journal of Hindcast's.
func beside(r testing.TB, file string) (names []string) {
	r.Helper()
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil {
		r.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), "-hindcast") {
			if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
				r.Errorf("the journal has the mode %v, %v", info.Mode(), err)
			}
			continue
		}
		names = append(names, e.Name())
	}
	return names
}

func (r *rowing) apply(change model.Change) model.Plan {
	r.Helper()
	plan, err := r.s.Plan(r.Context(), change)
	if err == nil {
		_, err = r.s.Apply(r.Context(), plan)
	}
	if err != nil {
		r.Fatalf("%s: %v", change, err)
	}
	return plan
}

// write carries a change out, takes it back, does it again and takes it back. It reports
// whether it could.
func (r *rowing) write(change model.Change) bool {
	r.Helper()
	before, files := r.tables(), r.beside()
	source := Headers(r, r.s, change.Ref.Session)
	plan, err := r.s.Plan(r.Context(), change)
	if refused := (*model.UnsupportedError)(nil); errors.As(err, &refused) {
		holdText(r, err.Error())
		return false
	}
	if err != nil {
		r.Fatalf("%s: %v", change, err)
	}
	if now := r.tables(); now != before || !slices.Equal(r.beside(), files) {
		r.Errorf("%s: a plan writes", change)
	}
	receipt, err := r.s.Apply(r.Context(), plan)
	if err != nil {
		r.Fatalf("%s: %v", change, err)
	}
	after := r.tables()
	if !slices.Equal(r.beside(), files) {
		r.Errorf("%s: beside the file lie %q, and there were %q", change, r.beside(), files)
	}
	if plan.Idle() {
		if after != before {
			r.Errorf("%s: an idle plan writes", change)
		}
		return true
	}
	was := strings.Split(before, "\n")
	for line := range strings.SplitSeq(after, "\n") {
		if i := slices.Index(was, line); i >= 0 {
			was = slices.Delete(was, i, i+1)
		}
	}
	if change.Op == model.OpRestore {
		for _, table := range r.changes {
			if i := slices.IndexFunc(was, func(line string) bool { return strings.HasPrefix(line, table+" ") }); i >= 0 {
				was = slices.Delete(was, i, i+1)
			}
		}
	}
	if len(was) > 0 {
		r.Errorf("%s: rows went or changed: %.200q", change, was)
	}
	if change.Op == model.OpFork {
		r.forked(change.As, plan, receipt, source)
	}
	for _, redo := range []bool{true, false} {
		r.apply(model.Change{Op: model.OpUndo})
		if r.tables() != before {
			r.Errorf("%s: after an undo the tables are others", change)
		}
		for _, err := range r.s.Headers(r.Context(), plan.NewSession) {
			if plan.NewSession != "" && !errors.Is(err, model.ErrNoSession) {
				r.Errorf("%s: after an undo the new session is there: %v", change, err)
			}
		}
		if redo {
			r.apply(model.Change{Op: model.OpRedo})
			if r.tables() != after {
				r.Errorf("%s: after a redo the tables are others than after the write", change)
			}
		}
	}
	return true
}

// withoutOwn returns a state without the members that the framework keeps for itself.
func (r *rowing) withoutOwn(state []byte) []byte {
	own := r.s.Features().Own
	if own == nil {
		return state
	}
	var text []byte
	for m, err := range jsontape.Members(state) {
		if err != nil || m.Key == nil {
			return state
		}
		if !slices.Contains(own.Paths, "/"+jsontape.Unquote(m.Key)) {
			text = append(append(append(append(text, ','), m.Key...), ':'), m.Value...)
		}
	}
	return append(text, '}')
}

// forked: the new session is the way to the snapshot, with its states, and the one that it
// was made of is as it was.
func (r *rowing) forked(as string, plan model.Plan, receipt model.Receipt, source []model.Header) {
	r.Helper()
	if !strings.Contains(onward(&plan), as) {
		r.Errorf("%q does not say how %s goes on", onward(&plan), as)
	}
	sameValue(r, "the session that was forked", Headers(r, r.s, plan.Session), source)
	line := model.NewTimeline(source)
	var way []model.Header
	for n := model.Node(slices.IndexFunc(source, func(h model.Header) bool { return h.ID == plan.Target.ID })); n != model.NoNode; n = line.Parent(n) {
		way = append(way, line.Header(n))
	}
	slices.Reverse(way)
	list := Headers(r, r.s, plan.NewSession)
	if len(list) != len(way) || receipt.Session != plan.NewSession || receipt.Head != list[len(list)-1].Point() {
		r.Fatalf("%s has %d snapshots instead of %d, and the receipt says %+v", plan.NewSession, len(list), len(way), receipt)
	}
	numbered := list[0].ID != way[0].ID // where ids are the numbers of rows
	for i, h := range list {
		if !numbered && (h.ID != way[i].ID || h.ParentID != way[i].ParentID) || numbered && i > 0 && h.ParentID != list[i-1].ID || !h.Head && h.Title != way[i].Title || h.Orphaned || h.Head != (i == len(list)-1) {
			r.Errorf("%s: %+v is not as %+v", plan.NewSession, h, way[i])
		}
		a, errA := r.s.State(r.Context(), h.Ref())
		b, errB := r.s.State(r.Context(), way[i].Ref())
		a, b = r.withoutOwn(a), r.withoutOwn(b)
		if h.Head { // it may wait for an answer that was given since
			a = append([]byte{}, a[:min(len(a), max(len(b)-1, 0))]...)
			b = b[:len(a)]
		}
		if string(a) != string(b) || (errA == nil) != (errB == nil) {
			r.Errorf("%s: the state of #%d is another: %.300s and %.300s, %v, %v", plan.NewSession, h.Index, a, b, errA, errB)
		}
	}
}
