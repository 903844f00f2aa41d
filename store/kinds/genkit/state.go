package genkit

import (
	"bytes"

	"hindcast/model/jsontape"
)

// stateIn finds the state in the bytes that the row was decoded from.
func (r *row) stateIn(data []byte) ([]byte, error) {
	if r.hasState && len(r.flaws) == 0 {
		return findState(data, r.size) // there is one
	}
	return stateOf(data)
}

// stateOf finds the state in a row.
func stateOf(data []byte) ([]byte, error) { return findState(data, 0) }

// findState finds the state in a row. Where its size is known, it is not looked at again.
func findState(data []byte, size int64) ([]byte, error) {
	at := 0
	if bytes.HasPrefix(data, bom) {
		at = len(bom)
	}
	state := []byte("null")
	_, err := walkValue(data, at, func(key []byte, at int) (end int, err error) {
		is := jsontape.Unquote(key) == "state"
		if is && size > 0 {
			end = at + int(size)
		} else if end, err = jsontape.Skip(data, at); err != nil {
			return end, err
		}
		if is {
			state = data[at:end:end]
		}
		return end, nil
	})
	return state, err
}
