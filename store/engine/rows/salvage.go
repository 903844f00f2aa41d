package rows

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/store/media/sqlitefile"
)

// A damaged page of a file costs the rows on it. SQLite aborts a query that comes to such a page. So the
// function runs once more on views under the tables' names, like the views of a plan, see sqliteTx.layViews:
//
//	a table that is whole      SELECT … FROM main.T NOT INDEXED: pages of its indexes are not needed
//	a table that is damaged    SELECT … FROM its readable row ids CROSS JOIN main.T ON rowid = id
//
// An index and the pages on either side of the damage give the row ids. They are looked for in a transaction
// of their own, because SQLite makes no view in a transaction that met damage.

// A value of another size than the framework writes is passed over with its row as well: each copy
// of it would take as much memory again. SQLite tells how large a value is without reading it.

const readable = "hindcast readable "

// mostProbed bounds how many row ids are tried between two pages where no index tells them.
const mostProbed = 100_000

const (
	// usualCell is up to where values are read at sight, and mostCell bounds each, in bytes.
	usualCell, mostCell = 4 << 20, 256 << 20
	// mostSmall bounds a value of a column that is not one of [Kind.Large].
	mostSmall = 1 << 20
)

// sound is the readable part of a table.
type sound struct {
	table   string
	columns []string
	// damaged says that ids are the rows that can be read, and lost how many more are known.
	damaged bool
	ids     []int64
	lost    int
	// large are the values that are too large.
	large []largeCell
}

// largeCell is a value that is not read, nor its row.
type largeCell struct {
	table, column string
	row, size     int64
}

func (c *largeCell) String() string {
	return fmt.Sprintf("%s.%s of row %d is %d MB", c.table, c.column, c.row, c.size>>20)
}

func (c *largeCell) sizeFault() model.Fault {
	return model.Fault{Code: FaultRow, Severity: model.Loses, File: c.table,
		Meaning: c.String() + ": the row is not read", Verdict: "the framework reads all of it; nothing that it writes there is as large"}
}

// checkTables implements tables.
func (t sqliteTx) checkTables(ctx context.Context, k Kind) (faults []model.Fault, err error) {
	complaints, err := t.Check(ctx)
	for _, text := range complaints {
		faults = append(faults, model.Fault{Code: FaultDatabase, Severity: model.Loses, Meaning: text, Verdict: "SQLite may refuse to read parts of the store"})
	}
	if err != nil {
		return nil, err
	}
	left, err := t.readableParts(ctx, k, false)
	for _, one := range left {
		for i := range min(len(one.large), mostLargeTold) {
			faults = append(faults, one.large[i].sizeFault())
		}
	}
	return faults, err
}

// readableParts returns the readable parts of the tables that have row ids. Without probe it returns only the
// tables with values that are too large; with probe it looks for damaged pages.
func (t sqliteTx) readableParts(ctx context.Context, k Kind, probe bool) (list []sound, err error) {
	all, err := t.Tables(ctx)
	if err != nil {
		return nil, err
	}
	small, err := t.smallColumns(ctx, k)
	if err != nil {
		return nil, err
	}
	for _, table := range all {
		if strings.HasPrefix(table, "sqlite_") || !probe && small[table] == nil {
			continue
		}
		one := sound{table: table}
		if one.columns, err = firstColumn[string](ctx, t, "SELECT name FROM pragma_table_info(?, 'main')", table); err != nil {
			return nil, err
		}
		_ = t.findLarge(ctx, &one, small[table]) // damage is found below, and a table without row ids has none
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !probe {
			if len(one.large) > 0 {
				list = append(list, one)
			}
			continue
		}
		err = t.Records(ctx, func(map[string]any) error { return nil }, "SELECT rowid, * FROM main."+QuoteName(table)+" NOT INDEXED")
		switch one.damaged = sqlitefile.IsDamage(err); {
		case one.damaged:
			if err := t.probeRows(ctx, &one); err != nil {
				return nil, err
			}
		case err != nil:
			continue // it has no row ids, and is read as it is
		}
		list = append(list, one)
	}
	return list, nil
}

// smallColumns returns by the name of a table the columns that hold no large values.
func (t sqliteTx) smallColumns(ctx context.Context, k Kind) (map[string]map[string]bool, error) {
	sets, err := k.findTableSets(ctx, t)
	small := map[string]map[string]bool{}
	for _, set := range sets {
		for table, columns := range k.Tables {
			name := table
			if other, ok := set[table]; ok {
				name = other
			}
			small[name] = map[string]bool{}
			for _, column := range strings.Fields(columns) {
				small[name][column] = !slices.Contains(k.Large, column)
			}
		}
	}
	return small, err
}

// findLarge finds the values of a table that are too large.
func (t sqliteTx) findLarge(ctx context.Context, one *sound, small map[string]bool) error {
	var sizes, over []string
	for _, column := range one.columns {
		most := mostCell
		if small[column] {
			most = mostSmall
		}
		size := "ifnull(octet_length(" + QuoteName(column) + "), 0)"
		sizes, over = append(sizes, size), append(over, fmt.Sprintf("%s > %d", size, most))
	}
	return t.Each(ctx, func(scan func(...any) error) error {
		found := largeCell{table: one.table}
		values, into := make([]int64, len(sizes)), []any{&found.row}
		for i := range values {
			into = append(into, &values[i])
		}
		if err := scan(into...); err != nil {
			return err
		}
		for i, size := range values {
			if size > found.size {
				found.column, found.size = one.columns[i], size
			}
		}
		one.large = append(one.large, found)
		return nil
	}, "SELECT rowid, "+strings.Join(sizes, ", ")+" FROM main."+QuoteName(one.table)+" NOT INDEXED WHERE "+strings.Join(over, " OR "))
}

// probeRows finds the rows of a damaged table that can be read.
func (t sqliteTx) probeRows(ctx context.Context, one *sound) error {
	main := "main." + QuoteName(one.table)
	known := map[int64]bool{}
	var last [3]int64
	for i, which := range []string{" NOT INDEXED ORDER BY rowid", " NOT INDEXED ORDER BY rowid DESC", ""} {
		err := t.Each(ctx, func(scan func(...any) error) error {
			err := scan(&last[i])
			known[last[i]] = true
			return err
		}, "SELECT rowid FROM "+main+which)
		if err != nil && !sqlitefile.IsDamage(err) {
			return err
		}
	}
	told := len(known)
	for id := last[0] + 1; id < min(last[1], last[0]+mostProbed); id++ {
		known[id] = true
	}
	for _, id := range slices.Sorted(maps.Keys(known)) {
		err := t.Records(ctx, func(map[string]any) error {
			one.ids = append(one.ids, id)
			return nil
		}, "SELECT * FROM "+main+" WHERE rowid = ?", id)
		if err != nil && !sqlitefile.IsDamage(err) {
			return err
		}
	}
	one.lost = max(told-len(one.ids), 1)
	return nil
}

// passOver lays views over the tables of a file that have only the rows that can be read.
func (t sqliteTx) passOver(ctx context.Context, list []sound) error {
	for _, one := range list {
		from := "main." + QuoteName(one.table) + " m NOT INDEXED"
		where := " WHERE 1"
		for i, cell := range one.large {
			where += fmt.Sprintf(" AND m.rowid <> %d", cell.row)
			if i < mostLargeTold {
				t.passed.Add(cell.sizeFault())
			}
		}
		if one.damaged {
			ids := "temp." + QuoteName(readable+one.table)
			from = ids + " r CROSS JOIN main." + QuoteName(one.table) + " m ON m.rowid = r.id"
			if err := t.Define(ctx, "CREATE TEMP TABLE "+QuoteName(readable+one.table)+" (id INTEGER PRIMARY KEY)"); err != nil {
				return err
			}
			for _, id := range one.ids {
				if _, err := t.Exec(ctx, "INSERT INTO "+ids+" VALUES (?)", id); err != nil {
					return err
				}
			}
			t.passed.Add(model.Fault{Code: FaultDatabase, Severity: model.Loses, File: one.table,
				Meaning: fmt.Sprintf("rows of the table %s are on damaged pages, at least %d, and are passed over", one.table, one.lost),
				Verdict: "SQLite gives up a query that comes to them"})
		}
		if err := t.Define(ctx, fmt.Sprintf("CREATE TEMP VIEW %s (rowid, %s) AS SELECT m.rowid, m.%s FROM %s", QuoteName(one.table), columnList(one.columns), strings.ReplaceAll(columnList(one.columns), ", ", ", m."), from+where)); err != nil {
			return err
		}
	}
	return nil
}

// mostLargeTold bounds how many values of a table are told that are too large.
const mostLargeTold = 20

// passedOver returns the rows that a transaction skips, as faults.
func passedOver(t tables) []model.Fault {
	file, ok := t.(sqliteTx)
	if !ok {
		return nil
	}
	return file.passed.All()
}

// lossError returns the damage where no session is left, nil where nothing is passed over: a store of
// which no row can be read is no empty one.
func lossError(t tables) error {
	for _, f := range passedOver(t) {
		return fmt.Errorf("%w, and no session is left: %s", sqlitefile.ErrDamaged, f.Meaning)
	}
	return nil
}
