package chat

import (
	"iter"
	"slices"
	"strings"

	"hindcast/model/jsontape"
)

// spoken names the members that hold texts of a conversation in the records of agents, and of programs that
// copy them. Ids, types, times and paths have other names.
var spoken = map[string]bool{
	"content": true, "text": true, "parts": true, "message": true, "summary": true, "output": true,
	"thinking": true, "reasoning": true, "prompt": true, "body": true, "response": true, "result": true,
	"value": true, "answer": true, "query": true, "markdown": true, "finalText": true, "delta": true, "todos": true,
}

// Texts returns the texts of a record: the strings of the members that hold what someone says,
// at any depth, without those of white space alone.
func Texts(record Value) iter.Seq[string] {
	return func(yield func(string) bool) {
		if !record.There() {
			return
		}
		t := record.tape
		for n, end := record.node, t.End(record.node); n < end; n++ {
			if t.Kind(n) != jsontape.String || !isSpoken(t, n) {
				continue
			}
			if text := t.Text(n); strings.TrimSpace(text) != "" && !yield(text) {
				return
			}
		}
	}
}

// partTexts returns the texts of each part of a content: of the objects in the lists of members that
// are called so, but for lists in a part.
func partTexts(record Value) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		if !record.There() {
			return
		}
		t := record.tape
		for n, end := record.node, t.End(record.node); n < end; n++ {
			if t.Kind(n) != jsontape.Array || t.Key(n) != "content" && t.Key(n) != "parts" {
				continue
			}
			for part := range (Value{t, n}).Each() {
				if texts := slices.Collect(Texts(part)); part.Kind() == jsontape.Object && len(texts) > 0 && !yield(texts) {
					return
				}
			}
			n = t.End(n) - 1
		}
	}
}

// HasText reports whether a record has a text.
func HasText(record Value) bool {
	for range Texts(record) {
		return true
	}
	return false
}

// mostNested bounds the lists in lists around a text.
const mostNested = 8

// isSpoken reports whether a string belongs to the conversation: it is a spoken member, or an element of one.
func isSpoken(t *jsontape.Tape, n jsontape.Node) bool {
	for range mostNested {
		up := t.Parent(n)
		if up < 0 || t.Kind(up) != jsontape.Array {
			return up >= 0 && spoken[t.Key(n)]
		}
		n = up
	}
	return false
}
