package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"hindcast/model"
	"hindcast/model/printable"
)

// ResultOpen and ResultClose stand around the result of an action. No trace is
// made of a reading, so that the trace has no id.
const (
	ResultOpen  = `{"result":`
	ResultClose = `,"telemetry":{"traceId":""}}`
)

// Code is a status of gRPC, as Genkit uses them.
type Code int

// The codes that are given here.
const (
	// InvalidArgument: the request is not as it has to be.
	InvalidArgument Code = 3
	// NotFound: there is no such action, session or snapshot.
	NotFound Code = 5
	// Internal: the store failed.
	Internal Code = 13
)

// Reason tells errors of one code apart. It is Hindcast's own.
type Reason string

// The reasons.
const (
	NoSession  Reason = "noSession"
	NoSnapshot Reason = "noSnapshot"
	Ambiguous  Reason = "ambiguous"
)

// Error is an error as an action answers it. It is model.ErrNoSession,
// model.ErrNoSnapshot or model.ErrAmbiguous where its reason says so.
type Error struct {
	Code    Code    `json:"code"`
	Message string  `json:"message"`
	Details Details `json:"details"`
}

// Details are the further members of an error. Genkit also sends a stack here, which concerns no client.
type Details struct {
	TraceID string `json:"traceId"`
	Reason  Reason `json:"reason,omitempty"`
}

// mostMessage bounds how much of a message is repeated.
const mostMessage = 500

// Error returns the message, which may come from anywhere, on one line and safe
// to print.
func (e *Error) Error() string {
	text := e.Message
	if len(text) > mostMessage {
		text = text[:mostMessage] + "…"
	}
	return fmt.Sprintf("%s (code %d)", printable.String(text), e.Code)
}

// Is reports whether target is the error that the reason stands for.
func (e *Error) Is(target error) bool {
	switch e.Details.Reason {
	case NoSession:
		return target == model.ErrNoSession
	case NoSnapshot:
		return target == model.ErrNoSnapshot
	case Ambiguous:
		return target == model.ErrAmbiguous
	}
	return false
}

// AppendError appends the answer that says the error.
func AppendError(dst []byte, e *Error) []byte {
	text, err := json.Marshal(struct {
		Error *Error `json:"error"`
	}{e})
	if err != nil {
		panic(err) // strings and a number always marshal
	}
	return append(dst, text...)
}

// ErrNoAnswer: an answer has neither a result nor an error.
var ErrNoAnswer = errors.New("the answer has neither a result nor an error")

// ReadAnswer reads an answer from r to its end and has result read its result
// as it comes. The error is an *Error where the answer is one.
func ReadAnswer(r io.Reader, result func(*json.Decoder) error) error {
	dec := json.NewDecoder(r)
	answered := false
	var failed *Error
	err := readFields(dec, map[string]any{
		"result": func(dec *json.Decoder) error { answered = true; return result(dec) },
		"error":  &failed,
	}, passOver)
	switch {
	case failed != nil:
		return failed
	case err != nil:
		return err
	case !answered:
		return ErrNoAnswer
	}
	return expectEnd(dec)
}

// ReadError reads the error that Genkit answers a request with which it does
// not take: an *Error without anything around it. ok is false for anything
// else.
func ReadError(data []byte) (e *Error, ok bool) {
	e = &Error{}
	if json.Unmarshal(data, e) != nil || e.Message == "" {
		return nil, false
	}
	return e, true
}

// ReadList reads a JSON array, or null for an empty one, and has each element
// read as it comes.
func ReadList(dec *json.Decoder, element func(*json.Decoder) error) error {
	start, err := dec.Token()
	if err != nil {
		return cut(err)
	}
	if start == nil {
		return nil
	}
	if start != json.Delim('[') {
		return fmt.Errorf("a JSON array was expected at byte %d", dec.InputOffset())
	}
	for dec.More() {
		if err := element(dec); err != nil {
			return err
		}
	}
	_, err = dec.Token()
	return cut(err)
}

// ReadActions returns the descriptors of the actions in r, by key.
func ReadActions(r io.Reader) (map[string]Descriptor, error) {
	dec := json.NewDecoder(r)
	var list map[string]Descriptor
	if err := dec.Decode(&list); err != nil {
		return nil, cut(err)
	}
	return list, expectEnd(dec)
}
