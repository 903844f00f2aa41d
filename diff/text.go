package diff

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// TextSpan is a piece of text that both strings have, or only one of them.
type TextSpan struct {
	Op   TextOp
	Text string
}

// TextOp says which string has a piece of text.
type TextOp uint8

const (
	// Same: both have it.
	Same TextOp = iota
	// Deleted: only the old one has it.
	Deleted
	// Inserted: only the new one has it.
	Inserted
)

// TextDiff is how one string became another. The Same and the Deleted spans
// make up the old string, the Same and the Inserted ones the new one; between
// two Same spans what was Deleted comes first.
type TextDiff struct {
	Spans []TextSpan
	// Coarse: the time ran out, or the strings were too long, so that there
	// are better ways to tell what changed.
	Coarse bool
	// Bytes: one of the strings is no UTF-8. The spans are runs of bytes, to be
	// shown as numbers.
	Bytes bool
}

// TextLimit is how long [Text] takes if it is given no limit.
const TextLimit = 200 * time.Millisecond

// Text compares two strings: first by lines, then, where lines were changed, by
// words. It takes about limit at most, [TextLimit] if that is not positive; how
// exact the result is can so depend on the machine, which Coarse tells.
func Text(old, new string, limit time.Duration) TextDiff {
	if old == new {
		return TextDiff{Spans: appendSpan(nil, Same, old)}
	}
	if limit <= 0 {
		limit = TextLimit
	}
	d := textDiffer{end: time.Now().Add(limit)}
	if !utf8.ValidString(old) || !utf8.ValidString(new) {
		// go-diff works on characters, to which all invalid bytes are one.
		return TextDiff{Spans: d.diff(singleBytes(old), singleBytes(new)), Coarse: d.coarse, Bytes: true}
	}
	var spans []TextSpan
	lines := d.diff(strings.SplitAfter(old, "\n"), strings.SplitAfter(new, "\n"))
	for i := 0; i < len(lines); i++ {
		if lines[i].Op == Deleted && i+1 < len(lines) && lines[i+1].Op == Inserted {
			for _, s := range d.diff(words(lines[i].Text), words(lines[i+1].Text)) {
				spans = appendSpan(spans, s.Op, s.Text)
			}
			i++
			continue
		}
		spans = appendSpan(spans, lines[i].Op, lines[i].Text)
	}
	return TextDiff{Spans: spans, Coarse: d.coarse}
}

// go-diff looks for the shorter text in the longer one in a simple way that can
// take the product of their lengths, and does not look at the clock meanwhile.
// These bounds keep that to a tenth of a second: texts of more than fewPieces
// pieces are compared only if they repeat themselves little.
const (
	fewPieces  = 20_000
	manyPieces = 100_000
)

type textDiffer struct {
	end    time.Time
	coarse bool
}

// diff compares two texts that are cut in pieces. Each different piece becomes
// a character, and go-diff compares the two strings of those.
func (d *textDiffer) diff(old, new []string) []TextSpan {
	head := 0
	for head < min(len(old), len(new)) && old[head] == new[head] {
		head++
	}
	tail := 0
	for tail < min(len(old), len(new))-head && old[len(old)-1-tail] == new[len(new)-1-tail] {
		tail++
	}
	spans := appendSpan(nil, Same, strings.Join(old[:head], ""))
	for _, s := range d.middle(old[head:len(old)-tail], new[head:len(new)-tail]) {
		spans = appendSpan(spans, s.Op, s.Text)
	}
	return appendSpan(spans, Same, strings.Join(old[len(old)-tail:], ""))
}

func (d *textDiffer) middle(old, new []string) []TextSpan {
	whole := []TextSpan{{Deleted, strings.Join(old, "")}, {Inserted, strings.Join(new, "")}}
	if len(old) == 0 || len(new) == 0 {
		return whole
	}
	left := time.Until(d.end)
	pieces := max(len(old), len(new))
	if left <= 0 || pieces > manyPieces {
		d.coarse = true
		return whole
	}
	a := alphabet{runes: make(map[string]rune)}
	x, y := a.encode(old), a.encode(new)
	if pieces > fewPieces && len(a.pieces) < pieces/4 {
		d.coarse = true
		return whole
	}
	dmp := diffmatchpatch.New()
	dmp.DiffTimeout = left
	diffs := dmp.DiffCleanupSemantic(dmp.DiffMainRunes(x, y, false))
	if !time.Now().Before(d.end) {
		d.coarse = true
	}
	var spans []TextSpan
	for _, diff := range diffs {
		spans = appendSpan(spans, textOps[diff.Type], a.decode(diff.Text))
	}
	return spans
}

var textOps = map[diffmatchpatch.Operation]TextOp{
	diffmatchpatch.DiffEqual:  Same,
	diffmatchpatch.DiffDelete: Deleted,
	diffmatchpatch.DiffInsert: Inserted,
}

// appendSpan adds a span and keeps the order and the joins of a [TextDiff].
func appendSpan(spans []TextSpan, op TextOp, text string) []TextSpan {
	if text == "" {
		return spans
	}
	last := len(spans) - 1
	switch {
	case last >= 0 && spans[last].Op == op:
		spans[last].Text += text
		return spans
	case op == Deleted && last >= 0 && spans[last].Op == Inserted:
		if last > 0 && spans[last-1].Op == Deleted {
			spans[last-1].Text += text
			return spans
		}
		return append(spans[:last], TextSpan{Deleted, text}, spans[last])
	}
	return append(spans, TextSpan{op, text})
}

// alphabet gives each different piece of text a character of its own.
type alphabet struct {
	runes  map[string]rune
	pieces []string
}

// firstRune leaves out the characters that go-diff treats as white space.
const firstRune = 0x100

func (a *alphabet) encode(pieces []string) []rune {
	out := make([]rune, len(pieces))
	for i, p := range pieces {
		r, found := a.runes[p]
		if !found {
			r = nthRune(len(a.pieces))
			a.runes[p] = r
			a.pieces = append(a.pieces, p)
		}
		out[i] = r
	}
	return out
}

func (a *alphabet) decode(text string) string {
	var b strings.Builder
	for _, r := range text {
		b.WriteString(a.pieces[rank(r)])
	}
	return b.String()
}

const (
	surrogates   = 0xD800
	surrogateEnd = 0xE000
)

// nthRune skips what is no character on its own and, since it stands for what
// is not valid, U+FFFD.
func nthRune(n int) rune {
	r := rune(n) + firstRune
	if r >= surrogates {
		r += surrogateEnd - surrogates
	}
	if r >= utf8.RuneError {
		r++
	}
	return r
}

// rank is the inverse of nthRune.
func rank(r rune) int {
	if r > utf8.RuneError {
		r--
	}
	if r >= surrogateEnd {
		r -= surrogateEnd - surrogates
	}
	return int(r - firstRune)
}

// words cuts text into runs of letters and digits, runs of white space, and
// single other characters.
func words(text string) []string {
	var out []string
	start, class := 0, noRun
	for i, r := range text {
		c := runClass(r)
		if i > start && (c != class || c == noRun) {
			out = append(out, text[start:i])
			start = i
		}
		class = c
	}
	if start < len(text) {
		out = append(out, text[start:])
	}
	return out
}

const (
	noRun = iota
	wordRun
	spaceRun
)

func runClass(r rune) int {
	switch {
	case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_':
		return wordRun
	case unicode.IsSpace(r):
		return spaceRun
	}
	return noRun
}

func singleBytes(s string) []string {
	out := make([]string, len(s))
	for i := range len(s) {
		out[i] = s[i : i+1]
	}
	return out
}
