package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/media/files"
	"hindcast/store/media/sqlitefile"
)

// How sessions in the rows of a database are read.
//
// A database is no file of the tree: SQLite reads it where it is on the disk, with its log,
// and leaves no trace, see package sqlitefile. No step of a plan ever lies over it, so that
// it is the same in each tree of a plan. A session is a part of it, see [Spot].Part.

// Databases are the SQLite databases of a storage, which are only read. A [Format] whose
// sessions are in rows embeds it. It is safe for concurrent use.
type Databases struct {
	// Dir is the folder of the storage on the disk.
	Dir string
	// Default is the name that the agent uses: such a file is one also while it cannot be
	// read.
	Default string
	// Below are databases in folders of the storage, by their names; they need not be there.
	Below []string
	// Tables tell a database of the agent, each with the columns that it must have.
	Tables map[string]string
	// Later are the tables of a later version, which tell a database as Tables do; or nil.
	Later map[string]string
	// Unread says of a table why a database that has it, and not the Tables, is not read.
	Unread map[string]string

	mu    sync.Mutex
	files map[string]*sqlitefile.File
	// queried counts the transactions.
	queried atomic.Int64
	// foreign has the reasons of Unread that were met, by the names of the databases.
	foreign map[string]string
}

// based is a format that embeds Databases.
type based interface {
	Names(ctx context.Context, in engine.In) ([]string, error)
	foreignReason(meant func(name string) bool) string
	watchFiles(ctx context.Context, changes <-chan struct{}) (<-chan struct{}, error)
	closeFiles() error
}

// mostDatabases bounds the files of a folder that are looked into.
const mostDatabases = 16

// errForeign: a database is not one of the agent.
var errForeign = errors.New("it has not the tables of the agent")

// fileOf returns the database of a name in the folder.
func (d *Databases) fileOf(name string) *sqlitefile.File {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.files[name]
	if f == nil {
		f = sqlitefile.New(filepath.Join(d.Dir, name), func(ctx context.Context, t *sqlitefile.Tx) error { return d.checkTables(ctx, t, name) })
		if d.files == nil {
			d.files = map[string]*sqlitefile.File{}
		}
		d.files[name] = f
	}
	return f
}

// checkTables returns errForeign for a database without the tables.
func (d *Databases) checkTables(ctx context.Context, t *sqlitefile.Tx, name string) error {
	if later, err := HasTables(ctx, t, d.Later); err != nil || later {
		return err
	}
	some, lacks, err := findLacks(ctx, t, d.Tables)
	if err != nil || some && len(lacks) == 0 {
		return err
	}
	reason := ""
	if some && len(lacks) < len(d.Tables) {
		reason = "the database has the agent's tables in part: it lacks " + sqlitefile.DescribeLacks(lacks)
	}
	if err := d.noteForeign(ctx, t, name, reason); err != nil {
		return err
	}
	for _, lack := range lacks {
		if what, err := t.Instead(ctx, lack.Table); err != nil || what != "" {
			return cmp.Or(err, fmt.Errorf("%w: %s is %s", errForeign, lack.Table, what))
		}
	}
	return errForeign
}

// HasTables reports whether a database has some tables with their columns.
func HasTables(ctx context.Context, t *sqlitefile.Tx, tables map[string]string) (bool, error) {
	some, lacks, err := findLacks(ctx, t, tables)
	return some && len(lacks) == 0, err
}

// findLacks reports whether a database has one of some tables at all, and then lists its lacks. One query tells nearly every
// other database apart.
func findLacks(ctx context.Context, t *sqlitefile.Tx, tables map[string]string) (some bool, lacks []sqlitefile.Lack, err error) {
	if some, err = t.HasAny(ctx, maps.Keys(tables)); some && err == nil {
		lacks, err = t.ListLacks(ctx, tables)
	}
	return some, lacks, err
}

// noteForeign notes why a database without the tables is not read: the reason, which may be "", or one of Unread.
func (d *Databases) noteForeign(ctx context.Context, t *sqlitefile.Tx, name, reason string) error {
	for table, why := range d.Unread {
		has, err := t.Columns(ctx, table)
		if err != nil {
			return err
		}
		if len(has) > 0 {
			reason = why
		}
	}
	if reason != "" {
		d.mu.Lock()
		if d.foreign == nil {
			d.foreign = map[string]string{}
		}
		d.foreign[name] = reason
		d.mu.Unlock()
	}
	return nil
}

// foreignReason returns why a database of some names is not read, "" where there is no reason.
func (d *Databases) foreignReason(meant func(name string) bool) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(d.foreign)) {
		if meant(name) {
			return d.foreign[name]
		}
	}
	return ""
}

// isDatabase reports whether a file is one by its name.
func isDatabase(name string) bool {
	return slices.Contains([]string{".db", ".db3", ".sqlite", ".sqlite3"}, filepath.Ext(name))
}

// mostOthers bounds the files of other names that are looked at in a folder, and mostGuessed how many of these are looked
// into.
const mostOthers, mostGuessed = 256, 8

// mayBe returns the names in a folder that may be databases: first by name, then any file of whole pages.
// SQLite itself decides whether they are.
func mayBe(in engine.In, names []string) (list []string) {
	names = slices.Sorted(slices.Values(names))
	var others []string
	for _, name := range names {
		if isDatabase(name) {
			list = append(list, name)
		} else if len(others) < mostOthers {
			others = append(others, name)
		}
	}
	guessed := 0
	for _, name := range others {
		if at, err := in.Stamp(name); guessed < mostGuessed && err == nil && at.Kind == files.Regular && store.WholePages(name, at.Size) {
			list, guessed = append(list, name), guessed+1
		}
	}
	return list
}

// Names returns the databases of the agent that are in the folder, and those of Below; that of the default name
// also where it cannot be read. The error is that of the folder.
func (d *Databases) Names(ctx context.Context, in engine.In) (list []string, err error) {
	names, err := in.List(".")
	if err != nil {
		return nil, err
	}
	names = mayBe(in, names)
	if i := slices.Index(names, d.Default); i > 0 { // the one that most likely is one
		names = slices.Insert(slices.Delete(names, i, i+1), 0, d.Default)
	}
	names = names[:min(len(names), mostDatabases)]
	for _, name := range d.Below {
		if at, err := in.Stamp(name); err == nil && at.Kind != files.Nothing {
			names = append(names, name)
		}
	}
	for _, name := range names {
		err := d.Query(ctx, name, func(*sqlitefile.Tx) error { return nil })
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		foreign := errors.Is(err, errForeign) || errors.Is(err, sqlitefile.ErrNotSQLite)
		if err == nil || filepath.Base(name) == d.Default && !foreign {
			list = append(list, name)
		}
	}
	return list, nil
}

// Query runs the function what in one transaction of the named database. It returns the errors of
// sqlitefile.File.Read.
func (d *Databases) Query(ctx context.Context, name string, what func(*sqlitefile.Tx) error) error {
	if !filepath.IsLocal(name) {
		return fs.ErrNotExist
	}
	d.queried.Add(1)
	err := d.fileOf(name).Read(ctx, func(t *sqlitefile.Tx) error {
		if err := t.Limit(mostValue); err != nil {
			return err
		}
		return what(t)
	})
	if errors.Is(err, sqlitefile.ErrNotSQLite) && !isDatabase(name) {
		return fs.ErrNotExist
	}
	return err
}

// mostValue bounds a value of a database, in bytes: each is copied several times.
const mostValue = 64 << 20

// CountQueries returns how many transactions there were.
func (d *Databases) CountQueries() int64 { return d.queried.Load() }

// FaultDatabase: a database cannot be read, or SQLite's own check finds damage in it.
const FaultDatabase = "damaged-database"

// Check implements [Checker]. It reports the databases that cannot be read, with their logs, and the findings
// of SQLite's own check.
func (d *Databases) Check(ctx context.Context, in engine.In) ([]model.Fault, error) {
	names, err := d.Names(ctx, in)
	var list []model.Fault
	for _, name := range names {
		var complaints []string
		if err := d.Query(ctx, name, func(t *sqlitefile.Tx) (err error) {
			complaints, err = t.Check(ctx)
			return err
		}); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			complaints = append(complaints, fmt.Sprintf("it cannot be read: %v", files.Cause(err)))
		}
		for _, c := range complaints {
			list = append(list, model.Fault{Code: FaultDatabase, Severity: model.Stops, File: name, Meaning: c, Verdict: "SQLite reads what it can"})
		}
	}
	return list, err
}

// NestedID returns the id of a session behind the ids of its parents: "PARENT/CHILD". parents maps each id to
// its parent.
func NestedID(parents map[string]string, id string) string {
	whole, seen := id, map[string]bool{id: true}
	for at := parents[id]; at != "" && !seen[at]; at = parents[at] {
		seen[at] = true
		whole = at + "/" + whole
	}
	return whole
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Sum returns a name for the content of an entry: a row may change as long as it is written.
func Sum(texts [][]byte) string {
	sum, size := uint32(0), 0
	for _, text := range texts {
		sum, size = crc32.Update(sum, castagnoli, text), size+len(text)
	}
	return fmt.Sprintf("%x+%d", sum, size)
}

// watchFiles returns a value for each of changes, and for each change of a database.
func (d *Databases) watchFiles(ctx context.Context, changes <-chan struct{}) (_ <-chan struct{}, err error) {
	d.mu.Lock()
	list := make([]*sqlitefile.File, 0, len(d.files))
	for _, f := range d.files {
		list = append(list, f)
	}
	d.mu.Unlock()
	for _, f := range list {
		if changes, err = f.Watch(ctx, changes); err != nil {
			return nil, err
		}
	}
	return changes, nil
}

func (d *Databases) closeFiles() (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range d.files {
		err = errors.Join(err, f.Close())
	}
	return err
}
