package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

// everything has what a state may be made of.
type everything struct {
	Text    string
	Number  json.Number
	Raw     json.RawMessage
	NilRaw  json.RawMessage
	Bytes   []byte
	Nil     []string
	Empty   []string
	List    []thing
	Fixed   [2]*thing
	Flat    [3]int
	Map     map[string]*thing
	NilMap  map[string]int
	NoMap   map[string]int
	Counts  map[int]map[string]int
	Any     any
	NilAny  any
	Shape   fmt.Stringer
	Pointer **thing
	NilPtr  *thing
	Time    time.Time
	At      *time.Time
	Big     *big.Int
	Value   big.Int
	Addr    netip.Addr
	URL     *url.URL
	Guarded *guarded
	inner
	*Outer
	Func   func()      `json:"-"`
	Up     *everything `json:"-"`
	hidden []string
}

type thing struct{ Words []string }

func (i thing) String() string { return strings.Join(i.Words, " ") }

type inner struct{ Promoted []string }

type Outer struct{ Embedded map[string]any }

// guarded writes its own JSON, out of what nobody else can touch.
type guarded struct {
	mu  sync.Mutex
	set map[string]bool
}

func (g *guarded) MarshalJSON() ([]byte, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return json.Marshal(g.set)
}

func (g *guarded) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &g.set) }

func full() everything {
	one := &thing{[]string{"one"}}
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("x", 3600))
	return everything{
		Text: "text", Number: "1.10", Raw: json.RawMessage(`{"a": 1}`), Bytes: []byte("bytes"), Empty: []string{},
		List: []thing{{[]string{"a"}}, {nil}}, Fixed: [2]*thing{one, nil}, Flat: [3]int{1, 2, 3},
		Map: map[string]*thing{"one": one, "nil": nil}, NoMap: map[string]int{}, Counts: map[int]map[string]int{1: {"a": 1}},
		Any:   map[string]any{"list": []any{1, uint8(2), 2.5, "x", nil, map[string]any{}}, "item": thing{[]string{"i"}}, "ptr": &thing{[]string{"p"}}},
		Shape: thing{[]string{"s"}}, Pointer: &one, Time: at, At: &at,
		Big: big.NewInt(1 << 60), Value: *big.NewInt(7), Addr: netip.MustParseAddr("fe80::1%eth0"), URL: &url.URL{Host: "x", User: url.User("me")},
		Guarded: &guarded{set: map[string]bool{"a": true}},
		inner:   inner{[]string{"p"}}, Outer: &Outer{map[string]any{"e": []any{1}}},
	}
}

// copyOf returns a copy of what can be copied.
func copyOf[T any](t testing.TB, v T) T {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	own, err := deepCopy(v, text)
	if err != nil {
		t.Fatal(err)
	}
	return own
}

func TestDeepCopy_isEqual(t *testing.T) {
	want := full()
	got := copyOf(t, want)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the copy is\n %+v\nof\n %+v", got, want)
	}
	if text, again := marshal(t, want), marshal(t, got); text != again {
		t.Errorf("the copy's JSON is\n %s\nof\n %s", again, text)
	}
	if got.Addr != want.Addr || got.Time != want.Time {
		t.Error("a value that is compared by == is another one")
	}
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// changes are all the ways into a state.
var changes = map[string]func(*everything){
	"Raw":          func(e *everything) { e.Raw[6] = '2' },
	"Bytes":        func(e *everything) { e.Bytes[0] = 'x' },
	"List":         func(e *everything) { e.List[0].Words = nil },
	"List.Words":   func(e *everything) { e.List[0].Words[0] = "x" },
	"Fixed":        func(e *everything) { e.Fixed[0].Words[0] = "x" },
	"Map":          func(e *everything) { delete(e.Map, "one") },
	"Map element":  func(e *everything) { e.Map["one"].Words[0] = "x" },
	"NoMap":        func(e *everything) { e.NoMap["x"] = 1 },
	"Counts":       func(e *everything) { e.Counts[1]["a"] = 2 },
	"Any":          func(e *everything) { e.Any.(map[string]any)["list"].([]any)[0] = 0 },
	"Any deep":     func(e *everything) { e.Any.(map[string]any)["list"].([]any)[5].(map[string]any)["x"] = 0 },
	"Any struct":   func(e *everything) { e.Any.(map[string]any)["item"].(thing).Words[0] = "x" },
	"Any pointer":  func(e *everything) { e.Any.(map[string]any)["ptr"].(*thing).Words[0] = "x" },
	"Shape":        func(e *everything) { e.Shape.(thing).Words[0] = "x" },
	"Pointer":      func(e *everything) { (*e.Pointer).Words[0] = "x" },
	"Pointer to":   func(e *everything) { *e.Pointer = nil },
	"At":           func(e *everything) { *e.At = time.Time{} },
	"Big":          func(e *everything) { e.Big.SetBit(e.Big, 0, 1) },
	"URL":          func(e *everything) { e.URL.Host = "y" },
	"Guarded":      func(e *everything) { e.Guarded.set["x"] = true },
	"inner":        func(e *everything) { e.Promoted[0] = "x" },
	"Outer":        func(e *everything) { e.Outer.Embedded = nil },
	"Outer's deep": func(e *everything) { e.Embedded["e"].([]any)[0] = 2 },
}

func TestDeepCopy_isItsOwn(t *testing.T) {
	for name, change := range changes {
		original := full()
		before := marshal(t, original)
		copied := copyOf(t, original)
		change(&copied)
		if after := marshal(t, original); after != before {
			t.Errorf("a change of the copy's %s changed the original to\n %s", name, after)
		}
		original = full()
		copied = copyOf(t, original)
		change(&original)
		if after := marshal(t, copied); after != before {
			t.Errorf("a change of the original's %s changed the copy to\n %s", name, after)
		}
		if marshal(t, original) == before {
			t.Errorf("the change of %s changes nothing", name)
		}
	}
}

// What JSON does not see stays shared; a circle there does no harm.
func TestDeepCopy_sharesWhatJSONDoesNotSee(t *testing.T) {
	original := full()
	original.Up, original.hidden, original.Func = &original, []string{"h"}, func() {}
	copied := copyOf(t, original)
	if copied.Up != &original || &copied.hidden[0] != &original.hidden[0] || copied.Func == nil {
		t.Error("it was copied")
	}
}

// broken writes a JSON that it does not read.
type broken struct{ words []string }

func (b broken) MarshalText() ([]byte, error) { return []byte(strings.Join(b.words, " ")), nil }
func (b *broken) UnmarshalText([]byte) error  { return errors.New("no") }

func TestDeepCopy_whatCannotReadItsJSONIsShared(t *testing.T) {
	original := map[string]broken{"a": {[]string{"x"}}}
	if copied := copyOf(t, original); !maps.EqualFunc(original, copied, func(a, b broken) bool { return &a.words[0] == &b.words[0] }) {
		t.Errorf("%+v", copied)
	}
}

func TestDeepCopy_odd(t *testing.T) {
	for _, v := range []any{nil, 1, "x", []any(nil), []any{}, map[string]any(nil), (*int)(nil), [0]*int{}, struct{}{}, json.RawMessage(nil), time.Time{}} {
		if got := copyOf(t, v); !reflect.DeepEqual(got, v) {
			t.Errorf("%#v became %#v", v, got)
		}
	}
	type node struct{ Children []node }
	tree := node{[]node{{[]node{{}}}, {}}}
	if got := copyOf(t, tree); !reflect.DeepEqual(got, tree) || &got.Children[0] == &tree.Children[0] {
		t.Errorf("%+v", got)
	}
}

// secret is embedded without being exported, and writes its own JSON.
type secret struct{ set map[string]int }

func (s secret) MarshalJSON() ([]byte, error)     { return json.Marshal(s.set) }
func (s *secret) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &s.set) }

func TestDeepCopy_embeddedWithItsOwnJSON(t *testing.T) {
	type outer struct{ secret }
	original := outer{secret{map[string]int{"a": 1}}}
	copied := copyOf(t, original)
	copied.set["a"]++
	if original.set["a"] != 1 || copied.set["a"] != 2 {
		t.Errorf("%v, its copy %v", original.set, copied.set)
	}
}

// branch knows its parent, which its JSON leaves out.
type branch struct {
	Parent   *branch
	Children []*branch
}

func (b *branch) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"Children": b.Children})
}

// lost cannot be read again.
type lost []*branch

func (*lost) UnmarshalJSON([]byte) error { return errors.New("no") }

func TestDeepCopy_circlesThatJSONLeavesOut(t *testing.T) {
	tree := &branch{Children: []*branch{{}, {}}}
	for _, child := range tree.Children {
		child.Parent = tree
	}
	if got := copyOf(t, tree); got == tree || len(got.Children) != 2 || got.Children[0] == tree.Children[0] || got.Children[0].Parent != nil {
		t.Errorf("%+v", got)
	}
	if v := newValue(lost{tree}); v.err == nil || v.copyState()[0] != tree {
		t.Errorf("what cannot be read: %+v", v)
	}
}

// Whatever JSON there is, its copy is equal, and stays so when the original is
// overwritten.
func FuzzDeepCopy(f *testing.F) {
	f.Add(`{"a":[1,{"b":null},[],{}],"c":"x"}`)
	f.Add(marshalled(full()))
	f.Fuzz(func(t *testing.T, text string) {
		var v any
		if json.Unmarshal([]byte(text), &v) != nil {
			return
		}
		before := marshal(t, v)
		copied := copyOf(t, v)
		if !reflect.DeepEqual(copied, v) {
			t.Errorf("%#v became %#v", v, copied)
		}
		overwrite(v)
		if after := marshal(t, copied); after != before {
			t.Errorf("%s became %s", before, after)
		}
	})
}

func marshalled(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func overwrite(v any) {
	switch v := v.(type) {
	case []any:
		for i := range v {
			overwrite(v[i])
			v[i] = "overwritten"
		}
	case map[string]any:
		for key := range v {
			overwrite(v[key])
			v[key] = "overwritten"
		}
	}
}

// How a state of 1 MB is copied, against the round trip that would do as well.
func BenchmarkDeepCopy(b *testing.B) {
	type part struct{ Text string }
	type message struct {
		Role    string
		Content []part
		Facts   map[string]any
	}
	state := make([]message, 2000)
	for i := range state {
		state[i] = message{"user", []part{{strings.Repeat("the quick brown fox jumps over the lazy dog; ", 10)}}, map[string]any{"n": i}}
	}
	text := marshalled(state)
	b.Run("copy", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if _, err := deepCopy(state, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("roundTrip", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			var own []message
			text, err := json.Marshal(state)
			if err == nil {
				err = json.Unmarshal(text, &own)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}
