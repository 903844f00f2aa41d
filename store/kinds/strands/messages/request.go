package messages

import (
	"context"

	"hindcast/model"
	"hindcast/model/request"
	"hindcast/store/engine"
)

// request names the messages that a request may lack. The conversation manager's record has how many messages it took
// out by now, but not when: only the next request has the messages of the state for sure.
func (s *Store) request(ctx context.Context, in engine.In, row *engine.Row) (r request.Request, err error) {
	r.ByState = true
	p := row.Place.Own.(place)
	if p.orchestrator != "" {
		return r, nil
	}
	l := openLog(p, in)
	defer l.close()
	at, err := l.find(ctx, row.ID)
	if err != nil {
		return r, err
	}
	out := at.log.start - at.log.agent.pinned
	if out <= 0 && at.log.agent.summary == nil {
		return r, nil
	}
	next := false
	if files := at.log.files; at.i == len(files)-1 {
		err = at.log.read(ctx, files[at.i:], at.log.known, func(_ int, m *message) error { next = m.role != "assistant"; return nil })
	}
	if !next {
		unknown := "which of the " + model.Count(out, "message") + " that the conversation manager took out"
		if at.log.agent.summary != nil {
			unknown += ", or its summary,"
		}
		r.Unknown = append(r.Unknown, unknown+" were sent")
	}
	return r, err
}
