package markup

import (
	"strings"
	"unicode/utf8"
)

// Part is a stretch of a text that can be parsed without the parts before it.
type Part struct {
	// Text is as it is spelled; the texts of all parts together are the whole.
	Text string
	// fence is the line that began the code in which the part begins; "" outside of code.
	fence string
	// source is the only block of a part that is code from end to end.
	source *Block
}

// Parse returns the blocks of the part.
func (p Part) Parse() []Block {
	if p.source != nil {
		b := *p.source
		b.Text = strings.TrimSuffix(strings.ReplaceAll(p.Text, "\r\n", "\n"), "\n")
		return []Block{b}
	}
	if p.fence == "" {
		return Parse(p.Text)
	}
	blocks := Parse(p.fence + "\n" + p.Text)
	blocks[0].Continued = true
	return blocks
}

// Parts cuts a text into parts of about size bytes: before a block that follows a blank line, else at a line break,
// else anywhere between two characters. A part has at most four times that size. There is at least one.
func Parts(text string, size int) (parts []Part) {
	var open *fence
	start, head, at := Part{}, "", 0 // the part's beginning; the line of open
	begin := 0
	cut := func(to int) {
		start.Text = text[begin:to]
		parts, begin = append(parts, start), to
		if start = (Part{}); open != nil {
			start.fence = head
		}
	}
	blank := false
	for at < len(text) {
		end := strings.IndexByte(text[at:], '\n')
		if end < 0 {
			end = len(text)
		} else {
			end += at + 1
		}
		first := at // the first sign of the line
		for first < end && strings.IndexByte(" \t\r\n", text[first]) >= 0 {
			first++
		}
		if at-begin >= size && (blank && first == at && open == nil || at-begin >= 2*size) {
			cut(at)
		}
		for end-begin > 4*size { // a line that is very long
			cut(runeStart(text, begin+2*size))
		}
		if blank = first == end; !blank && (text[first] == '`' || text[first] == '~') {
			line := strings.TrimRight(text[at:end], "\r\n")
			if open == nil {
				if f, ok := openingFence(line); ok {
					open, head = &f, line
				}
			} else if open.closedBy(line) {
				open = nil
			}
		}
		at = end
	}
	if begin < len(text) || len(parts) == 0 {
		cut(len(text))
	}
	return parts
}

// SourceParts cuts code into parts, as Parts does with the text of a message.
func SourceParts(language, code string, size int) []Part {
	parts := []Part{}
	for {
		n := len(code)
		if n > size {
			if n = strings.LastIndexByte(code[:size], '\n') + 1; n == 0 {
				n = runeStart(code, size)
			}
		}
		parts = append(parts, Part{Text: code[:n], source: &Block{Kind: Code, Language: language, Continued: len(parts) > 0}})
		if code = code[n:]; code == "" {
			return parts
		}
	}
}

// runeStart returns the beginning of the character at a place of a text.
func runeStart(text string, at int) int {
	for n := range utf8.UTFMax {
		if utf8.RuneStart(text[at-n]) {
			return at - n
		}
	}
	return at
}
