package redact

import (
	"slices"
	"unsafe"
)

// Mask writes the letter x over the secrets of known shape in a file, in place, and returns how many it found. A guess, as
// a word behind "password:", is left. The ends of lines stay, and so do the escapes of JSON: records of the same lengths are
// read as before.
func (r *Redactor) Mask(data []byte) int {
	if len(data) == 0 {
		return 0
	}
	text := unsafe.String(&data[0], len(data))
	spans := searchDecoded(text, r.shapedSpans)
	spans = joinOverlaps(slices.DeleteFunc(spans, func(s span) bool { return isMasked(data[s.from:s.to]) }))
	for _, s := range spans {
		for i := s.from; i < s.to; i++ {
			switch data[i] {
			case '\n', '\r', '"':
			case '\\':
				if i++; i < s.to && data[i] == 'u' {
					i += 4
				}
			default:
				data[i] = 'x'
			}
		}
	}
	return len(spans)
}

// shapedSpans returns the secrets in a text that their own shape tells, in no order.
func (r *Redactor) shapedSpans(text string) (spans []span) {
	for _, m := range r.matches(text, true) {
		from, to := m.findSecret()
		spans = append(spans, span{from: from, to: to, kind: m.rule.kind})
	}
	return appendShaped(keysInLines(spans, text), text)
}

// isMasked reports whether a secret was masked before.
func isMasked(text []byte) bool {
	return !slices.ContainsFunc(text, func(c byte) bool { return c != 'x' && c != '\n' && c != '\r' && c != '"' && c != '\\' })
}
