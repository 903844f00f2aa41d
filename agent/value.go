package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"hindcast/model"
)

// value is a state that never changes, with its JSON and its id. Both
// are made once however often the state is saved.
type value[S any] struct {
	state S
	// text is the compact JSON of the state, as it was written.
	text []byte
	// err is the reason why the state has no JSON. Then state is the caller's, not a copy.
	err error
	// id gives the state's id; it takes a while the first time.
	id func() string
}

// newValue takes a state in. The JSON is written first, as deepCopy wants it.
func newValue[S any](state S) *value[S] {
	text, err := json.Marshal(state)
	if err != nil {
		return &value[S]{state: state, err: err}
	}
	own, err := deepCopy(state, text)
	if err != nil {
		return &value[S]{state: state, err: fmt.Errorf("copy state, which leads back to itself or is nested too deeply: %w", err)}
	}
	return valueWithText(own, text)
}

// readValue takes in a state that a store kept.
func readValue[S any](text []byte) (*value[S], error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return nil, fmt.Errorf("decode state: %w", err)
	}
	var state S
	if err := json.Unmarshal(text, &state); err != nil {
		return nil, fmt.Errorf("decode state: %w", err)
	}
	return valueWithText(state, compact.Bytes()), nil
}

func valueWithText[S any](state S, text []byte) *value[S] {
	return &value[S]{state: state, text: text, id: sync.OnceValue(func() string { return model.SnapshotID(text) })}
}

// copyState returns a copy of the state, which the caller may change.
func (v *value[S]) copyState() S {
	if v.err == nil {
		// What could be copied when it came in can be copied again.
		if own, err := deepCopy(v.state, v.text); err == nil {
			return own
		}
	}
	return v.state
}
