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
//
// A part is hashed where it is new, or follows another one than it did. Else it is known
// without: the part before it was in the state before, too, and what followed it there
// follows here. So of a window that moved the first element is hashed, and those behind it
// are compared.
//
//	the state before   head  m0  m1 m2 m3 … m398 m399          tail
//	this one           head      m1 m2 m3 … m398 m399  m400    tail
//	                   hash      hash  compare         hash    hash
type cutter struct {
	store store.Store
	seed  maphash.Seed
	// parts are the parts in the text, and kept are their numbers by their hash.
	parts []cutPart
	kept  map[uint64]int32
	// last are the parts of the state before, which was the turn-th.
	last, spare []taken
	turn        int32
	// hashed is how many bytes were hashed.
	hashed int64
}

// cutPart is a part that the text holds once, and its place in a state.
type cutPart struct {
	piece
	// turn is the last state that has it, and at its number among the parts of that.
	turn, at int32
}

// taken is a part of a state, with the text between it and the part before.
type taken struct {
	piece
	// part is its number, and in is the number of the container whose members it is; 0 for no part.
	part, in int32
}

const (
	// leastPart is the least size of members that are made a part.
	leastPart = 64
	// leastCut is the size from which the value of a member is cut, and leastElement
	// that from which an element of an array is: a message stays whole.
	leastCut, leastElement = 1 << 10, 1 << 16
	// mostNested bounds how deep values are cut.
	mostNested = 16
)

func newCutter(s store.Store) *cutter {
	return &cutter{store: s, seed: maphash.MakeSeed(), kept: map[uint64]int32{}}
}

// goes implements source: a state costs as much whether others are read with it or not.
func (c *cutter) goes() (first, most int) { return 1, mostAtOnce }

// read implements source. The next state is read while one is cut.
func (c *cutter) read(ctx context.Context, refs []model.Ref, text pages) (pages, []rope, error) {
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
			if err := text.fit(int64(len(w.state))); err != nil {
				return text, ropes, err
			}
			text, r.pieces = c.cut(w.state, text)
		}
		ropes = append(ropes, r)
	}
	return text, ropes, ctx.Err()
}

// cut returns the text with the new parts of a state appended, and the pieces of the state.
func (c *cutter) cut(state []byte, text pages) (pages, []piece) {
	c.turn++
	cut := cutting{cutter: c, state: state, text: text, list: c.spare[:0]}
	if at := cut.afterComma(0); at < len(state) && (state[at] == '{' || state[at] == '[') {
		cut.value(at, 0)
	}
	cut.rest(len(state))
	c.last, c.spare = cut.list, c.last
	return cut.text, cut.pieces
}

// cutting is one state that is cut.
type cutting struct {
	*cutter
	state []byte
	text  pages
	// pieces are the state up to done, and list are its parts.
	pieces []piece
	list   []taken
	done   int
	// containers is how many were cut.
	containers int32
}

// value cuts the container at a place, and returns where it ends. It reports false where the
// text is no JSON; then the rest is not cut. A member is looked at once, unless it turns out
// to be too large to stay whole.
//
//	{"plan": {…},  "messages": [ {…}   , {…}   , {…}   ]}
//	               rest         part   between and part  the next rest
func (c *cutting) value(at, depth int) (end int, ok bool) {
	c.containers++
	in, large := c.containers, leastCut
	object := c.state[at] == '{'
	if !object {
		large = leastElement
	}
	i := c.afterComma(at + 1)
	if i < len(c.state) && c.state[i] != '}' && c.state[i] != ']' {
		c.rest(i)
	}
	first := -1 // of the members that will be a part
	for ; i < len(c.state); i = c.afterComma(i) {
		if b := c.state[i]; b == '}' || b == ']' {
			return i + 1, true
		}
		begin := i
		if object {
			if i = c.behindKey(i); i < 0 {
				return 0, false
			}
		}
		if i, ok = c.whole(i, large, depth); !ok {
			if first >= 0 {
				c.part(first, begin, in)
				first = -1
			}
			if i, ok = c.value(i, depth+1); !ok {
				return 0, false
			}
			continue
		}
		if first < 0 {
			first = begin
		}
		if i-first >= leastPart {
			i = c.again(c.part(first, i, in), in)
			first = -1
		}
	}
	return 0, false
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

// behindKey returns the offset of the value of the member whose key is at an offset; -1 if there is no key.
func (c *cutting) behindKey(i int) int {
	if c.state[i] != '"' {
		return -1
	}
	if i = jsontape.StringEnd(c.state, i); i < 0 {
		return -1
	}
	if i = c.afterComma(i); i == len(c.state) || c.state[i] != ':' {
		return -1
	}
	return c.afterComma(i + 1)
}

// whole returns where the value at a place ends. It reports false, and the place, for a
// container that is cut.
func (c *cutting) whole(i, large, depth int) (end int, ok bool) {
	within := c.state
	cut := depth < mostNested && i < len(c.state) && (c.state[i] == '{' || c.state[i] == '[')
	if cut && len(within)-i >= large {
		within = within[:i+large-1]
	}
	end, err := jsontape.Skip(within, i)
	switch {
	case err == nil:
		return end, true
	case cut && len(within) < len(c.state):
		return i, false
	}
	return len(c.state), true // no JSON: nothing behind it is cut
}

// rest makes what is behind done, up to a place, a part.
func (c *cutting) rest(to int) { c.part(c.done, to, 0) }

// part makes what is between two places a part, of members of a container. What is between
// done and from is before it in the text, too, if it is new; so neighbours in a state are
// neighbours in the text. It returns the number of the same part in the state before, or -1.
func (c *cutting) part(from, to int, in int32) (was int) {
	if from >= to {
		return -1
	}
	between, text := c.state[c.done:from], c.state[from:to]
	sum := maphash.Bytes(c.seed, text)
	c.hashed += int64(len(text))
	number, known := c.kept[sum]
	if !known || !bytes.Equal(c.text.of(c.parts[number].piece), text) {
		number = int32(len(c.parts))
		p := c.text.add(between, text)
		c.parts = append(c.parts, cutPart{piece: piece{p.off + uint32(len(between)), uint32(len(text))}})
		c.kept[sum] = number
	}
	p := c.parts[number].piece
	if bytes.HasSuffix(c.text.before(p.off), between) {
		p = piece{p.off - uint32(len(between)), p.n + uint32(len(between))}
	} else {
		c.rest(from)
	}
	was = -1
	if one := c.parts[number]; one.turn > 0 && one.turn == c.turn-1 {
		was = int(one.at)
	}
	c.take(taken{p, number, in})
	return was
}

// take adds a part to the state.
func (c *cutting) take(one taken) {
	c.parts[one.part].turn, c.parts[one.part].at = c.turn, int32(len(c.list))
	c.list = append(c.list, one)
	c.pieces = appendPiece(c.pieces, one.piece)
	c.done += int(one.n)
}

// again takes what followed a part in the state before as far as it follows here, too: members
// of one container. It returns where they end.
func (c *cutting) again(was int, in int32) (end int) {
	if was < 0 || c.last[was].in == 0 {
		return c.done
	}
	for _, next := range c.last[was+1:] {
		rest := c.state[c.done:]
		text := c.text.of(next.piece)
		if next.in != c.last[was].in || !bytes.HasPrefix(rest, text) || len(rest) == len(text) || !endsScalar(rest[len(text)]) {
			break
		}
		c.take(taken{next.piece, next.part, in})
	}
	return c.done
}
