package query

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"maps"
	"slices"
	"sort"
	"unicode/utf8"

	"hindcast/model"
	"hindcast/model/jsontape"
)

// Which strings and numbers a session has
//
// A search looks at each text once, however many states have it. So the strings, keys and
// numbers are listed by their place in the session's text, each with the first visit that has
// it there. A visit is read only where its pieces are new:
//
//	#7   [ {"role":"user","text":"hi"} , {"role":"assistant",... ]
//	#8   [ {"role":"user","text":"hi"} , {"role":"assistant",... , {"role":"user","text":"so"} ]
//	       known                                                   new: role, user, text, so
//
// Where a piece begins within a string, its quotes close strings that they open elsewhere. So
// the text is known in two ways, by whether the even or the odd ones of its quotes open a
// string; hardly ever the other one is needed.
//
// What is new is noted as a birth, a part of the text. The strings and numbers in it are listed
// when they are needed: those around the places that a search finds in the text as it stands, or
// all of them where it cannot know such places, see sieve.go.
//
// A string that lies over two pieces is put together, and one with escapes is decoded. Both are
// in a text of their own beside the session's.

// token is a string with its quotes, or a number.
type token struct {
	// from and to are where it is in the text.
	from, to uint32
	visit    model.Node
	// at is where it is in the state of the visit.
	at uint32
}

// tokens holds the tokens of some visits. A tokens that was given out does not change, but for its
// listing.
type tokens struct {
	states *states
	// refs are the visits that are in it, in their order.
	refs []model.Ref
	// quotes are the places of the text where a quote stands that is not escaped.
	quotes []uint32
	read   uint32 // the size of the text that is in quotes
	seen   [2]spans
	// joined are the seams that are known by their parts; -1 means that a seam is no token.
	joined map[string]int32
	// births are the parts of the text that are new at a visit, by which of the quotes open
	// strings there, and seams the tokens that lie over pieces.
	births [2][]birth
	seams  listed
	// escapes are the places of the text with an escape that may be for any character.
	escapes []uint32
	*listing

	// Of the visit that was read last: its pieces, what is known where each begins, and the
	// seams in its new parts.
	pieces  []piece
	begin   []lexed
	crossed []crossing
}

// birth is a part of the text in which tokens may lie that a visit is the first to have.
type birth struct {
	part piece
	// of is the piece of the visit's state that it is in, which begins at a place there.
	of    piece
	at    uint32
	visit model.Node
}

// crossing is a seam in a state.
type crossing struct {
	seam int32
	at   uint32
}

// listed are tokens.
type listed struct {
	// plain are the tokens that stand in the text as they read, in order, by which of its
	// quotes open them; apart are the tokens in beside.
	plain  [2][]token
	apart  []token
	beside []byte
}

// lexed is where a piece begins in a state.
type lexed struct {
	at uint32
	// in says that it begins within a string, escaped that a backslash stands before it,
	// and number that one does that may be a part of a number.
	in, escaped, number bool
	// open is where in the state that string or number begins, and openPiece in which piece.
	open      uint32
	openPiece int
}

// extended returns the tokens of some visits. It extends known with the tokens of later visits, or
// starts anew if known begins with other visits.
func (v *view) extended(ctx context.Context, known *tokens, nodes []model.Node) (*tokens, error) {
	t := &tokens{states: v.states, joined: map[string]int32{}, listing: new(listing)}
	if known != nil && known.states == v.states && len(known.refs) <= len(nodes) && v.leads(known.refs, nodes) {
		if len(known.refs) == len(nodes) {
			return known, nil
		}
		copied := *known
		t = &copied // it may be left before its end
		t.joined, t.listing = maps.Clone(t.joined), known.listing.before()
		for i := range t.seen {
			t.births[i] = slices.Clip(t.births[i])
			t.seen[i] = slices.Clone(t.seen[i])
		}
		t.seams.apart, t.seams.beside, t.crossed = slices.Clip(t.seams.apart), slices.Clip(t.seams.beside), nil
	}
	for n, err := range v.walk(ctx, slices.Values(nodes[len(t.refs):])) {
		if err != nil {
			return nil, err
		}
		text := v.bytes()
		t.index(text)
		t.visit(text, n, v.rope(n).pieces)
		t.refs = append(t.refs, v.visits[n].ref)
	}
	return t, nil
}

// inOrder returns tokens by their place. A block of them, which begins at one of some indices, is
// in order itself and beside the others, but for a token that two of them have: it is of the
// visit that came first.
func inOrder(list []token, blocks []int) []token {
	order := make([][]token, 0, len(blocks))
	for i, from := range blocks {
		to := len(list)
		if i+1 < len(blocks) {
			to = blocks[i+1]
		}
		if from < to {
			order = append(order, list[from:to])
		}
	}
	slices.SortFunc(order, func(a, b []token) int { return cmp.Compare(a[0].from, b[0].from) })
	sorted := make([]token, 0, len(list))
	for _, block := range order {
		for _, t := range block {
			last := len(sorted) - 1
			switch {
			case last < 0 || sorted[last].from < t.from:
				sorted = append(sorted, t)
			case sorted[last].from == t.from && t.visit < sorted[last].visit:
				sorted[last] = t
			}
		}
	}
	return sorted
}

// leads reports whether refs, which were read, are a prefix of the visits.
func (v *view) leads(refs []model.Ref, nodes []model.Node) bool {
	for i, ref := range refs {
		if v.visits[nodes[i]].ref != ref {
			return false
		}
	}
	return true
}

// index adds the quotes of text that is new.
func (t *tokens) index(text pages) {
	t.escape(text)
	for off, part := range text.from(t.read) {
		for at := 0; ; at++ {
			i := bytes.IndexByte(part[at:], '"')
			if i < 0 {
				break
			}
			if at += i; !escapedAt(text, 0, off+uint32(at)) {
				t.quotes = append(t.quotes, off+uint32(at))
			}
		}
	}
	t.read = text.size
}

// escapedAt reports whether an odd number of backslashes stands before a place, behind from.
func escapedAt(text pages, from, at uint32) bool {
	before := text.before(at)
	before = before[max(0, len(before)-int(at-from)):]
	return (len(before)-len(bytes.TrimRight(before, "\\")))%2 == 1
}

// before returns how many quotes there are before a place.
func (t *tokens) before(at uint32) int {
	i, _ := slices.BinarySearch(t.quotes, at)
	return i
}

// visit reads what is new in a state.
func (t *tokens) visit(text pages, n model.Node, pieces []piece) {
	t.crossed = t.crossed[:0]
	from, to := changed(t.pieces, pieces)
	shift := len(pieces) - len(t.pieces)
	begin := append(make([]lexed, 0, len(pieces)+1), t.begin[:from]...)
	now := lexed{}
	if from > 0 {
		now = t.begin[from]
	}
	next := from // of the pieces of the state before
	for i := from; i < len(pieces); i++ {
		begin = append(begin, now)
		if i == to {
			next = i - shift
		}
		was := next + slices.Index(t.pieces[next:min(len(t.pieces), next+ahead)], pieces[i])
		if was < next {
			now = t.piece(text, n, pieces, i, now)
			continue
		}
		next = was + 1
		// What is behind it is as it was, if it begins as it did.
		if b := t.begin[was]; b.in || b.number || now.in || now.number {
			now = t.piece(text, n, pieces, i, now)
			continue
		}
		behind := now.at - t.begin[was].at
		now = t.begin[next]
		now.at, now.open, now.openPiece = now.at+behind, now.open+behind, now.openPiece+i-was
	}
	if last := len(pieces) - 1; now.number { // the state is a number
		t.join(text, n, pieces, begin[last], now, last, pieces[last].end())
	}
	t.pieces, t.begin = pieces, append(begin, now)
}

func isNumeric(b byte) bool {
	return '0' <= b && b <= '9' || b == '-' || b == '+' || b == '.' || b == 'e' || b == 'E'
}

// piece reads one piece of a state, and returns the lexical state behind it.
func (t *tokens) piece(text pages, n model.Node, pieces []piece, i int, l lexed) (after lexed) {
	p := pieces[i]
	if l.byQuotes(text, p) {
		after = t.byQuotes(text, n, pieces, i, l)
	} else {
		after = t.byBytes(text, n, pieces, i, l, func(from, to uint32) {
			t.seam(text, []piece{{from, to - from}}, n, l.at+from-p.off)
		})
	}
	after.at = l.at + p.n
	t.number(text, n, pieces, i, l, &after)
	return after
}

// byQuotes reports whether a piece that begins so has the same quotes as the text: a quote at its
// beginning may be escaped here and not elsewhere.
func (l lexed) byQuotes(text pages, p piece) bool {
	if l.escaped || p.off&(1<<pageBits-1) == 0 {
		return !l.escaped
	}
	first, before := text.at(p.off), text.before(p.off)
	return first != '"' && first != '\\' || len(before) == 0 || before[len(before)-1] != '\\'
}

// phase returns by which quotes strings open in a piece that begins so.
func (t *tokens) phase(p piece, l lexed) int {
	if l.in {
		return t.before(p.off)&1 ^ 1
	}
	return t.before(p.off) & 1
}

// byQuotes reads what is new in a piece.
func (t *tokens) byQuotes(text pages, n model.Node, pieces []piece, i int, l lexed) (after lexed) {
	p := pieces[i]
	first, last := t.before(p.off), t.before(p.end())
	phase := t.phase(p, l)
	inside := func(at uint32) bool { // a token may lie over it
		before := text.before(at)
		return t.before(at)&1 != phase || len(before) > 0 && isNumeric(before[len(before)-1])
	}
	for _, new := range t.seen[phase].add(p, inside) {
		t.births[phase] = append(t.births[phase], birth{new, p, l.at, n})
	}
	if l.in {
		if first == last { // it goes on
			return lexed{in: true, escaped: escapedAt(text, p.off, p.end()), open: l.open, openPiece: l.openPiece}
		}
		t.join(text, n, pieces, l, l, i, t.quotes[first]+1)
	}
	if after.in = (last-first)&1 == 1 != l.in; after.in {
		after.open, after.openPiece = l.at+t.quotes[last-1]-p.off, i
		after.escaped = escapedAt(text, p.off, p.end())
	}
	return after
}

// byBytes reads a piece from its first byte on.
func (t *tokens) byBytes(text pages, n model.Node, pieces []piece, i int, l lexed, add func(from, to uint32)) lexed {
	p, after := pieces[i], l
	gap := p.off // behind the last string
	for k, b := range text.of(p) {
		switch at := p.off + uint32(k); {
		case after.escaped:
			after.escaped = false
		case after.in && b == '\\':
			after.escaped = true
		case b != '"':
		case !after.in:
			numbersIn(text, p, gap, at, add)
			after.in, after.open, after.openPiece = true, l.at+at-p.off, i
		default:
			if after.openPiece == i {
				add(p.off+after.open-l.at, at+1)
			} else {
				t.join(text, n, pieces, l, after, i, at+1)
			}
			after.in, gap = false, at+1
		}
	}
	if !after.in {
		numbersIn(text, p, gap, p.end(), add)
	}
	after.number = false
	return after
}

// within adds the tokens of a birth to a list that lie in a part of the text, or over its ends. A
// token that begins before the birth's piece or ends behind it is left out.
func (t *tokens) within(text pages, b *birth, part piece, phase int, to *listed) {
	p := b.of
	give := func(from, end uint32) { to.add(text, phase, token{from, end, b.visit, b.at + from - p.off}) }
	first, last := t.before(p.off), t.before(p.end())
	i := t.before(part.off) // the next quote, which opens a string if it is of the phase
	at := part.off
	if i&1 != phase { // the part begins in a string
		i--
	} else {
		for at > p.off && isNumeric(text.at(at-1)) {
			at--
		}
	}
	for ; ; i += 2 {
		end := p.end() // of what is before the next string
		switch {
		case i < first:
			end = at
		case i < last:
			end = t.quotes[i]
		}
		to := min(end, part.end())
		for to < end && isNumeric(text.at(to)) {
			to++
		}
		numbersIn(text, p, at, to, give)
		if i >= last || i >= first && t.quotes[i] >= part.end() || i+1 >= last {
			return
		}
		if i >= first {
			give(t.quotes[i], t.quotes[i+1]+1)
		}
		at = t.quotes[i+1] + 1
	}
}

// numbersIn calls give with the bounds of each number between two offsets of a piece. It leaves out a number at
// either end of the piece, which may go on in the next one.
func numbersIn(text pages, p piece, from, to uint32, give func(from, to uint32)) {
	if from >= to {
		return
	}
	words := text.cut(from, to)
	for i := 0; i < len(words); i++ {
		if !isNumeric(words[i]) {
			continue
		}
		first := i
		for i < len(words) && isNumeric(words[i]) {
			i++
		}
		if begin, at := from+uint32(first), from+uint32(i); begin > p.off && at < p.end() && isNumber(words[first:i]) {
			give(begin, at)
		}
	}
}

func isNumber(word []byte) bool {
	return '0' <= word[0] && word[0] <= '9' || word[0] == '-' && len(word) > 1
}

// number takes in the numbers at the borders of a piece.
func (t *tokens) number(text pages, n model.Node, pieces []piece, i int, l lexed, after *lexed) {
	p := pieces[i]
	if !l.in && (l.number || isNumeric(text.at(p.off))) {
		if !l.number {
			l.open, l.openPiece = l.at, i
		}
		end := p.off
		for end < p.end() && isNumeric(text.at(end)) {
			end++
		}
		if end == p.end() {
			after.number, after.open, after.openPiece = true, l.open, l.openPiece
			return
		}
		t.join(text, n, pieces, l, l, i, end)
	}
	if after.in {
		return
	}
	from := p.end()
	for from > p.off && isNumeric(text.at(from-1)) {
		from--
	}
	if from < p.end() {
		after.number, after.open, after.openPiece = true, l.at+from-p.off, i
	}
}

// add takes in a token of the text. One that does not read as it stands there goes beside.
func (l *listed) add(text pages, phase int, of token) {
	if word := text.cut(of.from, of.to); bytes.IndexByte(word, '\\') >= 0 || !utf8.Valid(word) {
		l.putBeside(word, of)
		return
	}
	l.plain[phase] = append(l.plain[phase], of)
}

// putBeside takes in a token as it reads.
func (l *listed) putBeside(word []byte, of token) {
	from := len(l.beside)
	if word[0] == '"' {
		l.beside = append(jsontape.AppendUnquoted(append(l.beside, '"'), word), '"')
	} else {
		l.beside = append(l.beside, word...)
	}
	of.from, of.to = uint32(from), uint32(len(l.beside))
	l.apart = append(l.apart, of)
}

// join takes in a token that was opened in one piece and ends in another, at end of piece last,
// which begins as l says.
func (t *tokens) join(text pages, n model.Node, pieces []piece, l, opened lexed, last int, end uint32) {
	at := l.at
	for i := last; i > opened.openPiece; i-- {
		at -= pieces[i-1].n
	}
	first := pieces[opened.openPiece]
	off := first.off + opened.open - at
	parts := []piece{{off, first.end() - off}}
	if opened.openPiece == last {
		parts[0].n = end - off
	} else {
		parts = append(append(parts, pieces[opened.openPiece+1:last]...), piece{pieces[last].off, end - pieces[last].off})
	}
	t.seam(text, parts, n, opened.open)
}

// seam takes in a token of some parts that is at a place in the state of a visit.
func (t *tokens) seam(text pages, parts []piece, n model.Node, at uint32) {
	var key []byte
	for _, p := range parts {
		key = binary.BigEndian.AppendUint64(key, uint64(p.off)<<32|uint64(p.n))
	}
	seam, known := t.joined[string(key)]
	if !known {
		seam = -1
		if word := join(text, parts); word[0] == '"' || isNumber(word) {
			seam = int32(len(t.seams.apart))
			t.seams.putBeside(word, token{visit: n, at: at})
		}
		t.joined[string(key)] = seam
	}
	if seam >= 0 {
		t.crossed = append(t.crossed, crossing{seam, at})
	}
}

// spans are the pieces of the text that were read, without pieces that lie within a larger one,
// in order. Two that touch are one, unless a token may lie over their border: neither piece has
// that token whole.
type spans []piece

// add adds a piece, and returns the parts of it in which tokens may lie that were not read. A
// part may be empty: then it is a border.
func (s *spans) add(p piece, inside func(at uint32) bool) (parts []piece) {
	list := *s
	first := sort.Search(len(list), func(i int) bool { return list[i].end() >= p.off })
	end, last := p.off, first
	var kept []piece
	whole := p
	for ; last < len(list) && list[last].off <= p.end(); last++ {
		in := list[last]
		switch {
		case in.off <= p.off && in.end() >= p.end():
			return nil
		case in.off > end:
			parts = append(parts, piece{end, in.off - end})
		case end > p.off && inside(end):
			parts = append(parts, piece{end, 0})
		}
		end = max(end, in.end())
		switch {
		case in.off >= p.off && in.end() <= p.end(): // it is a part of p
		case in.off < p.off && inside(p.off) && inside(in.end()), in.end() > p.end() && inside(in.off) && inside(p.end()):
			kept = append(kept, in)
		default:
			from, to := min(whole.off, in.off), max(whole.end(), in.end())
			whole = piece{from, to - from}
		}
	}
	if end < p.end() {
		parts = append(parts, piece{end, p.end() - end})
	}
	kept = slices.DeleteFunc(kept, func(in piece) bool { return in.off >= whole.off && in.end() <= whole.end() })
	kept = append(kept, whole)
	slices.SortFunc(kept, func(a, b piece) int { return cmp.Compare(a.off, b.off) })
	*s = slices.Replace(list, first, last, kept...)
	return parts
}
