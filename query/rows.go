package query

import (
	"context"
	"iter"

	"hindcast/model"
	"hindcast/store"
)

// Rows returns the rows of [store.Rows]. Where the store knows which bytes its states share, a row costs only
// its new bytes.
func Rows(ctx context.Context, s store.Store, sessions ...string) iter.Seq2[store.Row, error] {
	return store.RowsBy(ctx, s, func(headers []model.Header) store.StateReader { return States(s, headers) }, sessions...)
}

// States returns a reader of the states of headers of one session. Where the store knows
// which bytes its states share, the reader reads of each state those that the ones before it lack.
func States(s store.Store, headers []model.Header) store.StateReader {
	r := &stateReader{store: s, features: s.Features(), headers: headers, most: statesAtOnce / 16}
	return r.read
}

// stateReader reads the states of a session one behind the other. Where the store knows which bytes they share, many
// are read at once.
type stateReader struct {
	store    store.Store
	features store.Features
	headers  []model.Header
	source   source
	text     pages
	// from is the first header of the batch that was read, and ropes are its states; most is how many the next
	// batch has.
	from  int
	ropes []rope
	most  int
}

const (
	// statesAtOnce bounds the states of a batch. Where one adds more than mostFresh bytes, the next is smaller.
	statesAtOnce = 1 << 10
	mostFresh    = 16 << 20
	// mostShared is how much text is held that states may share.
	mostShared = 64 << 20
)

// read returns the state of header i. Calls come in the order of the headers, some may be left
// out. It returns the errors of State.
func (r *stateReader) read(ctx context.Context, i int) ([]byte, error) {
	if r.features.Ropes != nil || r.features.Weave != nil {
		if i >= r.from+len(r.ropes) {
			r.load(ctx, i)
		}
		if at := i - r.from; at < len(r.ropes) && r.ropes[at].err == nil {
			return join(r.text, r.ropes[at].pieces), nil
		}
	}
	return r.store.State(ctx, r.headers[i].Ref())
}

// load reads a batch that begins at header i.
func (r *stateReader) load(ctx context.Context, i int) {
	if r.source == nil || r.text.held > mostShared {
		r.source, r.text = newSource(r.store, r.features), pages{}
	}
	n := min(r.most, len(r.headers)-i)
	refs := make([]model.Ref, n)
	for k := range refs {
		refs[k] = r.headers[i+k].Ref()
	}
	before, err := r.text.held, error(nil)
	r.from = i
	if r.text, r.ropes, err = r.source.read(ctx, refs, r.text); len(r.ropes) == 0 || err != nil && r.text.held > mostShared {
		r.ropes, r.source = []rope{{err: err}}, nil
	}
	if r.most = min(16*r.most, statesAtOnce); r.text.held-before > mostFresh {
		r.most = max(1, n/2)
	}
}
