package model

import (
	"encoding"
	"fmt"
	"slices"
)

// Severity is how bad a fault is for the framework.
type Severity int8

// The severities, from the least to the worst.
const (
	// Note: it is no fault of the store. Another program left a file that the framework passes
	// over, or a few models refuse what most take.
	Note Severity = iota - 1
	// Odd: the framework goes on as if nothing was wrong.
	Odd
	// Mended: the framework puts it right in memory when it starts.
	Mended
	// Loses: the framework starts, and then writes over something, leaves something
	// out, or cannot go on.
	Loses
	// Stops: the framework does not start.
	Stops
)

var severities = []string{"note", "odd", "mended", "loses", "stops"}

func (s Severity) String() string {
	if s < Note || s > Stops {
		return fmt.Sprintf("severity %d", int8(s))
	}
	return severities[s-Note]
}

// MarshalText implements encoding.TextMarshaler with one word.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Severity) UnmarshalText(text []byte) error {
	i := slices.Index(severities, string(text))
	if i < 0 {
		return fmt.Errorf("read a severity: %.20q is not one of %q", text, severities)
	}
	*s = Note + Severity(i)
	return nil
}

// FaultOpaque is the code of the fault that states are stored in a way in which they are
// not read, and shown as the bytes that they are.
const FaultOpaque = "opaque-state"

// Fault is something wrong in a store that does not stop the rest from opening. `hindcast doctor --json`
// uses these JSON names.
type Fault struct {
	// Code is a short stable name of the kind of fault: "missing-tool-result".
	Code string `json:"fault"`
	// Severity is how bad it is.
	Severity Severity `json:"severity"`
	// File is the file or row, relative to the store.
	File string `json:"file"`
	// Path is the place in it: a JSON Pointer, or "byte 812".
	Path string `json:"path,omitempty"`
	// Meaning says in a sentence what is wrong.
	Meaning string `json:"meaning"`
	// Verdict describes how the framework itself handles the fault.
	Verdict string `json:"verdict,omitempty"`
	// Records is how many records the fault is of, 0 where they are not counted.
	Records int `json:"records,omitempty"`
	// Copy names the snapshot at which a fork keeps what is about to be lost, by its id or as
	// "head"; "" where none does.
	Copy string `json:"-"`
	// Joins says that a fork that joins the pieces of the session mends it, see [Change.Join].
	Joins bool `json:"-"`
}

// Harmful returns the faults of a list that are more than notes.
func Harmful(list []Fault) []Fault {
	harmful := make([]Fault, 0, len(list))
	for _, f := range list {
		if f.Severity > Note {
			harmful = append(harmful, f)
		}
	}
	return harmful
}

var (
	_ encoding.TextMarshaler   = Odd
	_ encoding.TextUnmarshaler = new(Severity)
)
