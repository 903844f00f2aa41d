package jsontape

import (
	"bytes"
	"encoding/json"
	"slices"
	"unicode/utf8"
)

// mostQuoted is how much of a text is marshalled at once, in bytes: a whole one would be
// there three times.
const mostQuoted = 64 << 10

// AppendQuoted appends a text as a JSON string, as encoding/json marshals it.
func AppendQuoted[T string | []byte](dst []byte, text T) []byte {
	if isDigits(text) {
		return append(append(append(dst, '"'), text...), '"')
	}
	if len(text) > mostQuoted {
		dst = slices.Grow(dst, quotedLen(text))
	}
	dst = append(dst, '"')
	for len(text) > 0 {
		n := len(text)
		if n > mostQuoted {
			n = mostQuoted
			for k := range utf8.UTFMax { // no character is cut
				if utf8.RuneStart(text[n-k]) {
					n -= k
					break
				}
			}
		}
		quoted, err := json.Marshal(string(text[:n]))
		if err != nil {
			panic(err) // a string is always marshalled
		}
		dst, text = append(dst, quoted[1:len(quoted)-1]...), text[n:]
	}
	return append(dst, '"')
}

// quotedLen returns how long a text of UTF-8 is as a JSON string, at most.
func quotedLen[T string | []byte](text T) int {
	n := len(text) + 2
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t':
			n++
		case c < ' ' || c == '<' || c == '>' || c == '&':
			n += len(`\u0000`) - 1
		case c == 0xa8 || c == 0xa9:
			if i >= 2 && text[i-1] == 0x80 && text[i-2] == 0xe2 {
				n += len(`\u2028`) - len("\u2028")
			}
		}
	}
	return n
}

// isDigits reports whether a text is nothing but digits.
func isDigits[T string | []byte](text T) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return true
}

// NextString returns where the next string of a JSON text begins and ends from a place on, with its quotes; the end of the text where no
// more follows. It looks at quotes and backslashes alone.
func NextString(text []byte, at int) (from, to int) {
	n := bytes.IndexByte(text[at:], '"')
	if n < 0 {
		return len(text), len(text)
	}
	from = at + n
	for to = from + 1; to < len(text); to++ {
		n := bytes.IndexByte(text[to:], '"')
		if n < 0 {
			break
		}
		to += n
		slashes := 0
		for text[to-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return from, to + 1
		}
	}
	return len(text), len(text)
}

// EncodePlain returns the compact JSON of texts, numbers, and maps and lists of them. Characters of HTML stay as they are.
func EncodePlain(value any) []byte {
	var data bytes.Buffer
	to := json.NewEncoder(&data)
	to.SetEscapeHTML(false)
	_ = to.Encode(value) // such values have no errors
	return bytes.TrimRight(data.Bytes(), "\n")
}
