package markup

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// spanParser reads the text of one block. Its pieces are the text in order; what a piece opens and closes is found as
// the text is read, so that no part of it is read again.
type spanParser struct {
	text   string
	pieces []piece
	// brackets are the pieces [ and ![ that no ] has met.
	brackets []int
	// ticks are the ends of the runs of backticks, by their length.
	ticks map[int][]int
}

// piece is a stretch of text, or a run of marks that may begin or end a style.
type piece struct {
	text string
	// mark is the sign of a run; count is how many of its signs are still text.
	mark            byte
	count, length   int
	opening, ending bool
	// closes and opens are changes of the depth of each style, before the text and after it.
	closes, opens depths
	link          *Link
	image         bool
	end           int   // the piece where the link ends; 0 for a link of one piece
	plain         Style // the piece's own style
}

// depths counts the styles that are open: strong, emphasis and strike.
type depths [3]int32

// parseSpans returns the spans of the text of a block. A style ends with maxSpans bytes at the latest.
func parseSpans(text string) (spans []Span) {
	for len(text) > maxSpans {
		n := strings.LastIndexAny(text[:maxSpans], " \n") + 1
		if n == 0 {
			n = runeStart(text, maxSpans)
		}
		spans, text = append(spans, parseSpans(text[:n])...), text[n:]
	}
	if text == "" {
		return spans
	}
	if !strings.ContainsAny(text, "\\`*_~[<:") && !strings.Contains(text, "www.") {
		return append(spans, Span{Text: text})
	}
	p := &spanParser{text: text}
	p.scan()
	p.matchRuns(0)
	return append(spans, p.spans()...)
}

// scan cuts the text into pieces.
func (p *spanParser) scan() {
	plain := 0 // the start of the text that is no piece yet
	flush := func(to int) {
		if plain < to {
			p.pieces = append(p.pieces, piece{text: p.text[plain:to]})
		}
	}
	for i := 0; i < len(p.text); {
		n := 0 // the bytes of the piece at i
		var next piece
		switch c := p.text[i]; c {
		case '\\':
			if i+1 < len(p.text) && isPunct(p.text[i+1]) {
				next, n = piece{text: p.text[i+1 : i+2]}, 2
			}
		case '`':
			next, n = p.literalAt(i)
		case '*', '_', '~':
			next, n = p.runAt(i)
		case '<':
			next, n = angleLink(p.text[i:])
		case 'h', 'w':
			next, n = p.bareLinkAt(i)
		case '!':
			if strings.HasPrefix(p.text[i:], "![") {
				next, n = piece{text: "![", image: true}, 2
			}
		case '[':
			next, n = piece{text: "["}, 1
		case ']':
			flush(i)
			plain = i
			if n := p.closeBracket(i); n > 0 {
				i += n
				plain = i
				continue
			}
		}
		if n == 0 {
			i++
			continue
		}
		flush(i)
		if next.text == "[" || next.text == "![" && next.image {
			p.brackets = append(p.brackets, len(p.pieces))
		}
		p.pieces = append(p.pieces, next)
		i += n
		plain = i
	}
	flush(len(p.text))
}

func isPunct(c byte) bool {
	return '!' <= c && c <= '/' || ':' <= c && c <= '@' || '[' <= c && c <= '`' || '{' <= c && c <= '~'
}

// literalAt returns the code that begins with the backticks at i, or the backticks where no run like them follows.
func (p *spanParser) literalAt(i int) (piece, int) {
	if p.ticks == nil {
		p.ticks = make(map[int][]int)
		for k := 0; k < len(p.text); {
			n := runLength(p.text[k:], '`')
			if n == 0 {
				k++
				continue
			}
			k += n
			p.ticks[n] = append(p.ticks[n], k)
		}
	}
	n := runLength(p.text[i:], '`')
	ends := p.ticks[n]
	for len(ends) > 0 && ends[0] <= i+n { // the scan comes to each run once
		ends = ends[1:]
	}
	p.ticks[n] = ends
	if len(ends) == 0 {
		return piece{text: p.text[i : i+n]}, n
	}
	code := p.text[i+n : ends[0]-n]
	if strings.HasPrefix(code, " ") && strings.HasSuffix(code, " ") && strings.TrimSpace(code) != "" {
		code = code[1 : len(code)-1]
	}
	return piece{text: code, plain: Literal}, ends[0] - i
}

func runLength(text string, c byte) int {
	n := 0
	for n < len(text) && text[n] == c {
		n++
	}
	return n
}

// runAt returns the run of marks at i, and its bytes.
func (p *spanParser) runAt(i int) (piece, int) {
	c := p.text[i]
	n := runLength(p.text[i:], c)
	run := piece{text: p.text[i : i+n], mark: c, count: n, length: n}
	if c == '~' && n != 2 {
		return piece{text: run.text}, n
	}
	before, _ := utf8.DecodeLastRuneInString(p.text[:i])
	after, _ := utf8.DecodeRuneInString(p.text[i+n:])
	if i == 0 {
		before = ' '
	}
	if i+n == len(p.text) {
		after = ' '
	}
	spaceBefore, spaceAfter := unicode.IsSpace(before), unicode.IsSpace(after)
	signBefore, signAfter := isSign(before), isSign(after)
	left := !spaceAfter && (!signAfter || spaceBefore || signBefore)
	right := !spaceBefore && (!signBefore || spaceAfter || signAfter)
	run.opening, run.ending = left, right
	if c == '_' {
		run.opening, run.ending = left && (!right || signBefore), right && (!left || signAfter)
	}
	return run, n
}

func isSign(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }

// matchRuns finds which runs after piece bottom begin a style and which end it, as CommonMark does.
func (p *spanParser) matchRuns(bottom int) {
	type key struct {
		mark    byte
		opening bool
		rest    int
	}
	none := make(map[key]int) // the openers below are of no use to closers of a key
	var open []int            // the runs that may begin a style
	for at := bottom; at < len(p.pieces); at++ {
		closer := &p.pieces[at]
		if closer.mark == 0 {
			continue
		}
		for closer.ending && closer.count > 0 {
			k := key{closer.mark, closer.opening, closer.length % 3}
			found := -1
			for j := len(open) - 1; j >= none[k]; j-- {
				opener := &p.pieces[open[j]]
				odd := (opener.ending || closer.opening) && (opener.length+closer.length)%3 == 0 && (opener.length%3 != 0 || closer.length%3 != 0)
				if opener.mark == closer.mark && (closer.mark == '~' || !odd) {
					found = j
					break
				}
			}
			if found < 0 {
				none[k] = len(open)
				break
			}
			opener := &p.pieces[open[found]]
			used, style := 1, 1
			switch {
			case closer.mark == '~':
				used, style = 2, 2
			case opener.count >= 2 && closer.count >= 2:
				used, style = 2, 0
			}
			opener.count -= used
			closer.count -= used
			opener.opens[style]++
			closer.closes[style]++
			open = open[:found+1]
			if opener.count == 0 {
				open = open[:found]
			}
			for k, n := range none {
				none[k] = min(n, len(open))
			}
		}
		if closer.opening && closer.count > 0 {
			open = append(open, at)
		}
	}
	for at := bottom; at < len(p.pieces); at++ {
		q := &p.pieces[at]
		q.opening, q.ending = false, false
	}
}

// closeBracket ends the link or the picture whose bracket the ] at i meets. It returns the bytes of the end, 0 where
// the ] is text.
func (p *spanParser) closeBracket(i int) int {
	if len(p.brackets) == 0 {
		return 0
	}
	at := p.brackets[len(p.brackets)-1]
	p.brackets = p.brackets[:len(p.brackets)-1]
	link, n := parseTarget(p.text[i+1:])
	if link == nil {
		return 0
	}
	p.matchRuns(at + 1)
	p.pieces[at].text, p.pieces[at].link, p.pieces[at].end = "", link, len(p.pieces)
	if !p.pieces[at].image { // no link is in a link
		p.brackets = p.brackets[:0]
	}
	p.brackets = p.brackets[max(0, len(p.brackets)-maxPictures):]
	return n + 1
}

// parseTarget reads "(target title)", and returns the bytes that it has.
func parseTarget(text string) (link *Link, n int) {
	link = &Link{}
	if !strings.HasPrefix(text, "(") {
		return nil, 0
	}
	text = text[:min(len(text), maxTarget)]
	depth, to := 0, 0 // to is the end of the target
	var quote byte
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\n':
			return nil, 0
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case i == 1 && c == '<':
			quote = '>'
		case (c == '"' || c == '\'') && text[i-1] == ' ':
			quote = c
			if to == 0 {
				to = i
			}
		case c == '\\':
			i++
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth > 0 {
				continue
			}
			if to == 0 {
				to = i
			}
			link.To = strings.TrimSpace(text[1:to])
			if strings.HasPrefix(link.To, "<") && strings.HasSuffix(link.To, ">") {
				link.To = link.To[1 : len(link.To)-1]
			}
			link.Title = strings.Trim(text[to:i], " \t'\"")
			return link, i + 1
		}
	}
	return nil, 0
}

// angleLink returns the link in angle brackets that a text begins with.
func angleLink(text string) (piece, int) {
	for _, scheme := range []string{"https://", "http://", "mailto:", "file://"} {
		if !strings.HasPrefix(text[1:], scheme) {
			continue
		}
		if end := strings.IndexAny(text[:min(len(text), maxTarget)], "> \n"); end > 0 && text[end] == '>' {
			return piece{text: text[1:end], link: &Link{To: text[1:end]}}, end + 1
		}
	}
	return piece{}, 0
}

// bareLinkAt returns the link that begins at i without brackets.
func (p *spanParser) bareLinkAt(i int) (piece, int) {
	if i > 0 && (isWord(p.text[i-1]) || p.text[i-1] == '/') {
		return piece{}, 0
	}
	for _, scheme := range []string{"https://", "http://", "www."} {
		if !strings.HasPrefix(p.text[i:], scheme) {
			continue
		}
		text := p.text[i:min(len(p.text), i+maxTarget)]
		if end := strings.IndexAny(text, " \t\n<>`\"|[]{}*"); end >= 0 {
			text = text[:end]
		}
		text = strings.TrimRight(text, ".,:;!?'_~")
		for strings.HasSuffix(text, ")") && strings.Count(text, ")") > strings.Count(text, "(") {
			text = strings.TrimRight(text[:len(text)-1], ".,:;!?'_~")
		}
		if len(text) > len(scheme) {
			return piece{text: text, link: &Link{To: text}}, len(text)
		}
	}
	return piece{}, 0
}

func isWord(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c >= utf8.RuneSelf
}

// reach is a link, and the piece where it ends.
type reach struct {
	link  *Link
	image bool
	end   int
	shown bool // a span has the link
}

// spanBuilder puts text of one style together.
type spanBuilder struct {
	spans []Span
	text  []byte
	next  Span // without its text
}

func (b *spanBuilder) flush() {
	if len(b.text) > 0 {
		span := b.next
		span.Text = string(b.text)
		b.spans, b.text = append(b.spans, span), b.text[:0]
	}
}

func (b *spanBuilder) write(text string, next Span) {
	if b.next != next {
		b.flush()
		b.next = next
	}
	b.text = append(b.text, text...)
}

// spans returns the text of the pieces, with pieces of one style in one span.
func (p *spanParser) spans() []Span {
	var b spanBuilder
	var open depths
	var links []reach
	for at := range p.pieces {
		q := &p.pieces[at]
		links = b.closeLinks(links, at)
		for i := range open {
			open[i] -= q.closes[i]
		}
		if q.end > 0 {
			links = append(links, reach{link: q.link, image: q.image, end: q.end})
		}
		style, link := q.plain, q.link
		for i, s := range []Style{Strong, Emphasis, Strike} {
			if open[i] > 0 {
				style |= s
			}
		}
		for _, l := range links {
			link = l.link // the innermost brackets, and not the address that they hold
			if l.image {
				style |= Image
			}
		}
		text, next := q.text, Span{Style: style, Link: link}
		if q.mark != 0 {
			text = text[:q.count]
		}
		switch {
		case q.end == at+1: // nothing is between the brackets
			b.flush()
			b.spans = append(b.spans, next)
			links[len(links)-1].shown = true
		case text != "":
			b.write(text, next)
			if len(links) > 0 {
				links[len(links)-1].shown = true
			}
		}
		for i := range open {
			open[i] += q.opens[i]
		}
	}
	b.closeLinks(links, len(p.pieces))
	b.flush()
	return b.spans
}

// closeLinks drops the links that end before a piece. A link around pictures alone becomes a span without text.
func (b *spanBuilder) closeLinks(links []reach, at int) []reach {
	for len(links) > 0 && links[len(links)-1].end <= at {
		last := links[len(links)-1]
		if !last.shown {
			b.flush()
			b.spans = append(b.spans, Span{Link: last.link})
		}
		links = links[:len(links)-1]
	}
	return links
}
