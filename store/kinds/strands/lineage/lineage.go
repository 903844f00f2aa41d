package lineage

import (
	"maps"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// How says by what evidence a parent was found.
type How uint8

const (
	// Root: there is no parent, as far as can be told.
	Root How = iota
	// Guess: nothing is shared; the parent is the last one that can have come
	// before.
	Guess
	// Overlap: the last messages of the parent are among those of the snapshot;
	// others were taken out since.
	Overlap
	// Beginning: the snapshot holds all messages of its parent, first of all.
	Beginning
)

// Link is the edge from a snapshot to its parent.
type Link struct {
	// Parent is the position of the parent, from 0; -1 means that there is no parent.
	Parent int
	How    How
	// Shared counts the messages up to the one that the parent ends with: those
	// behind them are new.
	Shared int
}

const (
	// mostAlike bounds the windows that end with one message.
	mostAlike = 64
	// mostSteps bounds the messages that are compared for one snapshot.
	mostSteps = 1 << 20
	// mostHead bounds the messages that stay at the front when others behind
	// them are taken out.
	mostHead = 32
	// mostGuesses bounds how far back a guess looks.
	mostGuesses = 1024
)

// UnknownRemoved says that it is not known how many messages were taken out.
const UnknownRemoved = -1

// node is one message on a chain.
type node struct {
	print  Print
	before int32 // -1 for none
}

// window holds the messages of a snapshot; several snapshots may share it.
type window struct {
	end  int32 // node of the last message, -1 for none
	body int   // messages on the chain, counted from the end
	// head are the messages before those, which are not on the chain.
	head   []Print
	latest int // the last snapshot that was saved with it
}

// counted is a snapshot with the number of messages that were taken out.
type counted struct{ snapshot, reaches int }

// Tree takes in the snapshots of one session. Use NewTree. It is not safe for
// concurrent use.
type Tree struct {
	seed    uint64
	n       int // snapshots
	nodes   []node
	windows []window
	// whole gives the window of the hash of a whole list, ends those that end
	// with a message, the last one saved at the end.
	whole map[uint64]int32
	ends  map[Print][]int32
	// counted are the snapshots that a guess may take.
	counted []counted
	// The previous list: its messages, and for each message the hash of the prefix that
	// it ends, and the window that ends there, or -1.
	last  []Print
	hash  []uint64
	found []int32

	steps int // that are left for this snapshot
}

// NewTree returns a tree without snapshots.
func NewTree() *Tree {
	return &Tree{seed: rand.Uint64() | 1, whole: make(map[uint64]int32), ends: make(map[Print][]int32)}
}

// Clone returns a tree that took in the same snapshots, and goes on by itself.
func (t *Tree) Clone() *Tree {
	c := *t
	c.nodes, c.windows, c.counted = slices.Clone(t.nodes), slices.Clone(t.windows), slices.Clone(t.counted)
	c.last, c.hash, c.found = slices.Clone(t.last), slices.Clone(t.hash), slices.Clone(t.found)
	c.whole, c.ends = maps.Clone(t.whole), make(map[Print][]int32, len(t.ends))
	for end, windows := range t.ends {
		c.ends[end] = slices.Clone(windows)
	}
	return &c
}

// match is a window that a list goes on from.
type match struct {
	window int32
	shared int // messages of the list up to the window's end
	// chained counts the shared messages on the window's chain. unexplained counts the
	// messages at the front that are not among the window's last messages.
	chained, unexplained int
	how                  How
}

// Add takes in the next snapshot and returns its parent among those before.
// removed is how many messages were taken out at its front since the
// conversation began, UnknownRemoved if that is not known. The list is not kept.
func (t *Tree) Add(messages []Print, removed int) Link {
	t.steps = mostSteps
	m := t.longestBeginning(messages)
	if further, ok := t.findOverlap(messages, m.shared); ok {
		m = further
	}
	link := Link{Parent: -1, Shared: m.shared}
	guess := t.guessParent(removed)
	switch {
	case m.shared == 0 && guess >= 0:
		link.Parent, link.How, m = guess, Guess, match{window: -1}
	case m.window >= 0:
		link.Parent, link.How = t.windows[m.window].latest, m.how
	}
	at := t.settleWindow(messages, m)
	if removed >= 0 {
		t.counted = append(t.counted, counted{t.n, removed + t.windows[at].body})
	}
	t.n++
	return link
}

// longestBeginning returns the window with the most messages that all lead the
// list, and hashes the list. An empty window leads every list.
func (t *Tree) longestBeginning(messages []Print) match {
	same := 0
	for same < len(t.last) && same < len(messages) && t.last[same] == messages[same] {
		same++
	}
	t.last = append(t.last[:same], messages[same:]...)
	hash := t.seed
	if same > 0 {
		hash = t.hash[same-1]
		// What the list before added may end here by now.
		t.found[same-1] = t.lookUp(hash)
	}
	t.hash, t.found = t.hash[:same], t.found[:same]
	for _, print := range messages[same:] {
		hash = t.growHash(hash, print)
		t.hash, t.found = append(t.hash, hash), append(t.found, t.lookUp(hash))
	}
	for i := len(t.found) - 1; i >= 0; i-- {
		if t.found[i] >= 0 {
			return match{window: t.found[i], shared: i + 1, how: Beginning}
		}
	}
	return match{window: t.lookUp(t.seed), how: Beginning}
}

// growHash returns the hash of a list with one message more.
func (t *Tree) growHash(hash uint64, print Print) uint64 {
	high, low := bits.Mul64(hash^uint64(print), 0x9E3779B97F4A7C15^t.seed)
	return bits.RotateLeft64(high^low, 23) + t.seed
}

func (t *Tree) lookUp(hash uint64) int32 {
	if w, ok := t.whole[hash]; ok {
		return w
	}
	return -1
}

// findOverlap returns the window whose last message comes latest in the list, behind its
// first beyond messages. Of several windows it prefers the fewest unexplained messages,
// then the last that was saved.
func (t *Tree) findOverlap(messages []Print, beyond int) (best match, ok bool) {
	for at := len(messages) - 1; at >= beyond && t.steps > 0; at-- {
		for _, w := range t.ends[messages[at]] {
			unexplained, fits := t.fitsWindow(&t.windows[w], messages[:at+1])
			if unexplained > 0 && beyond > 0 && !messages[unexplained].ByID() {
				continue // a beginning that is whole says more than words
			}
			if fits && (!ok || unexplained < best.unexplained ||
				unexplained == best.unexplained && t.windows[w].latest > t.windows[best.window].latest) {
				chained := min(at+1-unexplained, t.windows[w].body)
				best, ok = match{w, at + 1, chained, unexplained, Overlap}, true
			}
		}
		if ok {
			return best, true
		}
	}
	return match{}, false
}

// fitsWindow reports whether a list that ends where the window does can be what is
// left of it, and how many messages at its front are not a run of the window's
// last ones.
func (t *Tree) fitsWindow(w *window, list []Print) (head int, ok bool) {
	b := backwards{tree: t, node: w.end, body: w.body, head: w.head}
	head, rest := len(list), b // at least one message is the same
	for head > 0 {
		print, more := b.next()
		if !more || print != list[head-1] {
			break
		}
		head, rest = head-1, b
	}
	run := len(list) - head
	switch {
	case head == 0:
		return 0, true
	case list[head].ByID() && head > mostHead, !list[head].ByID() && (run < 2 || head > 1):
		return head, false
	}
	// What is left at the front are messages that stayed, and maybe a summary.
	unknown := 0
	for i := head - 1; i >= 0 && unknown < 2; i-- {
		from := rest
		for {
			print, more := rest.next()
			if !more {
				rest = from
				unknown++
				break
			}
			if print == list[i] {
				break
			}
		}
	}
	return head, unknown < 2
}

// backwards walks over the messages of a window from its end.
type backwards struct {
	tree *Tree
	node int32
	body int
	head []Print
}

func (b *backwards) next() (print Print, more bool) {
	b.tree.steps--
	switch {
	case b.body > 0:
		n := b.tree.nodes[b.node]
		b.body, b.node = b.body-1, n.before
		return n.print, true
	case len(b.head) > 0:
		last := len(b.head) - 1
		print, b.head = b.head[last], b.head[:last]
		return print, true
	}
	return 0, false
}

// guessParent returns the last snapshot that ended before the remaining messages of this
// snapshot began, or -1.
func (t *Tree) guessParent(removed int) int {
	if removed <= 0 {
		return -1
	}
	for i := len(t.counted) - 1; i >= max(0, len(t.counted)-mostGuesses); i-- {
		if t.counted[i].reaches <= removed {
			return t.counted[i].snapshot
		}
	}
	return -1
}

// settleWindow keeps what the list adds to the window that it goes on from, and returns
// its own window.
func (t *Tree) settleWindow(messages []Print, m match) int32 {
	hash := t.seed
	if len(messages) > 0 {
		hash = t.hash[len(messages)-1]
	}
	if at, ok := t.whole[hash]; ok {
		t.windows[at].latest = t.n
		t.rememberWindow(messages, at)
		return at
	}
	own := window{end: -1, latest: t.n}
	if m.window >= 0 {
		from := &t.windows[m.window]
		own.end, own.head = from.end, from.head
		if m.how == Overlap {
			own.head = slices.Clone(messages[:m.shared-m.chained])
		}
	}
	own.body = len(messages) - len(own.head)
	for _, print := range messages[m.shared:] {
		t.nodes = append(t.nodes, node{print, own.end})
		own.end = int32(len(t.nodes) - 1)
	}
	at := int32(len(t.windows))
	t.windows = append(t.windows, own)
	t.whole[hash] = at
	t.rememberWindow(messages, at)
	return at
}

// rememberWindow keeps a window as the last one saved that ends as it does.
func (t *Tree) rememberWindow(messages []Print, at int32) {
	if len(messages) == 0 {
		return
	}
	end := messages[len(messages)-1]
	list := slices.DeleteFunc(t.ends[end], func(other int32) bool { return other == at })
	if len(list) == mostAlike {
		list = slices.Delete(list, 0, 1)
	}
	t.ends[end] = append(list, at)
}
