package rows

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/store/sqlitefile"
)

// A damaged page of a file costs the rows on it. SQLite gives up a query that comes to one, so what
// reads runs once more on views of the tables' names, as those of a plan, see sqliteTx.lay:
//
//	a table that is whole      SELECT … FROM main.T NOT INDEXED: pages of its indexes are not needed
//	a table that is damaged    SELECT … FROM its readable row ids CROSS JOIN main.T ON rowid = id
//
// Which row ids there are, the pages on either side of the damage tell, and an index. They are looked
// for in a transaction of their own, because SQLite makes no view in one that came to damage.

const readable = "hindcast readable "

// mostProbed bounds how many row ids are tried between two pages where no index tells them.
const mostProbed = 100_000

// sound is what can be read of a table.
type sound struct {
	table   string
	columns []string
	// damaged says that ids are the rows that can be read, and lost how many more are known.
	damaged bool
	ids     []int64
	lost    int
}

// sound returns what can be read of the tables that have row ids.
func (t sqliteTx) sound(ctx context.Context) (list []sound, err error) {
	all, err := t.Tables(ctx)
	if err != nil {
		return nil, err
	}
	for _, table := range all {
		if strings.HasPrefix(table, "sqlite_") {
			continue
		}
		one := sound{table: table}
		if one.columns, err = texts(ctx, t, "SELECT name FROM pragma_table_info(?, 'main')", table); err != nil {
			return nil, err
		}
		err := t.Records(ctx, func(map[string]any) error { return nil }, "SELECT rowid, * FROM main."+Quoted(table)+" NOT INDEXED")
		switch one.damaged = sqlitefile.Damaged(err); {
		case one.damaged:
			if err := t.probe(ctx, &one); err != nil {
				return nil, err
			}
		case err != nil:
			continue // it has no row ids, and is read as it is
		}
		list = append(list, one)
	}
	return list, nil
}

// probe finds the rows of a damaged table that can be read.
func (t sqliteTx) probe(ctx context.Context, one *sound) error {
	main := "main." + Quoted(one.table)
	known := map[int64]bool{}
	var last [3]int64
	for i, which := range []string{" NOT INDEXED ORDER BY rowid", " NOT INDEXED ORDER BY rowid DESC", ""} {
		err := t.Each(ctx, func(scan func(...any) error) error {
			err := scan(&last[i])
			known[last[i]] = true
			return err
		}, "SELECT rowid FROM "+main+which)
		if err != nil && !sqlitefile.Damaged(err) {
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
		if err != nil && !sqlitefile.Damaged(err) {
			return err
		}
	}
	one.lost = max(told-len(one.ids), 1)
	return nil
}

// passOver lays views over the tables of a file that have only the rows that can be read.
func (t sqliteTx) passOver(ctx context.Context, list []sound) error {
	for _, one := range list {
		from := "main." + Quoted(one.table) + " m NOT INDEXED"
		if one.damaged {
			ids := "temp." + Quoted(readable+one.table)
			from = ids + " r CROSS JOIN main." + Quoted(one.table) + " m ON m.rowid = r.id"
			if err := t.Define(ctx, "CREATE TEMP TABLE "+Quoted(readable+one.table)+" (id INTEGER PRIMARY KEY)"); err != nil {
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
		if err := t.Define(ctx, fmt.Sprintf("CREATE TEMP VIEW %s (rowid, %s) AS SELECT m.rowid, m.%s FROM %s", Quoted(one.table), names(one.columns), strings.ReplaceAll(names(one.columns), ", ", ", m."), from)); err != nil {
			return err
		}
	}
	return nil
}

// passedOver returns what a transaction passes over, as faults.
func passedOver(t tables) []model.Fault {
	file, ok := t.(sqliteTx)
	if !ok {
		return nil
	}
	return file.passed.All()
}

// lost returns the damage where no session is left, nil where nothing is passed over: a store of
// which no row can be read is no empty one.
func lost(t tables) error {
	for _, f := range passedOver(t) {
		return fmt.Errorf("%w, and no session is left: %s", sqlitefile.ErrDamaged, f.Meaning)
	}
	return nil
}
