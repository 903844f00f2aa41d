package native

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/native/parts"
)

// A state is a list of extents already, so a rope costs a row: the states of ten thousand
// visits are one scan of two tables. The nodes of long lists are read level by level for
// all states at once, each node once.

// Ropes is that of store.Features. The states are of one moment.
func (s *Store) Ropes(ctx context.Context, refs []model.Ref) iter.Seq2[store.Rope, error] {
	return func(yield func(store.Rope, error) bool) {
		if len(refs) == 0 {
			return
		}
		l := &lists{states: &s.states, refs: refs}
		if err := s.withReadTx(ctx, func(t *tx) error { return l.loadRows(ctx, t) }); err != nil {
			yield(store.Rope{}, fmt.Errorf("%s: read the states of session %q: %w", s.kind, refs[0].Session, err))
			return
		}
		var runs []store.Run
		for i := range refs {
			var rope store.Rope
			extents, err := l.decodeList(i, func(parts.Extent) {})
			if rope.Err = err; err != nil {
				rope.Err = fmt.Errorf("%s: read state %q of session %q: %w", s.kind, refs[i].ID, refs[i].Session, err)
			}
			runs = runs[:0]
			for _, e := range extents {
				runs = append(runs, store.Run{At: int64(e.At), Len: e.Len})
			}
			rope.Runs = runs
			if !yield(rope, nil) {
				return
			}
		}
	}
}

// Fill is that of store.Features. A block is decoded once, several at a time.
func (s *Store) Fill(ctx context.Context, runs []store.Run, dst []byte) error {
	list := make([]parts.Extent, len(runs))
	for i, run := range runs {
		list[i] = parts.Extent{At: parts.Place(run.At), Len: run.Len}
	}
	err := s.withReadTx(ctx, func(t *tx) error {
		if err := checkPresent(ctx, t, list); err != nil {
			return err
		}
		return s.states.codec.readList(ctx, t, list, dst)
	})
	if err != nil {
		return fmt.Errorf("%s: read what states are made of: %w", s.kind, err)
	}
	return nil
}

// lists are the lists of the states of some visits of one session.
type lists struct {
	*states
	refs []model.Ref
	// rows are the states of refs. errs has the errors of the states that cannot be read.
	rows []row
	errs []error
	// nodes are the nodes of lists by where they are, and broken those that cannot be
	// read.
	nodes  map[parts.Extent][]byte
	broken map[parts.Extent]error
}

// passedVisits is how many unwanted visits are read rather than that another
// query is made.
const passedVisits = 16

// loadRows reads the rows of the states, and the nodes of their lists.
func (l *lists) loadRows(ctx context.Context, t *tx) error {
	l.rows, l.errs = make([]row, len(l.refs)), make([]error, len(l.refs))
	l.nodes, l.broken = map[parts.Extent][]byte{}, map[parts.Extent]error{}
	ss, err := findSession(ctx, t, l.refs[0].Session)
	if err != nil {
		return err
	}
	var order []int // by visit
	for i, ref := range l.refs {
		l.errs[i] = model.ErrNoSnapshot
		if ref.Visit != 0 {
			order = append(order, i)
		} else if err := l.readOne(ctx, t, ss, i); err != nil {
			return err
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(l.refs[a].Visit, l.refs[b].Visit) })
	for len(order) > 0 {
		n := 1
		for n < len(order) && l.refs[order[n]].Visit-l.refs[order[n-1]].Visit < passedVisits {
			n++
		}
		if err := l.scanStates(ctx, t, ss, order[:n]); err != nil {
			return err
		}
		order = order[n:]
	}
	for wanted := l.wantedNodes(); len(wanted) > 0; wanted = l.wantedNodes() {
		if err := l.readNodes(ctx, t, wanted); err != nil {
			return err
		}
	}
	return nil
}

// readOne reads the state of a snapshot that is named without a visit.
func (l *lists) readOne(ctx context.Context, t *tx, ss session, i int) error {
	key, err := stateKey(ctx, t, ss, l.refs[i])
	if err == nil {
		l.rows[i], err = lookUpRow(ctx, t, key)
	}
	l.errs[i] = err
	if errors.Is(err, model.ErrNoSnapshot) || errors.Is(err, ErrDamagedState) {
		return nil
	}
	return err
}

// scanStates reads the states of visits that lie near each other, in their order.
func (l *lists) scanStates(ctx context.Context, t *tx, ss session, order []int) error {
	rows, err := t.Rows(ctx, `SELECT v.visit, v.id, s.size, s.list FROM visits v LEFT JOIN states s ON s.state = v.state
		WHERE v.session = ? AND v.visit BETWEEN ? AND ? ORDER BY v.visit`, ss.key, l.refs[order[0]].Visit, l.refs[order[len(order)-1]].Visit)
	if err != nil {
		return err
	}
	defer rows.Close()
	var visit int64
	var id, list sql.RawBytes
	var size sql.Null[int64]
	for rows.Next() {
		if err := rows.Scan(&visit, &id, &size, &list); err != nil {
			return err
		}
		for ; len(order) > 0 && l.refs[order[0]].Visit <= visit; order = order[1:] {
			i := order[0]
			switch {
			case l.refs[i].Visit < visit || l.refs[i].ID != string(id):
			case !size.Valid || size.V < 0 || size.V > maxState:
				l.errs[i] = fmt.Errorf("%w: a size of %d", ErrDamagedState, size.V)
			default:
				l.rows[i], l.errs[i] = row{size: size.V, list: bytes.Clone(list)}, nil
			}
		}
	}
	return rows.Err()
}

// decodeList returns where the bytes of a state are. Nodes that are not read are told to
// missing.
func (l *lists) decodeList(i int, missing func(parts.Extent)) ([]parts.Extent, error) {
	if l.errs[i] != nil {
		return nil, l.errs[i]
	}
	r := &l.rows[i]
	list, err := parts.Decode(r.list, r.size, r.size, func(wanted []parts.Extent) ([][]byte, error) {
		texts := make([][]byte, len(wanted))
		var err error
		for k, e := range wanted {
			if l.broken[e] != nil {
				return nil, l.broken[e]
			}
			if texts[k] = l.nodes[e]; texts[k] == nil {
				missing(e)
				err = errMissing
			}
		}
		return texts, err
	})
	if errors.Is(err, parts.ErrDamaged) {
		err = fmt.Errorf("%w: %w", ErrDamagedState, err)
	}
	if slices.ContainsFunc(list, func(e parts.Extent) bool { return isDraft(e.At) }) {
		err = fmt.Errorf("%w: a snapshot has parts that may go", ErrDamagedState)
	}
	return list, err
}

// wantedNodes returns the nodes that are to be read next, each once.
func (l *lists) wantedNodes() (wanted []parts.Extent) {
	met := map[parts.Extent]bool{}
	for i := range l.rows {
		if l.errs[i] != nil || !parts.HasNodes(l.rows[i].list) {
			continue
		}
		l.decodeList(i, func(e parts.Extent) {
			if !met[e] {
				met[e] = true
				wanted = append(wanted, e)
			}
		})
	}
	return wanted
}

// readNodes reads nodes, all at once, and one by one where some are damaged.
func (l *lists) readNodes(ctx context.Context, t *tx, wanted []parts.Extent) error {
	all := make([]byte, parts.Size(wanted))
	err := l.codec.readList(ctx, t, wanted, all)
	if errors.Is(err, ErrDamagedState) && len(wanted) > 1 {
		for i := range wanted {
			if err := l.readNodes(ctx, t, wanted[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	}
	for _, e := range wanted {
		if errors.Is(err, ErrDamagedState) {
			l.broken[e] = err
			return nil
		}
		l.nodes[e], all = all[:e.Len:e.Len], all[e.Len:]
	}
	return err
}
