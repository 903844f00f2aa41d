package copilot

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hindcast/model"
	"hindcast/store/coding"
	"hindcast/store/folder"
)

// Codes of faults.
const (
	// FaultChain: an event does not follow the one before it.
	FaultChain = "broken-chain"
	// FaultStart: no event starts the session.
	FaultStart = "no-session-start"
)

// Read implements coding.Format.
func (f *format) Read(ctx context.Context, in folder.In, at coding.Spot) (*coding.Session, error) {
	file, err := f.lines.Read(ctx, in, at.File)
	if err != nil {
		return nil, err
	}
	s := &coding.Session{Spot: at, Head: -1, Faults: file.Faults(agent.Passes), Own: file}
	b := newBuild(s)
	for i := range file.Records {
		b.add(&file.Records[i])
	}
	if s.Head = b.last; s.Head >= 0 && b.total != nil {
		head := &s.Entries[s.Head]
		head.Counted(b.total.read, b.total.written, 0)
		if b.total.requests > 0 {
			head.Facts.Add("premium requests, of the session", strconv.FormatFloat(b.total.requests, 'f', -1, 64))
		}
	}
	if at.Part != "" {
		s.Faults = nil // they are told of the session that it is part of
		return s, nil
	}
	s.Faults = append(s.Faults, coding.UnknownFaults(at.File, b.unknown)...)
	s.Title = f.name(in, at)
	if file.Size > 0 && !b.started {
		s.Faults = append(s.Faults, model.Fault{Code: FaultStart, Severity: model.Stops, File: at.File, Meaning: "no event starts the session", Verdict: "Copilot CLI does not resume it"})
	}
	return s, nil
}

// build makes a session of events in turn: of those of its own, and of those of others that
// stand among them.
type build struct {
	session *coding.Session
	started bool
	// node has for each event the last entry on the way to it, -1 for none; last is that of
	// the newest event.
	node map[string]int
	last int
	// aside has the entries of events that Copilot CLI passes over.
	aside map[string]int
	// calls are the entries with tool calls, by these, and answers those of the model's answers.
	calls, answers map[string]int
	ids            coding.IDs // of the entries
	// waits are events that belong to the entry that comes next.
	waits   []coding.Span
	total   *total
	meta    *coding.Meta
	unknown map[string]int
}

func newBuild(s *coding.Session) *build {
	return &build{session: s, node: map[string]int{}, aside: map[string]int{}, last: -1, calls: map[string]int{}, answers: map[string]int{}, meta: &coding.Meta{}, unknown: map[string]int{}}
}

// add adds an event. One that is no message of the session stands for the message before it.
func (b *build) add(r *coding.Record[record]) {
	s, is := b.session, &r.Is
	if !isKnown(is.kind) {
		b.unknown[is.kind]++
	}
	passed := isPassedOver(r)
	before, known := b.node[is.parent]
	if at, there := b.aside[is.parent]; there && passed {
		before, known = at, true
	}
	if !known {
		if before = b.last; is.parent != "" && !passed {
			b.fault(r, model.Note, "the event before is missing", "Copilot CLI goes on from the events in the order of the file")
		}
	}
	if is.kind == typeAgent {
		b.agent(is)
	}
	if is.agent != s.Spot.Part {
		if !passed {
			b.node[is.id] = before
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
		if at, there := b.answers[is.answer]; there { // the message of an entry is its last record
			e := &s.Entries[at]
			e.Records = slices.Insert(e.Records, len(e.Records)-1, r.Span)
		} else if !passed {
			b.waits = append(b.waits, r.Span)
		}
	case typeUser, typeAssistant, typeTool, typeFail, typeCompaction, typeCleared:
		if known && before != b.last && isMessage(is.kind) && !passed {
			b.fault(r, model.Odd, "the event goes on from an earlier one: there are two branches", "Copilot CLI goes on from the messages of both, in the order of the file")
		}
		before = b.entry(r, before)
	}
	if passed {
		b.aside[is.id] = before
		return
	}
	b.node[is.id], b.last = before, before
}

// isPassedOver reports whether Copilot CLI reads nothing of an event, which is in a damaged line.
// One that starts the session says what the others do not.
func isPassedOver(r *coding.Record[record]) bool { return r.Salvaged && r.Is.kind != typeStart }

func isMessage(kind string) bool {
	return kind == typeUser || kind == typeAssistant || kind == typeTool
}

func (b *build) fault(r *coding.Record[record], severity model.Severity, meaning, verdict string) {
	b.session.Faults = append(b.session.Faults, model.Fault{Code: FaultChain, Severity: severity, File: b.session.Spot.File, Path: fmt.Sprintf("line %d, byte %d", r.Number, r.At), Meaning: meaning, Verdict: verdict})
}

// agent notes at the entry with the tool call that it started a sub-agent.
func (b *build) agent(is *record) {
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

// entry adds the entry of an event, or the event to the entry that has the rest of its
// message, and returns its position.
func (b *build) entry(r *coding.Record[record], before int) int {
	s, is := b.session, &r.Is
	at, records := len(s.Entries), []coding.Span{r.Span}
	if !r.Salvaged {
		records, b.waits = append(b.waits, r.Span), nil
	}
	if !r.Salvaged && before >= 0 && is.kind == typeAssistant && is.message != "" && s.Entries[before].Said.Role == coding.Assistant && s.Entries[before].Own.(string) == is.message {
		e := &s.Entries[before]
		e.Records = append(e.Records, records...)
		e.Said.Calls = append(e.Said.Calls, is.said.Calls...)
		if e.Said.Words == "" || len(e.Said.Calls) == 0 && e.Said.Words[0] == '(' {
			e.Said.Words = is.said.Words
		}
		at = before
	} else {
		e := coding.Entry{ID: b.ids.Take(is.id), At: is.at, Said: is.said, Meta: b.meta, File: s.Spot.File, Records: records, Own: is.message}
		if before >= 0 {
			e.Parent = s.Entries[before].ID
		}
		if r.Salvaged {
			e.Reason = coding.PassedOver
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
