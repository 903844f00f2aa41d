// Package rows is the medium of kinds whose sessions are rows of tables that another program
// writes: in a SQLite file, or in a database on a PostgreSQL server. A kind says how its tables
// are read, see [Format]. The store on them is that of package engine.
//
// A kind that is a [Mover] says which rows change to put a session back or to fork it.
// The plan reads the log of the tables, and with the same Format the log of the tables
// with these rows laid over them: temporary views, in memory, which the file never
// sees. What leaves the path is the difference of the two logs, see package planning.
//
// A plan is carried out in one transaction (BEGIN IMMEDIATE):
//
//	compare   each row that changes, and how many rows the session has in each table
//	intend    the rows before and after go into the journal, which is synced
//	change    these rows and no other; a trigger that does more takes all of it back
//	verify    the log is read back, and compared with the plan
//	COMMIT    and the journal says that it is done
//
// The journal lies beside the file, see [Beside]. Where a write was broken off, SQLite takes
// back what was not committed, and the next opening tells by the rows whether it was. An
// undo is the same plan with the rows the other way round. It refuses where the agent wrote
// on a row that would go. What it cannot give back is the counter of an AUTOINCREMENT.
package rows

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/model/request"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/media/files"
	"hindcast/store/media/sqlitefile"
)

// Format is all that a kind writes in Go. Each method runs within one transaction, and
// so sees one state of the file.
type Format interface {
	// Log returns the snapshots of a session, from the one with an id on: all where the
	// id is "", none where the session is gone.
	Log(ctx context.Context, t Tx, of Place, from string) (Log, error)
	// State returns the state of the snapshot with that id. The error is
	// model.ErrNoSnapshot for an id that the session does not have.
	State(ctx context.Context, t Tx, of Place, id string) ([]byte, error)
	// About describes a snapshot besides its state. It returns the errors of State.
	About(ctx context.Context, t Tx, of Place, id string) (About, error)
}

// Doctor is a format that finds more wrong with a session than its rows tell.
type Doctor interface {
	// Faults returns the faults of a session.
	Faults(ctx context.Context, t Tx, of Place) ([]model.Fault, error)
}

// Requester is a format that repeats how the framework makes a request of a state.
type Requester interface {
	// Request returns the ModelRequest of [store.Features].
	Request(ctx context.Context, t Tx, of Place, id string) (request.Request, error)
}

// Place is one session: its id, and the values of the columns that name it.
type Place struct {
	ID  string
	Key []any
	// tables are the names of the kind's tables in this database, where they differ.
	tables map[string]string
}

// Name returns the name of one of the kind's tables in the database.
func (p Place) Name(table string) string {
	if name, ok := p.tables[table]; ok {
		return name
	}
	return table
}

// Table returns how a statement names one of the kind's tables.
func (p Place) Table(table string) string {
	if name, ok := p.tables[table]; ok {
		return QuoteName(name)
	}
	return table
}

// SessionPlace returns where a session is in the same tables, by its id and by the columns that name it.
func (p Place) SessionPlace(id string, key ...any) *Place {
	return &Place{ID: id, Key: key, tables: p.tables}
}

// Log is that of the engine. Rows come in the order in which they were recorded. Their TurnIndex says how
// many turns begin with the snapshot, which are then counted along the parents. SessionID is left out of them,
// and who is off the path, and why: Facts say where the head is. Place and Head are left out.
type Log = engine.Log

// Codes of the faults that are found here. A row with model.MarkDamaged is one.
const (
	// FaultDatabase: SQLite's own check found damage.
	FaultDatabase = "damaged-database"
	// FaultRow: what stands beside a state cannot be read.
	FaultRow = "damaged-row"
)

// Opaque returns the fault that says how states of a session are stored that are not read.
func Opaque(session, encoding, framework string) model.Fault {
	return model.Fault{Code: model.FaultOpaque, Severity: model.Odd, File: session, Meaning: "states are stored as " + encoding + " and shown as bytes",
		Verdict: framework + " loads what it has the key or the classes for"}
}

// About is that of the engine.
type About = engine.About

// Kind describes a kind.
type Kind struct {
	// Name, Framework and IDs are documented at store.Kind and [store.Features].
	Name, Framework, IDs string
	// Own are the paths of the Own of [store.Features].
	Own []string
	// Does are the operations that a Format which is a [Mover] plans, besides undo and redo; nil where the kind is only
	// read.
	Does []model.Op
	// Refuses says why the format does not plan the other operations, and what to do instead. An operation in
	// neither list is possible in no store of the kind.
	Refuses map[model.Op]string
	// Lacks says why nothing can be written where the Format is no Mover or Does is nil, and what to do
	// instead.
	Lacks string
	// Damage is the severity and the verdict on a row that the framework cannot read. If it is empty, the
	// framework fails.
	Damage model.Fault
	// Seconds says that times are whole seconds, so that equal ones are no fault.
	Seconds bool
	// Places is documented at store.Kind; it may be nil.
	Places func(store.Surroundings) []string
	// Make is documented at store.Kind; it may be nil.
	Make func(ctx context.Context, path string) error
	// Tables are the tables by which a database of the kind is recognised, with their columns. The tables that
	// have the columns of Key and Order show how a session changed.
	Tables map[string]string
	// Since are columns of Tables that databases of other versions of the framework lack: NULL stands for them, of the type
	// behind a colon or text. Older lists the tables that they lack: it is called when a
	// database is looked at. Such a database is only read.
	Since map[string]string
	Older func() []Older
	// Mark is a query that reports whether a file with these tables is of the kind; "" takes each.
	Mark string
	// Sides are tables that a database may have besides, whose texts are looked for in the states.
	Sides []Side
	// Held are the rows of a session, in the order in which they are added. Their parameters are Key.
	Held []engine.RowSet
	// Large are the columns that may hold more than a name: states, and other texts of people and models. A row
	// with a megabyte in another column is not read.
	Large []string
	// Renamed says that a program may call the tables as it likes, and have several such
	// sets in one database. They are found by their columns: that of the snapshots refers
	// to the others.
	Renamed bool
	// Snapshots is the table with a row for each snapshot, or a subquery with a column rowid. Key are its text
	// columns that name the session. The session's ID joins their values with slashes, and drops empty values
	// at the end. ID is the column of the snapshot's id.
	Snapshots string
	// Sessions is a query of the columns of Key of each session; "" asks Snapshots.
	Sessions string
	Key      []string
	ID       string
	// Reads are the columns of it that are read to know what it carries, all where it is "".
	Reads string
	// Order are the columns that sort the snapshots by age; if it is empty, ID sorts them.
	Order  []string
	Format Format
	// Made describes the files that the tables are made of; nil for a database.
	Made *Made
	// Folder is the kind of a folder with files that stand for the tables, whose own Folder is that of other files; it may be
	// nil.
	Folder *Kind
	// Cache keeps the lists of unchanged files; nil keeps none.
	Cache *files.Cache
}

// Side is a table without the columns of [Kind.Key]. A row belongs to a session if Of contains its Column. Of
// is an SQL list or query that takes the key.
type Side struct{ Table, Column, Of string }

// whereClause is the condition that the rows of a session fit.
func (k Kind) whereClause() string { return " WHERE " + strings.Join(k.Key, " = ? AND ") + " = ?" }

// orderColumns returns the columns by which a later snapshot is greater.
func (k Kind) orderColumns() []string {
	if k.Order == nil {
		return []string{k.ID}
	}
	return k.Order
}

// watchedTables returns the tables that have a row for each change of a session.
func (k Kind) watchedTables() []string {
	tables := []string{k.Snapshots}
	for _, table := range slices.Sorted(maps.Keys(k.Tables)) {
		has := strings.Fields(k.Tables[table])
		lacks := func(column string) bool { return !slices.Contains(has, column) }
		if table != k.Snapshots && !slices.ContainsFunc(slices.Concat(k.orderColumns(), k.Key), lacks) {
			tables = append(tables, table)
		}
	}
	return tables
}

// TakesTalks reports whether the framework goes on with conversations of other tools.
func (k Kind) TakesTalks() bool {
	_, ok := k.Format.(Continuer)
	return ok && slices.Contains(k.Does, model.OpContinue)
}

// Kind returns the kind for the list of kinds. served is the kind in a database on a server, or nil. A write there is
// noted in data, the user's folder for data; with "" nothing is written there.
func (k Kind) Kind(served *Kind, data string) engine.Kind {
	return engine.Kind{
		Kind: store.Kind{Name: k.Name, Framework: k.Framework, Files: []string{"*.db", "*.db3", "*.sqlite", "*.sqlite3"}, Places: k.Places, Continues: k.TakesTalks(), Make: k.Make},
		Sign: func(ctx context.Context, at engine.Site) (why string, ok bool, err error) {
			switch {
			case at.Server != nil:
			case k.Folder != nil && at.Info != nil && at.Info.IsDir():
				_, why, ok, err = k.findFolder(at)
				return why, ok, err
			default:
				return k.signFile(ctx, at)
			}
			tables := slices.Sorted(maps.Keys(served.Tables))
			is, err := served.findOlder(ctx, func(_ context.Context, table string) (map[string]bool, error) { return at.Tables[table], nil }, ownTable, hiddenOnServer)
			if ok = is != nil; is.replaces() {
				tables = slices.DeleteFunc(tables, func(table string) bool { return len(at.Tables[table]) == 0 })
			}
			if err != nil {
				return "", false, err
			}
			return served.describeTables("PostgreSQL", ok, tables), ok, nil
		},
		OpenAt: func(ctx context.Context, at engine.Site) (store.Store, error) {
			if at.Server != nil {
				return served.openServer(ctx, at.Server, data).newStore(), nil
			}
			open := k.openFile
			if k.Folder != nil && at.Info != nil && at.Info.IsDir() {
				is, _, _, err := k.findFolder(at)
				if err != nil {
					return nil, err
				}
				open = is.openFolder
			}
			m, err := open(ctx, at.Path)
			if err != nil {
				return nil, err
			}
			return m.newStore(), nil
		},
		Served: served != nil,
		Tables: &engine.Tables{List: k.listHeld, NotBack: k.Lacks},
	}.Derive()
}

// listHeld returns the rows of the sessions of a database.
func (k Kind) listHeld(ctx context.Context, file *sqlitefile.Tx) (list []engine.SessionRows, err error) {
	t, err := k.inFile(ctx, file)
	if err != nil {
		return nil, err
	}
	if _, ok, err := k.sign(ctx, t); err != nil || !ok {
		return nil, err
	}
	sets, err := k.findTableSets(ctx, t)
	taken := map[string]bool{}
	for i := 0; err == nil && i < len(sets); i++ {
		in := Place{tables: sets[i]}
		var keys [][]string
		keys, err = t.listKeys(ctx, k, in)
		for _, key := range keys {
			at := in.keyedPlace(key, taken)
			one := engine.SessionRows{ID: at.ID, Key: at.Key}
			for _, set := range k.Held {
				set.Table = at.Name(set.Table)
				if t.replaces() { // it may lack the table
					if has, err := t.Tx.Columns(ctx, set.Table); err != nil || len(has) == 0 {
						continue
					}
				}
				one.Sets = append(one.Sets, set)
			}
			list = append(list, one)
		}
	}
	return list, err
}

// describeTables says whether a database has tables of the kind.
func (k Kind) describeTables(database string, has bool, tables []string) string {
	return "a " + database + " database " + map[bool]string{true: "with ", false: "without "}[has] + k.Framework + "'s tables " + strings.Join(tables, " and ")
}

// describeLack returns which tables and columns a database lacks that has most of one of the kind's tables, or "".
func (k Kind) describeLack(ctx context.Context, t sqliteTx) (string, error) {
	lacks, err := t.Tx.ListLacks(ctx, k.Tables)
	if err != nil || len(lacks) == len(k.Tables) && !slices.ContainsFunc(lacks, func(l sqlitefile.Lack) bool { return len(l.Columns) < l.Of-len(l.Columns) }) {
		return "", err
	}
	return "a SQLite database that has " + k.Framework + "'s tables in part: it lacks " + sqlitefile.DescribeLacks(lacks), nil
}

// sign returns why a database is of the kind, or, with false, the tables and columns that it lacks.
func (k Kind) sign(ctx context.Context, t sqliteTx) (why string, ok bool, err error) {
	tables := slices.Sorted(maps.Keys(k.Tables))
	sets, err := k.findTableSets(ctx, t)
	if len(sets) == 0 {
		some := false
		if err == nil { // nearly every database is another's: one query tells
			some, err = t.Tx.HasAny(ctx, maps.Keys(k.Tables))
		}
		if !some {
			return k.describeTables("SQLite", false, tables), false, err
		}
		for i := 0; err == nil && i < len(tables); i++ {
			var what string
			if what, err = t.Instead(ctx, tables[i]); what != "" {
				return "not a " + k.Framework + " database: " + tables[i] + " is " + what, false, nil
			}
		}
		if err == nil {
			why, err = k.describeLack(ctx, t)
		}
		return cmp.Or(why, k.describeTables("SQLite", false, tables)), false, err
	}
	if sets[0] != nil {
		tables = slices.Sorted(maps.Values(sets[0]))
	}
	if t.replaces() {
		tables = slices.DeleteFunc(tables, func(table string) bool {
			has, failed := t.Tx.Columns(ctx, table)
			err = cmp.Or(err, failed)
			return len(has) == 0
		})
	}
	if k.Mark != "" {
		if err := t.Row(ctx, k.Mark).Scan(&ok); err != nil || !ok {
			return "a SQLite database with the tables of another program than " + k.Framework, false, err
		}
	}
	return k.describeTables("SQLite", true, tables), true, nil
}

// findTableSets returns the sets of the kind's tables in a database, each by the names that the
// kind has for them. A set is nil where these are the names in the database.
func (k Kind) findTableSets(ctx context.Context, t tables) (sets []map[string]string, err error) {
	if !k.Renamed {
		for table, columns := range k.Tables {
			if has, err := t.Columns(ctx, table); err != nil || !hasAll(has, columns) {
				return nil, err
			}
		}
		return []map[string]string{nil}, nil
	}
	names, err := firstColumn[string](ctx, t, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
	for _, name := range names {
		has, err := t.Columns(ctx, name)
		if err != nil {
			return nil, err
		}
		if !hasAll(has, k.Tables[k.Snapshots]) {
			continue
		}
		parents, err := firstColumn[string](ctx, t, `SELECT "table" FROM pragma_foreign_key_list(?, 'main')`, name)
		if err != nil {
			return nil, err
		}
		set := map[string]string{k.Snapshots: name}
		for _, parent := range parents {
			if has, err = t.Columns(ctx, parent); err != nil {
				return nil, err
			}
			for table, columns := range k.Tables {
				if table != k.Snapshots && hasAll(has, columns) {
					set[table] = parent
				}
			}
		}
		if len(set) == len(k.Tables) {
			sets = append(sets, set)
		}
	}
	return sets, err
}

// hasAll reports whether a table has all of some columns.
func hasAll(has map[string]bool, columns string) bool {
	return !slices.ContainsFunc(strings.Fields(columns), func(column string) bool { return !has[column] })
}

// firstColumn returns the first column of a query.
func firstColumn[V any](ctx context.Context, t Tx, query string, args ...any) (all []V, err error) {
	err = t.Each(ctx, func(scan func(...any) error) error {
		var value V
		err := scan(&value)
		all = append(all, value)
		return err
	}, query, args...)
	return all, err
}

// foreign says that a database is not one of the kind.
type foreign string

func (f foreign) Error() string { return string(f) }

// Find returns a session and the place of a snapshot in it. It reads the session again only if the file
// changed. The error is model.ErrNoSnapshot if the session has no such snapshot.
func Find[S interface{ Find(id string) int }](t Tx, of Place, id string, read func() (S, error)) (session S, place int, err error) {
	session, err = Keep(t, of.ID, read)
	if err != nil {
		return session, -1, err
	}
	if place = session.Find(id); place < 0 {
		err = model.ErrNoSnapshot
	}
	return session, place, err
}

// unnamed is the id of a session whose name is empty: "" is the store itself.
const unnamed = "(no name)"

// keyedPlace returns the place of the session with a key, in the tables of a place. taken are the ids in use.
func (p Place) keyedPlace(key []string, taken map[string]bool) Place {
	p.Key = make([]any, len(key))
	for i, name := range key {
		p.Key[i] = name
	}
	for len(key) > 1 && key[len(key)-1] == "" {
		key = key[:len(key)-1]
	}
	if p.ID = strings.Join(key, "/"); p.ID == "" {
		p.ID = unnamed
	}
	for taken[p.ID] {
		p.ID += "'"
	}
	taken[p.ID] = true
	return p
}
