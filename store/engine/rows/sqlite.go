package rows

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/media/files"
	"hindcast/store/media/sqlitefile"
)

// sqliteFile is the carrier of a file.
type sqliteFile struct {
	*sqlitefile.File
	kind Kind
	// roomy says that values of more than usualCell were found, and only where they may be.
	roomy *atomic.Bool
}

// sqliteTx is a transaction on a file, and the shapes of the tables that it asked for.
type sqliteTx struct {
	*sqlitefile.Tx
	shapes map[string]*tableShape
	// passed are the rows that are passed over, see salvage.go.
	passed *store.FaultList
	// roomy says that values of more than usualCell are read.
	roomy bool
	*older
}

// inFile returns the tables of a transaction, as the kind has them.
func (k Kind) inFile(ctx context.Context, t *sqlitefile.Tx) (sqliteTx, error) {
	in := sqliteTx{Tx: t, shapes: map[string]*tableShape{}, passed: &store.FaultList{}}
	if k.Since == nil && k.Older == nil {
		return in, nil
	}
	var err error
	in.older, err = k.findOlder(ctx, t.Columns, mainTable, "rowid")
	return in, err
}

// onSQLite adapts a function on the tables of any carrier to a transaction of a file. It refuses
// values of more than most bytes.
func (k Kind) onSQLite(ctx context.Context, most int, what func(tables) error) func(*sqlitefile.Tx) error {
	return func(t *sqlitefile.Tx) error {
		if err := t.Limit(most); err != nil {
			return err
		}
		in, err := k.inFile(ctx, t)
		if err != nil {
			return err
		}
		in.roomy = most > usualCell
		return what(in)
	}
}

// Row implements Tx.
func (t sqliteTx) Row(ctx context.Context, query string, args ...any) interface{ Scan(into ...any) error } {
	return t.Tx.Row(ctx, t.prefix(query), args...)
}

// First implements Tx.
func (t sqliteTx) First(ctx context.Context, into []any, query string, args ...any) (found bool, err error) {
	return t.Tx.First(ctx, into, t.prefix(query), args...)
}

// Each implements Tx.
func (t sqliteTx) Each(ctx context.Context, row func(scan func(into ...any) error) error, query string, args ...any) error {
	return t.Tx.Each(ctx, row, t.prefix(query), args...)
}

// Records implements Tx.
func (t sqliteTx) Records(ctx context.Context, row func(map[string]any) error, query string, args ...any) error {
	return t.Tx.Records(ctx, row, t.prefix(query), args...)
}

// Columns implements Tx.
func (t sqliteTx) Columns(ctx context.Context, table string) (map[string]bool, error) {
	if t.replaces() && t.columns[table] != nil {
		return t.columns[table], nil
	}
	return t.Tx.Columns(ctx, table)
}

// Read implements carrier. Of a file with damaged pages, or with values that are too large, it
// reads the rest.
func (f sqliteFile) Read(ctx context.Context, what func(tables) error) error {
	err := f.withinLimits(ctx, f.File.Read, what)
	if damaged := sqlitefile.IsDamage(err); !damaged && !sqlitefile.TooLarge(err) {
		return err
	}
	for _, probe := range []bool{false, true} {
		if !probe && sqlitefile.IsDamage(err) || probe && !sqlitefile.IsDamage(err) {
			continue
		}
		left, unread := f.partialTables(ctx, probe)
		if unread != nil {
			return unread
		}
		err = f.File.Suppose(ctx, f.kind.onSQLite(ctx, mostCell, func(t tables) error {
			if err := t.(sqliteTx).passOver(ctx, left); err != nil {
				return err
			}
			return what(t)
		}))
	}
	return err
}

// withinLimits runs what first as though no value were large. Where one is that may be, it is read: the
// error is sqlitefile.ErrTooLarge where one is that may not.
func (f sqliteFile) withinLimits(ctx context.Context, run func(context.Context, func(*sqlitefile.Tx) error) error, what func(tables) error) error {
	if f.roomy.Load() {
		return run(ctx, f.kind.onSQLite(ctx, mostCell, what))
	}
	err := run(ctx, f.kind.onSQLite(ctx, usualCell, what))
	if !sqlitefile.TooLarge(err) {
		return err
	}
	left, unread := f.partialTables(ctx, false)
	if unread != nil {
		return unread
	}
	for _, one := range left {
		return fmt.Errorf("%w: %s", sqlitefile.ErrTooLarge, one.large[0].String())
	}
	f.roomy.Store(true)
	return run(ctx, f.kind.onSQLite(ctx, mostCell, what))
}

// partialTables returns the tables that are not read whole: the tables with values that are too large. With
// probe it returns the readable part of all tables, because pages are damaged.
func (f sqliteFile) partialTables(ctx context.Context, probe bool) (left []sound, err error) {
	err = f.File.Read(ctx, func(t *sqlitefile.Tx) (err error) {
		if err := t.Limit(mostCell); err != nil {
			return err
		}
		left, err = sqlitefile.Keep(t, fmt.Sprint("sound ", probe), func() ([]sound, error) {
			in, err := f.kind.inFile(ctx, t)
			if err != nil {
				return nil, err
			}
			return in.readableParts(ctx, f.kind, probe)
		})
		return err
	})
	return left, err
}

// Suppose implements carrier.
func (f sqliteFile) Suppose(ctx context.Context, what func(tables) error) error {
	return f.withinLimits(ctx, f.File.Suppose, what)
}

// Amend implements carrier: SQLite locks the whole file.
func (f sqliteFile) Amend(ctx context.Context, what func(tables) error) error {
	return f.File.Amend(ctx, f.kind.onSQLite(ctx, mostCell, what))
}

// Busy implements carrier.
func (sqliteFile) Busy(err error) bool { return errors.Is(err, sqlitefile.ErrBusy) }

// ExplainDenial implements carrier.
func (f sqliteFile) ExplainDenial(err error) error {
	return &model.UnwritableError{Err: f.File.WhyDenied(files.Cause(err)), Became: "nothing was changed"}
}

// Where implements carrier.
func (sqliteFile) Where() string { return "beside the file" }

func (k Kind) openFile(ctx context.Context, path string) (*medium, error) {
	old := false
	file := sqlitefile.New(path, func(ctx context.Context, t *sqlitefile.Tx) error {
		in, err := k.inFile(ctx, t)
		if err != nil {
			return err
		}
		why, ok, err := k.sign(ctx, in)
		if err == nil && !ok {
			err = foreign(why)
		}
		old = in.replaces()
		return err
	})
	m := &medium{kind: k, address: path, now: time.Now, carrier: sqliteFile{file, k, new(atomic.Bool)}}
	m.book.path = file.Path() + Beside
	if k.Cache != nil {
		m.note = listNote{k.Cache.Memory(k.Name+" list 1", file.Path()), file.Path()}
	}
	m.settleIntent(ctx)
	if err := m.carrier.Read(ctx, func(tables) error { return nil }); err != nil {
		return nil, fmt.Errorf("%s: open %q: %w", k.Name, path, errors.Join(err, m.Close()))
	}
	if old {
		m.kind.Does, m.kind.Lacks = nil, "another version of "+k.Framework+" wrote the database, which is only read: continue the session in another agent, or convert it"
	}
	return m, nil
}

// signFile asks SQLite: a descriptor of our own on the file would, when closed, drop
// the locks that this process holds on it.
func (k Kind) signFile(ctx context.Context, at engine.Site) (why string, ok bool, err error) {
	if at.Info == nil || !at.Info.Mode().IsRegular() || at.Info.Size() == 0 {
		return "", false, nil
	}
	f := sqlitefile.New(at.Path, nil)
	err = f.Read(ctx, func(t *sqlitefile.Tx) (err error) {
		in, err := k.inFile(ctx, t)
		if err == nil {
			why, ok, err = k.sign(ctx, in)
		}
		return err
	})
	err = errors.Join(err, f.Close())
	if errors.Is(err, sqlitefile.ErrUnsettled) {
		// Where a write of Hindcast's own was broken off, to open the store settles it.
		m, failed := k.openFile(ctx, at.Path)
		if failed == nil {
			return "a SQLite database in which Hindcast wrote to " + k.Framework + "'s tables", true, m.Close()
		}
	}
	for _, unknown := range []error{sqlitefile.ErrNotSQLite, sqlitefile.ErrUnsettled, sqlitefile.ErrDamaged} {
		if errors.Is(err, unknown) {
			return unknown.Error(), false, nil
		}
	}
	return why, ok, err
}

// Ask implements Tx.
func (t sqliteTx) Ask(ctx context.Context, queries ...Query) error {
	for _, q := range queries {
		if err := t.Each(ctx, q.Row, q.SQL, q.Args...); err != nil {
			return err
		}
	}
	return nil
}

// listTableSets implements tables.
func (t sqliteTx) listTableSets(ctx context.Context, k Kind) ([]map[string]string, error) {
	return k.findTableSets(ctx, t)
}

// upTo implements tables: the marks say it.
func (sqliteTx) upTo(_ context.Context, _ Kind, _ Place, _ string, now []mark) ([]mark, error) {
	return now, nil
}

// listKeys implements tables.
func (t sqliteTx) listKeys(ctx context.Context, k Kind, in Place) ([][]string, error) {
	return keysOf(ctx, t, k, cmp.Or(k.Sessions, "SELECT DISTINCT "+strings.Join(k.Key, ", ")+" FROM "+in.Table(k.Snapshots)))
}

// mostCounted implements tables.
func (sqliteTx) mostCounted() int { return -1 }

// readMarks implements tables.
func (t sqliteTx) readMarks(ctx context.Context, k Kind, at Place, was []mark, newest string) (now []mark, grows bool, err error) {
	grows = was != nil
	order, where := strings.Join(k.orderColumns(), ", "), k.whereClause()
	earlier := "(" + order + ") < (SELECT " + order + " FROM " + at.Table(k.Snapshots) + where + " AND " + k.ID + " = ?)"
	for i, table := range k.watchedTables() {
		var then mark
		if was != nil {
			then = was[i]
		}
		var m mark
		var left, before int64
		args := append([]any{then.last, then.last}, at.Key...)
		err := t.Row(ctx, "SELECT count(*), ifnull(max(rowid), 0), count(iif(rowid <= ?, 1, NULL)), count(iif(rowid > ? AND "+earlier+", 1, NULL)) FROM "+at.Table(table)+where,
			append(append(args, newest), at.Key...)...).Scan(&m.rows, &m.last, &left, &before)
		if err != nil {
			return nil, false, err
		}
		now = append(now, m)
		grows = grows && left == then.rows && before == 0
	}
	return now, grows, nil
}

// mainTable returns how a statement names a table of the file itself. A subquery is as it is: where it is asked for,
// nothing is laid over its tables.
func mainTable(name string) string {
	if strings.HasPrefix(name, "(") {
		return name
	}
	return "main." + name
}

// readExtent implements tables.
func (t sqliteTx) readExtent(ctx context.Context, k Kind, at Place) (list []mark, err error) {
	for _, table := range k.watchedTables() {
		var m mark
		if err := t.Row(ctx, "SELECT count(*), ifnull(max(rowid), 0) FROM "+mainTable(at.Table(table))+k.whereClause(), at.Key...).Scan(&m.rows, &m.last); err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}

func (t sqliteTx) eachRow(ctx context.Context, table, where string, row func(at int64, r Row), args ...any) error {
	columns, _, err := t.readShape(ctx, table)
	if err != nil {
		return err
	}
	// A column by itself would come as its declared type says, such as a time.
	query := "SELECT rowid"
	for _, c := range columns {
		query += ", +" + QuoteName(c)
	}
	return t.Each(ctx, func(scan func(...any) error) error {
		var at int64
		values, into := make([]any, len(columns)), []any{&at}
		for i := range values {
			into = append(into, &values[i])
		}
		if err := scan(into...); err != nil {
			return err
		}
		r := make(Row, len(columns))
		for i, c := range columns {
			if data, is := values[i].([]byte); is {
				values[i] = append([]byte{}, data...)
			}
			r[c] = values[i]
		}
		row(at, r)
		return nil
	}, query+" FROM "+QuoteName(table)+where, args...)
}

// readShape returns the columns of a table in the file, and those of its primary key.
func (t sqliteTx) readShape(ctx context.Context, table string) (columns, key []string, err error) {
	if s := t.shapes[table]; s != nil {
		return s.columns, s.key, nil
	}
	keys := map[int]string{}
	err = t.Each(ctx, func(scan func(...any) error) error {
		var column string
		var place int
		err := scan(&column, &place)
		columns = append(columns, column)
		if place > 0 {
			keys[place] = column
		}
		return err
	}, "SELECT name, pk FROM pragma_table_info(?, 'main')", table)
	for _, place := range slices.Sorted(maps.Keys(keys)) {
		key = append(key, keys[place])
	}
	if err == nil && len(key) == 0 {
		err = fmt.Errorf("table %q has no primary key", table)
	}
	if err == nil {
		t.shapes[table] = &tableShape{columns: columns, key: key}
	}
	return columns, key, err
}

// currentRows implements tables.
func (t sqliteTx) currentRows(ctx context.Context, steps []Step) ([]Row, error) {
	list := make([]Row, len(steps))
	for i := range steps {
		s := &steps[i]
		_, key, err := t.readShape(ctx, s.Table)
		if err != nil {
			return nil, err
		}
		where, args := s.rowCondition(key)
		if err := t.eachRow(ctx, s.Table, where, func(at int64, r Row) { s.At, list[i] = at, r }, args...); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// layViews implements tables: views of the tables' names hide them from this
// connection, as long as the transaction lasts. SQLite keeps what it is given.
func (t sqliteTx) layViews(ctx context.Context, steps []Step) error {
	next := map[string]int64{}
	columnsOf := map[string][]string{}
	for _, table := range tablesOf(steps) {
		columns, key, err := t.readShape(ctx, table)
		if err != nil {
			return err
		}
		var last int64
		if err := t.Row(ctx, "SELECT ifnull(max(rowid), 0) FROM "+QuoteName(table)).Scan(&last); err != nil {
			return err
		}
		next[table], columnsOf[table] = last, columns
		of := columnList(columns)
		for _, define := range []string{
			fmt.Sprintf("CREATE TEMP TABLE %s AS SELECT rowid AS %s, %s FROM main.%s WHERE 0", QuoteName(over+table), QuoteName(over), of, QuoteName(table)),
			fmt.Sprintf("CREATE INDEX temp.%s ON %s (%s)", QuoteName(within+table), QuoteName(over+table), columnList(key)),
			fmt.Sprintf("CREATE TEMP TABLE %s (id INTEGER PRIMARY KEY)", QuoteName(gone+table)),
			fmt.Sprintf("CREATE TEMP VIEW %s AS SELECT rowid AS rowid, %s FROM main.%s WHERE rowid NOT IN (SELECT id FROM temp.%s) UNION ALL SELECT %s, %s FROM temp.%s",
				QuoteName(table), of, QuoteName(table), QuoteName(gone+table), QuoteName(over), of, QuoteName(over+table)),
		} {
			if err := t.Define(ctx, define); err != nil {
				return err
			}
		}
	}
	for i := range steps {
		s := &steps[i]
		if s.Before != nil {
			if _, err := t.Exec(ctx, "INSERT INTO temp."+QuoteName(gone+s.Table)+" VALUES (?)", s.At); err != nil {
				return err
			}
		}
		if s.After == nil {
			continue
		}
		at := s.At
		if s.Before == nil {
			next[s.Table]++
			at = next[s.Table]
		}
		args := []any{at}
		for _, c := range columnsOf[s.Table] {
			args = append(args, s.After[c])
		}
		if _, err := t.Exec(ctx, "INSERT INTO temp."+QuoteName(over+s.Table)+" VALUES (?"+strings.Repeat(", ?", len(args)-1)+")", args...); err != nil {
			return err
		}
	}
	return nil
}

// carryOut implements tables.
func (t sqliteTx) carryOut(ctx context.Context, steps []Step) error {
	changes := func() (n int64, err error) {
		err = t.Row(ctx, "SELECT total_changes()").Scan(&n)
		return n, err
	}
	before, err := changes()
	for i := 0; i < len(steps) && err == nil; i++ {
		err = t.carryOutOne(ctx, &steps[i])
	}
	if err != nil {
		return err
	}
	after, err := changes()
	if err == nil && after-before != int64(len(steps)) {
		err = fmt.Errorf("%d rows would change instead of %d: the file has a trigger", after-before, len(steps))
	}
	return err
}

func (t sqliteTx) carryOutOne(ctx context.Context, s *Step) error {
	_, key, err := t.readShape(ctx, s.Table)
	if err != nil {
		return err
	}
	where, is := s.rowCondition(key)
	columns := slices.Sorted(maps.Keys(s.targetRow()))
	var names, values []string
	var args []any
	for _, c := range columns {
		names, values, args = append(names, QuoteName(c)), append(values, "?"), append(args, s.After[c])
	}
	table := "main." + QuoteName(s.Table)
	if s.Before == nil && s.At != 0 {
		var taken bool
		if err := t.Row(ctx, "SELECT count(*) FROM "+table+" WHERE rowid = ?", s.At).Scan(&taken); err != nil {
			return err
		}
		if !taken {
			names, values, args = append(names, "rowid"), append(values, "?"), append(args, s.At)
		}
	}
	switch {
	case s.After == nil:
		_, err = t.Exec(ctx, "DELETE FROM "+table+where, is...)
	case s.Before == nil:
		_, err = t.Exec(ctx, "INSERT INTO "+table+" ("+strings.Join(names, ", ")+") VALUES ("+strings.Join(values, ", ")+")", args...)
	default:
		_, err = t.Exec(ctx, "UPDATE "+table+" SET ("+strings.Join(names, ", ")+") = ("+strings.Join(values, ", ")+")"+where, append(args, is...)...)
	}
	return err
}
