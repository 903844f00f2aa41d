package messages

import (
	"hindcast/store"
	"hindcast/store/sdk"
)

// The SDK for Python does not do the same in all its versions. What differs is a
// rule that holds since one of them, and nothing else in this package knows versions:
// the table below was made by starting the SDK of 25 versions on the sessions of
// testdata/strands, and by calling it at every kind of last message. Its tests hold it
// to eight of them.

var (
	// takesNoText: a call without a text stores no message. Before, agent(None) and
	// agent([]) store one of the user whose content is null or [], and from 1.15 on no
	// agent starts over the former.
	takesNoText = sdk.RuleSince(1, 6)
	// keepsInterrupts: agent.json has _internal_state, with interrupts.
	keepsInterrupts = sdk.RuleSince(1, 13)
	// runsCalls: agent(None) runs the tool calls of the last message. Before, the model
	// is sent the calls as they are.
	runsCalls = sdk.RuleSince(1, 14)
	// answersCalls: agent([]) and agent("…") write an error for each tool call of the
	// last message, and a start puts one in for each call amid the log that has no result.
	answersCalls = sdk.RuleSince(1, 15)
	// dropsLeading: a start drops a first message that has tool results.
	dropsLeading = sdk.RuleSince(1, 20)
	// keepsModelState: agent.json has model_state.
	keepsModelState = sdk.RuleSince(1, 34)
	// raisesCheckpoint: a checkpoint of another schema is a CheckpointException.
	raisesCheckpoint = sdk.RuleSince(1, 43)
	// decodesAgent: what stands for bytes in agent.json is decoded.
	decodesAgent = sdk.RuleSince(1, 47)
	// refusesLinks: a file that is a symbolic link is not read.
	refusesLinks = sdk.RuleSince(1, 48)
	// ordersResults: where results are not for exactly the calls before them, all are put
	// anew, in the order of the calls. Before, what is missing comes behind the rest, and
	// what is too much stays.
	ordersResults = sdk.RuleSince(1, 47)
	// dropsOrphans: a start drops each tool result that follows no tool call, and of a
	// first message the results alone; it looks at the role of every message.
	dropsOrphans = sdk.RuleSince(1, 55)
	// readsPending: the context of the interrupts is read at the start, and what waits in
	// pending_tool_execution.
	readsPending = sdk.RuleSince(1, 55)
)

// looks is when the SDK looks at a part of a message. What it does not look at, it
// sends to the model as it is.
type looks uint8

const (
	// atFile: whenever it reads the file.
	atFile looks = iota
	// atLink: when it opens the file.
	atLink
	// atMessage, atRole and atContent: when it looks for tool calls and results.
	atMessage
	atRole
	atContent
	// atCall and atResult: when it looks for the id of a tool call or of a result.
	atCall
	atResult
)

// stand is where a message stands in what is loaded.
type stand struct {
	first, last bool
	role        string
	// asked says that the message before it asks for tools.
	asked bool
}

// judged returns the verdict on a flaw of a message that is loaded. Since answersCalls
// a start looks for tool calls in the content of all messages but the last, and for
// results in what follows one; since dropsLeading at the role of the first, since
// dropsOrphans at that of each, and for results in those of the user.
func (f flaw) judged(at stand) sdk.Verdict {
	user := at.role == "user"
	switch {
	case f.looks == atFile:
		return f.verdict
	case f.looks == atLink:
		return f.verdict.WithRule(refusesLinks, sdk.Loads("it is followed"))
	case f.looks == atResult && !at.asked && user:
		return sdk.Repairs("the result is dropped").WithRule(dropsOrphans, sent)
	case f.looks == atResult && !at.asked, f.looks == atCall && at.last:
		return sent
	case f.looks == atRole && !at.first:
		return f.verdict.WithRule(dropsOrphans, sent)
	case f.looks == atRole:
		return f.verdict.WithRule(dropsLeading, sent)
	case !at.last || at.asked:
		return f.verdict.WithRule(answersCalls, sent)
	case f.looks == atContent && !user:
		return sent
	case at.first:
		return f.verdict.WithRule(dropsLeading, sent)
	}
	return f.verdict.WithRule(dropsOrphans, sent)
}

// opens is the SDK that opens a log.
var opens = sdk.Opens{sdk.StrandsPython: sdk.RuleSince(1, 0)}

// SDKs implements store.Versioned.
func (s *Store) SDKs() []string { return opens.Names() }

// Assume implements store.Versioned.
func (s *Store) Assume(r store.Release) error { return s.running.Assume(kind, opens, r) }

// Assumed implements store.Versioned.
func (s *Store) Assumed() store.Releases { return s.running.ListAssumed() }
