package inspect

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store"
)

// ConversationFaults returns the faults of the messages at the head of a session that its framework or its
// provider rejects. Each fault is reported once, at the snapshot that brought the message. It reads the head's
// state, and a few earlier states for each fault. An unreadable state has no faults.
func ConversationFaults(ctx context.Context, s store.Store, session string) ([]model.Fault, error) {
	var headers []model.Header
	for h, err := range s.Headers(ctx, session) {
		if err != nil {
			return nil, err
		}
		headers = append(headers, h)
	}
	path := pathToHead(headers)
	if len(path) == 0 {
		return nil, nil
	}
	look := func(h *model.Header) (*conversation.Conversation, error) {
		state, err := s.State(ctx, h.Ref())
		if err != nil {
			return nil, ctx.Err() // the fault of a state that cannot be read is told elsewhere
		}
		tape, _, err := jsontape.ParseTolerant(state)
		if err != nil {
			return nil, nil
		}
		return conversation.Decode(tape), nil
	}
	c, err := look(path[len(path)-1])
	if c == nil {
		return nil, err
	}
	var list store.FaultList
	if f := foreignFault(s.Kind(), path[len(path)-1].ID, c); f != nil {
		list.Add(*f)
	}
	for _, t := range c.Troubles() {
		f, is := c.Fault(s.Kind(), t)
		if !is {
			continue
		}
		if !list.Full(f) {
			message := c.Tape().Raw(c.Message(t.Message).Node)
			begins, _ := slices.BinarySearchFunc(path[:len(path)-1], t.Message, func(h *model.Header, m int) int {
				if err != nil {
					return 0
				}
				var before *conversation.Conversation
				if before, err = look(h); before != nil && m < before.Len() && bytes.Equal(before.Tape().Raw(before.Message(m).Node), message) {
					return 0
				}
				return -1
			})
			f.File = path[begins].ID
		}
		list.Add(f)
	}
	return list.All(), err
}

// conversing are the kinds whose sessions are conversations, and whose states are made by their frameworks:
// what such a state holds in place of messages is another program's. In LangGraph that is one channel, whose
// reducer makes messages of LangChain of all that it is given; the others are the program's own.
var conversing = map[string]string{"agent-framework": "", "genkit": "", "openai-agents": "", "langgraph": "/messages"}

// foreignFault returns the fault of a state whose messages have an unknown shape, or nil.
func foreignFault(kind, id string, c *conversation.Conversation) *model.Fault {
	list, t := c.Foreign(), c.Tape()
	at, is := conversing[kind]
	if list < 0 || !is || at != "" && at != t.Pointer(list) {
		return nil
	}
	said, n := "", 0
	for m := t.First(list); m >= 0; m = t.Next(m) {
		for text := range (&Carried{Data: t.Raw(m)}).eachText {
			if n++; n == 1 {
				said = text
			}
			break
		}
	}
	if n == 0 {
		return nil
	}
	f := UnreadFault(n, &Carried{File: id, Place: t.Pointer(list)}, said)
	return &f
}

// pathToHead returns the snapshots that lead to the head, with it.
func pathToHead(headers []model.Header) (path []*model.Header) {
	at := make(map[string]*model.Header, len(headers))
	var h *model.Header
	for i := range headers {
		at[headers[i].ID] = &headers[i]
		if headers[i].Head {
			h = &headers[i]
		}
	}
	for h != nil && len(path) < len(headers) {
		path = append(path, h)
		h = at[h.ParentID]
	}
	slices.Reverse(path)
	return path
}

// mostHazards bounds the troubles of one plan that are said one by one.
const mostHazards = 3

// ConversationHazards describes the problems of a framework and its provider with the messages of a state, one
// line for each. A session is to go on from the state. framework is the name of the framework, or "". It
// returns nil if both accept the messages.
func ConversationHazards(kind, framework string, state []byte) (list []string) {
	tape, _, err := jsontape.ParseTolerant(state)
	if err != nil {
		return nil
	}
	if framework != "" {
		framework += ": "
	}
	c := conversation.Decode(tape)
	more := 0
	for _, t := range c.Troubles() {
		f, is := c.Fault(kind, t)
		switch {
		case !is:
		case len(list) < mostHazards:
			list = append(list, f.Meaning+"; "+framework+f.Verdict)
		default:
			more++
		}
	}
	if more > 0 {
		list = append(list, fmt.Sprintf("so it is at %s more: hindcast doctor lists them", model.Count(more, "message")))
	}
	return list
}

// WarnOf adds to calls that go on from a state what comes of its messages, see [ConversationHazards].
func WarnOf(calls []model.Resume, hazards []string) []model.Resume {
	if len(hazards) == 0 {
		return calls
	}
	warned := slices.Clone(calls)
	for i := range warned {
		warned[i].Then += "; but " + hazards[0]
	}
	return warned
}
