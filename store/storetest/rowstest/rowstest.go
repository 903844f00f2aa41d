// Package rowstest helps to test kinds that read the SQLite of another program.
package rowstest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/media/sqlitefile"
	"hindcast/store/storetest"
)

// Copied copies a database, so that it can be changed, and returns where it is.
func Copied(t testing.TB, path string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), filepath.Base(path))
	data, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(to, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// Execute changes a database as a program would that has it open, and closes it.
func Execute(t testing.TB, path string, statements ...string) {
	t.Helper()
	file := sqlitefile.NewOwn(path, "&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)", nil)
	err := file.Write(t.Context(), func(tx *sqlitefile.Tx) error {
		for _, statement := range statements {
			if _, err := tx.Exec(t.Context(), statement); err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
		}
		return nil
	})
	if err = errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
}

// Query returns the first column of what a statement finds in a database, as text.
func Query(t testing.TB, path, query string) (all []string) {
	t.Helper()
	file := sqlitefile.New(path, nil)
	err := file.Read(t.Context(), func(tx *sqlitefile.Tx) error {
		all = nil
		return tx.Each(t.Context(), func(scan func(...any) error) error {
			var text string
			err := scan(&text)
			all = append(all, text)
			return err
		}, query)
	})
	if err = errors.Join(err, file.Close()); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return all
}

// Head returns the header that a session goes on from.
func Head(t testing.TB, s store.Store, session string) model.Header {
	t.Helper()
	for _, h := range storetest.Headers(t, s, session) {
		if h.Head {
			return h
		}
	}
	t.Fatalf("session %q has no head", session)
	return model.Header{}
}

// At returns the header of an index.
func At(t testing.TB, s store.Store, session string, index int) model.Header {
	t.Helper()
	for _, h := range storetest.Headers(t, s, session) {
		if h.Index == index {
			return h
		}
	}
	t.Fatalf("session %q has no #%d", session, index)
	return model.Header{}
}

// State returns the state of a snapshot.
func State(t testing.TB, s store.Store, session string, index int) string {
	t.Helper()
	data, err := s.State(t.Context(), At(t, s, session, index).Ref())
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// About returns the facts, the gaps and the calls of a snapshot in one text.
func About(t testing.TB, s store.Store, h model.Header) string {
	t.Helper()
	facts, factsErr := s.Features().Facts(t.Context(), h.Ref())
	gaps, gapsErr := s.Features().Gaps(t.Context(), h.Ref())
	calls, callsErr := s.Features().Resume(t.Context(), h.Ref())
	if err := errors.Join(factsErr, gapsErr, callsErr); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, f := range facts {
		fmt.Fprintf(&text, "%s: %s\n", f.Label, f.Value)
	}
	if !gaps.IsEmpty() {
		fmt.Fprintf(&text, "gaps: %s\n", strings.Join(gaps.Keys, ", "))
	}
	for _, c := range calls {
		fmt.Fprintf(&text, "%s  %s\n", c.Call, c.Then)
	}
	return text.String()
}

// Says checks what About returns of a snapshot: it has each of some lines.
func Says(t testing.TB, s store.Store, session string, index int, want ...string) {
	t.Helper()
	got := About(t, s, At(t, s, session, index))
	for _, line := range want {
		if !strings.Contains("\n"+got, "\n"+line+"\n") {
			t.Errorf("%s #%d: the line %q is missing in\n%s", session, index, line, got)
		}
	}
}

// Faults returns the codes of the faults of a session. Each fault says all that it has to.
func Faults(t testing.TB, s store.Store, session string) (codes []string) {
	t.Helper()
	for _, f := range storetest.Faults(t, s, session) {
		codes = append(codes, f.Code)
		if f.Meaning == "" || f.Verdict == "" || f.File == "" {
			t.Errorf("%+v", f)
		}
	}
	return codes
}

// Change is something that happens to a database while it is followed.
type Change struct {
	What       string
	Statements []string
	// Do is what happens instead, where statements do not suffice.
	Do func()
	// Fresh is how many snapshots are new in the session, unless it is Rewritten.
	Fresh     int
	Rewritten bool
}

// Growth follows a session while its database changes. After each change a store that has
// followed has what one has that is opened then.
func Growth(t *testing.T, kind store.Kind, path, session string, changes []Change) {
	t.Helper()
	s := storetest.OpenStore(t, kind, path)
	at, err := s.Features().Cursor(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	have := storetest.Headers(t, s, session)
	for _, c := range changes {
		if c.Do != nil {
			c.Do()
		} else {
			Execute(t, path, c.Statements...)
		}
		growth, err := s.Features().Growth(t.Context(), session, at)
		if err != nil || growth.Rewritten != c.Rewritten || !c.Rewritten && len(growth.Headers) != c.Fresh {
			t.Fatalf("%s: %d new, rewritten %t, %v", c.What, len(growth.Headers), growth.Rewritten, err)
		}
		at = growth.Cursor
		for _, h := range growth.Headers {
			for i := range have {
				have[i].Head = have[i].Head && !h.Head
			}
			have = append(have, h)
		}
		if growth.Rewritten {
			have = storetest.Headers(t, s, session)
		}
		now := storetest.OpenStore(t, kind, path)
		if want := storetest.Headers(t, now, session); !reflect.DeepEqual(have, want) {
			t.Fatalf("%s: it is\n%+v, want\n%+v", c.What, have, want)
		}
		if got, want := storetest.Sessions(t, s), storetest.Sessions(t, now); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: the list is\n%+v, want\n%+v", c.What, got, want)
		}
	}
}

// WentOn carries a change out, and runs statements as an agent that goes on. An undo then refuses, also one
// that was planned before, and no row changes. In the statements HEAD is the id of the head that the change made.
// It returns what the undo says.
func WentOn(t *testing.T, kind store.Kind, path string, change model.Change, statements ...string) error {
	t.Helper()
	s := storetest.AsWriter(storetest.OpenStore(t, kind, path))
	plan, err := s.Plan(t.Context(), change)
	var receipt model.Receipt
	if err == nil {
		receipt, err = s.Apply(t.Context(), plan)
	}
	var early model.Plan
	if err == nil {
		early, err = s.Plan(t.Context(), model.Change{Op: model.OpUndo})
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range statements {
		Execute(t, path, strings.ReplaceAll(statement, "HEAD", receipt.Head.ID))
	}
	before := storetest.Tables(t, path)
	_, refused := s.Plan(t.Context(), model.Change{Op: model.OpUndo})
	if !errors.Is(refused, model.ErrHeadMoved) {
		t.Errorf("an undo: %v", refused)
	}
	if _, err := s.Apply(t.Context(), early); !errors.Is(err, model.ErrHeadMoved) {
		t.Errorf("a plan from before: %v", err)
	}
	if storetest.Tables(t, path) != before {
		t.Error("rows changed")
	}
	return refused
}

// Damaged changes a copy of a recorded database by a statement. It checks that the doctor of a session has a fault with a
// code, or none for "", and that the states that can be read are JSON.
func Damaged(t *testing.T, kind store.Kind, recorded, session, statement, fault string) {
	t.Helper()
	path := Copied(t, recorded)
	Execute(t, path, statement)
	s := storetest.OpenStore(t, kind, path)
	codes := Faults(t, s, session)
	if fault == "" && codes != nil || fault != "" && !slices.Contains(codes, fault) {
		t.Errorf("%s: the faults are %q, want %q", statement, codes, fault)
	}
	for _, h := range storetest.Headers(t, s, session) {
		if state, err := s.State(t.Context(), h.Ref()); err == nil && !json.Valid(state) {
			t.Errorf("%s: %s", statement, state)
		}
		About(t, s, h)
	}
}

// Torn tears one page after another of a recorded database, and reads what is left: the snapshots whose
// rows are on other pages are there, with the states of the newest, and the doctor names what is not. A row has so
// many snapshots at most.
func Torn(t *testing.T, kind store.Kind, recorded string, each int) {
	t.Helper()
	whole, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "torn.db")
	first := storetest.OpenStore(t, kind, recorded)
	all, listed := snapshots(t, first), len(storetest.Sessions(t, first))
	size := int(whole[16])<<8 | int(whole[17])
	known := pages(t, recorded)
	const most = 16 // pages of a large one
	for i, page := range slices.Sorted(maps.Keys(known)) {
		holds := known[page]
		if i%(1+len(known)/most) > 0 {
			continue
		}
		torn := slices.Clone(whole)
		for i := range size {
			torn[(page-1)*size+i] = byte(i*7 + 3)
		}
		if err := os.WriteFile(path, torn, 0o600); err != nil {
			t.Fatal(err)
		}
		s := storetest.OpenStore(t, kind, path)
		left, unread := 0, listing(t, s)
		if unread == nil {
			left = snapshots(t, s)
		}
		if left == 0 && !errors.Is(unread, sqlitefile.ErrDamaged) {
			t.Errorf("page %d, %s: with %d snapshots left the list says: %v", page, holds.what, left, unread)
		}
		if lost := all - left; lost > each*holds.rows {
			t.Errorf("page %d, %s: %d of %d snapshots are lost, at most %d should be", page, holds.what, lost, all, each*holds.rows)
		}
		if complaints := storetest.Faults(t, s, ""); len(complaints) == 0 {
			t.Errorf("page %d, %s: the doctor says nothing", page, holds.what)
		}
		if unread == nil && left < all {
			if sessions := storetest.Sessions(t, s); len(sessions) == listed && !names(t, s, sessions) {
				t.Errorf("page %d, %s: the doctor of no session names it", page, holds.what)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// listing returns why the sessions of a store cannot be listed.
func listing(t *testing.T, s store.Store) error {
	for _, err := range s.Sessions(t.Context()) {
		if err != nil {
			return err
		}
	}
	return nil
}

// snapshots counts those of a store, and reads a state of each session.
func snapshots(t *testing.T, s store.Store) (n int) {
	t.Helper()
	for _, info := range storetest.Sessions(t, s) {
		headers := storetest.Headers(t, s, info.ID)
		n += len(headers)
		if _, err := s.State(t.Context(), headers[len(headers)-1].Ref()); err != nil {
			t.Errorf("the state of session %s: %v", info.ID, err)
		}
	}
	return n
}

// damaged is the code of the fault of a database, and damagedRow that of a row.
const damaged, damagedRow = "damaged-database", "damaged-row"

// names reports whether the doctor of a session says that pages are damaged.
func names(t *testing.T, s store.Store, sessions []model.SessionInfo) bool {
	return slices.ContainsFunc(sessions, func(info model.SessionInfo) bool {
		return slices.ContainsFunc(storetest.Faults(t, s, info.ID), func(f model.Fault) bool {
			return f.Code == damaged || f.Code == damagedRow
		})
	})
}

// page is what a page of a database holds, and how many rows at most.
type page struct {
	what string
	rows int
}

// pages returns the pages of a database but the first, by their numbers.
func pages(t *testing.T, path string) map[int]page {
	t.Helper()
	found := map[int]page{}
	file := sqlitefile.New(path, nil)
	err := file.Read(t.Context(), func(tx *sqlitefile.Tx) error {
		return tx.Each(t.Context(), func(scan func(...any) error) error {
			var n int
			var p page
			var path, table string
			var schema bool
			err := scan(&n, &path, &p.what, &table, &p.rows, &schema)
			switch {
			case table != "" && path == "/" && p.what == "internal":
				p.rows = 1 << 20 // all rows are behind it
			case p.what == "overflow":
				p.rows = 1
			case table == "": // an index
				p.rows = 0
			}
			if p.what += " of " + table; n > 1 && !schema { // without a page of the schema there is nothing
				found[n] = p
			}
			return err
		}, "SELECT pageno, path, pagetype, ifnull((SELECT s.name FROM sqlite_schema s WHERE s.type = 'table' AND s.name = d.name), ''), ncell, name = 'sqlite_schema' FROM dbstat d")
	})
	if err = errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	return found
}
