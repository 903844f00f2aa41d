package strands

import (
	"fmt"
	"slices"

	"hindcast/store/files"
)

// window puts messages together to what the SDK holds in memory, in the way of
// RepositorySessionManager._fix_broken_tool_use.
//
// The rules are those of strands-agents 1.62.0, whose two passes over the whole
// list come down to looking at neighbours:
//
//  1. Tool results in a user message are taken out when the message before it,
//     as it was stored, asks for no tool. A message that has nothing else goes.
//  2. Of what is left, let a message that asks for tools be followed by another.
//     If the results in that are not for exactly these calls, they are replaced
//     by one for each call, in the calls' order: the result that is there (the
//     last, if there are several), or an error. Where it has no results at all
//     but something else, a message with the errors is put in before it.
//
// The last message is left alone: what happens to its calls is decided when the
// agent is called. Older SDKs do less: up to 1.52 rule 1 holds only for the
// first message of the list, of which nothing is kept; 1.40 (the seed) adds
// what is missing behind the rest and leaves what is too much.
//
// Of a message that is not whole, nothing is concluded: the SDK would not have
// come this far.
type window struct {
	// emit takes the pieces of the array, without the brackets.
	emit func(json []byte)
	// again gives the body of a message that was recalled without one.
	again func(name string) []byte
	size  int64
	n     int // messages in the array
	// partial says that messages were skipped: size is not known then.
	partial bool

	// answers says that the message before, as it was stored, lets the next one
	// have tool results.
	answers bool
	// The message before in the array: its file, where it is in that, and the
	// calls that the next one has to answer.
	file, location string
	calls          []call
}

// fix is one repair.
type fix struct {
	// code is that of the fault that is repaired.
	code string
	// file and path say where it is.
	file, path       string
	meaning, verdict string
}

// wasInterrupted is what the SDK puts in the place of a result that is missing.
const wasInterrupted = "Tool was interrupted."

// add appends a message and gives the repairs that it took.
func (w *window) add(m *message) (fixes []fix) {
	answers := w.answers
	w.answers = !m.whole || len(m.calls) > 0
	if !m.whole {
		w.write(m.body, m.size)
		w.calls = w.calls[:0]
		return nil
	}
	body, size, results := m.body, m.size, m.results
	if m.role == "user" && len(results) > 0 && !answers {
		fixes = append(fixes, w.orphan(m))
		if m.others == 0 {
			return fixes
		}
		body, results = withContent(w.body(m), keepOthers), nil
		size = len(body)
	}
	missing, stale := mismatch(w.calls, results)
	switch {
	case len(missing)+len(stale) == 0:
	case len(results) == 0 && m.others > 0:
		fixes = append(fixes, w.mismatched(m, missing, stale))
		put := appendErrors([]byte(`{"role":"user","content":[`), w.calls)
		w.write(put, len(put))
	default:
		fixes = append(fixes, w.mismatched(m, missing, stale))
		body = withContent(w.body(m), rebuild(w.calls))
		size = len(body)
	}
	w.write(body, size)
	w.file, w.location, w.calls = m.name, m.location, append(w.calls[:0], m.calls...)
	return fixes
}

// body gives the body of a message.
func (w *window) body(m *message) []byte {
	if m.body == nil {
		return w.again(m.name)
	}
	return m.body
}

// write appends one element to the array, of a size that is known where its bytes
// are not.
func (w *window) write(body []byte, size int) {
	if w.n > 0 {
		w.put([]byte{','}, 1)
	}
	w.n++
	w.put(body, size)
}

func (w *window) put(json []byte, size int) {
	w.size += int64(size)
	if w.emit != nil {
		w.emit(json)
	}
}

// mismatch gives the calls that have no result, and the results that have no
// call; neither if there are no calls.
func mismatch(calls []call, results []result) (missing []call, stale []result) {
	if len(calls) == 0 || slices.EqualFunc(calls, results, func(c call, r result) bool { return c.id == r.id }) {
		return nil, nil
	}
	asked, answered := make(map[string]bool, len(calls)), make(map[string]bool, len(results))
	for _, r := range results {
		answered[r.id] = true
	}
	for _, c := range calls {
		asked[c.id] = true
		if !answered[c.id] {
			missing = append(missing, c)
		}
	}
	for _, r := range results {
		if !asked[r.id] {
			stale = append(stale, r)
		}
	}
	return missing, stale
}

// keepOthers gives the blocks of a content that are no tool results.
func keepOthers(_ map[string][]byte, others [][]byte) []byte {
	return joined(nil, others)
}

// rebuild gives a function that makes the content of a message which answers
// exactly these calls.
func rebuild(calls []call) func(map[string][]byte, [][]byte) []byte {
	return func(results map[string][]byte, others [][]byte) []byte {
		var blocks [][]byte
		for _, c := range calls {
			block, ok := results[c.id]
			if !ok {
				block = appendError(nil, c)
			}
			blocks = append(blocks, block)
		}
		return joined(nil, append(blocks, others...))
	}
}

func joined(dst []byte, blocks [][]byte) []byte {
	for i, block := range blocks {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, block...)
	}
	return dst
}

// withContent gives a message with another content: what makes has of the tool
// results by id, the last of each, and the other blocks. All else stays byte
// for byte.
func withContent(body []byte, makes func(results map[string][]byte, others [][]byte) []byte) []byte {
	t, err := files.Parse(body)
	if err != nil {
		return body // it was parsed before
	}
	content := t.Find(0, "content")
	results := make(map[string][]byte)
	var others [][]byte
	for b := t.First(content); b >= 0; b = t.Next(b) {
		res := t.Find(b, "toolResult")
		if res < 0 {
			others = append(others, t.Raw(b))
			continue
		}
		results[identity(t, t.Find(res, "toolUseId"))] = t.Raw(b)
	}
	start, end := t.Span(content)
	out := append([]byte(nil), body[:start]...)
	out = append(append(append(out, '['), makes(results, others)...), ']')
	return append(out, body[end:]...)
}

// appendError appends the result that stands for one that is missing.
func appendError(dst []byte, c call) []byte {
	dst = append(dst, `{"toolResult":{"toolUseId":`...)
	dst = append(dst, c.rawID...)
	return append(dst, `,"status":"error","content":[{"text":"`+wasInterrupted+`"}]}}`...)
}

// appendErrors appends one for each call and ends the message. The SDK also
// gives it a tracking_id, another one on every start.
func appendErrors(dst []byte, calls []call) []byte {
	for i, c := range calls {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendError(dst, c)
	}
	return append(dst, "]}"...)
}

// orphan words that rule 1 applies.
func (w *window) orphan(m *message) fix {
	f := fix{code: FaultOrphanResult, file: m.name, path: m.path(m.results[0].block) + "/toolResult",
		meaning: fmt.Sprintf("the result of %.60q follows a message that asks for no tool", m.results[0].id)}
	first := w.n == 0
	switch {
	case first && m.others == 0:
		f.verdict = repaired + "the message is dropped"
	case first:
		f.verdict = repaired + "the result is dropped, its message stays (older SDKs, up to 1.52, drop the message)"
	case m.others == 0:
		f.verdict = repaired + "the message is dropped (older SDKs, up to 1.52, keep it, and most providers refuse it)"
	default:
		f.verdict = repaired + "the result is dropped, its message stays (older SDKs, up to 1.52, keep both, and most providers refuse them)"
	}
	if first {
		f.code = FaultLeadingResult
		f.meaning = fmt.Sprintf("what is loaded begins with the result of %.60q, without its call", m.results[0].id)
	}
	return f
}

// mismatched words that rule 2 applies between the message before and m.
func (w *window) mismatched(m *message, missing []call, stale []result) fix {
	if len(missing) == 0 {
		return fix{code: FaultStaleResult, file: m.name, path: m.path(stale[0].block) + "/toolResult",
			meaning: fmt.Sprintf("the result of %.60q has no call in the message before", stale[0].id),
			verdict: repaired + "the result is dropped (older SDKs, 1.40, keep it)"}
	}
	f := fix{code: FaultMissingResult, file: w.file, path: fmt.Sprintf("%s/content/%d/toolUse", w.location, missing[0].block),
		meaning: fmt.Sprintf("the tool call %.60q has no result in the next message", missing[0].id)}
	if more := len(missing) - 1; more > 0 {
		f.meaning += fmt.Sprintf(", nor have %d others", more)
	}
	errors := "the error \"" + wasInterrupted + "\" takes the place of what is missing"
	switch {
	case len(m.results) == 0 && m.others > 0:
		f.verdict = repaired + "a message with the error \"" + wasInterrupted + "\" is put in between"
	case len(stale) > 0:
		f.verdict = repaired + errors + ", and the results of other calls are dropped (older SDKs, 1.40, keep them)"
	case len(m.results) == 0:
		f.verdict = repaired + errors + ", in the empty message that follows (older SDKs, 1.40, put in another)"
	default:
		f.verdict = repaired + errors + " (older SDKs, 1.40, put it last)"
	}
	if len(m.results) > len(stale) {
		f.code = FaultPartialResult
	}
	return f
}

// duplicate gives the first tool result of a message that answers a call again.
func (m *message) duplicate() (result, bool) {
	if len(m.results) < 2 {
		return result{}, false
	}
	seen := make(map[string]bool, len(m.results))
	for _, r := range m.results {
		if seen[r.id] {
			return r, true
		}
		seen[r.id] = true
	}
	return result{}, false
}
