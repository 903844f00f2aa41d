package runs

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
)

const (
	maxName = 60 // bytes of a name in a title or a fact
	maxText = 200
)

// childrenOf returns the children of a container; none of anything else.
func (r *Run) childrenOf(n jsontape.Node) iter.Seq[jsontape.Node] {
	return func(yield func(jsontape.Node) bool) {
		if n < 0 {
			return
		}
		for c := r.tape.First(n); c >= 0 && yield(c); {
			c = r.tape.Next(c)
		}
	}
}

// textOf returns a string, "" for anything else.
func (r *Run) textOf(n jsontape.Node) string {
	if r.tape.Kind(n) != jsontape.String {
		return ""
	}
	return r.tape.Text(n)
}

// textsOf returns the strings in a list.
func (r *Run) textsOf(list jsontape.Node) []string {
	if r.tape.Kind(list) != jsontape.Array {
		return nil
	}
	var texts []string
	for n := range r.childrenOf(list) {
		if r.tape.Kind(n) == jsontape.String {
			texts = append(texts, r.tape.Text(n))
		}
	}
	return texts
}

// briefValue returns the beginning of a value in one line: a string without its quotes, any
// other value as it is written, "" if it is missing or null.
func (r *Run) briefValue(n jsontape.Node, limit int) string {
	switch r.tape.Kind(n) {
	case jsontape.Invalid, jsontape.Null:
		return ""
	case jsontape.String:
		return shortenText(string(r.tape.AppendText(nil, n, limit+len("…"))), limit)
	}
	raw := r.tape.Raw(n)
	if len(raw) > 4*limit {
		return shortenText(string(raw[:4*limit]), limit)
	}
	return shortenText(string(jsontape.AppendCompact(nil, raw)), limit)
}

// shortenText puts a text on one line of at most limit bytes.
func shortenText(text string, limit int) string {
	text = conversation.OneLine(text)
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len("…")], "") + "…"
}

// statusWord returns a status in lower case.
func (r *Run) statusWord(n jsontape.Node) string { return strings.ToLower(r.briefValue(n, maxName)) }

func (r *Run) readOutcome(n jsontape.Node) outcome { return outcomes[strings.ToLower(r.textOf(n))] }

// readNumber returns a whole number that is not negative.
func (r *Run) readNumber(n jsontape.Node) (value int64, ok bool) {
	if r.tape.Kind(n) != jsontape.Number {
		return 0, false
	}
	raw := r.tape.Raw(n)
	if len(raw) > len("999999999999999999") {
		return 0, false
	}
	for _, c := range raw {
		if c < '0' || c > '9' {
			return 0, false
		}
		value = 10*value + int64(c-'0')
	}
	return value, true
}

func sortedKeys(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
