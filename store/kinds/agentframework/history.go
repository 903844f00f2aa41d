package agentframework

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"path"
	"slices"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/engine/checkpoints"
)

// historyLines returns the lines of a history that are not empty, with where each ends.
func historyLines(data []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		for at := 0; at < len(data); {
			end := len(data)
			if n := bytes.IndexByte(data[at:], '\n'); n >= 0 {
				end = at + n + 1
			}
			if line := bytes.TrimSpace(data[at:end]); len(line) > 0 && !yield(end, line) {
				return
			}
			at = end
		}
	}
}

// decodeHistory reads the messages of a session. A line that is not JSON is told of, and the
// history ends there: the SDK does not read it either.
func decodeHistory(name string, data []byte) (d checkpoints.Decoded) {
	var tail conversation.Tail
	hash := sha256.New()
	parent, size := "", int64(len(`{"messages":[]}`))
	var open []string
	number := 0
	for _, line := range historyLines(data) {
		number++
		t, err := parseJSON(line)
		if err != nil || !isMessage(t) {
			if number > 1 {
				d.Flaw = fmt.Sprintf("line %d is no message", number)
			}
			return d
		}
		hash.Write(line)
		hash.Write([]byte{'\n'})
		tail.Add(t.Data())
		item := checkpoints.Item{Session: path.Base(name)}
		if size += int64(len(line)); number > 1 {
			size++ // a comma
		}
		open = pendingCalls(open, t)
		h := model.Header{ID: hex.EncodeToString(hash.Sum(nil)), ParentID: parent, TurnIndex: model.TurnUnknown, Event: model.SnapshotEventNamed, EventName: textMember(t, 0, "role"), Size: size}
		var failed bool
		if h.Title, failed = tail.Title(conversation.LastMessage); failed {
			h.Marks |= model.MarkError
		}
		if h.EventName == "assistant" && len(open) == 0 {
			h.Event, h.EventName = model.SnapshotEventTurnEnd, ""
		}
		if number == 1 {
			item.Opening = h.Title
		}
		item.Header, item.Own = h, (&own{Line: number, Open: open}).encodeNote()
		parent = h.ID
		d.Items = append(d.Items, item)
	}
	return d
}

// pendingCalls returns the tool calls that have no result after a message.
func pendingCalls(open []string, t *jsontape.Tape) []string {
	open = slices.Clone(open)
	contents := t.Find(0, "contents")
	if t.Kind(contents) != jsontape.Array {
		return open
	}
	for c := t.First(contents); c >= 0; c = t.Next(c) {
		id := textMember(t, c, "call_id")
		switch textMember(t, c, "type") {
		case "function_call":
			open = append(open, id)
		case "function_result":
			open = slices.DeleteFunc(open, func(call string) bool { return call == id })
		}
	}
	return open
}

// firstMessages returns the first n messages of a history as a state.
func firstMessages(data []byte, n int) []byte {
	state := []byte(`{"messages":[`)
	for _, line := range historyLines(data) {
		text, err := jsontape.Standard(line)
		if n == 0 || err != nil { // it changed since it was listed
			break
		}
		if n--; state[len(state)-1] != '[' {
			state = append(state, ',')
		}
		state = append(state, text...)
	}
	return append(state, "]}"...)
}
