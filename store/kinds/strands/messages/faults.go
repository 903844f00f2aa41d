package messages

import (
	"hindcast/model"
	"hindcast/store/sdk"
)

// Codes of the faults. Those marked * keep the SDK from starting on the
// session, if what is wrong is in a part that it loads.
const (
	// FaultSessionFile *: session.json is missing or cannot be read.
	FaultSessionFile = "session-file"
	// FaultAgentMissing: there is no agent.json, so that the SDK starts a new
	// agent over the messages of the old one.
	FaultAgentMissing = "agent-missing"
	// FaultAgentFile *: agent.json cannot be read or lacks something.
	FaultAgentFile = "agent-file"
	// FaultRemovedCount: removed_message_count (or pinned_head_count) leaves
	// no message, or * is no number.
	FaultRemovedCount = "removed-count"
	// FaultManager *: the conversation manager is of a class that is not the
	// SDK's.
	FaultManager = "conversation-manager"
	// FaultBidi: the session is one of a BidiAgent, over which no Agent starts.
	FaultBidi = "bidi-agent"
	// FaultSummary *: the summary is no message, or stands for messages that
	// are loaded, too.
	FaultSummary = "summary"
	// FaultPinnedHead: messages at the head are kept by a count that older SDKs
	// do not know.
	FaultPinnedHead = "pinned-head"
	// FaultState: the agent's state is no object.
	FaultState = "agent-state"
	// FaultCheckpoint: the SDK rejects a checkpoint in the agent's state.
	FaultCheckpoint = "checkpoint"
	// FaultStatefulModel: the provider keeps the conversation.
	FaultStatefulModel = "stateful-model"
	// FaultInterrupt: an interrupt waits for a tool call that is not in the
	// last message, or an answer for an interrupt that is not there.
	FaultInterrupt = "interrupt-elsewhere"
	// FaultRunFile *: the multi_agent.json of an orchestrator is missing or
	// cannot be read. What is wrong in it is told by the codes of package runs.
	FaultRunFile = "run-file"
	// FaultDirectory *: a folder cannot be read.
	FaultDirectory = "unreadable-directory"
	// FaultName *: a message file whose name has no number.
	FaultName = "stray-message-name"
	// FaultDuplicateNumber: two message files have one number.
	FaultDuplicateNumber = "duplicate-message-number"
	// FaultGap: numbers are missing.
	FaultGap = "message-gap"
	// FaultMessageID: message_id is not the number in the file's name.
	FaultMessageID = "message-id"
	// FaultMessageFile *: a message file cannot be read.
	FaultMessageFile = "message-file"
	// FaultMessageShape *: a message file holds something else than a message.
	FaultMessageShape = "message-shape"
	// FaultEncoding *: a byte order mark, or bytes that are not UTF-8.
	FaultEncoding = "encoding"
	// FaultInteger *: an integer of more digits than Python reads.
	FaultInteger = "long-integer"
	// FaultBytes *: what stands for bytes is no base64.
	FaultBytes = "encoded-bytes"
	// FaultDuplicateKey, FaultNumber and FaultSurrogate: what Python reads
	// without a word and others may not: a key that an object has twice, NaN and
	// the infinities, half of a surrogate pair.
	FaultDuplicateKey = "duplicate-key"
	FaultNumber       = "named-number"
	FaultSurrogate    = "lone-surrogate"
	// FaultDepth *: nested deeper than Python's recursion goes.
	FaultDepth = "deep-nesting"
	// FaultSymlink *: a symbolic link where the SDK refuses one.
	FaultSymlink = "symlink"
	// FaultLeftover: a temporary file of a writer that was killed.
	FaultLeftover = "leftover-file"
	// FaultStray: a file that is no message.
	FaultStray = "stray-file"
	// FaultRole and FaultBlock: something that no SDK is known to write.
	FaultRole  = "unknown-role"
	FaultBlock = "unknown-block"
	// FaultRedacted: what was redacted is still there to be read.
	FaultRedacted = "redacted-original"
	// FaultOverwritten: an agent wrote over a message that Hindcast had put back.
	FaultOverwritten = "written-over"
	// FaultJournal: Hindcast's own journal beside the sessions cannot be used.
	FaultJournal = "journal"
	// FaultPinned: a pinned message is among those that were removed.
	FaultPinned = "pinned-evicted"

	// FaultMissingResult: a tool call has no result, and other messages follow.
	FaultMissingResult = "missing-tool-result"
	// FaultPartialResult: some tool calls of a message have a result.
	FaultPartialResult = "partial-tool-result"
	// FaultStaleResult: a result of a call that the message before has not.
	FaultStaleResult = "stale-tool-result"
	// FaultDuplicateResult: two results of one call.
	FaultDuplicateResult = "duplicate-tool-result"
	// FaultLeadingResult: what is loaded begins with a tool result.
	FaultLeadingResult = "leading-tool-result"
	// FaultOrphanResult: a tool result follows no tool call.
	FaultOrphanResult = "orphan-tool-result"
)

var (
	// unread is the verdict on what stands in a file that is not read.
	unread = sdk.Loads("the file is before the window and is not read")
	// sent is that on what no SDK stumbles over, and what is then sent to a model.
	sent = sdk.Loses("it is kept, and sent to the model as it is, and most providers refuse it")
)

// pairing are the faults of tool calls and results that do not belong together.
var pairing = map[string]bool{FaultMissingResult: true, FaultPartialResult: true, FaultStaleResult: true,
	FaultDuplicateResult: true, FaultLeadingResult: true, FaultOrphanResult: true}

// flaw is something wrong with one file.
type flaw struct {
	code, path, meaning string
	verdict             sdk.Verdict
	// looks is when the SDK stumbles over it, where it is in a message file.
	looks looks
}

// fault returns the fault for a flaw in a file. For a message, at says where it stands
// among the loaded messages.
func (f flaw) fault(file string, versions sdk.Span, at stand) model.Fault {
	v := f.judged(at)
	if !versions.NewestFollows(known) {
		v = sdk.Says(v.Severity(), older)
	}
	return versions.WithVerdict(model.Fault{Code: f.code, File: file, Path: f.path, Meaning: f.meaning}, v)
}
