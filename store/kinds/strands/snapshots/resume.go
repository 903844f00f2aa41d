package snapshots

import (
	"fmt"
	"strings"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/sdk"
)

// stance is where a conversation stands, which decides what an SDK does when it
// goes on from there.
type stance uint8

const (
	// atStart: there are no messages.
	atStart stance = iota
	// atQuestion: the user said something and has no answer.
	atQuestion
	// atTurnEnd: the model answered and asks for no tool.
	atTurnEnd
	// atCalls: the model asks for tools that have not run.
	atCalls
	// atResults: the tools have answered, and the model has not seen it.
	atResults
	// atPending: as atCalls, and the message that asks is held back with the state
	// of the interrupts, where the SDK looks for tools that are still to run.
	atPending
	// atInterrupt: as atPending, and a person has to answer first.
	atInterrupt
)

// standing describes in a plan how a session goes on from a snapshot. It is read from the
// data of a snapshot that the SDK loads.
type standing struct {
	stance
	dialect  dialect
	messages int
	// tools are the names of the tools that are to run, waiting the ids of the
	// interrupts without an answer.
	tools, waiting []string
	// sdk are the versions in question.
	sdk sdk.Span
	// newer says that what waits is stored where newer SDKs for Python look for it alone;
	// lost that something waits, and is not loaded; hidden that the session is not found.
	newer, lost, hidden bool
}

// readStanding reads where a snapshot of a place stands for some versions of the SDK.
func (p *place) readStanding(d *document, in sdk.Span) standing {
	if d.Dialect == typeScript && p.unified && !in.NewestFollows(storesUnified) {
		return standing{dialect: d.Dialect, sdk: in, hidden: true}
	}
	return d.readStanding(in)
}

// readStanding reads where a snapshot stands for some versions of the SDK.
func (d *document) readStanding(in sdk.Span) standing {
	t := d.Tape
	s := standing{dialect: d.Dialect, sdk: in}
	last, n := d.lastMessage()
	s.messages = n
	s.byTail(t, last)
	state := d.interruptState()
	pending := d.pendingMessage()
	activated := t.Kind(t.Find(state, "activated")) == jsontape.True
	if d.Dialect == typeScript && !in.NewestFollows(keepsInterrupts) {
		s.lost = activated || pending >= 0
		return s
	}
	s.newer = d.Dialect == python && t.Find(state, "pending_tool_execution") >= 0
	if pending >= 0 && (activated || d.Dialect == typeScript) {
		s.stance, s.tools = atPending, toolsOf(t, pending)
	}
	if activated {
		s.waiting = waitingOf(t, t.Find(state, "interrupts"))
		if s.stance = atPending; len(s.waiting) > 0 || d.Dialect == typeScript {
			s.stance = atInterrupt
		}
	}
	return s
}

// byTail reads the last message.
func (s *standing) byTail(t *jsontape.Tape, last jsontape.Node) {
	if last < 0 {
		return
	}
	var shape shape
	if content := t.Find(last, "content"); content >= 0 {
		shape = shapeOf(t.Raw(content))
	}
	switch role := textAt(t, last, "role"); {
	case role == "assistant" && shape&asks != 0:
		s.stance, s.tools = atCalls, toolsOf(t, last)
	case role == "assistant":
		s.stance = atTurnEnd
	case shape&answers != 0:
		s.stance = atResults
	default:
		s.stance = atQuestion
	}
}

// interruptState returns the node of the interrupt state, or -1.
func (d *document) interruptState() jsontape.Node {
	if d.Dialect == typeScript {
		return d.Tape.Find(d.data, "interrupts")
	}
	return d.Tape.Find(d.data, "interrupt_state")
}

// pendingMessage returns the message in the interrupt state whose tools are still to run, or -1.
// Older SDKs for Python store it in the context.
func (d *document) pendingMessage() jsontape.Node {
	t, state := d.Tape, d.interruptState()
	if d.Dialect == typeScript {
		return t.Find(t.Find(state, "pendingToolExecution"), "assistantMessageData")
	}
	if n := t.Find(t.Find(state, "pending_tool_execution"), "assistant_message"); n >= 0 {
		return n
	}
	return t.Find(t.Find(state, "context"), "tool_use_message")
}

// eachCall goes through the tool calls of a message.
func eachCall(t *jsontape.Tape, message jsontape.Node, visit func(use jsontape.Node)) {
	content := t.Find(message, "content")
	if t.Kind(content) != jsontape.Array {
		return
	}
	for b := t.First(content); b >= 0; b = t.Next(b) {
		if use := t.Find(b, "toolUse"); use >= 0 {
			visit(use)
		}
	}
}

func toolsOf(t *jsontape.Tape, message jsontape.Node) (names []string) {
	eachCall(t, message, func(use jsontape.Node) {
		names = append(names, textAt(t, use, "name"))
	})
	return names
}

// textAt returns a member of an object that is a string, "" for anything else.
func textAt(t *jsontape.Tape, object jsontape.Node, key string) string {
	n := t.Find(object, key)
	if n < 0 {
		return ""
	}
	return string(t.AppendText(nil, n, maxText))
}

func waitingOf(t *jsontape.Tape, interrupts jsontape.Node) (ids []string) {
	if t.Kind(interrupts) != jsontape.Object {
		return nil
	}
	for n := t.First(interrupts); n >= 0; n = t.Next(n) {
		if r := t.Find(n, "response"); r < 0 || t.Kind(r) == jsontape.Null {
			ids = append(ids, t.Key(n))
		}
	}
	return ids
}

// resumeCalls returns the calls that go on from there, the best first, as they were seen
// to work; see versions.go.
func (s *standing) resumeCalls() []model.Resume {
	text, none := `agent("…")`, `agent(None)`
	if s.dialect == typeScript {
		text, none = `invoke("…")`, `invoke(undefined)`
	}
	const twice = "two messages of the user in a row are sent, which some providers refuse"
	tools := joinNames(s.tools)
	switch s.stance {
	case atStart:
		return []model.Resume{{Call: text, Then: "the conversation begins with your text"}}
	case atQuestion:
		return []model.Resume{{Call: none, Then: "the model answers the last message again"}, {Call: text, Then: twice}}
	case atResults:
		return []model.Resume{{Call: none, Then: "the model answers the tool results"}, {Call: text, Then: twice}}
	case atCalls:
		if s.dialect == typeScript { // of versions before there were interrupts: see resumable
			const bare = "the model is sent the tool calls without results, which most providers refuse"
			return []model.Resume{{Call: text, Then: bare + ", then your text"}, {Call: none, Then: bare}}
		}
		return []model.Resume{
			{Call: none, Then: "the tools run, without the model: " + tools + "; then the model answers"},
			{Call: text, Then: `each tool call gets the error "Tool was interrupted.", then your text is sent`},
		}
	case atPending:
		const then = "the tools run, without the model, as far as they have no result yet: "
		if s.dialect == python {
			return []model.Resume{{Call: "agent([])", Then: s.pendingThen(then + tools + "; then the model answers")}}
		}
		return []model.Resume{
			{Call: none, Then: then + tools + "; then the model answers"},
			{Call: text, Then: "the tools run all the same, behind your text: " + twice},
		}
	case atInterrupt:
		return s.answerCall()
	}
	return []model.Resume{
		{Call: text, Then: "the next turn begins with your text"},
		{Call: none, Then: "the model is sent an answer of its own to go on with (prefill), which many providers refuse"},
	}
}

// answerCall returns the call that answers the interrupts.
func (s *standing) answerCall() []model.Resume {
	var parts []string
	for _, id := range s.waiting {
		part := fmt.Sprintf(`{"interruptResponse": {"interruptId": %s, "response": …}}`, jsontape.AppendQuoted(nil, id))
		if s.dialect == typeScript {
			part = fmt.Sprintf(`{ interruptResponse: { interruptId: %s, response: … } }`, jsontape.AppendQuoted(nil, id))
		}
		parts = append(parts, part)
	}
	call := "agent([" + strings.Join(parts, ", ") + "])"
	if s.dialect == typeScript {
		call = "invoke([" + strings.Join(parts, ", ") + "])"
	}
	then := "your answer is passed to the interrupted tool call, then the pending tools run"
	if len(s.tools) > 0 {
		then += ": " + joinNames(s.tools)
	}
	return []model.Resume{{Call: call, Then: s.pendingThen(then) + "; any other input is a TypeError"}}
}

// pendingThen describes the effect on the waiting tools: done, unless they are stored
// where older SDKs for Python do not look.
func (s *standing) pendingThen(done string) string {
	if !s.newer {
		return done
	}
	return s.sdk.Words(readsPending, done,
		s.sdk.Words(runsUnread, "the tools of the last message run, also those that have a result: "+joinNames(s.tools), "KeyError: 'tool_use_message'"))
}

// reasonsToAsk returns the reasons to ask once more before a session is put there.
func (s *standing) reasonsToAsk() []string {
	switch {
	case s.hidden:
		return []string{"Strands for TypeScript " + storesUnified.Before() + " has no unified storage, in which the session lies, and does not find it"}
	case s.lost:
		return []string{"Strands for TypeScript " + keepsInterrupts.Before() + " has no interrupts: the tool calls that wait in the snapshot are not loaded, and gone with the next save"}
	case s.stance == atCalls && s.dialect == typeScript:
		ask := "the last message asks for tools and there are no results: Strands for TypeScript sends it as it is, which most providers refuse"
		if s.sdk.Differ(keepsInterrupts) {
			ask += "; from " + keepsInterrupts.FirstVersion().String() + " on they can be made to run: say the version, as --sdk " + sdkNames[typeScript] + "@" + keepsInterrupts.FirstVersion().String()
		}
		return []string{ask}
	case s.stance == atCalls, s.stance == atPending:
		return []string{fmt.Sprintf("to go on from there runs %s, maybe for the second time: what they did outside of the session is not taken back", joinNames(s.tools))}
	}
	return nil
}

// loadsSentence says in a sentence what the SDK loads.
func (s *standing) loadsSentence(p *place, session string) string {
	manager := fmt.Sprintf("SnapshotSessionManager(%q)", session)
	if s.dialect == typeScript {
		manager = fmt.Sprintf("new SessionManager({ sessionId: %q })", session)
	}
	if s.hidden {
		return fmt.Sprintf("%s with agent %q finds nothing, and begins anew", manager, p.agent)
	}
	what := fmt.Sprintf("%d messages", s.messages)
	if s.messages == 1 {
		what = "1 message"
	}
	where := map[stance]string{
		atStart:     "and begins anew",
		atQuestion:  "and stands at a message without an answer",
		atTurnEnd:   "and stands at the end of a turn",
		atCalls:     "and stands where the model asks for tools that have not run",
		atResults:   "and stands at tool results that the model has not seen",
		atPending:   "and stands where tools are still to run",
		atInterrupt: "and stands where an interrupt waits for an answer",
	}[s.stance]
	return fmt.Sprintf("%s with agent %q loads %s of %s, %s", manager, p.agent, latestFile, what, where)
}

// joinNames returns names in a sentence.
func joinNames(names []string) string {
	const most = 5
	quoted := make([]string, 0, most+1)
	for i, name := range names {
		if i == most {
			quoted = append(quoted, fmt.Sprintf("%d more", len(names)-most))
			break
		}
		quoted = append(quoted, fmt.Sprintf("%.60q", name))
	}
	return strings.Join(quoted, ", ")
}
