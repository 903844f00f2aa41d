package messages

import (
	"fmt"
	"strings"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/store"
	"hindcast/store/sdk"
)

// checkNames looks for numbers that several files have.
func (l *messageLog) checkNames() {
	for i := 1; i < len(l.files); i++ {
		if f := l.files[i]; f.compareNumber(l.files[i-1]) == 0 {
			l.flaw(l.path("messages", f.name), flaw{code: FaultDuplicateNumber, meaning: fmt.Sprintf("%q has the same number", l.files[i-1].name),
				verdict: sdk.Loads("both, one after the other" + l.moved(i))})
		}
	}
}

// gaps looks for numbers that are missing. Where all of a gap are on branches, a repair
// made it, and told of each.
func (in *inspector) gaps(b *branches) {
	l := in.log
	aside := map[int64]bool{}
	for _, k := range b.list {
		if n, small := k.file.int64(); small {
			aside[n] = true
		}
	}
	for i, f := range l.files {
		before, small := int64(-1), true
		if i > 0 {
			before, small = l.files[i-1].int64()
		}
		n, ok := f.int64()
		if !ok || !small || before < -1 || n <= before+1 || allIn(aside, before+1, n-1) {
			continue
		}
		verdict := sdk.Loads("the gap itself is not noticed")
		if i < l.start {
			verdict = sdk.Loads("the window is counted in files, and so has moved by as many")
		}
		in.add(f.name, flaw{code: FaultGap, meaning: fmt.Sprintf("%s before it %s missing", numbers(before+1, n-1), isAre(n-before-1)), verdict: verdict}, stand{})
	}
}

// allIn reports whether a set has all numbers from one to another.
func allIn(set map[int64]bool, first, last int64) bool {
	if last-first >= int64(len(set)) {
		return false
	}
	for n := first; n <= last; n++ {
		if !set[n] {
			return false
		}
	}
	return true
}

func numbers(first, last int64) string {
	if first == last {
		return fmt.Sprintf("message %d", first)
	}
	return fmt.Sprintf("messages %d to %d", first, last)
}

func isAre(n int64) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// moved describes the effect of a superfluous file on the window behind it.
func (l *messageLog) moved(i int) string {
	if i < l.start {
		return "; the window is counted in files, and so begins one message earlier"
	}
	return ""
}

// checkWindow looks for reasons why the SDK would begin an existing log anew.
func (l *messageLog) checkWindow() {
	n := len(l.files)
	switch {
	case l.agent.missing:
		verdict := sdk.Says(model.Odd, "starts a new agent")
		if n > 0 {
			next, _ := l.writesNext(0)
			verdict = sdk.Says(model.Loses, "starts a new agent without the messages; "+next)
		}
		l.flaw(l.path("agent.json"), flaw{code: FaultAgentMissing, meaning: "there is no agent.json", verdict: verdict})
	case n > 0 && l.start >= n && l.agent.pinned == 0:
		next, _ := l.writesNext(0)
		l.flaw(l.path("agent.json"), flaw{code: FaultRemovedCount, path: managerPath + "/removed_message_count",
			meaning: fmt.Sprintf("%s are said to be removed, and there are %d", l.agent.removedText(), n),
			verdict: sdk.Loses("no message; " + next + " (SDKs that keep a pinned_head_count go on behind the last file)")})
	}
}

// checkManager looks at what the conversation manager keeps of the messages that
// it took out.
func (l *messageLog) checkManager() {
	n := len(l.files)
	if l.agent.summary != nil && n > 0 && l.agent.removed == 0 && l.agent.pinned == 0 {
		l.flaw(l.path("agent.json"), flaw{code: FaultSummary, path: summaryPath, meaning: "there is a summary, and no message was removed that it could stand for",
			verdict: sdk.Loads("the summary, and all messages behind it")})
	}
	if l.agent.pinned > 0 {
		l.flaw(l.path("agent.json"), flaw{code: FaultPinnedHead, path: managerPath + "/pinned_head_count",
			meaning: fmt.Sprintf("%s at the head stay in the context", model.Count(l.agent.pinned, "message")),
			verdict: sdk.Loads(fmt.Sprintf("SDKs that do not know the count (1.62 and before) leave out %s at the head instead", model.Count(min(max(0, l.agent.removed), n), "message")))})
	}
}

// writesNext says which file the next message goes to, and reports whether it is there.
func (l *messageLog) writesNext(id int64) (words string, there bool) {
	name := fmt.Sprintf("message_%d.json", id)
	for _, f := range l.files {
		if f.name == name {
			return "the next message would overwrite " + name, true
		}
	}
	return "the next message becomes " + name, false
}

// inspector finds out what is wrong with a log while it is walked.
type inspector struct {
	log  *messageLog
	list store.FaultList
	// before is the message before the next one that is loaded.
	before conversation.Utterance
}

func newInspector(l *messageLog) *inspector {
	in := &inspector{log: l, list: l.faults}
	if l.agent.pinned > 0 || l.agent.summary != nil { // which the SDK puts before the window
		in.before = unknown
	}
	return in
}

// faults returns the found faults.
func (in *inspector) faults() []model.Fault { return in.list.All() }

func (in *inspector) add(file string, f flaw, at stand) {
	in.list.Add(f.fault(in.log.path("messages", file), in.log.sdk(), at))
}

// see looks at one message.
func (in *inspector) see(s *step) {
	l, m := in.log, s.msg
	for _, f := range m.flaws {
		if l.evicted(s.i) {
			f.verdict, f.looks = unread, atFile
		}
		in.add(m.name, f, s.stand)
	}
	if l.evicted(s.i) {
		if m.pinned {
			in.add(m.name, flaw{code: FaultPinned, path: m.location + "/metadata/custom/pinned", meaning: "the message is pinned, and before the window",
				verdict: sdk.Loads("it is not loaded: what was removed is counted from the start of the log")}, s.stand)
		}
	} else {
		in.loaded(s)
	}
	in.redacted(s)
	in.number(s)
}

// loaded looks at a message that the SDK loads.
func (in *inspector) loaded(s *step) {
	m := s.msg
	for _, f := range m.notes {
		if f.code != FaultRedacted { // told of any message
			in.add(m.name, f, s.stand)
		}
	}
	rebuilt := false
	for _, f := range s.fixes {
		rebuilt = true
		in.add(f.file, f.flaw, s.stand)
	}
	in.checkOrder(m, rebuilt)
	if r, twice := m.duplicate(); twice && !rebuilt {
		in.add(m.name, flaw{code: FaultDuplicateResult, path: m.path(r.block) + "/toolResult", meaning: fmt.Sprintf("a second result of %.60q", r.id),
			verdict: sdk.Loses("both are kept and sent to the model, and most providers refuse them")}, s.stand)
	}
	if l := in.log; s.i == len(l.files)-1 && l.agent.interrupted && len(l.agent.held) > 0 {
		if missing, _ := mismatch(l.agent.held, resultsOf(m.calls)); len(missing) > 0 {
			f := flaw{code: FaultInterrupt, path: interruptPath, meaning: fmt.Sprintf("an interrupt waits for the tool call %.60q, which is not in the last message", missing[0].id),
				verdict: sdk.Loses("anything but an answer is a TypeError, and an answer writes a result without its call")}
			in.list.Add(f.fault(l.path("agent.json"), l.sdk(), s.stand))
		}
	}
}

// unknown is a message behind which anything may stand.
var unknown = conversation.Utterance{Pieces: true}

// checkOrder checks the place of a message behind the one before it. What the SDK rebuilds is another message.
func (in *inspector) checkOrder(m *message, rebuilt bool) {
	now := conversation.Utterance{Role: roleOf(m.role), Calls: len(m.calls) > 0, Answers: len(m.results) > 0}
	if n := len(m.results); n > 0 {
		now.Ends = m.results[n-1].block == m.others+n-1
	}
	if !m.whole || rebuilt || now.Role == conversation.UnknownRole {
		now = unknown
	}
	for _, f := range appendTrouble(nil, now.Disorder(in.before), now.Role, m.location) {
		in.add(m.name, f, stand{})
	}
	in.before = now
}

// roleOf returns the role of a message.
func roleOf(role string) conversation.Role {
	switch role {
	case "user":
		return conversation.User
	case "assistant":
		return conversation.Assistant
	}
	return conversation.UnknownRole
}

// appendTrouble adds what is told of a trouble in a message of a role, if the SDK or a provider minds it.
func appendTrouble(list []flaw, code string, of conversation.Role, path string) []flaw {
	if severity, verdict, is := conversation.Judge(kind, code, of); is {
		list = append(list, flaw{code: code, path: path, meaning: conversation.Meaning(code), verdict: sdk.Of(severity, verdict)})
	}
	return list
}

// redacted looks for remains of redacted texts.
func (in *inspector) redacted(s *step) {
	m := s.msg
	if !m.redacted {
		return
	}
	for _, f := range m.notes {
		if f.code == FaultRedacted {
			in.add(m.name, f, s.stand)
		}
	}
	of := messagePrefix + in.log.files[s.i].text() + "."
	for _, stray := range in.log.strays {
		if strings.HasPrefix(stray, of) {
			in.add(stray, flaw{code: FaultRedacted, meaning: fmt.Sprintf("%q was redacted, and this may be a copy from before", m.name), verdict: sdk.Loads("the file is not looked at")}, s.stand)
		}
	}
}

// resultsOf returns results that answer exactly the calls.
func resultsOf(calls []call) []result {
	results := make([]result, len(calls))
	for i, c := range calls {
		results[i].id = c.id
	}
	return results
}

// number compares message_id with the number in the name. It counts for the
// last message only, whose next one gets the number after it.
func (in *inspector) number(s *step) {
	l, m := in.log, s.msg
	last := s.i == len(l.files)-1 && !l.evicted(s.i) && !l.agent.missing
	n, ok := l.files[s.i].int64()
	f := flaw{code: FaultMessageID, path: "/message_id", verdict: sdk.Loads("it does not matter before the last message")}
	switch {
	case len(m.flaws) > 0 || ok && m.hasID && m.messageID == n:
		return
	case !m.hasID:
		f.meaning = "the message_id is no integer"
		if last {
			f.verdict = sdk.Loses("writing the next message fails")
		}
	default:
		f.meaning = fmt.Sprintf("the message_id is %d", m.messageID)
		if next, there := l.writesNext(m.messageID + 1); last && there {
			f.verdict = sdk.Loses(next)
		} else if last {
			f.verdict = sdk.Loads(next)
		}
	}
	in.add(m.name, f, s.stand)
}
