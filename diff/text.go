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
		return TextDiff{Spans: d.diff(old, new, singleBytes), Coarse: d.coarse, Bytes: true}
	}
	var spans []TextSpan
	lines := d.diff(old, new, wholeLines)
	for i := 0; i < len(lines); i++ {
		if lines[i].Op == Deleted && i+1 < len(lines) && lines[i+1].Op == Inserted {
			for _, s := range d.diff(lines[i].Text, lines[i+1].Text, words) {
				spans = appendSpan(spans, s.Op, s.Text)
			}
			i++
			continue
		}
		spans = appendSpan(spans, lines[i].Op, lines[i].Text)
	}
	return TextDiff{Spans: spans, Coarse: d.coarse}
}

const (
	// maxText is how many bytes are cut in pieces, beyond what two texts have in
	// common at their ends.
	maxText = 1 << 20
	// go-diff looks for the shorter text in the longer one in a simple way that
	// can take the product of their lengths, and does not look at the clock
	// meanwhile. These bounds keep that to a tenth of a second: texts of more
	// than fewPieces pieces are compared only if they repeat themselves little.
	fewPieces  = 20_000
	manyPieces = 100_000
)

type textDiffer struct {
	end    time.Time
	coarse bool
}

// diff compares two texts piece by piece.
func (d *textDiffer) diff(old, new string, c cutting) []TextSpan {
	head := commonPrefix(old, new)
	tail := commonSuffix(old[head:], new[head:])
	head, tail = c.pieceBefore(old[:head]), c.pieceAfter(old[len(old)-tail:])
	spans := appendSpan(nil, Same, old[:head])
	for _, s := range d.middle(old[head:len(old)-tail], new[head:len(new)-tail], c) {
		spans = appendSpan(spans, s.Op, s.Text)
	}
	return appendSpan(spans, Same, old[len(old)-tail:])
}

// middle compares two texts that start and end with different pieces. Each distinct piece becomes a character,
// and go-diff compares the strings of these characters.
func (d *textDiffer) middle(old, new string, c cutting) []TextSpan {
	whole := []TextSpan{{Deleted, old}, {Inserted, new}}
	if old == "" || new == "" {
		return whole
	}
	if max(len(old), len(new)) > maxText {
		d.coarse = d.coarse || c.finest
		return whole
	}
	a := alphabet{runes: make(map[string]rune)}
	x, y := a.encode(c.cut(old)), a.encode(c.cut(new))
	left := time.Until(d.end)
	pieces := max(len(x), len(y))
	if left <= 0 || pieces > manyPieces || pieces > fewPieces && len(a.pieces) < pieces/4 {
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

// appendSpan adds a span, and keeps the order that [TextDiff] promises, since go-diff sometimes puts an
// insertion first.
func appendSpan(spans []TextSpan, op TextOp, text string) []TextSpan {
	last := len(spans) - 1
	switch {
	case text == "":
		return spans
	case last >= 0 && spans[last].Op == op:
		spans[last].Text += text
		return spans
	case op == Deleted && last >= 0 && spans[last].Op == Inserted:
		inserted := spans[last]
		return append(appendSpan(spans[:last], Deleted, text), inserted)
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

// nthRune skips code points that are no character on their own. It also skips U+FFFD, which stands for invalid
// bytes.
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

// cutting is a way to cut a text in pieces.
type cutting struct {
	cut func(text string) []string
	// pieceBefore gives how much of text there is before its last piece, and
	// pieceAfter how much behind its first: those may go on outside of text.
	pieceBefore, pieceAfter func(text string) int
	// finest: what is too long for this will not be cut in another way.
	finest bool
}

var wholeLines = cutting{
	cut:         func(text string) []string { return strings.SplitAfter(text, "\n") },
	pieceBefore: func(text string) int { return strings.LastIndexByte(text, '\n') + 1 },
	pieceAfter: func(text string) int {
		_, after, _ := strings.Cut(text, "\n")
		return len(after)
	},
}

var singleBytes = cutting{
	cut:         func(text string) []string { return strings.Split(text, "") },
	pieceBefore: func(text string) int { return len(text) },
	pieceAfter:  func(text string) int { return len(text) },
	finest:      true,
}

// words are runs of letters and digits, runs of white space, and single other
// characters.
var words = cutting{
	cut: func(text string) []string {
		var all []string
		for text != "" {
			n := firstWord(text)
			all, text = append(all, text[:n]), text[n:]
		}
		return all
	},
	pieceBefore: func(text string) int {
		for r, size := utf8.DecodeLastRuneInString(text); r == utf8.RuneError && size == 1; r, size = utf8.DecodeLastRuneInString(text) {
			text = text[:len(text)-1] // a part of a character
		}
		for last := runClass(utf8.DecodeLastRuneInString(text)); text != ""; {
			r, size := utf8.DecodeLastRuneInString(text)
			if runClass(r, size) != last {
				break
			}
			text = text[:len(text)-size]
		}
		return len(text)
	},
	pieceAfter: func(text string) int {
		for text != "" && !utf8.RuneStart(text[0]) {
			text = text[1:]
		}
		return len(text) - firstWord(text)
	},
	finest: true,
}

// firstWord returns the length of the first word.
func firstWord(text string) int {
	class := runClass(utf8.DecodeRuneInString(text))
	for i, r := range text {
		if i > 0 && (class == noRun || runClass(r, 0) != class) {
			return i
		}
	}
	return len(text)
}

const (
	noRun = iota
	wordRun
	spaceRun
)

// runClass takes what the decoders of utf8 return.
func runClass(r rune, _ int) int {
	switch {
	case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_':
		return wordRun
	case unicode.IsSpace(r):
		return spaceRun
	}
	return noRun
}
