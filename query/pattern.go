package query

import (
	"bytes"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Pattern is a pattern to search texts for. It never changes, and is safe for concurrent use.
type Pattern struct {
	// expr is nil where the needle is all.
	expr *regexp.Regexp
	// needle is a text that each match contains, nil if no such text is known. Where fold is set,
	// it is in lower case, and its letters match letters of either case.
	needle []byte
	fold   bool
	// literal is the text that expr stands for, in lower case, where letters of either case are the same and all are
	// ASCII; else nil.
	literal []byte
	// spelled are the texts that [spellings] returns: each match in JSON has one. Where fold is set, letters match letters of
	// either case. Nil means that none are known.
	spelled [][]byte
}

// PatternError says that a text is no regular expression.
type PatternError struct {
	// Text is the text of the expression.
	Text string
	Err  error
}

// Error returns a message with the text and the mistake.
func (e *PatternError) Error() string {
	return fmt.Sprintf("%.80q is no regular expression: %v", e.Text, e.Err)
}

// Unwrap returns the underlying error.
func (e *PatternError) Unwrap() error { return e.Err }

// Case says which letters are the same.
type Case uint8

const (
	// SmartCase: letters of either case are the same unless the pattern has a capital one.
	SmartCase Case = iota
	// MatchCase: a letter is only itself.
	MatchCase
	// IgnoreCase: letters of either case are the same.
	IgnoreCase
)

// Literal returns the pattern that is a text.
func Literal(text string, c Case) *Pattern {
	if !folds(text, c) {
		return newLiteral([]byte(text), false)
	}
	if isASCII([]byte(text)) && !strings.ContainsAny(text, "kKsS") { // two letters fold to others
		return newLiteral(bytes.ToLower([]byte(text)), true)
	}
	p, err := Regexp(regexp.QuoteMeta(text), IgnoreCase)
	if err != nil { // a text of invalid UTF-8
		return newLiteral([]byte(text), false)
	}
	return p
}

// newLiteral returns the pattern that is a needle.
func newLiteral(needle []byte, fold bool) *Pattern {
	return &Pattern{needle: needle, fold: fold, spelled: spellings(needle)}
}

// folds reports whether letters of either case are the same to a pattern.
func folds(text string, c Case) bool {
	return c == IgnoreCase || c == SmartCase && strings.IndexFunc(text, unicode.IsUpper) < 0
}

// Regexp returns the pattern that is a regular expression, in the syntax of Go. ^ and $ are the
// ends of a text; matches are looked for within texts. The error is a *PatternError.
func Regexp(text string, c Case) (*Pattern, error) {
	flags := ""
	if folds(unescaped().ReplaceAllString(text, ""), c) {
		flags = "(?i)"
	}
	expr, err := regexp.Compile(flags + text)
	if err != nil {
		return nil, &PatternError{text, err}
	}
	p := &Pattern{expr: expr}
	if tree, err := syntax.Parse(flags+text, syntax.Perl); err == nil {
		tree = tree.Simplify()
		p.needle, p.fold = required(tree)
		p.readLiteral(tree)
		if p.spelled = spellings(p.needle); len(p.needle) < longPart {
			if list := foldedSpellings(tree); list != nil {
				p.spelled = list
			}
		}
	}
	return p, nil
}

// readLiteral takes in that an expression is a text, which is found faster.
func (p *Pattern) readLiteral(tree *syntax.Regexp) {
	text := []byte(string(tree.Rune))
	switch folds := tree.Flags&syntax.FoldCase != 0; {
	case tree.Op != syntax.OpLiteral || !utf8.Valid(text) || folds && !isASCII(text):
	case !folds:
		p.expr, p.needle, p.fold = nil, text, false
	case bytes.ContainsAny(text, "kKsS"): // two letters fold to others
		p.literal = bytes.ToLower(text)
	default:
		p.expr, p.needle, p.fold = nil, bytes.ToLower(text), true
	}
}

// unescaped are the escapes of regular expressions, \S or \pL: their capitals mean no letters.
var unescaped = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\[pP]\{\^?\w+\}|\\[pP]\w|\\x\{\w+\}|\\[\s\S]`) })

// required returns the longest text it can find that each match of an expression contains;
// nil if it finds no such text.
func required(tree *syntax.Regexp) (needle []byte, fold bool) {
	switch tree.Op {
	case syntax.OpLiteral:
		text := string(tree.Rune)
		if tree.Flags&syntax.FoldCase == 0 {
			return atLeast([]byte(text)), false
		}
		longest := ""
		for _, part := range strings.FieldsFunc(text, foldsBeyondASCII) {
			if len(part) > len(longest) {
				longest = part
			}
		}
		return atLeast(bytes.ToLower([]byte(longest))), true
	case syntax.OpCapture, syntax.OpPlus:
		return required(tree.Sub[0])
	case syntax.OpRepeat:
		if tree.Min > 0 {
			return required(tree.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range tree.Sub {
			if of, folds := required(sub); len(of) > len(needle) {
				needle, fold = of, folds
			}
		}
	}
	return needle, fold
}

// foldsBeyondASCII reports whether a letter has other forms than those of an ASCII letter.
func foldsBeyondASCII(r rune) bool {
	if r < utf8.RuneSelf {
		return strings.ContainsRune("kKsS", r)
	}
	return r == utf8.RuneError || unicode.SimpleFold(r) != r || unicode.ToLower(r) != r
}

// atLeast returns a text that is long enough to look for, else nil.
func atLeast(text []byte) []byte {
	if len(text) < 2 {
		return nil
	}
	return text
}

// find returns where in a text the pattern matches first.
func (p *Pattern) find(text []byte) (from, to int, ok bool) {
	if p.literal != nil {
		at := foldIndex(text, p.literal, 0)
		switch {
		case at >= 0 && !hasFoldedASCII(text[:at]):
			return at, at + len(p.literal), true
		case at < 0 && !hasFoldedASCII(text):
			return 0, 0, false
		}
	}
	if p.expr != nil {
		at := p.expr.FindIndex(text)
		if at == nil {
			return 0, 0, false
		}
		return at[0], at[1], true
	}
	at := p.next(text, 0)
	return at, at + len(p.needle), at >= 0
}

// hasFoldedASCII reports whether a text has one of the letters that fold to k or s.
func hasFoldedASCII(text []byte) bool {
	return bytes.Contains(text, []byte("\u212a")) || bytes.Contains(text, []byte("\u017f"))
}

// next returns the offset of the next needle in a text, -1 if no more follows.
func (p *Pattern) next(text []byte, from int) int { return p.indexFrom(text, p.needle, from) }

// indexFrom returns the offset of the next place of a text in another one, -1 if no more follows. With fold letters match those of
// either case.
func (p *Pattern) indexFrom(in, text []byte, from int) int {
	if p.fold {
		return foldIndex(in, text, from)
	}
	at := bytes.Index(in[from:], text)
	if at < 0 {
		return -1
	}
	return from + at
}

// rare has the bytes of English and JSON, the frequent ones first.
const rare = " etaoinsrhld\"cu,mfp:gwyb.v{}[]0123456789_-/kxjqz"

// foldIndex returns the next place of a needle, whose letters match those of either case. It
// looks for the one byte of the needle that is rarest in most texts.
func foldIndex(text, needle []byte, from int) int {
	if len(needle) == 0 {
		return from
	}
	k, best := 0, -1
	for i, b := range needle {
		rank := strings.IndexByte(rare, b)
		if rank < 0 {
			rank = len(rare)
		}
		if rank > best {
			k, best = i, rank
		}
	}
	lower := needle[k]
	upper := lower
	if 'a' <= lower && lower <= 'z' {
		upper -= 'a' - 'A'
	}
	next := -1 // the next one in lower case
	for at := from + k; at < len(text); at++ {
		if next < at {
			if next = bytes.IndexByte(text[at:], lower); next < 0 {
				next = len(text)
			} else {
				next += at
			}
		}
		before := next // the next one in either case
		if upper != lower {
			if i := bytes.IndexByte(text[at:next], upper); i >= 0 {
				before = at + i
			}
		}
		at = before
		if begin := at - k; begin+len(needle) <= len(text) && foldEqual(text[begin:begin+len(needle)], needle) {
			return begin
		}
	}
	return -1
}

// foldEqual reports whether a text is one in lower case but for the case of ASCII letters.
func foldEqual(text, lower []byte) bool {
	for i, b := range text {
		if 'A' <= b && b <= 'Z' {
			b += 'a' - 'A'
		}
		if b != lower[i] {
			return false
		}
	}
	return true
}
