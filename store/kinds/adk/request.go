package adk

import (
	"context"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/model/request"
	"hindcast/store/engine/rows"
)

// Request implements rows.Requester: the contents that the agent was sent which wrote an answer, of the events before it.
func (format) Request(ctx context.Context, t rows.Tx, at rows.Place, id string) (r request.Request, err error) {
	s, i, err := findEvent(ctx, t, at, id)
	if err != nil {
		return r, err
	}
	s.ensureDetails()
	path := s.pathTo(i)
	asked := s.askedAgent(path)
	if answer := s.answerAt(i); answer >= 0 {
		e := &s.events[answer]
		path, asked = s.pathTo(s.bases[answer]), agent{e.Author, e.Branch}
		r.Answer = e.id
		if tape, err := jsontape.Parse(e.data); err == nil {
			r.Usage = conversation.UsageOf(tape, 0)
		}
	}
	sent := s.sentOf(path, asked, true)
	var contents [][]byte
	for _, e := range s.withoutOrphanCalls(sent, len(sent)) {
		if content := jsontape.FindMember(s.appendSent(nil, &e), `"content"`); content != nil {
			contents = append(contents, content)
		}
	}
	if len(contents) == 0 {
		return r, nil
	}
	return r.With(contents), nil
}

// answerAt returns the event of the answer that one is, or that is the next behind it; of several the one on the path to
// the head, else the first. It is -1 where none came.
func (s *session) answerAt(i int) int {
	if s.events[i].isAnswer() {
		return i
	}
	first := -1
	behind := map[int]bool{i: true} // without an answer between
	for k := i + 1; k < len(s.events); k++ {
		switch {
		case !behind[s.bases[k]]:
		case !s.events[k].isAnswer():
			behind[k] = true
		case s.live[k]:
			return k
		case first < 0:
			first = k
		}
	}
	return first
}

// isAnswer reports whether a model wrote an event.
func (e *event) isAnswer() bool {
	return e.says && e.Content.Role == "model" && e.Author != "user" && e.rewinds == "" && e.Actions.Compaction == nil && !e.asksItself()
}
