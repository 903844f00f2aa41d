package genkit

import (
	"sync"

	"hindcast/model"
	"hindcast/store/sdk"
)

// The SDKs do not do the same in all their versions. What differs is a rule that holds
// since one of them, and nothing else in this package knows versions. The rules stand in
// the sources of Go 1.10 to 1.13 and of Python 0.9 to 0.12; of JavaScript none is known.

// Of Go.
var (
	// waitsAborting: there is the status "aborting", and a call waits until that is over.
	// Before, it is not known.
	waitsAborting = sdk.RuleSince(1, 13)
	// resumesFailed: a row that failed or was aborted with a state is resumed.
	resumesFailed = sdk.RuleSince(1, 13)
	// namesParent: where a row is refused, the error says which one to resume instead.
	namesParent = sdk.RuleSince(1, 13)
)

// knowsAborting, of Python: the model takes the status "aborting".
var knowsAborting = sdk.RuleSince(0, 11)

// sdkNames are the names of the SDKs.
var sdkNames = [...]string{layoutGo: sdk.GenkitGo, layoutJS: sdk.GenkitJavaScript, layoutPython: sdk.GenkitPython}

// opens says since when the SDKs have agents that keep snapshots.
var opens = sdk.Opens{sdk.GenkitGo: sdk.RuleSince(1, 10), sdk.GenkitJavaScript: sdk.RuleSince(1, 39), sdk.GenkitPython: sdk.RuleSince(0, 9)}

// sdkVersions returns the possible SDK versions for the sessions of a layout.
func (g *grouping) sdkVersions(l layout) sdk.Span { return opens.Span(sdkNames[l], g.running) }

// earlier has the verdicts of the versions before a rule, of the faults that depend on one.
var earlier = sync.OnceValue(func() map[string]map[layout]before {
	return map[string]map[layout]before{
		FaultExpired:      {layoutGo: {namesParent, sdk.Says(model.Stops, "resuming it is refused with FAILED_PRECONDITION")}},
		FaultAbortedEmpty: {layoutGo: {namesParent, sdk.Says(model.Stops, "refused with FAILED_PRECONDITION")}},
		FaultFailedLeaf:   {layoutGo: {resumesFailed, sdk.Says(model.Stops, "refused with FAILED_PRECONDITION")}},
		FaultAborting: {
			layoutGo:     {waitsAborting, sdk.Says(model.Loses, "does not know the status, and resumes it as an empty session")},
			layoutPython: {knowsAborting, sdk.Says(model.Loses, "the model forbids it: "+pyUnread)},
		},
	}
})

// before is the verdict on versions before a rule.
type before struct {
	rule    sdk.Rule
	verdict sdk.Verdict
}
