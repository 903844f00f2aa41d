package query

import (
	"bytes"
	"hash/maphash"
	"slices"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
)

// What each visit adds to the list of messages. A list is held as numbers, one an element;
// elements with the same value have the same number. That of a visit is made of the list of
// its parent: what both have at the front and at the end is taken over.
//
//	parent    [ 1 2 3 4 5 ]
//	visit   [ 1 2 3 7 5 ]     by the pieces: 1 2 3 and 5 are the same bytes
//	               ^          read, and numbered
type said struct {
	*view
	*numbered
	// uses counts for each visit those whose list is made of its own.
	uses  []int32
	lists map[model.Node]list
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
}

// list is the messages in the state of a visit.
type list struct {
	value
	// ends are where in the value the elements end.
	ends     []uint32
	elements []int32
	// path is where the list is; -1 for none.
	path int
}

// message is what one message says.
type message struct {
	conversation.Usage
	// id is what the framework knows it by, "" for none.
	id            string
	calls, errors int
}

// listPaths is where the frameworks keep their messages.
var listPaths = []Path{{[]string{"messages"}}, {[]string{"data", "messages"}}, {[]string{"state", "messages"}}, {[]string{"history"}}, {}}

func newNumbered() *numbered {
	return &numbered{seed: maphash.MakeSeed(), spelled: map[uint64]int32{}, numbers: map[uint64]int32{}}
}

// said returns the lists of messages; those of two sessions may have their numbers in common.
func (v *view) said(all *numbered) *said {
	s := &said{view: v, numbered: all, uses: make([]int32, len(v.visits)), lists: map[model.Node]list{}}
	for n := range v.nodes() {
		if parent := v.visits[n].parent; parent != model.NoNode {
			s.uses[parent]++
		}
	}
	return s
}

// adds returns the numbers of the messages that a visit adds to those of its parent, each
// message once, and whether it has a list of messages at all. The visit is loaded, and its
// parent was asked for before; each visit is asked for once.
//
// A message that is only written anew is none of them: one of the same id, or without ids
// one in the place of another that cost the same.
func (s *said) adds(n model.Node) (added []int32, has bool, err error) {
	parent := list{path: -1}
	if b := s.visits[n].parent; b != model.NoNode {
		parent = s.lists[b]
		if s.uses[b]--; s.uses[b] == 0 {
			delete(s.lists, b)
		} else { // another visit will be made of it
			parent.ends, parent.elements = slices.Clone(parent.ends), slices.Clone(parent.elements)
		}
	}
	now, old, new, err := s.list(n, parent)
	if err != nil {
		return nil, false, err
	}
	if s.uses[n] > 0 {
		s.lists[n] = now
	}
	return s.more(old, new), now.path >= 0, nil
}

// list returns the messages in the state of a visit, made of the list of the parent, and
// those elements of both between the ones at the front and at the end that stayed.
func (s *said) list(n model.Node, parent list) (now list, old, new []int32, err error) {
	now.path = -1
	order := []int{0, 1, 2, 3, 4}
	if parent.path > 0 {
		order[0], order[parent.path] = parent.path, 0
	}
	for _, i := range order {
		if now.value, err = s.at(n, listPaths[i]); err != nil {
			return now, nil, nil, err
		}
		if !now.none() && s.bytes()[now.pieces[0].off] == '[' {
			now.path = i
			break
		}
	}
	if now.path < 0 {
		return now, nil, nil, nil
	}
	if now.path != parent.path {
		parent = list{path: now.path}
	}
	front, back := common(parent.pieces, now.pieces)
	size, before := length(now.pieces), length(parent.pieces)
	// At the front those elements stay that end before it does: a number might go on behind.
	same, _ := slices.BinarySearch(parent.ends, front)
	begin := uint32(0)
	if same > 0 {
		begin = parent.ends[same-1]
	}
	// At the end those stay that begin in it, with the comma before them.
	end, stay := size, len(parent.ends)
	if i, _ := slices.BinarySearch(parent.ends, before-back); i < len(parent.ends) {
		end, stay = parent.ends[i]+size-before, i+1
	}
	ends, behind := slices.Clone(parent.ends[stay:]), slices.Clone(parent.elements[stay:])
	old = slices.Clone(parent.elements[same:stay])
	now.ends, now.elements = parent.ends[:same], parent.elements[:same] // in the same memory
	if err := s.split(&now, begin, end); err != nil {
		return now, nil, nil, err
	}
	new = slices.Clone(now.elements[same:])
	for i, at := range ends {
		now.ends, now.elements = append(now.ends, at+size-before), append(now.elements, behind[i])
	}
	return now, old, new, nil
}

// split reads the elements between two places of a list, and adds them to it. At begin is
// the bracket that opens it, or an element ends there; so one does at end.
func (s *said) split(l *list, begin, end uint32) error {
	text := join(nil, s.bytes(), cut(l.pieces, int(begin), int(end-begin)))
	if begin > 0 {
		comma := bytes.IndexByte(text, ',')
		if comma < 0 {
			return nil // nothing follows
		}
		text, begin = text[comma:], begin+uint32(comma)
		text[0] = '['
	}
	if length(l.pieces) != end {
		text = append(text, ']')
	}
	for m, err := range jsontape.Members(text) {
		if err != nil {
			return err
		}
		l.ends = append(l.ends, begin+uint32(m.Offset+len(m.Value)))
		l.elements = append(l.elements, s.number(m.Value))
	}
	return nil
}

// number returns the number of an element: the same for the same value, however it is
// written.
func (s *numbered) number(element []byte) int32 {
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
		m := message{}
		if err == nil {
			m = read(tape)
		}
		s.numbers[value], s.known = number, append(s.known, m)
	}
	s.spelled[sum] = number
	return number
}

// read reads what the one message of a list says.
func read(tape *jsontape.Tape) (m message) {
	n := tape.First(0)
	m.Usage = conversation.UsageOf(tape, n)
	for _, key := range []string{"id", "tracking_id", "trackingId"} {
		if at := tape.Find(n, key); tape.Kind(at) == jsontape.String {
			m.id = tape.Text(at)
		}
	}
	c := conversation.Decode(tape)
	for b := range c.BlockLen() {
		switch block := c.Block(b); {
		case block.Kind == conversation.ToolCall:
			m.calls++
		case block.Kind == conversation.ToolResult && block.Status == conversation.Failed:
			m.errors++
		}
	}
	return m
}

// more returns what one list has more than another. Elements may leave at the front while
// others come at the end. Otherwise each element counts as often as it is there.
func (s *said) more(old, new []int32) []int32 {
	for len(old) > 0 && len(new) > 0 && old[0] == new[0] {
		old, new = old[1:], new[1:]
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

// likeness is what tells a message that was written anew.
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

// unlike returns those elements of a list that are none of another: neither the same nor the
// same message written anew.
func (s *said) unlike(list, gone []int32) []int32 {
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
