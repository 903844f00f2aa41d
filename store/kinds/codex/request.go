package codex

import (
	"context"
	"slices"

	"hindcast/model/request"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
)

// settingKeys are the settings in a turn_context that the model, or what the tools may do, depends on.
var settingKeys = []string{"effort", "summary", "approval_policy", "sandbox_policy", "permission_profile", "collaboration_mode"}

// Request implements chat.Requester. The nearest records before the answer have the settings and the window, in the
// rollout or in those that its history is in; since 0.98 a header has the instructions. What world_state has was sent
// as items, and the tools are in no record.
func (f *format) Request(_ context.Context, in engine.In, _ *chat.Session, e *chat.Entry) (r request.Request, err error) {
	prompted := false
	before := e.Records[0].At
	for p := e.Own.(*part); p != nil; p, before = p.base, p.from {
		turn, err := f.lastBody(in, p, before, typeContext)
		if err != nil {
			return r, err
		}
		task, err := f.lastBody(in, p, before, eventStarted, eventTurnStarted)
		if err != nil {
			return r, err
		}
		header, err := f.lastBody(in, p, before, typeHeader)
		if err != nil {
			return r, err
		}
		if r.Body == nil {
			r.Put("model", turn.Get("model").Raw())
			for _, key := range settingKeys {
				r.Put(key, turn.Get(key).Raw())
			}
		}
		if r.Window == 0 {
			r.Window = int64(task.Get("model_context_window").Number())
		}
		if text := header.Get("base_instructions", "text"); !prompted && text.There() {
			r.Put("system", text.Raw())
			prompted = true
		}
	}
	if !prompted { // a first message of the developer is no system prompt
		r.Unknown = append(r.Unknown, request.PromptUnknown)
	}
	return r, nil
}

// lastBody returns what is in the envelope of the last record of some types before a byte of a rollout. Of headers it
// is the first: a copy of the parent's follows it.
func (f *format) lastBody(in engine.In, p *part, before int64, is ...string) (body chat.Value, err error) {
	for i := len(p.file.Records) - 1; i >= 0; i-- {
		r := &p.file.Records[i]
		if r.At >= before || r.Salvaged || !slices.Contains(is, r.Is.is) || r.Is.header != nil && r.Is.header != p.head {
			continue
		}
		values, err := chat.Values(f.inputFor(in, p.name).Tree, p.name, []chat.Span{r.Span})
		if err != nil {
			return body, err
		}
		_, body = openEnvelope(values[0])
		return body, nil
	}
	return body, nil
}
