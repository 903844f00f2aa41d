package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"hindcast/store"
)

// How a store of version 1 is read, and becomes one of version 2
//
// Version 1 kept each state whole, in compressed pieces of 1 MiB, and lacked two
// columns of sessions. It is read as it is: the functions below know its
// tables, and a view that lasts for one transaction stands in for sessions.
//
// The first write migrates it, in one transaction: the tables get other names,
// those of version 2 are made, the states are put into them in the order in
// which they were recorded, so that each finds its parts in the one before, and
// the old tables are dropped. Whoever is killed meanwhile leaves version 1. The
// file is then made smaller, which does not matter if it fails.
//
// 10,000 states of 345 kB, 990 MB in all, took 27 s and became 5.7 MB; as many of
// 20 kB took 3 s (BenchmarkMigrate). A caller may not have that time. So the
// migration goes on when the context of the write that began it ends, and a later
// write finds it done. Only Close ends it early, and takes it back.

//go:embed schema1.sql
var oldSchemaSQL string

// oldChunk is the size of all pieces of a state but the last.
const oldChunk = 1 << 20

// asOld wraps what runs in a transaction on a store that may be of oldVersion.
func (h *handle) asOld(ctx context.Context, what func(t *tx) error) func(t *tx) error {
	return func(t *tx) error {
		version, err := versionOf(ctx, t)
		if err != nil {
			return err
		}
		if version != oldVersion {
			// Another program has migrated it.
			h.old.Store(false)
			return what(t)
		}
		t.old = true
		_, err = t.conn.ExecContext(ctx, "CREATE TEMP VIEW sessions AS SELECT *, max(revision, 1) AS writes, revision AS rewrites FROM main.sessions")
		if err != nil {
			return err
		}
		if err := what(t); err != nil {
			return err
		}
		_, err = t.conn.ExecContext(ctx, "DROP VIEW temp.sessions")
		return err
	}
}

// oldPeek gives the first piece of a state of version 1, and the size of all of
// it.
func (c codec) oldPeek(ctx context.Context, t *tx, key int64) (first []byte, size int64, err error) {
	var encoding int64
	var data []byte
	err = t.row(ctx, "SELECT encoding, size, data FROM "+t.prefix+"states WHERE state = ?", key).Scan(&encoding, &size, &data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, 0, fmt.Errorf("%w: it is missing", ErrDamagedState)
	}
	if err != nil {
		return nil, 0, err
	}
	if size < 0 || size > maxState {
		return nil, 0, fmt.Errorf("%w: a size of %d", ErrDamagedState, size)
	}
	first = make([]byte, min(size, oldChunk))
	return first, size, c.decode(encoding, data, first)
}

// oldState gives the bytes of a state of version 1.
func (c codec) oldState(ctx context.Context, t *tx, key int64) ([]byte, error) {
	first, size, err := c.oldPeek(ctx, t, key)
	if err != nil || size <= oldChunk {
		return first, err
	}
	// The number of pieces is checked before room is made for them, because the
	// size may be what is damaged.
	var chunks int64
	if err := t.row(ctx, "SELECT count(*) FROM "+t.prefix+"state_chunks WHERE state = ?", key).Scan(&chunks); err != nil {
		return nil, err
	}
	if want := (size - 1) / oldChunk; chunks != want {
		return nil, fmt.Errorf("%w: %d pieces where there should be %d", ErrDamagedState, chunks, want)
	}
	rows, err := t.rows(ctx, "SELECT encoding, data FROM "+t.prefix+"state_chunks WHERE state = ? ORDER BY chunk", key)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	state := make([]byte, size)
	rest := state[copy(state, first):]
	for rows.Next() {
		var encoding int64
		var data sql.RawBytes
		if err := rows.Scan(&encoding, &data); err != nil {
			return nil, err
		}
		n := min(len(rest), oldChunk)
		if err := c.decode(encoding, data, rest[:n]); err != nil {
			return nil, err
		}
		rest = rest[n:]
	}
	return state, rows.Err()
}

// oldCompare knows no parts: the states differ in everything.
func oldCompare(ctx context.Context, t *tx, a, b int64) ([]store.Span, error) {
	var span store.Span
	for _, side := range []struct {
		key int64
		to  *int64
	}{{a, &span.ATo}, {b, &span.BTo}} {
		err := t.row(ctx, "SELECT size FROM states WHERE state = ?", side.key).Scan(side.to)
		if errors.Is(err, sql.ErrNoRows) || err == nil && *side.to < 0 {
			err = fmt.Errorf("%w: it is missing", ErrDamagedState)
		}
		if err != nil {
			return nil, err
		}
	}
	return []store.Span{span}, nil
}

// migrate brings the store to this version. When the context ends, it goes on.
func (s *Store) migrate(ctx context.Context) error {
	select {
	case s.writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		<-s.writing
		return errClosed
	}
	lasting, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.migration.Add(1)
	s.mu.Unlock()
	done := make(chan error, 1)
	go func() {
		defer s.migration.Done()
		defer stop()
		err := s.migrateFile(lasting)
		<-s.writing
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("migrate from version %d: %w", oldVersion, err)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// migrateFile migrates the file by a connection of its own, which does not look
// at foreign keys: what is wrong in a damaged store stays as wrong as it is.
func (s *Store) migrateFile(ctx context.Context) (err error) {
	db, err := open(s.file, migrating)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	h := &handle{db: db, access: writable}
	migrated := false
	err = h.transaction(ctx, beginWrite, func(t *tx) error {
		version, err := versionOf(ctx, t)
		if err != nil || version != oldVersion {
			return err // or another program was faster
		}
		migrated = true
		t.prefix = oldPrefix
		return (&migration{states: &s.states, tx: t}).run(ctx)
	})
	if err == nil && migrated {
		// The file would stay as large as it was. If this fails it does, and
		// later writes use the room.
		_, _ = db.ExecContext(ctx, "VACUUM")
	}
	return err
}

// oldPrefix is put before the names of the old tables.
const oldPrefix = "old_"

// oldTables are the tables of the old version, those that refer to others first.
var oldTables = []string{"journal_visits", "journal", "visits", "reasons", "sessions", "state_chunks", "states"}

// migration is one that is under way.
type migration struct {
	*states
	tx *tx
	// visits are the states of the visits of the session that was read last,
	// heads those of the heads of all.
	visits map[int64]int64
	heads  map[int64]int64
	// done are the states that were put.
	done map[int64]bool
}

func (m *migration) run(ctx context.Context) error {
	m.heads, m.done = map[int64]int64{}, map[int64]bool{}
	for _, step := range []func(context.Context) error{m.rename, m.snapshots, m.records, m.copyRows} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (m *migration) exec(ctx context.Context, statements ...string) error {
	for _, statement := range statements {
		if _, err := m.tx.conn.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// rename puts the old tables aside and makes the new ones.
func (m *migration) rename(ctx context.Context) error {
	for _, table := range oldTables {
		if err := m.exec(ctx, "ALTER TABLE "+table+" RENAME TO "+oldPrefix+table); err != nil {
			return err
		}
	}
	for _, index := range []string{"visits_by_id", "visits_by_state", "sessions_by_state", "journal_by_state"} {
		if err := m.exec(ctx, "DROP INDEX "+index); err != nil {
			return err
		}
	}
	return m.exec(ctx, schemaSQL)
}

// oldVisit is what tells where a state comes from.
type oldVisit struct {
	visit, parent, state int64
	head                 bool
}

// snapshots puts the states of visits.
func (m *migration) snapshots(ctx context.Context) error {
	sessions, err := numbers(ctx, m.tx, "SELECT session FROM old_sessions ORDER BY session")
	if err != nil {
		return err
	}
	for _, session := range sessions {
		visits, err := m.oldVisits(ctx, session)
		if err != nil {
			return err
		}
		m.visits = make(map[int64]int64, len(visits))
		for _, v := range visits {
			var base sql.Null[int64]
			base.V, base.Valid = m.visits[v.parent]
			if v.state, err = m.move(ctx, owner{session: session}, v.state, base); err != nil {
				return fmt.Errorf("state of visit %d: %w", v.visit, err)
			}
			m.visits[v.visit] = v.state
			if v.head {
				m.heads[session] = v.state
			}
		}
	}
	return nil
}

func (m *migration) oldVisits(ctx context.Context, session int64) (visits []oldVisit, err error) {
	rows, err := m.tx.rows(ctx, `SELECT v.visit, ifnull(v.parent_visit, 0), v.state, v.visit IS s.head
		FROM old_visits v JOIN old_sessions s USING (session) WHERE v.session = ? ORDER BY v.visit`, session)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var v oldVisit
		if err := rows.Scan(&v.visit, &v.parent, &v.state, &v.head); err != nil {
			return nil, err
		}
		visits = append(visits, v)
	}
	return visits, rows.Err()
}

// move puts one state under the key that it had, and gives the key that it has:
// another one where its bytes, though not its old hash, are those of a state
// that was put before.
func (m *migration) move(ctx context.Context, o owner, key int64, base sql.Null[int64]) (int64, error) {
	if m.done[key] {
		return key, nil
	}
	m.done[key] = true
	state, err := m.codec.oldState(ctx, m.tx, key)
	if errors.Is(err, ErrDamagedState) {
		// It stays unreadable, under the same hash.
		_, err := m.tx.exec(ctx, "INSERT OR IGNORE INTO states (state, sha256, size, list) SELECT state, sha256, size, x'' FROM old_states WHERE state = ?", key)
		return key, err
	}
	if err != nil {
		return 0, err
	}
	now, err := m.putAs(ctx, m.tx, sql.Null[int64]{V: key, Valid: true}, o, m.content(state), base)
	if err != nil || now == key {
		return key, err
	}
	m.done[key] = false
	for _, holder := range []string{"old_visits SET state", "old_sessions SET record_state", "old_journal SET before_state"} {
		column := holder[strings.LastIndexByte(holder, ' ')+1:]
		if _, err := m.tx.exec(ctx, "UPDATE "+holder+" = ? WHERE "+column+" = ?", now, key); err != nil {
			return 0, err
		}
	}
	return now, nil
}

// records puts the states that only records have, and the journal.
func (m *migration) records(ctx context.Context) error {
	rows, err := m.pairs(ctx, `SELECT session, record_state FROM old_sessions WHERE record_state IS NOT NULL
		UNION SELECT s.session, j.before_state FROM old_journal j JOIN old_sessions s ON s.id = j.session WHERE j.before_state IS NOT NULL`)
	if err != nil {
		return err
	}
	for _, r := range rows {
		session, state := r[0], r[1]
		var base sql.Null[int64]
		base.V, base.Valid = m.heads[session]
		if _, err := m.move(ctx, owner{session: session, draft: true}, state, base); err != nil {
			return fmt.Errorf("state of a record: %w", err)
		}
	}
	return nil
}

func (m *migration) pairs(ctx context.Context, query string) (pairs [][2]int64, err error) {
	rows, err := m.tx.rows(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var p [2]int64
		if err := rows.Scan(&p[0], &p[1]); err != nil {
			return nil, err
		}
		pairs = append(pairs, p)
	}
	return pairs, rows.Err()
}

// copyRows takes over the tables that are as they were, and drops the old ones.
func (m *migration) copyRows(ctx context.Context) error {
	err := m.exec(ctx, `INSERT INTO sessions (session, id, head, record_state, record_turn, updated, revision, writes, rewrites, visits, orphaned)
		SELECT session, id, head, record_state, record_turn, updated, revision, max(revision, 1), revision, visits, orphaned FROM old_sessions`)
	if err != nil {
		return err
	}
	for _, table := range []string{"reasons", "visits", "journal", "journal_visits"} {
		if err := m.exec(ctx, "INSERT INTO "+table+" SELECT * FROM "+oldPrefix+table); err != nil {
			return err
		}
	}
	for _, table := range oldTables {
		if err := m.exec(ctx, "DROP TABLE "+oldPrefix+table); err != nil {
			return err
		}
	}
	return m.exec(ctx, fmt.Sprintf("PRAGMA user_version = %d", schemaVersion))
}
