package pg

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Tx is a transaction. One statement is under way at a time: rows are closed before the next one.
type Tx struct {
	c *conn
	// begin has the statements that begin the transaction, and goes out before the first statement.
	begin []string
	// later are statements that go out before the next one.
	later []encoded
	// keeps has the server keep statements that come again.
	keeps bool
}

// encoded is a statement with its arguments as they are sent.
type encoded struct {
	query string
	args  pgx.ExtendedQueryBuilder
}

func (t *Tx) encodeQuery(query string, args []any) (e encoded, err error) {
	e.query = query
	return e, e.args.Build(t.c.types, nil, args)
}

// Later runs a statement that changes rows together with the next one, or with COMMIT: its error is that of
// the next one, then. The arguments may be changed.
func (t *Tx) Later(query string, args ...any) error {
	e, err := t.encodeQuery(query, args)
	if err == nil {
		t.later = append(t.later, e)
	}
	return err
}

// binary has all columns come as bytes, and not as text, which would take twice as long for blobs.
var binary = []int16{pgx.BinaryFormatCode}

// Query is a statement of Ask, its arguments, and the function called for each row; nil ignores rows.
type Query struct {
	SQL  string
	Args []any
	Row  func(scan func(into ...any) error) error
}

// Ask runs statements, all sent before the first answer is read. Row may ask for nothing itself.
func (t *Tx) Ask(ctx context.Context, queries ...Query) (err error) {
	results, err := t.sendQueries(ctx, queries)
	if err != nil {
		return explainError(err)
	}
	defer func() { err = cmp.Or(err, explainError(results.Close())) }()
	for _, q := range queries {
		if !results.NextResult() {
			return explainError(results.Close())
		}
		rows := &Rows{Rows: pgx.RowsFromResultReader(t.c.types, results.ResultReader())}
		for rows.Next() {
			if q.Row == nil {
				continue
			}
			if err := q.Row(rows.Scan); err != nil {
				rows.Close()
				return err
			}
		}
		if err := rows.Err(); err != nil {
			return err
		}
	}
	return nil
}

// sendQueries sends begin, later and then the queries, and takes the answers to all but the queries.
func (t *Tx) sendQueries(ctx context.Context, queries []Query) (*pgconn.MultiResultReader, error) {
	all := t.later
	for _, q := range queries {
		e, err := t.encodeQuery(q.SQL, q.Args)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	begin, known := t.begin, &t.c.known
	asks := t.keeps && !known.looked
	if asks {
		begin = append(slices.Clone(begin), askProcess)
	}
	var batch pgconn.Batch
	for _, sql := range begin {
		batch.ExecParams(sql, nil, nil, nil, nil)
	}
	making := t.addStatements(&batch, all)
	results := t.c.pg.ExecBatch(ctx, &batch)
	for i := range len(begin) + len(making) + len(t.later) {
		if !results.NextResult() {
			return nil, results.Close()
		}
		read := results.ResultReader()
		for asks && i == len(begin)-1 && read.NextRow() {
			known.looked, known.same = true, string(read.Values()[0]) == strconv.FormatUint(uint64(t.c.pg.PID()), 10)
		}
		if _, err := read.Close(); err != nil {
			return nil, errors.Join(err, results.Close())
		}
		if i == len(begin)+len(making)-1 {
			for s, name := range making {
				s.name = name
			}
		}
	}
	t.begin, t.later = nil, nil
	return results, nil
}

// addStatements puts statements into a batch, behind those that the server is to keep, which it returns with their names.
func (t *Tx) addStatements(batch *pgconn.Batch, all []encoded) (making map[*statement]string) {
	making = map[*statement]string{}
	list := make([]*statement, len(all))
	for i, e := range all {
		if t.keeps {
			list[i] = t.c.known.findStatement(batch, making, e.query)
		} else {
			list[i] = &statement{text: numberPlaceholders(e.query)}
		}
	}
	for i, s := range list {
		args := &all[i].args
		if name := cmp.Or(s.name, making[s]); name != "" {
			batch.ExecPrepared(name, args.ParamValues, args.ParamFormats, binary)
		} else {
			batch.ExecParams(s.text, args.ParamValues, nil, args.ParamFormats, binary)
		}
	}
	return making
}

// Rows are the rows of a query. The caller closes them before the next statement.
type Rows struct {
	pgx.Rows
	results *pgconn.MultiResultReader
	err     error
}

// Err returns the error that kept the rows from being read to their end.
func (r *Rows) Err() error { return cmp.Or(explainError(r.Rows.Err()), r.err) }

// Close lets go of the rows.
func (r *Rows) Close() error {
	r.Rows.Close()
	if r.results != nil {
		r.err = cmp.Or(r.err, explainError(r.results.Close()))
		r.results = nil
	}
	return r.Err()
}

// Next makes the next row ready, and closes the rows behind the last.
func (r *Rows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	_ = r.Close() // Err has it
	return false
}

// Columns returns the names of the columns.
func (r *Rows) Columns() (names []string) {
	for _, f := range r.FieldDescriptions() {
		names = append(names, f.Name)
	}
	return names
}

// Rows returns the rows of a query. The caller closes them.
func (t *Tx) Rows(ctx context.Context, query string, args ...any) (*Rows, error) {
	results, err := t.sendQueries(ctx, []Query{{SQL: query, Args: args}})
	if err != nil {
		return nil, explainError(err)
	}
	if !results.NextResult() {
		return nil, explainError(cmp.Or(results.Close(), errRolledBack))
	}
	return &Rows{Rows: pgx.RowsFromResultReader(t.c.types, results.ResultReader()), results: results}, nil
}

// row is the first row of a query.
type row struct {
	rows *Rows
	err  error
}

// Scan scans the row. The error is pgx.ErrNoRows, which is sql.ErrNoRows, if there is no row.
func (r row) Scan(into ...any) error {
	if r.err != nil {
		return r.err
	}
	if !r.rows.Next() {
		return cmp.Or(r.rows.Err(), pgx.ErrNoRows)
	}
	err := r.rows.Scan(into...)
	return cmp.Or(err, r.rows.Close())
}

// Row returns the first row of a query, which is scanned before the next statement.
func (t *Tx) Row(ctx context.Context, query string, args ...any) interface{ Scan(into ...any) error } {
	rows, err := t.Rows(ctx, query, args...)
	return row{rows, err}
}

// First scans the first row of a query, and reports false if there are no rows.
func (t *Tx) First(ctx context.Context, into []any, query string, args ...any) (found bool, err error) {
	err = t.Row(ctx, query, args...).Scan(into...)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// Each runs row on each row of a query, which it scans. It may ask for nothing itself.
func (t *Tx) Each(ctx context.Context, row func(scan func(into ...any) error) error, query string, args ...any) error {
	return t.Ask(ctx, Query{query, args, row})
}

// Columns returns the columns of a table, empty if it is missing, or a view that Suppose did not lay over a table.
func (t *Tx) Columns(ctx context.Context, table string) (map[string]bool, error) {
	has := map[string]bool{}
	err := t.Each(ctx, func(scan func(...any) error) error {
		var column string
		err := scan(&column)
		has[column] = true
		return err
	}, "SELECT attname::text FROM pg_attribute JOIN pg_class c ON c.oid = attrelid WHERE c.oid = to_regclass(quote_ident(?)) AND (relkind IN ('r', 'p') OR relnamespace = pg_my_temp_schema()) AND attnum > 0 AND NOT attisdropped", table)
	return has, err
}

// Exec runs a statement that changes rows, and returns how many it changed.
func (t *Tx) Exec(ctx context.Context, query string, args ...any) (changed int64, err error) {
	rows, err := t.Rows(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	if err := rows.Close(); err != nil {
		return 0, err
	}
	return rows.CommandTag().RowsAffected(), nil
}

// Define runs a statement that makes tables or views.
func (t *Tx) Define(ctx context.Context, query string) error {
	_, err := t.Exec(ctx, query)
	return err
}

// numberPlaceholders returns a statement with PostgreSQL's placeholders instead of SQLite's: $1 for ?1, and for ?
// the one behind the greatest so far. What stands in quotes and comments stays.
func numberPlaceholders(query string) string {
	var text strings.Builder
	last := 0
	for i := 0; i < len(query); {
		if query[i] == '?' {
			end := i + 1
			for end < len(query) && '0' <= query[end] && query[end] <= '9' {
				end++
			}
			n, err := strconv.Atoi(query[i+1 : end])
			if err != nil {
				n = last + 1
			}
			last = max(last, n)
			text.WriteString("$" + strconv.Itoa(n))
			i = end
			continue
		}
		end := i + quotationLength(query[i:], i > 0 && (query[i-1] == 'E' || query[i-1] == 'e'))
		text.WriteString(query[i:end])
		i = end
	}
	return text.String()
}

// quotationLength returns how long the quotation or the comment is that a text begins with, 1 for another beginning.
func quotationLength(text string, escapes bool) int {
	to := func(end string, from int) int {
		if i := strings.Index(text[from:], end); i >= 0 {
			return from + i + len(end)
		}
		return len(text)
	}
	switch {
	case text[0] == '"':
		return to(`"`, 1)
	case text[0] == '\'' && escapes:
		for i := 1; i < len(text); i++ {
			switch text[i] {
			case '\\':
				i++
			case '\'':
				return i + 1
			}
		}
		return len(text)
	case text[0] == '\'':
		return to("'", 1)
	case strings.HasPrefix(text, "--"):
		return to("\n", 2)
	case strings.HasPrefix(text, "/*"):
		depth := 1
		for i := 2; i < len(text); i++ {
			switch {
			case strings.HasPrefix(text[i:], "*/"):
				if depth--; depth == 0 {
					return i + 2
				}
				i++
			case strings.HasPrefix(text[i:], "/*"):
				depth++
				i++
			}
		}
		return len(text)
	case text[0] == '$':
		if tag := strings.IndexByte(text[1:], '$') + 2; tag > 1 && isTag(text[1:tag-1]) {
			return to(text[:tag], tag)
		}
	}
	return 1
}

// isTag reports whether a text may stand between the dollars of a quotation.
func isTag(text string) bool {
	for i, r := range text {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return true
}
