package openhands

import (
	"context"

	"hindcast/model/request"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
)

// Request implements chat.Requester. The event with the system prompt, which is the first message, has the tools, but
// not what they take.
func (f *format) Request(_ context.Context, in engine.In, s *chat.Session, e *chat.Entry) (r request.Request, err error) {
	t := s.Own.(*sessionTree)
	r.Usage = e.Own.(*own).usage
	for _, of := range s.Path(e) {
		i := of.Own.(*own).nodes[0]
		if t.nodes[i].Kind != kindSystem {
			continue
		}
		data, _, err := in.Read(t.fileOf(i), nil)
		if err != nil {
			return r, err
		}
		v, err := chat.Parse(data)
		if err != nil {
			return r, err
		}
		if tools := v.Get("tools"); tools.There() {
			r.Body = nil
			r.Put("tools", tools.Raw())
			r.Unknown = []string{"what the tools take"}
		}
	}
	return r, nil
}
