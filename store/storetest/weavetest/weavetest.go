// Package weavetest counts what it takes to read all states of a session of a kind made of rows.
package weavetest

import (
	"context"
	"fmt"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/rows"
	"hindcast/store/storetest"
	"hindcast/store/storetest/rowstest"
)

// counting is a format that counts what it is asked.
type counting struct {
	rows.Format
	states, statements int
	// listed counts the snapshots that were read of each session.
	listed map[string]int
}

func (c *counting) Log(ctx context.Context, t rows.Tx, of rows.Place, from string) (rows.Log, error) {
	log, err := c.Format.Log(ctx, t, of, from)
	c.listed[of.ID] += len(log.Rows)
	return log, err
}

func (c *counting) State(ctx context.Context, t rows.Tx, of rows.Place, id string) ([]byte, error) {
	c.states++
	return c.Format.State(ctx, t, of, id)
}

// Weave implements rows.Weaver.
func (c *counting) Weave(ctx context.Context, t rows.Tx, of rows.Place, ids []string, to store.Loom) error {
	return c.Format.(rows.Weaver).Weave(ctx, countingTx{t, &c.statements}, of, ids, to)
}

// countingTx counts statements.
type countingTx struct {
	rows.Tx
	n *int
}

func (t countingTx) Row(ctx context.Context, query string, args ...any) interface{ Scan(into ...any) error } {
	*t.n++
	return t.Tx.Row(ctx, query, args...)
}

func (t countingTx) First(ctx context.Context, into []any, query string, args ...any) (bool, error) {
	*t.n++
	return t.Tx.First(ctx, into, query, args...)
}

func (t countingTx) Each(ctx context.Context, row func(scan func(into ...any) error) error, query string, args ...any) error {
	*t.n++
	return t.Tx.Each(ctx, row, query, args...)
}

func (t countingTx) Records(ctx context.Context, row func(map[string]any) error, query string, args ...any) error {
	*t.n++
	return t.Tx.Records(ctx, row, query, args...)
}

// Weaves checks what it takes to know all states of a session of 100 rows, and of one of 1,000: no state is asked for
// by itself, statements are as many for both, and what is put is in proportion. whole is how many states come whole, -1 for all.
func Weaves(t *testing.T, kind rows.Kind, session string, whole int, grown func(t testing.TB, rows int) (path string)) {
	t.Helper()
	var put, statements [2]int64
	for i, n := range []int{100, 1000} {
		c := &counting{Format: kind.Format, listed: map[string]int{}}
		k := kind
		k.Format = c
		s := storetest.OpenStore(t, k.Kind(nil, "").Kind, grown(t, n))
		var refs []model.Ref
		for _, h := range storetest.Headers(t, s, session) {
			refs = append(refs, h.Ref())
		}
		l := storetest.NewCloth(len(refs))
		c.states = 0
		if err := s.Features().Weave(t.Context(), refs, l.Loom()); err != nil {
			t.Fatal(err)
		}
		if whole < 0 {
			l.Whole -= n + 1
		}
		if len(refs) != n || l.Taken != n || l.Whole != whole || c.states > 0 {
			t.Errorf("of %d rows %d states of %d were taken, %d whole, and %d by themselves", n, l.Taken, len(refs), l.Whole, c.states)
		}
		put[i], statements[i] = l.Made+l.Asked, int64(c.statements)
	}
	if put[1] > 12*put[0] || statements[0] != statements[1] || statements[1] > 16 {
		t.Errorf("100 rows: %d bytes and texts, by %d statements; 1,000 rows: %d, by %d", put[0], statements[0], put[1], statements[1])
	}
	listsLong(t, kind, session, grown)
}

// listsLong checks that a list of sessions counts a long one, and reads its newest snapshot and its beginning.
func listsLong(t *testing.T, kind rows.Kind, session string, grown func(t testing.TB, rows int) (path string)) {
	t.Helper()
	const n = 3000
	c := &counting{Format: kind.Format, listed: map[string]int{}}
	kind.Format = c
	s := storetest.OpenStore(t, kind.Kind(nil, "").Kind, grown(t, n))
	var listed, read model.SessionInfo
	for _, info := range storetest.Sessions(t, s) {
		if info.ID == session {
			listed = info
		}
	}
	if c.listed[session] > 100 {
		t.Errorf("a list read %d of %d snapshots", c.listed[session], n)
	}
	headers := storetest.Headers(t, s, session)
	read.Count(headers)
	if listed.Snapshots != n || listed.Snapshots != read.Snapshots || listed.Head != read.Head || !listed.UpdatedAt.Equal(headers[n-1].CreatedAt) || listed.Orphaned != store.Uncounted {
		t.Errorf("listed as %+v, and read as %+v", listed, read)
	}
	if c.listed = map[string]int{}; store.Find(t.Context(), storetest.OpenStore(t, kind.Kind(nil, "").Kind, grown(t, n)), session) != nil || c.listed[session] > 1 {
		t.Errorf("to find the session read %d snapshots", c.listed[session])
	}
}

// Grown returns what makes a store of one that was recorded, with a session of so many rows that a statement puts in for
// the numbers i from 1 on, which it selects FROM n.
func Grown(recorded, insert string) func(testing.TB, int) string {
	return func(t testing.TB, rows int) string {
		path := rowstest.Copied(t, recorded)
		rowstest.Execute(t, path, fmt.Sprintf("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) ", rows)+insert)
		return path
	}
}
