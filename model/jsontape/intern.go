package jsontape

import (
	"hash/maphash"
)

// interner holds short texts that were decoded, so that a text of many records (a type, a folder, the id that the next
// record names as its parent) is one string. A text may put out another one.
type interner [256]string

// mostInterned bounds an interned text, in bytes: an id of 36 fits.
const mostInterned = 64

// text decodes the body of a string, as decodeString does.
func (in *interner) text(body []byte) string {
	if len(body) > mostInterned {
		return decodeString(body)
	}
	at := &in[maphash.Bytes(seed, body)%uint64(len(in))]
	if *at == string(body) {
		return *at
	}
	text := decodeString(body)
	if text == string(body) { // a body with escapes may spell another text
		*at = text
	}
	return text
}
