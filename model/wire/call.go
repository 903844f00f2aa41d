package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Call is the request to run an action.
type Call struct {
	// Key is the key of the action.
	Key string `json:"key"`
	// Input is the input of the action, or nil.
	Input json.RawMessage `json:"input,omitempty"`
}

// ReadCall reads a request. What else Genkit's tools send along (context,
// telemetryLabels, …) is passed over.
func ReadCall(body []byte) (Call, error) {
	var c Call
	err := readObject(body, map[string]any{"key": &c.Key, "input": &c.Input}, passOver)
	if err == nil && c.Key == "" {
		err = errors.New("key is required")
	}
	if err != nil {
		return Call{}, fmt.Errorf("invalid request: %w", err)
	}
	return c, nil
}

// Input holds the members that actions accept; each action accepts some.
type Input struct {
	// SnapshotID and SessionID are nil where they are not given: "" is an id.
	SnapshotID *string `json:"snapshotId,omitempty"`
	SessionID  *string `json:"sessionId,omitempty"`
	// Visit asks for one visit of the snapshot, which has to be there; 0 for any.
	// With Rewrites it is a cursor.
	Visit    int64 `json:"visit,omitempty"`
	Rewrites int64 `json:"rewrites,omitempty"`
	// IncludeOrphaned asks for snapshots off the active path, too.
	IncludeOrphaned bool `json:"includeOrphaned,omitempty"`
	// MetadataOnly asks for headers without states.
	MetadataOnly bool `json:"metadataOnly,omitempty"`
}

// ReadInput reads the input of the action of that name, which has to take all that is given. The error is
// nil, or names the input that the schema forbids.
func ReadInput(name string, data json.RawMessage) (Input, error) {
	a := findAction(name)
	if a == nil {
		return Input{}, fmt.Errorf("there is no action %q", name)
	}
	if len(data) == 0 || string(data) == "null" {
		data = json.RawMessage("{}")
	}
	var in Input
	all := map[string]any{
		"snapshotId": &in.SnapshotID, "sessionId": &in.SessionID, "visit": &in.Visit, "rewrites": &in.Rewrites,
		"includeOrphaned": &in.IncludeOrphaned, "metadataOnly": &in.MetadataOnly,
	}
	taken := map[string]any{}
	for _, name := range a.takes {
		taken[name] = all[name]
	}
	err := readObject(data, taken, func(key string) error { return fmt.Errorf("additional property %.80q is not allowed", key) })
	if err != nil {
		return Input{}, err
	}
	for _, name := range a.required {
		if *all[name].(**string) == nil {
			return Input{}, fmt.Errorf("%s is required", name)
		}
	}
	return in, nil
}

// passOver takes any member that is not known.
func passOver(string) error { return nil }

// readObject reads data, which must be one JSON object and nothing else.
func readObject(data []byte, fields map[string]any, other func(key string) error) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := readFields(dec, fields, other); err != nil {
		return err
	}
	return expectEnd(dec)
}

// errNull: null stands where an object should.
var errNull = errors.New("a JSON object was expected, and there is null")

// readFields reads the next JSON object into fields, by the names of its members.
// A field is a pointer for encoding/json, or a function that reads the value.
// The case of names counts, and one that is there twice is an error. other is
// asked about every member that is no field, which is then passed over.
func readFields(dec *json.Decoder, fields map[string]any, other func(key string) error) error {
	start, err := dec.Token()
	if err != nil {
		return cut(err)
	}
	if start == nil {
		return errNull
	}
	if start != json.Delim('{') {
		return fmt.Errorf("a JSON object was expected at byte %d", dec.InputOffset())
	}
	seen := make(map[string]bool, len(fields))
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return cut(err)
		}
		key := token.(string) // between '{' and '}' the decoder gives keys only as strings
		field, known := fields[key]
		if seen[key] {
			return fmt.Errorf("%.80q is there twice", key)
		}
		if known {
			seen[key] = true
		} else {
			if err := other(key); err != nil {
				return err
			}
			field = new(json.RawMessage)
		}
		if read, ok := field.(func(*json.Decoder) error); ok {
			err = read(dec)
		} else if err = dec.Decode(field); err != nil {
			err = fmt.Errorf("%.80q: %w", key, cut(err))
		}
		if err != nil {
			return err
		}
	}
	_, err = dec.Token()
	return cut(err)
}

// expectEnd makes sure that nothing follows.
func expectEnd(dec *json.Decoder) error {
	_, err := dec.Token()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		err = errors.New("there is more after it")
	}
	return fmt.Errorf("byte %d: %w", dec.InputOffset(), err)
}

// cut calls an end in the middle by its name.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
