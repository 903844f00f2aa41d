package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// eachMember calls member for every member of a JSON object, in order, with
// the value's own bytes. Unlike encoding/json it never takes a key for another
// that differs in case, and a key that is written twice is given twice: ids
// are read through it. The object must be all there is in data.
func eachMember(data []byte, member func(key string, value json.RawMessage) error) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	start, err := dec.Token()
	if err != nil {
		return atOffset(dec, err)
	}
	if start != json.Delim('{') {
		return fmt.Errorf("byte %d: a JSON object was expected", dec.InputOffset())
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return atOffset(dec, err)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return atOffset(dec, err)
		}
		// Between '{' and '}' the decoder gives keys only as strings.
		if err := member(key.(string), value); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return atOffset(dec, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("byte %d: there is more after the JSON object", dec.InputOffset())
	}
	return nil
}

// atOffset says where in the text an error of the decoder is.
func atOffset(dec *json.Decoder, err error) error {
	offset := dec.InputOffset()
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		offset = syntax.Offset
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("byte %d: %w", offset, err)
}
