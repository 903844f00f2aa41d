package query

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sort"

	"hindcast/model"
)

// Where a text comes back
//
// A text comes to a visit if the visit has it and its parent has not. The texts that match are
// known by their places, so for each visit it is looked up which of the places its pieces have:
//
//	text    …"wait"…"go"…"wait, no"…     places 0 1 2
//	#4      [ …"wait"… ]                 has 0, which comes
//	#5      [ …"go"… ]                   has 1, which comes
//	#6      [ …"wait"… ]                 has 0, which comes back
//
// A text that lies over two pieces has no place; the walk over the pieces finds it. A visit whose state is not
// known, or not all of it, has the texts of its parent and those that are seen in it.
type appearances struct {
	*view
	pattern *Pattern
	// walk goes over the pieces of the visit lexed.
	walk  tokens
	lexed model.Node
	// words are the texts that match, and numbers what they are by.
	words   []match
	numbers map[string]int32
	// spots are their places in the text, in order, by which of its quotes open them, and
	// seams the number of each of the walk's seams; -1 if a seam has no number.
	spots [2][]wordSpot
	seams []int32
	// has holds the texts of the visits that other visits are still compared with: uses counts the
	// comparisons left.
	has  map[model.Node][]int32
	uses []int32
	// met is the visit, and one, at which a text was met last.
	met []model.Node
}

// wordSpot is a place of a text that matches.
type wordSpot struct {
	from, to uint32
	number   int32
}

// appearances returns where the texts come that a pattern matches. t has the tokens of all visits.
func (v *view) appearances(ctx context.Context, t *tokens, p *Pattern) (*appearances, error) {
	c := &appearances{view: v, pattern: p, walk: *t, lexed: model.NoNode, numbers: map[string]int32{}, has: map[model.Node][]int32{}}
	c.walk.joined, c.walk.seams.apart, c.walk.seams.beside = maps.Clone(t.joined), slices.Clip(t.seams.apart), slices.Clip(t.seams.beside)
	for i := range c.walk.seen {
		c.walk.seen[i] = slices.Clone(t.seen[i])
		c.walk.births[i] = slices.Clip(t.births[i])
	}
	c.uses = make([]int32, len(v.visits))
	for n := range v.nodes() {
		c.uses[n]++
		if parent := v.visits[n].parent; parent != model.NoNode {
			c.uses[parent]++
		}
	}
	text := v.bytes()
	of, err := t.worth(ctx, text.upTo(t.read), p)
	if err != nil {
		return nil, err
	}
	for phase, list := range of.plain {
		found, err := among(ctx, text, list, p)
		if err != nil {
			return nil, err
		}
		for _, m := range found {
			c.spots[phase] = append(c.spots[phase], wordSpot{m.token.from, m.token.to, c.number(m)})
		}
	}
	found, err := among(ctx, pagesOf(of.beside), of.apart, p)
	for _, m := range found { // which are strings
		from := placeOf(v.rope(m.visit).pieces, m.at)
		quote := t.before(from)
		c.spots[quote&1] = append(c.spots[quote&1], wordSpot{from, t.quotes[quote+1] + 1, c.number(m)})
	}
	for _, spots := range c.spots {
		slices.SortFunc(spots, func(a, b wordSpot) int { return cmp.Compare(a.from, b.from) })
	}
	return c, err
}

// placeOf returns where in the text a byte of a state is.
func placeOf(pieces []piece, at uint32) uint32 {
	for _, p := range pieces {
		if at < p.n {
			return p.off + at
		}
		at -= p.n
	}
	return 0
}

// number returns the number of the text of a match.
func (c *appearances) number(m match) int32 {
	word := string(m.word())
	i, known := c.numbers[word]
	if !known {
		i = int32(len(c.words))
		c.numbers[word], c.words = i, append(c.words, m)
		c.met = append(c.met, 0)
	}
	return i
}

// seam returns the number of one of the walk's seams; -1 if it does not match.
func (c *appearances) seam(i int32) int32 {
	for len(c.seams) <= int(i) {
		number := int32(-1)
		beside := pagesOf(c.walk.seams.beside)
		if m, ok := c.walk.seams.apart[len(c.seams)].match(&beside, c.pattern); ok {
			number = c.number(m)
		}
		c.seams = append(c.seams, number)
	}
	return c.seams[i]
}

// each calls found for each text that matches in the state of a visit, and where in it.
func (c *appearances) each(n model.Node, found func(number int32, at uint32)) {
	pieces := c.rope(n).pieces
	if c.lexed != n {
		c.walk.pieces, c.walk.begin = nil, nil
		c.walk.visit(c.bytes(), n, pieces)
		c.lexed = n
	}
	for i, p := range pieces {
		l := c.walk.begin[i]
		if !l.byQuotes(c.bytes(), p) {
			continue // they are among those that crossed
		}
		phase := c.walk.phase(p, l)
		spots := c.spots[phase]
		for k := sort.Search(len(spots), func(k int) bool { return spots[k].from >= p.off }); k < len(spots) && spots[k].to <= p.end(); k++ {
			s := spots[k]
			if (s.from == p.off || s.to == p.end()) && c.bytes().at(s.from) != '"' {
				continue // a number that may go on
			}
			found(s.number, l.at+s.from-p.off)
		}
	}
	for _, x := range c.walk.crossed {
		if number := c.seam(x.seam); number >= 0 {
			found(number, x.at)
		}
	}
}

// to returns the texts that come to a visit, which is loaded, in the order of their places in its
// state. Each visit is asked for once.
func (c *appearances) to(ctx context.Context, n model.Node) (come []match, err error) {
	parent := c.visits[n].parent
	if err := c.know(ctx, n); err != nil {
		return nil, err
	}
	var before []int32
	if parent != model.NoNode {
		before = c.has[parent]
	}
	if has := c.has[n]; !c.visits[n].severed && !slices.Equal(has, before) {
		for _, number := range has {
			c.met[number] = n + 1
		}
		left := len(has)
		for _, number := range before {
			if c.met[number] == n+1 {
				left--
			}
			c.met[number] = 0
		}
		if left > 0 {
			c.each(n, func(number int32, at uint32) {
				if w := c.words[number]; c.met[number] == n+1 {
					w.visit, w.at, w.again = n, at, true
					come = append(come, w)
				}
			})
		}
	}
	c.release(n)
	if parent != model.NoNode {
		c.release(parent)
	}
	return come, nil
}

func (c *appearances) release(n model.Node) {
	if c.uses[n]--; c.uses[n] == 0 {
		delete(c.has, n)
	}
}

// know finds out what a visit has, and before it what those have that it comes from: a parent may
// be recorded after its child.
func (c *appearances) know(ctx context.Context, n model.Node) error {
	var line []model.Node
	for ; n != model.NoNode; n = c.visits[n].parent {
		if _, known := c.has[n]; known {
			break
		}
		line = append(line, n)
	}
	if err := c.load(ctx, line...); err != nil {
		return err
	}
	for _, n := range slices.Backward(line) {
		var before []int32
		if parent := c.visits[n].parent; parent != model.NoNode {
			before = c.has[parent]
		}
		c.has[n] = c.of(n, before)
	}
	return nil
}

// of returns the texts of a visit; before has its parent's texts. Equal lists share one slice.
func (c *appearances) of(n model.Node, before []int32) (has []int32) {
	add := func(number int32) {
		if c.met[number] != n+1 {
			c.met[number], has = n+1, append(has, number)
		}
	}
	r := c.rope(n)
	if parent := c.visits[n].parent; parent != model.NoNode && r.err == nil {
		if p := c.rope(parent); p.gaps.IsEmpty() && slices.Equal(r.pieces, p.pieces) {
			return before
		}
	}
	c.each(n, func(number int32, _ uint32) { add(number) })
	if r.err != nil || !r.gaps.IsEmpty() {
		for _, number := range before {
			add(number)
		}
	}
	for _, number := range has {
		c.met[number] = 0
	}
	if slices.Sort(has); slices.Equal(has, before) {
		return before
	}
	return slices.Clip(has)
}
