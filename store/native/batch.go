package native

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"strings"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/native/parts"
)

// How an import writes rows in batches
//
// A visit that an agent saves takes a dozen statements: whether its session has the
// snapshot, whether the store has the state, where the previous state lies, where the
// streams end, and an insert each. An import knows most answers, because it wrote them a
// moment ago. So it collects the rows of a session in a batch, and asks once which of their
// ids and states exist. It finds the parts of a state in a state in memory, keeps the
// streams open from one state to the next, and inserts rowsAtOnce rows with a statement. A
// batch is written before the next one begins; older rows are read from the file.

const (
	// batchRows and batchBytes bound the rows of a batch, and the bytes of their states.
	batchRows  = 256
	batchBytes = 4 << 20
	// rowsAtOnce is how many rows one statement looks for.
	rowsAtOnce = 64
)

// batched is a row of a batch, which is new to its session.
type batched struct {
	model.Header
	state  content // without bytes: the session has a visit with the id
	reason sql.Null[int64]
}

// late is a visit of one of the last batches.
type late struct {
	id    string
	state int64
}

// recently are the last things that were put in: those of the batch at hand, and those of
// the batch before.
type recently[K comparable, V any] struct{ now, before map[K]V }

func (r *recently[K, V]) get(k K) (V, bool) {
	v, ok := r.now[k]
	if !ok {
		v, ok = r.before[k]
	}
	return v, ok
}

func (r *recently[K, V]) put(k K, v V) {
	if r.now == nil {
		r.now = map[K]V{}
	}
	r.now[k] = v
}

// next begins another batch.
func (r *recently[K, V]) next() { r.now, r.before = nil, r.now }

// fingerprints tell of some keys that they are certainly not in a table, which need not be
// asked for them then. Nil ones know nothing.
type fingerprints map[uint32]struct{}

// add takes a key in, and reports whether the table may have had it.
func (f fingerprints) add(key uint32) (had bool) {
	if f == nil {
		return true
	}
	before := len(f)
	f[key] = struct{}{}
	return len(f) == before
}

// ofID returns the key of an id, and ofState that of the hash of a state.
func ofID(id string) uint32                { return ofState(sha256.Sum256([]byte(id))) }
func ofState(sum [sha256.Size]byte) uint32 { return binary.NativeEndian.Uint32(sum[:]) }

// taking is a batch on its way into a session.
type taking struct {
	putting
	session session
	// texts are states that were put in, by their keys, and visits the visits.
	texts  recently[int64, kept]
	visits recently[int64, late]
	// last is the state that was put in last.
	last int64
	// ids are the ids of the session, and sums the hashes of the store's states.
	ids, sums fingerprints
}

// kept is a state in which the parts of others are found.
type kept struct {
	parts.Base
	nodes map[string]parts.Place
}

func newTaking(s *states, t *tx, ss session, ids, sums fingerprints) *taking {
	return &taking{putting: newPutting(s, t, owner{session: ss.key}), session: ss, ids: ids, sums: sums}
}

// take writes a batch. It cannot be cancelled: for each statement that can be the driver
// starts a goroutine, which takes longer than to insert a row.
func (k *taking) take(ctx context.Context, rows []batched) error {
	ctx = context.WithoutCancel(ctx)
	k.texts.next()
	k.visits.next()
	known, err := k.knownIDs(ctx, rows)
	if err != nil {
		return err
	}
	have, err := k.knownStates(ctx, rows, known)
	if err != nil {
		return err
	}
	next, err := k.tx.NextState(ctx)
	if err != nil {
		return err
	}
	if err := k.lookAhead(ctx, rows, known, have); err != nil {
		return err
	}
	visits, orphaned := 0, 0
	for i := range rows {
		r := &rows[i]
		state, met := known[r.ID]
		switch {
		case met:
		case r.state.bytes == nil:
			return rowError(&r.Header, store.ErrNoState)
		default:
			state.size = int64(len(r.state.bytes))
			if state.key, err = k.state(ctx, &r.state, r.ParentVisit, have, &next); err != nil {
				return rowError(&r.Header, err)
			}
			known[r.ID] = state
		}
		r.Size = state.size
		if err := k.visit(ctx, r, state.key); err != nil {
			return rowError(&r.Header, err)
		}
		if !r.Marks.Has(model.MarkTraced) {
			visits++
			if r.Orphaned {
				orphaned++
			}
		}
	}
	if err := k.flush(ctx); err != nil {
		return err
	}
	err = k.tx.Exec(ctx, "UPDATE sessions SET visits = visits + ?, orphaned = orphaned + ? WHERE session = ?", visits, orphaned, k.session.key)
	return err
}

func rowError(h *model.Header, err error) error {
	return fmt.Errorf("snapshot %q of session %q: %w", h.ID, h.SessionID, err)
}

func has[K comparable, V any](m map[K]V, k K) bool {
	_, ok := m[k]
	return ok
}

// sized is a state of the store.
type sized struct{ key, size int64 }

// knownIDs returns which of the ids of some rows the session has.
func (k *taking) knownIDs(ctx context.Context, rows []batched) (map[string]sized, error) {
	known := map[string]sized{}
	ask := lookups{query: "SELECT id, state, size FROM " + k.tx.ByID + " WHERE session = ? AND id IN ", before: []any{k.session.key}}
	for i := range rows {
		if k.ids.add(ofID(rows[i].ID)) {
			ask.values = append(ask.values, rows[i].ID)
		}
	}
	return known, ask.eachRow(ctx, k.tx, func(scan func(...any) error) error {
		var id string
		var state sized
		err := scan(&id, &state.key, &state.size)
		if !has(known, id) {
			known[id] = state
		}
		return err
	})
}

// knownStates returns which states of rows the store has, by their hashes. Those of ids
// that the session has are not looked at.
func (k *taking) knownStates(ctx context.Context, rows []batched, known map[string]sized) (map[[sha256.Size]byte]int64, error) {
	have := map[[sha256.Size]byte]int64{}
	ask := lookups{query: "SELECT sha256, state FROM states WHERE sha256 IN "}
	for i := range rows {
		if c := &rows[i].state; c.bytes != nil && !has(known, rows[i].ID) && k.sums.add(ofState(c.sum)) {
			ask.values = append(ask.values, c.sum[:])
		}
	}
	return have, ask.eachRow(ctx, k.tx, func(scan func(...any) error) error {
		var sum sql.RawBytes
		var key int64
		err := scan(&sum, &key)
		have[[sha256.Size]byte(sum)] = key
		return err
	})
}

// lookAhead looks for the large parts of all states of a batch at once: those that are
// not in the state before.
func (k *taking) lookAhead(ctx context.Context, rows []batched, known map[string]sized, have map[[sha256.Size]byte]int64) error {
	k.large = nil
	var hashes []int64
	texts := make(map[int64]*parts.Text, len(rows)) // by visit
	for i := range rows {
		c := &rows[i].state
		if c.bytes == nil || has(known, rows[i].ID) || has(have, c.sum) || len(c.bytes) > maxState {
			continue
		}
		if c.text == nil {
			c.text = parts.NewText(c.bytes)
		}
		texts[rows[i].Visit] = c.text
		before := texts[rows[i].ParentVisit]
		if v, ok := k.visits.get(rows[i].ParentVisit); ok && before == nil {
			have, _ := k.texts.get(v.state)
			before = have.Text
		}
		var bases []parts.Base
		if before != nil { // wherever it is
			bases = append(bases, parts.Base{Text: before, List: []parts.Extent{{Len: int64(len(before.Bytes))}}})
		}
		hashes = k.largeOf(hashes, c.text, parts.Match(c.text, bases, func(parts.Place) bool { return true }))
	}
	return k.lookFor(ctx, hashes)
}

// state stores a state, unless the store has it, and returns its key. have maps the stored states to their
// keys, and next is the next free key.
func (k *taking) state(ctx context.Context, c *content, parent int64, have map[[sha256.Size]byte]int64, next *int64) (key int64, err error) {
	if len(c.bytes) > maxState {
		return 0, ErrTooLarge
	}
	key, known := have[c.sum]
	if _, now := k.texts.now[key]; known && now {
		return key, nil
	}
	base, err := k.before(ctx, parent)
	if err != nil {
		return 0, err
	}
	if known {
		return k.putExisting(ctx, c, base, next)
	}
	if err := k.follow(ctx, base); err != nil {
		return 0, err
	}
	k.text, k.own = c.text, nil
	where, list, _, err := k.keepPieces(ctx)
	if err != nil {
		return 0, err
	}
	key = *next
	*next++
	have[c.sum], k.last = key, key
	k.texts.put(key, kept{parts.Base{Text: c.text, List: where}, k.own})
	err = k.tx.Exec(ctx, "INSERT INTO states (state, sha256, size, list) VALUES (?, ?, ?, ?)", key, c.sum[:], len(c.bytes), list)
	return key, err
}

// putExisting puts a state in that the store has. It may be a draft, or damaged; what that
// takes is written at once, and the streams end elsewhere then.
func (k *taking) putExisting(ctx context.Context, c *content, base int64, next *int64) (int64, error) {
	if err := k.flush(ctx); err != nil {
		return 0, err
	}
	key, err := k.put(ctx, k.tx, k.owner, *c, sql.Null[int64]{V: base, Valid: base != 0})
	if err != nil {
		return 0, err
	}
	k.writers = [streamsKept]*writer{}
	*next, err = k.tx.NextState(ctx)
	return key, err
}

// before returns the state of a known parent visit, or 0.
func (k *taking) before(ctx context.Context, parent int64) (int64, error) {
	if v, ok := k.visits.get(parent); ok {
		return v.state, nil
	}
	if parent == 0 {
		return k.last, nil
	}
	state, err := stateAt(ctx, k.tx, k.session, parent)
	if err != nil || state.Valid {
		return state.V, err
	}
	return k.last, nil
}

// follow has the parts of the next state looked for in another one.
func (k *taking) follow(ctx context.Context, base int64) error {
	k.bases, k.nodes = k.bases[:0], nil
	if base == 0 {
		return nil
	}
	have, ok := k.texts.get(base)
	if ok {
		k.texts.put(base, have)
		k.bases, k.nodes = append(k.bases, have.Base), have.nodes
		return nil
	}
	k.nodes = map[string]parts.Place{}
	if err := k.useBases(ctx, []sql.Null[int64]{{V: base, Valid: true}}); err != nil {
		return err
	}
	if len(k.bases) > 0 {
		k.texts.put(base, kept{k.bases[0], k.nodes})
	}
	return nil
}

// visit puts a visit in, of a state.
func (k *taking) visit(ctx context.Context, r *batched, state int64) (err error) {
	var parentID any
	if parent, ok := k.visits.get(r.ParentVisit); !ok {
		parentID, err = parentIDOf(ctx, k.tx, k.session, &r.Header)
	} else if parent.id != r.ParentID {
		parentID = r.ParentID
	}
	if err != nil {
		return err
	}
	k.visits.put(r.Visit, late{r.ID, state})
	return insertVisit(ctx, k.tx, k.session, &r.Header, parentID, state, r.reason)
}

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
