package runs

import (
	"time"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/sdk"
)

// DerivedIDs describes the ids of the snapshots, for [store.Features].
const DerivedIDs = "the SHA-256 of the orchestrator, the number of the execution, its node and its result"

// Place holds a store's knowledge about a record that the record itself lacks.
type Place struct {
	// Session is the id of the session, for the headers.
	Session string
	// Orchestrator is the orchestrator's id where it stands outside the record:
	// the folder's name, or data.orchestratorId. "" where it is not known.
	Orchestrator string
	// File is the file's name in faults: relative to the store.
	File string
	// Pointer is put before the JSON Pointers of the faults, which lead from the
	// root of the tape: "" unless the tape is of a part of the file.
	Pointer string
	// Updated is when the record was written, zero where that is not known. Only
	// the newest snapshot can have this time.
	Updated time.Time
	// Unanswered says that the SDK takes no answers to a node's questions.
	Unanswered bool
}

// Kind is the sort of an orchestrator.
type Kind uint8

// The kinds. TypeScript does not store which it is; there it is worked out from
// the results, and AnyKind while they do not tell.
const (
	AnyKind Kind = iota
	Graph
	Swarm
)

// String returns the kind in a word.
func (k Kind) String() string {
	switch k {
	case Graph:
		return "graph"
	case Swarm:
		return "swarm"
	}
	return "orchestrator"
}

// Summary describes the run as a whole. Its texts are untrusted.
type Summary struct {
	Kind Kind
	// ID is the orchestrator's id.
	ID string
	// Status is how the run stands, in lower case: "completed". TypeScript does
	// not store it; it is worked out from the results as that SDK does it.
	Status string
	// Task is the beginning of the task in one line, "" where it is not stored.
	Task string
	// Next are the nodes that the next start runs, as far as the record says.
	Next []string
	// Waiting are the names of the interrupts that wait for an answer.
	Waiting []string
}

// Run is a record that was read. It refers to the tape and copies little. It
// never changes, and is safe for concurrent use. Snapshots are numbered from 0
// in the order of Headers; there is always at least one. The methods that take
// a number panic, as a slice does, when it is out of range.
type Run struct {
	tape  *jsontape.Tape
	root  jsontape.Node
	place Place

	summary Summary
	// waiting are the ids of the interrupts that wait for an answer, in JSON.
	waiting []string
	// next says in words what the next start does.
	next string
	// workOut says that the SDK is to say what is next, see workOutName.
	workOut bool
	outline outline
	steps   []step
	faults  []model.Fault
	placed  map[string]int // faults by code
}

// noteWaiting notes those of some interrupts that have no answer yet.
func (r *Run) noteWaiting(interrupts []jsontape.Node) {
	for _, n := range interrupts {
		if k := r.tape.Kind(r.tape.Find(n, "response")); k == jsontape.Invalid || k == jsontape.Null {
			r.summary.Waiting = append(r.summary.Waiting, r.briefValue(r.tape.Find(n, "name"), maxName))
			r.waiting = append(r.waiting, string(jsontape.AppendQuoted(nil, r.textOf(r.tape.Find(n, "id")))))
		}
	}
}

// Decode reads a record: the object n of the tape, which may be jsontape.None for a
// snapshot without a record. The tape comes from jsontape.Parse or
// jsontape.ParseTolerant. Decode takes time linear in the size of the record. It never
// fails: an oddity becomes a fault, and an unreadable part a snapshot with
// model.MarkDamaged.
func Decode(t *jsontape.Tape, n jsontape.Node, place Place) *Run {
	r := &Run{tape: t, root: n, place: place, placed: make(map[string]int), outline: outline{order: jsontape.None, results: jsontape.None}}
	r.summary.ID = place.Orchestrator
	switch {
	case t.Kind(n) != jsontape.Object:
		r.readDamaged()
	case isTypeScript(t, n):
		r.readTypeScript()
	default:
		r.readPython()
	}
	if len(r.steps) == 0 {
		r.steps = []step{{start: true, result: jsontape.None}}
	}
	r.identifySnapshots()
	return r
}

// readDamaged reads a value that is not a record.
func (r *Run) readDamaged() {
	r.steps = []step{{result: jsontape.None, damaged: true}}
	if r.root < 0 {
		r.addFault(FaultShape, r.root, "there is no record of a run", sdk.Says(model.Odd, "the TypeScript SDK starts anew; the Python SDK refuses to start: KeyError: 'state'"))
		return
	}
	r.addFault(FaultShape, r.root, "the record of the run is "+r.tape.Kind(r.root).String()+", not an object", sdk.Refuses("TypeError or AttributeError"))
}

// Len returns the number of snapshots.
func (r *Run) Len() int { return len(r.steps) }

// Find returns the number of the snapshot of an id, or -1.
func (r *Run) Find(id string) int {
	for i := range r.steps {
		if r.steps[i].id == id {
			return i
		}
	}
	return -1
}

// Summary tells of the run as a whole. The caller may not write to its lists.
func (r *Run) Summary() Summary { return r.summary }

// Faults returns the faults of the record in a stable order. Only the size of the record
// bounds their number, see store.FaultList. The first 20 of each code have their place in
// the record.
func (r *Run) Faults() []model.Fault { return r.faults }
