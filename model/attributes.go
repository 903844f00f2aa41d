package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Attributes are the members that a program gives a visit besides its state, such as a status or a finish reason: a
// JSON object as json.Marshal writes it; "" is an empty one. Values are of any type.
type Attributes string

// errAttributes: bytes are no attributes.
var errAttributes = errors.New("attributes are a JSON object in which no name is empty or comes twice")

// ParseAttributes reads attributes from a JSON object; null and an empty object give "". The error says that the bytes
// are no object, or that a name is empty or comes twice.
func ParseAttributes(data []byte) (Attributes, error) {
	if string(bytes.TrimSpace(data)) == "null" {
		return "", nil
	}
	seen := map[string]bool{"": true}
	err := eachMember(data, func(key string, _ json.RawMessage) error {
		if seen[key] {
			return fmt.Errorf("%.40q: %w", key, errAttributes)
		}
		seen[key] = true
		return nil
	})
	if err != nil || len(seen) == 1 {
		return "", err
	}
	text, err := json.Marshal(json.RawMessage(data)) // as any document that holds it has it
	return Attributes(text), err
}

// Facts returns the attributes as facts, in order. A text is its own value, any other value is JSON. Attributes that are
// no JSON object give the facts up to the first byte that is not.
func (a Attributes) Facts() (facts []Fact) {
	if a == "" {
		return nil
	}
	_ = eachMember([]byte(a), func(key string, value json.RawMessage) error {
		fact := Fact{Label: key, Value: string(value)}
		if len(value) > 0 && value[0] == '"' {
			_ = json.Unmarshal(value, &fact.Value)
		}
		facts = append(facts, fact)
		return nil
	})
	return facts
}

// ProgramText returns the alias and the attributes in braces, "" if the header has neither. The text is untrusted.
func (h *Header) ProgramText() string {
	if h.Alias == "" && h.Attributes == "" {
		return ""
	}
	var words []string
	if h.Alias != "" {
		words = append(words, h.Alias)
	}
	for _, f := range h.Attributes.Facts() {
		words = append(words, f.Label+"="+f.Value)
	}
	return "{" + strings.Join(words, ", ") + "}"
}

// MarshalJSON returns the object, or null for "".
func (a Attributes) MarshalJSON() ([]byte, error) {
	if a == "" {
		return []byte("null"), nil
	}
	return []byte(a), nil
}

// UnmarshalJSON reads an object or null. It returns the errors of ParseAttributes.
func (a *Attributes) UnmarshalJSON(data []byte) (err error) {
	*a, err = ParseAttributes(data)
	return err
}
