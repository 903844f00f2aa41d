package query

import (
	"regexp"
	"regexp/syntax"
	"unicode/utf8"

	"hindcast/model/needle"
)

// nearNeedle finds the matches of an expression around the needles of a text, instead of trying each letter.
type nearNeedle struct {
	// first matches at the beginning of a text, and later behind its first letter, so that \b and (?m:^) know that one.
	first, later *regexp.Regexp
	// before is the most bytes from the beginning of a match to its needle, and width the most bytes of a match.
	before, width int
}

// unbounded stands for as many bytes as one likes.
const unbounded = 1 << 10

// tries is how often the bytes of a text may be read around its needles. Where these are many and matches long, one pass
// over the text takes less.
const tries = 4

// aroundNeedle returns what finds the matches of an expression, in which at most before bytes stand before the needle and
// width bytes in all.
func aroundNeedle(text string, before, width int) *nearNeedle {
	first, err := regexp.Compile(`\A(?:` + text + `)`)
	if err != nil { // the expression is at the limit of what may be nested
		return nil
	}
	later, err := regexp.Compile(`\A(?s:.)(?:` + text + `)`)
	if err != nil {
		return nil
	}
	return &nearNeedle{first, later, before, width}
}

// findFirst finds the first match in a text of valid UTF-8: nil without one. known is false where that would take long.
func (n *nearNeedle) findFirst(text []byte, part *needle.Needle) (at []int, known bool) {
	tried := 0 // no match begins before
	left := tries * len(text)
	for near := part.Index(text, 0); near >= 0; near = part.Index(text, near+1) {
		for from := max(tried, near-n.before); from <= near; from++ {
			if !utf8.RuneStart(text[from]) {
				continue
			}
			within := text[from:]
			if n.width < unbounded && n.width+utf8.UTFMax < len(within) { // with the letter behind the match, for \b and $
				within = within[:n.width+utf8.UTFMax]
			}
			if left -= len(within); left < 0 {
				return nil, false
			}
			if end := n.matchAt(text, from, from+len(within)); end >= 0 {
				return []int{from, end}, true
			}
		}
		tried = near + 1
	}
	return nil, true
}

// matchAt returns the end of the match that begins at a place of a text and lies before end; else -1.
func (n *nearNeedle) matchAt(text []byte, from, end int) int {
	if from == 0 {
		if at := n.first.FindIndex(text[:end]); at != nil {
			return at[1]
		}
		return -1
	}
	_, size := utf8.DecodeLastRune(text[:from])
	if at := n.later.FindIndex(text[from-size : end]); at != nil {
		return from - size + at[1]
	}
	return -1
}

// longestMatch returns how long a match of an expression may be in bytes, at most unbounded.
func longestMatch(tree *syntax.Regexp) int {
	switch tree.Op {
	case syntax.OpNoMatch, syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return 0
	case syntax.OpLiteral:
		return min(utf8.UTFMax*len(tree.Rune), unbounded)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return utf8.UTFMax
	case syntax.OpCapture, syntax.OpQuest:
		return longestMatch(tree.Sub[0])
	case syntax.OpConcat:
		sum := 0
		for _, sub := range tree.Sub {
			sum = min(sum+longestMatch(sub), unbounded)
		}
		return sum
	case syntax.OpAlternate:
		most := 0
		for _, sub := range tree.Sub {
			most = max(most, longestMatch(sub))
		}
		return most
	case syntax.OpRepeat:
		if tree.Max >= 0 {
			return min(tree.Max*longestMatch(tree.Sub[0]), unbounded)
		}
	}
	return unbounded // of * and +
}
