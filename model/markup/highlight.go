package markup

import (
	"strings"
	"unicode/utf8"
)

// Class is the class of a token of code.
type Class uint8

const (
	// Plain is code of no class.
	Plain Class = iota
	Comment
	String
	Number
	Keyword
	// Name is the name of a member, of a property or of a tag.
	Name
	// Added and Removed are lines of a diff; Place is a line that tells where it applies.
	Added
	Removed
	Place
)

// Token is a stretch of code of one class.
type Token struct {
	Class Class
	Text  string
}

// Highlight cuts code into tokens. Their texts together are the code; code of an unknown language is one token.
func Highlight(name, code string) []Token {
	if name == "diff" || name == "patch" {
		return highlightDiff(code)
	}
	l, ok := languageOf(name)
	if !ok {
		return []Token{{Text: code}}
	}
	h := highlighter{language: l, code: code, words: make(map[string]bool)}
	for word := range strings.FieldsSeq(l.keywords) {
		h.words[word] = true
	}
	for h.at < len(code) {
		class, n := h.tokenAt(code[h.at:])
		h.add(class, n)
	}
	return h.tokens
}

// highlighter cuts code from front to end.
type highlighter struct {
	language
	code   string
	at     int
	words  map[string]bool
	tokens []Token
	inTag  bool
	start  int // the beginning of the last token
}

// add ends a token, which goes on with the last one of its class.
func (h *highlighter) add(class Class, n int) {
	h.at += n
	if last := len(h.tokens) - 1; last >= 0 && h.tokens[last].Class == class {
		h.tokens[last].Text = h.code[h.start:h.at]
		return
	}
	h.start = h.at - n
	h.tokens = append(h.tokens, Token{class, h.code[h.start:h.at]})
}

// tokenAt returns the class and the length of the token that begins a rest of the code.
func (h *highlighter) tokenAt(rest string) (Class, int) {
	if begin, end, ok := strings.Cut(h.block, " "); ok && strings.HasPrefix(rest, begin) {
		return Comment, lengthTo(rest, len(begin), end)
	}
	for mark := range strings.FieldsSeq(h.line) {
		if strings.HasPrefix(rest, mark) && h.maybeComment(mark) {
			return Comment, lineLength(rest)
		}
	}
	for quote := range strings.FieldsSeq(h.long) {
		if strings.HasPrefix(rest, quote) {
			return String, lengthTo(rest, len(quote), quote)
		}
	}
	c := rest[0]
	switch {
	case strings.IndexByte(h.quotes, c) >= 0 && h.maybeString(rest):
		n := h.stringLength(rest)
		return h.memberOr(String, rest, n), n
	case h.tags && c == '<' && len(rest) > 1 && (isWord(rest[1]) || strings.IndexByte("/!?", rest[1]) >= 0):
		h.inTag = true
		return Name, 1 + wordLength(rest[1:], "/!?-:.")
	case h.tags && c == '>':
		h.inTag = false
		return Plain, 1
	case h.tags && !h.inTag:
		return Plain, 1
	case '0' <= c && c <= '9':
		return Number, wordLength(rest, ".")
	case isWord(c):
		n := wordLength(rest, h.joiners())
		word := rest[:n]
		if h.folds {
			word = strings.ToLower(word)
		}
		if h.words[word] {
			return Keyword, n
		}
		return h.memberOr(Plain, rest, n), n
	}
	_, n := utf8.DecodeRuneInString(rest)
	return Plain, n
}

// joiners returns the signs in names of members.
func (h *highlighter) joiners() string {
	if h.member != 0 {
		return "-."
	}
	return ""
}

// memberOr returns Name for a name that a colon or an equal sign follows, else class.
func (h *highlighter) memberOr(class Class, rest string, n int) Class {
	if h.member == 0 {
		return class
	}
	after := rest[n:min(len(rest), n+8)]
	if after = strings.TrimLeft(after, " "); after == "" || after[0] != h.member {
		return class
	}
	return Name
}

// maybeComment reports whether a mark that is also used elsewhere begins a comment here.
func (h *highlighter) maybeComment(mark string) bool {
	if mark != "#" && mark != ";" || h.at == 0 {
		return true
	}
	return strings.IndexByte(" \t\n;(", h.code[h.at-1]) >= 0
}

// maybeString reports whether the quote that begins the rest begins a string.
func (h *highlighter) maybeString(rest string) bool {
	if h.tags {
		return h.inTag
	}
	if h.lifetime && rest[0] == '\'' {
		return len(rest) > 2 && (rest[1] == '\\' || rest[2] == '\'' || rest[1] >= utf8.RuneSelf)
	}
	word := h.at
	for word > 0 && h.at-word < 3 && isWord(h.code[word-1]) {
		word--
	}
	return strings.Trim(h.code[word:h.at], "rbfuRBFULN8") == ""
}

// stringLength returns the length of the string that begins the rest; it ends with its line at the latest.
func (h *highlighter) stringLength(rest string) int {
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case rest[0]:
			return i + 1
		case '\n':
			return i
		case '\\':
			if h.escapes {
				i++
			}
		}
	}
	return len(rest)
}

// lengthTo returns the length up to and with the next end after the first from bytes.
func lengthTo(text string, from int, end string) int {
	if i := strings.Index(text[from:], end); i >= 0 {
		return from + i + len(end)
	}
	return len(text)
}

func lineLength(text string) int {
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		return i
	}
	return len(text)
}

// wordLength returns the length of the word that a text begins with; joiners belong to it as well.
func wordLength(text, joiners string) int {
	n := 0
	for n < len(text) && (isWord(text[n]) || strings.IndexByte(joiners, text[n]) >= 0) {
		n++
	}
	return n
}

// highlightDiff cuts a unified diff, or a patch that begins with ***, into its lines.
func highlightDiff(code string) (tokens []Token) {
	for line := range strings.Lines(code) {
		class := Plain
		switch {
		case strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "@@"), strings.HasPrefix(line, "diff "), strings.HasPrefix(line, "*** "):
			class = Place
		case strings.HasPrefix(line, "+"):
			class = Added
		case strings.HasPrefix(line, "-"):
			class = Removed
		}
		tokens = append(tokens, Token{class, line})
	}
	return tokens
}
