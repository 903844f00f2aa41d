package runs

import (
	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/sdk"
)

// Codes of the faults.
const (
	// FaultShape: a record, or a member of it, is not of the type it has to be.
	FaultShape = "run-shape"
	// FaultMember: a member is missing that the SDK takes for granted.
	FaultMember = "run-member"
	// FaultStatus: a status that the SDK does not know.
	FaultStatus = "run-status"
	// FaultAnew: the run did not end well, or was stopped, and the next start does not go on
	// with it.
	FaultAnew = "run-begins-anew"
	// FaultFailedLeft: a node that failed decides over the end of a run that
	// can be gone on with.
	FaultFailedLeft = "run-stays-failed"
	// FaultFrontier: what runs next is no node.
	FaultFrontier = "run-frontier"
	// FaultInterrupt: an interrupt that the SDK cannot make, or whose answer
	// leads nowhere.
	FaultInterrupt = "run-interrupt"
	// FaultCheckpoint: the SDK rejects a checkpoint in a result.
	FaultCheckpoint = "run-checkpoint"
)

// mostPlaced is how many faults of one code say where they are. No more of them
// are listed, see store.FaultList, and the way to a value may be as long as the
// record.
const mostPlaced = 20

// addFault notes a fault at a node of the tape.
func (r *Run) addFault(code string, n jsontape.Node, meaning string, v sdk.Verdict) {
	path := r.place.Pointer
	if r.placed[code]++; n >= 0 && r.placed[code] <= mostPlaced {
		path += r.tape.Pointer(n)
	}
	r.faults = append(r.faults, sdk.From(sdk.First).WithVerdict(model.Fault{Code: code, File: r.place.File, Path: path, Meaning: meaning}, v))
}
