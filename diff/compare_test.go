package diff

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"hindcast/model/jsontape"
	"hindcast/model/jsontape/jsontest"
)

// picture draws a result as one string: a sign, the path and the values of each
// change, in order; "=n" is how many members of a container are unchanged.
func picture(r *Result) string {
	var out []string
	for i := range r.Entries {
		e := &r.Entries[i]
		path := r.Path(e)
		if path == "" {
			path = "."
		}
		switch e.Op {
		case Within:
			out = append(out, fmt.Sprintf("%s =%d", path, e.Unchanged))
		case Added:
			out = append(out, fmt.Sprintf("+%s %s", path, r.New(e)))
		case Removed:
			out = append(out, fmt.Sprintf("-%s %s", path, r.Old(e)))
		case Replaced:
			out = append(out, fmt.Sprintf("~%s %s → %s", path, r.Old(e), r.New(e)))
		case Respelled:
			out = append(out, fmt.Sprintf("≈%s %s → %s", path, r.Old(e), r.New(e)))
		case Moved:
			out = append(out, fmt.Sprintf(">%s from %s", path, r.OldPath(e)))
		case Aside:
			out = append(out, "aside")
		}
	}
	return strings.Join(out, "; ")
}

// Unequal long texts, as messages are.
const (
	m1 = `{"role":"user","content":"book me a train to Lyon on Friday"}`
	m2 = `{"role":"assistant","content":"which time of the day suits you best?"}`
	m3 = `{"role":"user","content":"in the morning, please, and a window seat"}`
	m4 = `{"role":"assistant","content":"I have found three departures before ten"}`
	m5 = `{"tool":"search","input":{"from":"Paris","to":"Nice","via":["Dijon","Valence"]},"took":1203}`
)

func list(elements ...string) string { return "[" + strings.Join(elements, ",") + "]" }

var pictures = []struct {
	name     string
	old, new string
	want     string
}{
	{"nothing", `{"a":1}`, `{"a":1}`, ``},
	{"reformatted", `{"a":[1,{"b":2}]}`, "{ \"a\" : [ 1 ,\n\t{\"b\":2} ] }\n", ``},
	{"keys reordered", `{"a":1,"b":[{"c":1,"d":2}]}`, `{"b":[{"d":2,"c":1}],"a":1}`, ``},
	{"string escaped in another way", `["é/","\n"]`, `["\u00e9\/","\u000a"]`, ``},
	{"value replaced", `{"cart":{"total":120.5,"items":2}}`, `{"cart":{"total":140.5,"items":2}}`,
		`. =0; /cart =1; ~/cart/total 120.5 → 140.5`},
	{"kind replaced", `{"a":[1]}`, `{"a":{"0":1}}`, `. =0; ~/a [1] → {"0":1}`},
	{"null is a value", `{"a":null}`, `{}`, `. =0; -/a null`},
	{"root replaced", `1`, `"1"`, `~. 1 → "1"`},
	{"root respelled", `1`, `1.0`, `≈. 1 → 1.0`},
	{"member added", `{"a":1}`, `{"a":1,"b":[]}`, `. =1; +/b []`},
	{"member removed", `{"a":1,"b":{},"c":2}`, `{"a":1,"c":2}`, `. =2; -/b {}`},
	{"key renamed", `{"a":1}`, `{"b":1}`, `. =0; -/a 1; +/b 1`},
	{"keys to escape", `{"a/b":{"m~n":1}}`, `{"a/b":{"m~n":2}}`, `. =0; /a~1b =0; ~/a~1b/m~0n 1 → 2`},
	{"number respelled", `{"a":1,"b":100,"c":0.5}`, `{"a":1.0,"b":1e2,"c":5e-1}`,
		`. =0; ≈/a 1 → 1.0; ≈/b 100 → 1e2; ≈/c 0.5 → 5e-1`},
	{"big integers differ", `[9007199254740992]`, `[9007199254740993]`, `. =0; ~/0 9007199254740992 → 9007199254740993`},
	{"tiny differences count", `[0.1]`, `[0.10000000000000000000000001]`, `. =0; ~/0 0.1 → 0.10000000000000000000000001`},
	{"last duplicate counts", `{"a":1,"a":2}`, `{"a":2}`, ``},
	{"first duplicate does not", `{"a":1,"a":2}`, `{"a":1}`, `. =0; ~/a 2 → 1`},

	{"appended", list(m1, m2), list(m1, m2, m3), `. =2; +/2 ` + m3},
	{"appended the same again", list(m1, m1), list(m1, m1, m1), `. =2; +/2 ` + m1},
	{"inserted", list(m1, m2), list(m1, m3, m2), `. =2; +/1 ` + m3},
	{"first removed", list(m1, m2, m3), list(m2, m3), `. =2; -/0 ` + m1},
	{"window slid on", list(m1, m2, m3), list(m2, m3, m4), `. =2; -/0 ` + m1 + `; +/2 ` + m4},
	{"element edited", list(m1, m2, m3), list(m1, strings.Replace(m2, "best", "most", 1), m3),
		`. =2; /1 =1; ~/1/content "which time of the day suits you best?" → "which time of the day suits you most?"`},
	{"edited and inserted before", list(m1, m2, m3), list(m1, m5, strings.Replace(m2, "best", "most", 1), m3),
		`. =2; +/1 ` + m5 + `; /2 =1; ~/2/content "which time of the day suits you best?" → "which time of the day suits you most?"`},
	{"moved to the end", list(m1, m2, m3), list(m2, m3, m1), `. =2; >/2 from /0`},
	{"moved to the front", list(m1, m2, m3), list(m3, m1, m2), `. =2; >/0 from /2`},
	{"swapped", list(m1, m2), list(m2, m1), `. =1; >/1 from /0`},
	{"moved and respelled", `[[1,"a"],[2,"b"],[3,"c"]]`, `[[2,"b"],[3,"c"],[1.0,"a"]]`, `. =2; >/2 from /0; ≈/2/0 1 → 1.0`},
	{"one for another", list(`"red"`), list(`"blue"`), `. =0; ~/0 "red" → "blue"`},
	{"unlike neighbours", list(m1, m5), list(m2, m1), `. =1; +/0 ` + m2 + `; -/1 ` + m5},
	{"two unlike for two", list(m5, `[1,2,3]`), list(m1, m2), `. =0; -/0 ` + m5 + `; -/1 [1,2,3]; +/0 ` + m1 + `; +/1 ` + m2},
	{"emptied", `{"a":[1,2]}`, `{"a":[]}`, `. =0; /a =0; -/a/0 1; -/a/1 2`},
	{"scalars replaced in place", `[1,2,3,4]`, `[1,7,8,4]`, `. =2; ~/1 2 → 7; ~/2 3 → 8`},
	{"deep", `{"a":[{"b":[[{"c":1}]]}]}`, `{"a":[{"b":[[{"c":2}]]}]}`,
		`. =0; /a =0; /a/0 =0; /a/0/b =0; /a/0/b/0 =0; /a/0/b/0/0 =0; ~/a/0/b/0/0/c 1 → 2`},
	{"not a number", `[NaN,1]`, `[NaN,Infinity]`, `. =1; ~/1 1 → Infinity`},
	{"bad UTF-8 differs", "[\"\xff\"]", "[\"\xfe\"]", ". =0; ~/0 \"\xff\" → \"\xfe\""},
	{"lone surrogates differ", `["\ud800"]`, `["\ud801"]`, `. =0; ~/0 "\ud800" → "\ud801"`},
}

// ways returns every way to hand two states over.
func ways(t failer, old, new []byte) map[string][2]State {
	a, b := parse(t, old), parse(t, new)
	return map[string][2]State{
		"both tapes": {FromTape(a), FromTape(b)},
		"bytes only": {Bytes(old), Bytes(new)},
		"old tape":   {FromTape(a), Bytes(new)},
		"new tape":   {Bytes(old), FromTape(b)},
	}
}

func TestCompare_pictures(t *testing.T) {
	for _, c := range pictures {
		for way, s := range ways(t, []byte(c.old), []byte(c.new)) {
			if got := picture(compare(t, s[0], s[1])); got != c.want {
				t.Errorf("%s, %s:\nold  %s\nnew  %s\ngot  %s\nwant %s", c.name, way, c.old, c.new, got, c.want)
			}
		}
	}
}

func TestCompare_oneChangeIn10000Messages(t *testing.T) {
	message := func(i int, word string) string {
		return fmt.Sprintf(`{"role":"user","content":[{"text":"message %d, %s"}],"n":%d}`, i, word, i)
	}
	var old, new []string
	for i := range 10_000 {
		old, new = append(old, message(i, "as it was")), append(new, message(i, "as it was"))
	}
	new[5000] = message(5000, "changed")
	a, b := `{"id":1,"messages":`+list(old...)+`}`, `{"id":1,"messages":`+list(new...)+`}`
	want := `. =1; /messages =9999; /messages/5000 =2; /messages/5000/content =0; /messages/5000/content/0 =0; ` +
		`~/messages/5000/content/0/text "message 5000, as it was" → "message 5000, changed"`
	for way, s := range ways(t, []byte(a), []byte(b)) {
		if got := picture(compare(t, s[0], s[1])); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", way, got, want)
		}
	}
}

// realStates returns states that a real SDK wrote, one after the other.
func realStates(t testing.TB) (states [][]byte) {
	t.Helper()
	for _, name := range []string{"1", "2", "3", "4"} {
		data, err := os.ReadFile("testdata/states/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		states = append(states, data)
	}
	return states
}

func TestCompare_realSteps(t *testing.T) {
	states := realStates(t)
	for i := range len(states) - 1 {
		for way, s := range ways(t, states[i], states[i+1]) {
			r := compare(t, s[0], s[1])
			if r.Equal() || r.Coarse {
				t.Errorf("step %d, %s: equal %v, coarse %v", i, way, r.Equal(), r.Coarse)
			}
			checkPatch(t, r, states[i], states[i+1])
		}
	}
	var got []string
	r := compare(t, Bytes(states[0]), Bytes(states[1]))
	for _, e := range r.Changes() {
		got = append(got, e.Op.String()+" "+r.Path(e))
	}
	want := []string{"replace /created_at", "add /data/messages/2", "add /data/messages/3", "add /data/messages/4", "add /data/messages/5", "add /data/state/n"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCompare_flagsDuplicateKeys(t *testing.T) {
	for _, c := range []struct {
		old, new string
		want     bool
	}{
		{`{"a":1,"a":2}`, `{"a":3}`, true},
		{`{"a":3}`, `{"a":1,"a":2}`, true},
		{`{"x":{"a":1,"a":2},"b":1}`, `{"x":{"a":1,"a":2},"b":2}`, false},
		{`{"a":1}`, `{"a":2}`, false},
	} {
		for way, s := range ways(t, []byte(c.old), []byte(c.new)) {
			if got := compare(t, s[0], s[1]).Duplicates; got != c.want {
				t.Errorf("%s, %s and %s: %v", way, c.old, c.new, got)
			}
		}
	}
}

func TestCompare_namesTheStateThatIsNotJSON(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`{"a":1}`, `{"a":x}`, `diff: read the new state: byte 5: unexpected "x", want a value`},
		{`{"a":[1,2`, `{"a":[1,3]}`, `diff: read the old state: byte 9: unexpected end of text`},
		{``, `{}`, `diff: read the old state: byte 0: unexpected end of text`},
		{strings.Repeat("[", 20_000), `{}`, `diff: read the old state: byte 10000: nested deeper than 10000`},
	} {
		_, err := Compare(context.Background(), Bytes([]byte(c.old)), Bytes([]byte(c.new)))
		var syntax *jsontape.SyntaxError
		if err == nil || err.Error() != c.want || !errors.As(err, &syntax) {
			t.Errorf("%.20s and %.20s: %v, want %s", c.old, c.new, err, c.want)
		}
	}
}

func TestCompare_stopsWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Compare(ctx, Bytes([]byte(`1`)), Bytes([]byte(`2`))); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// deadline is a context that ends after so many looks at it.
type deadline struct {
	context.Context
	looks int
}

func (d *deadline) Err() error {
	if d.looks--; d.looks < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

func TestCompare_stopsInTheMiddle(t *testing.T) {
	s := jsontest.New(300_000, 1)
	for _, way := range ways(t, s.JSON(), s.IndentedJSON()) {
		ctx := &deadline{t.Context(), 3}
		if r, err := Compare(ctx, way[0], way[1]); !errors.Is(err, context.DeadlineExceeded) || r != nil {
			t.Errorf("%v", err)
		}
	}
}

func TestResult_pathsOnBothSides(t *testing.T) {
	r := compare(t, Bytes([]byte(`{"l":[1,{"a":"x"},3]}`)), Bytes([]byte(`{"l":[0,1,{"a":"y"}]}`)))
	var got []string
	for _, e := range r.Changes() {
		key, inObject := r.Key(e)
		got = append(got, fmt.Sprintf("%s old %q new %q key %q %v", e.Op, r.OldPath(e), r.NewPath(e), key, inObject))
	}
	want := []string{
		`add old "" new "/l/0" key "" false`,
		`replace old "/l/1/a" new "/l/2/a" key "a" true`,
		`remove old "/l/2" new "" key "" false`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for range r.Changes() {
		break // stopping early is allowed
	}
}

func TestResult_entriesAreATree(t *testing.T) {
	r := compare(t, Bytes([]byte(`{"a":[1,{"b":1,"c":2}],"d":1}`)), Bytes([]byte(`{"a":[1,{"b":2,"c":3}],"e":1}`)))
	for i := range r.Entries {
		e := &r.Entries[i]
		if e.Parent < 0 {
			if i != 0 || e.Depth != 0 || int(e.End) != len(r.Entries) {
				t.Errorf("entry %d is a root", i)
			}
			continue
		}
		p := &r.Entries[e.Parent]
		if int(e.Parent) >= i || e.Depth != p.Depth+1 || e.End > p.End || e.End <= int32(i) {
			t.Errorf("entry %d: parent %d, depth %d, end %d", i, e.Parent, e.Depth, e.End)
		}
	}
	changes := 0
	for range r.Changes() {
		changes++
	}
	if changes != 4 || r.Added != 1 || r.Removed != 1 || r.Replaced != 2 {
		t.Errorf("%d changes, +%d −%d ~%d", changes, r.Added, r.Removed, r.Replaced)
	}
}

func TestCompare_deepStatesDoNotOverflow(t *testing.T) {
	deep := func(leaf string) []byte {
		return []byte(strings.Repeat(`[{"a":`, jsontape.MaxDepth/2) + leaf + strings.Repeat(`}]`, jsontape.MaxDepth/2))
	}
	for way, s := range ways(t, deep("1"), deep("2")) {
		if r := compare(t, s[0], s[1]); r.Replaced != 1 || len(r.Entries) != jsontape.MaxDepth+1 {
			t.Errorf("%s: %d replaced, %d entries", way, r.Replaced, len(r.Entries))
		}
	}
}
