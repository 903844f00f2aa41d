package snapshots

import (
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/sdk"
)

// The SDKs differ between their versions. Each difference is a rule that holds since a
// version, and nothing else in this package knows versions. The tables were made by
// starting all versions there are: seven of the SDK for Python from 1.51 on, and eighteen
// of the SDK for TypeScript from 1.0 on. They ran on the sessions of snapshot-hazards.txtar
// and at every place where a snapshot can stand. They also ran on the records of
// multiagent-hazards.json and on the records that Hindcast puts back. All versions go on
// alike with the latter. The tests check some of these versions.

// Of the SDK for Python.
var (
	// savesSnapshots: there is a SnapshotSessionManager.
	savesSnapshots = sdk.RuleSince(1, 51)
	// runsUnread: where an interrupt is activated without a message that called the tools,
	// those of the last message run. Before, that is a KeyError.
	runsUnread = sdk.RuleSince(1, 52)
	// readsPending: what waits in pending_tool_execution is written and read.
	readsPending = sdk.RuleSince(1, 55)
	// readsStash: the data are searched for a stash. Before, data that are a list are
	// loaded, as nothing.
	readsStash = sdk.RuleSince(1, 56)
	// listsIDs: a snapshot whose name is no id is not listed.
	listsIDs = sdk.RuleSince(1, 56)
)

// Of the SDK for TypeScript.
var (
	// keepsInterrupts: the data have interrupts, and tools that are still to run. Before,
	// they are neither saved nor loaded.
	keepsInterrupts = sdk.RuleSince(1, 1)
	// answersNodes: an orchestrator takes an answer to the interrupt of a node. Before, the
	// answer is an Error or starts a Swarm anew.
	answersNodes = sdk.RuleSince(1, 3)
	// tracksMessages: each message has a trackingId.
	tracksMessages = sdk.RuleSince(1, 9)
	// storesUnified: there is unified storage, below a folder "session".
	storesUnified = sdk.RuleSince(1, 10)
	// takesAudio: a message may have a block of audio.
	takesAudio = sdk.RuleSince(1, 14)
)

// sdkNames are the names of the SDKs.
var sdkNames = map[dialect]string{python: sdk.StrandsPython, typeScript: sdk.StrandsTypeScript}

// opens are the SDKs that open snapshots.
var opens = sdk.Opens{sdk.StrandsPython: savesSnapshots, sdk.StrandsTypeScript: sdk.RuleSince(1, 0)}

// Assume takes a version of an SDK to run, see [store.Features]; it holds for the sessions that the SDK wrote.
func (s *Store) Assume(r store.Release) error { return s.running.Assume(kind, opens, r) }

// signs are members of a file that no version before a rule writes.
var signs = []struct {
	of   dialect
	rule sdk.Rule
	path []string
}{
	{python, savesSnapshots, nil},
	{python, readsPending, []string{"data", "interrupt_state", "pending_tool_execution"}},
	{typeScript, keepsInterrupts, []string{"data", "interrupts"}},
	{typeScript, tracksMessages, []string{"data", "messages", "0", "trackingId"}},
}

// sdkVersions returns the SDK versions that may read a snapshot of a place: the running
// version if it is known, or all since the first that writes such a file; nil is any file.
func (p *place) sdkVersions(running *sdk.Running, d dialect, t *jsontape.Tape) sdk.Span {
	if v := running.Of(sdkNames[d]); v != nil {
		return sdk.Only(*v)
	}
	from := sdk.First
	if d == typeScript && p.unified {
		from = storesUnified.FirstVersion()
	}
	for _, sign := range signs {
		there := len(sign.path) == 0 || t != nil && t.Lookup(sign.path...) >= 0
		if since := sign.rule.FirstVersion(); sign.of == d && there && from.Compare(since) < 0 {
			from = since
		}
	}
	return sdk.From(from)
}
