package pickle

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// escape says how an escaped character is written: so many digits of a base, or as what it
// stands for.
type escape struct {
	digits, base int
	is           byte
}

// unicodeEscapes are the escapes of a text in protocol 0, and stringEscapes those of a Python 2 string.
var (
	unicodeEscapes = map[byte]escape{'u': {digits: 4, base: 16}, 'U': {digits: 8, base: 16}}
	stringEscapes  = map[byte]escape{
		'x': {digits: 2, base: 16}, 'n': {is: '\n'}, 't': {is: '\t'}, 'r': {is: '\r'}, '\\': {is: '\\'},
		'\'': {is: '\''}, '"': {is: '"'}, 'a': {is: '\a'}, 'b': {is: '\b'}, 'f': {is: '\f'}, 'v': {is: '\v'},
	}
)

// unescape decodes the escapes of a text. An invalid escape stays as it is. Other characters of a text in
// protocol 0 are Latin-1.
func unescape(text []byte, known map[byte]escape) []byte {
	_, isText := known['u']
	out := make([]byte, 0, len(text))
	var high rune // the first half of a character that is written as two
	for i := 0; i < len(text); i++ {
		r, n := rune(text[i]), 1
		if text[i] == '\\' && i+1 < len(text) {
			if is, size, ok := known[text[i+1]].readEscape(text[i+2:]); ok {
				r, n = is, 2+size
			}
		}
		i += n - 1
		switch {
		case !isText:
			out = append(out, byte(r))
			continue
		case high != 0 && utf16.DecodeRune(high, r) != utf8.RuneError:
			out = utf8.AppendRune(out[:len(out)-utf8.RuneLen(utf8.RuneError)], utf16.DecodeRune(high, r))
			high = 0
			continue
		}
		if high = 0; utf16.IsSurrogate(r) {
			high = r
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}

// readEscape reads what is behind the letter of an escape, and how long that is.
func (e escape) readEscape(text []byte) (is rune, size int, ok bool) {
	if e.digits == 0 {
		return rune(e.is), 0, e.is != 0
	}
	if len(text) < e.digits {
		return 0, 0, false
	}
	n, err := strconv.ParseUint(string(text[:e.digits]), e.base, 32)
	return rune(n), e.digits, err == nil && n <= utf8.MaxRune
}
