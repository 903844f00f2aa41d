package query

import (
	"context"
	"errors"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/model/request"
	"hindcast/store"
)

// Sent is the request at a snapshot: what the model was sent for the answer that the snapshot ends with, or for the next
// one behind it.
type Sent struct {
	*request.Outline
	// Visit is the visit of that answer, [model.NoNode] where none came.
	Visit model.Node
}

// ErrNoRequest: a snapshot has no messages that a model could have been sent.
var ErrNoRequest = errors.New("the snapshot has no messages for a model")

// RequestAt returns the request at a visit of a timeline. Where the store does not have requests, it is put together from
// the state. It returns the errors of State, [ErrNoRequest], and a *jsontape.SyntaxError for a state that is no JSON.
func RequestAt(ctx context.Context, s store.Store, t *model.Timeline, n model.Node) (*Sent, error) {
	r, a, err := answerAt(ctx, s, t, n)
	if err != nil {
		return nil, err
	}
	if !r.HasMessages() {
		if a.conversation == nil { // of a store that knows the answer
			before := n
			if a.visit != model.NoNode {
				before = t.Parent(a.visit)
			}
			if before == model.NoNode {
				return nil, ErrNoRequest
			}
			if a.conversation, err = conversationAt(ctx, s, t, before); err != nil {
				return nil, err
			}
			a.sent = a.conversation.Len()
		}
		if a.sent == 0 {
			return nil, ErrNoRequest
		}
		r = r.WithMessages(a.conversation, a.sent)
	}
	o, err := request.NewOutline(r)
	if err != nil {
		return nil, err
	}
	return &Sent{o, a.visit}, nil
}

// answer is the answer at a visit.
type answer struct {
	visit model.Node
	// conversation is that of the state at the visit that was asked for, and sent are how many of its messages come before
	// the answer; nil where the store knows the answer without.
	conversation *conversation.Conversation
	sent         int
}

// mostPassed bounds the snapshots that are passed from a prompt to its answer.
const mostPassed = 16

// answerAt finds the answer that a visit ends with, else the next one behind it, and what the store has of its request.
func answerAt(ctx context.Context, s store.Store, t *model.Timeline, n model.Node) (r request.Request, a answer, err error) {
	a = answer{visit: n}
	if f := s.Features(); f.ModelRequest != nil {
		if r, err = f.ModelRequest(ctx, t.Header(n).Ref()); err == nil {
			a.visit = visitOf(t, n, r.Answer)
		}
		return r, a, err
	}
	if a.conversation, err = conversationAt(ctx, s, t, n); err != nil {
		return r, a, err
	}
	all := a.conversation.Len()
	if a.sent = beforeAnswer(a.conversation); a.sent < all {
		r.Usage = usageOf(a.conversation, a.sent)
		return r, a, nil
	}
	for range mostPassed {
		if a.visit = nextOf(t, a.visit); a.visit == model.NoNode {
			break
		}
		c, err := conversationAt(ctx, s, t, a.visit)
		if err != nil {
			return r, a, err
		}
		if sent := beforeAnswer(c); sent < c.Len() {
			r.Usage = usageOf(c, sent)
			return r, a, nil
		}
	}
	a.visit = model.NoNode
	return r, a, nil
}

// visitOf returns the visit of a snapshot that is one or behind it; [model.NoNode] for no id.
func visitOf(t *model.Timeline, n model.Node, id string) model.Node {
	for ; n < model.Node(t.Len()) && id != ""; n++ {
		if t.Header(n).ID == id {
			return n
		}
	}
	return model.NoNode
}

// nextOf returns the visit that follows one: of several the one on the active path, else the first.
func nextOf(t *model.Timeline, n model.Node) model.Node {
	children := slices.Collect(t.Children(n))
	if i := slices.IndexFunc(children, t.OnPath); i >= 0 {
		return children[i]
	}
	if len(children) > 0 {
		return children[0]
	}
	return model.NoNode
}

// beforeAnswer returns how many messages come before those of the model that a conversation ends with.
func beforeAnswer(c *conversation.Conversation) int {
	m := c.Len()
	for m > 0 && c.Message(m-1).Role == conversation.Assistant {
		m--
	}
	return m
}

// usageOf returns the usage that the messages behind the first n state.
func usageOf(c *conversation.Conversation, n int) (u conversation.Usage) {
	for ; n < c.Len(); n++ {
		if is := conversation.UsageOf(c.Tape(), c.Message(n).Node); is.Counted || is.Model != "" && !u.Counted {
			u = is
		}
	}
	return u
}

// conversationAt returns the messages in the state of a visit.
func conversationAt(ctx context.Context, s store.Store, t *model.Timeline, n model.Node) (*conversation.Conversation, error) {
	state, err := s.State(ctx, t.Header(n).Ref())
	if err != nil {
		return nil, err
	}
	tape, err := jsontape.Parse(state)
	if err != nil {
		return nil, err
	}
	return conversation.Decode(tape), nil
}

// RequestBefore returns the visit of the request before that of a visit: the nearest ancestor of its answer that is an
// answer itself, or [model.NoNode]. It returns the errors of RequestAt.
func RequestBefore(ctx context.Context, s store.Store, t *model.Timeline, of *Sent, n model.Node) (model.Node, error) {
	if of.Visit != model.NoNode {
		n = of.Visit
	}
	for n = t.Parent(n); n != model.NoNode; n = t.Parent(n) {
		if _, a, err := answerAt(ctx, s, t, n); err != nil || a.visit == n {
			return n, err
		}
	}
	return model.NoNode, nil
}

// Summary says on one line what was sent: "21 messages · 3,696 tokens in, 3,676 from cache · system 7.2 kB, 12 tools
// 31.6 kB, messages 4.1 kB · proven".
func (s *Sent) Summary() string {
	parts := []string{model.Count(s.Messages(), "message")}
	if u := s.Usage; u.Counted {
		tokens := model.Thousands(int64(u.Input)) + " tokens in"
		if u.CacheRead > 0 {
			tokens += ", " + model.Thousands(int64(u.CacheRead)) + " from cache"
		}
		parts = append(parts, tokens)
	}
	var sizes []string
	addSize := func(what string, n int) {
		if n > 0 {
			sizes = append(sizes, what+" "+string(model.AppendSize(nil, int64(n))))
		}
	}
	addSize("system", s.SystemBytes)
	addSize(model.Count(s.Tools, "tool"), s.ToolBytes)
	addSize("messages", s.MessageBytes)
	if len(sizes) > 0 {
		parts = append(parts, strings.Join(sizes, ", "))
	}
	return strings.Join(append(parts, s.Proof()), " · ")
}
