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
	// Runs are the state's bytes from the first to the last; no run is empty. Runs is nil if the store does
	// not know them: the state is then read by State.
	Runs []Run
	// Gaps are the keys that the store does not know at the snapshot.
	Gaps model.Gaps
	// Err is the error of this state alone, or nil. It is an error of State.
	Err error
}

// Sieved are the states of a session as ropes, with the messages alone that matter to a search.
type Sieved struct {
	// Ropes and Fill are the functions of [Features].
	Ropes func(ctx context.Context, refs []model.Ref) iter.Seq2[Rope, error]
	Fill  func(ctx context.Context, runs []Run, dst []byte) error
}
