package messages

import (
	"context"
	"fmt"
	"strings"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/store/engine"
	"hindcast/store/media/tree"
	"hindcast/store/sdk"
)

// How the SDK goes on from a log depends on its last message (seen with 1.62.0):
//
//	the agent's answer     agent("…") is what comes next; agent(None) asks the model
//	                       to go on with its own answer, a prefill
//	the agent's tool calls agent(None) runs the tools, then asks the model;
//	                       agent("…") writes an error for each call, then the text
//	tool results           agent(None) has the model answer them
//	a user's text          agent(None) has the model answer it once more
//
// agent([]) does what agent(None) does, but for tool calls: it writes an error for
// each of them, and the model answers that. While an interrupt waits, nothing but an
// answer to it is taken.
//
// What a version before the rules does is not known, see versions.go: agent("…") alone is
// offered then, which every version takes.

// twoInARow warns of a sequence that the SDK itself writes, but that some providers refuse.
const twoInARow = "two messages of the user follow each other, which not every provider takes"

// resume says how the SDK goes on.
func (e *ending) resume(next *engine.Next) {
	l, m := e.reading, &e.last
	next.Loads = e.loads()
	add := func(call, then string) { next.Calls = append(next.Calls, model.Resume{Call: call, Then: then}) }
	text := func(then string) { add(`agent("…")`, then) }
	again := func(then string) { add("agent(None)", then+"; so does agent([])") }
	tools := conversation.List(m.calls, func(c call) string { return nameOf(c.name, c.id) })
	switch {
	case !l.sdk().NewestFollows(known):
		text("the SDK is " + older)
	case l.agent.interrupted:
		for _, id := range l.agent.interrupts {
			add(`agent([{"interruptResponse": {"interruptId": `+pyText(id)+`, "response": "…"}}])`, "answers the interrupt, and the tool calls that waited go on; anything else is a TypeError")
		}
	case m.role == "assistant" && len(m.calls) > 0:
		const writes = "runs nothing: writes the error \"" + wasInterrupted + "\" for each of the calls, "
		add("agent(None)", "runs "+tools+" without asking the model first; then the model answers the results")
		add("agent([])", writes+"and the model answers that")
		text(writes + "then your text; " + twoInARow)
		next.Asks = append(next.Asks, "the tool calls at the end run again: "+tools+"; what they do outside of the session is done twice")
	case m.role == "assistant":
		text("the model answers your text")
		again("asks the model to go on with the answer that is there (a prefill), which many providers refuse")
		if e.midway {
			next.Asks = append(next.Asks, "the answer is in the middle of a turn, and the model said more: to go on there without a text of the user is a prefill, which many providers refuse")
		}
	case len(m.results) > 0:
		again("the model answers the tool results")
		text("the model answers the tool results and your text; " + twoInARow)
	case m.role == "user":
		again("the model answers the last message once more")
		text("the model answers it and your text; " + twoInARow)
	default:
		text(fmt.Sprintf("the model answers your text, behind a message of the role %q", m.role))
	}
}

// manager returns the call that makes the manager of a session, which lies on a disk where on is
// nil.
func manager(on tree.Source, session string) string {
	if on == nil {
		return "FileSessionManager(" + pyText(session) + ")"
	}
	bucket, prefix, endpoint := on.Server()
	text := "S3SessionManager(" + pyText(session) + ", bucket=" + pyText(bucket)
	if prefix != "" {
		text += ", prefix=" + pyText(prefix)
	}
	if endpoint != "" {
		text += ", endpoint_url=" + pyText(endpoint)
	}
	return text + ")"
}

// loads says in a sentence what the SDK loads.
func (e *ending) loads() string {
	l := e.reading
	n := len(l.files)
	session, _, _ := strings.Cut(l.id, "/")
	first := l.start
	text := fmt.Sprintf("Agent(agent_id=%s, session_manager=%s) loads ", pyText(strings.TrimPrefix(l.place.agent, agentPrefix)), manager(l.on, session))
	switch {
	case l.agent.pinned > 0:
		text += fmt.Sprintf("%s at the head and #%d to #%d", model.Count(l.agent.pinned, "message"), first, n-1)
	case n-first == 1:
		text += fmt.Sprintf("#%d", n-1)
	default:
		text += fmt.Sprintf("#%d to #%d, %d messages", first, n-1, n-first)
	}
	if l.agent.summary != nil {
		text += " behind the summary"
	}
	return text + fmt.Sprintf("%s; the next message becomes %s", e.holds, e.next())
}

// startHolds says how many messages a start holds once it has dropped some or put some in,
// and how many in the versions in question that do that otherwise.
func (l *messageLog) startHolds(ctx context.Context) (string, error) {
	versions := l.sdk()
	type start struct {
		before string
		*walker
	}
	starts := []start{{"", l.walker()}}
	for _, r := range []sdk.Rule{dropsOrphans, ordersResults} {
		if versions.Differ(r) {
			older := l.walker()
			older.live.sdk = sdk.LastBefore(r)
			starts = append(starts, start{r.Before(), older})
		}
	}
	err := l.read(ctx, l.files, l.known, func(i int, m *message) error {
		for _, s := range starts {
			s.load(i, m)
		}
		return nil
	})
	held := starts[0].live.n
	text := fmt.Sprintf("; a start makes %s of them", model.Count(held, "message"))
	for _, s := range starts[1:] {
		if s.live.n != held {
			held = s.live.n
			text += fmt.Sprintf(" (%s: %d)", s.before, held)
		}
	}
	return text, err
}
