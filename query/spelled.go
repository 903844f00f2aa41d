package query

import (
	"bytes"
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// How a text stands in JSON
//
// A writer of JSON may escape a character, and most characters have one spelling all the same:
//
//	step 12    step 12               ASCII is as it is
//	say "hi"   say \"hi\"            what has to be escaped has a backslash: look for the text before or behind
//	naïve      naïve or na\u00efve   other letters, and < > & ' of HTML, are raw or escaped
//
// So a place in JSON that may have a text is found without decoding it. What is found is decoded, and looked at again.

const (
	// longPart is the length of a part of a text that is rarer than other letters.
	longPart = 4
	// mostOther bounds the other letters whose escapes are looked for.
	mostOther = 2
)

// hasOtherSpelling reports whether a writer may spell a character in JSON in another way than as it is.
func hasOtherSpelling(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(`"\<>&'`, r) }

// spellings returns some texts. JSON that has a text, however it escapes it, has one of them. Nil means no such texts.
func spellings(text []byte) [][]byte {
	part, must := []byte(nil), false // the longest part with one spelling; and whether a character has to be escaped
	for rest := text; len(rest) > 0; {
		n := bytes.IndexFunc(rest, hasOtherSpelling)
		if n < 0 {
			n = len(rest)
		}
		if n > len(part) {
			part = rest[:n]
		}
		if rest = rest[n:]; len(rest) > 0 {
			must = must || rest[0] < ' ' || rest[0] == '"' || rest[0] == '\\'
			_, size := utf8.DecodeRune(rest)
			rest = rest[size:]
		}
	}
	switch {
	case len(part) == len(text), len(part) >= longPart, must && len(part) > 0:
		text = part
	case must:
		return [][]byte{{'\\'}}
	case utf8.Valid(text) && !bytes.ContainsRune(text, utf8.RuneError):
		return otherSpellings(text)
	default: // a damaged text reads as utf8.RuneError
		text = part
	}
	if len(text) == 0 {
		return nil
	}
	return [][]byte{text}
}

// otherSpellings returns the spellings of the beginning of a text with letters that are raw or escaped: one of them is
// escaped, or all are raw. No character of the text has to be escaped.
func otherSpellings(text []byte) [][]byte {
	var others []rune
	end := len(text)
	for at, r := range string(text) {
		if !hasOtherSpelling(r) || slices.Contains(others, r) {
			continue
		}
		if len(others) == mostOther {
			end = at
			break
		}
		others = append(others, r)
	}
	list := [][]byte{text[:end]}
	for _, r := range others {
		list = appendEscapes(list, r)
	}
	return list
}

// appendEscapes appends the escapes of a letter, as far as they tell it from most others: in small and in capital digits.
func appendEscapes(list [][]byte, r rune) [][]byte {
	if high, _ := utf16.EncodeRune(r); high != utf8.RuneError {
		r = high
	}
	small, capital := fmt.Appendf(nil, `\u%04x`, r), fmt.Appendf(nil, `\u%04X`, r)
	if list = append(list, small); !bytes.Equal(small, capital) {
		list = append(list, capital)
	}
	return list
}

// foldedSpellings returns the spellings of a letter in either case that each match of an expression contains; nil if it finds
// no such letter.
func foldedSpellings(tree *syntax.Regexp) (list [][]byte) {
	switch tree.Op {
	case syntax.OpLiteral:
		if tree.Flags&syntax.FoldCase == 0 {
			return nil
		}
		for _, r := range tree.Rune {
			if list = formsOf(r); list != nil {
				for _, form := range bytes.Runes(bytes.Join(list, nil)) {
					list = appendEscapes(list, form)
				}
				return list
			}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return foldedSpellings(tree.Sub[0])
	case syntax.OpRepeat:
		if tree.Min > 0 {
			return foldedSpellings(tree.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range tree.Sub {
			if list = foldedSpellings(sub); list != nil {
				return list
			}
		}
	}
	return nil
}

// literalSpellings returns the spellings of a text in ASCII whose letters match those of either case: as it is, and the
// beginnings of those of the letters beyond ASCII that fold to k or s.
func literalSpellings(text []byte) [][]byte {
	list := spellings(text)
	if bytes.IndexByte(text, 'k') >= 0 {
		list = append(list, []byte(kelvin), []byte(`\u212`))
	}
	if bytes.IndexByte(text, 's') >= 0 {
		list = append(list, []byte(longS), []byte(`\u017`))
	}
	return list
}

// formsOf returns a letter in all its cases, nil where one of them is ASCII.
func formsOf(r rune) (list [][]byte) {
	for form := r; ; {
		if form < utf8.RuneSelf || form == utf8.RuneError {
			return nil
		}
		list = append(list, []byte(string(form)))
		if form = unicode.SimpleFold(form); form == r {
			return list
		}
	}
}

// spelledAtOnce is how much of a text is searched for one spelling before the next one.
const spelledAtOnce = 4 << 10

// nextSpelled returns the offset of the next place in JSON where a match may be, -1 if no more follows.
func (p *Pattern) nextSpelled(text []byte, from int) int {
	if len(p.spelled) == 1 {
		return p.spelled[0].Index(text, from)
	}
	for ; from < len(text); from += spelledAtOnce {
		next := -1
		for i := range p.spelled {
			one := &p.spelled[i]
			last := from + spelledAtOnce - 1
			if next >= 0 {
				last = next
			}
			if at := one.Index(text[:min(len(text), last+len(one.Text()))], from); at >= 0 {
				next = at
			}
		}
		if next >= 0 {
			return next
		}
	}
	return -1
}

// tellingText returns a text that each match contains: as much of it as tells it from the words of stores.
func (p *Pattern) tellingText() []byte {
	switch {
	case !isASCII(p.spelled[0].Text()):
		return p.spelled[0].Text()
	case p.literal != nil: // the words of stores have no letter that folds to one of ASCII
		return p.literal
	}
	return p.needle
}

// isSpelled reports whether a place in JSON may have a match.
func (p *Pattern) isSpelled(text []byte) bool { return p.nextSpelled(text, 0) >= 0 }
