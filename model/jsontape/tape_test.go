package jsontape

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"hindcast/model/jsontape/jsontest"
	"hindcast/store/storetest/skip"
)

func mustParse(t testing.TB, text string) *Tape {
	t.Helper()
	tape, err := Parse([]byte(text))
	if err != nil {
		t.Fatalf("%.100q: %v", text, err)
	}
	return tape
}

// picture draws a tape: one line for each node, indented by depth.
func picture(t *Tape) string {
	var b strings.Builder
	for n := range Node(t.Len()) {
		b.WriteString(strings.Repeat("  ", t.Depth(n)))
		if t.RawKey(n) != nil {
			fmt.Fprintf(&b, "%s: ", t.Key(n))
		}
		if i := t.Index(n); i >= 0 {
			fmt.Fprintf(&b, "[%d] ", i)
		}
		switch t.Kind(n) {
		case Array, Object:
			fmt.Fprintf(&b, "%s of %d, then %d", t.Kind(n), t.Count(n), t.End(n))
		case String:
			b.WriteString(t.Text(n))
		default:
			fmt.Fprintf(&b, "%s %s", t.Kind(n), t.Raw(n))
		}
		if t.IsUnfinished(n) {
			b.WriteString(" …")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func lines(all ...string) string { return strings.Join(all, "\n") + "\n" }

const trip = ` {"cart": {"total": 120.5, "items": [1, [], "a\"b"]}, "ok": true, "none": null, "": {}} `

func TestParse_laysOutTheTree(t *testing.T) {
	want := lines(
		`object of 4, then 10`,
		`  cart: object of 2, then 7`,
		`    total: number 120.5`,
		`    items: array of 3, then 7`,
		`      [0] number 1`,
		`      [1] array of 0, then 6`,
		`      [2] a"b`,
		`  ok: true true`,
		`  none: null null`,
		`  : object of 0, then 10`,
	)
	tape := mustParse(t, trip)
	if got := picture(tape); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	checkTape(t, tape)
}

// checkTape holds a tape against itself: the links agree with each other and
// every value decodes to what encoding/json makes of its bytes.
func checkTape(t *testing.T, tape *Tape) {
	t.Helper()
	for n := range Node(tape.Len()) {
		children := 0
		for c := tape.First(n); c >= 0; c = tape.Next(c) {
			if tape.Parent(c) != n || tape.Depth(c) != tape.Depth(n)+1 {
				t.Fatalf("node %d: child %d has parent %d, depth %d", n, c, tape.Parent(c), tape.Depth(c))
			}
			if tape.Position(c) != children || tape.Kind(n) == Array && tape.Index(c) != children {
				t.Fatalf("node %d: position %d, index %d, want %d", c, tape.Position(c), tape.Index(c), children)
			}
			children++
		}
		if children != tape.Count(n) {
			t.Fatalf("node %d: %d children, count says %d", n, children, tape.Count(n))
		}
		if key := tape.RawKey(n); key != nil {
			var want string
			if err := json.Unmarshal(key, &want); err != nil || tape.Key(n) != want {
				t.Fatalf("node %d: key %q, encoding/json %q (%v)", n, tape.Key(n), want, err)
			}
			if Unquote(key) != want {
				t.Fatalf("node %d: unquoted key %q, want %q", n, Unquote(key), want)
			}
			if !tape.CleanKey(n) && !strings.Contains(want, "\ufffd") {
				t.Fatalf("node %d: key %q is not clean", n, key)
			}
			if start, end := tape.KeySpan(n); StringEnd(tape.Data(), start) != end {
				t.Fatalf("node %d: key ends at %d, StringEnd says %d", n, end, StringEnd(tape.Data(), start))
			}
		}
		if tape.Kind(n) == String {
			var want string
			if err := json.Unmarshal(tape.Raw(n), &want); err != nil || tape.Text(n) != want {
				t.Fatalf("node %d: text %q, encoding/json %q (%v)", n, tape.Text(n), want, err)
			}
		}
		start, end := tape.Span(n)
		if tape.LastBefore(start) != n-1 || tape.LastBefore(start+1) != n {
			t.Fatalf("node %d: starts at %d, before that %d", n, start, tape.LastBefore(start))
		}
		if skipped, err := Skip(tape.Data(), start); err != nil || skipped != end {
			t.Fatalf("node %d: Skip ends at %d (%v), Parse at %d", n, skipped, err, end)
		}
	}
	if raw := bytes.Trim(tape.Data(), " \t\r\n"); !bytes.Equal(raw, tape.Raw(0)) {
		t.Fatalf("root is %q of %q", tape.Raw(0), raw)
	}
}

func TestParse_errorsNameTheByte(t *testing.T) {
	for _, c := range []struct {
		text string
		want string
	}{
		{``, `byte 0: unexpected end of text`},
		{`{"a":1`, `byte 6: unexpected end of text`},
		{`{"a":1]`, `byte 6: unexpected "]", want a comma or '}'`},
		{`{"a" 1}`, `byte 5: unexpected "1", want a colon`},
		{`{a:1}`, `byte 1: unexpected "a", want a key`},
		{`[1,]`, `byte 3: unexpected "]", want a value`},
		{`[1 2]`, `byte 3: unexpected "2", want a comma or ']'`},
		{`[nul]`, `byte 4: unexpected "]", want null`},
		{`"a` + "\x01" + `"`, `byte 2: unexpected "\x01", want no control character in a string`},
		{`"\x"`, `byte 2: unexpected "x", want an escape`},
		{`"\u12G4"`, `byte 5: unexpected "G", want a hex digit`},
		{`-`, `byte 1: unexpected end of text`},
		{`[1.]`, `byte 3: unexpected "]", want a digit`},
		{`1 2`, `byte 2: unexpected "2", want the end of the text`},
		{"\ufeff{}", `byte 0: unexpected "\xef", want a value`},
		{`NaN`, `byte 0: unexpected "N", want a value`},
	} {
		_, err := Parse([]byte(c.text))
		if err == nil || err.Error() != c.want {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
}

func TestPosition_countsLinesAndBytesFromOne(t *testing.T) {
	data := []byte("{\n \"a\": x\n}")
	for _, c := range []struct {
		offset       int64
		line, column int
	}{{0, 1, 1}, {1, 1, 2}, {2, 2, 1}, {8, 2, 7}, {10, 3, 1}, {99, 3, 2}, {-1, 1, 1}} {
		if line, column := Position(data, c.offset); line != c.line || column != c.column {
			t.Errorf("offset %d: %d:%d, want %d:%d", c.offset, line, column, c.line, c.column)
		}
	}
}

func TestParse_nestingEndsWhereEncodingJSONEnds(t *testing.T) {
	for _, depth := range []int{MaxDepth, MaxDepth + 1} {
		text := []byte(strings.Repeat("[", depth) + strings.Repeat("]", depth))
		if _, err := Parse(text); (err == nil) != json.Valid(text) {
			t.Errorf("depth %d: %v", depth, err)
		}
	}
	for _, open := range []string{"[", `{"":`} {
		_, err := Parse(bytes.Repeat([]byte(open), 10*mb/len(open)))
		want := fmt.Sprintf("byte %d: nested deeper than 10000", MaxDepth*len(open))
		if err == nil || err.Error() != want {
			t.Errorf("10 MB of %q: %v, want %s", open, err, want)
		}
	}
}

func TestParse_takesMemoryInProportion(t *testing.T) {
	data := jsontest.New(2*mb, 1).JSON()
	tape := mustParse(t, string(data))
	tape.Hash(0)
	if have := cap(tape.nodes)*int(reflect.TypeFor[node]().Size()) + cap(tape.hashes)*8; have > len(data)*3/2 {
		t.Errorf("a tape of %d bytes for %d bytes", have, len(data))
	}
	// Many small values, then one large one, must not be extrapolated.
	tape = mustParse(t, "["+strings.Repeat("1,", 10_000)+`"`+strings.Repeat("x", 10*mb)+`"]`)
	if cap(tape.nodes) > 4*tape.Len() {
		t.Errorf("room for %d nodes, %d needed", cap(tape.nodes), tape.Len())
	}
}

func TestParseTolerant_reportsWhatItLetPass(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{`{"a":1}`, nil},
		{"\ufeff[]", []string{"byte 0: byte order mark before the text"}},
		{`[NaN, -Infinity,Infinity]`, []string{
			"byte 1: a number that JSON cannot spell", "byte 6: a number that JSON cannot spell", "byte 16: a number that JSON cannot spell"}},
		{"[\"ab\xff\"]", []string{"byte 4: invalid UTF-8"}},
		{`{"k\ud800x":"\udc00\ud83d\ude00"}`, []string{"byte 3: half of a surrogate pair", "byte 13: half of a surrogate pair"}},
		{`{"a":1,"b":{"x":1,"x":2},"\u0061":3}`, []string{"byte 1: duplicate key, a later one wins", "byte 12: duplicate key, a later one wins"}},
	} {
		tape, warnings, err := ParseTolerant([]byte(c.text))
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		var got []string
		for _, w := range warnings {
			got = append(got, w.String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
		if tape.Len() == 0 {
			t.Errorf("%q: no tape", c.text)
		}
	}
}

func TestParseTolerant_boundsItsWarnings(t *testing.T) {
	for _, text := range []string{
		"[" + strings.Repeat("NaN,", 5000) + "1]",
		"{" + strings.Repeat(`"a":1,`, 5000) + `"a":1}`,
		"[" + strings.Repeat("\"\xff\",", 5000) + "1]",
	} {
		if _, warnings, err := ParseTolerant([]byte(text)); err != nil || len(warnings) != MaxWarnings {
			t.Errorf("%.20q: %d warnings, want %d (%v)", text, len(warnings), MaxWarnings, err)
		}
	}
}

func TestParseTolerant_refusesWhatIsCut(t *testing.T) {
	for _, text := range []string{"Na", "[Infinit]", "-Inf", "\ufeff", "nAn", "+Infinity"} {
		if _, _, err := ParseTolerant([]byte(text)); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

func TestPrefix_drawsWhatIsKnown(t *testing.T) {
	for _, c := range []struct {
		text string
		want string
	}{
		{``, "invalid  …\n"},
		{`  `, "invalid  …\n"},
		{`{"a":[1,"two`, lines(`object of 1, then 4 …`, `  a: array of 2, then 4 …`, `    [0] number 1`, `    [1] two …`)},
		{`{"a":{},"b`, lines(`object of 1, then 2 …`, `  a: object of 0, then 2`)},
		{`[tr`, lines(`array of 1, then 2 …`, `  [0] true tr …`)},
		{`[12`, lines(`array of 1, then 2 …`, `  [0] number 12 …`)},
		{`["a\`, lines(`array of 1, then 2 …`, `  [0] a …`)},
		{`["a\ud83d\ude`, lines(`array of 1, then 2 …`, "  [0] a\ufffd …")},
		{`[1,x]`, lines(`array of 1, then 2 …`, `  [0] number 1`)},
		{`[1]x`, lines(`array of 1, then 2`, `  [0] number 1`)},
	} {
		if got := picture(Prefix([]byte(c.text), len(c.text))); got != c.want {
			t.Errorf("%q: got\n%swant\n%s", c.text, got, c.want)
		}
	}
}

// checkPrefix cuts a text and holds the tape of the part against the whole.
func checkPrefix(t *testing.T, whole *Tape, limit int) {
	t.Helper()
	part := Prefix(whole.Data(), limit)
	if limit >= len(whole.Data()) && (part.IsUnfinished(0) || part.Len() != whole.Len()) {
		t.Fatalf("all %d bytes: unfinished or %d nodes of %d", limit, part.Len(), whole.Len())
	}
	for n := range Node(part.Len()) {
		if part.Kind(n) == Invalid {
			if n != 0 || part.Len() != 1 {
				t.Fatalf("%d bytes: node %d is invalid", limit, n)
			}
			continue
		}
		if part.Kind(n) != whole.Kind(n) || part.Depth(n) != whole.Depth(n) || part.Parent(n) != whole.Parent(n) || part.Index(n) != whole.Index(n) || part.Key(n) != whole.Key(n) {
			t.Fatalf("%d bytes: node %d is another one in the whole text", limit, n)
		}
		if !part.IsUnfinished(n) {
			if part.End(n) != whole.End(n) || part.Count(n) != whole.Count(n) || !bytes.Equal(part.Raw(n), whole.Raw(n)) {
				t.Fatalf("%d bytes: node %d has changed", limit, n)
			}
			continue
		}
		if !bytes.HasPrefix(whole.Raw(n), part.Raw(n)) || part.Count(n) > whole.Count(n) || int(part.End(n)) != part.Len() {
			t.Fatalf("%d bytes: unfinished node %d is no part of the whole", limit, n)
		}
		if p := part.Parent(n); p >= 0 && !part.IsUnfinished(p) {
			t.Fatalf("%d bytes: node %d is unfinished in a finished one", limit, n)
		}
	}
}

func TestPrefix_isPartOfTheWholeWhereverItIsCut(t *testing.T) {
	for _, text := range []string{trip, `"a\ud83d\ude00b"`, `-12.5e+10`, `[true,false,null,{"a\n":"\\"}]`} {
		tape := mustParse(t, text)
		for limit := range len(text) + 2 {
			checkPrefix(t, tape, limit)
		}
	}
}

func TestSkip_findsTheEndOfAnyValue(t *testing.T) {
	for _, c := range []struct {
		text string
		off  int
		want int
	}{
		{`{"state":{"a":"}","b":[1,"\"]"]},"x":1}`, 9, 32},
		{`"a\\"b`, 0, 5},
		{`"` + strings.Repeat("x", 100) + `\"` + strings.Repeat("y", 100) + `"`, 0, 204},
		{`  12.5e3 ,`, 0, 8},
		{`true}`, 0, 4},
		{`[` + strings.Repeat(" ", 50) + `]`, 0, 52},
	} {
		if got, err := Skip([]byte(c.text), c.off); err != nil || got != c.want {
			t.Errorf("%q from %d: %d, want %d (%v)", c.text, c.off, got, c.want, err)
		}
	}
	for _, c := range []struct{ text, want string }{
		{``, "byte 0: unexpected end of text"},
		{`{"a":[1}`, "byte 8: unexpected end of text"},
		{`"abc`, "byte 4: unexpected end of text"},
		{`"` + strings.Repeat("x", 100), "byte 101: unexpected end of text"},
		{`]`, `byte 0: unexpected "]", want a value`},
		{`,`, `byte 0: unexpected ",", want a value`},
	} {
		if _, err := Skip([]byte(c.text), 0); err == nil || err.Error() != c.want {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
}

func TestSkip_allocatesNothing(t *testing.T) {
	skip.Counting(t)
	data := jsontest.New(mb, 1).JSON()
	if n := testing.AllocsPerRun(3, func() { Skip(data, 0) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestTape_appendTextStopsAtTheLimit(t *testing.T) {
	for _, body := range []string{`plain`, `caf\u00e9 — \ud83d\ude00 \ud800 \n\"`, "bad \xff\xfe utf8 é", `\\\\\\\\`, strings.Repeat(`\u0041`, 20), ``} {
		tape := mustParse(t, `"`+body+`"`)
		whole := tape.Text(0)
		for limit := range len(whole) + 10 {
			got := string(tape.AppendText([]byte("> "), 0, limit))[2:]
			if !strings.HasPrefix(whole, got) || len(got) > limit || len(got) < min(limit-3, len(whole)) {
				t.Errorf("%q cut at %d: %q", whole, limit, got)
			}
		}
	}
}

func TestTape_appendTextOfALongStringDoesLittle(t *testing.T) {
	skip.Counting(t)
	tape := mustParse(t, `"`+strings.Repeat("x", 20*mb)+`"`)
	buf := make([]byte, 0, 1000)
	if n := testing.AllocsPerRun(3, func() { buf = tape.AppendText(buf[:0], 0, 200) }); n != 0 || len(buf) != 200 {
		t.Errorf("%v allocations for %d bytes", n, len(buf))
	}
}

// LookupAll finds the values behind keys and all elements, each with the element that has it.
func TestTape_LookupAll(t *testing.T) {
	tape := mustParse(t, `{"a":[{"b":1,"c":[2,3]},{"c":[4]},5],"d":{"b":6}}`)
	for path, want := range map[string]string{
		"":        "",
		"d b":     "6 of {",
		"a * b":   `1 of {"b":1,"c":[2,3]}`,
		"a * c *": "2 of 2, 3 of 3, 4 of 4",
		"a * c":   `[2,3] of {"b":1,"c":[2,3]}, [4] of {"c":[4]}`,
		"d *":     "", "x b": "", "a b": "",
	} {
		var got []string
		keys := strings.Fields(path)
		for n, of := range tape.LookupAll(0, keys...) {
			from := string(tape.Raw(of))
			if of == 0 {
				from = "{"
			}
			if len(keys) > 0 {
				got = append(got, string(tape.Raw(n))+" of "+from)
			}
		}
		if all := strings.Join(got, ", "); all != want {
			t.Errorf("%q: %s, want %s", path, all, want)
		}
	}
	seen := 0
	for n := range tape.LookupAll(0, "a", "*", "c", "*") {
		if seen++; string(tape.Raw(n)) == "3" {
			break
		}
	}
	if seen != 2 {
		t.Errorf("%d values up to the second", seen)
	}
	for range tape.LookupAll(None, "a") {
		t.Error("None has a value")
	}
}

func TestTape_pointersLeadBack(t *testing.T) {
	tape := mustParse(t, `{"a/b":{"m~n":[{"":1},2]}, "~1":3, "0":[], "q\"\u00e9": {"x":[[["deep"]]]}}`)
	for n := range Node(tape.Len()) {
		if back := tape.LookupPointer(tape.Pointer(n)); back != n {
			t.Errorf("node %d: %q leads to %d", n, tape.Pointer(n), back)
		}
	}
	if got, want := tape.Pointer(tape.Lookup("a/b", "m~n", "0", "")), "/a~1b/m~0n/0/"; got != want {
		t.Errorf("pointer %q, want %q", got, want)
	}
	for _, pointer := range []string{"a", "/x", "/a~1b/m~0n/2", "/a~1b/m~0n/00", "/a~1b/m~0n/-", "/0/0", "/a~1b/m~0n/0//x"} {
		if n := tape.LookupPointer(pointer); n != None {
			t.Errorf("%q leads to %d", pointer, n)
		}
	}
	if n := tape.Lookup("a/b", "x", "y"); n != None || tape.Find(tape.Lookup("0"), "x") != None {
		t.Errorf("a path that is not there leads to %d", n)
	}
	if n := tape.Lookup(); n != 0 {
		t.Errorf("no path leads to %d", n)
	}
}

func TestTape_nodeAtIsTheInnermostValue(t *testing.T) {
	tape := mustParse(t, ` {"a":[10,"x"],"b":{}} `)
	for off, want := range strings.Split(`. @ @ @ @ @ a a0 a0 a a1 a1 a1 a @ @ @ @ @ b b @ .`, " ") {
		n, got := tape.NodeAt(off), "."
		if n >= 0 {
			got = strings.ReplaceAll(tape.Pointer(n), "/", "")
			got = cmp.Or(got, "@")
		}
		if got != want {
			t.Errorf("byte %d: %s, want %s", off, got, want)
		}
	}
}

func TestTape_cleanKeysAreThoseThatKeyGivesBack(t *testing.T) {
	for text, want := range map[string]bool{
		`{"a":1}`: true, `{"é\n\u00e9":1}`: true, `{"\ud83d\ude00":1}`: true, `{"\ufffd":1}`: true, `[1]`: true,
		`{"\ud800":1}`: false, "{\"\xff\":1}": false,
	} {
		if got := mustParse(t, text).CleanKey(1); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestTape_findGivesTheLastOfDuplicateKeys(t *testing.T) {
	tape := mustParse(t, `{"a":1,"b":2,"\u0061":3}`)
	n := tape.Find(0, "a")
	if string(tape.Raw(n)) != "3" || tape.IsShadowed(n) || !tape.IsShadowed(tape.First(0)) || !tape.HasShadowed() {
		t.Errorf("found %s, shadowed %v, first shadowed %v", tape.Raw(n), tape.IsShadowed(n), tape.IsShadowed(tape.First(0)))
	}
	if mustParse(t, `{"a":{"a":1},"b":{"a":1}}`).HasShadowed() {
		t.Error("keys of different objects shadow each other")
	}
}

func TestTape_shadowedInLargeObjects(t *testing.T) {
	var b strings.Builder
	b.WriteByte('{')
	for i := range 1000 {
		fmt.Fprintf(&b, `"k%d":%d,`, i, i)
	}
	b.WriteString(`"k500":"again"}`)
	tape := mustParse(t, b.String())
	for c := tape.First(0); c >= 0; c = tape.Next(c) {
		if got, want := tape.IsShadowed(c), string(tape.Raw(c)) == "500"; got != want {
			t.Errorf("%s: shadowed %v", tape.Raw(c), got)
		}
	}
}

func TestTape_isSafeForConcurrentUse(t *testing.T) {
	tape := mustParse(t, string(jsontest.New(100_000, 1).JSON()))
	var wg sync.WaitGroup
	hashes := make([]uint64, 8)
	for i := range hashes {
		wg.Go(func() { hashes[i] = tape.Hash(0); tape.IsShadowed(1); tape.Find(0, "cart") })
	}
	wg.Wait()
	if len(slices.Compact(hashes)) != 1 {
		t.Errorf("different hashes: %x", hashes)
	}
}

// Work that grew faster than the text would make the larger one take hundreds of times as
// long.
func TestTape_workOnBombsIsLinear(t *testing.T) {
	bombs := map[string]func(n int) string{
		"one integer":   func(n int) string { return strings.Repeat("7", n) },
		"one exponent":  func(n int) string { return "1e" + strings.Repeat("7", n) },
		"one fraction":  func(n int) string { return "0." + strings.Repeat("0", n) + "1" },
		"backslashes":   func(n int) string { return `"` + strings.Repeat(`\\`, n/2) + `"` },
		"quotes":        func(n int) string { return `"` + strings.Repeat(`\"`, n/2) + `"` },
		"odd escapes":   func(n int) string { return `"` + strings.Repeat(`\u0041`, n/6) + `"` },
		"equal keys":    func(n int) string { return "{" + strings.Repeat(`"a":1,`, n/6) + `"a":1}` },
		"empty objects": func(n int) string { return "[" + strings.Repeat(`{},`, n/3) + "1]" },
	}
	for name, bomb := range bombs {
		t.Run(name, func(t *testing.T) {
			jsontest.Linear(t, 800_000, func(n int) func() {
				text := []byte(bomb(n))
				return func() {
					tape, _, err := ParseTolerant(text)
					if err != nil {
						t.Fatal(err)
					}
					other, _ := Parse(bytes.Clone(text))
					if !Equal(tape, 0, other, 0) {
						t.Fatal("not equal to itself")
					}
					tape.Text(0)
					Prefix(text, n/2)
				}
			})
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, data := range suite(f) {
		if len(data) < 10_000 {
			f.Add(data)
		}
	}
	state, err := os.ReadFile("testdata/state.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(state)
	f.Add([]byte(trip))
	f.Add(jsontest.New(2000, 1).JSON())
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		tape, err := Parse(data)
		if (err == nil) != json.Valid(data) {
			t.Fatalf("Parse: %v, encoding/json: %v", err, json.Valid(data))
		}
		loose, _, looseErr := ParseTolerant(data)
		if err == nil {
			checkTape(t, tape)
			if looseErr != nil || !Equal(tape, 0, loose, 0) {
				t.Fatalf("ParseTolerant: %v", looseErr)
			}
		}
		if looseErr == nil {
			for _, limit := range []int{0, 1, len(data) / 3, len(data) / 2, len(data) - 1, len(data)} {
				checkPrefix(t, loose, limit)
			}
		}
		part := Prefix(data, len(data))
		if !Equal(part, 0, Prefix(bytes.Clone(data), len(data)), 0) {
			t.Fatal("a prefix is not equal to itself")
		}
		Skip(data, 0)
		if !bytes.Equal(before, data) {
			t.Fatal("the text was written to")
		}
	})
}

func TestAppendUnquoted_makesNoText(t *testing.T) {
	skip.Counting(t)
	quoted := []byte(`"say \"hi\"\u00e9 and more, so that a text of its own would have to grow"`)
	dst := append(make([]byte, 0, 256), "before "...)
	if got, want := string(AppendUnquoted(dst, quoted)), "before "+Unquote(quoted); got != want || len(want) < 60 {
		t.Errorf("%q, not %q", got, want)
	}
	if got := AppendUnquoted(dst, []byte(`"`)); string(got) != "before " {
		t.Errorf("%q of half a quoted text", got)
	}
	if n := testing.AllocsPerRun(10, func() { AppendUnquoted(dst, quoted) }); n > 0 {
		t.Errorf("%.0f allocations", n)
	}
}
