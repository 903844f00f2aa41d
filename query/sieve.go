package query

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Where a search need not list all
//
// A text has a pattern's needle in it only where the bytes of the session have it, or where an
// escape stands for one of its characters. So the bytes are searched as they stand, and what is
// around the places that are found is listed, and searched as it reads:
//
//	needle  "step 1"
//	text    …{"role":"user","text":"step 12"},{"note":"\u0073tep 1"},…
//	                                ^place             ^escape
//	listed                         "step 12"          "step 1"

// sieved returns the session with the texts alone that the pattern may match, and the bytes around them. It
// returns v where the store cannot tell, or the session was searched before.
func (v *view) sieved(ctx context.Context, p *Pattern) (*view, error) {
	if v.features.Sieve == nil || p.spelled == nil || len(v.visits) == 0 || v.all.listed() {
		return v, nil
	}
	weave, err := v.features.Sieve(ctx, v.visits[0].ref.Session, p.tellingText(), p.isSpelled)
	if weave == nil || err != nil {
		return v, err
	}
	v.mu.RLock()
	defer v.mu.RUnlock()
	q := &Session{store: v.store, features: v.features, reading: make(chan struct{}, 1), source: newLoomed(v.store, weave)}
	q.visits, q.states = v.visits, &states{slots: v.states.slots, ropes: make([]rope, len(v.states.ropes))}
	q.places.forget()
	return &view{q, q.visits, q.states}, nil
}

// listing is all tokens of some visits, listed when they are first needed.
type listing struct {
	mu   sync.Mutex
	list *listed
	// from is a list of the births before some in each phase.
	from *listed
	done [2]int
	// sorted are the births by their places.
	sorted [2]*sortedBirths
}

// sortedBirths are births in the order in which they lie in the text, and how far those reach up
// to each.
type sortedBirths struct {
	order []int32
	ends  []uint32
}

// before returns lists that go on from what is listed here.
func (l *listing) before() *listing {
	l.mu.Lock()
	defer l.mu.Unlock()
	return &listing{from: l.from, done: l.done}
}

// mostPlaced is how many places a search looks around; where more are found all tokens are listed,
// and stay.
const mostPlaced = 1 << 12

// worth returns the tokens that are worth to be searched for a pattern.
func (t *tokens) worth(ctx context.Context, text pages, p *Pattern) (*listed, error) {
	t.mu.Lock()
	list := t.list
	t.mu.Unlock()
	if list != nil {
		return list, nil
	}
	if p.sieves() {
		if places, err := t.places(ctx, text, p); err != nil || len(places) <= mostPlaced {
			return t.around(text, places), err
		}
	}
	return t.all(text), ctx.Err()
}

// sieves reports whether each text that a pattern matches has the needle in it as it stands in the
// session's text, but for escapes of its characters.
func (p *Pattern) sieves() bool {
	return len(p.needle) > 0 && utf8.Valid(p.needle) && !bytes.ContainsRune(p.needle, utf8.RuneError) &&
		bytes.IndexFunc(p.needle, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' }) < 0
}

// escape adds the escapes of text that is new: not those of the quote, the backslash and the
// control characters, which no needle has that sieves.
func (t *tokens) escape(text pages) {
	for off, part := range text.from(max(1, t.read) - 1) {
		for at := 0; ; {
			i := bytes.IndexByte(part[at:], '\\')
			if i < 0 {
				break
			}
			at += i + 1
			if at < len(part) && strings.IndexByte(`"\bfnrt`, part[at]) < 0 {
				t.escapes = append(t.escapes, off+uint32(at-1))
			}
		}
	}
}

// places returns places in all texts that the pattern matches, or so many that it is not worth it.
func (t *tokens) places(ctx context.Context, text pages, p *Pattern) (places []uint32, err error) {
	ascii, slash := isASCII(p.needle), bytes.IndexByte(p.needle, '/') >= 0
	for _, at := range t.escapes {
		if !ascii || mayBeASCII(text.cut(at+1, min(at+6, text.end(at))), slash) {
			places = append(places, at)
		}
		if len(places) > mostPlaced {
			return places, nil
		}
	}
	for off, part := range text.from(0) {
		for at := 0; at < len(part) && len(places) <= mostPlaced; {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			end := min(len(part), at+mostSearched+len(p.needle)-1)
			next := p.nextNeedle(part[:end], at)
			switch {
			case next >= 0:
				places, at = append(places, off+uint32(next)), next+1
			case end == len(part):
				at = end
			default:
				at = end - len(p.needle) + 1
			}
		}
	}
	slices.Sort(places)
	return places, nil
}

// mayBeASCII reports whether an escape, behind its backslash, may stand for a character of ASCII;
// that of a slash only where it is asked for.
func mayBeASCII(escape []byte, slash bool) bool {
	if escape[0] == '/' {
		return slash
	}
	if escape[0] != 'u' || len(escape) < 5 {
		return true
	}
	code, err := strconv.ParseUint(string(escape[1:5]), 16, 16)
	return err != nil || code < utf8.RuneSelf
}

// around returns the tokens that some places are in, which are in order.
func (t *tokens) around(text pages, places []uint32) *listed {
	list := new(listed)
	for phase := range t.births {
		if len(t.births[phase]) == 0 {
			continue
		}
		births := t.inPlace(phase)
		behind := uint32(0)
		for _, at := range places {
			if at < behind {
				continue // its token is listed
			}
			from, to := t.extent(text, at, phase)
			behind = to
			i, _ := slices.BinarySearchFunc(births.ends, from, cmp.Compare[uint32])
			for ; i < len(births.order); i++ {
				b := &t.births[phase][births.order[i]]
				if b.part.off > to {
					break
				}
				if b.part.end() >= from && b.of.off <= at && at < b.of.end() {
					t.within(text, b, piece{at, 1}, phase, list)
				}
			}
		}
		slices.SortFunc(list.plain[phase], func(a, b token) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.visit, b.visit)) })
		list.plain[phase] = slices.CompactFunc(list.plain[phase], func(a, b token) bool { return a.from == b.from })
	}
	return list
}

// extent returns where the token that a place is in begins and ends, by which quotes open strings.
func (t *tokens) extent(text pages, at uint32, phase int) (from, to uint32) {
	if i := t.before(at); i&1 != phase {
		if to = text.size; i < len(t.quotes) {
			to = t.quotes[i] + 1
		}
		if i > 0 {
			from = t.quotes[i-1]
		}
		return from, to
	}
	before, behind := text.before(at), text.cut(at, text.end(at))
	numeric := func(r rune) bool { return r < utf8.RuneSelf && isNumeric(byte(r)) }
	from = at - uint32(len(before)-len(bytes.TrimRightFunc(before, numeric)))
	to = at + uint32(len(behind)-len(bytes.TrimLeftFunc(behind[1:], numeric)))
	return from, to
}

// inPlace returns the births of a phase by their places.
func (t *tokens) inPlace(phase int) *sortedBirths {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sorted[phase] != nil {
		return t.sorted[phase]
	}
	births := t.births[phase]
	s := &sortedBirths{make([]int32, len(births)), make([]uint32, len(births))}
	for i := range births {
		s.order[i] = int32(i)
	}
	slices.SortFunc(s.order, func(a, b int32) int { return cmp.Compare(births[a].part.off, births[b].part.off) })
	reach := uint32(0)
	for i, k := range s.order {
		reach = max(reach, births[k].part.end())
		s.ends[i] = reach
	}
	t.sorted[phase] = s
	return s
}

// all returns all tokens, those of births that were listed before as they were.
func (t *tokens) all(text pages) *listed {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.list != nil {
		return t.list
	}
	list := new(listed)
	if t.from != nil {
		*list = *t.from
		list.apart, list.beside = slices.Clip(list.apart), slices.Clip(list.beside)
	}
	for phase := range t.births {
		list.plain[phase] = slices.Clone(list.plain[phase])
		if phase == 0 { // which has nearly all
			list.plain[0] = slices.Grow(list.plain[0], max(0, len(t.quotes)/2-len(list.plain[0])))
		}
		blocks := []int{0}
		for i := t.done[phase]; i < len(t.births[phase]); i++ {
			b := &t.births[phase][i]
			blocks = append(blocks, len(list.plain[phase]))
			t.within(text, b, b.part, phase, list)
		}
		list.plain[phase] = inOrder(list.plain[phase], blocks)
		t.done[phase] = len(t.births[phase])
	}
	t.list, t.from = list, list
	return list
}
