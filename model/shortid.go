package model

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// ShortID returns at most n bytes of an id by which people tell the snapshots of a
// session apart: the first ones, as git does. Ids that begin with the time begin
// alike where they were made within a minute; of these it is the part in which they
// differ. [Timeline.Resolve] finds both. An id that is not longer is returned whole,
// and no character is cut.
func ShortID(id string, n int) string {
	if len(id) <= n {
		return id
	}
	if part, fromEnd := differingPart(id); part != "" {
		if fromEnd {
			return part[len(part)-n:]
		}
		return part[:min(n, len(part))]
	}
	for n > 0 && !utf8.RuneStart(id[n]) {
		n--
	}
	return id[:n]
}

// differingPart returns the part in which ids differ that begin with the time, and
// whether its end differs more than its beginning; "" for any other id.
//
//	UUID, version 7   random at its end (RFC 9562, section 5.7)
//	UUID, version 6   the low bits of the time; the end may name the machine (5.6)
//	ULID              random at its end
//	prefix and "_"    "msg_" and 16 digits and letters or more, or a UUID: the time, or a
//	                  version, and random at its end
//	date, time, "_"   "20060102T150405_" and 8 digits and letters or more, of crewAI:
//	                  random at its end
func differingPart(id string) (part string, fromEnd bool) {
	switch version := uuidVersion(id); {
	case version == '7', isULID(id), isPrefixed(id), isStamped(id):
		return id, true
	case version == '6':
		return id[len("01a1fbae-"):], false
	}
	return "", false
}

// isDiffering reports whether spec is a text that ShortID might return for an id that begins with the time.
func isDiffering(id, spec string) bool {
	part, fromEnd := differingPart(id)
	if len(part) < len(spec) {
		return false
	}
	if fromEnd {
		return strings.EqualFold(part[len(part)-len(spec):], spec)
	}
	return strings.EqualFold(part[:len(spec)], spec)
}

// uuidVersion returns the digit that is the version of a UUID in its usual form, 0
// for any other text.
func uuidVersion(id string) byte {
	if len(id) != len("01a1fbae-0000-7000-8000-000000000000") {
		return 0
	}
	for i, c := range []byte(id) {
		hyphen := i == 8 || i == 13 || i == 18 || i == 23
		if hyphen != (c == '-') || !hyphen && !isHex(id[i:i+1]) {
			return 0
		}
	}
	return id[14]
}

// isULID reports whether an id is a ULID: 26 digits of Crockford's base 32, the
// first no more than 7.
func isULID(id string) bool {
	if len(id) != len("01ARZ3NDEKTSV4RRFFQ69G5FAV") || id[0] > '7' {
		return false
	}
	const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	return strings.Trim(id, digits) == "" || strings.Trim(id, strings.ToLower(digits)) == ""
}

// isStamped reports whether an id is a date and a time with a long word behind it.
func isStamped(id string) bool {
	const layout = "20060102T150405"
	at, word, _ := strings.Cut(id, "_")
	if len(at) != len(layout) || len(word) < 8 || strings.TrimFunc(word, isWord) != "" {
		return false
	}
	_, err := time.Parse(layout, at)
	return err == nil
}

// isWord reports whether a character is an ASCII letter or a digit.
func isWord(r rune) bool {
	return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// isPrefixed reports whether an id begins with a word for its type, before a long random word.
func isPrefixed(id string) bool {
	of, word, found := strings.Cut(id, "_")
	letter := func(r rune) bool { return 'a' <= r && r <= 'z' }
	long := len(word) >= 16 && strings.TrimFunc(word, isWord) == "" || uuidVersion(word) != 0
	return found && len(of) > 0 && long && strings.TrimFunc(of, letter) == ""
}
