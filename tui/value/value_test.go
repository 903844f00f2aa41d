package value

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"
	"pgregory.net/rapid"

	"hindcast/model/jsontape"
	"hindcast/tui/cell"
	"hindcast/tui/theme"
)

var plain = theme.New(theme.Choice{Palette: theme.None, Profile: termenv.Ascii, Glyphs: theme.Unicode})

func tape(t testing.TB, text string) *jsontape.Tape {
	t.Helper()
	tape, _, err := jsontape.ParseTolerant([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return tape
}

func draw(t *jsontape.Tape, n jsontape.Node, w int) string {
	r := cell.Begin(nil, &plain.Glyphs, w)
	Put(&r, &plain.Tokens, t, n)
	return string(r.End(plain.Text))
}

func TestPut_spellsAValueInOneRow(t *testing.T) {
	long := `"` + strings.Repeat("abcdefghi ", 1234) + `"`
	for _, tc := range []struct {
		text string
		w    int
		want string
	}{
		{`{"a":[1,2.50,{"b":null}],"c":{},"d":[],"e":"x\ny"}`, 80, `{a: [1, 2.50, {b: null}], c: {}, d: [], e: "x↵y"}`},
		{`{"a":[1,2.50,{"b":null}],"c":{}}`, 12, `{a: [1, 2.5…`},
		{`"a\u001b[31mb\u202e"`, 80, `"a^[[31mb<U+202E>"`},
		{`[NaN,-Infinity]`, 80, `[NaN, -Infinity]`},
		{`"short"`, 5, `"sho…`},
		{`{"a":{"b":1}}`, 4, `{a:…`},
		{`{"a":{"b":1}}`, 5, `{a: …`},
		{`{"a":{"b":1}}`, 9, `{a: {b: …`},
		{`{"a":{"b":1}}`, 10, `{a: {b: 1…`},
		{`{"a":{"b":1}}`, 11, `{a: {b: 1}}`},
		{`{}`, 1, `…`},
		{`{}`, 2, `{}`},
		{long, 30, `"abcdefghi abcdefghi … 12.3 kB`},
		{`[` + long + `]`, 20, `["abcdefghi… 12.3 kB`},
		{`{"` + strings.Repeat("k", 50) + `":1}`, 60, `{` + strings.Repeat("k", 39) + `…: 1}`},
		{`{"` + strings.Repeat("k", 5000) + `":1}`, 60, `{` + strings.Repeat("k", 39) + `…: 1}`},
		{`{"` + strings.Repeat(`\u0041`, 5) + `":1}`, 60, `{AAAAA: 1}`},
		{`true`, 0, ``},
		{strings.Repeat("[", 9000) + strings.Repeat("]", 9000), 5, `[[[[…`},
	} {
		if got := strings.TrimRight(draw(tape(t, tc.text), 0, tc.w), " "); got != tc.want {
			t.Errorf("%.60s in %d cells is\n%s, want\n%s", tc.text, tc.w, got, tc.want)
		}
	}
}

func TestPut_saysWhatIsNotReadYet(t *testing.T) {
	whole := []byte(`{"a":[1,2],"b":"text that goes on"}`)
	for limit, want := range map[int]string{
		0: `(nothing)`, 1: `{ (unfinished)`, 7: `{a: [1 (unfinished)`, 11: `{a: [1, 2] (unfinished)`, 20: `{a: [1, 2], b: "text (unfinished)`,
	} {
		if got := strings.TrimRight(draw(jsontape.Prefix(whole, limit), 0, 60), " "); !strings.HasPrefix(got, want) {
			t.Errorf("%d bytes are %q, want %q", limit, got, want)
		}
	}
}

func TestPut_neverLeavesItsRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data, err := json.Marshal(map[string]any{
			rapid.String().Draw(t, "key"): []any{rapid.String().Draw(t, "text"), rapid.Float64().Draw(t, "number")},
			"more":                        map[string]string{rapid.String().Draw(t, "inner"): "\x1b]52;c;AAAA\x07\u202e\u0300"},
		})
		if err != nil {
			t.Skip()
		}
		tape := jsontape.Prefix(data, rapid.IntRange(0, len(data)).Draw(t, "limit"))
		w := rapid.IntRange(0, 100).Draw(t, "width")
		line := draw(tape, 0, w)
		if ansi.StringWidth(line) != w || strings.ContainsAny(line, "\x1b\x07\u202e\n") {
			t.Fatalf("in %d cells: %q", w, line)
		}
	})
}

func BenchmarkPut(b *testing.B) {
	state := tape(b, `{"messages":["`+strings.Repeat("x", 10_000_000)+`"]}`)
	var dst []byte
	for b.Loop() {
		r := cell.Begin(dst[:0], &plain.Glyphs, 200)
		Put(&r, &plain.Tokens, state, 0)
		dst = r.End(plain.Text)
	}
}

func TestMost_takesWhatItNeeds(t *testing.T) {
	state := tape(t, `["120.5", {"a": [1, 2, 3]}]`)
	for _, tc := range []struct {
		pointer string
		w       int
		want    string
	}{
		{"/0", 20, `"120.5"|  `}, {"/0", 4, `"12…|     `}, {"/1", 8, `{a: [1,…| `}, {"/1", 100, `{a: [1, 2…`}, {"/0", 0, `|         `},
	} {
		r := cell.Begin(nil, &plain.Glyphs, 10)
		PutMost(&r, &plain.Glyphs, &plain.Tokens, state, state.LookupPointer(tc.pointer), tc.w)
		r.Put(plain.Text, "|")
		if got := string(r.End(plain.Text)); got != tc.want {
			t.Errorf("%s in %d cells: %q, want %q", tc.pointer, tc.w, got, tc.want)
		}
	}
}
