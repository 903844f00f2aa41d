package messages

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf8"

	"hindcast/store/media/files"
)

// readable returns the JSON that can be read of a text that does not parse: the value
// that it begins with, or what stands there up to where it goes wrong, with the
// brackets closed. cut is where that is; what ended before it was whole. ok is false
// where there is nothing.
//
// The text is read once, with a stack of the open brackets. Whenever a value has
// ended, or a bracket was opened, that is a place at which everything could be
// closed; a string that is a value is kept as far as it goes. The stack changes at
// such places only, so that it holds at the end what is open at the last of them.
func readable(text []byte) (whole []byte, cut int, ok bool) {
	for tail := max(0, len(text)-utf8.UTFMax); tail < len(text); tail++ { // a part of a character
		if utf8.RuneStart(text[tail]) && !utf8.FullRune(text[tail:]) {
			text = text[:tail]
		}
	}
	text = bytes.TrimRight(plainText(text), "\r\n\x00") // what is left of a block of the disk
	var out, stack []byte
	safe := 0 // where everything could be closed
	mark := func() { safe = len(out) }
	key := false // a key comes next
	after := false
loop:
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			out = append(out, c)
		case after && len(stack) == 0:
			break loop
		case !after && (c == '{' || c == '['):
			if key {
				break loop
			}
			out, stack = append(out, c), append(stack, c+2) // the closing one of each
			mark()
			key = c == '{'
		case (c == '}' || c == ']') && len(stack) > 0 && c == stack[len(stack)-1] && out[len(bytes.TrimRight(out, " \t\r\n"))-1] != ',' && out[len(bytes.TrimRight(out, " \t\r\n"))-1] != ':':
			out, stack = append(out, c), stack[:len(stack)-1]
			after, key = true, false
			mark()
		case after && c == ',' && len(stack) > 0:
			out = append(out, c)
			after, key = false, stack[len(stack)-1] == '}'
		case !after && c == '"':
			quoted, end, closed := readString(text[i:])
			switch {
			case closed && key:
				colon := bytes.TrimLeft(text[i+end:], " \t\r\n")
				if len(colon) == 0 || colon[0] != ':' {
					break loop
				}
				out = append(append(out, quoted...), ':')
				i = len(text) - len(colon)
				key = false
				continue
			case closed:
				out = append(out, quoted...)
				after = true
				mark()
			case key:
				break loop
			default:
				out = append(append(out, quoted...), '"')
				mark()
				break loop
			}
			i += end - 1
		case !after && !key:
			end := i
			for end < len(text) && !bytes.ContainsRune([]byte(" \t\r\n,]}"), rune(text[end])) {
				end++
			}
			if end == len(text) || !jsonLiteral(text[i:end]) {
				break loop
			}
			out = append(out, text[i:end]...)
			after = true
			mark()
			i = end - 1
		default:
			break loop
		}
	}
	out = out[:safe]
	slices.Reverse(stack)
	whole = append(out, stack...)
	if _, err := files.Parse(whole); err != nil || safe == 0 {
		return nil, 0, false
	}
	return whole, safe, true
}

// jsonLiteral reports whether a text is a number or a name as Python reads it.
func jsonLiteral(text []byte) bool {
	_, err := files.Parse(text)
	return err == nil
}

// readString returns the string that a text begins with, with what has to be escaped
// escaped, and where it ends; without its closing quote if that is missing.
func readString(text []byte) (quoted []byte, end int, closed bool) {
	quoted = append(quoted, '"')
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return append(quoted, '"'), i + 1, true
		case c == '\\':
			n := 2
			if i+1 < len(text) && text[i+1] == 'u' {
				n = 6
			}
			if i+n > len(text) || !jsonLiteral(slices.Concat([]byte(`"`), text[i:i+n], []byte(`"`))) {
				return quoted, i, false
			}
			quoted = append(quoted, text[i:i+n]...)
			i += n - 1
		case c < ' ':
			quoted = fmt.Appendf(quoted, `\u%04x`, c)
		default:
			_, size := utf8.DecodeRune(text[i:])
			quoted = append(quoted, text[i:i+size]...)
			i += size - 1
		}
	}
	return quoted, len(text), false
}

// plainText returns a text without a byte order mark, and with U+FFFD for what is not
// UTF-8.
func plainText(data []byte) []byte {
	return bytes.ToValidUTF8(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), []byte("\ufffd"))
}
