package native

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/inspect"
	"hindcast/store/native/parts"
)

// Codes of the faults of a whole store.
const (
	// FaultCount: the counts that a session keeps are not those of its visits.
	FaultCount = "wrong-count"
	// FaultHead: the head of a session is not one of its visits.
	FaultHead = "missing-head"
	// FaultBlock: a block of bytes cannot be decoded, or is where none can be.
	FaultBlock = "damaged-block"
	// FaultPart: what is at the place of a part is not the part.
	FaultPart = "damaged-part"
)

// Faults implements store.Store. For the store itself it has the
// database look for damage, and reads every block and the states that are in no
// snapshot; those of snapshots are read with their session.
func (s *Store) Faults(ctx context.Context, session string) (faults []model.Fault, err error) {
	if session != "" {
		faults, err := inspect.SessionFaults(ctx, s, session)
		if err != nil {
			return nil, err
		}
		unread, err := inspect.UnreadFaults(ctx, s, session, inspect.DamagedIn(faults, session), func(yield func(*inspect.Carried)) error {
			data, err := s.Get(ctx, session)
			if err == nil && data != nil { // it may be newer than its snapshot
				yield(&inspect.Carried{File: session, Place: "record", Beside: true, Data: data.State})
			}
			if errors.Is(err, ErrDamagedState) {
				return nil // that is told of the store
			}
			return err
		})
		return append(faults, unread...), err
	}
	err = s.withReadTx(ctx, func(t *tx) error {
		faults = nil
		for _, check := range []func(context.Context, *tx) ([]model.Fault, error){databaseFaults, sessionFaults, s.states.blockFaults, s.states.partFaults, s.states.recordFaults} {
			found, err := check(ctx, t)
			if err != nil {
				return err
			}
			faults = append(faults, found...)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: check %q: %w", s.kind, s.address, err)
	}
	return faults, nil
}

func databaseFaults(ctx context.Context, t *tx) ([]model.Fault, error) { return t.Faults(ctx) }

func sessionFaults(ctx context.Context, t *tx) (faults []model.Fault, err error) {
	rows, err := t.Rows(ctx, `SELECT s.id, s.visits, s.orphaned, count(CASE WHEN `+t.Counted+` THEN visit END), count(CASE WHEN `+t.Counted+` THEN reason END),
		s.head IS NULL OR count(CASE WHEN visit = s.head THEN 1 END) > 0
		FROM sessions s LEFT JOIN visits ON visits.session = s.session GROUP BY s.session ORDER BY s.id`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var visits, orphaned, counted, countedOrphaned int
		var headed bool
		if err := rows.Scan(&id, &visits, &orphaned, &counted, &countedOrphaned, &headed); err != nil {
			return nil, err
		}
		if visits != counted || orphaned != countedOrphaned {
			faults = append(faults, model.Fault{Code: FaultCount, File: id,
				Meaning: fmt.Sprintf("the session is said to have %d snapshots, %d of them off the path; it has %d and %d", visits, orphaned, counted, countedOrphaned),
				Verdict: "the list of sessions is wrong; nothing else reads the counts"})
		}
		if !headed {
			faults = append(faults, model.Fault{Code: FaultHead, Severity: model.Stops, File: id, Meaning: "the session's head is not one of its visits", Verdict: "the session cannot be loaded"})
		}
	}
	return faults, rows.Err()
}

// mostFaults bounds how many faults of one kind are told: a file may be damaged
// all over.
const mostFaults = 100

// blockFaults decodes every block.
func (s *states) blockFaults(ctx context.Context, t *tx) (faults []model.Fault, err error) {
	rows, err := t.Rows(ctx, "SELECT place, size, encoding, data FROM blocks ORDER BY place")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	scratch := make([]byte, segmentSize)
	var end parts.Place
	for rows.Next() && len(faults) < mostFaults {
		var block parts.Extent
		var encoding int64
		var data sql.RawBytes
		if err := rows.Scan(&block.At, &block.Len, &encoding, &data); err != nil {
			return nil, err
		}
		err := ErrDamagedState
		switch {
		case block.At < 0 || block.Len <= 0 || block.At.Offset()%segmentSize > segmentSize-block.Len:
			err = fmt.Errorf("%w: a block of %d bytes", err, block.Len)
		case block.At < end:
			err = fmt.Errorf("%w: it lies on the one before it", err)
		default:
			err = s.codec.decode(encoding, data, scratch[:block.Len])
		}
		end = max(end, block.End())
		if err != nil {
			faults = append(faults, model.Fault{Code: FaultBlock, Severity: model.Loses, File: fmt.Sprintf("block %d", block.At), Meaning: err.Error(),
				Verdict: "the snapshots that have a part in it cannot be read"})
		}
	}
	return faults, rows.Err()
}

// partFaults looks whether the parts that are found by their hash are there.
func (s *states) partFaults(ctx context.Context, t *tx) (faults []model.Fault, err error) {
	known, err := s.hashedParts(ctx, t)
	if err != nil {
		return nil, err
	}
	for group := range slices.Chunk(known, 256) {
		bad, err := s.damagedParts(ctx, t, group)
		if err != nil {
			return nil, err
		}
		for _, p := range bad {
			if len(faults) == mostFaults {
				return faults, nil
			}
			faults = append(faults, model.Fault{Code: FaultPart, Severity: model.Loses, File: fmt.Sprintf("part %d", p.At), Meaning: fmt.Sprintf("%d bytes are missing, or not those of their hash", p.Len),
				Verdict: "the snapshots that have the part cannot be read"})
		}
	}
	return faults, nil
}

// hashedPart is a row of parts.
type hashedPart struct {
	parts.Extent
	hash int64
}

func (s *states) hashedParts(ctx context.Context, t *tx) (all []hashedPart, err error) {
	rows, err := t.Rows(ctx, "SELECT hash, place, size FROM parts ORDER BY place")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var p hashedPart
		if err := rows.Scan(&p.hash, &p.At, &p.Len); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, rows.Err()
}

// damagedParts returns the parts whose bytes do not match their hash. It reads them together, and one at a
// time only if that fails.
func (s *states) damagedParts(ctx context.Context, t *tx, group []hashedPart) (bad []hashedPart, err error) {
	list := make([]parts.Extent, len(group))
	for i, p := range group {
		if p.At < 0 || p.Len <= 0 || p.Len > segmentSize {
			if len(group) == 1 {
				return group, nil
			}
			return s.eachDamagedPart(ctx, t, group)
		}
		list[i] = p.Extent
	}
	all := make([]byte, parts.Size(list))
	err = s.codec.readList(ctx, t, list, all)
	if errors.Is(err, ErrDamagedState) {
		if len(group) == 1 {
			return group, nil
		}
		return s.eachDamagedPart(ctx, t, group)
	}
	if err != nil {
		return nil, err
	}
	for _, p := range group {
		if partHash(all[:p.Len]) != p.hash {
			bad = append(bad, p)
		}
		all = all[p.Len:]
	}
	return bad, nil
}

func (s *states) eachDamagedPart(ctx context.Context, t *tx, group []hashedPart) (bad []hashedPart, err error) {
	for i := range group {
		one, err := s.damagedParts(ctx, t, group[i:i+1])
		if err != nil {
			return nil, err
		}
		bad = append(bad, one...)
	}
	return bad, nil
}

// recordFaults reads the states that are in no snapshot: those of records, and
// those that the journal keeps.
func (s *states) recordFaults(ctx context.Context, t *tx) (faults []model.Fault, err error) {
	for _, holder := range []struct {
		query, what string
		severity    model.Severity
		verdict     string
	}{
		{"SELECT record_state, id FROM sessions WHERE record_state IS NOT NULL", "record of session %q", model.Stops, "the session cannot be loaded"},
		{"SELECT before_state, session FROM journal WHERE before_state IS NOT NULL", "what the journal keeps of session %q", model.Loses, "the restore cannot be taken back"},
	} {
		held, err := s.unvisitedStates(ctx, t, holder.query)
		if err != nil {
			return nil, err
		}
		for _, h := range held {
			_, err := s.readState(ctx, t, h.key)
			if errors.Is(err, ErrDamagedState) {
				faults = append(faults, model.Fault{Code: store.FaultState, Severity: holder.severity, File: fmt.Sprintf(holder.what, h.session), Meaning: err.Error(), Verdict: holder.verdict})
			} else if err != nil {
				return nil, err
			}
		}
	}
	return faults, nil
}

// held is a state and the session that it is of.
type held struct {
	key     int64
	session string
}

// unvisitedStates returns the states of a query that no visit has.
func (s *states) unvisitedStates(ctx context.Context, t *tx, query string) (all []held, err error) {
	rows, err := t.Rows(ctx, query+" EXCEPT SELECT v.state, s.id FROM visits v JOIN sessions s USING (session)")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var h held
		if err := rows.Scan(&h.key, &h.session); err != nil {
			return nil, err
		}
		all = append(all, h)
	}
	return all, rows.Err()
}
