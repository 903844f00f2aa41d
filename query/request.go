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
	// Of is the snapshot that was asked for.
	Of Neighbour
	// AnsweredAt is the snapshot of that answer; the zero value where none came.
	AnsweredAt Neighbour
}

// Neighbour is a snapshot, and how the timeline calls it.
type Neighbour struct {
	model.Ref
	Name string
}

// Around is a snapshot and its neighbours, as far as its request needs them. It does not hold the timeline.
type Around struct {
	Neighbour
	// before are the ancestors, the nearest first, and behind the snapshots on the way that goes on: where it parts, the
	// active path, else the first child.
	before, behind []Neighbour
}

// mostAround bounds the snapshots in each direction.
const mostAround = 64

// AroundOf returns a visit of a timeline and its neighbours.
func AroundOf(t *model.Timeline, n model.Node) Around {
	at := func(n model.Node) Neighbour { return Neighbour{t.Header(n).Ref(), t.Name(n)} }
	a := Around{Neighbour: at(n)}
	for up := t.Parent(n); up != model.NoNode && len(a.before) < mostAround; up = t.Parent(up) {
		a.before = append(a.before, at(up))
	}
	for down := nextOf(t, n); down != model.NoNode && len(a.behind) < mostAround; down = nextOf(t, down) {
		a.behind = append(a.behind, at(down))
	}
	return a
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

// ErrNoRequest: a snapshot has no messages that a model could have been sent.
var ErrNoRequest = errors.New("the snapshot has no messages for a model")

// RequestAt returns the request at a snapshot. Where the store does not have requests, it is put together from the state.
// It returns the errors of State, [ErrNoRequest], and a *jsontape.SyntaxError for a state that is no JSON.
func RequestAt(ctx context.Context, s store.Store, at Around) (*Sent, error) {
	r, a, err := at.findAnswer(ctx, s)
	if err != nil {
		return nil, err
	}
	return at.complete(ctx, s, r, a)
}

// complete reads a request. It gets the messages of the state where the store has no others.
func (at Around) complete(ctx context.Context, s store.Store, r request.Request, a answer) (_ *Sent, err error) {
	if !r.HasMessages() {
		if a.conversation == nil { // of a store that knows the answer
			before, there := at.Neighbour, true
			if a.at.ID != "" {
				before, there = at.parentOf(a.at)
			}
			if !there {
				return nil, ErrNoRequest
			}
			if a.conversation, err = conversationAt(ctx, s, before); err != nil {
				return nil, err
			}
			a.sent = beforeAnswer(a.conversation) // it may begin there
		}
		if a.sent == 0 {
			return nil, ErrNoRequest
		}
		r = r.WithMessages(a.conversation, a.sent)
		r.Unknown = append(r.Unknown, listMended(s.Kind(), a.conversation, a.sent)...)
	}
	r.NameChanges(s.Kind())
	o, err := request.NewOutline(r)
	if err != nil {
		return nil, err
	}
	return &Sent{o, at.Neighbour, a.at}, nil
}

// listMended says how the framework of a kind mends some of the first n messages of a state before it sends them.
func listMended(kind string, c *conversation.Conversation, n int) (list []string) {
	for _, t := range c.Troubles() {
		f, is := c.Fault(kind, t)
		if what := "what the framework mends (" + f.Verdict + ")"; is && t.Message < n && f.Severity == model.Mended && !slices.Contains(list, what) {
			list = append(list, what)
		}
	}
	return list
}

// line returns the snapshots, the last first.
func (at Around) line() []Neighbour {
	line := slices.Clone(at.behind)
	slices.Reverse(line)
	return append(append(line, at.Neighbour), at.before...)
}

// parentOf returns the snapshot before another; false if it is not known.
func (at Around) parentOf(n Neighbour) (Neighbour, bool) {
	line := at.line()
	i := slices.Index(line, n) + 1
	if i == 0 || i == len(line) {
		return Neighbour{}, false
	}
	return line[i], true
}

// answer is the answer of a request.
type answer struct {
	at Neighbour // the zero value for none
	// conversation is that of the state at the snapshot that was asked for, and sent are how many of its messages come
	// before the answer; nil where the store knows the answer without.
	conversation *conversation.Conversation
	sent         int
}

// findAnswer finds the answer that the snapshot ends with, else the next one behind it, and what the store has of its
// request.
func (at Around) findAnswer(ctx context.Context, s store.Store) (r request.Request, a answer, err error) {
	if f := s.Features(); f.ModelRequest != nil {
		if r, err = f.ModelRequest(ctx, at.Ref); err != nil {
			return r, a, err
		}
		for _, n := range append([]Neighbour{at.Neighbour}, at.behind...) {
			if n.ID == r.Answer {
				a.at = n
				break
			}
		}
		if !r.ByState {
			return r, a, nil
		}
	}
	if a.conversation, err = conversationAt(ctx, s, at.Neighbour); err != nil {
		return r, a, err
	}
	if a.sent = beforeAnswer(a.conversation); a.sent < a.conversation.Len() {
		a.at, r.Usage = at.Neighbour, usageOf(a.conversation, a.sent)
		return r, a, nil
	}
	for _, next := range at.behind {
		c, err := conversationAt(ctx, s, next)
		if err != nil {
			return r, a, err
		}
		if sent := beforeAnswer(c); sent < c.Len() {
			a.at, r.Usage = next, usageOf(c, sent)
			break
		}
	}
	return r, a, nil
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

// conversationAt returns the messages in the state of a snapshot.
func conversationAt(ctx context.Context, s store.Store, at Neighbour) (*conversation.Conversation, error) {
	state, err := s.State(ctx, at.Ref)
	if err != nil {
		return nil, err
	}
	tape, err := jsontape.Parse(state)
	if err != nil {
		return nil, err
	}
	return conversation.Decode(tape), nil
}

// RequestBefore returns the request before one, that of the nearest ancestor of its answer that is an answer itself; nil
// without one. It returns the errors of RequestAt.
func RequestBefore(ctx context.Context, s store.Store, at Around, sent *Sent) (*Sent, error) {
	line := at.line()
	from := slices.Index(line, sent.AnsweredAt)
	if from < 0 { // none came
		from = len(at.behind)
	}
	for i := from + 1; i < len(line); i++ {
		before := Around{Neighbour: line[i], before: line[i+1:]}
		r, a, err := before.findAnswer(ctx, s)
		if err != nil {
			return nil, err
		}
		if a.at == before.Neighbour {
			sent, err := before.complete(ctx, s, r, a)
			if errors.Is(err, ErrNoRequest) { // it begins with an answer
				err = nil
			}
			return sent, err
		}
	}
	return nil, nil
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

// RecordedWindows returns the context windows that the store records of models, in tokens: of each model that of the
// newest answer among some stats of the session. It returns the errors of ctx and of the store.
func (q *Session) RecordedWindows(ctx context.Context, stats []Stat) (map[string]float64, error) {
	windows, visits := map[string]float64{}, q.view().visits
	if q.features.ModelRequest == nil {
		return windows, nil
	}
	for _, stat := range slices.Backward(stats) {
		for i := range stat.Answers {
			name := stat.Answers[i].Model
			if _, asked := windows[name]; asked {
				continue
			}
			r, err := q.features.ModelRequest(ctx, visits[stat.Visit].ref)
			if err != nil {
				return nil, err
			}
			windows[name] = float64(r.Window)
		}
	}
	return windows, nil
}
