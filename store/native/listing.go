package native

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/recording"
)

// How visits are read
//
// Listing a session must not cost more than the rows it reads, a hundred thousand of them at
// once. Values are taken as the driver has them, in 8 allocations a row; database/sql scans
// takes 14, and half as long again. Plain columns can be read with any SQLite tool, which packed
// headers could not. The states are in another table and are not touched.

const (
	// batchSize is how many headers are read before any is handed on.
	batchSize = 2048
	// nearVisits is the number of recent visits that a listing remembers, since most parents are among them.
	// farVisits is the number of visits that it remembers after it had to look them up.
	nearVisits = 1 << 13
	farVisits  = 1 << 10
)

// extra holds the optional fields of a row, as JSON. The alias comes first, where findAlias looks for it, and the marks last,
// where a dialect counts by them.
type extra struct {
	Alias     string `json:"alias,omitempty"`
	EventName string `json:"eventName,omitempty"`
	Position  string `json:"position,omitempty"`
	Title     string `json:"title,omitempty"`

	Attributes model.Attributes `json:"attributes,omitempty"`
	Marks      model.Marks      `json:"marks,omitempty"`
}

// readJSON takes in the JSON. What most rows have, a title that needs no escapes and
// nothing else, is not worth a decoder: there may be a million of them.
func (x *extra) readJSON(text string) error {
	if title, ok := strings.CutPrefix(text, `{"title":"`); ok {
		if title, ok = strings.CutSuffix(title, `"}`); ok && !strings.ContainsAny(title, `"\`) {
			x.Title = title
			return nil
		}
	}
	return json.Unmarshal([]byte(text), x)
}

// listing reads the visits of one session on one connection.
type listing struct {
	tx      *tx
	session session
	// numbers and ids are the last visits that were met, by ascending number: where the
	// ids of parents come from. far are other visits.
	numbers []int64
	ids     []string
	far     map[int64]string
	reasons map[int64]*model.Reason
	// gathered and more are used again.
	gathered []visitRow
	more     extra
}

// loadVisits reads a session whole.
func loadVisits(ctx context.Context, t *tx, ss session) (*recording.Visits, error) {
	l := listing{tx: t, session: ss}
	var all model.Headers
	err := l.allHeaders(ctx, func(batch []model.Header) error {
		for i := range batch {
			all.Add(&batch[i])
		}
		return nil
	})
	v := &recording.Visits{Session: ss.id, Headers: all.Slice(), Head: -1}
	if ss.head.Valid {
		v.Head = v.At(ss.head.V)
	}
	return v, err
}

// allHeaders returns every header, a batch at a time. The batch is used again.
func (l *listing) allHeaders(ctx context.Context, give func(batch []model.Header) error) error {
	if err := l.loadReasons(ctx); err != nil {
		return err
	}
	var batch []model.Header
	after := int64(math.MinInt64)
	for {
		var err error
		batch, err = l.appendHeaders(ctx, batch[:0], "visits WHERE session = ? AND visit > ? ORDER BY visit LIMIT ?", l.session.key, after, batchSize)
		if len(batch) > 0 {
			err = cmp.Or(give(batch), err)
		}
		if err != nil || len(batch) < batchSize {
			return err
		}
		after = batch[len(batch)-1].Visit
	}
}

// lastHeaders returns the last n headers and how many there are before them.
func (l *listing) lastHeaders(ctx context.Context, n int) (headers []model.Header, before int, err error) {
	rows, err := l.gatherRows(ctx, "visits WHERE session = ? ORDER BY visit DESC LIMIT ?", l.session.key, n+1)
	if err != nil {
		return nil, 0, err
	}
	if len(rows) > n {
		before = store.Uncounted
	}
	rows = rows[:min(n, len(rows))]
	if err := l.lookUpReferences(ctx, rows); err != nil {
		return nil, 0, err
	}
	headers = make([]model.Header, len(rows))
	for i, row := range slices.Backward(rows) {
		h := &headers[len(rows)-1-i]
		if *h, err = l.completeHeader(ctx, row); err != nil {
			return nil, 0, err
		}
		l.rememberHeader(h)
	}
	return headers, before, nil
}

// lookUpReferences looks up together what rows refer to and is not among them, as far as few rows do: to
// a server each question is a way there and back.
func (l *listing) lookUpReferences(ctx context.Context, rows []visitRow) error {
	reasons := lookups{query: "SELECT " + reasonColumns + " FROM reasons WHERE session = ? AND reason IN ", before: []any{l.session.key}}
	parents := lookups{query: "SELECT visit, id FROM visits WHERE session = ? AND visit IN ", before: []any{l.session.key}}
	here := make(map[int64]bool, len(rows))
	for i := range rows {
		here[rows[i].Visit] = true
	}
	for i := range rows {
		r := &rows[i]
		if r.Orphaned && len(reasons.values) < rowsAtOnce && !slices.Contains(reasons.values, any(r.reason)) {
			reasons.values = append(reasons.values, r.reason)
		}
		if r.parentDerived && len(parents.values) < rowsAtOnce && !here[r.ParentVisit] {
			parents.values = append(parents.values, r.ParentVisit)
		}
	}
	if err := reasons.eachRow(ctx, l.tx, l.addReason); err != nil {
		return err
	}
	l.far = map[int64]string{}
	return parents.eachRow(ctx, l.tx, func(scan func(...any) error) error {
		var visit int64
		var id string
		err := scan(&visit, &id)
		l.far[visit] = id
		return err
	})
}

// readOne returns the header of one visit; the error is model.ErrNoSnapshot.
func (l *listing) readOne(ctx context.Context, visit int64) (model.Header, error) {
	rows, err := l.gatherRows(ctx, "visits WHERE session = ? AND visit = ?", l.session.key, visit)
	if err != nil {
		return model.Header{}, err
	}
	if len(rows) == 0 {
		return model.Header{}, fmt.Errorf("visit %d: %w", visit, model.ErrNoSnapshot)
	}
	return l.completeHeader(ctx, rows[0])
}

// readFew returns the headers of a few visits, which from asks for by ascending
// number.
func (l *listing) readFew(ctx context.Context, from string, args ...any) ([]model.Header, error) {
	return l.appendHeaders(ctx, nil, from, args...)
}

// appendHeaders appends the headers of a few visits, as some does. With an error it returns those
// before the row that cannot be read.
func (l *listing) appendHeaders(ctx context.Context, headers []model.Header, from string, args ...any) ([]model.Header, error) {
	rows, err := l.gatherRows(ctx, from, args...)
	for _, row := range rows {
		h, err := l.completeHeader(ctx, row)
		if err != nil {
			return headers, err
		}
		l.rememberHeader(&h)
		headers = append(headers, h)
	}
	return headers, err
}

// gatherRows returns some rows, until it is called again. With an error it returns those before
// the row that cannot be read.
func (l *listing) gatherRows(ctx context.Context, from string, args ...any) ([]visitRow, error) {
	l.gathered = l.gathered[:0]
	err := l.tx.Values(ctx, "SELECT "+visitColumns+" FROM "+from, args, func(values []driver.Value) error {
		row, err := l.decodeRow(values)
		if err == nil {
			l.gathered = append(l.gathered, row)
		}
		return err
	})
	return l.gathered, err
}

// completeHeader looks up what a row refers to and the listing has not met.
func (l *listing) completeHeader(ctx context.Context, row visitRow) (model.Header, error) {
	h := row.Header
	if row.parentDerived {
		if h.ParentID = l.idOf(h.ParentVisit); h.ParentID == "" {
			var err error
			if h.ParentID, err = l.lookFor(ctx, h.ParentVisit); err != nil {
				return h, err
			}
		}
	}
	if _, known := l.reasons[row.reason]; h.Orphaned && !known {
		if err := l.loadReason(ctx, row.reason); err != nil {
			return h, err
		}
	}
	h.Reason = l.reasons[row.reason]
	return h, nil
}

// lookFor returns the id of any visit, or "".
func (l *listing) lookFor(ctx context.Context, visit int64) (id string, err error) {
	if id, known := l.far[visit]; known {
		return id, nil
	}
	err = l.tx.Row(ctx, "SELECT id FROM visits WHERE session = ? AND visit = ?", l.session.key, visit).Scan(&id)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", err
	}
	if l.far == nil || len(l.far) == farVisits {
		l.far = map[int64]string{}
	}
	l.far[visit] = id
	return id, nil
}

func (l *listing) rememberHeader(h *model.Header) {
	if len(l.numbers) == 2*nearVisits {
		l.numbers, l.ids = slices.Delete(l.numbers, 0, nearVisits), slices.Delete(l.ids, 0, nearVisits)
	}
	l.numbers, l.ids = append(l.numbers, h.Visit), append(l.ids, h.ID)
}

// idOf returns the id of a visit met a while ago, or "".
func (l *listing) idOf(visit int64) string {
	if last := len(l.numbers) - 1; last >= 0 && l.numbers[last] == visit {
		return l.ids[last]
	}
	i, ok := slices.BinarySearch(l.numbers, visit)
	if !ok {
		return ""
	}
	return l.ids[i]
}

func (l *listing) loadReasons(ctx context.Context) error {
	return l.reasonsWhere(ctx, "session = ?", l.session.key)
}

func (l *listing) loadReason(ctx context.Context, reason int64) error {
	if err := l.reasonsWhere(ctx, "session = ? AND reason = ?", l.session.key, reason); err != nil {
		return err
	}
	if _, there := l.reasons[reason]; !there {
		l.meetReason(reason, nil) // it is not asked for again
	}
	return nil
}

func (l *listing) reasonsWhere(ctx context.Context, where string, args ...any) error {
	return l.tx.eachRow(ctx, l.addReason, "SELECT "+reasonColumns+" FROM reasons WHERE "+where, args...)
}

// reasonColumns are the columns that addReason reads.
const reasonColumns = "reason, kind, at, target_id, target_index"

func (l *listing) addReason(scan func(...any) error) (err error) {
	var number int64
	var at any
	var r model.Reason
	if err := scan(&number, &r.Kind, &at, &r.TargetID, &r.TargetIndex); err != nil {
		return err
	}
	if r.At, err = decodeTime(at); err != nil {
		return fmt.Errorf("reason %d: %w", number, err)
	}
	l.meetReason(number, &r)
	return nil
}

// meetReason remembers a reason. Visits that nothing tells about have none.
func (l *listing) meetReason(number int64, r *model.Reason) {
	if l.reasons == nil {
		l.reasons = map[int64]*model.Reason{noReason: nil}
	}
	if number != noReason {
		l.reasons[number] = r
	}
}

// noReason is the reason of visits that nothing tells why they are off
// the active path.
const noReason = 0

// visitRow is a row of visits before what it refers to is looked up.
type visitRow struct {
	model.Header
	// parentDerived says that the parent's id is that of the parent visit.
	parentDerived bool
	reason        int64
}

const (
	// visitColumns are the columns that decode reads.
	visitColumns = "visit, id, parent_visit, parent_id, idx, turn, event, at, size, reason, extra"
)

// decodeRow reads the columns of visitColumns.
func (l *listing) decodeRow(values []driver.Value) (visitRow, error) {
	var d columns
	var row visitRow
	h := &row.Header
	h.SessionID = l.session.id
	h.Visit, h.ID = d.integer(values[0]), d.text(values[1])
	h.ParentVisit, h.ParentID = d.integer(values[2]), d.text(values[3])
	h.Index, h.TurnIndex = int(d.integer(values[4])), int(d.integer(values[5]))
	h.Event, h.CreatedAt = model.SnapshotEvent(d.integer(values[6])), d.time(values[7])
	h.Size, row.reason = d.integer(values[8]), d.integer(values[9])
	row.parentDerived = h.ParentVisit != 0 && values[3] == nil
	h.Orphaned = values[9] != nil
	h.Head = l.session.head.Valid && l.session.head.V == h.Visit
	if !h.Orphaned {
		row.reason = -1
	}
	if text := d.text(values[10]); text != "" && d.err == nil {
		l.more = extra{}
		d.err = l.more.readJSON(text)
		h.EventName, h.Position, h.Title, h.Marks = l.more.EventName, l.more.Position, l.more.Title, l.more.Marks
		h.Alias, h.Attributes = l.more.Alias, l.more.Attributes
	}
	if d.err != nil {
		return row, fmt.Errorf("visit %d: %w", h.Visit, d.err)
	}
	return row, nil
}

// columns reads values of their declared types and keeps the first error. Null
// is the zero value.
type columns struct{ err error }

func (d *columns) integer(v any) int64 {
	n, is := v.(int64)
	d.expect(v, is, "an integer")
	return n
}

func (d *columns) text(v any) string {
	text, is := v.(string)
	d.expect(v, is, "a text")
	return text
}

func (d *columns) expect(v any, is bool, what string) {
	if !is && v != nil {
		d.err = cmp.Or(d.err, fmt.Errorf("another value where %s belongs", what))
	}
}

func (d *columns) time(v any) time.Time {
	t, err := decodeTime(v)
	d.err = cmp.Or(d.err, err)
	return t
}

func decodeTime(v any) (time.Time, error) {
	switch v := v.(type) {
	case nil:
		return time.Time{}, nil
	case int64:
		return ofNanoseconds(v), nil
	case string:
		return parseTime(v)
	}
	return time.Time{}, fmt.Errorf("%T where a time belongs", v)
}

func ofNanoseconds(n int64) time.Time          { return time.Unix(0, n).UTC() }
func parseTime(text string) (time.Time, error) { return time.Parse(time.RFC3339Nano, text) }

// rowsAtOnce is how many rows one statement looks for.
const rowsAtOnce = 64

// lookups ask for rows by some of their values, rowsAtOnce at a time.
type lookups struct {
	query  string
	before []any
	values []any
}

func (l *lookups) eachRow(ctx context.Context, t *tx, row func(scan func(...any) error) error) error {
	query := l.query + "(" + strings.Repeat("?, ", rowsAtOnce-1) + "?)"
	for ; len(l.values) > 0; l.values = l.values[min(rowsAtOnce, len(l.values)):] {
		args := append(make([]any, 0, rowsAtOnce+1), l.before...)
		args = append(args, l.values[:min(rowsAtOnce, len(l.values))]...)
		args = append(args, make([]any, cap(args)-len(args))...) // null equals nothing
		if err := t.eachRow(ctx, row, query, args[:len(l.before)+rowsAtOnce]...); err != nil {
			return err
		}
	}
	return nil
}
