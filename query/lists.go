package query

import (
	"bytes"
	"hash/maphash"
	"slices"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
)

// messageLists tells the messages that each visit adds. A list is held as numbers, one an element;
// elements with the same value have the same number. Where a state has elements at a place of
// the text that another had there before it, they are not read again, but taken over: all that
// follow each other at once.
//
//	text    … {a},{b},{c} … {d}      known: 1 2 3, which follow each other, and 4
//	pieces  [ {b},{c} , {d} ]        so the list is 2 3 4
type messageLists struct {
	*view
	*numbered
	// uses counts for each visit those that are compared with it.
	uses  []int32
	lists map[model.Node]list
	// spare are lists that are needed no more.
	spare [][]int32
	// newest is the list that was read last, against the one before it.
	newest succession
	// additions has the visits that Additions did not yield yet; nil in a Stats.
	additions map[model.Node]*Addition
	stretches
}

// stretches are elements by their place in the text, in order.
type stretches struct {
	starts, ends []uint32
	numbers      []int32
	// begins is 1 for an element that no other one stands right before.
	begins []byte
}

// numbered are the messages that were met.
type numbered struct {
	seed maphash.Seed
	// spelled are the numbers of elements by the hash of their bytes, numbers by that of
	// their value, and known what the elements say, by number.
	spelled map[uint64]int32
	numbers map[uint64]int32
	known   []message
	scratch jsontape.Scratch
	// take is called with each message that gets a number, and its piece if it lies in one; it may be nil.
	take func(message []byte, at piece)
	// decoded is called with each message that gets a number, and was parsed; it may be nil.
	decoded func(number int32, c *conversation.Conversation)
}

// list is the messages in the state of a visit.
type list struct {
	elements []int32
	// path is the path of the list; -1 if there is no list.
	path int
	// pieces are the pieces of the text up to end, where the last element ends; empty if more of
	// it may come behind.
	pieces []piece
	end    spot
	// value is the list in the state, if additions are asked for.
	value []piece
	// taken are how many elements it has from the list before, which it goes on from. A list that
	// another one goes on from is shared: what comes behind it is in the same memory.
	taken  int
	shared bool
}

// mostPieces bounds the pieces of lists that are compared with earlier lists.
const mostPieces = 1 << 9

// goesOn reports whether the text of a list is a prefix of another list's text.
func (l *list) goesOn(pieces []piece) bool {
	k := l.end.piece
	return len(l.pieces) > 0 && len(pieces) > k && slices.Equal(pieces[:k], l.pieces[:k]) &&
		pieces[k].off == l.pieces[k].off && l.end.at <= pieces[k].end()
}

// ends notes where the last element of a list ends. One that does not close itself may go on.
func (l *list) ends(c *cursor) {
	if l.pieces = nil; c.piece < mostPieces && bytes.IndexByte([]byte(`}]"`), c.text.at(c.at-1)) >= 0 {
		l.pieces, l.end = c.pieces[:c.piece+1:c.piece+1], c.spot
	}
}

// succession is a list of messages and the one that it followed. Both begin with the same ones.
type succession struct {
	elements, old []int32
	same          int
}

// countDropped returns how many of the first n messages of the old list the new one lacks. It looks at those alone that
// the lists do not begin with.
func (s *succession) countDropped(n int) (dropped int) {
	old, now := s.old[:min(n, len(s.old))], s.elements
	same := s.same
	for same < min(len(old), len(now)) && old[same] == now[same] {
		same++
	}
	if same >= len(old) {
		return 0
	}
	has := map[int32]int{}
	for _, e := range now[same:] {
		has[e]++
	}
	for _, e := range old[same:] {
		if has[e]--; has[e] < 0 {
			dropped++
		}
	}
	return dropped
}

// message has the facts taken from one message.
type message struct {
	conversation.Usage
	// id is the framework's id of the message, "" if it has no id.
	id            string
	calls, errors int
	given         []Given
}

// isAnswer reports whether a model gave the message: it tells of tokens or of a price.
func (m *message) isAnswer() bool { return m.Input+m.Output > 0 || m.Priced }

// listPaths is where the frameworks keep their messages.
var listPaths = []Path{{[]string{"messages"}}, {[]string{"data", "messages"}}, {[]string{"state", "messages"}}, {[]string{"history"}}, {}}

func newNumbered() *numbered {
	return &numbered{seed: maphash.MakeSeed(), spelled: map[uint64]int32{}, numbers: map[uint64]int32{}}
}

// messageLists returns the lists of messages; those of two sessions may have their numbers in common.
func (v *view) messageLists(all *numbered) *messageLists {
	s := &messageLists{view: v, numbered: all, uses: make([]int32, len(v.visits)), lists: map[model.Node]list{}}
	for n := range v.nodes() {
		if parent := v.visits[n].parent; parent != model.NoNode {
			s.uses[parent]++
		}
	}
	return s
}

// adds returns the numbers of the messages that a visit has and its parent lacks, each
// message once, and whether it has a list of messages at all. The visit is loaded, and its
// parent was asked for before; each visit is asked for once.
//
// A message that is only written anew does not count: it has the id of another, or stands
// without an id in the place of another that cost the same.
func (s *messageLists) adds(n model.Node) (added []int32, has bool, err error) {
	parent, last := list{path: -1}, false
	if p := s.visits[n].parent; p != model.NoNode {
		parent = s.lists[p]
		s.uses[p]--
		if last = s.uses[p] == 0; last {
			delete(s.lists, p)
		}
	}
	now, err := s.list(n, &parent)
	if err != nil {
		return nil, false, err
	}
	if s.uses[n] > 0 {
		s.lists[n] = now
	}
	if parent.shared && !last {
		s.lists[s.visits[n].parent] = parent
	}
	old := parent.elements
	if parent.path != now.path {
		old = nil
	}
	s.newest = succession{now.elements, old, min(now.taken, len(old))}
	added = slices.Clone(s.more(old[min(now.taken, len(old)):], now.elements[now.taken:]))
	if s.additions != nil {
		s.additions[n] = &Addition{Added: added, list: now.value}
	}
	if last && !parent.shared && parent.taken == 0 {
		s.spare = append(s.spare, parent.elements)
	}
	return added, now.path >= 0, nil
}

// list returns the messages in the state of a visit, which may go on from those of its parent.
func (s *messageLists) list(n model.Node, before *list) (now list, err error) {
	order := [...]int{0, 1, 2, 3, 4}
	if before.path > 0 {
		order[0], order[before.path] = before.path, 0
	}
	for _, i := range order {
		of, err := s.at(n, listPaths[i])
		if err != nil {
			return list{path: -1}, err
		}
		if !of.none() && s.bytes().at(of.pieces[0].off) == '[' {
			now.path, now.value = i, of.pieces
			if i != before.path {
				before = &list{}
			}
			return now, s.elements(&now, of.pieces, before)
		}
	}
	return list{path: -1}, nil
}

// elements fills in the numbers of the elements of an array. Those of the list before are taken
// over where its text stands in front.
func (s *messageLists) elements(now *list, pieces []piece, before *list) error {
	s.places.mu.Lock()
	defer s.places.mu.Unlock()
	c := &cursor{places: &s.places, text: s.bytes(), pieces: pieces, spot: spot{0, pieces[0].off}}
	switch {
	case before.goesOn(pieces):
		now.elements, now.taken = before.elements, len(before.elements)
		if before.shared {
			now.elements = slices.Clip(now.elements) // what comes behind is another's
		}
		before.shared = true
		c.spot = before.end
		if b, ok := c.next(); !ok || b == ']' {
			now.pieces, now.end = before.pieces, before.end
			return nil
		}
	case len(s.spare) > 0:
		last := len(s.spare) - 1
		now.elements, s.spare = s.spare[last][:0], s.spare[:last]
	}
	for {
		c.at++ // behind the bracket, or a comma
		b, ok := c.next()
		if b == ']' && len(now.elements) == 0 {
			return nil
		}
		if known, end := s.from(c.at, c.limit()); ok && len(known) > 0 {
			now.elements, c.at = append(now.elements, known...), end
		} else if now.elements, ok = s.element(c, now.elements); !ok {
			_, _, err := jsontape.ParseTolerant(join(c.text, pieces))
			return err
		}
		now.ends(c)
		if b, ok = c.next(); !ok || b == ']' {
			return nil
		}
	}
}

// element reads the element at a cursor, and adds its number to a list.
func (s *messageLists) element(c *cursor, list []int32) ([]int32, bool) {
	from := c.spot
	if !c.skip() {
		return list, false
	}
	if from.piece != c.piece {
		return append(list, s.number(join(c.text, c.between(from, c.spot)), piece{})), true
	}
	element := c.text.cut(from.at, c.at)
	number := s.number(element, piece{from.at, c.at - from.at})
	switch element[0] {
	case '{', '[', '"': // which close themselves
		s.put(c.text, from.at, c.at, number)
	}
	return append(list, number), true
}

// from returns the known elements that follow each other from a place on, up to another, and
// where the last one ends.
func (s *stretches) from(at, limit uint32) (numbers []int32, end uint32) {
	i, known := slices.BinarySearch(s.starts, at)
	if !known {
		return nil, at
	}
	n, _ := slices.BinarySearch(s.starts[i+1:], limit) // those behind it that begin in time
	if next := bytes.IndexByte(s.begins[i+1:i+1+n], 1); next >= 0 {
		n = next
	}
	last := i + n
	if s.ends[last] > limit {
		last-- // the others end before it begins
	}
	if last < i {
		return nil, at
	}
	return s.numbers[i : last+1], s.ends[last]
}

// put takes in an element between two places.
func (s *stretches) put(text pages, start, end uint32, number int32) {
	i, known := slices.BinarySearch(s.starts, start)
	if known {
		return
	}
	s.starts, s.ends = slices.Insert(s.starts, i, start), slices.Insert(s.ends, i, end)
	s.numbers, s.begins = slices.Insert(s.numbers, i, number), slices.Insert(s.begins, i, 1)
	for k := i; k <= i+1; k++ { // and the one behind
		if k > 0 && k < len(s.starts) {
			s.begins[k] = 1
			if before := text.before(s.starts[k]); s.ends[k-1] < s.starts[k] && int(s.starts[k]-s.ends[k-1]) <= len(before) &&
				string(bytes.TrimSpace(before[len(before)-int(s.starts[k]-s.ends[k-1]):])) == "," {
				s.begins[k] = 0
			}
		}
	}
}

// number returns the number of an element: the same for the same value, however it is
// written. The piece is empty where the element lies in several.
func (s *numbered) number(element []byte, at piece) int32 {
	sum := maphash.Bytes(s.seed, element)
	number, known := s.spelled[sum]
	if known {
		return number
	}
	tape, err := s.scratch.ParseTolerant(slices.Concat([]byte("["), element, []byte("]")))
	value := sum
	if err == nil {
		value = tape.Hash(tape.First(0))
	}
	if number, known = s.numbers[value]; !known {
		number = int32(len(s.known))
		if s.take != nil {
			s.take(element, at)
		}
		m := message{}
		if err == nil {
			c := conversation.Decode(tape)
			if m = readMessage(c); s.decoded != nil {
				s.decoded(number, c)
			}
		}
		s.numbers[value], s.known = number, append(s.known, m)
	}
	s.spelled[sum] = number
	return number
}

// readMessage reads the facts of the one message of a list.
func readMessage(c *conversation.Conversation) (m message) {
	tape := c.Tape()
	n := tape.First(0)
	m.Usage = conversation.UsageOf(tape, n)
	for _, key := range []string{"id", "tracking_id", "trackingId"} {
		if at := tape.Find(n, key); tape.Kind(at) == jsontape.String {
			m.id = tape.Text(at)
		}
	}
	for b := range c.BlockLen() {
		switch block := c.Block(b); {
		case block.Kind == conversation.ToolCall:
			m.calls++
		case block.Kind == conversation.ToolResult && block.Status == conversation.Failed:
			m.errors++
		case block.Kind == conversation.Context:
			m.given = append(m.given, Given{contextWord(tape, block.Name), c.Bytes(block)})
		}
	}
	return m
}

// maxContextWord bounds a context word in bytes.
const maxContextWord = 80

// contextWord returns the agent's word for a context block, "" if it has no word.
func contextWord(tape *jsontape.Tape, name conversation.Node) string {
	if tape.Kind(name) != jsontape.String {
		return ""
	}
	return conversation.OneLine(string(tape.AppendText(nil, name, maxContextWord)))
}

// more returns the elements that one list has more than another. Elements may leave at the front while
// others come at the end. Otherwise each element counts as often as it is there.
func (s *messageLists) more(old, new []int32) []int32 {
	for most := 256; most > 0; { // many at a time
		if n := min(most, len(old), len(new)); n > 0 && slices.Equal(old[:n], new[:n]) {
			old, new = old[n:], new[n:]
		} else {
			most /= 16
		}
	}
	for len(old) > 0 && len(new) > 0 && old[len(old)-1] == new[len(new)-1] {
		old, new = old[:len(old)-1], new[:len(new)-1]
	}
	if len(old) == 0 || len(new) == 0 {
		return new
	}
	for from := range old {
		if n := len(old) - from; n <= len(new) && slices.Equal(old[from:], new[:n]) {
			return new[n:]
		}
	}
	return s.unlike(new, old)
}

// likeness is the key by which a message that was written anew is recognised.
type likeness struct {
	id string
	conversation.Usage
}

func (m *message) likeness() likeness {
	if m.id != "" {
		return likeness{id: m.id}
	}
	return likeness{Usage: m.Usage}
}

// unlike returns the elements of a list that another lacks: it has neither the same element nor
// the same message written anew.
func (s *messageLists) unlike(list, gone []int32) []int32 {
	same := map[int32]int{}
	for _, e := range gone {
		same[e]++
	}
	list = slices.DeleteFunc(slices.Clone(list), func(e int32) bool {
		same[e]--
		return same[e] >= 0
	})
	like := map[likeness]int{}
	for e, n := range same {
		if n > 0 {
			like[s.known[e].likeness()] += n
		}
	}
	return slices.DeleteFunc(list, func(e int32) bool {
		by := s.known[e].likeness()
		like[by]--
		return like[by] >= 0 && (by.id != "" || by.Counted)
	})
}

// common returns how many bytes two lists of pieces begin and end with that are the same
// places of the text. The two do not overlap in the shorter one.
func common(a, b []piece) (front, back uint32) {
	i := 0
	for ; i < len(a) && i < len(b) && a[i] == b[i]; i++ {
		front += a[i].n
	}
	if i < len(a) && i < len(b) && a[i].off == b[i].off {
		front += min(a[i].n, b[i].n)
	}
	most := min(length(a), length(b)) - front
	for x, y := len(a)-1, len(b)-1; x >= i && y >= i; x, y = x-1, y-1 {
		if a[x].end() != b[y].end() {
			break
		}
		back += min(a[x].n, b[y].n)
		if a[x].n != b[y].n {
			break
		}
	}
	return front, min(back, most)
}

// length returns how many bytes pieces have together.
func length(pieces []piece) (n uint32) {
	for _, p := range pieces {
		n += p.n
	}
	return n
}
