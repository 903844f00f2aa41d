package model

import (
	"cmp"
	"iter"
	"strconv"
	"sync"
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

// Text returns a single mark in words for people: the word, or what the word means where that is a term of agents.
func (s Marks) Text() string {
	if s == MarkEvicted {
		return "no longer sent"
	}
	return s.Word()
}

// formerStep is how older portable files call MarkTraced.
const formerStep = "traced"

// All yields the marks that are set, one at a time, the gravest first.
func (s Marks) All() iter.Seq[Marks] {
	return func(yield func(Marks) bool) {
		for _, known := range markWords {
			if s.Has(known.mark) && !yield(known.mark) {
				return
			}
		}
	}
}

// Word returns the word of a single mark, or "".
func (s Marks) Word() string {
	for _, known := range markWords {
		if s == known.mark {
			return known.word
		}
	}
	return ""
}

// Words returns the words of the marks that are set, the gravest first, or nil.
func (s Marks) Words() []string {
	var words []string
	for mark := range s.All() {
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

// eventWords are the words of the events that stores name: id in documents, which
// stays, and short on a row of the screen. An event that is missing here is called
// by its name in both.
var eventWords = sync.OnceValue(func() map[string]struct{ id, short string } {
	return map[string]struct{ id, short string }{
		"user input":       {"userInput", "user"},
		"after model":      {"afterModel", "model"},
		"message":          {"message", "msg"},
		"no messages":      {"noMessages", "empty"},
		"saved again":      {"savedAgain", "again"},
		"damaged message":  {"damagedMessage", "msg"},
		"damaged snapshot": {"damagedSnapshot", "snap"},
		"run start":        {"runStart", "start"},
		"compaction":       {"compaction", "comp"},
		"branch summary":   {"branchSummary", "sum"},
		"context":          {"context", "ctx"},
		"command":          {"command", "cmd"},
		"queued":           {"queued", "queue"},
		"node failed":      {"nodeFailed", "node"},
		"node cancelled":   {"nodeCancelled", "node"},
		"node interrupted": {"nodeInterrupted", "node"},
	}
})

// seedWords are the words of the seed's events on a row of the screen.
var seedWords = [...]string{
	SnapshotEventTurnEnd:          "end",
	SnapshotEventToolIterationEnd: "tool",
	SnapshotEventInvocationEnd:    "done",
}

// EventID returns the event as one word that stays: "turnEnd" for an integer of
// the seed, "event7" for an integer without a name, "userInput" for the name of
// a framework. A name that the program does not know is untrusted data and
// returned as it is.
func (h *Header) EventID() string {
	if h.EventName != "" {
		if known, ok := eventWords()[h.EventName]; ok {
			return known.id
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
		for _, words := range eventWords() {
			if !yield(words.id) {
				return
			}
		}
	}
}

// EventWord returns the event as one short word for a row of the screen: "user",
// "tool", "end". What went wrong in it is told by the marks. A name that the
// program does not know is untrusted data of any length and returned as it is.
func (h *Header) EventWord() string {
	switch {
	case h.EventName != "":
		if known, ok := eventWords()[h.EventName]; ok {
			return known.short
		}
	case h.Event >= 0 && int(h.Event) < len(seedWords):
		return seedWords[h.Event]
	}
	return h.EventID()
}

// Nouns are the words for a session, a turn of it and a snapshot. Their plurals end in s.
type Nouns struct{ Session, Turn, Snapshot string }

// frameworkNouns are the words of frameworks that have their own, by the kind of store.
var frameworkNouns = sync.OnceValue(func() map[string]Nouns {
	return map[string]Nouns{
		"adk":             {Snapshot: "event"},
		"agent-framework": {Turn: "run"},
		"agno":            {Turn: "run"},
		"atif":            {Session: "run", Snapshot: "step"},
		"crewai":          {Turn: "run", Snapshot: "checkpoint"},
		"deepagents":      {Session: "thread", Turn: "run", Snapshot: "checkpoint"},
		"langgraph":       {Session: "thread", Turn: "run", Snapshot: "checkpoint"},
		"dbos":            {Session: "workflow", Turn: "run", Snapshot: "step"},
		"llamaindex":      {Turn: "run"},
		"openai-agents":   {Snapshot: "item"},
		"trajectory":      {Session: "run", Snapshot: "step"},
	}
})

// NounsOf returns the words of a kind of store: its framework's own, else Hindcast's.
func NounsOf(kind string) Nouns {
	own := frameworkNouns()[kind]
	return Nouns{cmp.Or(own.Session, "session"), cmp.Or(own.Turn, "turn"), cmp.Or(own.Snapshot, "snapshot")}
}

// NameSession returns the name of a session, behind the framework's own word for it: "thread tour".
func (n Nouns) NameSession(name string) string {
	if n.Session == "session" {
		return name
	}
	return n.Session + " " + name
}
