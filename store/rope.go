package store

import (
	"context"
	"iter"

	"hindcast/model"
)

// Run is bytes that a store keeps once: those at At, as many as Len, in a numbering of the
// store's own. While the store is open the same place always holds the same bytes.
type Run struct{ At, Len int64 }

// Rope is one state as the runs that it is made of.
type Rope struct {
	// Runs are the state's bytes from the first to the last. None of them is empty. There
	// are none where the store does not know: the state is then read as any other.
	Runs []Run
	// Gaps are the keys that the store does not know at the snapshot.
	Gaps model.Gaps
	// Err says why this state alone cannot be read; nil where it can. The errors are
	// those of State.
	Err error
}

// Roper returns states as ropes.
type Roper interface {
	// Ropes returns the states of snapshots of one session, in the order of refs. What it
	// yields is lent until the next. An error ends the sequence.
	Ropes(ctx context.Context, refs []model.Ref) iter.Seq2[Rope, error]
	// Fill reads runs, one after the other, into dst, which is as long as they are
	// together.
	Fill(ctx context.Context, runs []Run, dst []byte) error
}
