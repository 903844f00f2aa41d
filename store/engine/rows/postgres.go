package rows

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"hindcast/model"
	"hindcast/store/media/pg"
)

// openServer opens the medium in a database on a server, which is closed with it.
func (k Kind) openServer(ctx context.Context, on *pg.Server, data string) *medium {
	m := &medium{kind: k, address: on.String(), now: time.Now, carrier: &database{Server: on, kind: k}}
	if data != "" {
		host, port, name := on.Place()
		sum := sha256.Sum256([]byte(strings.Join([]string{k.Name, host, port, name}, "\x00")))
		readable := strings.Trim(unreadable().ReplaceAllString(host+"-"+port+"-"+name, "-"), "-.")
		m.book.path = filepath.Join(data, "postgres", fmt.Sprintf("%s-%.60s-%x", k.Name, readable, sum[:4]))
	}
	m.settleIntent(ctx)
	return m
}

// unreadable fits what is no part of a file's name.
var unreadable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9.]+`) })

// database is the carrier of a database on a server.
type database struct {
	*pg.Server
	kind Kind

	mu     sync.Mutex
	shapes map[string]*tableShape
	// older is known once looked is set.
	older  *older
	looked bool
}

// pgTx is a transaction on a server.
type pgTx struct {
	*pg.Tx
	on *database
	*older
}

// hiddenOnServer is a column that each table has beside its columns.
const hiddenOnServer = "xmin"

// ownTable returns how a statement names a table of the database: a definition of its name does not hide it from itself.
func ownTable(name string) string { return name }

// Row implements Tx.
func (t pgTx) Row(ctx context.Context, query string, args ...any) interface{ Scan(into ...any) error } {
	return t.Tx.Row(ctx, t.prefix(query), args...)
}

// First implements Tx.
func (t pgTx) First(ctx context.Context, into []any, query string, args ...any) (found bool, err error) {
	return t.Tx.First(ctx, into, t.prefix(query), args...)
}

// Each implements Tx.
func (t pgTx) Each(ctx context.Context, row func(scan func(into ...any) error) error, query string, args ...any) error {
	return t.Tx.Each(ctx, row, t.prefix(query), args...)
}

// Ask implements Tx.
func (t pgTx) Ask(ctx context.Context, queries ...Query) error {
	for i := range queries {
		queries[i].SQL = t.prefix(queries[i].SQL)
	}
	return t.Tx.Ask(ctx, queries...)
}

// tableShape describes a table.
type tableShape struct {
	schema       string
	columns, key []string
	types        map[string]string // without lengths: a cast to one would cut what is longer
}

// qualifiedName returns how a statement names the table itself, whatever is laid over it.
func (s *tableShape) qualifiedName(table string) string {
	return QuoteName(s.schema) + "." + QuoteName(table)
}

func (d *database) onTables(ctx context.Context, what func(tables) error) func(*pg.Tx) error {
	return func(t *pg.Tx) error {
		is, err := d.readOlder(ctx, t)
		if err != nil {
			return err
		}
		return what(pgTx{t, d, is})
	}
}

// readOlder returns the definitions of the tables that the database lacks, read once.
func (d *database) readOlder(ctx context.Context, t *pg.Tx) (is *older, err error) {
	if d.kind.Since == nil && d.kind.Older == nil {
		return nil, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.looked {
		d.older, err = d.kind.findOlder(ctx, t.Columns, ownTable, hiddenOnServer)
		d.looked = err == nil
	}
	return d.older, err
}

// Read implements carrier.
func (d *database) Read(ctx context.Context, what func(tables) error) error {
	return d.Server.Read(ctx, d.onTables(ctx, what))
}

// Suppose implements carrier.
func (d *database) Suppose(ctx context.Context, what func(tables) error) error {
	return d.Server.Suppose(ctx, d.onTables(ctx, what))
}

// Amend implements carrier. The lock blocks other writers, but no readers. It is the first statement, so that
// the transaction sees all that they wrote.
func (d *database) Amend(ctx context.Context, what func(tables) error) error {
	return d.Server.Write(ctx, func(t *pg.Tx) error {
		var names []string
		for _, table := range slices.Sorted(maps.Keys(d.kind.Tables)) {
			names = append(names, QuoteName(table))
		}
		if _, err := t.Exec(ctx, "LOCK TABLE "+strings.Join(names, ", ")+" IN SHARE ROW EXCLUSIVE MODE"); err != nil {
			return err
		}
		return what(pgTx{t, d, nil})
	})
}

// Busy implements carrier.
func (*database) Busy(err error) bool { return errors.Is(err, pg.ErrBusy) }

// ExplainDenial implements carrier: the cause already names the missing permission.
func (*database) ExplainDenial(cause error) error {
	return fmt.Errorf("%w: nothing was changed", cause)
}

// Where implements carrier.
func (d *database) Where() string { return "in your folder for data" }

// Watch implements carrier. What transactions there are changes with each that writes, in whatever database of
// the server: then the session is looked at.
func (d *database) Watch(ctx context.Context, own <-chan struct{}) (<-chan struct{}, error) {
	return d.Server.Watch(ctx, own, pg.Watching{Query: "SELECT pg_current_snapshot()::text"})
}

// listTableSets implements tables.
func (pgTx) listTableSets(context.Context, Kind) ([]map[string]string, error) {
	return []map[string]string{nil}, nil
}

// Columns implements Tx: those of the kind's tables are known.
func (t pgTx) Columns(ctx context.Context, table string) (map[string]bool, error) {
	switch {
	case t.replaces() && t.columns[table] != nil:
		return t.columns[table], nil
	case t.replaces(), t.on.kind.Tables[table] == "":
		return t.Tx.Columns(ctx, table)
	}
	shapes, err := t.readShapes(ctx)
	if err != nil {
		return nil, err
	}
	has := map[string]bool{}
	for _, column := range shapes[table].columns {
		has[column] = true
	}
	return has, nil
}

// checkTables implements tables: a server looks after its databases itself.
func (pgTx) checkTables(context.Context, Kind) ([]model.Fault, error) { return nil, nil }

// listKeys implements tables. An index of the table begins with these columns, so that the query skips from session
// to session instead of reading each row.
func (t pgTx) listKeys(ctx context.Context, k Kind, in Place) ([][]string, error) {
	if k.Sessions != "" {
		return keysOf(ctx, t, k, k.Sessions)
	}
	columns := strings.Join(k.Key, ", ")
	after := "(" + columns + ") > ("
	var of []string
	for _, column := range k.Key {
		of = append(of, "s."+column)
	}
	first := func(where string) string {
		return "(SELECT " + columns + " FROM " + in.Table(k.Snapshots) + where + " ORDER BY " + columns + " LIMIT 1)"
	}
	return keysOf(ctx, t, k, "WITH RECURSIVE s AS ("+first("")+" UNION ALL SELECT n.* FROM s, LATERAL "+first(" WHERE "+after+strings.Join(of, ", ")+")")+" n) SELECT "+columns+" FROM s")
}

// tallyQuery is a query of how many rows a session has and which transactions wrote them, all of them and
// those before a snapshot.
func (t pgTx) tallyQuery(k Kind, at Place, named, table, id string, into *mark) pg.Query {
	order := strings.Join(k.orderColumns(), ", ")
	before := "(" + order + ") < (SELECT " + order + " FROM " + named + k.whereClause() + " AND " + k.ID + " = ?)"
	if order == k.ID {
		before = k.ID + " < ?"
	}
	args := []any{}
	if order != k.ID {
		args = append(args, at.Key...)
	}
	args = append(args, id)
	return pg.Query{
		SQL: "SELECT count(*), count(*) FILTER (WHERE early), coalesce(sum(wrote), 0)::bigint, coalesce(sum(wrote) FILTER (WHERE early), 0)::bigint FROM (SELECT xmin::text::bigint wrote, " +
			before + " early FROM " + table + k.whereClause() + ") r",
		Args: append(args, at.Key...),
		Row: func(scan func(...any) error) error {
			return scan(&into.rows, &into.earlier, &into.last, &into.wrote)
		},
	}
}

// askTallies asks for the marks of all tables at once.
func (t pgTx) askTallies(ctx context.Context, k Kind, at Place, list []string, id string) ([]mark, error) {
	marks := make([]mark, len(list))
	var queries []pg.Query
	for i, table := range list {
		queries = append(queries, t.tallyQuery(k, at, at.Table(k.Snapshots), at.Table(table), id, &marks[i]))
	}
	return marks, t.Ask(ctx, queries...)
}

// mostCounted implements tables: a server looks at each row that it counts.
func (pgTx) mostCounted() int { return 10_000 }

// readMarks implements tables. PostgreSQL has no row ids; each row has the transaction that wrote it.
func (t pgTx) readMarks(ctx context.Context, k Kind, at Place, was []mark, newest string) (now []mark, grows bool, err error) {
	if was == nil {
		return nil, false, nil
	}
	if now, err = t.askTallies(ctx, k, at, k.watchedTables(), newest); err != nil {
		return nil, false, err
	}
	for i, m := range now {
		if m.earlier != was[i].earlier || m.wrote != was[i].wrote {
			return now, false, nil
		}
	}
	return now, true, nil
}

// upTo implements tables.
func (t pgTx) upTo(ctx context.Context, k Kind, at Place, newest string, _ []mark) ([]mark, error) {
	return t.askTallies(ctx, k, at, k.watchedTables(), newest)
}

// readExtent implements tables.
func (t pgTx) readExtent(ctx context.Context, k Kind, at Place) ([]mark, error) {
	list := k.watchedTables()
	marks := make([]mark, len(list))
	shapes, err := t.readShapes(ctx)
	if err != nil {
		return nil, err
	}
	var queries []pg.Query
	for i, table := range list {
		queries = append(queries, pg.Query{
			SQL:  "SELECT count(*), coalesce(sum(xmin::text::bigint), 0)::bigint FROM " + shapes[table].qualifiedName(table) + k.whereClause(),
			Args: at.Key,
			Row:  func(scan func(...any) error) error { return scan(&marks[i].rows, &marks[i].last) },
		})
	}
	return marks, t.Ask(ctx, queries...)
}

// readShapes returns the tables of the kind, read once.
func (t pgTx) readShapes(ctx context.Context) (map[string]*tableShape, error) {
	t.on.mu.Lock()
	defer t.on.mu.Unlock()
	if t.on.shapes != nil {
		return t.on.shapes, nil
	}
	found := map[string]*tableShape{}
	err := t.Each(ctx, func(scan func(...any) error) error {
		var table, schema, column, kind string
		var key bool
		if err := scan(&table, &schema, &column, &kind, &key); err != nil {
			return err
		}
		s := found[table]
		if s == nil {
			s = &tableShape{schema: schema, types: map[string]string{}}
			found[table] = s
		}
		s.columns, s.types[column] = append(s.columns, column), kind
		if key {
			s.key = append(s.key, column)
		}
		return nil
	}, `SELECT c.relname::text, n.nspname::text, a.attname::text, format_type(a.atttypid, -1), coalesce(a.attnum = ANY (i.indkey::int2[]), false)
		FROM unnest(string_to_array(?, ' ')) AS named (name) JOIN pg_class c ON c.oid = to_regclass(quote_ident(named.name)) JOIN pg_namespace n ON n.oid = c.relnamespace
		JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
		LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary ORDER BY c.relname, a.attnum`, strings.Join(slices.Sorted(maps.Keys(t.on.kind.Tables)), " "))
	for table := range t.on.kind.Tables {
		if err == nil && (found[table] == nil || len(found[table].key) == 0) {
			err = fmt.Errorf("table %q has no primary key", table)
		}
	}
	if err == nil {
		t.on.shapes = found
	}
	return found, err
}

// selectList returns the columns of a table as they are selected: bytes as they are, and the rest as the text
// that PostgreSQL makes of it and reads back.
func (s *tableShape) selectList() string {
	var list []string
	for _, c := range s.columns {
		if s.types[c] == "bytea" {
			list = append(list, QuoteName(c))
		} else {
			list = append(list, QuoteName(c)+"::text")
		}
	}
	return strings.Join(list, ", ")
}

// scanRow scans a row of the list query.
func (s *tableShape) scanRow(scan func(...any) error) (Row, error) {
	texts, blobs, into := make([]*string, len(s.columns)), make([][]byte, len(s.columns)), make([]any, len(s.columns))
	for i, c := range s.columns {
		if into[i] = &texts[i]; s.types[c] == "bytea" {
			into[i] = &blobs[i]
		}
	}
	if err := scan(into...); err != nil {
		return nil, err
	}
	r := make(Row, len(s.columns))
	for i, c := range s.columns {
		switch {
		case texts[i] != nil:
			r[c] = *texts[i]
		case blobs[i] != nil:
			r[c] = blobs[i]
		default:
			r[c] = nil
		}
	}
	return r, nil
}

// valueList returns placeholders for columns, each with its type.
func (s *tableShape) valueList(columns []string) string {
	var list []string
	for _, c := range columns {
		list = append(list, "?::"+s.types[c])
	}
	return strings.Join(list, ", ")
}

// valuesOf returns the values of a row in columns.
func (r Row) valuesOf(columns []string) (args []any) {
	for _, c := range columns {
		args = append(args, r[c])
	}
	return args
}

// keyCondition returns the condition that a row with a key fits.
func (s *tableShape) keyCondition() string {
	return " WHERE (" + columnList(s.key) + ") = (" + s.valueList(s.key) + ")"
}

// eachRow implements tables.
func (t pgTx) eachRow(ctx context.Context, table, where string, row func(at int64, r Row), args ...any) error {
	shapes, err := t.readShapes(ctx)
	if err != nil {
		return err
	}
	s := shapes[table]
	return t.Each(ctx, func(scan func(...any) error) error {
		r, err := s.scanRow(scan)
		row(0, r)
		return err
	}, "SELECT "+s.selectList()+" FROM "+QuoteName(table)+where, args...)
}

// currentRows implements tables.
func (t pgTx) currentRows(ctx context.Context, steps []Step) ([]Row, error) {
	shapes, err := t.readShapes(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Row, len(steps))
	var queries []pg.Query
	for i := range steps {
		s := shapes[steps[i].Table]
		queries = append(queries, pg.Query{
			SQL:  "SELECT " + s.selectList() + " FROM " + s.qualifiedName(steps[i].Table) + s.keyCondition(),
			Args: steps[i].targetRow().valuesOf(s.key),
			Row:  func(scan func(...any) error) (err error) { list[i], err = s.scanRow(scan); return err },
		})
	}
	return list, t.askAll(ctx, queries)
}

// mostAsked bounds how many statements are sent at once.
const mostAsked = 256

func (t pgTx) askAll(ctx context.Context, queries []pg.Query) error {
	for some := range slices.Chunk(queries, mostAsked) {
		if err := t.Ask(ctx, some...); err != nil {
			return err
		}
	}
	return nil
}

// layViews implements tables: temporary views of the tables' names come before them.
func (t pgTx) layViews(ctx context.Context, steps []Step) error {
	shapes, err := t.readShapes(ctx)
	if err != nil {
		return err
	}
	var queries []pg.Query
	for _, table := range tablesOf(steps) {
		s := shapes[table]
		queries = append(queries,
			pg.Query{SQL: fmt.Sprintf("CREATE TEMP TABLE %s (LIKE %s)", QuoteName(over+table), s.qualifiedName(table))},
			pg.Query{SQL: fmt.Sprintf("CREATE TEMP TABLE %s AS SELECT %s FROM %s LIMIT 0", QuoteName(gone+table), columnList(s.key), s.qualifiedName(table))},
			pg.Query{SQL: fmt.Sprintf("CREATE TEMP VIEW %s AS SELECT %s FROM %s r WHERE NOT EXISTS (SELECT 1 FROM pg_temp.%s g WHERE (%s) = (%s)) UNION ALL SELECT %s FROM pg_temp.%s",
				QuoteName(table), columnList(s.columns), s.qualifiedName(table), QuoteName(gone+table), prefixColumns("g", s.key), prefixColumns("r", s.key), columnList(s.columns), QuoteName(over+table))})
	}
	for i := range steps {
		step := &steps[i]
		s := shapes[step.Table]
		if step.Before != nil {
			queries = append(queries, pg.Query{SQL: "INSERT INTO pg_temp." + QuoteName(gone+step.Table) + " VALUES (" + s.valueList(s.key) + ")", Args: step.Before.valuesOf(s.key)})
		}
		if step.After != nil {
			queries = append(queries, pg.Query{
				SQL:  "INSERT INTO pg_temp." + QuoteName(over+step.Table) + " (" + columnList(s.columns) + ") VALUES (" + s.valueList(s.columns) + ") RETURNING " + s.selectList(),
				Args: step.After.valuesOf(s.columns),
				Row:  func(scan func(...any) error) (err error) { step.After, err = s.scanRow(scan); return err },
			})
		}
	}
	return t.askAll(ctx, queries)
}

func prefixColumns(by string, columns []string) string {
	var list []string
	for _, c := range columns {
		list = append(list, by+"."+QuoteName(c))
	}
	return strings.Join(list, ", ")
}

// carryOut implements tables.
func (t pgTx) carryOut(ctx context.Context, steps []Step) error {
	shapes, err := t.readShapes(ctx)
	if err != nil {
		return err
	}
	var before, after, done int64
	changes := func(into *int64) pg.Query {
		return pg.Query{SQL: "SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::bigint FROM pg_stat_xact_user_tables", Row: func(scan func(...any) error) error { return scan(into) }}
	}
	queries := []pg.Query{changes(&before)}
	for i := range steps {
		step := &steps[i]
		s, q := shapes[step.Table], pg.Query{Row: func(scan func(...any) error) error { done++; return scan(nil) }}
		table := s.qualifiedName(step.Table)
		switch {
		case step.After == nil:
			q.SQL, q.Args = "DELETE FROM "+table+s.keyCondition(), step.Before.valuesOf(s.key)
		case step.Before == nil:
			q.SQL, q.Args = "INSERT INTO "+table+" ("+columnList(s.columns)+") VALUES ("+s.valueList(s.columns)+")", step.After.valuesOf(s.columns)
		default:
			q.SQL = "UPDATE " + table + " SET (" + columnList(s.columns) + ") = ROW(" + s.valueList(s.columns) + ")" + s.keyCondition()
			q.Args = append(step.After.valuesOf(s.columns), step.Before.valuesOf(s.key)...)
		}
		q.SQL += " RETURNING 1"
		queries = append(queries, q)
	}
	if err := t.askAll(ctx, append(queries, changes(&after))); err != nil {
		return err
	}
	// A server that counts nothing says 0.
	if counted := after - before; done != int64(len(steps)) || counted != 0 && counted != done {
		return fmt.Errorf("%d rows would change instead of %d: the database has a trigger", max(done, counted), len(steps))
	}
	return nil
}

// Records implements Tx: each row comes as JSON, so that what a column is needs no list of types.
func (t pgTx) Records(ctx context.Context, row func(map[string]any) error, query string, args ...any) error {
	return t.Each(ctx, func(scan func(...any) error) error {
		var text []byte
		if err := scan(&text); err != nil {
			return err
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(text, &members); err != nil {
			return err
		}
		record := make(map[string]any, len(members))
		for column, value := range members {
			record[column] = plainValue(value)
		}
		return row(record)
	}, "SELECT row_to_json(r)::text FROM ("+query+") r", args...)
}

// plainValue returns a value as SQLite has it: a document as its text.
func plainValue(value json.RawMessage) any {
	switch value[0] {
	case 'n':
		return nil
	case '"':
		var text string
		_ = json.Unmarshal(value, &text) // PostgreSQL wrote it
		return text
	case '{', '[':
		return string(value)
	case 't', 'f':
		return map[byte]int64{'t': 1, 'f': 0}[value[0]]
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err == nil {
		return n
	}
	real, err := strconv.ParseFloat(string(value), 64)
	return cmp.Or[any](real, err)
}
