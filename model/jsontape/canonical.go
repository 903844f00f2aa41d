package jsontape

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The JSON Canonicalization Scheme of RFC 8785: no spaces, keys in the order
// of their UTF-16 units, strings with the fewest escapes, and numbers as
// ECMAScript writes the IEEE 754 double nearest to them. By that definition an
// integer above 2^53 is rounded, and one spelling stands for many: two values
// that differ only there have the same canonical form.

// ErrNotCanonical: RFC 8785 has no form of a value.
var ErrNotCanonical = errors.New("RFC 8785 cannot write it")

// AppendCanonical appends the canonical form of n, without the members, at whatever depth, whose keys leave reports;
// nil leaves none. Of members with one key the last one counts. Half of a surrogate pair, which the RFC refuses, is
// written as JSON.stringify of ECMAScript does: "\ud83d". The error is [ErrNotCanonical] for a number that JSON has no
// spelling for, or that a double cannot hold.
func (t *Tape) AppendCanonical(dst []byte, n Node, leave func(key string) bool) ([]byte, error) {
	var err error
	switch t.Kind(n) {
	case Number:
		return t.appendCanonicalNumber(dst, n)
	case String:
		return appendCanonicalBody(dst, t.stringBody(n), t.nodes[n].flags&valueRespelled != 0), nil
	case Array:
		dst = append(dst, '[')
		for c := t.First(n); c >= 0 && err == nil; c = t.Next(c) {
			if c != t.First(n) {
				dst = append(dst, ',')
			}
			dst, err = t.AppendCanonical(dst, c, leave)
		}
		return append(dst, ']'), err
	case Object:
		type member struct {
			key  string
			node Node
		}
		members := make([]member, 0, t.Count(n))
		for c := t.First(n); c >= 0; c = t.Next(c) {
			if key := t.Key(c); !t.IsShadowed(c) && (leave == nil || !leave(key)) {
				members = append(members, member{key, c})
			}
		}
		slices.SortFunc(members, func(a, b member) int { return compareUTF16(a.key, b.key) })
		dst = append(dst, '{')
		for i, m := range members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendCanonicalBody(dst, t.keyBody(m.node), t.nodes[m.node].flags&keyRespelled != 0), ':')
			if dst, err = t.AppendCanonical(dst, m.node, leave); err != nil {
				return dst, err
			}
		}
		return append(dst, '}'), nil
	}
	return append(dst, t.Raw(n)...), nil
}

// appendCanonicalNumber appends a number as ECMAScript writes it.
func (t *Tape) appendCanonicalNumber(dst []byte, n Node) ([]byte, error) {
	const exact = 15 // digits that a double always holds
	raw := t.Raw(n)
	if digits := bytes.TrimPrefix(raw, []byte("-")); len(digits) <= exact && isDigits(digits) && (raw[0] != '-' || digits[0] != '0') {
		return append(dst, raw...), nil
	}
	f, ok := t.Float(n)
	if !ok || !t.Standard(n) || math.IsNaN(f) || math.IsInf(f, 0) {
		return dst, fmt.Errorf("%w: the number %.40q", ErrNotCanonical, raw)
	}
	return appendDouble(dst, f), nil
}

// appendDouble appends a number as ECMAScript's Number::toString does: plain
// between 1e-6 and 1e21, with an exponent outside.
func appendDouble(dst []byte, f float64) []byte {
	switch size := math.Abs(f); {
	case f == 0:
		return append(dst, '0') // also for -0
	case size >= 1e-6 && size < 1e21:
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	// Go writes at least two digits of the exponent, ECMAScript as few as can be.
	if n := len(dst); n-start > 4 && dst[n-2] == '0' && dst[n-4] == 'e' {
		dst = append(dst[:n-2], dst[n-1])
	}
	return dst
}

const hexDigits = "0123456789abcdef"

// appendCanonicalBody appends the bytes between the quotes of a string, with the quotes. Invalid UTF-8 becomes
// U+FFFD.
func appendCanonicalBody(dst, body []byte, respelled bool) []byte {
	dst = append(dst, '"')
	if respelled {
		body = appendSpelling(nil, body)
	}
	for len(body) > 0 {
		valid := validLen(body)
		dst, body = append(dst, body[:valid]...), body[valid:]
		switch {
		case len(body) == 0:
		case respelled && len(body) >= 3 && body[0] == 0xED && body[1] >= 0xA0 && body[2] >= 0x80: // half of a pair
			dst, body = fmt.Appendf(dst, `\u%04x`, 0xD000|rune(body[1]&0x3F)<<6|rune(body[2]&0x3F)), body[3:]
		default:
			dst, body = utf8.AppendRune(dst, utf8.RuneError), body[1:]
		}
	}
	return append(dst, '"')
}

// AppendBriefly appends a text as a JSON string that escapes only what must be. Invalid UTF-8 becomes U+FFFD.
func AppendBriefly(dst []byte, text string) []byte {
	dst = append(dst, '"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r >= ' ':
			dst = utf8.AppendRune(dst, r)
		default:
			if short := strings.IndexRune("\b\t\n\f\r", r); short >= 0 {
				dst = append(dst, '\\', "btnfr"[short])
				continue
			}
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&15])
		}
	}
	return append(dst, '"')
}

// compareUTF16 returns the order of two strings by their UTF-16 units. It is the
// order of their code points, except that those above U+FFFF, which are written
// as surrogates from U+D800, come before U+E000 to U+FFFF.
func compareUTF16(a, b string) int {
	for a != "" && b != "" {
		ra, na := utf8.DecodeRuneInString(a)
		rb, nb := utf8.DecodeRuneInString(b)
		if ra != rb {
			aboveA, aboveB := ra > 0xFFFF, rb > 0xFFFF
			switch {
			case aboveA && !aboveB && rb >= 0xE000:
				return -1
			case aboveB && !aboveA && ra >= 0xE000:
				return 1
			}
			return cmp.Compare(ra, rb)
		}
		a, b = a[na:], b[nb:]
	}
	return cmp.Compare(len(a), len(b))
}
