package copilot

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
)

// part is an entry in the making: the message that its events are parts of, and how many of them are system prompts.
type part struct {
	message string
	prompts int
}

// Sources implements chat.Plain.
func (f *format) Sources(_ engine.In, at chat.Spot) []string { return []string{at.File} }

// Adds implements chat.Plain.
func (f *format) Adds(e *chat.Entry) int { return 1 + e.Own.(*part).prompts }

// Codes of faults.
const (
	// FaultChain: an event does not follow the one before it.
	FaultChain = "broken-chain"
	// FaultStart: no event starts the session.
	FaultStart = "no-session-start"
)

// Read implements chat.Format.
func (f *format) Read(ctx context.Context, in engine.In, at chat.Spot) (*chat.Session, error) {
	file, err := f.lines.Read(ctx, in, at.File)
	if err != nil {
		return nil, err
	}
	s := &chat.Session{Spot: at, Head: -1, Faults: file.Faults(agent.Passes), Own: file}
	b := newBuild(s)
	for i := range file.Records {
		b.addEvent(&file.Records[i])
	}
	if s.Head = b.last; s.Head >= 0 && b.total != nil {
		s.Entries[s.Head].Facts.Count(*b.total)
	}
	if at.Part != "" {
		s.Faults = nil // they are told of the session that it is part of
		return s, nil
	}
	s.Within = b.crew.list
	s.Faults = append(s.Faults, chat.UnknownFaults(at.File, b.unknown)...)
	s.Title = f.workspaceName(in, at)
	if file.Size > 0 && !b.started {
		s.Fault(FaultStart, model.Stops, "", "no event starts the session", "Copilot CLI does not resume it")
	}
	return s, nil
}

// build makes a session of its own events, in order, and of the events of sub-agents between them.
type build struct {
	session *chat.Session
	started bool
	crew    crew
	// last is the newest entry that Copilot CLI reads, or -1. node is the value of last at each
	// event.
	last int
	node map[string]int
	// aside has the entries of events that Copilot CLI passes over.
	aside map[string]int
	// calls are the entries with tool calls, by these, and answers those of the model's answers.
	calls, answers map[string]int
	ids            chat.IDs // of the entries
	// waits are events that belong to the entry that comes next, and counted says that a record of
	// usage is one.
	waits   []chat.Span
	counted bool
	prompts int // among waits
	// bare is the answer of the current turn that has no record of usage yet, or -1. named
	// reports whether that answer has an id.
	bare    int
	named   bool
	total   *model.Counted
	meta    *chat.Meta
	unknown map[string]int
}

func newBuild(s *chat.Session) *build {
	return &build{session: s, node: map[string]int{}, aside: map[string]int{}, last: -1, bare: -1, calls: map[string]int{}, answers: map[string]int{}, meta: &chat.Meta{}, unknown: map[string]int{}}
}

// addEvent adds an event. It goes on from the one before it in the file, whatever it names: so Copilot
// CLI reads them.
func (b *build) addEvent(r *chat.Record[record]) {
	s, is := b.session, &r.Is
	if !isKnown(is.kind) {
		b.unknown[is.kind]++
	}
	passed, own := isPassedOver(r), is.agent == s.Spot.Part
	b.crew.addAgent(is.agent, is.name)
	switch at, known := b.node[is.parent]; {
	case passed || is.parent == "":
	case !known:
		b.addFault(r, model.Note, "the event that it names before it is missing")
	case at != b.last && own && isMessage(is.kind):
		b.addFault(r, model.Odd, "the event names an earlier one before it: there are two branches, and the model is sent both")
	}
	if is.kind == typeAgent {
		b.noteAgent(is)
	}
	if !own {
		if !passed {
			b.node[is.id] = b.last
		}
		return
	}
	b.meta = b.meta.With(is.meta)
	switch is.kind {
	case typeStart:
		b.started = true
		s.Project = is.meta.Dir
	case typeShutdown:
		b.total = is.total
	case typeSystem, typeUsage, typeReasoning:
		at, there := b.answers[is.answer]
		if is.kind == typeUsage && !there && b.bare >= 0 && (is.answer == "" || !b.named) {
			at, there = b.bare, true
		}
		if there { // the message of an entry is its last record
			if at == b.bare && is.kind == typeUsage {
				b.bare = -1
			}
			e := &s.Entries[at]
			if is.kind == typeSystem {
				e.Own.(*part).prompts++
			}
			e.Records = slices.Insert(e.Records, len(e.Records)-1, r.Span)
		} else if !passed {
			b.waits, b.counted = append(b.waits, r.Span), b.counted || is.kind == typeUsage
			if is.kind == typeSystem {
				b.prompts++
			}
		}
	case typeTurnStart:
		b.bare = -1
	case typeUser, typeAssistant, typeTool, typeFail, typeCompaction, typeCleared:
		before, counted := b.last, b.counted
		if at, there := b.aside[is.parent]; there && passed {
			before = at
		}
		at := b.addEntry(r, before)
		if passed {
			b.aside[is.id] = at
			return
		}
		b.last, b.counted, b.bare, b.named = at, false, -1, is.answer != ""
		if is.kind == typeAssistant && !counted {
			b.bare = at
		}
	}
	if !passed {
		b.node[is.id] = b.last
	}
}

// isPassedOver reports whether Copilot CLI skips an event because its line is damaged. The start of the
// session is never skipped: no other event repeats its data.
func isPassedOver(r *chat.Record[record]) bool { return r.Salvaged && r.Is.kind != typeStart }

func isMessage(kind string) bool {
	return kind == typeUser || kind == typeAssistant || kind == typeTool
}

func (b *build) addFault(r *chat.Record[record], severity model.Severity, meaning string) {
	b.session.Fault(FaultChain, severity, fmt.Sprintf("line %d, byte %d", r.Number, r.At), meaning, "Copilot CLI goes on from the events in the order of the file")
}

// noteAgent notes at the entry with the tool call that it started a sub-agent.
func (b *build) noteAgent(is *record) {
	s := b.session
	if is.agent == s.Spot.Part {
		s.Title = is.name
	}
	at, known := b.calls[is.call]
	if !known || is.agent == s.Spot.Part {
		return
	}
	session, _, _ := strings.Cut(s.Spot.ID, "/")
	s.Entries[at].Starts(session + "/" + is.agent)
}

// addEntry adds the entry of an event, or the event to the entry that has the rest of its
// message, and returns its position.
func (b *build) addEntry(r *chat.Record[record], before int) int {
	s, is := b.session, &r.Is
	at, records, prompts := len(s.Entries), []chat.Span{r.Span}, 0
	if !r.Salvaged {
		records, prompts, b.waits, b.prompts = append(b.waits, r.Span), b.prompts, nil, 0
	}
	if !r.Salvaged && before >= 0 && is.kind == typeAssistant && is.message != "" && s.Entries[before].Said.Role == chat.Assistant && s.Entries[before].Own.(*part).message == is.message {
		e := &s.Entries[before]
		e.Records = append(e.Records, records...)
		e.Said.Calls = append(e.Said.Calls, is.said.Calls...)
		if e.Said.Words == "" || len(e.Said.Calls) == 0 && e.Said.Words[0] == '(' {
			e.Said.Words = is.said.Words
		}
		e.Own.(*part).prompts += prompts
		at = before
	} else {
		e := chat.Entry{ID: b.ids.Take(is.id), At: is.at, Said: is.said, Meta: b.meta, File: s.Spot.File, Records: records, Own: &part{is.message, prompts}}
		if before >= 0 {
			e.Parent = s.Entries[before].ID
		}
		if r.Salvaged {
			e.Reason = chat.PassedOver
		}
		switch is.kind {
		case typeCompaction:
			e.Event, e.Context = "compaction", []int{at}
		case typeCleared:
			e.Event, e.Context = "cleared", []int{at}
		case typeFail:
			e.Event, e.Marks = "error", model.MarkError
		}
		s.Entries = append(s.Entries, e)
	}
	if is.answer != "" {
		b.answers[is.answer] = at
	}
	for _, c := range is.said.Calls {
		b.calls[c.ID] = at
	}
	return at
}
