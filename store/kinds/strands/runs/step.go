package runs

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"hindcast/model/jsontape"
)

// step is one snapshot: a node execution, a node that ran or stopped without a
// place in the order, or the beginning.
type step struct {
	// node is the node's id; "" at the beginning, and if the node is unknown.
	node string
	// start says that this is the beginning: nothing ran yet.
	start bool
	// upto is how many elements of the order the state holds.
	upto int
	// result is the node's result, None if the record lacks it.
	result jsontape.Node
	// outcome is how the node ended, as far as it is known.
	outcome outcome
	// replaced says that a later run of the node replaced the result.
	replaced bool
	// waits says that the node waits for an answer.
	waits bool
	// damaged says that what should be here cannot be read.
	damaged bool
	// nth is which run of the node this is, from 1, and of how many.
	nth, of int

	// asks are the interrupts that wait for an answer here.
	asks []jsontape.Node
	// said is one line on what came of it, untrusted: the answer, the error, or
	// the questions.
	said string
	// created is when the node ended, zero where the record does not tell.
	created time.Time

	id string
	// size is the length of the state.
	size int64
}

// outcome is how a node, or a run, ended.
type outcome uint8

const (
	outcomeUnknown outcome = iota
	outcomePending
	outcomeExecuting
	outcomeCompleted
	outcomeFailed
	outcomeCancelled
	outcomeInterrupted
)

// outcomes maps the words of both SDKs; TypeScript writes them in capitals. Newer Python
// SDKs call a node dispatched that is about to execute.
var outcomes = map[string]outcome{
	"pending": outcomePending, "dispatched": outcomeExecuting, "executing": outcomeExecuting, "completed": outcomeCompleted,
	"failed": outcomeFailed, "cancelled": outcomeCancelled, "interrupted": outcomeInterrupted,
}

// String returns the outcome in a word; "" if it is unknown.
func (o outcome) String() string {
	switch o {
	case outcomePending:
		return "pending"
	case outcomeExecuting:
		return "executing"
	case outcomeCompleted:
		return "completed"
	case outcomeFailed:
		return "failed"
	case outcomeCancelled:
		return "cancelled"
	case outcomeInterrupted:
		return "interrupted"
	}
	return ""
}

// identifySnapshots gives the snapshots their ids and sizes.
func (r *Run) identifySnapshots() {
	var compact []byte
	for i := range r.steps {
		s := &r.steps[i]
		compact = compact[:0]
		if s.result >= 0 {
			compact = r.appendResult(compact, s.result)
		}
		s.id = derivedID(r.summary.ID, i, s.node, compact)
	}
	r.measureStates()
}

// appendResult appends what of a result makes the id. The usage in a result of
// TypeScript is not in it: that SDK adds to the usage of all runs of an agent in
// one object, so that a result of the past changes with every later run.
func (r *Run) appendResult(dst []byte, result jsontape.Node) []byte {
	usage := r.tape.Find(result, "usage")
	if usage < 0 {
		return jsontape.AppendCompact(dst, r.tape.Raw(result))
	}
	start, _ := r.tape.Span(result)
	from, to := r.tape.Span(usage)
	whole := r.tape.Raw(result)
	dst = jsontape.AppendCompact(dst, whole[:from-start])
	return jsontape.AppendCompact(dst, whole[to-start:])
}

// derivedID hashes what a snapshot is known by. The three that are not JSON
// are written as JSON, so that no two different ones run together.
func derivedID(orchestrator string, number int, node string, result []byte) string {
	text := jsontape.AppendQuoted(append([]byte(nil), '['), orchestrator)
	text = strconv.AppendInt(append(text, ','), int64(number), 10)
	text = jsontape.AppendQuoted(append(text, ','), node)
	text = append(append(append(text, ','), result...), ']')
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
