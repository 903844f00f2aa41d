package snapshots

import (
	"hindcast/model"
	"hindcast/store/sdk"
)

// Codes of the faults; package runs has the codes for an orchestrator's record. Each
// verdict describes the SDK that wrote the file, as Python 1.62.0 and TypeScript 1.19.0
// were seen to behave.
const (
	// FaultFile: a file cannot be read, or is not one JSON value.
	FaultFile = "snapshot-file"
	// FaultSymlink: a symbolic link, which the SDKs follow and Hindcast does not.
	FaultSymlink = "symlink"
	// FaultEncoding: a byte order mark, or bytes that are not UTF-8.
	FaultEncoding = "encoding"
	// FaultDepth: nested deeper than the SDK can read.
	FaultDepth = "deep-nesting"
	// FaultNumber: NaN or Infinity, which is no JSON.
	FaultNumber = "not-a-number"
	// FaultSchema: the schema version is missing, or another one.
	FaultSchema = "schema-version"
	// FaultScope: the scope is missing, or not that of the folder.
	FaultScope = "scope"
	// FaultCreated: the time is missing.
	FaultCreated = "no-creation-time"
	// FaultData: the data, or a member of them, are missing or of another type.
	FaultData = "snapshot-data"
	// FaultDialects: the two SDKs wrote to one place.
	FaultDialects = "mixed-dialects"
	// FaultOrchestrator: the record is that of another orchestrator.
	FaultOrchestrator = "other-orchestrator"

	// FaultMessage: something in a message that an SDK cannot load.
	FaultMessage = "message-shape"
	// FaultRole and FaultBlock: something that no SDK is known to write.
	FaultRole  = "unknown-role"
	FaultBlock = "unknown-block"
	// FaultUnanswered: the last message calls tools that have no result, and the SDK for
	// TypeScript sends it as it is. That for Python runs the tools.
	FaultUnanswered = "unanswered-tool-call"

	// FaultInterrupt: an interrupt waits for an answer.
	FaultInterrupt = "pending-interrupt"
	// FaultInterruptState: an interrupt state that the SDK cannot load.
	FaultInterruptState = "interrupt-state"
	// FaultManager: a state that no conversation manager takes.
	FaultManager = "conversation-manager"
	// FaultRemovedCount: the count of removed messages is no count.
	FaultRemovedCount = "removed-count"
	// FaultStatefulModel: the provider keeps the conversation.
	FaultStatefulModel = "stateful-model"
	// FaultPrompt: the snapshots do not have one system prompt.
	FaultPrompt = "system-prompt"

	// FaultNoLatest: there are snapshots, and none to start from.
	FaultNoLatest = "no-latest"
	// FaultLatestBehind: the one to start from is older than the newest other.
	FaultLatestBehind = "latest-behind"
	// FaultName: a snapshot whose name is no UUID of version 7.
	FaultName = "snapshot-name"
	// FaultOrder: the names and the times in the files do not agree.
	FaultOrder = "snapshot-order"
	// FaultManifest: a manifest.json, which no SDK writes.
	FaultManifest = "manifest"
	// FaultLeftover: a temporary file of a writer that was stopped.
	FaultLeftover = "leftover-file"
	// FaultStray: a file or folder that is no snapshot.
	FaultStray = "stray-file"
	// FaultIdentifier: the SDK refuses the name of a session, an agent or a
	// snapshot.
	FaultIdentifier = "identifier"
	// FaultDirectory: a folder cannot be read.
	FaultDirectory = "unreadable-directory"
	// FaultSession: a folder that looks like a session and is not listed.
	FaultSession = "no-snapshots"
)

// unstoredVerdict returns the verdict on a snapshot from which the SDK does not start only
// because it starts from another: the exception of restoring it.
func unstoredVerdict(exception string) sdk.Verdict {
	return sdk.Says(model.Loses, "starts; refuses to restore it: "+exception)
}

// verdict holds the reaction of each SDK to a fault.
type verdict struct {
	python, typeScript sdk.Verdict
}

// sameVerdict is a verdict in which the SDKs agree.
func sameVerdict(v sdk.Verdict) verdict { return verdict{v, v} }

var (
	// asIs: nothing comes of it.
	asIs = sdk.Loads("it is not looked at")
	// sent: the SDK does not notice, but the model's provider may.
	sent = sdk.Loads("it is kept, and sent to the model as it is")
)
