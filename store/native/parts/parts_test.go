package parts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hindcast/model/jsontape/jsontest"
	"hindcast/store"
)

// join puts the parts of a text together again, each checked to be one.
func join(t testing.TB, text []byte, cuts []Part) []byte {
	t.Helper()
	var out []byte
	from := 0
	for i, p := range cuts {
		if p.End <= from || p.End > len(text) || p.End-from > maxPart {
			t.Fatalf("part %d goes from %d to %d of %d", i, from, p.End, len(text))
		}
		out = append(out, text[from:p.End]...)
		from = p.End
	}
	if len(cuts) > len(text)/bytesPerExtent+maxEntries {
		t.Errorf("%d parts in %d bytes", len(cuts), len(text))
	}
	return out
}

// odd are texts that have little in common with a conversation.
func odd() map[string]string {
	return map[string]string{
		"nothing":           "",
		"a number":          "1",
		"white space":       strings.Repeat(" \n\t", 5000) + "1" + strings.Repeat(" ", 5000),
		"numbers":           "[" + strings.Repeat("1,", 50_000) + "1]",
		"brackets":          strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000),
		"deep and large":    strings.Repeat(`{"a":[`, 3000) + `"` + strings.Repeat("x", 9000) + `"` + strings.Repeat("]}", 3000),
		"one string":        `"` + strings.Repeat("abc", 100_000) + `"`,
		"duplicate keys":    "{" + strings.Repeat(`"k":"vvvvvvvv",`, 5000) + `"k":1}`,
		"invalid UTF-8":     "[\"" + strings.Repeat("\xff\xfe\x00", 9000) + "\",\"\xc3\"]",
		"no JSON":           strings.Repeat(`]},"`, 9000),
		"an open string":    `["` + strings.Repeat(`\"`, 9000),
		"large and tiny":    "[" + strings.Repeat(`{"a":"`+strings.Repeat("y", 41)+`"},7,`, 5000) + "0]",
		"large members":     "{" + strings.Repeat(`"a":"`+strings.Repeat("y", 300)+`","b":1,`, 900) + `"c":[]}`,
		"arrays of arrays":  "[" + strings.Repeat("["+strings.Repeat("12345,", 900)+"1],", 9) + "1]",
		"an indented state": string(jsontest.New(200_000, 4).IndentedJSON()),
	}
}

func TestSplit_joinsToTheSameText(t *testing.T) {
	for name, text := range odd() {
		if got := join(t, []byte(text), Split([]byte(text))); string(got) != text {
			t.Errorf("%s: %d bytes come back as %d others", name, len(text), len(got))
		}
	}
}

func FuzzSplit(f *testing.F) {
	for _, text := range odd() {
		f.Add([]byte(text[:min(len(text), 20_000)]))
	}
	f.Add(jsontest.New(20_000, 1).JSON())
	f.Fuzz(func(t *testing.T, text []byte) {
		// Small texts are one part; the seams are inside large ones.
		for _, text := range [][]byte{text, slices.Concat([]byte(`{"a":[`), bytes.Repeat(append(text, ','), 1+9000/(len(text)+1)), []byte(`1]}`))} {
			if got := join(t, text, Split(text)); !bytes.Equal(got, text) {
				t.Errorf("%d bytes come back as %d others", len(text), len(got))
			}
		}
	})
}

// stream is a store of parts in memory, with one stream for each kind of part.
type stream [2][]byte

func (s *stream) put(text *Text, bases ...Base) (list []Extent, added int) {
	for _, p := range Match(text, bases, func(Place) bool { return true }) {
		if p.At == nil {
			k := 0
			if p.Array {
				k = 1
			}
			p.At = []Extent{{Stream(k + 1).At(int64(len(s[k]))), int64(p.To - p.From)}}
			s[k] = append(s[k], text.Bytes[p.From:p.To]...)
			added += p.To - p.From
		}
		for _, e := range p.At {
			list = Append(list, e)
		}
	}
	return list, added
}

func (s *stream) get(list []Extent) (text []byte) {
	for _, e := range list {
		from := e.At.Offset()
		text = append(text, s[e.At.Stream()-1][from:from+e.Len]...)
	}
	return text
}

// TestMatch_findsWhatDidNotChange: how many bytes are new after a change of a
// state of 300 kB.
func TestMatch_findsWhatDidNotChange(t *testing.T) {
	const size = 300_000
	numbers := func(n int) []byte {
		out := []byte(`{"n":[`)
		for i := range n {
			out = fmt.Appendf(out, "%d,", (i+7)*7919%100_003)
		}
		return append(out, "0]}"...)
	}
	members := func(without int) []byte {
		m := map[string]int{}
		for i := range 20_000 {
			if i != without {
				m[fmt.Sprintf("key-%05d", i)] = i * 7919 % 1000
			}
		}
		out, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	text := func(insert string) []byte {
		r := rand.New(rand.NewPCG(3, 4))
		out := []byte(`{"document":"`)
		for i := range size {
			out = append(out, 'a'+byte(r.UintN(20)))
			if i == size/2 {
				out = append(out, insert...)
			}
		}
		return append(out, `"}`...)
	}
	s := jsontest.New(size, 1)
	for _, c := range []struct {
		name     string
		old, new []byte
		most     int
		extents  int
	}{
		{"the same", s.JSON(), s.JSON(), 0, 4},
		{"a message more", s.Clone().JSON(), s.Clone().Append().JSON(), 2000, 4},
		{"a turn", s.Clone().JSON(), s.Clone().Step().JSON(), 2500, 4},
		{"the first message gone", s.Clone().JSON(), s.Clone().DropFirst().JSON(), 2500, 4},
		{"a message edited", s.Clone().JSON(), s.Clone().Edit(1).JSON(), 3000, 6},
		{"ten messages edited", s.Clone().JSON(), s.Clone().Edit(10).JSON(), 20_000, 25},
		{"mixed changes", s.Clone().JSON(), s.Clone().Mix(10).JSON(), 20_000, 40},
		{"numbers appended", numbers(30_000), numbers(30_010), 3000, 6},
		{"a number at the front", numbers(30_000), bytes.Replace(numbers(30_000), []byte(`[`), []byte(`[5,`), 1), 3000, 6},
		{"a member in the middle", members(10_000), members(-1), 3000, 6},
		{"a word in a long string", text(""), text("inserted"), 3 * maxPart / 2, 6},
	} {
		var kept stream
		old := NewText(c.old)
		list, _ := kept.put(old)
		next := NewText(c.new)
		changed, added := kept.put(next, Base{old, list})
		if got := kept.get(changed); !bytes.Equal(got, c.new) {
			t.Errorf("%s: %d bytes come back as %d others", c.name, len(c.new), len(got))
		}
		if added > c.most || len(changed) > c.extents {
			t.Errorf("%s: %d bytes are new, in a list of %d", c.name, added, len(changed))
		}
	}
}

// TestMatch_aWindowThatSlides: each turn drops the first message, and so the comma
// before the next one. That message stays where it is kept: the messages of a
// window are one run, however often it slid, and only what a turn brings is new.
func TestMatch_aWindowThatSlides(t *testing.T) {
	const window, turns = 150, 300
	var kept stream
	s := jsontest.New(0, 1)
	for range window {
		s.Append()
	}
	before := NewText(s.JSON())
	list, _ := kept.put(before)
	added, brought, runs := 0, 0, 0
	for range turns {
		next := NewText(s.Step().DropFirst().JSON())
		var fresh int
		list, fresh = kept.put(next, Base{before, list})
		if got := kept.get(list); !bytes.Equal(got, next.Bytes) {
			t.Fatalf("%d bytes come back as %d others", len(next.Bytes), len(got))
		}
		added, runs = added+fresh, runs+len(list)
		brought += len(s.Messages[len(s.Messages)-1])
		before = next
	}
	t.Logf("%d runs in %d states, %d bytes new for %d of messages", runs, turns, added, brought)
	if runs > 4*turns {
		t.Errorf("%d runs in %d states", runs, turns)
	}
	if 2*added > 3*brought {
		t.Errorf("%d bytes are new, for messages of %d", added, brought)
	}
}

func TestMatch_leavesOutWhatMayNotBeUsed(t *testing.T) {
	var kept stream
	text := NewText(jsontest.New(30_000, 1).JSON())
	list, _ := kept.put(text)
	for _, p := range Match(text, []Base{{text, list}}, func(p Place) bool { return p.Stream() != 2 }) {
		if p.Array != (p.At == nil) {
			t.Errorf("a part in an array: %v, found: %v", p.Array, p.At)
		}
	}
}

// nodes keeps the nodes of lists in one stream.
type nodes struct{ bytes []byte }

func (n *nodes) keep(node []byte) (Place, error) {
	at := Stream(9).At(int64(len(n.bytes)))
	n.bytes = append(n.bytes, node...)
	return at, nil
}

func (n *nodes) read(wanted []Extent) (texts [][]byte, err error) {
	for _, e := range wanted {
		from, to := e.At.Offset(), e.At.Offset()+e.Len
		if e.At.Stream() != 9 || to > int64(len(n.bytes)) {
			return nil, errors.New("no such node")
		}
		texts = append(texts, n.bytes[from:to])
	}
	return texts, nil
}

func drawList(t *rapid.T, most int) []Extent {
	var list []Extent
	n := rapid.IntRange(0, most).Draw(t, "extents")
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	for len(list) < n {
		list = append(list, Extent{Stream(r.IntN(4) * 3).At(r.Int64N(1 << 20)), 16 + r.Int64N(3000)})
	}
	return list
}

func TestList_comesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := drawList(t, 3000)
		var kept nodes
		root, err := Encode(list, kept.keep)
		if err != nil {
			t.Fatal(err)
		}
		size := Size(list)
		got, err := Decode(root, size, size, kept.read)
		if err != nil || !slices.Equal(got, list) {
			t.Fatalf("%d extents come back as %d, %v", len(list), len(got), err)
		}
		limit := rapid.Int64Range(0, size).Draw(t, "limit")
		some, err := Decode(root, size, limit, kept.read)
		if err != nil || !slices.Equal(some, list[:len(some)]) || Size(some) < limit || len(some) > 0 && Size(some[:len(some)-1]) >= limit {
			t.Fatalf("the first %d bytes are %d extents, %v", limit, len(some), err)
		}
	})
}

// TestList_sharesItsNodes: one change in a long list makes one node new at each
// level.
func TestList_sharesItsNodes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var list []Extent
	for range 20_000 {
		list = append(list, Extent{Stream(3).At(r.Int64N(1 << 30)), 100 + r.Int64N(1000)})
	}
	seen := map[string]Place{}
	encode := func() (root []byte, fresh int) {
		root, err := Encode(list, func(node []byte) (Place, error) {
			at, ok := seen[string(node)]
			if !ok {
				at = Stream(9).At(int64(len(seen)) * maxNode)
				seen[string(node)] = at
				fresh += len(node)
			}
			return at, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return root, fresh
	}
	encode()
	for range 100 {
		list[r.IntN(len(list))].Len++
		if root, fresh := encode(); len(root)+fresh > 3*maxNode/2 {
			t.Errorf("a list of %d takes %d bytes more", len(list), len(root)+fresh)
		}
	}
}

func TestDecode_refuses(t *testing.T) {
	one := appendNode(nil, 0, []entry{{Extent{Stream(1).At(5), 100}, 100}})
	above := appendNode(nil, 1, []entry{{Extent{Stream(9).At(0), int64(len(one))}, 100}})
	kept := nodes{one}
	for name, c := range map[string]struct {
		root []byte
		size int64
	}{
		"nothing":                  {nil, 100},
		"another size":             {one, 99},
		"a larger size":            {one, 101},
		"a level beyond all":       {[]byte{200}, 100},
		"a level that is not":      {append([]byte{2}, above[1:]...), 100},
		"half a number":            {one[:len(one)-1], 100},
		"a negative stream":        {appendNode(nil, 0, []entry{{Extent{-1, 100}, 100}}), 100},
		"an extent of nothing":     {appendNode(nil, 0, []entry{{Extent{1, 100}, 100}, {Extent{1, 0}, 0}}), 100},
		"a node of nothing":        {appendNode(nil, 1, []entry{{Extent{Stream(9).At(0), 0}, 100}}), 100},
		"a huge node":              {appendNode(nil, 1, []entry{{Extent{Stream(9).At(0), 1 << 40}, 100}}), 100},
		"a node that covers less":  {appendNode(nil, 1, []entry{{Extent{Stream(9).At(0), int64(len(one))}, 99}}), 99},
		"more than is in a stream": {appendNode(nil, 0, []entry{{Extent{Stream(1).At(MaxOffset - 1), 100}, 100}}), 100},
		"many of one byte":         {appendNode(nil, 0, slices.Repeat([]entry{{Extent{1, 1}, 1}}, 1000)), 1000},
	} {
		if list, err := Decode(c.root, c.size, c.size, kept.read); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %d extents, %v", name, len(list), err)
		}
	}
	if list, err := Decode(above, 100, 100, kept.read); err != nil || len(list) != 1 {
		t.Errorf("what is whole gives %v, %v", list, err)
	}
}

// TestDecode_asksForNoMoreThanAStateCanNeed: the same node may be named as often
// as a list is long, and would be read as often.
func TestDecode_asksForNoMoreThanAStateCanNeed(t *testing.T) {
	const size = 64 << 10
	most := int64(0)
	for level := byte(1); level <= maxLevel; level++ {
		named := slices.Repeat([]entry{{Extent{Stream(9).At(0), maxNode}, size / 4096}}, 4096)
		_, err := Decode(appendNode(nil, level, named), size, size, func(wanted []Extent) ([][]byte, error) {
			most = max(most, Size(wanted))
			return nil, damagedError("it is not there")
		})
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("level %d: %v", level, err)
		}
	}
	if most > 8*size {
		t.Errorf("%d bytes of nodes are asked for, for a state of %d", most, size)
	}
}

// FuzzDecode decodes lists that nobody encoded, the nodes out of the same
// bytes: nodes may so be within each other.
func FuzzDecode(f *testing.F) {
	var kept nodes
	root, err := Encode(slices.Repeat([]Extent{{Stream(1).At(7), 30}, {Stream(2).At(70), 300}}, 200), kept.keep)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(root, kept.bytes, int64(200*330))
	f.Add([]byte{1, 18, 0, 3, 9}, []byte{0, 2, 2}, int64(9))
	f.Fuzz(func(t *testing.T, root, rest []byte, size int64) {
		size &= 1<<22 - 1
		kept := nodes{rest}
		list, err := Decode(root, size, size, kept.read)
		if err != nil {
			return
		}
		if Size(list) != size {
			t.Errorf("a list of %d for a state of %d", Size(list), size)
		}
		for _, e := range list {
			if e.Len <= 0 || e.At < 0 || e.At.Stream() != (e.End()-1).Stream() {
				t.Errorf("an extent %+v", e)
			}
		}
		again, err := Encode(list, kept.keep)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Decode(again, size, size, kept.read); err != nil || !slices.Equal(got, list) {
			t.Errorf("%v comes back as %v, %v", list, got, err)
		}
	})
}

// TestCompare_tellsTheTruth: outside the spans the bytes are the same, and what
// is kept at one place in both is found again.
func TestCompare_tellsTheTruth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var kept stream
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		for k := range kept {
			kept[k] = make([]byte, 2000)
			for i := range kept[k] {
				kept[k][i] = 'a' + byte(r.UintN(3))
			}
		}
		draw := func(name string, from []Extent) (list []Extent) {
			for range rapid.IntRange(0, 12).Draw(t, name) {
				if len(from) > 0 && r.IntN(3) > 0 {
					i := r.IntN(len(from))
					list = append(list, from[i:min(len(from), i+1+r.IntN(4))]...)
					continue
				}
				at := r.Int64N(1000)
				list = append(list, Extent{Stream(1 + r.IntN(2)).At(at), 1 + r.Int64N(900)})
			}
			return list
		}
		a := draw("a", nil)
		b := draw("b", a)
		spansHold(t, kept.get(a), kept.get(b), Compare(a, b))
	})
}

// spansHold checks the contract of Compare against the bytes.
func spansHold(t rapid.TB, a, b []byte, spans []store.Span) {
	t.Helper()
	var atA, atB int64
	for i, s := range append(spans, store.Span{AFrom: int64(len(a)), ATo: int64(len(a)), BFrom: int64(len(b)), BTo: int64(len(b))}) {
		apart := i == 0 || i == len(spans) || s.AFrom > atA && s.BFrom > atB
		if s.AFrom < atA || s.BFrom < atB || s.ATo < s.AFrom || s.BTo < s.BFrom || !apart {
			t.Fatalf("span %d of %+v is out of order", i, spans)
		}
		if i < len(spans) && s.AFrom == s.ATo && s.BFrom == s.BTo {
			t.Fatalf("span %d of %+v is empty", i, spans)
		}
		if !bytes.Equal(a[atA:s.AFrom], b[atB:s.BFrom]) {
			t.Fatalf("before span %d of %+v the states differ", i, spans)
		}
		atA, atB = s.ATo, s.BTo
	}
}

func TestCompare_neighbours(t *testing.T) {
	at := func(stream Stream, offset, n int64) Extent { return Extent{stream.At(offset), n} }
	for name, c := range map[string]struct {
		a, b []Extent
		want [][4]int64
	}{
		"both empty":     {nil, nil, nil},
		"one empty":      {nil, []Extent{at(1, 0, 5)}, [][4]int64{{0, 0, 0, 5}}},
		"the same":       {[]Extent{at(1, 0, 5), at(2, 0, 9)}, []Extent{at(1, 0, 5), at(2, 0, 9)}, nil},
		"cut otherwise":  {[]Extent{at(1, 0, 5), at(1, 5, 9)}, []Extent{at(1, 0, 14)}, nil},
		"a turn":         {[]Extent{at(1, 0, 50), at(2, 0, 1000), at(1, 50, 9)}, []Extent{at(1, 60, 51), at(2, 0, 1100), at(1, 50, 9)}, [][4]int64{{0, 50, 0, 51}, {1050, 1050, 1051, 1151}}},
		"from the front": {[]Extent{at(1, 0, 50), at(2, 0, 1000)}, []Extent{at(1, 0, 50), at(2, 100, 900)}, [][4]int64{{50, 150, 50, 50}}},
		"swapped":        {[]Extent{at(1, 0, 50), at(2, 0, 1000)}, []Extent{at(2, 0, 1000), at(1, 0, 50)}, [][4]int64{{0, 50, 0, 0}, {1050, 1050, 1000, 1050}}},
		"twice":          {[]Extent{at(2, 0, 100)}, []Extent{at(2, 0, 100), at(2, 0, 100)}, [][4]int64{{100, 100, 100, 200}}},
	} {
		var got [][4]int64
		for _, s := range Compare(c.a, c.b) {
			got = append(got, [4]int64{s.AFrom, s.ATo, s.BFrom, s.BTo})
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestCompare_manyTheSame: lists in which every place comes again and again.
func TestCompare_manyTheSame(t *testing.T) {
	same := slices.Repeat([]Extent{{Stream(1).At(0), 10}, {Stream(1).At(5), 10}}, 5000)
	if got := Compare(same, same[1:]); len(got) == 0 || len(got) > 20_000 {
		t.Errorf("%d spans", len(got))
	}
}
