package jsontape

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Text returns the string n decoded, with U+FFFD for lone surrogates and for
// bytes that are no UTF-8, as encoding/json does; "" if n is no string.
func (t *Tape) Text(n Node) string {
	if t.nodes[n].kind != String {
		return ""
	}
	if t.interned != nil {
		return t.interned.text(t.stringBody(n))
	}
	return decodeString(t.stringBody(n))
}

// decodeString decodes the body of a valid string: the bytes between its quotes. A large one is copied
// once: append would copy it several times.
func decodeString(body []byte) string {
	if bytes.IndexByte(body, '\\') < 0 && utf8.Valid(body) {
		return string(body)
	}
	return string(appendText(make([]byte, 0, len(body)), body, math.MaxInt))
}

// AppendText appends to dst at most limit bytes of the result of [Tape.Text], never a part of a character,
// and does no more work than that takes. It appends nothing if n is no string.
func (t *Tape) AppendText(dst []byte, n Node, limit int) []byte {
	if t.nodes[n].kind != String {
		return dst
	}
	return appendText(dst, t.stringBody(n), limit)
}

// Float returns the value of a number; false for any other value, and for a number
// that is not finite.
func (t *Tape) Float(n Node) (float64, bool) {
	if t.Kind(n) != Number {
		return 0, false
	}
	v, err := strconv.ParseFloat(string(t.Raw(n)), 64)
	return v, err == nil && !math.IsInf(v, 0) && !math.IsNaN(v)
}

// Key returns n's key decoded in the manner of [Tape.Text]; "" if n is not in an
// object.
func (t *Tape) Key(n Node) string {
	return decodeString(t.keyBody(n))
}

// Unquote decodes a string with its quotes, as [Tape.Raw] and [Tape.RawKey] return
// it, in the manner of [Tape.Text].
func Unquote(quoted []byte) string {
	if len(quoted) < 2 {
		return ""
	}
	return decodeString(quoted[1 : len(quoted)-1])
}

// AppendUnquoted appends to dst what [Unquote] returns.
func AppendUnquoted(dst, quoted []byte) []byte {
	if len(quoted) < 2 {
		return dst
	}
	return appendText(dst, quoted[1:len(quoted)-1], math.MaxInt)
}

// CleanKey reports whether n's key survives decoding: it has no invalid UTF-8
// and no lone surrogates, for which [Tape.Key] returns U+FFFD. It is true if n is
// not in an object.
func (t *Tape) CleanKey(n Node) bool {
	body := t.keyBody(n)
	return utf8.Valid(body) && (t.nodes[n].flags&keyRespelled == 0 || utf8.Valid(appendSpelling(nil, body)))
}

// part is a piece of a string: bytes that stand for themselves and then, unless
// r is negative, one escaped character. Half of a surrogate pair comes out as
// it is.
type part struct {
	bytes []byte
	r     rune
}

// cutPart takes the first part off body, the bytes between the quotes of a valid string. Escapes that were
// cut off are dropped.
func cutPart(body []byte) (p part, rest []byte) {
	i := bytes.IndexByte(body, '\\')
	if i < 0 {
		i = len(body)
	}
	p = part{bytes: body[:i], r: -1}
	if i+1 >= len(body) {
		return p, nil
	}
	rest = body[i+2:]
	switch c := body[i+1]; c {
	case 'b':
		p.r = '\b'
	case 'f':
		p.r = '\f'
	case 'n':
		p.r = '\n'
	case 'r':
		p.r = '\r'
	case 't':
		p.r = '\t'
	case 'u':
		p.r = hex4(rest)
		if p.r < 0 {
			return p, nil
		}
		rest = rest[4:]
		if utf16.IsSurrogate(p.r) && len(rest) >= 6 && rest[0] == '\\' && rest[1] == 'u' {
			if pair := utf16.DecodeRune(p.r, hex4(rest[2:])); pair != utf8.RuneError {
				p.r, rest = pair, rest[6:]
			}
		}
	default:
		p.r = rune(c)
	}
	return p, rest
}

func appendText(dst, body []byte, limit int) []byte {
	// A byte of text takes six bytes of JSON at most (\u0041), a character
	// twelve, so the rest of a long string need not even be looked at.
	if limit < len(body)/6-2 {
		body = body[:6*limit+12]
	}
	room := limit
	for len(body) > 0 {
		var p part
		p, body = cutPart(body)
		if len(p.bytes) <= room && utf8.Valid(p.bytes) {
			dst = append(dst, p.bytes...)
			room -= len(p.bytes)
			p.bytes = nil
		}
		for len(p.bytes) > 0 {
			r, size := utf8.DecodeRune(p.bytes)
			if utf8.RuneLen(r) > room {
				return dst
			}
			room -= utf8.RuneLen(r)
			dst = utf8.AppendRune(dst, r)
			p.bytes = p.bytes[size:]
		}
		if p.r < 0 {
			continue
		}
		before := len(dst)
		dst = utf8.AppendRune(dst, p.r)
		if room -= len(dst) - before; room < 0 {
			return dst[:before]
		}
	}
	return dst
}

// appendSpelling appends the one spelling of a string that all spellings of it
// share: with the short escapes where JSON has them and \u00xx for the other
// control characters, everything else as itself. Bytes that are no UTF-8 stay
// as they are, and a half of a surrogate pair becomes three bytes in the manner
// of UTF-8, so that values which differ stay different.
//
// A string without \u and \/ is in that spelling already; the parser flags the
// others, so that nearly all strings are compared and hashed as they stand.
func appendSpelling(dst, body []byte) []byte {
	for len(body) > 0 {
		var p part
		p, body = cutPart(body)
		dst = append(dst, p.bytes...)
		if p.r < 0 {
			continue
		}
		if p.r < utf8.RuneSelf {
			dst = append(dst, asciiSpellings[p.r]...)
			continue
		}
		if utf16.IsSurrogate(p.r) {
			dst = append(dst, 0xE0|byte(p.r>>12), 0x80|byte(p.r>>6)&0x3F, 0x80|byte(p.r)&0x3F)
			continue
		}
		dst = utf8.AppendRune(dst, p.r)
	}
	return dst
}

var asciiSpellings = func() (all [utf8.RuneSelf]string) {
	for c := range all {
		all[c] = string([]byte{byte(c)})
		if c < ' ' {
			all[c] = string([]byte{'\\', 'u', '0', '0', '0' + byte(c>>4), "0123456789abcdef"[c&15]})
		}
	}
	all['"'], all['\\'], all['\b'], all['\f'] = `\"`, `\\`, `\b`, `\f`
	all['\n'], all['\r'], all['\t'] = `\n`, `\r`, `\t`
	return all
}()

func hex4(b []byte) rune {
	if len(b) < 4 {
		return -1
	}
	var r rune
	for _, c := range b[:4] {
		d, ok := hexDigit(c)
		if !ok {
			return -1
		}
		r = r<<4 | rune(d)
	}
	return r
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case isDigit(c):
		return c - '0', true
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}
