package query

import (
	"context"
	"errors"
	"iter"
	"slices"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
)

// Stat counts the messages, calls and tokens that one visit adds to its path.
type Stat struct {
	Visit model.Node
	// Answers are the usage of each answer of a model that the visit adds. A message counts
	// where it comes to its path, and not again where it is only written anew.
	Answers []Answer
	// Calls counts the tool calls that it adds, Errors the tools that failed.
	Calls, Errors int
	// Given lists the texts that the agent gave the model beside the messages that the visit adds.
	Given []Given
	// Request tells of the request of the last answer that the visit adds.
	Request RequestStat
	// Size is the length of the state in bytes; 0 where it is not known.
	Size int64
	// Unread is the error that kept the state from being read, or nil. Size is then all
	// that is known.
	Unread error
}

// RequestStat compares the messages of a request with the request before on the same path. The zero value stands for no
// request.
type RequestStat struct {
	// Messages is how many messages came before the answer. Earlier is how many the request before had, and Dropped
	// how many of these are not sent again; both are 0 of the first request.
	Messages, Earlier, Dropped int
}

// Answer is the usage of one answer of a model.
type Answer struct {
	conversation.Usage
	// ID is the framework's id of the answer, or "". It is untrusted.
	ID string
}

// Given is a text that an agent gave the model beside a message: a file, a list of skills, a reminder.
type Given struct {
	// Is is the agent's word for it, which is untrusted.
	Is string
	// Bytes is the length of its text.
	Bytes int64
}

// Stats returns a Stat for each visit, in the order in which the visits were
// recorded. Where the state of a visit tells of no tokens, those count that the store itself
// knows of it. The error ends the sequence.
func (q *Session) Stats(ctx context.Context) iter.Seq2[Stat, error] {
	return q.newStats().walkStats(ctx, nil)
}

// newStats returns the state of a Stats that begins.
func (q *Session) newStats() *stats {
	v := q.view()
	s := &stats{v.messageLists(newNumbered()), map[string]int{}, make([]RequestStat, len(v.visits))}
	for _, visit := range v.visits {
		s.ids[visit.ref.ID]++
	}
	return s
}

// walkStats yields the stats of all visits. Before, it calls take with each, with that of a parent before those of its
// children; take may be nil.
func (s *stats) walkStats(ctx context.Context, take func(*Stat)) iter.Seq2[Stat, error] {
	return func(yield func(Stat, error) bool) {
		found := make([]Stat, len(s.visits))
		for n, err := range s.walkDown(ctx, func(at model.Node) (err error) {
			if found[at], err = s.stat(ctx, at); err == nil && take != nil {
				take(&found[at])
			}
			return err
		}) {
			if err != nil {
				yield(Stat{}, err)
				return
			}
			if !yield(found[n], nil) {
				return
			}
			found[n] = Stat{}
		}
	}
}

// walkDown loads all visits, and yields each in the order in which they were recorded. Before it calls read with each
// visit once, with a parent before its children.
func (v *view) walkDown(ctx context.Context, read func(at model.Node) error) iter.Seq2[model.Node, error] {
	return func(yield func(model.Node, error) bool) {
		done := make([]bool, len(v.visits))
		for n, err := range v.walk(ctx, v.nodes()) {
			for _, at := range v.line(n, done) {
				if err == nil {
					err = v.load(ctx, at)
				}
				if err == nil {
					err = read(at)
				}
				done[at] = true
			}
			if !yield(n, err) || err != nil {
				return
			}
		}
	}
}

// stats is the state of a running Stats.
type stats struct {
	*messageLists
	// ids counts the visits of each id.
	ids map[string]int
	// requests has for each visit the newest request on its path: how many messages it had, as Earlier, and how many of
	// these are no longer there.
	requests []RequestStat
}

// line returns a visit and its ancestors, the oldest first, up to the first ancestor that is
// done: a parent may be recorded after its child.
func (v *view) line(n model.Node, done []bool) (line []model.Node) {
	for ; n != model.NoNode && !done[n]; n = v.visits[n].parent {
		line = append(line, n)
	}
	slices.Reverse(line)
	return line
}

// stat returns the Stat of a visit whose state is loaded.
func (s *stats) stat(ctx context.Context, n model.Node) (Stat, error) {
	of := Stat{Visit: n, Size: int64(length(s.rope(n).pieces))}
	added, has, err := s.adds(n)
	if wrong := (*jsontape.SyntaxError)(nil); err != nil {
		if s.rope(n).err == nil && !errors.As(err, &wrong) {
			return of, s.failed(n, err)
		}
		of.Unread = err
		return of, nil
	}
	s.followRequest(n)
	if s.again(n) {
		return of, nil
	}
	for _, e := range added {
		m := &s.known[e]
		of.Given = append(of.Given, m.given...)
		if of.Calls, of.Errors = of.Calls+m.calls, of.Errors+m.errors; m.isAnswer() { // else the agent wrote it
			of.Answers = append(of.Answers, Answer{m.Usage, m.id})
		}
	}
	if s.features.Facts != nil && len(of.Answers) == 0 && (!has || s.visits[n].traced) {
		facts, err := s.features.Facts(ctx, s.visits[n].ref)
		if err != nil {
			return of, s.failed(n, err)
		}
		if u := factUsage(facts); u.Counted {
			of.Answers = append(of.Answers, Answer{Usage: u})
		}
	}
	if len(of.Answers) > 0 && has {
		of.Request = s.noteRequest(n)
	}
	return of, nil
}

// followRequest notes how much of the request before a visit is left in its list of messages, which was read last.
func (s *stats) followRequest(n model.Node) {
	if p := s.visits[n].parent; p != model.NoNode {
		s.requests[n] = s.requests[p]
		s.requests[n].Dropped += s.newest.countDropped(s.requests[p].Earlier)
	}
}

// noteRequest returns the request of the last answer in the list of messages that was read last.
func (s *stats) noteRequest(n model.Node) RequestStat {
	all, before := s.newest.elements, s.requests[n]
	sent := len(all)
	for sent > 0 && !s.known[all[sent-1]].isAnswer() {
		sent--
	}
	if sent--; sent < 0 {
		return RequestStat{}
	}
	s.requests[n] = RequestStat{Earlier: sent}
	return RequestStat{Messages: sent, Earlier: before.Earlier, Dropped: min(before.Dropped, before.Earlier)}
}

// again reports whether a path was in the state of a visit before: it came back, and what
// it has again cost nothing.
func (s *stats) again(n model.Node) bool {
	id := s.visits[n].ref.ID
	for at := s.visits[n].parent; at != model.NoNode && s.ids[id] > 1; at = s.visits[at].parent {
		if s.visits[at].ref.ID == id {
			return true
		}
	}
	return false
}

// factUsage returns the usage that a store's facts tell, in the words of [model.TokensFact].
func factUsage(facts []model.Fact) (u conversation.Usage) {
	var total float64
	for _, fact := range facts {
		if fact.Label == "model" && len(fact.Numbers) == 0 {
			u.Model = fact.Value
		}
		for _, number := range fact.Numbers {
			switch number.Key {
			case "tokens.input":
				u.Input, u.Counted = number.Value, true
			case "tokens.output":
				u.Output, u.Counted = number.Value, true
			case "tokens.total":
				total = number.Value
			case "tokens.cacheRead":
				u.CacheRead = number.Value
			case "tokens.cacheWrite":
				u.CacheWrite = number.Value
			case "latencyMs":
				u.Milliseconds = number.Value
			}
		}
	}
	return u.Within(total)
}
