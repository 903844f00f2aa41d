package genkit

import (
	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/engine"
	"hindcast/store/kinds/genkit/traces"
)

// traced are the keys of a session's state that a trace tells of in the middle of a
// turn.
var traced = map[string]bool{"messages": true, "sessionId": true}

// stepGaps returns the keys of a state that the store does not know at a step: those that the row that
// the turn ended in has besides what a trace tells of.
func (p *part) stepGaps(in engine.In, one *session, turn *traces.Turn) (gaps model.Gaps, err error) {
	for _, r := range one.rows {
		if h := r.newHeader(in.Now); !turn.EndedIn(&h) {
			continue
		}
		_, data, err := rowIn(in, one.place.dir, r.id)
		if isGone(err) {
			continue // it went since
		}
		if err != nil {
			return model.Gaps{}, err
		}
		state, err := stateOf(data)
		if err != nil {
			continue // the row is damaged
		}
		for m := range jsontape.Members(state) {
			if key := jsontape.Unquote(m.Key); m.Key != nil && !traced[key] && !gaps.Has(key) {
				gaps.Keys, gaps.Why = append(gaps.Keys, key), model.GapUntraced
			}
		}
	}
	return gaps, nil
}
