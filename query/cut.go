package query

import (
	"bytes"
	"context"
	"hash/maphash"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
)

// cutter is the source of a store that keeps each state whole. It cuts a state at the
// elements of its large arrays, and keeps each distinct element once. However a state is
// cut, the rope is the state byte for byte: a text that is no JSON is cut elsewhere, and no
// worse off.
type cutter struct {
	store store.Store
	seed  maphash.Seed
	// kept are the parts that are in the text, by their hash.
	kept map[uint64]piece
}

const (
	// leastPart is the size from which some members are a part.
	leastPart = 64
	// leastCut is the size from which the value of a member is cut, and leastElement
	// that from which an element of an array is: a message stays whole.
	leastCut, leastElement = 1 << 10, 1 << 16
	// mostNested bounds how deep values are cut.
	mostNested = 16
)

func newCutter(s store.Store) *cutter {
	return &cutter{s, maphash.MakeSeed(), map[uint64]piece{}}
}

// read implements source. The next state is read while one is cut.
func (c *cutter) read(ctx context.Context, refs []model.Ref, text []byte) ([]byte, []rope, error) {
	type whole struct {
		state []byte
		gaps  model.Gaps
		err   error
	}
	ctx, cancel := context.WithCancel(ctx)
	states := make(chan whole)
	go func() {
		defer close(states)
		for _, ref := range refs {
			var w whole
			if w.gaps, w.err = store.Gaps(ctx, c.store, ref); w.err == nil {
				w.state, w.err = c.store.State(ctx, ref)
			}
			select {
			case states <- w:
			case <-ctx.Done():
				return
			}
		}
	}()
	defer func() {
		cancel()
		for range states { // the goroutine ends before the caller goes on
		}
	}()
	ropes := make([]rope, 0, len(refs))
	for w := range states {
		if err := ctx.Err(); err != nil {
			return text, ropes, err
		}
		r := rope{gaps: w.gaps, err: w.err}
		if w.err == nil {
			if int64(len(text))+int64(len(w.state)) > maxText {
				return text, ropes, &TooLargeError{int64(len(text)) + int64(len(w.state))}
			}
			cut := cutting{cutter: c, state: w.state, text: text}
			cut.value(0, len(w.state), 0)
			cut.rest(len(w.state))
			text, r.pieces = cut.text, cut.pieces
		}
		ropes = append(ropes, r)
	}
	return text, ropes, ctx.Err()
}

// cutting is one state that is cut.
type cutting struct {
	*cutter
	state, text []byte
	// pieces are the state up to done.
	pieces []piece
	done   int
}

// value cuts what is between two places, which is one value where the text is JSON.
//
//	{"plan": {…},  "messages": [ {…}   , {…}   , {…}   ]}
//	               rest         part   between and part  the next rest
func (c *cutting) value(from, to, depth int) {
	behind := from // the last member
	first := -1    // of the members that will be a part
	for m, err := range jsontape.Members(c.state[from:to]) {
		if err != nil {
			return
		}
		begin := c.afterComma(behind)
		if behind == from {
			begin++ // the bracket
			begin = c.afterComma(begin)
			c.rest(begin)
		}
		at := from + m.Offset
		behind = at + len(m.Value)
		large := leastCut
		if m.Key == nil {
			large = leastElement
		}
		switch {
		case len(m.Value) >= large && depth < mostNested && (m.Value[0] == '{' || m.Value[0] == '['):
			if first >= 0 {
				c.part(first, begin)
				first = -1
			}
			c.value(at, behind, depth+1)
		case first < 0:
			first = begin
			fallthrough
		default:
			if behind-first >= leastPart {
				c.part(first, behind)
				first = -1
			}
		}
	}
}

// afterComma returns the place behind white space and a comma.
func (c *cutting) afterComma(i int) int {
	for i < len(c.state) {
		switch c.state[i] {
		case ' ', '\t', '\n', '\r', ',':
			i++
		default:
			return i
		}
	}
	return i
}

// rest makes what is behind done, up to a place, a part.
func (c *cutting) rest(to int) { c.part(c.done, to) }

// part makes what is between two places a part. What is between done and from is before
// it in the text, too, if it is new; so neighbours in a state are neighbours in the text.
func (c *cutting) part(from, to int) {
	if from >= to {
		return
	}
	between, part := c.state[c.done:from], c.state[from:to]
	sum := maphash.Bytes(c.seed, part)
	p, known := c.kept[sum]
	if !known || !bytes.Equal(c.text[p.off:p.end()], part) {
		p = piece{uint32(len(c.text) + len(between)), uint32(len(part))}
		c.text = append(append(c.text, between...), part...)
		c.kept[sum] = p
	}
	if bytes.HasSuffix(c.text[:p.off], between) {
		p = piece{p.off - uint32(len(between)), p.n + uint32(len(between))}
	} else {
		c.rest(from)
	}
	c.pieces = appendPiece(c.pieces, p)
	c.done = to
}
