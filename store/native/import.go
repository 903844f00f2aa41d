package native

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"hindcast/model"
	"hindcast/store"
)

// Import implements store.Importer. The head of a session is the last new row
// that says it is, else, in a new session, its last active visit.
//
// The rows are read while the store is locked against other writers. They may
// come from this very store: a reader sees it as it was before.
func (s *Store) Import(ctx context.Context, rows iter.Seq2[store.Row, error]) (n int, err error) {
	err = s.notifyWritten(s.carrier.WriteOnce(ctx, s.inWriteTx(func(t *tx) error {
		usual, err := t.Prepare(ctx)
		if err != nil {
			return err
		}
		defer usual()
		if err := t.LockJournal(ctx); err != nil {
			return err
		}
		p := importing{store: s, tx: t}
		if p.entered, err = hasContent(ctx, t); err != nil {
			return err
		}
		var some bool
		if err = t.Row(ctx, "SELECT EXISTS (SELECT 1 FROM states)").Scan(&some); err != nil {
			return err
		}
		if !some { // so that all are those of the import
			p.sums = fingerprints{}
		}
		n, err = p.run(ctx, rows)
		return err
	})))
	if err != nil {
		return 0, fmt.Errorf("%s: import: %w", s.kind, err)
	}
	return n, nil
}

// run takes rows in and returns how many visits of snapshots were new.
func (p *importing) run(ctx context.Context, rows iter.Seq2[store.Row, error]) (int, error) {
	p.sessions = map[string]*incoming{}
	for some := range arriving(rows) {
		for i := range some {
			row := &some[i]
			if err := errors.Join(row.missing, ctx.Err()); err != nil {
				return 0, err
			}
			if err := p.row(ctx, row); err != nil {
				return 0, err
			}
		}
	}
	return p.finish(ctx)
}

// arrived is an incoming row. invalid is the error in its state, and missing the reason why there is no row.
type arrived struct {
	store.Row
	sum              [sha256.Size]byte
	invalid, missing error
}

// arriving returns rows, some at a time. While these are written the next ones are read,
// checked and hashed, on another core.
func arriving(rows iter.Seq2[store.Row, error]) iter.Seq[[]arrived] {
	return func(yield func([]arrived) bool) {
		var reading sync.WaitGroup
		defer reading.Wait()
		some, left := make(chan []arrived, 1), make(chan struct{})
		defer close(left)
		reading.Go(func() {
			defer close(some)
			arrive(rows, func(now []arrived) bool {
				select {
				case some <- now:
					return true
				case <-left:
					return false
				}
			})
		})
		for now := range some {
			if !yield(now) {
				return
			}
		}
	}
}

// arrive calls give with rows, as many at a time as a batch has, until it returns false.
func arrive(rows iter.Seq2[store.Row, error], give func([]arrived) bool) {
	var some []arrived
	size := 0
	for row, err := range rows {
		now := arrived{Row: row, missing: err}
		if state := row.State; state != nil {
			now.invalid, now.sum = store.CheckState(state), sha256.Sum256(state)
			now.State = bytes.Clone(state)
		}
		if r := row.Record; r != nil {
			record := *r
			now.invalid, record.State = store.CheckState(r.State), bytes.Clone(r.State)
			now.Record = &record
		}
		some, size = append(some, now), size+len(row.State)
		if len(some) < batchRows && size < batchBytes {
			continue
		}
		if !give(some) {
			return
		}
		some, size = nil, 0
	}
	give(some)
}

// importing is one import.
type importing struct {
	store *Store
	tx    *tx
	// entered says that it is an entry of the journal, first is the session of its
	// first row.
	entered  bool
	first    *incoming
	sessions map[string]*incoming
	order    []*incoming
	// batch are the rows of the session batching that are not written yet, and bytes the size of their states.
	// taking writes them.
	batch    []batched
	bytes    int
	batching *incoming
	taking   *taking
	// sums are the hashes of the store's states, nil if it had states before the import.
	sums fingerprints
}

// incoming is the part of an import that belongs to one session.
type incoming struct {
	session
	fresh   bool
	earlier entry // the row of the journal, as far as it is known beforehand
	placer  *store.Placer
	ids     fingerprints
	reasons map[reasonKey]int64
	unknown sql.Null[int64] // the reason that is none, once it is kept
	record  *model.Data[json.RawMessage]
	added   int // visits
	steps   int // of these
	moved   bool
	newest  time.Time
}

// reasonKey tells reasons apart, so that rows that left the path together
// share one again.
type reasonKey struct {
	kind  model.ReasonKind
	at    any
	id    string
	index int
}

func (p *importing) session(ctx context.Context, id string) (*incoming, error) {
	if in := p.sessions[id]; in != nil {
		return in, nil
	}
	_, err := find(ctx, p.tx, id)
	in := &incoming{fresh: errors.Is(err, model.ErrNoSession), reasons: map[reasonKey]int64{}}
	if err != nil && !in.fresh {
		return nil, err
	}
	if in.session, err = findOrMake(ctx, p.tx, id); err != nil {
		return nil, err
	}
	visits, err := load(ctx, p.tx, in.session)
	if err != nil {
		return nil, err
	}
	in.placer, in.ids = store.NewPlacer(visits.Headers), make(fingerprints, len(visits.Headers))
	for i := range visits.Headers {
		in.ids.add(ofID(visits.Headers[i].ID))
	}
	if in.earlier, err = p.earlier(ctx, in.session, visits); err != nil {
		return nil, err
	}
	p.sessions[id], p.order = in, append(p.order, in)
	return in, nil
}

func (p *importing) row(ctx context.Context, row *arrived) error {
	r := row.Record
	if r == nil {
		return p.snapshot(ctx, row)
	}
	if row.invalid != nil {
		return fmt.Errorf("record of session %q: %w", r.ID, row.invalid)
	}
	in, err := p.session(ctx, r.ID)
	if err == nil {
		in.record = r
	}
	return err
}

// snapshot checks a row and adds it to the batch, if it is new.
func (p *importing) snapshot(ctx context.Context, row *arrived) error {
	h := &row.Header
	in, err := p.session(ctx, h.SessionID)
	if err != nil {
		return err
	}
	if in != p.batching || len(p.batch) == batchRows || p.bytes >= batchBytes {
		if err := p.flush(ctx); err != nil {
			return err
		}
		if in != p.batching {
			p.batching, p.taking = in, newTaking(&p.store.states, p.tx, in.session, in.ids, p.sums)
		}
	}
	if err := p.add(ctx, in, row); err != nil {
		return rowError(h, err)
	}
	return nil
}

func (p *importing) add(ctx context.Context, in *incoming, row *arrived) error {
	h := &row.Header
	if h.ID == "" {
		return errors.New("it has no id")
	}
	if row.invalid != nil {
		return row.invalid
	}
	isNew, err := in.placer.Place(h)
	if err != nil || !isNew {
		return err
	}
	reason, err := p.reason(ctx, in, h)
	if err != nil {
		return err
	}
	p.batch, p.bytes = append(p.batch, batched{*h, content{bytes: row.State, sum: row.sum}, reason}), p.bytes+len(row.State)
	in.added++
	if h.Marks.Has(model.MarkTraced) {
		in.steps++
	}
	if h.Head {
		in.head, in.moved = sql.Null[int64]{V: h.Visit, Valid: true}, true
	}
	if h.CreatedAt.After(in.newest) {
		in.newest = h.CreatedAt
	}
	return nil
}

// flush writes the batch.
func (p *importing) flush(ctx context.Context) error {
	if len(p.batch) == 0 {
		return nil
	}
	err := p.taking.take(ctx, p.batch)
	clear(p.batch)
	p.batch, p.bytes = p.batch[:0], 0
	return err
}

func (p *importing) reason(ctx context.Context, in *incoming, h *model.Header) (sql.Null[int64], error) {
	if !h.Orphaned {
		return sql.Null[int64]{}, nil
	}
	if h.Reason == nil {
		if in.unknown.Valid {
			return in.unknown, nil
		}
		var err error
		in.unknown, err = unknownReason(ctx, p.tx, in.session, true)
		return in.unknown, err
	}
	k := reasonKey{h.Reason.Kind, p.tx.time(h.Reason.At), h.Reason.TargetID, h.Reason.TargetIndex}
	number, known := in.reasons[k]
	if !known {
		var err error
		if number, err = addReason(ctx, p.tx, in.session, *h.Reason); err != nil {
			return sql.Null[int64]{}, err
		}
		in.reasons[k] = number
	}
	return sql.Null[int64]{V: number, Valid: true}, nil
}

// finish settles the heads and records of the sessions and returns the number of
// new visits of snapshots.
func (p *importing) finish(ctx context.Context) (n int, err error) {
	if err := p.flush(ctx); err != nil {
		return 0, err
	}
	for _, in := range p.order {
		n += in.added - in.steps
		if err := p.settle(ctx, in); err != nil {
			return 0, fmt.Errorf("session %q: %w", in.id, err)
		}
	}
	return n, nil
}

func (p *importing) settle(ctx context.Context, in *incoming) error {
	takesRecord := in.record != nil && (!in.session.record.Valid || in.moved)
	if !in.fresh && in.added == 0 && !takesRecord {
		return nil
	}
	if in.fresh && !in.moved {
		visits, err := load(ctx, p.tx, in.session)
		if err != nil {
			return err
		}
		in.head = visitAt(visits, visits.LastActive())
	}
	before := in.session.record
	if takesRecord {
		state, err := p.store.states.putRecord(ctx, p.tx, in.session, before, p.store.states.content(in.record.State))
		if err != nil {
			return err
		}
		in.session.record, in.turn = sql.Null[int64]{V: state, Valid: true}, in.record.TurnIndex
	}
	if err := p.date(in); err != nil {
		return err
	}
	if err := in.write(ctx, p.tx); err != nil {
		return err
	}
	if err := p.enter(ctx, in); err != nil {
		return err
	}
	if before.Valid && before != in.session.record {
		return p.store.states.drop(ctx, p.tx, before.V)
	}
	return nil
}

// date dates the session by its newest snapshot, or by the clock.
func (p *importing) date(in *incoming) error {
	updated, err := decodeTime(in.updated)
	if err != nil {
		return err
	}
	if in.newest.IsZero() {
		in.newest = p.store.clock()
	}
	if in.newest.After(updated) {
		in.updated = p.tx.time(in.newest)
	}
	in.revision++
	return nil
}
