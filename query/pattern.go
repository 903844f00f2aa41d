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

	"hindcast/model/needle"
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
	spelled []needle.Needle
	// part finds the needle, and whole the literal.
	part, whole needle.Needle
	// near looks for the expression around needles; nil where one may be anywhere in a match.
	near *nearNeedle
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
	if !foldsLetters(text, c) {
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
func newLiteral(text []byte, fold bool) *Pattern {
	p := &Pattern{needle: text, fold: fold}
	p.setSpelled(spellings(text))
	return p
}

// setSpelled sets the spellings, and what finds the needle and the literal.
func (p *Pattern) setSpelled(list [][]byte) {
	p.part, p.whole = needle.New(p.needle, p.fold), needle.New(p.literal, true)
	p.spelled = nil
	for _, text := range list {
		p.spelled = append(p.spelled, needle.New(text, p.fold))
	}
}

// foldsLetters reports whether letters of either case are the same to a pattern.
func foldsLetters(text string, c Case) bool {
	return c == IgnoreCase || c == SmartCase && strings.IndexFunc(text, unicode.IsUpper) < 0
}

// Regexp returns the pattern that is a regular expression, in the syntax of Go. ^ and $ are the
// ends of a text; matches are looked for within texts. The error is a *PatternError.
func Regexp(text string, c Case) (*Pattern, error) {
	flags := ""
	if foldsLetters(unescaped().ReplaceAllString(text, ""), c) {
		flags = "(?i)"
	}
	expr, err := regexp.Compile(flags + text)
	if err != nil {
		return nil, &PatternError{text, err}
	}
	p := &Pattern{expr: expr}
	if tree, err := syntax.Parse(flags+text, syntax.Perl); err == nil {
		tree = tree.Simplify()
		var before int
		p.needle, p.fold, before = requiredText(tree)
		p.readLiteral(tree)
		list := spellings(p.needle)
		if len(p.needle) < longPart {
			if folded := foldedSpellings(tree); folded != nil {
				list = folded
			} else if len(p.literal) > len(p.needle) {
				list = literalSpellings(p.literal)
			}
		}
		p.setSpelled(list)
		if p.expr != nil && p.needle != nil && before < unbounded {
			p.near = aroundNeedle(flags+text, before, longestMatch(tree))
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

// requiredText returns the longest text it can find that each match of an expression contains;
// nil if it finds no such text. before is the most bytes of a match that stand before the text, unbounded or less.
func requiredText(tree *syntax.Regexp) (needle []byte, fold bool, before int) {
	switch tree.Op {
	case syntax.OpLiteral:
		text := string(tree.Rune)
		if tree.Flags&syntax.FoldCase == 0 {
			return atLeast([]byte(text)), false, 0
		}
		longest := ""
		for _, part := range strings.FieldsFunc(text, foldsBeyondASCII) {
			if len(part) > len(longest) {
				longest = part
			}
		}
		return atLeast(bytes.ToLower([]byte(longest))), true, utf8.UTFMax * utf8.RuneCountInString(text[:strings.Index(text, longest)])
	case syntax.OpCapture, syntax.OpPlus: // of several the first has it
		return requiredText(tree.Sub[0])
	case syntax.OpRepeat:
		if tree.Min > 0 {
			return requiredText(tree.Sub[0])
		}
	case syntax.OpConcat:
		width := 0
		for _, sub := range tree.Sub {
			if of, folds, at := requiredText(sub); len(of) > len(needle) {
				needle, fold, before = of, folds, min(width+at, unbounded)
			}
			width = min(width+longestMatch(sub), unbounded)
		}
	}
	return needle, fold, before
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
		at := p.whole.Index(text, 0)
		switch {
		case at >= 0 && !hasFoldedASCII(text[:at]):
			return at, at + len(p.literal), true
		case at < 0 && !hasFoldedASCII(text):
			return 0, 0, false
		}
	}
	if p.expr != nil {
		var at []int
		known := false
		if p.near != nil && utf8.Valid(text) {
			at, known = p.near.findFirst(text, &p.part)
		}
		if !known {
			at = p.expr.FindIndex(text)
		}
		if at == nil {
			return 0, 0, false
		}
		return at[0], at[1], true
	}
	at := p.nextNeedle(text, 0)
	return at, at + len(p.needle), at >= 0
}

// kelvin and longS are the letters beyond ASCII that fold to k and s.
const kelvin, longS = "\u212a", "\u017f"

// hasFoldedASCII reports whether a text has one of the letters that fold to k or s.
func hasFoldedASCII(text []byte) bool {
	return bytes.Contains(text, []byte(kelvin)) || bytes.Contains(text, []byte(longS))
}

// nextNeedle returns the offset of the next needle in a text, -1 if no more follows.
func (p *Pattern) nextNeedle(text []byte, from int) int { return p.part.Index(text, from) }
