package model

import (
	"encoding/json"
	"regexp"
	"slices"
	"testing"
)

func TestMarks_haveAWordForEachBit(t *testing.T) {
	all := MarkEvicted | MarkRedacted | MarkRepaired | MarkDamaged | MarkInferred | MarkInterrupted | MarkError | MarkTraced
	want := []string{"damaged", "error", "interrupted", "repaired", "evicted", "redacted", "inferred", "step"}
	if got := all.Words(); !slices.Equal(got, want) || parseMarks(got) != all {
		t.Errorf("%q come back as %b", got, parseMarks(got))
	}
	for mark := range all.All() {
		if parseMarks([]string{mark.Word()}) != mark {
			t.Errorf("%b is called %q", mark, mark.Word())
		}
	}
	if word := (MarkError | MarkDamaged).Word(); word != "" {
		t.Errorf("two marks are called %q", word)
	}
}

// Portable files that were written before say "traced".
func TestMarks_readTheFormerWordOfAStep(t *testing.T) {
	var h Header
	if err := json.Unmarshal([]byte(`{"id":"a","marks":["traced","error","of tomorrow"]}`), &h); err != nil || h.Marks != MarkTraced|MarkError {
		t.Errorf("marks %q, %v", h.Marks.Words(), err)
	}
}

func TestEventID_isOneWord(t *testing.T) {
	for want, h := range map[string]Header{
		"turnEnd":          {Event: SnapshotEventTurnEnd},
		"toolIterationEnd": {Event: SnapshotEventToolIterationEnd},
		"invocationEnd":    {Event: SnapshotEventInvocationEnd},
		"event7":           {Event: 7},
		"userInput":        {Event: SnapshotEventNamed, EventName: "user input"},
		"node":             {Event: SnapshotEventNamed, EventName: "node"},
		"of\x1btomorrow":   {Event: SnapshotEventNamed, EventName: "of\x1btomorrow"},
	} {
		if got := h.EventID(); got != want {
			t.Errorf("%d %q is %q, not %q", h.Event, h.EventName, got, want)
		}
	}
	for name, words := range eventWords() {
		if !regexp.MustCompile(`^[a-z]+([A-Z][a-z]+)*$`).MatchString(words.id) {
			t.Errorf("%q is %q", name, words.id)
		}
	}
}

func TestEventWord_isShort(t *testing.T) {
	for want, h := range map[string]Header{
		"end":            {Event: SnapshotEventTurnEnd},
		"tool":           {Event: SnapshotEventToolIterationEnd},
		"done":           {Event: SnapshotEventInvocationEnd},
		"event7":         {Event: 7},
		"user":           {Event: SnapshotEventNamed, EventName: "user input"},
		"model":          {Event: SnapshotEventNamed, EventName: "after model"},
		"node":           {Event: SnapshotEventNamed, EventName: "node failed"},
		"of\x1btomorrow": {Event: SnapshotEventNamed, EventName: "of\x1btomorrow"},
	} {
		if got := h.EventWord(); got != want {
			t.Errorf("%d %q is %q, not %q", h.Event, h.EventName, got, want)
		}
	}
	for name, words := range eventWords() {
		if len(words.short) > 5 {
			t.Errorf("%q takes %d cells", name, len(words.short))
		}
	}
}

func TestNounsOf_theFrameworksOwn(t *testing.T) {
	for kind, want := range map[string]Nouns{
		"langgraph": {"thread", "run", "checkpoint"}, "adk": {"session", "turn", "event"}, "claude-code": {"session", "turn", "snapshot"}, "": {"session", "turn", "snapshot"},
	} {
		if got := NounsOf(kind); got != want {
			t.Errorf("%q: %+v, want %+v", kind, got, want)
		}
	}
	if got := NounsOf("langgraph").NameSession("tour") + ", " + NounsOf("strands").NameSession("tour"); got != "thread tour, tour" {
		t.Error(got)
	}
}
