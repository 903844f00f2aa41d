package agentframework

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"path"
	"regexp"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/checkpoints"
)

// lines returns the lines of a history that are not empty, with where each ends.
func lines(data []byte) iter.Seq2[int, []byte] {
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
	for _, line := range lines(data) {
		number++
		t, err := jsontape.Parse(line)
		if err != nil || t.Kind(0) != jsontape.Object || text(t, 0, "role") == "" || t.Find(0, "contents") < 0 {
			if number > 1 {
				d.Flaw = fmt.Sprintf("line %d is no message", number)
			}
			return d
		}
		hash.Write(append(line, '\n'))
		tail.Add(line)
		item := checkpoints.Item{Session: path.Base(name)}
		if size += int64(len(line)); number > 1 {
			size++ // a comma
		}
		open = pending(open, t)
		h := model.Header{ID: hex.EncodeToString(hash.Sum(nil)), ParentID: parent, TurnIndex: model.TurnUnknown, Event: model.SnapshotEventNamed, EventName: text(t, 0, "role"), Size: size}
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
		item.Header, item.Own = h, (&own{Line: number, Open: open}).note()
		parent = h.ID
		d.Items = append(d.Items, item)
	}
	return d
}

// pending returns the tool calls that have no result after a message.
func pending(open []string, t *jsontape.Tape) []string {
	open = slices.Clone(open)
	contents := t.Find(0, "contents")
	if t.Kind(contents) != jsontape.Array {
		return open
	}
	for c := t.First(contents); c >= 0; c = t.Next(c) {
		id := text(t, c, "call_id")
		switch text(t, c, "type") {
		case "function_call":
			open = append(open, id)
		case "function_result":
			open = slices.DeleteFunc(open, func(call string) bool { return call == id })
		}
	}
	return open
}

// messages returns the first n messages of a history as a state.
func messages(data []byte, n int) []byte {
	state := []byte(`{"messages":[`)
	for _, line := range lines(data) {
		if n == 0 {
			break
		}
		if n--; state[len(state)-1] != '[' {
			state = append(state, ',')
		}
		state = append(state, line...)
	}
	return append(state, "]}"...)
}

// literal fits the ids that the SDK takes for names of files as they are; it encodes others.
var literal = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`)

// fork returns the file of a session that begins with the messages up to one.
func fork(p *checkpoints.Putting, as string) (n checkpoints.New, err error) {
	o := ownOf(p.Item())
	if len(o.Open) > 0 {
		return n, &model.UnsupportedError{Op: model.OpFork, Reason: "the tool calls of the message have no results: a model refuses to go on; take a message before it, or after the results"}
	}
	as = strings.TrimSuffix(as, ".jsonl")
	if as == "" {
		as = checkpoints.NewUUID()
	}
	if !literal.MatchString(as) {
		return n, &model.UnsupportedError{Op: model.OpFork, Reason: fmt.Sprintf("%.80q is no id that is the name of a file as it is: take letters, digits, - and _", as)}
	}
	left := o.Line
	for end := range lines(p.Data) {
		if left--; left == 0 {
			n.Data = slices.Clone(p.Data[:end])
			break
		}
	}
	if !bytes.HasSuffix(n.Data, []byte("\n")) {
		n.Data = append(n.Data, '\n')
	}
	n.Name = path.Join(path.Dir(p.Item().File), as+".jsonl")
	n.Writes = fmt.Sprintf("a new history %s: the first %d messages, as they stand in the file", as+".jsonl", o.Line)
	n.Hazards = []string{"what FileSessionStore keeps of the old session is not copied: the new one begins without it"}
	return n, nil
}
