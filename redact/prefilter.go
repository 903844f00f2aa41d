package redact

import (
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// A prefilter tells for each rule where in a text the rule's expression can match. It reads the text once for all
// rules, and the expressions then run in small windows of it.
//
//	curl -s https://api.example.com/v1        the literal "curl"
//	  -u admin:hunter2                        the window: \s may cross one end of a line
//	Done.
//
// The literals are computed from the expression: each match holds at least one. So is the number of ends of lines
// that a match crosses at most. A window begins and ends with white space, or with the text. Therefore the matches
// in the windows are the matches in the text, as long as no ^, $ or \b of a rule stands beside an expression of white space.
type prefilter struct {
	automaton
	rules []filtered // of the rules of this package, in their order
}

// filtered describes one rule.
type filtered struct {
	// literals and hints are numbers of words of the automaton. Without literals the rule runs over the whole text.
	literals, hints []int
	// lines is how many ends of lines a match crosses at most; unbounded if there is no such number.
	lines int
}

// unbounded is a number of lines without a bound.
const unbounded = 1 << 20

const (
	// mostLiterals bounds the literals of one rule.
	mostLiterals = 40
	// leastLiteral is the least length of a literal in bytes: shorter ones are everywhere.
	leastLiteral = 2
)

// ruleFilter returns the prefilter of the rules.
var ruleFilter = sync.OnceValue(func() *prefilter {
	f := &prefilter{}
	numbers := map[string]int{}
	var words []string
	number := func(list []string) (of []int) {
		for _, word := range list {
			word = foldText(word)
			n, there := numbers[word]
			if !there {
				n = len(words)
				numbers[word] = n
				words = append(words, word)
			}
			of = append(of, n)
		}
		return of
	}
	for i := range rules() {
		re, err := syntax.Parse(rules()[i].re().String(), syntax.Perl)
		if err != nil {
			panic(err) // unreachable: it was compiled
		}
		f.rules = append(f.rules, filtered{number(requiredLiterals(re)), number(rules()[i].hints), crossedLines(re)})
	}
	f.automaton = newAutomaton(words)
	return f
})

// window is a part of a text.
type window struct{ from, to int }

// windows calls run with each window of a text, in order, in which a rule can match. places are the places of the
// words of the automaton in the text. No two windows overlap.
func (rule *filtered) windows(text string, places [][]int, run func(window)) {
	if rule.hints != nil && !slices.ContainsFunc(rule.hints, func(word int) bool { return len(places[word]) > 0 }) {
		return
	}
	if rule.literals == nil {
		run(window{0, len(text)})
		return
	}
	var at []int
	for _, word := range rule.literals {
		at = append(at, places[word]...)
	}
	if len(at) == 0 {
		return
	}
	if rule.lines >= unbounded {
		run(window{0, len(text)})
		return
	}
	slices.Sort(at)
	w, line := window{0, -1}, 0 // nothing yet; line is where the line of the last place ends
	for _, place := range at {
		if w.to >= 0 && place < line {
			continue
		}
		next := window{linesBefore(text, place, rule.lines), 0}
		line = endOfLine(text, place)
		next.to = linesBehind(text, place, rule.lines)
		switch {
		case w.to < 0:
			w = next
		case next.from <= w.to:
			w.to = next.to
		default:
			run(w)
			w = next
		}
	}
	run(w)
}

const whiteSpace = "\t\n\f\r "

// endOfLine returns where the line of a place ends.
func endOfLine(text string, place int) int {
	if n := strings.IndexByte(text[place:], '\n'); n >= 0 {
		return place + n
	}
	return len(text)
}

// linesBefore returns the start of the white space before the line of a place, and before some lines more. Lines of
// white space do not count.
func linesBefore(text string, place, lines int) int {
	for {
		line := strings.LastIndexByte(text[:place], '\n')
		place = len(strings.TrimRight(text[:line+1], whiteSpace))
		if lines == 0 || place == 0 {
			return place
		}
		lines--
	}
}

// linesBehind returns the end of the white space behind the line of a place, and behind some lines more.
func linesBehind(text string, place, lines int) int {
	for {
		end := endOfLine(text, place)
		end = len(text) - len(strings.TrimLeft(text[end:], whiteSpace))
		if lines == 0 || end == len(text) {
			return end
		}
		lines--
		place = end
	}
}

// crossedLines returns how many ends of lines a match of an expression crosses at most. White space in a row is one
// end of a line.
func crossedLines(re *syntax.Regexp) int {
	most := 0
	switch re.Op {
	case syntax.OpAnyChar:
		return 1
	case syntax.OpLiteral:
		for _, c := range re.Rune {
			if c == '\n' {
				most++
			}
		}
		return most
	case syntax.OpCharClass:
		if holdsRune(re.Rune, '\n') {
			return 1
		}
		return 0
	case syntax.OpStar, syntax.OpPlus, syntax.OpRepeat:
		most = crossedLines(re.Sub[0])
		switch {
		case most == 0 || isWhiteSpace(re.Sub[0]):
		case re.Op != syntax.OpRepeat || re.Max < 0:
			return unbounded
		default:
			most *= re.Max
		}
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			most = max(most, crossedLines(sub))
		}
	default:
		for _, sub := range re.Sub {
			most += crossedLines(sub)
		}
	}
	return min(most, unbounded)
}

// holdsRune reports whether the ranges of a class hold a character.
func holdsRune(ranges []rune, c rune) bool {
	for i := 0; i+1 < len(ranges); i += 2 {
		if ranges[i] <= c && c <= ranges[i+1] {
			return true
		}
	}
	return false
}

// isWhiteSpace reports whether an expression matches one character, which is white space.
func isWhiteSpace(re *syntax.Regexp) bool {
	if re.Op == syntax.OpLiteral {
		return len(re.Rune) == 1 && strings.ContainsRune(whiteSpace, re.Rune[0])
	}
	if re.Op != syntax.OpCharClass {
		return false
	}
	for i := 0; i+1 < len(re.Rune); i += 2 {
		for c := re.Rune[i]; c <= re.Rune[i+1]; c++ {
			if !strings.ContainsRune(whiteSpace, c) {
				return false
			}
		}
	}
	return true
}

// requiredLiterals returns literals, folded: each match of an expression holds one. It returns nil if no short list of
// them is known.
func requiredLiterals(re *syntax.Regexp) []string {
	if all := allMatches(re); isTellingList(all) {
		return all
	}
	switch re.Op {
	case syntax.OpCapture, syntax.OpPlus:
		return requiredLiterals(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return requiredLiterals(re.Sub[0])
		}
	case syntax.OpAlternate:
		var list []string
		for _, sub := range re.Sub {
			of := requiredLiterals(sub)
			if of == nil {
				return nil
			}
			list = append(list, of...)
		}
		if len(list) <= mostLiterals {
			return list
		}
	case syntax.OpConcat:
		var best []string
		take := func(list []string) {
			if isTellingList(list) && (best == nil || shortest(list) > shortest(best)) {
				best = list
			}
		}
		run := []string{""} // the matches of the elements in a row so far
		for _, sub := range re.Sub {
			all := allMatches(sub)
			if next := joinAll(run, all); next != nil {
				run = next
				continue
			}
			take(run)
			if run = all; all == nil {
				run = []string{""}
			}
			take(requiredLiterals(sub))
		}
		take(run)
		return best
	}
	return nil
}

// isTellingList reports whether literals are few, and long enough.
func isTellingList(list []string) bool {
	return len(list) > 0 && len(list) <= mostLiterals && shortest(list) >= leastLiteral
}

func shortest(list []string) int {
	return len(slices.MinFunc(list, func(a, b string) int { return len(a) - len(b) }))
}

// allMatches returns all texts that an expression matches, folded; nil if they are many.
func allMatches(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return []string{""}
	case syntax.OpLiteral:
		return []string{foldText(string(re.Rune))}
	case syntax.OpCharClass:
		var list []string
		for i := 0; i+1 < len(re.Rune); i += 2 {
			for c := re.Rune[i]; c <= re.Rune[i+1]; c++ {
				if list = append(list, foldText(string(c))); len(list) > mostLiterals {
					return nil
				}
			}
		}
		slices.Sort(list)
		if list = slices.Compact(list); len(list) <= 4 {
			return list
		}
	case syntax.OpCapture:
		return allMatches(re.Sub[0])
	case syntax.OpQuest:
		if list := allMatches(re.Sub[0]); list != nil {
			return append([]string{""}, list...)
		}
	case syntax.OpAlternate:
		var list []string
		for _, sub := range re.Sub {
			of := allMatches(sub)
			if list = append(list, of...); of == nil || len(list) > mostLiterals {
				return nil
			}
		}
		return list
	case syntax.OpConcat:
		list := []string{""}
		for _, sub := range re.Sub {
			if list = joinAll(list, allMatches(sub)); list == nil {
				return nil
			}
		}
		return list
	}
	return nil
}

// joinAll returns the concatenations of two lists of texts. It returns nil if there are more than mostLiterals.
func joinAll(before, behind []string) (list []string) {
	if len(before)*len(behind) > mostLiterals {
		return nil
	}
	for _, a := range before {
		for _, b := range behind {
			list = append(list, a+b)
		}
	}
	return list
}

// foldRune returns one character for all that differ only in case.
func foldRune(c rune) rune {
	if c < utf8.RuneSelf {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		return c
	}
	least := c
	for next := unicode.SimpleFold(c); next != c; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	if least < utf8.RuneSelf {
		return foldRune(least)
	}
	return least
}

func foldText(text string) string { return strings.Map(foldRune, text) }

// automaton finds words in a text, in one pass over its bytes, whatever their case: Aho and Corasick, "Efficient
// string matching", 1975.
type automaton struct {
	// class has the class of each byte, 0 for a byte of no word; classes counts them.
	class   [256]uint8
	classes int
	// next has the next state for a state and a class, and found the words that end in a state.
	next  []uint16
	found [][]int
	words int
}

// newAutomaton returns the automaton of folded words. No word is empty.
func newAutomaton(words []string) automaton {
	a := automaton{classes: 1, found: [][]int{nil}, words: len(words)}
	for _, word := range words {
		for i := range len(word) {
			if a.class[word[i]] == 0 {
				a.class[word[i]] = uint8(a.classes)
				a.classes++
			}
		}
	}
	a.next = make([]uint16, a.classes)
	for n, word := range words {
		state := 0
		for i := range len(word) {
			to := &a.next[state*a.classes+int(a.class[word[i]])]
			if *to == 0 {
				*to = uint16(len(a.found))
				a.found = append(a.found, nil)
				state = int(*to)
				a.next = append(a.next, make([]uint16, a.classes)...)
				continue
			}
			state = int(*to)
		}
		a.found[state] = append(a.found[state], n)
	}
	// In the order of their depth, a state goes on as the longest suffix of it that is a state does.
	suffix := make([]uint16, len(a.found))
	var queue []int
	for c := range a.classes {
		if to := a.next[c]; to != 0 {
			queue = append(queue, int(to))
		}
	}
	for len(queue) > 0 {
		state := queue[0]
		queue = queue[1:]
		back := int(suffix[state])
		a.found[state] = append(a.found[state], a.found[back]...)
		for c := range a.classes {
			to := &a.next[state*a.classes+c]
			if *to == 0 {
				*to = a.next[back*a.classes+c]
				continue
			}
			suffix[*to] = a.next[back*a.classes+c]
			queue = append(queue, int(*to))
		}
	}
	return a
}

// scan adds to places, for each word, where it ends in a text: at the first byte of its last character. It empties
// places first.
func (a *automaton) scan(text string, places [][]int) [][]int {
	if places == nil {
		places = make([][]int, a.words)
	}
	for i := range places {
		places[i] = places[i][:0]
	}
	state := 0
	var folded [utf8.UTFMax]byte
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			state = int(a.next[state*a.classes+int(a.class[c])])
			for _, word := range a.found[state] {
				places[word] = append(places[word], i)
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		for _, c := range folded[:utf8.EncodeRune(folded[:], foldRune(r))] {
			state = int(a.next[state*a.classes+int(a.class[c])])
		}
		for _, word := range a.found[state] {
			places[word] = append(places[word], i)
		}
		i += size
	}
	return places
}
