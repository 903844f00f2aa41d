package jsontape

import (
	"bytes"
	"cmp"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// warnings reports what [ParseTolerant] let pass. Most texts are clean, so it
// first asks cheap questions of the whole text.
func (t *Tape) warnings() []Warning {
	var all []Warning
	if skipped := markLen(t.data); skipped > 0 {
		all = append(all, Warning{Kind: ByteOrderMark})
	}
	invalid := !utf8.Valid(t.data)
	for n := range t.nodes {
		if len(all) >= MaxWarnings {
			break
		}
		v, n := &t.nodes[n], Node(n)
		if v.flags&keyRespelled != 0 || invalid {
			all = appendBadText(all, n, int(v.key)+1, t.keyBody(n))
		}
		if v.kind == String && (v.flags&valueRespelled != 0 || invalid) {
			all = appendBadText(all, n, int(v.start)+1, t.stringBody(n))
		}
		if v.flags&named != 0 {
			all = append(all, Warning{NamedNumber, int64(v.start), n})
		}
	}
	for _, n := range t.shadowed {
		if len(all) >= 2*MaxWarnings {
			break
		}
		all = append(all, Warning{DuplicateKey, int64(t.nodes[n].key), n})
	}
	slices.SortStableFunc(all, func(a, b Warning) int { return cmp.Compare(a.Offset, b.Offset) })
	return all[:min(len(all), MaxWarnings):min(len(all), MaxWarnings)]
}

// appendBadText reports the first byte of body that is no UTF-8 and the first
// lone surrogate. Body starts at off.
func appendBadText(all []Warning, n Node, off int, body []byte) []Warning {
	if !utf8.Valid(body) {
		all = append(all, Warning{InvalidUTF8, int64(off + validLen(body)), n})
	}
	if !bytes.Contains(body, []byte(`\u`)) {
		return all
	}
	for rest := body; len(rest) > 0; {
		before := len(body) - len(rest)
		var p part
		p, rest = cutPart(rest)
		if utf16.IsSurrogate(p.r) {
			return append(all, Warning{LoneSurrogate, int64(off + before + len(p.bytes)), n})
		}
	}
	return all
}

// validLen returns how many bytes of b are UTF-8 before the first that is not.
func validLen(b []byte) int {
	i := 0
	for i < len(b) {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		i += size
	}
	return i
}
