package model

import (
	"iter"
	"strconv"
)

// The words of events and marks, one word a thing. The documents of the command
// line, its text and the screen all take them from here.

// markWords are the words of the marks, the gravest first.
var markWords = [...]struct {
	mark Marks
	word string
}{
	{MarkDamaged, "damaged"},
	{MarkError, "error"},
	{MarkInterrupted, "interrupted"},
	{MarkRepaired, "repaired"},
	{MarkEvicted, "evicted"},
	{MarkRedacted, "redacted"},
	{MarkInferred, "inferred"},
	{MarkTraced, "step"},
}

// formerStep is how older portable files call MarkTraced.
const formerStep = "traced"

// Each yields the marks that are set, one at a time, the gravest first.
func (s Marks) Each() iter.Seq[Marks] {
	return func(yield func(Marks) bool) {
		for _, known := range markWords {
			if s.Has(known.mark) && !yield(known.mark) {
				return
			}
		}
	}
}

// Word returns the word of a single mark, "" for none.
func (s Marks) Word() string {
	for _, known := range markWords {
		if s == known.mark {
			return known.word
		}
	}
	return ""
}

// Words returns the words of the marks that are set, the gravest first; nil for
// none.
func (s Marks) Words() []string {
	var words []string
	for mark := range s.Each() {
		words = append(words, mark.Word())
	}
	return words
}

// parseMarks reads words of marks. It passes over those that it does not know.
func parseMarks(words []string) Marks {
	var s Marks
	for _, word := range words {
		if word == formerStep {
			s |= MarkTraced
		}
		for _, known := range markWords {
			if word == known.word {
				s |= known.mark
			}
		}
	}
	return s
}

// eventIDs are the words in documents of the events that stores name in several
// words. An event whose name is one word is called that.
var eventIDs = map[string]string{
	"user input":       "userInput",
	"after model":      "afterModel",
	"no messages":      "noMessages",
	"saved again":      "savedAgain",
	"damaged message":  "damagedMessage",
	"damaged snapshot": "damagedSnapshot",
	"run start":        "runStart",
	"node failed":      "nodeFailed",
	"node cancelled":   "nodeCancelled",
	"node interrupted": "nodeInterrupted",
}

// EventID returns the event as one word that stays: "turnEnd" for an integer of
// the seed, "event7" for an integer without a name, "userInput" for the name of
// a framework. A name that the program does not know is untrusted data and
// returned as it is.
func (h *Header) EventID() string {
	if h.EventName != "" {
		if id, known := eventIDs[h.EventName]; known {
			return id
		}
		return h.EventName
	}
	if name := h.Event.Name(); name != "" {
		return name
	}
	return "event" + strconv.Itoa(int(h.Event))
}

// EventIDs yields the words that [Header.EventID] has for events that the program
// knows, in no order.
func EventIDs() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, name := range eventNames {
			if !yield(name) {
				return
			}
		}
		for _, id := range eventIDs {
			if !yield(id) {
				return
			}
		}
	}
}
