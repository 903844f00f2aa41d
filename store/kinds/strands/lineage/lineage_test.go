package lineage

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// prints makes the prints of a list in which a word is an id, or with a "~"
// before it what a message without an id says.
func prints(words ...string) []Print {
	list := []Print{}
	for _, word := range words {
		if word[0] == '~' {
			list = append(list, OfContent([]byte(word)))
			continue
		}
		list = append(list, OfID(word))
	}
	return list
}

func TestAdd(t *testing.T) {
	type saved struct {
		words   []string
		removed int
		parent  int
		how     How
		shared  int
	}
	list := func(words ...string) []string { return words }
	for name, lives := range map[string][]saved{
		"a conversation goes on": {
			{list("1", "2"), -1, -1, Root, 0},
			{list("1", "2", "3", "4"), -1, 0, Beginning, 2},
			{list("1", "2", "3", "4", "5", "6"), -1, 1, Beginning, 4},
		},
		"a restore, and on from there": {
			{list("1", "2"), -1, -1, Root, 0},
			{list("1", "2", "3", "4"), -1, 0, Beginning, 2},
			{list("1", "2", "5"), -1, 0, Beginning, 2},
		},
		"a restore that is saved as it is": {
			{list("1", "2"), -1, -1, Root, 0},
			{list("1", "2", "3", "4"), -1, 0, Beginning, 2},
			{list("1", "2"), -1, 0, Beginning, 2},
			{list("1", "2", "7"), -1, 2, Beginning, 2},
		},
		"only the rest of the state changed": {
			{list("1", "2"), -1, -1, Root, 0},
			{list("1", "2"), -1, 0, Beginning, 2},
			{list("1", "2"), -1, 1, Beginning, 2},
		},
		"a restore to what no snapshot holds": {
			{list("1", "2", "3"), -1, -1, Root, 0},
			{list("1", "2", "4"), -1, -1, Root, 0},
		},
		"before the first message": {
			{list(), -1, -1, Root, 0},
			{list("1"), -1, 0, Beginning, 0},
			{list(), -1, 0, Beginning, 0},
			{list("2"), -1, 2, Beginning, 0},
		},
		"a window that slides": {
			{list("1", "2", "3", "4"), -1, -1, Root, 0},
			{list("3", "4", "5", "6"), -1, 0, Overlap, 2},
			{list("5", "6", "7", "8"), -1, 1, Overlap, 2},
			{list("8"), -1, 2, Overlap, 1},
		},
		"a window that slid, and a restore to before that": {
			{list("1", "2", "3", "4"), -1, -1, Root, 0},
			{list("3", "4", "5", "6"), -1, 0, Overlap, 2},
			{list("1", "2", "3", "4", "9"), -1, 0, Beginning, 4},
			{list("3", "4", "5", "6", "8"), -1, 1, Beginning, 4},
		},
		"one that holds less cannot have become one that holds more": {
			{list("1", "2", "3", "4"), -1, -1, Root, 0},
			{list("3", "4"), -1, 0, Overlap, 2},
			{list("1", "2", "3", "4", "9"), -1, 0, Beginning, 4},
			{list("2", "3", "4", "8"), -1, 0, Overlap, 3},
		},
		"a summary in place of the first messages": {
			{list("1", "2", "3", "4"), -1, -1, Root, 0},
			{list("s", "3", "4", "5"), -1, 0, Overlap, 3},
			{list("s", "3", "4", "5", "6"), -1, 1, Beginning, 4},
			{list("z", "5", "6", "7"), -1, 2, Overlap, 3},
			{list("1", "2", "3", "4", "x"), -1, 0, Beginning, 4},
			{list("s", "3", "4", "5", "y"), -1, 1, Beginning, 4},
		},
		"a summary goes when the window slides": {
			{list("1", "2", "3", "4"), -1, -1, Root, 0},
			{list("1", "s", "4"), -1, 0, Overlap, 3},
			{list("s", "4", "5"), -1, 1, Overlap, 2},
			{list("4", "5", "6"), -1, 2, Overlap, 2},
			{list("s", "4", "5", "7"), -1, 2, Beginning, 3},
		},
		"two messages that nobody knows are no summary": {
			{list("1", "2", "3", "4"), -1, -1, Root, 0},
			{list("s", "4"), -1, 0, Overlap, 2},
			{list("x", "y", "4"), -1, -1, Root, 0},
		},
		"a message that came twice is none before the run": {
			{list("1", "2", "7"), -1, -1, Root, 0},
			{list("7", "x", "7"), -1, 0, Overlap, 1},
		},
		"messages that are pinned stay": {
			{list("1", "2", "3", "4", "5"), -1, -1, Root, 0},
			{list("1", "2", "5", "6"), -1, 0, Overlap, 3},
			{list("1", "2", "s", "6", "7"), -1, 1, Overlap, 4},
		},
		"nothing is left in common": {
			{list("1", "2"), 0, -1, Root, 0},
			{list("3", "4"), 2, 0, Guess, 0},
			{list("1", "2", "8"), 0, 0, Beginning, 2},
			{list("9"), 3, 2, Guess, 0},
			{list("a"), 1, -1, Root, 0},
			{list("b"), -1, -1, Root, 0},
		},
		"a guess needs a count": {
			{list("1", "2"), 0, -1, Root, 0},
			{list("1", "2", "3"), -1, 0, Beginning, 2},
			{list("9"), 4, 0, Guess, 0},
			{list("4"), -1, -1, Root, 0},
			{list("8"), -1, -1, Root, 0},
			{list("7"), 0, -1, Root, 0},
		},
		"without ids": {
			{list("~q", "~a"), -1, -1, Root, 0},
			{list("~q", "~a", "~q2", "~a2"), -1, 0, Beginning, 2},
			{list("~q2", "~a2", "~q3", "~a3"), -1, 1, Overlap, 2},
			{list("~s", "~q3", "~a3", "~q4"), -1, 2, Overlap, 3},
			// One word in common, with something else before it, says nothing.
			{list("~hello", "~a"), -1, -1, Root, 0},
		},
		"without ids, and all alike": {
			{list("~x", "~x"), -1, -1, Root, 0},
			{list("~x", "~x", "~x", "~x"), -1, 0, Beginning, 2},
			{list("~x", "~x", "~x"), -1, 1, Overlap, 3},
			{list("~x"), -1, 2, Overlap, 1},
		},
	} {
		tree := NewTree()
		for i, s := range lives {
			if got, want := tree.Add(prints(s.words...), s.removed), (Link{s.parent, s.how, s.shared}); got != want {
				t.Errorf("%s: snapshot %d, %v: %+v, not %+v", name, i, s.words, got, want)
			}
		}
	}
}

// list is what was saved of a life.
type list struct {
	messages []Print
	removed  int
}

// oracle finds parents as the package comment says it, by comparing all with
// all.
type oracle struct {
	lists   []list
	heads   []int // messages at the front that are not a run of what came before
	reaches []int // messages that the conversation had, as far as it was counted
}

func (o *oracle) add(b list) Link {
	link := o.link(b)
	head := 0
	switch link.How {
	case Beginning:
		head = o.heads[link.Parent]
	case Overlap:
		a, run := o.lists[link.Parent].messages, 0
		for run < link.Shared && run < len(a)-o.heads[link.Parent] && a[len(a)-1-run] == b.messages[link.Shared-1-run] {
			run++
		}
		head = link.Shared - run
	}
	for i, a := range o.lists {
		if slices.Equal(a.messages, b.messages) {
			head = o.heads[i]
		}
	}
	o.lists, o.heads = append(o.lists, b), append(o.heads, head)
	o.reaches = append(o.reaches, b.removed+len(b.messages)-head)
	return link
}

func (o *oracle) link(b list) Link {
	link := Link{Parent: -1}
	for i, a := range o.lists {
		if n := len(a.messages); n >= link.Shared && n <= len(b.messages) && slices.Equal(a.messages, b.messages[:n]) {
			link = Link{i, Beginning, n}
		}
	}
	for shared := len(b.messages); shared > link.Shared; shared-- {
		fewest := len(b.messages)
		found := Link{Parent: -1}
		for i, a := range o.lists {
			unexplained, ok := explains(a.messages, b.messages[:shared])
			if ok && unexplained <= fewest && (unexplained == 0 || link.Shared == 0 || b.messages[unexplained].ByID()) {
				fewest, found = unexplained, Link{i, Overlap, shared}
			}
		}
		if found.Parent >= 0 {
			return found
		}
	}
	if link.Shared == 0 && b.removed > 0 {
		for i := range o.lists {
			if o.lists[i].removed >= 0 && o.reaches[i] <= b.removed {
				link = Link{i, Guess, 0}
			}
		}
	}
	return link
}

// explains reports whether b can be what is left of a.
func explains(a, b []Print) (unexplained int, ok bool) {
	run := 0
	for run < len(a) && run < len(b) && a[len(a)-1-run] == b[len(b)-1-run] {
		run++
	}
	front := b[:len(b)-run]
	switch {
	case run == 0:
		return 0, false
	case len(front) == 0:
		return 0, true
	case b[len(front)].ByID() && len(front) > mostHead, !b[len(front)].ByID() && (run < 2 || len(front) > 1):
		return 0, false
	}
	unknown, rest := 0, a[:len(a)-run]
	for _, print := range slices.Backward(front) {
		at := -1
		for i, other := range rest {
			if other == print {
				at = i
			}
		}
		if at < 0 {
			unknown++
			continue
		}
		rest = rest[:at]
	}
	return len(front), unknown < 2
}

// life is a session that is lived at random.
type life struct {
	*rand.Rand
	made     int  // messages
	ids      bool // messages have ids
	counts   bool // what is removed is counted
	alike    bool // messages may say the same
	messages []Print
	removed  int
	at       int // the snapshot that was saved or restored last

	saved   []list
	parents []int // the true ones
	trimmed []bool
}

func (l *life) message() Print {
	l.made++
	name := fmt.Sprint(l.made)
	switch {
	case l.ids:
		return OfID(name)
	case l.alike && l.IntN(3) > 0:
		return OfContent([]byte{byte('a' + l.IntN(2))})
	}
	return OfContent([]byte(name))
}

// step does one of the things that happen to a session, and saves.
func (l *life) step(trims bool) {
	trimmed := false
	switch kind := l.IntN(10); {
	case kind < 2 && len(l.saved) > 0:
		l.at = l.IntN(len(l.saved))
		l.messages, l.removed = slices.Clone(l.saved[l.at].messages), l.saved[l.at].removed
		trimmed = l.trimmed[l.at]
	case kind == 2: // only the rest of the state changes, or a message is redacted
		l.save(trimmed)
		return
	}
	for range l.IntN(4) {
		l.messages = append(l.messages, l.message())
	}
	if n := len(l.messages); trims && n > 0 && l.IntN(3) == 0 {
		trimmed = true
		cut := l.IntN(n + 1)
		l.removed += cut
		switch pinned := min(cut, l.IntN(6)); {
		case pinned < 3 && l.IntN(4) == 0: // some stay at the front
			l.removed -= pinned
			l.messages = append(slices.Clone(l.messages[:pinned]), l.messages[cut:]...)
		case l.IntN(3) == 0: // a summary takes the place
			l.messages = append([]Print{l.message()}, l.messages[cut:]...)
		default:
			l.messages = slices.Clone(l.messages[cut:])
		}
	}
	l.save(trimmed)
}

func (l *life) save(trimmed bool) {
	removed := UnknownRemoved
	if l.counts {
		removed = l.removed
	}
	l.saved = append(l.saved, list{slices.Clone(l.messages), removed})
	parent := l.at
	if len(l.saved) == 1 {
		parent = -1
	}
	l.parents, l.trimmed, l.at = append(l.parents, parent), append(l.trimmed, trimmed), len(l.saved)-1
}

// The tree is the one that comparing all with all gives, whatever happens.
func TestAdd_agreesWithComparingAll(t *testing.T) {
	for seed := range uint64(600) {
		l := &life{Rand: rand.New(rand.NewPCG(seed, 1)), ids: seed%3 != 0, alike: seed%2 == 0, counts: seed%5 == 0}
		tree, all := NewTree(), oracle{}
		for range 40 {
			l.step(seed%4 != 0)
			i := len(l.saved) - 1
			want := all.add(l.saved[i])
			if got := tree.Add(l.saved[i].messages, l.saved[i].removed); got != want {
				t.Fatalf("life %d, snapshot %d: %+v, not %+v", seed, i, got, want)
			}
		}
	}
}

// The true parent is found wherever the messages can tell: the parent found
// holds what the true one holds, as far as something of that is left.
func TestAdd_findsTheTrueParent(t *testing.T) {
	told, exact, all := 0, 0, 0
	for seed := range uint64(600) {
		trims := seed%3 != 0
		l := &life{Rand: rand.New(rand.NewPCG(seed, 2)), ids: seed%2 == 0}
		tree := NewTree()
		for range 60 {
			l.step(trims)
			i := len(l.saved) - 1
			now := l.saved[i].messages
			got := tree.Add(now, UnknownRemoved)
			all++
			if l.parents[i] < 0 {
				if got.Parent >= 0 {
					t.Fatalf("life %d: the first snapshot has a parent", seed)
				}
				continue
			}
			truth := l.saved[l.parents[i]].messages
			if !trims {
				// Nothing was taken out: it is the last snapshot that holds what
				// the true parent holds.
				want := l.parents[i]
				for k := range i {
					if slices.Equal(l.saved[k].messages, truth) {
						want = k
					}
				}
				if got.Parent != want || got.How != Beginning {
					t.Fatalf("life %d, snapshot %d: %+v, but it follows %d", seed, i, got, want)
				}
				told, exact = told+1, exact+1
				continue
			}
			left := slices.Index(now, last(truth))
			if len(truth) == 0 || left < 0 || !l.ids && left == 0 && len(truth) > 1 {
				continue // nothing that it held last is left, or one word that others may say
			}
			if unexplained, ok := explains(truth, now[:left+1]); !ok || !l.ids && unexplained > 0 {
				continue
			}
			told++
			if got.Parent < 0 || last(l.saved[got.Parent].messages) != last(truth) {
				t.Fatalf("life %d, snapshot %d: %+v, but it follows %d", seed, i, got, l.parents[i])
			}
			ends := 0
			for k := range i {
				if last(l.saved[k].messages) == last(truth) {
					ends++
				}
			}
			if ends == 1 {
				exact++
				if got.Parent != l.parents[i] {
					t.Fatalf("life %d, snapshot %d: %+v, but only %d ends there", seed, i, got, l.parents[i])
				}
			}
		}
	}
	if told < all/2 || exact < all/4 {
		t.Errorf("of %d snapshots %d could be told, %d of them exactly: the lives are too odd to say anything", all, told, exact)
	}
	t.Logf("of %d snapshots %d could be told, %d of them exactly", all, told, exact)
}

func last(messages []Print) Print {
	if len(messages) == 0 {
		return 0
	}
	return messages[len(messages)-1]
}

// A redacted message keeps its id, and so is the same message.
func TestPrint(t *testing.T) {
	seen := map[Print]string{}
	for _, word := range []string{"a", "b", ""} {
		for name, p := range map[string]Print{"id " + word: OfID(word), "content " + word: OfContent([]byte(word))} {
			if other, taken := seen[p]; taken || p.ByID() != (name[0] == 'i') {
				t.Errorf("%q has the print %#x, and so has %q", name, uint64(p), other)
			}
			seen[p] = name
		}
	}
	if got := OfContent([]byte("kept")); got != 0x52a719ddab76f078 {
		t.Errorf("the print is %#x: those that were kept are of no use any more", uint64(got))
	}
}

// A print of zero is that of a message, and not the end of a window. Even ones are of
// messages without an id.
func TestAdd_zeroIsAPrint(t *testing.T) {
	for _, more := range [][]Print{{0, 6}, {0, 0, 6}, {0, 6, 8}, {0, 0, 0, 6, 0}} {
		tree := NewTree()
		tree.Add([]Print{6}, UnknownRemoved)
		if got := tree.Add(more, UnknownRemoved); got.Parent != -1 {
			t.Errorf("%v goes on from one that holds less: %+v", more, got)
		}
		if got := tree.Add(more, UnknownRemoved); got != (Link{1, Beginning, len(more)}) {
			t.Errorf("%v once more: %+v", more, got)
		}
	}
}

// A list that is saved over and over is one window: it drives no other out.
func TestAdd_theSameAgain(t *testing.T) {
	tree := NewTree()
	tree.Add(prints("1", "2", "9"), UnknownRemoved)
	for range 2 * mostAlike {
		tree.Add(prints("3", "4", "9"), UnknownRemoved)
	}
	if got := tree.Add(prints("2", "9", "5"), UnknownRemoved); got != (Link{0, Overlap, 2}) {
		t.Errorf("%+v", got)
	}
	// Of those that are driven out, the first is the one that was saved longest ago.
	tree = NewTree()
	tree.Add(prints("1", "2", "9"), UnknownRemoved)
	for i := range mostAlike - 1 {
		tree.Add(prints(fmt.Sprint("x", i), "y", "9"), UnknownRemoved)
	}
	tree.Add(prints("1", "2", "9"), UnknownRemoved)
	tree.Add(prints("3", "4", "9"), UnknownRemoved)
	if got := tree.Add(prints("2", "9", "5"), UnknownRemoved); got != (Link{mostAlike, Overlap, 2}) {
		t.Errorf("%+v", got)
	}
}

// Messages that are all alike cost no more than bounds allow.
func TestAdd_isBounded(t *testing.T) {
	tree, spends := NewTree(), false
	same := OfContent([]byte("ok"))
	for i := range 200 {
		messages := slices.Repeat([]Print{same}, 1+i*7919%997)
		messages[0] = OfContent(fmt.Append(nil, i)) // so that no list begins another
		tree.Add(messages, UnknownRemoved)
		if spent := mostSteps - tree.steps; spent > mostSteps+mostAlike*3*len(messages) {
			t.Fatalf("snapshot %d took %d steps", i, spent)
		} else if spent > len(messages) {
			spends = true
		}
	}
	if !spends {
		t.Error("no snapshot is compared with another")
	}
	if n := len(tree.ends[same]); n > mostAlike {
		t.Errorf("%d windows are kept of one end", n)
	}
}

// Of the messages at the front that stayed, no more are explained than bounds allow.
func TestAdd_boundsWhatIsPinned(t *testing.T) {
	var words []string
	for i := range mostHead + 9 {
		words = append(words, fmt.Sprint(i))
	}
	last := words[len(words)-1]
	for pinned, want := range map[int]Link{mostHead: {0, Overlap, mostHead + 1}, mostHead + 1: {-1, Root, 0}} {
		tree := NewTree()
		tree.Add(prints(words...), UnknownRemoved)
		if got := tree.Add(prints(append(append([]string{"0"}, words[2:pinned+1]...), last)...), UnknownRemoved); got != want {
			t.Errorf("%d messages stayed: %+v, not %+v", pinned, got, want)
		}
	}
}

// Neither a tree nor its clone sees what the other takes in, however long what they share is.
func TestClone_sharesNothing(t *testing.T) {
	for length := range 9 {
		var words []string
		tree := NewTree()
		for i := range length + 1 {
			words = append(words, fmt.Sprint(i))
			tree.Add(prints(words...), UnknownRemoved)
		}
		clone := tree.Clone()
		tree.Add(prints(append(slices.Clone(words), "t", "u")...), UnknownRemoved)
		clone.Add(prints(append(slices.Clone(words), "c", "d")...), UnknownRemoved)
		clone.Add(prints(words...), UnknownRemoved)
		if got, want := tree.Add(prints("t", "u", "v"), UnknownRemoved), (Link{length + 1, Overlap, 2}); got != want {
			t.Errorf("%d messages: %+v in the tree, not %+v", length+1, got, want)
		}
		if got, want := tree.Add(prints(append(slices.Clone(words), "x")...), UnknownRemoved), (Link{length, Beginning, length + 1}); got != want {
			t.Errorf("%d messages: %+v in the tree, not %+v", length+1, got, want)
		}
		if got, want := clone.Add(prints("c", "d", "e"), UnknownRemoved), (Link{length + 1, Overlap, 2}); got != want {
			t.Errorf("%d messages: %+v in the clone, not %+v", length+1, got, want)
		}
	}
}

// What a clone takes in, the tree that it is of does not know, nor the other way round.
func TestClone_goesOnByItself(t *testing.T) {
	tree := NewTree()
	tree.Add(prints("1", "2"), -1)
	clone := tree.Clone()
	clone.Add(prints("1", "2", "3", "4"), -1)
	tree.Add(prints("1", "2", "7"), -1)
	for name, c := range map[string]struct {
		of     *Tree
		words  []string
		parent int
		how    How
		shared int
	}{
		"the clone knows its own":          {clone.Clone(), []string{"1", "2", "3", "4", "5"}, 1, Beginning, 4},
		"the clone knows of the first":     {clone.Clone(), []string{"1", "2", "7", "8"}, 0, Beginning, 2},
		"the tree knows its own":           {tree.Clone(), []string{"1", "2", "7", "8"}, 1, Beginning, 3},
		"the tree does not know the other": {tree.Clone(), []string{"1", "2", "3", "4", "5"}, 0, Beginning, 2},
		"an overlap with the clone":        {clone.Clone(), []string{"3", "4", "5"}, 1, Overlap, 2},
		"none with the tree":               {tree.Clone(), []string{"3", "4", "5"}, -1, Root, 0},
	} {
		if got := c.of.Add(prints(c.words...), -1); got.Parent != c.parent || got.How != c.how || got.Shared != c.shared {
			t.Errorf("%s: %+v, want %d, %v, %d", name, got, c.parent, c.how, c.shared)
		}
	}
}
