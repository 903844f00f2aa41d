package diff

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"sync"

	"hindcast/model/align"
	"hindcast/model/jsontape"
)

// State is one side of a comparison.
type State struct {
	data []byte
	tape *jsontape.Tape
}

// Bytes is a state as text. It is read as
// [jsontape.ParseTolerant] reads it, and must not be written to any more.
func Bytes(data []byte) State { return State{data: data} }

// FromTape is a state as a tape, which must be whole (none of
// [jsontape.Prefix]).
func FromTape(t *jsontape.Tape) State { return State{data: t.Data(), tape: t} }

// Compare finds the changes from the old state to the new one. A tape saves
// most of the work, a tape on both sides nearly all; the result is the same.
//
// The error is ctx's, or names the state that is not JSON and wraps the
// *[jsontape.SyntaxError].
func Compare(ctx context.Context, old, new State) (*Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := &Result{old: old.data, new: new.data}
	if bytes.Equal(old.data, new.data) {
		return r, nil
	}
	if (old.tape == nil || new.tape == nil) && writtenAnew(old.data, new.data) {
		same, err := sameValue(ctx, old.data, new.data)
		switch {
		case err != nil:
			return nil, err
		case same:
			return r, nil
		}
	}
	var a *jsontape.Tape
	var failed error
	var both sync.WaitGroup
	both.Go(func() { a, failed = old.parseSide("old") })
	b, err := new.parseSide("new")
	both.Wait()
	if err = cmp.Or(failed, err); err != nil {
		return nil, err
	}
	c := comparer{ctx: ctx}
	if err := c.values(value{tape: a}, value{tape: b}, place{parent: align.None, old: align.None, new: align.None}); err != nil {
		return nil, err
	}
	return c.result(r), nil
}

func (c *comparer) result(r *Result) *Result {
	r.Entries, r.Coarse, r.Duplicates = c.entries, c.Coarse, c.duplicates
	r.count()
	return r
}

func (s State) parseSide(side string) (*jsontape.Tape, error) {
	if s.tape != nil {
		return s.tape, nil
	}
	t, _, err := jsontape.ParseTolerant(s.data)
	if err != nil {
		return nil, fmt.Errorf("diff: read the %s state: %w", side, err)
	}
	t.Hash(0) // beside the other state
	return t, nil
}
