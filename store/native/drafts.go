package native

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"hindcast/store/native/parts"
)

// How what is not held goes away
//
// A snapshot is for ever, and so are its parts: nothing in the store deletes
// one. What comes and goes is a session's record, which a program saves as often
// as it changes. Its parts are looked for among those of snapshots first; those
// that are its own are drafts, in streams of their own, to which only records
// may refer (and the journal, which keeps what a restore replaced). When a
// snapshot gets the state of a record, it gets parts of its own.
//
// So there is little to sweep, and it is known where: when a record goes, or
// its state becomes a snapshot's, and the drafts of its session have grown to
// sweepSize and to three times what is still in use, what is in use is written
// anew from the start of the streams, and everything else is deleted. That costs
// what was written since, once more.
const sweepSize = 1 << 20

// sweepDrafts frees the drafts of a session that no state refers to, if it is time. If
// a state among them is damaged, everything stays.
func (s *states) sweepDrafts(ctx context.Context, t *tx, session int64) error {
	o := owner{session: session, draft: true}
	var size int64
	for kind := range parts.Stream(streamsKept) {
		end, err := streamEnd(ctx, t, o.stream(kind))
		if err != nil {
			return err
		}
		size += end
	}
	if size < sweepSize {
		return nil
	}
	if mine, err := lockDrafts(ctx, t, session); err != nil || !mine {
		return err
	}
	d := drafts{states: s, tx: t, owner: o}
	err := d.collectUsed(ctx)
	if err == nil && size >= 3*parts.Size(d.inUse) {
		err = d.readUsed(ctx)
	}
	if errors.Is(err, ErrDamagedState) || errors.Is(err, errInUse) {
		return nil
	}
	if err != nil || d.bytes == nil {
		return err
	}
	return d.rewriteUsed(ctx)
}

// lockDrafts reports whether the drafts of a session are this transaction's to sweep:
// a session leaves those of another one to the transaction that writes to it.
func lockDrafts(ctx context.Context, t *tx, session int64) (mine bool, err error) {
	if t.Free == "" {
		return true, nil
	}
	var key int64
	err = t.Row(ctx, "SELECT session FROM sessions WHERE session = ?"+t.Free, session).Scan(&key)
	if !errors.Is(err, sql.ErrNoRows) {
		return err == nil, err
	}
	// It is being written to, or gone.
	err = t.Row(ctx, "SELECT NOT EXISTS (SELECT 1 FROM sessions WHERE session = ?)", session).Scan(&mine)
	return mine, err
}

// drafts are the drafts of one session.
type drafts struct {
	*states
	tx    *tx
	owner owner
	rows  []row
	lists [][]parts.Extent
	// inUse are the places that the lists refer to, in order and apart; bytes
	// what is there.
	inUse []parts.Extent
	bytes []byte
	// moved are where they go.
	moved []parts.Place
}

// errInUse: another transaction is about to refer to a state whose parts would move. It is not
// waited for, see dropState.
var errInUse = errors.New("a state is in use")

// collectUsed finds out what is in use. The error is errInUse, or ErrDamagedState.
func (d *drafts) collectUsed(ctx context.Context) error {
	const query = "SELECT state FROM states WHERE draft = ? ORDER BY state"
	keys, err := queryNumbers(ctx, d.tx, query+d.tx.Free, d.owner.session)
	if err == nil && d.tx.Free != "" {
		var all []int64
		if all, err = queryNumbers(ctx, d.tx, query, d.owner.session); len(all) != len(keys) {
			err = cmp.Or(err, errInUse)
		}
	}
	if err != nil {
		return err
	}
	var all []parts.Extent
	for _, key := range keys {
		r, err := lookUpRow(ctx, d.tx, key)
		if err != nil {
			return err
		}
		list, err := d.readList(ctx, d.tx, r, r.size, nil)
		if err != nil {
			return err
		}
		d.rows, d.lists = append(d.rows, r), append(d.lists, list)
		for _, e := range list {
			switch kind := e.At.Stream() - d.owner.stream(0); {
			case !isDraft(e.At):
			case kind < 0 || kind >= streamsKept:
				return fmt.Errorf("%w: it is among the drafts of another session", ErrDamagedState)
			default:
				all = append(all, e)
			}
		}
	}
	slices.SortFunc(all, func(a, b parts.Extent) int { return cmp.Compare(a.At, b.At) })
	for _, e := range all {
		if n := len(d.inUse); n > 0 && e.At <= d.inUse[n-1].End() && e.At.Stream() == d.inUse[n-1].At.Stream() {
			d.inUse[n-1].Len = max(d.inUse[n-1].Len, int64(e.End()-d.inUse[n-1].At))
		} else {
			d.inUse = append(d.inUse, e)
		}
	}
	return nil
}

// readUsed reads what is in use.
func (d *drafts) readUsed(ctx context.Context) error {
	if err := checkPresent(ctx, d.tx, d.inUse); err != nil {
		return err
	}
	bytes := make([]byte, parts.Size(d.inUse))
	if err := d.codec.readList(ctx, d.tx, d.inUse, bytes); err != nil {
		return err
	}
	d.bytes = bytes
	return nil
}

// rewriteUsed deletes everything and writes what is in use again.
func (d *drafts) rewriteUsed(ctx context.Context) error {
	first, last := d.owner.stream(0), d.owner.stream(streamsKept-1)
	if err := d.tx.Exec(ctx, "DELETE FROM blocks WHERE place BETWEEN ? AND ?", int64(first.At(0)), int64(last.At(parts.MaxOffset-1))); err != nil {
		return err
	}
	p := newPutting(d.states, d.tx, d.owner)
	for _, e := range d.inUse {
		kind := e.At.Stream() - d.owner.stream(0)
		at, err := p.writeStream(ctx, kind, d.bytes[:e.Len])
		if err != nil {
			return err
		}
		d.moved, d.bytes = append(d.moved, at), d.bytes[e.Len:]
	}
	for i, r := range d.rows {
		list, err := p.encodeList(ctx, d.followMove(d.lists[i]))
		if err != nil {
			return err
		}
		if err := d.tx.Exec(ctx, "UPDATE states SET list = ? WHERE state = ?", list, r.key); err != nil {
			return err
		}
	}
	return p.flush(ctx)
}

// followMove returns a list as it is after the move.
func (d *drafts) followMove(list []parts.Extent) (now []parts.Extent) {
	for _, e := range list {
		if isDraft(e.At) {
			i, ok := slices.BinarySearchFunc(d.inUse, e.At, func(have parts.Extent, at parts.Place) int { return cmp.Compare(have.At, at) })
			if !ok {
				i-- // the one that begins before it
			}
			e.At += d.moved[i] - d.inUse[i].At
		}
		now = parts.Append(now, e)
	}
	return now
}
