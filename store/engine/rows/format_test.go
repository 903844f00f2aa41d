package rows

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/planning"
	"hindcast/store/media/pg/pgtest"
	"hindcast/store/media/sqlitefile"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// demo is the smallest format that has all that the engine knows: entries that name their parents,
// a row of heads for a session that was put back, and answers for which an entry waits.
type demo struct{}

var _ Mover = demo{}

var demoKind = Kind{
	Name: "demo", Framework: "Demo", IDs: "the entry's id",
	Does:      []model.Op{model.OpRestore, model.OpFork, model.OpRepair},
	Refuses:   map[model.Op]string{model.OpEdit: "entries are not edited: fork instead"},
	Lacks:     "Demo writes by itself",
	Tables:    map[string]string{"entries": "session branch id parent body at", "answers": "session branch id at", "heads": "session branch id"},
	Large:     []string{"body"},
	Snapshots: "entries", Key: []string{"session", "branch"}, ID: "id", Order: []string{"at", "id"},
	Format: demo{},
}

// demoTables make the tables, in SQLite as in PostgreSQL.
var demoTables = []string{
	"CREATE TABLE entries (session text, branch text, id text, parent text, body text, at bigint, PRIMARY KEY (session, branch, id))",
	"CREATE TABLE answers (session text, branch text, id text, at bigint, PRIMARY KEY (session, branch, id))",
	"CREATE TABLE heads (session text PRIMARY KEY, branch text, id text)",
}

// entryRow returns the statement that adds an entry. Its time is that many seconds after the first of January.
func entryRow(session, branch, id, parent string, at int, role, text string) string {
	return fmt.Sprintf(`INSERT INTO entries VALUES ('%s', '%s', '%s', '%s', '{"role":"%s","content":"%s"}', %d)`, session, branch, id, parent, role, text, start+at)
}

const start = 1767225600 // 2026-01-01

// demoRows are the rows of the sessions: "tour" has a branch that was left, and was put back to e4;
// "plain" has no row of heads; "tour/side" is named below "tour".
var demoRows = []string{
	entryRow("tour", "", "e1", "", 1, "user", "find it"),
	entryRow("tour", "", "e2", "e1", 2, "assistant", "looking"),
	entryRow("tour", "", "e3", "e2", 3, "user", "go on"),
	entryRow("tour", "", "e4", "e3", 4, "assistant", "done"),
	entryRow("tour", "", "e5", "e2", 5, "user", "instead"),
	entryRow("tour", "", "e6", "e5", 6, "assistant", "done otherwise"),
	entryRow("plain", "", "p1", "", 10, "user", "hello"),
	entryRow("plain", "", "p2", "p1", 11, "assistant", "hi"),
	entryRow("plain", "", "p3", "p2", 12, "user", "more"),
	entryRow("tour", "side", "s1", "", 20, "user", "aside"),
	"INSERT INTO heads VALUES ('tour', '', 'e4')",
	"INSERT INTO answers SELECT session, branch, id, at FROM entries",
	"UPDATE answers SET at = NULL WHERE id IN ('e1', 'e2')",
}

// demoFile makes a database of the rows.
func demoFile(t testing.TB, more ...string) string {
	t.Helper()
	return newDatabase(t, filepath.Join(t.TempDir(), "demo.db"), slices.Concat(demoTables, demoRows, more)...)
}

// newDatabase makes a database by statements, and returns its path.
func newDatabase(t testing.TB, path string, statements ...string) string {
	t.Helper()
	err := os.WriteFile(path, nil, 0o600)
	file := sqlitefile.NewOwn(path, "", nil)
	if err == nil {
		err = file.Fill(t.Context(), func(tx *sqlitefile.Tx) error {
			for _, statement := range statements {
				if _, err := tx.Exec(t.Context(), statement); err != nil {
					return fmt.Errorf("%s: %w", statement, err)
				}
			}
			return nil
		})
	}
	if err = errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// openDemo opens a store until the test ends.
func openDemo(t testing.TB, k Kind, path string) *Store {
	t.Helper()
	m, err := k.openFile(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	s := newStore(m)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Store is an open store, and the tables that it stands on.
type Store struct {
	*engine.Store
	below
}

type below struct{ *medium }

func newStore(m *medium) *Store { return &Store{m.newStore(), below{m}} }

// in runs what on a session, in one transaction.
func (s *Store) in(ctx context.Context, session string, what func(tables, Place) error) error {
	return s.carrier.Read(ctx, func(t tables) error {
		places, err := s.listPlaces(ctx, &moment{tables: t})
		for _, at := range places {
			if at.ID == session {
				return what(t, at)
			}
		}
		return cmp.Or(err, model.ErrNoSession)
	})
}

// demoStores is the kind of the demo, which opens a [Store].
func demoStores() store.Kind {
	k := demoKind.Kind(nil, "").Kind
	k.Open = func(ctx context.Context, path string) (store.Store, error) {
		m, err := demoKind.openFile(ctx, path)
		if err != nil {
			return nil, err
		}
		return newStore(m), nil
	}
	return k
}

// entry1 is an entry as a format reads it.
type entry1 struct {
	id, parent, body string
	at, answered     int64
}

func (demo) entries(ctx context.Context, t Tx, of Place, s Span) (list []entry1, err error) {
	err = EachRow(ctx, s, t.Each, func(scan func(...any) error) error {
		var e entry1
		err := scan(&e.id, &e.parent, &e.body, &e.at, &e.answered)
		list = append(list, e)
		return err
	}, "SELECT id, parent, body, at, (SELECT count(*) FROM answers a WHERE a.session = e.session AND a.branch = e.branch AND a.id = e.id) FROM "+of.Table("entries")+" e")
	return list, err
}

func (f demo) Log(ctx context.Context, t Tx, of Place, from string) (log Log, err error) {
	span, err := demoKind.Span(ctx, t, of, from, Context)
	if err != nil {
		return log, err
	}
	list, err := f.entries(ctx, t, of, span)
	if err != nil {
		return log, err
	}
	head := ""
	found, err := t.First(ctx, []any{&head}, "SELECT id FROM heads WHERE session = ? AND branch = ?", of.Key...)
	if err != nil {
		return log, err
	}
	log.Facts = model.HeadFacts{Newest: !found, Pointed: found}
	var words Said
	for i, e := range list {
		h := model.Header{ID: e.id, ParentID: e.parent, Index: span.First + i, CreatedAt: time.Unix(e.at, 0).UTC(), Head: found && e.id == head}
		switch {
		case strings.HasPrefix(e.body, "enc:"):
			h.Event, h.EventName, log.Opaque = model.SnapshotEventNamed, "message", "ciphers"
		case !json.Valid([]byte(e.body)):
			h.Event, h.EventName, h.Marks = model.SnapshotEventNamed, "message", model.MarkDamaged
		default:
			words.Add(&h, []byte(e.body))
		}
		if e.answered == 0 {
			h.Marks |= model.MarkInterrupted
		}
		if i < span.Skip {
			continue
		}
		if h.EventName == EventUser {
			log.Title = cmp.Or(log.Title, h.Title)
		}
		if log.Rows, log.Size = append(log.Rows, h), log.Size+int64(len(e.body)); len(log.Rows) == 1 {
			log.First = log.Size
		}
	}
	return log, nil
}

// demoSession is a session that is kept between questions.
type demoSession []entry1

func (s demoSession) Find(id string) int {
	return slices.IndexFunc(s, func(e entry1) bool { return e.id == id })
}

func (f demo) find(ctx context.Context, t Tx, of Place, id string) (demoSession, int, error) {
	return Find(t, of, id, func() (demoSession, error) {
		span, err := demoKind.Span(ctx, t, of, "", 0)
		if err != nil {
			return nil, err
		}
		list, err := f.entries(ctx, t, of, span)
		return list, err
	})
}

func (s demoSession) path(i int) (way []entry1) {
	for ; i >= 0; i = s.Find(s[i].parent) {
		way = append(way, s[i])
	}
	slices.Reverse(way)
	return way
}

func (f demo) State(ctx context.Context, t Tx, of Place, id string) ([]byte, error) {
	s, i, err := f.find(ctx, t, of, id)
	if err != nil {
		return nil, err
	}
	var list [][]byte
	for _, e := range s.path(i) {
		if json.Valid([]byte(e.body)) {
			list = append(list, []byte(e.body))
		}
	}
	return slices.Concat([]byte(`{"messages":[`), bytes.Join(list, []byte(",")), []byte("]}")), nil
}

func (f demo) About(ctx context.Context, t Tx, of Place, id string) (about About, err error) {
	s, i, err := f.find(ctx, t, of, id)
	if err != nil {
		return about, err
	}
	about.Facts.Add("written", fmt.Sprint(s[i].at-start))
	if i > 0 {
		about.Resume = []model.Resume{{Call: "demo resume " + of.ID + " " + id, Then: "goes on from it"}}
	}
	return about, nil
}

// Move implements Mover.
func (f demo) Move(ctx context.Context, t Tx, before *Session, c model.Change) (*Move, error) {
	if c.Op == model.OpRepair {
		c.Ref.ID = before.Rows[slices.IndexFunc(before.Rows, func(h model.Header) bool { return h.Head })].ID
	}
	s, i, err := f.find(ctx, t, before.Place, c.Ref.ID)
	if err != nil {
		return nil, err
	}
	m := &Move{Move: engine.Move{Target: before.Rows[i].Point(), Hazards: []string{"a hazard of " + c.Ref.ID}, Asks: []string{"really " + c.Ref.ID + "?"}}}
	of := func(table, where string, args ...any) (list []Row, err error) {
		return Rows(ctx, t, before.Name(table), where, args...)
	}
	switch c.Op {
	case model.OpRestore:
		return m, f.lead(ctx, t, before, m, c.Ref.ID)
	case model.OpRepair: // a new entry in the place of the head
		m.Repairs = true
		row, err := of("entries", " WHERE session = ? AND branch = ? AND id = ?", before.Key[0], before.Key[1], c.Ref.ID)
		if err != nil {
			return nil, err
		}
		m.Steps = append(m.Steps, Step{Table: "entries", After: row[0].With("id", c.Ref.ID+"r").With("body", row[0].As("body", []byte(`{"role":"assistant","content":"mended"}`)))})
		return m, f.lead(ctx, t, before, m, c.Ref.ID+"r")
	}
	session, branch, _ := strings.Cut(c.As, "/")
	m.New = before.SessionPlace(c.As, session, branch)
	for _, e := range s.path(i) {
		for _, table := range []string{"entries", "answers"} {
			list, err := of(table, " WHERE session = ? AND branch = ? AND id = ?", before.Key[0], before.Key[1], e.id)
			if err != nil {
				return nil, err
			}
			for _, row := range list {
				m.Steps = append(m.Steps, Step{Table: table, After: row.With("session", session).With("branch", branch)})
			}
		}
	}
	return m, nil
}

// lead has the row of heads name an entry.
func (demo) lead(ctx context.Context, t Tx, before *Session, m *Move, id string) error {
	heads, err := Rows(ctx, t, "heads", " WHERE session = ?", before.Key[0])
	switch {
	case err != nil:
		return err
	case len(heads) == 0:
		m.Steps = append(m.Steps, Step{Table: "heads", After: Row{"session": before.Key[0], "branch": before.Key[1], "id": id}})
	case heads[0].Text("id") != id:
		m.Steps = append(m.Steps, Step{Table: "heads", Before: heads[0], After: heads[0].With("id", id)})
	}
	return nil
}

// Next implements Mover.
func (demo) Next(_ context.Context, _ Tx, after *Session, m *Move) (planning.Next, error) {
	next := planning.Next{Loads: "the entries of " + after.ID, Calls: []model.Resume{{Call: "demo resume " + after.ID}}}
	if m != nil {
		next.Hazards, next.Asks = m.Hazards, m.Asks
	}
	return next, nil
}

// Hangs implements Mover.
func (demo) Hangs(ctx context.Context, t Tx, went []Step) (string, error) {
	for _, s := range went {
		if s.Table != "entries" {
			continue
		}
		child := ""
		found, err := t.First(ctx, []any{&child}, "SELECT id FROM entries WHERE session = ? AND branch = ? AND parent = ?", s.targetRow().Text("session"), s.targetRow().Text("branch"), s.targetRow().Text("id"))
		if err != nil || found {
			return "entry " + child + " was added", err
		}
	}
	return "", nil
}

// doctored finds more than the rows tell.
type doctored struct{ demo }

func (doctored) Faults(ctx context.Context, t Tx, of Place) (list []model.Fault, err error) {
	list = append(list, model.Fault{Code: "empty-notes", Severity: model.Odd, File: of.ID, Meaning: "no note", Verdict: "shows none"})
	return list, t.Row(ctx, "SELECT count(*) FROM entries").Scan(new(int))
}

// listing lists the sessions itself, but for a database whose version says otherwise.
type listing struct{ demo }

func (listing) List(ctx context.Context, t Tx) (list []Listed, err error) {
	whole := 0
	if err := t.Row(ctx, "SELECT count(*) FROM heads WHERE session = 'read all'").Scan(&whole); err != nil || whole > 0 {
		return nil, err
	}
	err = t.Each(ctx, func(scan func(...any) error) error {
		one := Listed{Key: make([]string, 2), Info: model.SessionInfo{Snapshots: -1, Title: "listed"}}
		var at int64
		err := scan(&one.Key[0], &one.Key[1], &at)
		one.Info.UpdatedAt = time.Unix(at, 0).UTC()
		list = append(list, one)
		return err
	}, "SELECT session, branch, max(at) FROM entries GROUP BY session, branch ORDER BY session, branch")
	return list, err
}

// plainFormat is a format that is no Mover.
type plainFormat struct{ Format }

var errBroken = errors.New("the call broke")
