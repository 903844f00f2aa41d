package model

import "unicode/utf8"

// ShortID gives n bytes of an id by which people tell the snapshots of a
// session apart: the first ones, as git does. A UUID of version 7 begins with the
// time (RFC 9562, section 5.7), so that those of one minute begin alike; of such
// an id it is the last n characters, which are random. [Timeline.Resolve] finds
// both. An id that is not longer is given whole, and no character is cut.
func ShortID(id string, n int) string {
	switch {
	case len(id) <= n:
		return id
	case timeOrdered(id):
		return id[len(id)-n:]
	}
	for n > 0 && !utf8.RuneStart(id[n]) {
		n--
	}
	return id[:n]
}

// timeOrdered reports whether an id is a UUID of version 7 in its usual form.
func timeOrdered(id string) bool {
	if len(id) != len("01a1fbae-0000-7000-8000-000000000000") || id[14] != '7' {
		return false
	}
	for i, c := range []byte(id) {
		hyphen := i == 8 || i == 13 || i == 18 || i == 23
		if hyphen != (c == '-') || !hyphen && !isHex(id[i:i+1]) {
			return false
		}
	}
	return true
}
