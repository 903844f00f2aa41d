package redact

import (
	"slices"
	"strings"
	"unicode/utf8"

	"hindcast/model/conversation"
)

// The text of a title is cut where it is long, and a cut may go through a secret, which no shape tells any more. Titles
// come behind the states that have the secret whole.
const (
	ellipsis = "…"
	// leastCut is the number of bytes of a secret from which on they are known again.
	leastCut = 4
	// mostCut bounds the length of a text with cuts: a title, or a line of acts.
	mostCut = 4 << 10
)

// cutSecret is a secret as a title has it, and the secret.
type cutSecret struct {
	text string
	secret
}

// sortSecrets sorts the secrets by how they begin, and by how they end.
func (r *Redactor) sortSecrets() {
	for text, found := range r.secrets {
		line := conversation.OneLine(text[:min(len(text), mostCut)])
		r.begins = append(r.begins, cutSecret{line, found})
		r.ends = append(r.ends, cutSecret{reverse(line), found})
	}
	compare := func(a, b cutSecret) int { return strings.Compare(a.text, b.text) }
	slices.SortFunc(r.begins, compare)
	slices.SortFunc(r.ends, compare)
}

// hideCut hides what is left of secrets before and behind the ellipses of a text.
func (r *Redactor) hideCut(text string) string {
	if len(text) > mostCut || len(r.begins) == 0 || !strings.Contains(text, ellipsis) {
		return text
	}
	parts := strings.Split(strings.ToValidUTF8(text, "\uFFFD"), ellipsis)
	for i := range parts {
		if i+1 < len(parts) {
			if n, word := r.cutLength(r.begins, parts[i]); n > 0 {
				parts[i] = parts[i][:len(parts[i])-n] + word
			}
		}
		if i > 0 {
			if n, word := r.cutLength(r.ends, reverse(parts[i])); n > 0 {
				parts[i] = word + parts[i][n:]
			}
		}
	}
	return strings.Join(parts, ellipsis)
}

// cutLength returns how many bytes at the end of a text begin a secret, the most there are, and the word for it.
func (r *Redactor) cutLength(sorted []cutSecret, text string) (n int, word string) {
	for from := range text {
		end := text[from:]
		if len(end) < leastCut {
			break
		}
		at, _ := slices.BinarySearchFunc(sorted, end, func(s cutSecret, end string) int { return strings.Compare(s.text, end) })
		if at < len(sorted) && strings.HasPrefix(sorted[at].text, end) {
			return len(end), r.word(sorted[at].secret)
		}
	}
	return 0, ""
}

// reverse returns a text backwards, by its characters.
func reverse(text string) string {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, size := utf8.DecodeLastRuneInString(text)
		out = utf8.AppendRune(out, r)
		text = text[:len(text)-size]
	}
	return string(out)
}
