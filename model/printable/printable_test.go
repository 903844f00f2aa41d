package printable

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestAppend_replacesWhatIsNotPlainText(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"plain", "turn end", "turn end"},
		{"newline and tab", "a\n\tb\r\n", "a↵⇥b^M↵"},
		{"colour", "\x1b[31mred\x1b[0m", "^[[31mred^[[0m"},
		{"clipboard", "\x1b]52;c;aGk=\x07", "^[]52;c;aGk=^G"},
		{"C1 as runes", "\u009b31m \u009d52", "<U+009B>31m <U+009D>52"},
		{"C1 as bytes", "\x9b31m", `\x9b31m`},
		{"NUL and DEL", "a\x00b\x7f", "a^@b^?"},
		{"bidi override", "abc\u202egpj.exe", "abc<U+202E>gpj.exe"},
		{"bidi isolates", "\u2066\u2069", "<U+2066><U+2069>"},
		{"zero width", "a\u200bb\u200dc\ufeffd\u2060", "a<U+200B>b<U+200D>c<U+FEFF>d<U+2060>"},
		{"tag characters", "x\U000e0041\U000e007f", "x<U+E0041><U+E007F>"},
		{"line separators", "a\u2028b\u2029", "a<U+2028>b<U+2029>"},
		{"soft hyphen", "a\u00adb", "a<U+00AD>b"},
		{"private use", "\ue000\U00100000", "<U+E000><U+100000>"},
		{"unassigned", "\uffff", "<U+FFFF>"},
		{"fillers", "\u3164\u115f\u2800", "<U+3164><U+115F><U+2800>"},
		{"lone surrogate", "\xed\xa0\x80", `\xed\xa0\x80`},
		{"torn rune", "a\xe2\x82", `a\xe2\x82`},
		{"replacement character", "\ufffd", "\ufffd"},
		{"other spaces", "10\u00a0000\u3000x", "10␣000␣x"},
		{"letters", "Zürich 東京 Ελλάδα", "Zürich 東京 Ελλάδα"},
		{"emoji", "✅ 🚆", "✅ 🚆"},
		{"emoji presentation", "⚠\ufe0f 1\ufe0f\u20e3 ℹ\ufe0f", "⚠\ufe0f 1\ufe0f\u20e3 ℹ\ufe0f"},
		{"text presentation", "⚠\ufe0e 1\ufe0e ℹ\ufe0e", "⚠ 1 ℹ"},
		{"second selector", "⚠\ufe0f\ufe0f", "⚠\ufe0f<U+FE0F>"},
		{"selectors of what is no emoji", "a\ufe0f 0\ufe0f ○\ufe0f é\ufe0e", "a<U+FE0F> 0<U+FE0F> ○<U+FE0F> é<U+FE0E>"},
		{"family", "👩\u200d👩\u200d👧\u200d👦", "👩\u200d👩\u200d👧\u200d👦"},
		{"the longest emoji", kiss, kiss},
		{"joined once too often", "👩\u200d👩\u200d👩\u200d👩\u200d👩", "👩\u200d👩\u200d👩\u200d👩<U+200D>👩"},
		{"joins of what is no emoji", "👩\u200da a\u200d👩 ○\u200d👩 👩\u0301\u200d👩 👩\u200d\u200d👩", "👩<U+200D>a a<U+200D>👩 ○<U+200D>👩 👩\u0301<U+200D>👩 👩<U+200D><U+200D>👩"},
		{"joiner at the end", "👩\u200d", "👩<U+200D>"},
		{"joiners of scripts", "क्\u200dष", "क्<U+200D>ष"},
		{"skin tones of what is no emoji", "a🏽 🏽\u0301", "a<U+1F3FD> <U+1F3FD><U+0301>"},
		{"hidden selectors", "a\ufe0f\U000e0101", "a<U+FE0F><U+E0101>"},
		{"mark on a letter", "e\u0301", "e\u0301"},
		{"mark on nothing", "\u0301e", "<U+0301>e"},
		{"letters that are marks", "กำ ｶﾞ", "กำ ｶﾞ"},
		{"letters that are marks on nothing", "ﾞa", "<U+FF9E>a"},
		{"letter that begins a character", "\u0d4eക", "<U+0D4E>ക"},
		{"flood of marks", "e" + strings.Repeat("\u0301", 6), "e\u0301\u0301\u0301\u0301<U+0301><U+0301>"},
		{"flood of skin tones", "👍" + strings.Repeat("🏽", 5), "👍🏽🏽🏽🏽<U+1F3FD>"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := string(Append(nil, tc.in)); got != tc.want {
				t.Errorf("Append(%q) = %q, want %q", tc.in, got, tc.want)
			}
			if got := string(Append([]byte("x"), []byte(tc.in))); got != "x"+tc.want {
				t.Errorf("Append of bytes = %q, want %q", got, "x"+tc.want)
			}
			if got := String(tc.in); got != tc.want {
				t.Errorf("String(%q) = %q, want %q", tc.in, got, tc.want)
			}
		})
	}
}

// kiss is the longest emoji that Unicode recommends.
const kiss = "👩🏽\u200d❤\ufe0f\u200d💋\u200d👨🏿"

func TestAppendText_keepsLines(t *testing.T) {
	const in, want = "a\n\tb\r\n\x1b[0m", "a\n    b^M\n^[[0m"
	if got := Text(in); got != want {
		t.Errorf("Text(%q) = %q, want %q", in, got, want)
	}
}

// invisible is an independent statement of what may never come out. What the two
// runes that make pictures stand between is held by package cell.
func invisible(r rune) bool {
	return r != ' ' && r != 0x200d && r != 0xfe0f && (!unicode.IsPrint(r) ||
		unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Z,
			unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector))
}

func FuzzAppend(f *testing.F) {
	f.Add("plain")
	f.Add("\x1b]0;title\x07\x9b31m\u009b\u202e\u200b\U000e0041")
	f.Add(kiss + "\ufe0e\u200d🏽1\ufe0f\u20e3")
	f.Add("e\u0301\u0301\u0301\u0301\u0301⚠\ufe0f\xff\xed\xa0\x80\r\n\t")
	f.Fuzz(func(t *testing.T, s string) {
		line := Append(nil, s)
		if !utf8.Valid(line) {
			t.Errorf("Append(%q) is not UTF-8: %q", s, line)
		}
		for _, r := range string(line) {
			if invisible(r) {
				t.Errorf("Append(%q) has %U: %q", s, r, line)
			}
		}
		if len(line) > 4*len(s) {
			t.Errorf("Append(%q) grew to %d bytes", s, len(line))
		}
		if again := Append(nil, line); string(again) != string(line) {
			t.Errorf("Append twice: %q, then %q", line, again)
		}
		for _, r := range string(AppendText(nil, s)) {
			if r != '\n' && invisible(r) {
				t.Errorf("AppendText(%q) has %U", s, r)
			}
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	s := strings.Repeat("Booked the 09:40 to Lyon. ", 40)
	b.SetBytes(int64(len(s)))
	var dst []byte
	for b.Loop() {
		dst = Append(dst[:0], s)
	}
}

// A text that is made printable part by part is that of the whole.
func TestPart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.StringOf(rapid.RuneFrom([]rune("ae \u0301\u200d👩❤\ufe0f🏽\x1b\n1"))).Draw(t, "text")
		size := rapid.IntRange(1, 8).Draw(t, "size")
		got := ""
		for rest := whole; rest != ""; {
			part := Part(rest, size)
			got += String(part)
			rest = rest[len(part):]
		}
		if want := String(whole); got != want {
			t.Fatalf("%q is %q in parts, and %q", whole, got, want)
		}
	})
	if part := Part(strings.Repeat("x", 100), 10); len(part) != 10 {
		t.Errorf("a part has %d bytes", len(part))
	}
}

// A file keeps its lines and its tabs, and nothing else that a terminal does something for.
func TestAppendFile(t *testing.T) {
	const text = "a\tb\nc\x1b[31m\u202ed"
	want := strings.NewReplacer("⇥", "\t", "↵", "\n").Replace(String(text))
	if got := string(AppendFile(nil, text)); got != want || !strings.Contains(got, "a\tb\nc") {
		t.Errorf("%q, want %q", got, want)
	}
}
