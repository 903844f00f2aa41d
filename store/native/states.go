package native

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/native/parts"
)

// How states are kept: each once, by the SHA-256 of its bytes, and as a list of
// where its parts are. The package parts cuts a state and writes the list;
// blocks.go keeps the bytes; drafts.go keeps those that may go again.
//
// Measured on 3,000 turns of conversations that grow by a message of 850 bytes,
// two turns in a hundred restored (BenchmarkSize, BenchmarkState; bytes of the
// file for each snapshot, its row in visits and the indexes, some 350 bytes,
// included; and a random state of 364 kB read and its SHA-256 checked, in which
// the hash is 0.28 ms):
//
//	as it is                              676 B   1.35 ms
//	segments of 16 KiB                    672 B   2.1 ms
//	segments of 256 KiB                   963 B   1.4 ms (the unfilled ones weigh)
//	zstd's better level                   672 B   1.4 ms
//	one stream instead of two             756 B   1.6 ms (each message an extent)
//	no parts found by their hash          657 B   1.4 ms
//
// The states are 354 kB on average, 523 times the file. Plain rows of zstd took
// 160 kB a snapshot, git 1.1 to 1.4 kB at its best, its default repack 97 kB.
// The index of hashes costs 19 bytes and is worth them as soon as two sessions
// have a document in common.
//
// A window of 400 messages, from which each turn drops the first (BenchmarkWindow,
// 10,000 turns), takes 692 B a snapshot. When the message that lost the comma before
// it was kept again, it was 1,053 B, and a save took a quarter longer: parts.Match
// finds it now. The format is the same: an extent could begin anywhere before.
//
// A capture of 1 MB (BenchmarkCapture) costs 4.9 ms, where the program's own
// marshalling and hashing cost 8.3: 0.7 to check that it is JSON, 0.8 for each
// of two hashes, 0.7 to cut it, 0.1 to find its parts in the state before; the
// rest is SQL. To know the parts by their hashes instead would be 0.7 ms for the
// hashes alone (BenchmarkMatch), and a lookup for each of a thousand parts: so
// they are compared with the bytes of the state before, which is remembered.

const (
	// maxState bounds a state, and what a damaged file can make us allocate.
	maxState = 1 << 30
	// peekSize is how much of the beginning of a state Peek gives.
	peekSize = 1 << 20
	// trustedSize is the size up to which room is made for a state before it is
	// known whether its parts are there.
	trustedSize = 8 << 20
	// largePart is the size from which a part is found by its hash, wherever in
	// the store it is.
	largePart = 512
	// recentBytes and recentStates bound the states that are kept in memory to
	// find the parts of the next ones in.
	recentBytes  = 32 << 20
	recentStates = 64
	// lastStates is how many of them a new state is compared with.
	lastStates = 4
)

var (
	// ErrTooLarge: a state is larger than a store takes.
	ErrTooLarge = fmt.Errorf("the state is larger than %d bytes", maxState)
	// ErrDamagedState: the bytes of a state cannot be put together.
	ErrDamagedState = errors.New("the stored state is damaged")
	// ErrFull: a store has more sessions, or a session more bytes, than there
	// are numbers for.
	ErrFull = errors.New("the store is full")
)

// states keeps the states of a store.
type states struct {
	codec codec

	mu sync.Mutex
	// recent are states as they were written, the last one first. They are known
	// by their hash, and so are never out of date.
	recent []recentState
}

type recentState struct {
	sum  [sha256.Size]byte
	text *parts.Text
}

// content is the bytes of a state that is to be kept, and their hash.
type content struct {
	bytes []byte
	sum   [sha256.Size]byte
	// text is a copy of them with its parts; nil where it is not made yet.
	text *parts.Text
}

// contentOf looks at the bytes of a state. Those that were written a moment ago are
// only compared, which takes a tenth of hashing them: an agent saves its record,
// and then a snapshot of the same state.
func (s *states) contentOf(state []byte) content {
	var last [lastStates]recentState
	s.mu.Lock()
	n := copy(last[:], s.recent)
	s.mu.Unlock()
	for _, r := range last[:n] {
		if bytes.Equal(r.text.Bytes, state) {
			return content{r.text.Bytes, r.sum, r.text}
		}
	}
	return content{bytes: state, sum: sha256.Sum256(state)}
}

// row is a row of states.
type row struct {
	key   int64
	sum   [sha256.Size]byte
	size  int64
	draft sql.Null[int64]
	list  []byte
}

// lookUpRow returns the row of a state.
func lookUpRow(ctx context.Context, t *tx, key int64) (row, error) {
	r := row{key: key}
	var sum sql.RawBytes
	rows, err := t.Rows(ctx, "SELECT sha256, size, draft, list FROM states WHERE state = ?", key)
	if err != nil {
		return r, err
	}
	defer rows.Close()
	if !rows.Next() {
		return r, errors.Join(rows.Err(), fmt.Errorf("%w: it is missing", ErrDamagedState))
	}
	if err := rows.Scan(&sum, &r.size, &r.draft, &r.list); err != nil {
		return r, err
	}
	if len(sum) != len(r.sum) || r.size < 0 || r.size > maxState {
		return r, fmt.Errorf("%w: a size of %d", ErrDamagedState, r.size)
	}
	copy(r.sum[:], sum)
	return r, nil
}

// readList returns where the first limit bytes of a state are. nodes, if it is not
// nil, is told where its nodes are.
func (s *states) readList(ctx context.Context, t *tx, r row, limit int64, nodes map[string]parts.Place) ([]parts.Extent, error) {
	list, err := parts.Decode(r.list, r.size, limit, func(wanted []parts.Extent) ([][]byte, error) {
		all := make([]byte, parts.Size(wanted))
		if err := s.codec.readList(ctx, t, wanted, all); err != nil {
			return nil, err
		}
		texts := make([][]byte, len(wanted))
		for i, e := range wanted {
			texts[i], all = all[:e.Len], all[e.Len:]
			if nodes != nil {
				nodes[string(texts[i])] = e.At
			}
		}
		return texts, nil
	})
	if errors.Is(err, parts.ErrDamaged) {
		err = fmt.Errorf("%w: %w", ErrDamagedState, err)
	}
	return list, err
}

// readState returns the bytes of a state, checked against its hash.
func (s *states) readState(ctx context.Context, t *tx, key int64) ([]byte, error) {
	r, err := lookUpRow(ctx, t, key)
	if err != nil {
		return nil, err
	}
	list, err := s.readList(ctx, t, r, r.size, nil)
	if err != nil {
		return nil, err
	}
	return s.joinState(ctx, t, r, list)
}

// getTwo returns the bytes of two states. What both have is read and decoded once.
func (s *states) getTwo(ctx context.Context, t *tx, a, b int64) (x, y []byte, err error) {
	first, err := lookUpRow(ctx, t, a)
	if err != nil {
		return nil, nil, err
	}
	second, err := lookUpRow(ctx, t, b)
	if err != nil {
		return nil, nil, err
	}
	list, err := s.readList(ctx, t, first, first.size, nil)
	if err != nil {
		return nil, nil, err
	}
	other, err := s.readList(ctx, t, second, second.size, nil)
	if err != nil {
		return nil, nil, err
	}
	both, err := s.inflateList(ctx, t, append(list, other...), first.size+second.size)
	if err != nil {
		return nil, nil, err
	}
	x, y = both[:first.size:first.size], both[first.size:]
	checked := make(chan error, 1)
	go func() { checked <- first.checkHash(x) }()
	return x, y, errors.Join(second.checkHash(y), <-checked)
}

// joinState puts a state together.
func (s *states) joinState(ctx context.Context, t *tx, r row, list []parts.Extent) ([]byte, error) {
	state, err := s.inflateList(ctx, t, list, r.size)
	if err != nil {
		return nil, err
	}
	return state, r.checkHash(state)
}

// inflateList returns the bytes of a list, which stands for so many.
func (s *states) inflateList(ctx context.Context, t *tx, list []parts.Extent, size int64) ([]byte, error) {
	if size > trustedSize {
		if err := checkPresent(ctx, t, list); err != nil {
			return nil, err
		}
	}
	text := make([]byte, size)
	return text, s.codec.readList(ctx, t, list, text)
}

// checkHash compares the bytes of a state with its hash.
func (r *row) checkHash(state []byte) error {
	if sha256.Sum256(state) != r.sum {
		return fmt.Errorf("%w: its bytes are not those of its SHA-256", ErrDamagedState)
	}
	return nil
}

// checkPresent reports an error if there are fewer bytes than a large list needs.
// The bytes of one place may stand in a state many times.
func checkPresent(ctx context.Context, t *tx, list []parts.Extent) error {
	for _, e := range list {
		if e.Len <= segmentSize {
			continue
		}
		var have sql.Null[int64]
		err := t.Row(ctx, "SELECT CAST(sum(size) AS bigint) FROM blocks WHERE place > ? AND place < ?", int64(e.At)-segmentSize, int64(e.End())).Scan(&have)
		if err != nil {
			return err
		}
		if have.V < e.Len {
			return errMissing
		}
	}
	return nil
}

// peekState returns the first peekSize bytes of a state, all of it if it is smaller.
func (s *states) peekState(ctx context.Context, t *tx, key int64) ([]byte, error) {
	r, err := lookUpRow(ctx, t, key)
	if err != nil {
		return nil, err
	}
	if r.size <= peekSize {
		return s.readState(ctx, t, key)
	}
	list, err := s.readList(ctx, t, r, peekSize, nil)
	if err != nil {
		return nil, err
	}
	if len(list) > 0 {
		list[len(list)-1].Len -= parts.Size(list) - peekSize
	}
	first := make([]byte, peekSize)
	return first, s.codec.readList(ctx, t, list, first)
}

// putSnapshot keeps the state of a snapshot whose parent is at that visit, and
// returns its key. Its parts stay for ever.
func (s *states) putSnapshot(ctx context.Context, t *tx, ss session, parent int64, state content) (int64, error) {
	base, err := stateAt(ctx, t, ss, parent)
	if err == nil && !base.Valid {
		base, err = stateAt(ctx, t, ss, ss.head.V)
	}
	if err != nil {
		return 0, err
	}
	return s.putState(ctx, t, owner{session: ss.key}, state, base)
}

// putRecord keeps the state of a session's record, which was another before,
// and returns its key. Its new parts are drafts: they go when the record does.
func (s *states) putRecord(ctx context.Context, t *tx, ss session, before sql.Null[int64], state content) (int64, error) {
	base, err := stateAt(ctx, t, ss, ss.head.V)
	if err != nil {
		return 0, err
	}
	return s.putState(ctx, t, owner{session: ss.key, draft: true}, state, base, before)
}

// stateAt returns the state of a visit, null if the visit does not exist.
func stateAt(ctx context.Context, t *tx, ss session, visit int64) (state sql.Null[int64], err error) {
	err = t.Row(ctx, "SELECT state FROM visits WHERE session = ? AND visit = ?", ss.key, visit).Scan(&state)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return state, err
}

// putState keeps a state, unless it is there, and returns its key.
func (s *states) putState(ctx context.Context, t *tx, o owner, state content, bases ...sql.Null[int64]) (int64, error) {
	p := newPutting(s, t, o)
	key, err := p.putState(ctx, state, bases...)
	if err == nil {
		err = p.flush(ctx)
	}
	return key, err
}

// putState keeps a state, unless it is there, and returns its key. One that is there but
// damaged is made whole. Its parts are looked for in other states, the first of
// them preferred.
func (p *putting) putState(ctx context.Context, state content, bases ...sql.Null[int64]) (int64, error) {
	if len(state.bytes) > maxState {
		return 0, ErrTooLarge
	}
	have, err := p.lookUp(ctx, state)
	if err != nil || have.serves {
		return have.key, err
	}
	if have.there {
		p.owner.draft = p.owner.draft && have.draft.Valid
	}
	if state.text == nil {
		state.text = parts.NewText(bytes.Clone(state.bytes))
	}
	if err := p.useBases(ctx, bases); err != nil {
		return 0, err
	}
	p.text, p.own = state.text, nil
	where, list, drafted, err := p.keepPieces(ctx)
	if err != nil {
		return 0, err
	}
	p.rememberState(state.sum, p.text)
	now := sql.Null[int64]{V: p.owner.session, Valid: drafted}
	if have.there {
		// It was a draft and is a snapshot's from now on, or it was damaged.
		err := p.tx.Exec(ctx, "UPDATE states SET size = ?, draft = ?, list = ? WHERE state = ?", len(state.bytes), now, list, have.key)
		if err == nil && have.draft.Valid {
			if err = p.flush(ctx); err == nil {
				err = p.sweepDrafts(ctx, p.tx, have.draft.V)
			}
		}
		return have.key, err
	}
	key, err := p.tx.Insert(ctx, "state", "INSERT INTO states (sha256, size, draft, list) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
		state.sum[:], len(state.bytes), now, list)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrRaced // the state is there now
	}
	p.keepNear(nearState{key, parts.Base{Text: p.text, List: where}, p.own})
	return key, err
}

// found describes how the store already holds a state that is to be stored.
type found struct {
	there bool
	key   int64
	draft sql.Null[int64]
	// serves says that the state can be referred to as it is.
	serves bool
}

// lookUp looks for a state, and locks it: for the owner, who is going to refer to it, or to
// write it anew.
func (p *putting) lookUp(ctx context.Context, state content) (have found, err error) {
	t := p.tx
	first := t.Use
	if p.owner.draft {
		first = t.Keep // the drafts of another session may be swept
	}
	for _, lock := range []string{first, t.Change} {
		err := t.Row(ctx, "SELECT state, draft FROM states WHERE sha256 = ?"+lock, state.sum[:]).Scan(&have.key, &have.draft)
		if errors.Is(err, sql.ErrNoRows) {
			return found{}, nil
		}
		if err != nil {
			return found{}, err
		}
		have.there = true
		if p.owner.draft || !have.draft.Valid {
			if have.serves, err = p.isIntact(ctx, have.key, state); err != nil || have.serves {
				return have, err
			}
		}
		if lock == t.Change {
			break
		}
	}
	return have, nil
}

// isIntact reports whether a state that is kept can be read. One that this Store had
// in its hands a moment ago is taken to be.
func (p *putting) isIntact(ctx context.Context, key int64, state content) (bool, error) {
	if state.text != nil || p.nearBy(key) != nil {
		return true, nil
	}
	if err := p.flush(ctx); err != nil {
		return false, err
	}
	_, err := p.readState(ctx, p.tx, key)
	if errors.Is(err, ErrDamagedState) {
		return false, nil
	}
	return err == nil, err
}

// rememberState keeps a state in memory, and forgets those that are too old.
func (s *states) rememberState(sum [sha256.Size]byte, text *parts.Text) {
	if len(text.Bytes) > recentBytes {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recent = slices.DeleteFunc(s.recent, func(r recentState) bool { return r.sum == sum })
	s.recent = slices.Insert(s.recent, 0, recentState{sum, text})
	size := 0
	for i, r := range s.recent {
		if size += len(r.text.Bytes); size > recentBytes || i == recentStates {
			clear(s.recent[i:])
			s.recent = s.recent[:i]
			return
		}
	}
}

// recallState returns a state that is in memory, nil for another.
func (s *states) recallState(sum [sha256.Size]byte) *parts.Text {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, recent := range s.recent {
		if recent.sum == sum {
			return recent.text
		}
	}
	return nil
}

// dropState removes a state that nothing refers to any more. Its parts go when the
// drafts of its session are swept. It is the last that a transaction does: of two that drop
// the same state one waits for the other, which waits for nothing then, and sees whether
// that one left it. A state that another transaction has locked is about to be referred to, and
// stays. It is not waited for, since it may wait for a state that this transaction has locked; should
// it be broken off, the state is there until a record has the same bytes, and then others.
func (s *states) dropState(ctx context.Context, t *tx, key int64) error {
	if free, err := t.LockDropped(ctx, key); err != nil || !free {
		return err
	}
	var draft sql.Null[int64]
	err := t.Row(ctx, `DELETE FROM states WHERE state = ?1
		AND NOT EXISTS (SELECT 1 FROM visits WHERE state = ?1)
		AND NOT EXISTS (SELECT 1 FROM sessions WHERE record_state = ?1)
		AND NOT EXISTS (SELECT 1 FROM journal WHERE before_state = ?1) RETURNING draft`, key).Scan(&draft)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil || !draft.Valid {
		return err
	}
	return s.sweepDrafts(ctx, t, draft.V)
}

// putting keeps states of one owner, one after the other. What it writes can be read
// from the file after a flush.
type putting struct {
	*states
	tx      *tx
	owner   owner
	writers [streamsKept]*writer

	// large are the places of large parts, by the hash of a part.
	large map[int64][]parts.Extent

	// text is the state at hand; its parts are looked for in bases.
	text  *parts.Text
	bases []parts.Base
	// nodes are the nodes of the lists of the bases, and own those of its own.
	nodes, own map[string]parts.Place
	// near are the states that were put last, the newest last: their parts need not be written yet.
	near []nearState
}

// nearState is a state with its places, and the nodes of its list.
type nearState struct {
	key   int64
	base  parts.Base
	nodes map[string]parts.Place
}

// nearBy returns a state that was put a moment ago, or nil.
func (p *putting) nearBy(key int64) *nearState {
	for i := range slices.Backward(p.near) {
		if p.near[i].key == key {
			return &p.near[i]
		}
	}
	return nil
}

// keepNear keeps a state that was put, and forgets the oldest ones.
func (p *putting) keepNear(now nearState) {
	p.near = append(p.near, now)
	size := 0
	for i := range slices.Backward(p.near) {
		if size += len(p.near[i].base.Text.Bytes); i < len(p.near)-1 && size > recentBytes || len(p.near)-i > recentStates {
			p.near = slices.Delete(p.near, 0, i+1)
			return
		}
	}
}

func newPutting(s *states, t *tx, o owner) putting {
	return putting{states: s, tx: t, owner: o}
}

// useBases loads the states in which parts may be found. It skips a damaged state.
func (p *putting) useBases(ctx context.Context, keys []sql.Null[int64]) error {
	if len(keys) == 1 {
		if near := p.nearBy(keys[0].V); near != nil {
			p.bases, p.nodes = append(p.bases[:0], near.base), near.nodes
			return nil
		}
	}
	if err := p.flush(ctx); err != nil {
		return err
	}
	p.bases, p.nodes = p.bases[:0], map[string]parts.Place{}
	for i, key := range keys {
		if !key.Valid || slices.Contains(keys[:i], key) {
			continue
		}
		base, err := p.base(ctx, key.V)
		switch {
		case errors.Is(err, ErrDamagedState):
		case err != nil:
			return err
		default:
			p.bases = append(p.bases, base)
		}
	}
	return nil
}

func (p *putting) base(ctx context.Context, key int64) (b parts.Base, err error) {
	r, err := lookUpRow(ctx, p.tx, key)
	if err != nil {
		return b, err
	}
	if b.List, err = p.readList(ctx, p.tx, r, r.size, p.nodes); err != nil {
		return b, err
	}
	if b.Text = p.recallState(r.sum); b.Text != nil {
		return b, nil
	}
	state, err := p.joinState(ctx, p.tx, r, b.List)
	if err != nil {
		return b, err
	}
	b.Text = parts.NewText(state)
	p.rememberState(r.sum, b.Text)
	return b, nil
}

// keepPieces keeps the parts that are new. It returns where all of them are, the state's list
// of that, and whether some of them are drafts.
func (p *putting) keepPieces(ctx context.Context) (where []parts.Extent, list []byte, drafted bool, err error) {
	pieces := parts.Match(p.text, p.bases, p.owner.canUse)
	hashes := p.largeOf(nil, p.text, pieces)
	if err := p.lookFor(ctx, hashes); err != nil {
		return nil, nil, false, err
	}
	for _, piece := range pieces {
		at := piece.At
		switch {
		case at != nil:
		case isLarge(piece):
			at, err = p.newLarge(ctx, piece, hashes[0])
			hashes = hashes[1:]
		default:
			at, err = p.newPart(ctx, piece)
		}
		if err != nil {
			return nil, nil, false, err
		}
		for _, e := range at {
			where = parts.Append(where, e)
		}
	}
	if list, err = p.encodeList(ctx, where); err != nil {
		return nil, nil, false, err
	}
	drafted = p.owner.draft && (parts.HasNodes(list) || slices.ContainsFunc(where, func(e parts.Extent) bool { return isDraft(e.At) }))
	return where, list, drafted, nil
}

// encodeList returns the bytes of a list, its new nodes written.
func (p *putting) encodeList(ctx context.Context, list []parts.Extent) ([]byte, error) {
	return parts.Encode(list, func(node []byte) (at parts.Place, err error) {
		at, ok := p.nodes[string(node)]
		if !ok || !p.owner.canUse(at) {
			at, err = p.writeStream(ctx, streamLists, node)
		}
		if p.own == nil {
			p.own = map[string]parts.Place{}
		}
		p.own[string(node)] = at
		return at, err
	})
}

func isLarge(piece parts.Piece) bool { return piece.To-piece.From >= largePart }

// largeOf appends what the large ones among the new parts of a text are found by.
func (p *putting) largeOf(list []int64, text *parts.Text, pieces []parts.Piece) []int64 {
	for _, piece := range pieces {
		if piece.At == nil && isLarge(piece) {
			list = append(list, partHash(text.Bytes[piece.From:piece.To]))
		}
	}
	return list
}

// mostPlaces bounds the places at which a part is looked for.
const mostPlaces = 4

// lookFor finds the places of large parts, many at a time.
func (p *putting) lookFor(ctx context.Context, hashes []int64) error {
	p.large = map[int64][]parts.Extent{}
	ask := lookups{query: "SELECT hash, place, size FROM parts WHERE hash IN "}
	for _, hash := range hashes {
		if _, asked := p.large[hash]; !asked {
			p.large[hash] = nil
			ask.values = append(ask.values, hash)
		}
	}
	return ask.eachRow(ctx, p.tx, func(scan func(...any) error) error {
		var hash int64
		var at parts.Extent
		err := scan(&hash, &at.At, &at.Len)
		if len(p.large[hash]) < mostPlaces {
			p.large[hash] = append(p.large[hash], at)
		}
		return err
	})
}

// flush writes what is left.
func (p *putting) flush(ctx context.Context) error {
	for _, w := range p.writers {
		if w == nil {
			continue
		}
		if err := w.flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

// writeStream adds bytes to one of the owner's streams.
func (p *putting) writeStream(ctx context.Context, kind parts.Stream, bytes []byte) (at parts.Place, err error) {
	if p.writers[kind] == nil {
		if p.writers[kind], err = newWriter(ctx, p.tx, p.codec, p.owner.stream(kind)); err != nil {
			return 0, err
		}
	}
	return p.writers[kind].addBytes(ctx, bytes)
}

// readPlaces reads what is in one place, which may not be written yet.
func (p *putting) readPlaces(ctx context.Context, list []parts.Extent, into []byte) error {
	for _, w := range p.writers {
		if w != nil && w.copyUnwritten(list[0], into) {
			return nil
		}
	}
	return p.codec.readList(ctx, p.tx, list, into)
}

// newPart keeps a part that no base has.
func (p *putting) newPart(ctx context.Context, piece parts.Piece) ([]parts.Extent, error) {
	kind := parts.Stream(streamAround)
	if piece.Array {
		kind = streamArrays
	}
	part := p.text.Bytes[piece.From:piece.To]
	at, err := p.writeStream(ctx, kind, part)
	return []parts.Extent{{At: at, Len: int64(len(part))}}, err
}

// newLarge keeps a large part that no base has. It may be elsewhere in the store, where
// its hash finds it.
func (p *putting) newLarge(ctx context.Context, piece parts.Piece, hash int64) ([]parts.Extent, error) {
	at, err := p.findPart(ctx, hash, p.text.Bytes[piece.From:piece.To])
	if err != nil || at != nil {
		return at, err
	}
	if at, err = p.newPart(ctx, piece); err != nil || p.owner.draft {
		return at, err
	}
	p.large[hash] = append(p.large[hash], at[0])
	err = p.tx.Exec(ctx, "INSERT INTO parts (hash, place, size) VALUES (?, ?, ?)", hash, int64(at[0].At), at[0].Len)
	return at, err
}

// partHash returns the hash by which a large part is looked up. Parts count as equal only if their bytes are
// equal.
func partHash(part []byte) int64 {
	sum := sha256.Sum256(part)
	return int64(binary.BigEndian.Uint64(sum[:]))
}

// findPart looks for a part in the whole store, nil if it is not there. What is
// damaged is not it.
func (p *putting) findPart(ctx context.Context, hash int64, part []byte) ([]parts.Extent, error) {
	var have []byte
	for _, at := range p.large[hash] {
		if at.Len != int64(len(part)) || isDraft(at.At) {
			continue // a draft is damage: it would be swept
		}
		if have == nil {
			have = make([]byte, len(part))
		}
		list := []parts.Extent{at}
		err := p.readPlaces(ctx, list, have)
		if err != nil && !errors.Is(err, ErrDamagedState) {
			return nil, err
		}
		if err == nil && bytes.Equal(have, part) {
			return list, nil
		}
	}
	return nil, nil
}

// States is that of store.Features. The error is that of State, for the first of the
// two that has one.
func (s *Store) States(ctx context.Context, a, b model.Ref) (x, y []byte, err error) {
	err = s.withReadTx(ctx, func(t *tx) error {
		first, second, err := twoKeys(ctx, t, a, b)
		if err != nil {
			return err
		}
		x, y, err = s.states.getTwo(ctx, t, first, second)
		return err
	})
	if err == nil {
		return x, y, nil
	}
	if x, err = s.State(ctx, a); err != nil {
		return nil, nil, err
	}
	y, err = s.State(ctx, b)
	return x, y, err
}

// twoKeys returns the keys of the states of two snapshots.
func twoKeys(ctx context.Context, t *tx, a, b model.Ref) (first, second int64, err error) {
	var keys [2]int64
	for i, ref := range []model.Ref{a, b} {
		ss, err := findSession(ctx, t, ref.Session)
		if err != nil {
			return 0, 0, err
		}
		if keys[i], err = stateKey(ctx, t, ss, ref); err != nil {
			return 0, 0, err
		}
	}
	return keys[0], keys[1], nil
}

// Compare is that of store.Features. It reads where the parts of the states are,
// not the parts.
func (s *Store) Compare(ctx context.Context, a, b model.Ref) (spans []store.Span, err error) {
	err = s.withReadTx(ctx, func(t *tx) error {
		spans = nil
		first, second, err := twoKeys(ctx, t, a, b)
		if err == nil && first != second {
			spans, err = s.states.compareStates(ctx, t, first, second)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: compare states %q of session %q and %q of session %q: %w", s.kind, a.ID, a.Session, b.ID, b.Session, err)
	}
	return spans, nil
}

func (s *states) compareStates(ctx context.Context, t *tx, a, b int64) ([]store.Span, error) {
	var lists [2][]parts.Extent
	for i, key := range []int64{a, b} {
		r, err := lookUpRow(ctx, t, key)
		if err != nil {
			return nil, err
		}
		if lists[i], err = s.readList(ctx, t, r, r.size, nil); err != nil {
			return nil, err
		}
	}
	return parts.Compare(lists[0], lists[1]), nil
}
