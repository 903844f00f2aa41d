package mapped

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"hindcast/model/jsontape"
)

// scanner reads the text of a map from left to right.
type scanner struct {
	text string
	at   int
}

// problem is a mistake at a byte of the text.
type problem struct {
	at   int
	what string
}

func (s *scanner) hasMore() bool { return s.at < len(s.text) }

// peek returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	if !s.hasMore() {
		return 0
	}
	return s.text[s.at]
}

func (s *scanner) blanks() {
	for s.hasMore() && strings.IndexByte(" \t\r\n", s.text[s.at]) >= 0 {
		s.at++
	}
}

// take goes over a byte if it is the next.
func (s *scanner) take(c byte) bool {
	if s.peek() != c || !s.hasMore() {
		return false
	}
	s.at++
	return true
}

// word goes over the small letters that come next.
func (s *scanner) word() string {
	start := s.at
	for c := s.peek(); 'a' <= c && c <= 'z'; c = s.peek() {
		s.at++
	}
	return s.text[start:s.at]
}

// query reads a path, whose first character tells how it is spelled.
func (s *scanner) query() (query, *problem) {
	start := s.at
	var p query
	var wrong *problem
	switch {
	case s.peek() == '/':
		p, wrong = s.pointer()
	default:
		p, wrong = s.jsonPath()
	}
	p.text = strings.TrimRight(s.text[start:s.at], " \t\r\n")
	return p, wrong
}

// pointer reads a JSON Pointer (RFC 6901), which ends at a comma.
func (s *scanner) pointer() (query, *problem) {
	start := s.at
	end := len(s.text)
	if comma := strings.IndexByte(s.text[start:], ','); comma >= 0 {
		end = start + comma
	}
	s.at = end
	var p query
	at := start + 1
	for token := range strings.SplitSeq(strings.TrimRight(s.text[at:end], " \t\r\n"), "/") {
		for i := range len(token) {
			if token[i] == '~' && (i+1 == len(token) || token[i+1] != '0' && token[i+1] != '1') {
				return p, &problem{at + i, "in a JSON Pointer ~ is written ~0, and / in a name ~1"}
			}
		}
		p.steps = append(p.steps, step{kind: stepToken, name: unescapeToken.Replace(token)})
		at += len(token) + 1
	}
	return p, nil
}

var unescapeToken = strings.NewReplacer("~1", "/", "~0", "~")

// jsonPath reads a query of RFC 9535: one that is singular, or that has [*] or
// .* in it besides. Without $ or @ it begins with a name.
func (s *scanner) jsonPath() (query, *problem) {
	var p query
	switch {
	case s.take('$'):
		p.document = true
	case s.take('@'):
	case s.peek() == '[':
	default:
		if wrong := s.name(&p); wrong != nil {
			return p, wrong
		}
	}
	for {
		before := s.at
		s.blanks()
		switch {
		case s.take('.'):
			if s.peek() == '.' {
				return p, &problem{s.at, "one path leads to one value, so .. has no place in it"}
			}
			if s.take('*') {
				p.steps = append(p.steps, step{kind: stepAll})
			} else if wrong := s.name(&p); wrong != nil {
				return p, wrong
			}
		case s.take('['):
			if wrong := s.bracket(&p); wrong != nil {
				return p, wrong
			}
		case s.take('|'):
			s.blanks()
			if at := s.at; s.word() != fromJSON {
				return p, &problem{at, "behind | stands fromjson, which enters the JSON that a text holds"}
			}
			p.steps = append(p.steps, step{kind: stepText})
		default:
			s.at = before
			return p, nil
		}
	}
}

// fromJSON enters the JSON that a text holds.
const fromJSON = "fromjson"

// filterCondition reads the condition of a filter: a path from the element to one value, and what that is compared with.
func (s *scanner) filterCondition() (c condition, wrong *problem) {
	at := s.at
	q, wrong := s.query()
	if wrong == nil && (at == s.at || q.document || q.text[0] != '@' || q.spreads()) {
		wrong = &problem{at, "a filter begins with @, the element, and compares one value: [?@.key=='so']"}
	}
	if wrong == nil {
		c, wrong = s.condition("]")
	}
	c.query = q
	return c, wrong
}

// condition reads what stands behind a path: == or !=, and a text or another value that has no parts. It goes up to
// end, or without quotes to its first character.
func (s *scanner) condition(end string) (c condition, wrong *problem) {
	s.blanks()
	at := s.at
	if c.not = s.take('!'); !s.take('=') || !c.not && !s.take('=') {
		return c, &problem{at, "== or != and a value were expected"}
	}
	s.blanks()
	at = s.at
	if first := s.peek(); first == '\'' || first == '"' {
		c.quoted = true
		c.text, wrong = s.quotedText()
		return c, wrong
	}
	for s.hasMore() && !strings.ContainsRune(end, rune(s.peek())) {
		s.at++
	}
	if c.text = strings.TrimSpace(s.text[at:s.at]); c.text == "" {
		return c, &problem{at, "there is no value; an empty text is written ''"}
	}
	return c, nil
}

// name reads a name without quotes: letters, digits and _, no digit first.
func (s *scanner) name(p *query) *problem {
	start := s.at
	for s.hasMore() {
		r, size := utf8.DecodeRuneInString(s.text[s.at:])
		plain := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r >= utf8.RuneSelf && (r != utf8.RuneError || size > 1)
		if !plain && (s.at == start || r < '0' || '9' < r) {
			break
		}
		s.at += size
	}
	if s.at == start {
		return &problem{s.at, "a name was expected; one that is not letters, digits and _ is written ['so']"}
	}
	p.steps = append(p.steps, step{kind: stepMember, name: s.text[start:s.at]})
	return nil
}

// bracket reads what stands in brackets; the first bracket has been read.
func (s *scanner) bracket(p *query) *problem {
	s.blanks()
	switch c := s.peek(); {
	case c == '*':
		s.at++
		p.steps = append(p.steps, step{kind: stepAll})
	case c == '\'' || c == '"':
		name, wrong := s.quotedText()
		if wrong != nil {
			return wrong
		}
		p.steps = append(p.steps, step{kind: stepMember, name: name})
	case c == '?':
		s.at++
		s.blanks()
		only, wrong := s.filterCondition()
		if wrong != nil {
			return wrong
		}
		p.steps = append(p.steps, step{kind: stepFilter, only: &only})
	case c == '-' || '0' <= c && c <= '9':
		index, wrong := s.number()
		if wrong != nil {
			return wrong
		}
		p.steps = append(p.steps, step{kind: stepElement, index: index})
	default:
		return &problem{s.at, "in brackets stands a position, such as [0], a name in quotes, such as ['so'], or a filter, such as [?@.key=='so']"}
	}
	s.blanks()
	if !s.take(']') {
		return &problem{s.at, "a ] was expected"}
	}
	return nil
}

// maxIndex is the largest position that RFC 9535 knows, and that an int of the system has.
const maxIndex = min(1<<53-1, math.MaxInt)

func (s *scanner) number() (int, *problem) {
	start := s.at
	s.take('-')
	for c := s.peek(); '0' <= c && c <= '9'; c = s.peek() {
		s.at++
	}
	n, err := strconv.Atoi(s.text[start:s.at])
	if err != nil || strconv.Itoa(n) != s.text[start:s.at] || n > maxIndex || n < -maxIndex {
		return 0, &problem{start, "that is no position in an array"}
	}
	return n, nil
}

// quotedText reads a text in single or double quotes, with the escapes of RFC 9535.
func (s *scanner) quotedText() (string, *problem) {
	start, quote := s.at, s.text[s.at]
	s.at++
	// The text is turned into a JSON string, which then is decoded.
	text := []byte{'"'}
	for s.hasMore() && s.text[s.at] != quote {
		c := s.text[s.at]
		switch {
		case c == '\\' && s.at+1 < len(s.text) && s.text[s.at+1] == quote:
			s.at++
			if quote == '"' {
				text = append(text, '\\')
			}
			text = append(text, quote)
		case c == '\\' && s.at+1 < len(s.text):
			text = append(text, c, s.text[s.at+1])
			s.at++
		case c == '"':
			text = append(text, '\\', c)
		default:
			text = append(text, c)
		}
		s.at++
	}
	if !s.take(quote) {
		return "", &problem{start, "the quote is not closed"}
	}
	text = append(text, '"')
	_, warnings, err := jsontape.ParseTolerant(text)
	if err != nil || len(warnings) > 0 {
		return "", &problem{start, "there is an escape in it that JSON does not have"}
	}
	return jsontape.Unquote(text), nil
}
