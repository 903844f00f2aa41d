package messages

import (
	"fmt"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/media/files"
	"hindcast/store/sdk"
)

// window puts messages together to what the SDK holds in memory, in the way of
// RepositorySessionManager._fix_broken_tool_use.
//
// The rules are those of the newest version in question, see versions.go. The newest
// of all goes over the whole list twice, which comes down to looking at neighbours:
//
//  1. Tool results in a user message are taken out when the message before it,
//     as it was stored, asks for no tool. A message that has nothing else goes.
//     (Before dropsOrphans a first message with results goes whole, and others stay.)
//  2. Of what is left, let a message that asks for tools be followed by another.
//     If the results in that are not for exactly these calls, they are replaced
//     by one for each call, in the calls' order: the result that is there (the
//     last, if there are several), or an error. Where it has no results at all
//     but something else, a message with the errors is put in before it.
//     (Before ordersResults an error is put behind the rest, or without any results in
//     a message before; what is too much stays.)
//
// The last message is left alone: what happens to its calls is decided when the
// agent is called.
//
// Of a message that is not whole, nothing is concluded: the SDK would not have
// come this far.
type window struct {
	sdk sdk.Span
	// emit takes the elements of the array, see piece.
	emit func(piece)
	// again gives the body of a message that was recalled without one.
	again func(m *message) []byte
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

// piece is an element of the array: json, or where it is nil the body of the message as its file has it.
type piece struct {
	msg   *message // lent; of errors the one that they are put before
	json  []byte
	again func(m *message) []byte
}

// fix is one repair.
type fix struct {
	// flaw is the repaired flaw, and file is its file.
	flaw
	file string
	// kept says that the version in question repairs nothing.
	kept bool
}

// wasInterrupted is the SDK's text in place of a missing result.
const wasInterrupted = "Tool was interrupted."

// add appends a message and returns the repairs that it took.
func (w *window) add(m *message) (fixes []fix) {
	answers := w.answers
	w.answers = !m.whole || len(m.calls) > 0
	if !m.whole || m.nameless && len(w.calls) > 0 {
		w.write(m, m.body, m.size)
		w.calls = w.calls[:0]
		return nil
	}
	body, size, results := m.body, m.size, m.results
	if m.role == "user" && len(results) > 0 && !answers {
		f := w.orphan(m)
		fixes = append(fixes, f)
		switch {
		case f.kept:
		case m.others == 0 || !w.sdk.NewestFollows(dropsOrphans):
			return fixes
		default:
			body, results = withContent(w.body(m), keepOthers), nil
			size = len(body)
		}
	}
	if missing, stale := mismatch(w.calls, results); len(missing)+len(stale) > 0 {
		f := w.mismatched(m, missing, stale)
		fixes = append(fixes, f)
		switch {
		case f.kept:
		case len(results) == 0 && (m.others > 0 || !w.sdk.NewestFollows(ordersResults)):
			put := appendErrors([]byte(`{"role":"user","content":[`), w.calls)
			w.write(m, put, len(put))
		case !w.sdk.NewestFollows(ordersResults):
			body = withContent(w.body(m), behind(missing))
			size = len(body)
		default:
			body = withContent(w.body(m), rebuild(w.calls))
			size = len(body)
		}
	}
	w.write(m, body, size)
	w.file, w.location, w.calls = m.name, m.location, append(w.calls[:0], m.calls...)
	return fixes
}

// body returns the body of a message.
func (w *window) body(m *message) []byte {
	if m.body == nil {
		return w.again(m)
	}
	return m.body
}

// write appends one element to the array, of a size that is known where its bytes
// are not.
func (w *window) write(m *message, json []byte, size int) {
	if w.n > 0 {
		w.size += int64(len(","))
	}
	w.n++
	w.size += int64(size)
	if w.emit == nil {
		return
	}
	if m.location != summaryPath && len(m.body) > 0 && len(json) == len(m.body) && &json[0] == &m.body[0] {
		json = nil
	}
	w.emit(piece{m, json, w.again})
}

// mismatch returns the calls that have no result, and the results that have no
// call; neither if there are no calls.
func mismatch(calls []call, results []result) (missing []call, stale []result) {
	if len(calls) == 0 {
		return nil, nil
	}
	pairs := conversation.Pair(calls, results, call.text, result.text)
	for _, i := range pairs.Missing {
		missing = append(missing, calls[i])
	}
	for _, i := range pairs.Stale {
		stale = append(stale, results[i])
	}
	return missing, stale
}

// behind returns a function that puts an error for each call behind a content.
func behind(missing []call) func(map[string][]byte, [][]byte, [][]byte) []byte {
	return func(_ map[string][]byte, _, all [][]byte) []byte {
		for _, c := range missing {
			all = append(all, appendError(nil, c))
		}
		return joined(nil, all)
	}
}

// keepOthers returns the blocks of a content that are no tool results.
func keepOthers(_ map[string][]byte, others, _ [][]byte) []byte {
	return joined(nil, others)
}

// rebuild returns a function that makes the content of a message which answers
// exactly these calls.
func rebuild(calls []call) func(map[string][]byte, [][]byte, [][]byte) []byte {
	return func(results map[string][]byte, others, _ [][]byte) []byte {
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

// withContent returns a message with another content: what makes has of the tool
// results by id, the last of each, of the other blocks, and of all of them. All else
// stays byte for byte. A text that is no such message stays whole: a message may be read
// a second time, and beside a writer it can be anything by then.
func withContent(body []byte, makes func(results map[string][]byte, others, all [][]byte) []byte) []byte {
	t, err := files.Parse(body)
	if err != nil {
		return body
	}
	content := t.Find(0, "content")
	if content < 0 {
		return body
	}
	results := make(map[string][]byte)
	var others, all [][]byte
	for b := t.First(content); b >= 0; b = t.Next(b) {
		raw := t.Raw(b)
		if t.Kind(content) == jsontape.Object {
			raw = jsontape.AppendQuoted(nil, t.Key(b))
		}
		all = append(all, raw)
		if !finds(t, content, b, "toolResult") {
			others = append(others, raw)
			continue
		}
		if id := t.Find(t.Find(b, "toolResult"), "toolUseId"); id >= 0 {
			results[identity(t, id)] = raw
		}
	}
	start, end := t.Span(content)
	out := append([]byte(nil), body[:start]...)
	out = append(append(append(out, '['), makes(results, others, all)...), ']')
	return append(out, body[end:]...)
}

// appendError appends the error that replaces a missing result.
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
	f := fix{file: m.name, flaw: flaw{code: FaultOrphanResult, path: m.path(m.results[0].block) + "/toolResult",
		meaning: fmt.Sprintf("the result of %.60q follows a message that asks for no tool", m.results[0].id)}}
	first := w.n == 0
	dropped := sdk.Repairs("the message is dropped")
	now, before := dropped, sdk.Loses("the result is kept, and most providers refuse it")
	if m.others > 0 {
		now = sdk.Repairs("the result is dropped, its message stays")
	}
	if first {
		before = dropped
	} else {
		f.kept = !w.sdk.NewestFollows(dropsOrphans)
	}
	if f.verdict = before; !first || m.others > 0 {
		f.verdict = now.WithRule(dropsOrphans, before)
	}
	if first {
		f.code = FaultLeadingResult
		f.meaning = fmt.Sprintf("what is loaded begins with the result of %.60q, without its call", m.results[0].id)
	}
	return f
}

// mismatched words that rule 2 applies between the message before and m.
func (w *window) mismatched(m *message, missing []call, stale []result) fix {
	const put = "the error \"" + wasInterrupted + "\" "
	if len(missing) == 0 {
		return fix{file: m.name, flaw: flaw{code: FaultStaleResult, path: m.path(stale[0].block) + "/toolResult",
			meaning: fmt.Sprintf("the result of %.60q has no call in the message before", stale[0].id),
			verdict: sdk.Repairs("the result is dropped").WithRule(ordersResults, sdk.Loses("the result is kept, and most providers refuse it"))},
			kept: !w.sdk.NewestFollows(ordersResults)}
	}
	f := fix{file: w.file, flaw: flaw{code: FaultMissingResult, path: fmt.Sprintf("%s/content/%d/toolUse", w.location, missing[0].block),
		meaning: fmt.Sprintf("the tool call %.60q has no result in the next message", missing[0].id)}}
	if more := len(missing) - 1; more > 0 {
		f.meaning += fmt.Sprintf(", nor have %d others", more)
	}
	between := sdk.Repairs("a message with the error \"" + wasInterrupted + "\" is put in between")
	now, before := sdk.Repairs(put+"takes the place of what is missing"), sdk.Repairs(put+"comes behind the rest")
	switch {
	case len(m.results) == 0 && m.others > 0:
		now = between
		before = between
	case len(stale) > 0:
		now = sdk.Repairs(now.Text() + ", and the results of other calls are dropped")
		before = sdk.Loses(before.Text() + ", and the results of other calls stay, which most providers refuse")
	case len(m.results) == 0:
		now = sdk.Repairs(now.Text() + ", in the empty message that follows")
		before = between
	}
	f.verdict = before
	if now.Text() != before.Text() {
		f.verdict = now.WithRule(ordersResults, before)
	}
	if len(m.results) > len(stale) {
		f.code = FaultPartialResult
	}
	return f
}

// duplicate returns the first tool result of a message that answers a call again.
func (m *message) duplicate() (r result, is bool) {
	if len(m.results) < 2 {
		return r, false
	}
	again := conversation.Pair(m.results, m.results, result.text, result.text).Again
	if len(again) == 0 {
		return r, false
	}
	return m.results[again[0]], true
}
