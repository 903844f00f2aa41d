package query

import (
	"cmp"
	"context"
	"hash/maphash"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"

	"hindcast/model"
	"hindcast/store"
)

// Hit is a text in which a pattern was found: a string, a key, or a number as it is written.
type Hit struct {
	// Visit is the first visit whose state has the text, in recorded order, or one to which
	// it comes.
	Visit model.Node
	// Active is Visit if that is on the active path, else the first one on it that has the
	// text, or model.NoNode where none has.
	Active model.Node
	// Text is the text decoded; the first match in it is from From up to To. It is untrusted.
	Text     string
	From, To int
	// Path is the JSON Pointer of the text in the state of Visit, of a key that of its
	// value, which Key says. It is "" in a state that is not JSON. It is untrusted.
	Path string
	Key  bool
	// Message is the number of the message that the text is in, -1 if it is in no message. Role says in
	// the framework's word who speaks, and Tool is the tool of its call or result, or "". Both are
	// untrusted.
	Message    int
	Role, Tool string
	// Failed says that the text is in the result of a call that failed.
	Failed bool
}

// Search is a pattern with the messages that Grep looks at.
type Search struct {
	*Pattern
	// Role and Tool keep the texts of messages of one role, and of the calls and results of
	// one tool; "" keeps all. Failed keeps the results of calls that failed, and Orphaned the texts that no visit
	// on the active path has.
	Role, Tool       string
	Failed, Orphaned bool
	// All finds a text again at each visit to which it comes: the visit has it, and its parent
	// has not.
	All bool
}

// Grep returns the texts of the session in which a pattern is found, each once, in the order
// of the visits that have it first. A text that is gone and comes back is found once, unless all
// appearances are asked for; no match lies over two texts. Of a role or a tool, a visit counts that
// has the text there. The error ends the sequence.
func (q *Session) Grep(ctx context.Context, s Search) iter.Seq2[Hit, error] {
	return func(yield func(Hit, error) bool) {
		v, err := q.view().sieved(ctx, s.Pattern)
		if err != nil {
			yield(Hit{}, err)
			return
		}
		all, err := v.tokens(ctx, &v.all, slices.Collect(v.nodes()))
		if err != nil {
			yield(Hit{}, err)
			return
		}
		found, err := all.search(ctx, v.bytes(), s.Pattern)
		g := grep{view: v, Search: s, told: map[uint64]model.Node{}, seed: maphash.MakeSeed()}
		// Where else a text is matters only if it is told of a visit off the path.
		off := func(m match) bool { return !v.visits[m.visit].onPath }
		if err == nil && len(found) > 0 && (s.All || slices.ContainsFunc(found, off)) {
			var active *tokens
			if active, err = v.tokens(ctx, &v.active, slices.Collect(v.those(true))); err == nil {
				var on []match
				on, err = active.search(ctx, v.bytes(), s.Pattern)
				g.active = firsts(slices.DeleteFunc(on, g.isAdded), g.seed)
				g.way = position{}
			}
		}
		if err != nil {
			yield(Hit{}, err)
			return
		}
		i := 0
		for m, err := range g.matches(ctx, all, found) {
			if i++; err == nil && i%256 == 1 {
				err = ctx.Err()
			}
			if err != nil {
				yield(Hit{}, err)
				return
			}
			if hit, ok := g.hit(m); ok && !yield(hit, nil) {
				return
			}
		}
	}
}

// matches returns the matches found, or, if all appearances are asked for, the texts that come to
// visits, in the order of the visits and of places in their states.
func (g *grep) matches(ctx context.Context, all *tokens, found []match) iter.Seq2[match, error] {
	return func(yield func(match, error) bool) {
		if !g.All || len(found) == 0 {
			for _, m := range found {
				if !yield(m, nil) {
					return
				}
			}
			return
		}
		c, err := g.appearances(ctx, all, g.Pattern)
		if err != nil {
			yield(match{}, err)
			return
		}
		for n := range g.nodes() {
			come, err := c.to(ctx, n)
			if err != nil {
				yield(match{}, err)
				return
			}
			for len(found) > 0 && found[0].visit == n {
				come, found = append(come, found[0]), found[1:]
			}
			slices.SortFunc(come, func(a, b match) int { return cmp.Compare(a.at, b.at) })
			for _, m := range come {
				if !yield(m, nil) {
					return
				}
			}
		}
	}
}

// kept are tokens that are searched again.
type kept struct {
	mu     sync.Mutex
	tokens *tokens
}

// listed reports whether there are any.
func (k *kept) listed() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.tokens != nil
}

// tokens returns the tokens of some visits, reusing the cached tokens as far as they go.
func (v *view) tokens(ctx context.Context, k *kept, nodes []model.Node) (*tokens, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t, err := v.extended(ctx, k.tokens, nodes)
	if err == nil {
		k.tokens = t
	}
	return t, err
}

// match is a token in which the pattern was found.
type match struct {
	token
	// in is the text that the token is in, and from and to are where in it the match is.
	in       *pages
	from, to int
	// again: it comes to the visit, whatever visits have the text before.
	again bool
}

// search returns the tokens in which the pattern is found, those of one text once, in the order
// of visits and of their places in the state.
func (t *tokens) search(ctx context.Context, text pages, p *Pattern) ([]match, error) {
	of, err := t.worth(ctx, text.upTo(t.read), p)
	if err != nil {
		return nil, err
	}
	found, err := t.seams.search(ctx, text, p)
	if err != nil {
		return nil, err
	}
	list, err := of.search(ctx, text, p)
	found = append(found, list...)
	slices.SortFunc(found, func(a, b match) int { return cmp.Or(cmp.Compare(a.visit, b.visit), cmp.Compare(a.at, b.at)) })
	return found, err
}

// search returns the tokens of the list that the pattern matches.
func (l *listed) search(ctx context.Context, text pages, p *Pattern) (found []match, err error) {
	for _, phase := range l.plain {
		list, err := among(ctx, text, phase, p)
		if err != nil {
			return nil, err
		}
		found = append(found, list...)
	}
	list, err := among(ctx, pagesOf(l.beside), l.apart, p)
	return append(found, list...), err
}

// mostSearched is how much text is searched between two looks at the context.
const mostSearched = 1 << 20

// among returns the tokens of a text, in order and apart, that the pattern matches.
func among(ctx context.Context, text pages, list []token, p *Pattern) (found []match, err error) {
	if len(p.needle) == 0 || len(list) <= mostPlaced {
		return amongAll(ctx, text, list, p)
	}
	looked := 0
	for off, part := range text.from(0) {
		for at := 0; at < len(part) && len(list) > 0; {
			if looked++; looked%256 == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			end := min(len(part), at+mostSearched)
			next := p.nextNeedle(part[:end], at)
			if next < 0 {
				if at = max(end-len(p.needle)+1, at+1); end == len(part) {
					at = end
				}
				continue
			}
			place := off + uint32(next)
			i, there := slices.BinarySearchFunc(list, place, func(t token, at uint32) int { return cmp.Compare(t.from, at) })
			if !there {
				i--
			}
			if i < 0 || list[i].to < place+uint32(len(p.needle)) {
				at = next + 1
				continue
			}
			if m, ok := list[i].match(&text, p); ok {
				found = append(found, m)
			}
			at, list = int(list[i].to-off), list[i+1:]
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return found, ctx.Err()
}

// match returns the match of a pattern in a token.
func (t token) match(text *pages, p *Pattern) (m match, ok bool) {
	m = match{token: t, in: text}
	m.from, m.to, ok = p.find(m.word())
	return m, ok
}

// word returns the text in which the match is.
func (m *match) word() []byte {
	word := m.in.cut(m.token.from, m.token.to)
	if word[0] == '"' {
		word = word[1 : len(word)-1]
	}
	return word
}

// amongAll looks at all tokens, in as many goroutines as there are processors.
func amongAll(ctx context.Context, text pages, list []token, p *Pattern) ([]match, error) {
	const share = 4096
	parts := make([][]match, (len(list)+share-1)/share)
	err := store.RunParallel(ctx, runtime.GOMAXPROCS(0), len(parts), func(i int) {
		for _, t := range list[i*share : min(len(list), (i+1)*share)] {
			if m, ok := t.match(&text, p); ok {
				parts[i] = append(parts[i], m)
			}
		}
	})
	return slices.Concat(parts...), err
}

// firsts returns the first visit of each text, by the hash of the text.
func firsts(found []match, seed maphash.Seed) map[uint64]model.Node {
	first := map[uint64]model.Node{}
	for _, m := range found {
		sum := maphash.Bytes(seed, m.word())
		if _, known := first[sum]; !known {
			first[sum] = m.visit
		}
	}
	return first
}

// grep is the state of a running Grep.
type grep struct {
	*view
	Search
	// told is where each text was told last, and active the first visit on the active path that
	// has it, by the hash of the text.
	told, active map[uint64]model.Node
	seed         maphash.Seed
	way          position
}

// hit returns the Hit for a match, unless its text was reported before or is filtered out.
func (g *grep) hit(m match) (hit Hit, ok bool) {
	sum := maphash.Bytes(g.seed, m.word())
	if last, told := g.told[sum]; told && !(m.again && last != m.visit) {
		return hit, false
	}
	hit = Hit{Visit: m.visit, Active: model.NoNode, Text: string(m.word()), From: m.from, To: m.to, Message: -1}
	if on, there := g.active[sum]; there {
		hit.Active = on
	}
	if g.visits[m.visit].onPath {
		hit.Active = m.visit
	}
	if g.Orphaned && hit.Active != model.NoNode {
		return hit, false
	}
	g.place(&hit, m)
	if g.features.IsAdded != nil && g.features.IsAdded(hit.Path, hit.Key) {
		return hit, false
	}
	if g.Role != "" && !strings.EqualFold(hit.Role, g.Role) || g.Tool != "" && (hit.Tool != g.Tool || hit.Key) || g.Failed && !hit.Failed {
		return hit, false
	}
	g.told[sum] = m.visit
	return hit, true
}

// place fills in where a match is.
func (g *grep) place(hit *Hit, m match) {
	g.way.lead(&g.places, g.bytes(), g.rope(m.visit).pieces)
	g.way.to(hit, int(m.at))
}

// isAdded reports whether the store itself added what was matched.
func (g *grep) isAdded(m match) bool {
	if g.features.IsAdded == nil {
		return false
	}
	var hit Hit
	g.place(&hit, m)
	return g.features.IsAdded(hit.Path, hit.Key)
}
