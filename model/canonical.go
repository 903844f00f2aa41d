package model

import (
	"cmp"
	"encoding/json"
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
// integer above 2^53 is rounded, and one spelling stands for many: two states
// that differ only there have the same canonical form.

// maxDepth bounds the nesting of a value that is written; it is the bound to
// which encoding/json reads.
const maxDepth = 10_000

var errNotCanonical = errors.New("RFC 8785 cannot write it")

// appendCanonical appends the canonical form of a value that encoding/json
// decoded to any, with numbers as float64.
func appendCanonical(dst []byte, value any, depth int) ([]byte, error) {
	if depth > maxDepth {
		return dst, fmt.Errorf("%w: more than %d levels deep", errNotCanonical, maxDepth)
	}
	var err error
	switch v := value.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case float64:
		return appendCanonicalNumber(dst, v)
	case string:
		return appendCanonicalString(dst, v), nil
	case []any:
		dst = append(dst, '[')
		for i, element := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendCanonical(dst, element, depth+1); err != nil {
				return dst, err
			}
		}
		return append(dst, ']'), nil
	case map[string]any:
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, key)
		}
		slices.SortFunc(keys, compareUTF16)
		dst = append(dst, '{')
		for i, key := range keys {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendCanonicalString(dst, key), ':')
			if dst, err = appendCanonical(dst, v[key], depth+1); err != nil {
				return dst, err
			}
		}
		return append(dst, '}'), nil
	}
	return dst, fmt.Errorf("%w: a %T is not JSON", errNotCanonical, value)
}

// appendCanonicalNumber appends a number as ECMAScript's Number::toString
// does: plain between 1e-6 and 1e21, with an exponent outside.
func appendCanonicalNumber(dst []byte, f float64) ([]byte, error) {
	switch size := math.Abs(f); {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return dst, fmt.Errorf("%w: %v is not a number in JSON", errNotCanonical, f)
	case f == 0:
		return append(dst, '0'), nil // also for -0
	case size >= 1e-6 && size < 1e21:
		return strconv.AppendFloat(dst, f, 'f', -1, 64), nil
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	// Go writes at least two digits of the exponent, ECMAScript as few as can be.
	if n := len(dst); n-start > 4 && dst[n-2] == '0' && dst[n-4] == 'e' {
		dst = append(dst[:n-2], dst[n-1])
	}
	return dst, nil
}

const hexDigits = "0123456789abcdef"

// appendCanonicalString appends a JSON string that escapes only what must be.
// Invalid UTF-8 becomes U+FFFD.
func appendCanonicalString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range s {
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

// toFloats turns every json.Number of a decoded value into a float64.
func toFloats(value any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("more than %d levels deep", maxDepth)
	}
	switch v := value.(type) {
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			return nil, fmt.Errorf("the number %.40q is out of range", v)
		}
		return f, nil
	case []any:
		for i, element := range v {
			f, err := toFloats(element, depth+1)
			if err != nil {
				return nil, err
			}
			v[i] = f
		}
	case map[string]any:
		for key, element := range v {
			f, err := toFloats(element, depth+1)
			if err != nil {
				return nil, err
			}
			v[key] = f
		}
	}
	return value, nil
}
