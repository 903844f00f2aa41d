package messages

import (
	"hindcast/store"
	"hindcast/store/sdk"
)

// The SDK for Python does not do the same in all its versions. What differs is a
// rule that holds since one of them, and nothing else in this package knows versions:
// the table below was made by starting the SDK on the sessions of testdata/strands, and
// by calling it at every kind of last message. Its tests hold it to three versions.

// older tells of a version before the rules.
const older = "older than 1.34: its rules are not known"

var (
	// known is the first version whose rules are known.
	known = sdk.RuleSince(1, 34)
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

// stand is the position of a message among the loaded messages.
type stand struct {
	first, last bool
	role        string
	// asked says that the message before it asks for tools.
	asked bool
}

// judged returns the verdict on a flaw of a message that is loaded. A start looks for
// tool calls in the content of all messages but the last, for results in what follows
// one, and at the role of the first; since dropsOrphans it looks at the role of each
// message, and for results in those of the user.
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
	case f.looks == atRole, !at.last || at.asked:
		return f.verdict
	case f.looks == atContent && !user:
		return sent
	case at.first:
		return f.verdict
	}
	return f.verdict.WithRule(dropsOrphans, sent)
}

// opens is the SDK that opens a log.
var opens = sdk.Opens{sdk.StrandsPython: sdk.RuleSince(1, 0)}

// Assume is that of store.Features.
func (s *Store) Assume(r store.Release) error { return s.running.Assume(kind, opens, r) }

// Assumed is that of store.Features.
func (s *Store) Assumed() store.Releases {
	list := s.running.ListAssumed()
	for i := range list {
		if !versions(s.running.Of(list[i].SDK)).NewestFollows(known) {
			list[i].Version += ", " + older
		}
	}
	return list
}

// versions returns the SDK versions that may run: the running version if it is known,
// else all known versions.
func versions(running *sdk.Version) sdk.Span {
	if running != nil {
		return sdk.Only(*running)
	}
	return sdk.From(known.FirstVersion())
}
