package wire

import (
	"bytes"
	"encoding/json"
	"errors"

	"hindcast/model"
)

// Snapshot is a snapshot as the actions give it: a header in its own JSON,
// with the state as one member more.
type Snapshot struct {
	Header model.Header
	// State is nil where only the header was asked for.
	State json.RawMessage
}

// Append appends the JSON of the snapshot, the state byte for byte.
func (s *Snapshot) Append(dst []byte) ([]byte, error) {
	header, err := json.Marshal(s.Header)
	if err != nil {
		return nil, err
	}
	dst = append(dst, header...)
	if s.State == nil {
		return dst, nil
	}
	return append(appendState(dst[:len(dst)-1], s.State), '}'), nil
}

// UnmarshalJSON reads the header and the state, the bytes as they are.
func (s *Snapshot) UnmarshalJSON(data []byte) error {
	var read Snapshot
	if err := read.Header.UnmarshalJSON(data); err != nil {
		return err
	}
	if err := withState(json.NewDecoder(bytes.NewReader(data)), map[string]any{}, &read.State); err != nil {
		return err
	}
	*s = read
	return nil
}

// blanks are the white space that may surround a JSON value.
const blanks = " \t\r\n"

// appendState appends the members that hold a state. Where there are blanks
// around it, which a reader of JSON cannot tell from those of the document, it
// is there once more as base64.
func appendState(dst []byte, state json.RawMessage) []byte {
	dst = append(append(dst, `,"state":`...), state...)
	if len(bytes.Trim(state, blanks)) == len(state) {
		return dst
	}
	coded, err := json.Marshal([]byte(state))
	if err != nil {
		panic(err) // bytes always marshal
	}
	return append(append(dst, `,"stateBase64":`...), coded...)
}

// ReadState reads a snapshot as it comes, for its id and its state alone: a
// state may be long, and each reading of it counts. Null is a snapshot without
// either.
func ReadState(dec *json.Decoder) (id string, state json.RawMessage, err error) {
	err = withState(dec, map[string]any{"id": &id}, &state)
	if errors.Is(err, errNull) {
		err = nil
	}
	return id, state, err
}

// withState reads an object that holds a state besides some fields.
func withState(dec *json.Decoder, fields map[string]any, state *json.RawMessage) error {
	var coded []byte
	fields["state"], fields["stateBase64"] = state, &coded
	if err := readFields(dec, fields, passOver); err != nil || coded == nil {
		return err
	}
	if *state == nil || !bytes.Equal(bytes.Trim(coded, blanks), *state) {
		return errors.New("stateBase64 is another state")
	}
	*state = coded
	return nil
}
