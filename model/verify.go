package model

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"hindcast/model/jsontape"
)

// SnapshotID returns the id of a state: the lowercase hexadecimal SHA-256 of its
// JSON, compact and exactly as the writer serialised it.
func SnapshotID(compactJSON []byte) string {
	sum := sha256.Sum256(compactJSON)
	return hex.EncodeToString(sum[:])
}

// Serialisation is a way in which the JSON of a state may have been written
// when its id was made.
type Serialisation uint8

const (
	// SerialisationNone: no serialisation that was tried gives the id.
	SerialisationNone Serialisation = iota
	// SerialisationStored: the bytes as they are stored.
	SerialisationStored
	// SerialisationCompact: the stored bytes without the spaces.
	SerialisationCompact
	// SerialisationGo: what json.Marshal of Go writes after a json.Unmarshal to
	// any, with numbers kept as they are written or taken as float64.
	SerialisationGo
	// SerialisationRFC8785: the canonical form of RFC 8785.
	SerialisationRFC8785
)

var serialisationNames = [...]string{
	SerialisationNone:    "none",
	SerialisationStored:  "stored bytes",
	SerialisationCompact: "compacted",
	SerialisationGo:      "Go re-marshal",
	SerialisationRFC8785: "RFC 8785",
}

// String returns the serialisation in words.
func (s Serialisation) String() string {
	if int(s) < len(serialisationNames) {
		return serialisationNames[s]
	}
	return fmt.Sprintf("serialisation %d", s)
}

// maxReserialised bounds the states that Verify decodes, because a decoded
// state takes about ten times its size.
const maxReserialised = 32 << 20

// ErrNotHash: the id is not a SHA-256 in hexadecimal, so that there is nothing
// to verify; many frameworks use random ids.
var ErrNotHash = errors.New("the id is not a SHA-256")

// Verification is the result of verifying an id.
type Verification struct {
	// Matched is the serialisation that gives the id.
	Matched Serialisation
	// Tried lists the serialisations tried, in order, up to the match.
	Tried []Serialisation
	// Err is why the others could not be tried; nil if all were, or one
	// matched. It is ErrNotHash when the id cannot be verified at all.
	Err error
}

// OK reports whether a serialisation matched.
func (v Verification) OK() bool { return v.Matched != SerialisationNone }

// Text says in a few words what came of it.
func (v Verification) Text() string {
	if v.OK() {
		return "the id is the SHA-256 of the state (" + v.Matched.String() + ")"
	}
	if errors.Is(v.Err, ErrNotHash) {
		return v.Err.Error()
	}
	names := make([]string, 0, len(v.Tried))
	for _, tried := range v.Tried {
		names = append(names, tried.String())
	}
	text := "the id is not the SHA-256 of the state; tried " + strings.Join(names, ", ")
	if v.Err != nil {
		text += " (then: " + v.Err.Error() + ")"
	}
	return text
}

// Verify finds the serialisation of a stored state that gives its id. It tries
// the stored bytes, then compacted, then what Go re-marshals, then RFC 8785.
// Case does not matter in the id. A state of more than 32 MiB is only tried as
// stored and compacted.
func Verify(id string, stored []byte) Verification {
	want := strings.ToLower(id)
	if _, err := hex.DecodeString(want); err != nil || len(want) != 2*sha256.Size {
		return Verification{Err: ErrNotHash}
	}
	var v Verification
	try := func(as Serialisation, id string) bool {
		if len(v.Tried) == 0 || v.Tried[len(v.Tried)-1] != as {
			v.Tried = append(v.Tried, as)
		}
		if id == want {
			v.Matched = as
		}
		return v.OK()
	}
	if try(SerialisationStored, SnapshotID(stored)) {
		return v
	}
	v.Err = reserialise(stored, try)
	return v
}

// compactID returns the id of a state without the spaces, and how many bytes it then has.
// The state is JSON. Nothing of it is copied.
func compactID(stored []byte) (id string, size int) {
	hash := sha256.New()
	put := func(part []byte) {
		hash.Write(part)
		size += len(part)
	}
	from, inString := 0, false
	for i := 0; i < len(stored); i++ {
		switch c := stored[i]; {
		case c == '"':
			inString = !inString
		case inString && c == '\\':
			i++ // what is behind it ends no string
		case !inString && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			put(stored[from:i])
			from = i + 1
		}
	}
	put(stored[from:])
	return hex.EncodeToString(hash.Sum(nil)), size
}

// reserialise hands the ids of the other serialisations to try, until it is content.
func reserialise(stored []byte, try func(Serialisation, string) bool) error {
	if !json.Valid(stored) {
		var none bytes.Buffer
		return fmt.Errorf("not JSON: %w", json.Compact(&none, stored))
	}
	id, size := compactID(stored)
	if try(SerialisationCompact, id) {
		return nil
	}
	if size > maxReserialised {
		return fmt.Errorf("too large to re-marshal: %d bytes", size)
	}
	value, err := decodeAny(stored)
	if err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	exact, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("cannot re-marshal: %w", err)
	}
	if try(SerialisationGo, SnapshotID(exact)) {
		return nil
	}
	if value, err = toFloats(value, 0); err != nil {
		return fmt.Errorf("cannot re-marshal: %w", err)
	}
	rounded, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("cannot re-marshal: %w", err)
	}
	if try(SerialisationGo, SnapshotID(rounded)) {
		return nil
	}
	t, err := jsontape.Parse(stored)
	if err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	canonical, err := t.AppendCanonical(nil, 0, nil)
	if err != nil {
		return err
	}
	try(SerialisationRFC8785, SnapshotID(canonical))
	return nil
}

// decodeAny decodes one JSON text, with numbers as they are written.
func decodeAny(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more after the JSON text")
	}
	return value, nil
}

// maxDepth bounds the nesting of a value that is written; it is the bound to
// which encoding/json reads.
const maxDepth = 10_000

// toFloats turns every json.Number of a decoded value into a float64.
func toFloats(value any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("more than %d levels deep", maxDepth)
	}
	switch v := value.(type) {
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			return nil, fmt.Errorf("the number %.40q is out of range", v)
		}
		return f, nil
	case []any:
		for i, element := range v {
			f, err := toFloats(element, depth+1)
			if err != nil {
				return nil, err
			}
			v[i] = f
		}
	case map[string]any:
		for key, element := range v {
			f, err := toFloats(element, depth+1)
			if err != nil {
				return nil, err
			}
			v[key] = f
		}
	}
	return value, nil
}
