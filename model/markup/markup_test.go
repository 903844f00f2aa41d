package markup_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"hindcast/model/markup"
)

// sketch writes blocks in a line: their kinds by letters, their spans with marks.
func sketch(blocks []markup.Block) string {
	var out []string
	for _, b := range blocks {
		var s string
		switch b.Kind {
		case markup.Paragraph:
			s = "p" + sketchSpans(b.Spans)
		case markup.Heading:
			s = fmt.Sprint("h", b.Level, sketchSpans(b.Spans))
		case markup.List:
			s = "l{" + sketch(b.Blocks) + "}"
			if b.Loose {
				s = "loose " + s
			}
		case markup.Item:
			s = b.Label + []string{"", "[ ]", "[x]"}[b.Task] + "{" + sketch(b.Blocks) + "}"
		case markup.Quote:
			s = "q{" + sketch(b.Blocks) + "}"
		case markup.Code:
			s = fmt.Sprintf("c %s %q", b.Language, b.Text)
		case markup.Table:
			s = "t" + strings.Trim(fmt.Sprint(b.Aligns), "[]")
			for _, row := range b.Rows {
				s += " |"
				for _, cell := range row {
					s += sketchSpans(cell) + "|"
				}
			}
		case markup.Rule:
			s = "rule"
		}
		out = append(out, s)
	}
	return strings.Join(out, "; ")
}

func sketchSpans(spans []markup.Span) string {
	s := ""
	for _, span := range spans {
		marks := ""
		for i, mark := range []string{"*", "/", "~", "`", "!"} {
			if span.Style&(1<<i) != 0 {
				marks += mark
			}
		}
		s += "(" + marks + strings.ReplaceAll(span.Text, "\n", "↵")
		if span.Link != nil {
			s += " → " + span.Link.To + span.Link.Title
		}
		s += ")"
	}
	return s
}

func TestParse(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"", ""},
		{"one\ntwo  \n  three\n\n\nfour", "p(one↵two↵  three); p(four)"},
		{"# A *b* #\n###### c\n####### d\n#e\n\nT\n===\nU\n---\n", "h1(A )(/b); h6(c); p(####### d↵#e); h1(T); h2(U)"},
		{"**a** __b__ *c* _d_ ***e*** ~~f~~ `g`", "p(*a)( )(*b)( )(/c)( )(/d)( )(*/e)( )(~f)( )(`g)"},
		{"snake_case_name 2 * 3 * 4 ** x ~y~ a*b*c", "p(snake_case_name 2 * 3 * 4 ** x ~y~ a)(/b)(c)"},
		{"**a *b** c* *(**d**)*", "p(/a b c)( )(/()(*/d)(/))"},
		{"**bold:**next and **“q”**", "p(**bold:**next and )(*“q”)"},
		{"``a`b`` `c ` `` `d", "p(`a`b)( )(`c )( `` `d)"},
		{"\\*a\\* C:\\dir \\`b`", "p(*a* C:\\dir `b`)"},
		{"[a *b*](http://x \"t\") [c](<d e>) [f] [g](h(i)j) [k][l] [](m)", "p(a  → http://xt)(/b → http://xt)( )(c → d e)( [f] )(g → h(i)j)( [k][l] )( → m)"},
		{"![alt *b*](p.png) [![badge](b.svg)](http://ci) [out [in](a)](b)", "p(!alt  → p.png)(/!b → p.png)( )(!badge → b.svg)( → http://ci)( [out )(in → a)(](b))"},
		{"[https://a.b/c](d) [<https://a.b>](d) [![](b.svg)](c) [see ![c](d)](f)", "p(https://a.b/c → d)( )(https://a.b → d)( )(! → b.svg)( → c)( )(see  → f)(!c → d)"},
		{"<b>bold</b> &amp; <!-- c --> <https://a.b> https://c.d/e_f(g), (http://h.i/j). xhttp://no", "p(<b>bold</b> &amp; <!-- c --> )(https://a.b → https://a.b)( )(https://c.d/e_f(g) → https://c.d/e_f(g))(, ()(http://h.i/j → http://h.i/j)(). xhttp://no)"},
		{"- a\n  - b\n    c\n\n    d\n- [x] e\n- [ ] f\n* g", "l{-{p(a); l{-{p(b↵c); p(d)}}}; -[x]{p(e)}; -[ ]{p(f)}}; l{*{p(g)}}"},
		{"1. a\n2. b\n   ```go\n   x\n     y\n   ```\n5) c\n", "l{1.{p(a)}; 2.{p(b); c go \"x\\n  y\"}}; l{5){p(c)}}"},
		{"a\n2. b\n1. c\n- d", "p(a↵2. b); l{1.{p(c)}}; l{-{p(d)}}"},
		{"- a\n\n- b\n\ntext", "loose l{-{p(a)}; -{p(b)}}; p(text)"},
		{"-\ta\n\n\tb\n-\n- \n\nc", "l{-{p(a); p(b)}; -{}; -{}}; p(c)"},
		{"> a\nlazy\n> > b\n> ```\n> c\nnot lazy", "q{p(a↵lazy); q{p(b)}; c  \"c\"}; p(not lazy)"},
		{"***\n- - -\n_ _ _\n-- x", "rule; rule; rule; p(-- x)"},
		{"~~~ PY a=1\n``` \n~~~~\n```\nopen\n\n", "c py \"``` \"; c  \"open\""},
		{"text\n\n    code\n\n      more\n\nend", "p(text); c  \"code\\n\\n  more\"; p(end)"},
		{"| a | b |\n|---|:-:|\n| `1\\|2` | **3** | 4 |\n| 5\n\nx|y\n-|-\n", "t0 3 |(a)|(b)| |(`1|2)|(*3)( | 4)| |(5)|; t0 0 |(x)|(y)|"},
		{"a | b\nnot a table\n|-|\n", "p(a | b↵not a table↵|-|)"},
		{"intro\n| a |\n|--:|\n| 1 |\nend", "p(intro); t2 |(a)| |(1)|; p(end)"},
	} {
		if got := sketch(markup.Parse(tc.text)); got != tc.want {
			t.Errorf("%q\n is %s\nwant %s", tc.text, got, tc.want)
		}
	}
}

// letters returns the letters and digits of a text, sorted.
func letters(text string) string {
	var found []rune
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			found = append(found, unicode.ToLower(r))
		}
	}
	slices.Sort(found)
	return string(found)
}

// words writes all that blocks hold, and each link once; what a text spells twice, as its link and as where that
// leads, goes to twice.
func words(out, twice *strings.Builder, blocks []markup.Block) {
	spans := func(spans []markup.Span) {
		targets := markup.Targets(spans)
		for i, s := range spans {
			out.WriteString(s.Text + targets[i])
			if s.Link != nil {
				twice.WriteString(s.Text)
			}
		}
	}
	for _, b := range blocks {
		spans(b.Spans)
		out.WriteString(b.Label + b.Text)
		if b.Task == markup.DoneTask {
			out.WriteString("x")
		}
		for _, row := range b.Rows {
			for _, cell := range row {
				spans(cell)
			}
		}
		words(out, twice, b.Blocks)
	}
}

// pieces make texts that meet every rule.
var pieces = []string{"word", "a", " ", "  ", "\n", "\n\n", "\t", "    ", "*", "**", "_", "__", "~~", "`", "``", "```", "~~~", "```go\n", "[", "]", "![", "](", ")", "](u)",
	"(", "<", ">", "> ", "- ", "* ", "1. ", "23) ", "[x] ", "# ", "### ", "===", "---", "|", "|---|", "\n|-|-|\n", ":-:", "\\", "\\|", "&amp;", "<b>", "https://x.y/z", "www.q", "<http://w>", "é", "日本", "\u202e", "\x1b[2J", "\r\n", "\""}

func drawText(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 60).Draw(t, "pieces"), "")
}

func checkWords(t interface{ Fatalf(string, ...any) }, text string, blocks []markup.Block) {
	var shown, twice strings.Builder
	words(&shown, &twice, blocks)
	left := []rune(letters(text))
	for _, r := range letters(shown.String()) {
		at := slices.Index(left, r)
		if at < 0 {
			t.Fatalf("%q\n has %q less than its blocks: %s", text, r, sketch(blocks))
		}
		left = slices.Delete(left, at, at+1)
	}
	spelled := letters(twice.String())
	for _, r := range left {
		if at := strings.IndexRune(spelled, r); at >= 0 {
			spelled = spelled[:at] + spelled[at+utf8.RuneLen(r):]
		} else {
			t.Fatalf("%q\n has %q more than its blocks: %s", text, r, sketch(blocks))
		}
	}
}

func TestTargets(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"[a *b*](c)", "map[1:c]"},
		{"[a ![p](u) b](v)", "map[1:u 2:v]"},
		{"[u](u)", "map[]"},
		{"[u](u 'w')", "map[0:u w]"},
		{"[a*u*](u)", "map[1:u]"},
		{"https://x.y", "map[]"},
		{"no link", "map[]"},
	} {
		if got := fmt.Sprint(markup.Targets(markup.Parse(tc.text)[0].Spans)); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.text, got, tc.want)
		}
	}
}

func TestParse_losesNoWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawText(t)
		checkWords(t, text, markup.Parse(text))
	})
}

func FuzzParse(f *testing.F) {
	for _, p := range pieces {
		f.Add("a " + p + "b" + p + "\n" + p)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, ".")
		checkWords(t, text, markup.Parse(text))
		checkParts(t, text, 20)
	})
}

func checkParts(t interface{ Fatalf(string, ...any) }, text string, size int) {
	whole := ""
	for _, part := range markup.Parts(text, size) {
		if len(part.Text) > 4*size {
			t.Fatalf("%q: a part of %d bytes", text, len(part.Text))
		}
		whole += part.Text
		part.Parse()
	}
	if whole != text {
		t.Fatalf("the parts of %q are %q", text, whole)
	}
}

func TestParts_areTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkParts(t, drawText(t), rapid.IntRange(4, 40).Draw(t, "size"))
	})
}

// A part begins with a block, and code goes on in the next part.
func TestParts_areCutBetweenBlocks(t *testing.T) {
	text := "first paragraph\n\n- item\n\n  its text\n\nsecond\n\n```go\n" + strings.Repeat("x := 1\n\n", 8) + "```\n\nlast"
	var got []string
	for _, part := range markup.Parts(text, 24) {
		blocks := part.Parse()
		s := sketch(blocks)
		if blocks[0].Continued {
			s = "… " + s
		}
		got = append(got, s)
	}
	want := []string{
		"p(first paragraph); l{-{p(item); p(its text)}}",
		`p(second); c go "x := 1\n\nx := 1\n\nx := 1\n\nx := 1\n\nx := 1"`,
		`… c go "\nx := 1\n\nx := 1\n\nx := 1\n"`,
		"p(last)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("parts\n%s", strings.Join(got, "\n"))
	}
}

// attacks are texts whose reading is quadratic in simple readers.
var attacks = []string{"[", "![", "*a ", "**", "> ", "_a*", "*_", "![a](<b", "[a](b", "[a](", "`a ", "- ", "1. ", "a\n> ", "<", "<a ", "<http://", "http://a)", "http://,", "[a](b ", "|a", "|-", "|-\n",
	"~~a", "* a\n ", "```\n", "~~~", "&", "\\*", "](x)", "![](", "\t", " \n", "a\n", "-\n", "a|b\n-|-\n", "**a* ", "[a](\"", "''", "(", "***a** "}

// Sixteen times the text takes about as long as the text sixteen times, and not sixteen times that.
func TestParse_isLinear(t *testing.T) {
	const size, times = 16 << 10, 16
	cost := func(attack string, size, times int) time.Duration {
		text := strings.Repeat(attack, size/len(attack)+1)
		start := time.Now()
		for range times {
			markup.Parse(text)
			markup.Parts(text, 4096)
			markup.Highlight("go", text)
		}
		return time.Since(start)
	}
	for _, attack := range append(attacks, strings.Repeat("![", 1000)+strings.Repeat("](x)", 1000)) {
		small, large := time.Hour, time.Hour
		for range 20 { // a busy machine makes any of them slow
			small, large = min(small, cost(attack, size, times)), min(large, cost(attack, times*size, 1))
			if large <= 4*small {
				break
			}
		}
		if large > 4*small {
			t.Errorf("%.20q: %v for %d bytes, %v for %d at a time", attack, large, times*size, small, size)
		}
	}
}

func TestHighlight(t *testing.T) {
	for _, tc := range []struct{ language, code, want string }{
		{"go", "func f() { return `a\nb` + \"c\\\"\" + 0x1f } // 1", "«k:func» f() { «k:return» «s:`a\nb`» + «s:\"c\\\"\"» + «n:0x1f» } «c:// 1»"},
		{"python", "# c\ndef f(x): return f'it''s' + \"\"\"a\n\"b\"\"\"\"", "«c:# c»\n«k:def» f(x): «k:return» f«s:'it''s'» + «s:\"\"\"a\n\"b\"\"\"\"»"},
		{"ts", "const s: string = `a${b}`; /* x\ny */ don't", "«k:const» s: string = «s:`a${b}`»; «c:/* x\ny */» don't"},
		{"json", "{\"a b\": [\"c\", 1.5, true], \"d\" : null}", "{«N:\"a b\"»: [«s:\"c\"», «n:1.5», «k:true»], «N:\"d\"» : «k:null»}"},
		{"bash", "echo \"$HOME\" '#' # no\nif [ $# = 1 ]; then a#b; fi", "«k:echo» «s:\"$HOME\"» «s:'#'» «c:# no»\n«k:if» [ $# = «n:1» ]; «k:then» a#b; «k:fi»"},
		{"html", "<!-- c --><a href=\"x\">it's if</a><br/>", "«c:<!-- c -->»«N:<a» href=«s:\"x\"»>it's if«N:</a»>«N:<br/»>"},
		{"css", "/* a */ .b { color: #fff; margin: 0 auto }", "«c:/* a */» .b { «N:color»: #fff; «N:margin»: «n:0» «k:auto» }"},
		{"rust", "fn f<'a>(x: &'a str) -> char { '\\n' } // c", "«k:fn» f<'a>(x: &'a «k:str») -> char { «s:'\\n'» } «c:// c»"},
		{"cpp", "int main() { return \"x\" ? 'c' : 0; }", "«k:int» main() { «k:return» «s:\"x\"» ? «s:'c'» : «n:0»; }"},
		{"java", "public class A { String s = \"\"\"\n x\"\"\"; }", "«k:public» «k:class» A { String s = «s:\"\"\"\n x\"\"\"»; }"},
		{"yaml", "# c\nkey: it's\n- other-key: \"v\" # d\non: true", "«c:# c»\n«N:key»: it's\n- «N:other-key»: «s:\"v\"» «c:# d»\n«k:on»: «k:true»"},
		{"toml", "[a]\nb = 'c' # d\n; e", "[a]\n«N:b» = «s:'c'» «c:# d»\n«c:; e»"},
		{"sql", "SELECT 'a', b FROM t -- c\nwhere x = 1", "«k:SELECT» «s:'a'», b «k:FROM» t «c:-- c»\n«k:where» x = «n:1»"},
		{"diff", "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n same", "«P:--- a\n»«P:+++ b\n»«P:@@ -1 +1 @@\n»«d:-old\n»«a:+new\n» same"},
		{"", "if 1 {}", "if 1 {}"},
	} {
		var got strings.Builder
		for _, token := range markup.Highlight(tc.language, tc.code) {
			if token.Class == markup.Plain {
				got.WriteString(token.Text)
				continue
			}
			fmt.Fprintf(&got, "«%c:%s»", "pcsnkNadP"[token.Class], token.Text)
		}
		if got.String() != tc.want {
			t.Errorf("%s: %q\n is %s\nwant %s", tc.language, tc.code, got.String(), tc.want)
		}
	}
}

func TestHighlight_losesNothing(t *testing.T) {
	names := strings.Fields("go py js json sh html css rs c java yaml toml sql diff rb lua none")
	rapid.Check(t, func(t *rapid.T) {
		code := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"if", "x1", " ", "\n", `"`, "'", "`", `"""`, "//", "/*", "*/", "#", "--", "<", "<a", ">", "</", "<!--", "-->", "\\", ":", "=", "1.5", "+", "@@", "é", "--[[", "b"}), 0, 40).Draw(t, "code"), "")
		whole := ""
		for _, token := range markup.Highlight(rapid.SampledFrom(names).Draw(t, "language"), code) {
			whole += token.Text
		}
		if whole != code {
			t.Fatalf("the tokens of %q are %q", code, whole)
		}
	})
}

// BenchmarkParse reads a text of a megabyte whole.
func BenchmarkParse(b *testing.B) {
	readme, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat(string(readme), 1<<20/len(readme)+1)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		markup.Parse(text)
	}
}
