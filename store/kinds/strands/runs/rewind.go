package runs

import (
	"fmt"
	"strings"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
)

// Putting a run back.
//
// A run that is put back to an execution goes on with what came after it. What ran
// since is taken out of the record, and nothing else: the document is changed on
// its bytes. The hard part is what runs next, because edges are not stored.
//
//   - A Swarm is a line: the node that ran next runs next.
//   - A Graph of the TypeScript SDK works out what is next at every start, from its
//     edges and from which nodes have completed. It is enough to say which have.
//   - A Graph of the Python SDK runs the nodes in next_nodes_to_execute and, after
//     them, what their edges lead to, and looks at no others. So the list has to be
//     whole: where one of two siblings is missing, the node that joins them runs
//     without it, and the run is called completed all the same. An order of
//     executions does not say which of them ran side by side, and so the list is
//     written only where it is known:
//     as an older version of the record has it, which was kept;
//     as the record itself has it, when nothing that ended is taken out;
//     and the one node that ran last, in a run that completed: after what ran
//     before it, nothing else did.
//     Anywhere else the SDK is left to say it. It is given a list with one name that
//     no node has ([workOutName]). With that a start runs nothing; but when a start ends,
//     the SDK writes down which nodes are ready, by its edges and their conditions.
//     The start after that runs them. Seen with strands-agents 1.40, 1.52 and 1.62.
//
// Where none of that holds, the rewind is refused: a node that ran before the
// position and again after it has lost its result, and with that what it would
// hand to others.
//
// Totals (tokens, times, executions) give back what the results that are taken out
// had added, as far as those say: the limits of a run then count for what is left.

// workOutName is the name that stands in next_nodes_to_execute of a Graph where the SDK
// is to work out which nodes are next.
const workOutName = "hindcast: the graph works out what is next"

// Rewound is a document whose run was put back.
type Rewound struct {
	// Document is the whole text that the tape was made from, with the record in it
	// changed.
	Document []byte
	// Next are the nodes that run next; none where only the SDK can tell.
	Next []string
	// Loads says in a sentence what the next start does; Resume are the calls.
	Loads  string
	Resume []model.Resume
	// Hazards are warnings, and Asks reasons to ask once more.
	Hazards, Asks []string
}

// planRewind puts the run back to snapshot i, so that it goes on with the node that came
// next. older are earlier versions of the same record, in any order; they may know facts
// that the record has lost. The error is a *model.UnsupportedError with the reason. The
// receiver is not changed.
func (r *Run) planRewind(i int, older []*Run) (Rewound, error) {
	if err := r.refusalError(i); err != nil {
		return Rewound{}, err
	}
	w := rewinder{Run: r, to: i, kept: make(map[string]int), dropped: make(map[string]bool)}
	w.patch = jsontape.NewPatch(r.tape)
	for k := range r.steps {
		if k <= i {
			w.kept[r.steps[k].node] = k
		} else {
			w.dropped[r.steps[k].node] = true
		}
	}
	var err error
	switch {
	case isTypeScript(r.tape, r.root):
		err = w.rewindTypeScript()
	default:
		if v := w.olderVersion(older); v != nil {
			w.patch = jsontape.NewPatch(v.tape)
			w.now = v
			w.sayKept()
			break
		}
		err = w.rewindPython()
	}
	if err != nil {
		return Rewound{}, err
	}
	w.Document = w.patch.Bytes()
	return w.checkRewound()
}

// endReason returns why a run that stands at its last snapshot cannot be gone on with
// from there, "" if a start goes on with it.
func (r *Run) endReason() string {
	switch {
	case len(r.summary.Next) > 0 || r.workOut:
		return ""
	case isTypeScript(r.tape, r.root) && !strings.Contains(r.next, "again"):
		return ""
	}
	if isTypeScript(r.tape, r.root) {
		return "the run has ended here, and a start runs " + r.next
	}
	return "the run has ended here and nothing is next: a start drops all results and runs the first nodes"
}

// sourceText returns the whole text that the record was read from. It must not be written
// to.
func (r *Run) sourceText() []byte { return r.tape.Data() }

// asItIs returns a Rewound that changes nothing, and describes how a start goes on with
// the record.
func (r *Run) asItIs() Rewound {
	w := Rewound{Document: r.sourceText(), Next: r.summary.Next, Loads: "the record is loaded, and what runs next is " + r.next}
	call := r.summary.Kind.String()
	if isTypeScript(r.tape, r.root) {
		call += ".invoke"
	}
	switch ended := r.endReason(); {
	case ended != "":
		w.Loads = ended
		w.Asks = append(w.Asks, ended)
		w.Resume = append(w.Resume, model.Resume{Call: call + `("…")`, Then: "begins at the first nodes"})
	case len(r.summary.Waiting) > 0 && r.place.Unanswered:
		w.startUnanswered(r)
	case len(r.summary.Waiting) > 0:
		w.Resume = append(w.Resume, model.Resume{Call: call + r.answersInput(), Then: "answers the waiting interrupts: " + joinNames(r.summary.Waiting)})
	case r.workOut:
		w.Resume = append(w.Resume, startTwice)
	default:
		w.Resume = append(w.Resume, model.Resume{Call: call + `("…")`, Then: "runs " + r.next})
	}
	return w
}

// startUnanswered describes the start of an SDK that takes no answers, such as the oldest for
// TypeScript.
func (w *Rewound) startUnanswered(r *Run) {
	then := "runs " + joinNames(r.summary.Waiting) + ", without an answer"
	if r.summary.Kind == Swarm {
		then = "begins at the first node again; the results so far are kept"
	}
	w.Loads = "the record is loaded, and no answer is taken: a start " + then
	w.Resume = []model.Resume{{Call: r.summary.Kind.String() + `.invoke("…")`, Then: then}}
	w.Asks = append(w.Asks, "what waits for an answer goes on without one, or begins anew")
}

// answersInput returns the input that answers the interrupts that wait.
func (r *Run) answersInput() string {
	format := `{"interruptResponse": {"interruptId": %s, "response": …}}`
	if isTypeScript(r.tape, r.root) {
		format = `{ interruptResponse: { interruptId: %s, response: … } }`
	}
	var parts []string
	for _, id := range r.waiting {
		parts = append(parts, fmt.Sprintf(format, id))
	}
	return "([" + strings.Join(parts, ", ") + "])"
}

// startTwice is how a Graph goes on that has to work out what is next.
var startTwice = model.Resume{Call: `build_graph()("…"); build_graph()("…")`,
	Then: "the first call runs nothing: the SDK works out from the edges which nodes are next, and stores them; the second, on a graph that is built anew, runs them; " + storedTask}

const storedTask = "the stored task is taken, whatever text is passed"

// countShared returns how many executions two versions of a record begin with that are the
// same: of the same node, with the same words. Another SDK that goes on with a run
// writes the results again, with more members.
func (r *Run) countShared(other *Run) int {
	said := func(r *Run, s *step) jsontape.Node {
		if n := r.tape.Find(r.tape.Find(s.result, "result"), "message"); n >= 0 {
			return n
		}
		return s.result
	}
	n := 0
	for ; n < min(len(r.steps), len(other.steps)); n++ {
		a, b := &r.steps[n], &other.steps[n]
		x, y := said(r, a), said(other, b)
		if a.id != b.id && (a.node != b.node || a.start != b.start || x < 0 || y < 0 || !jsontape.Equal(r.tape, x, other.tape, y)) {
			break
		}
	}
	return n
}

func unableError(format string, values ...any) error {
	return &model.UnsupportedError{Op: model.OpRestore, Reason: fmt.Sprintf(format, values...)}
}

// refusalError says why nothing can be put back to snapshot i.
func (r *Run) refusalError(i int) error {
	last := len(r.steps) - 1
	s := &r.steps[i]
	switch {
	case r.tape.Kind(r.root) != jsontape.Object:
		return unableError("the record of the run cannot be read")
	case i == last && r.endReason() != "":
		return unableError("%s; put it back to an execution before this one, and it goes on with what came after that", r.endReason())
	case i == last:
		return unableError("the run stands there already; a start runs %s", r.next)
	case s.start:
		return unableError("nothing ran there yet: to begin anew, start on a session without the record")
	case s.damaged:
		return unableError("what ran there cannot be read")
	case i > 0 && s.upto == r.steps[i-1].upto:
		return unableError("%s has no place in the order of the nodes that ran: it %s, and it is unknown which nodes ran beside it; put the run back to an execution before it",
			shortenText(s.node, maxName), orWord(s.outcome.String(), "ended"))
	}
	return nil
}

func orWord(word, other string) string {
	if word == "" {
		return other
	}
	return word
}

// rewinder puts one run back.
type rewinder struct {
	*Run
	Rewound
	to    int
	patch *jsontape.Patch
	// kept has for each node that stays its last execution, dropped the nodes that
	// lose an execution.
	kept    map[string]int
	dropped map[string]bool
	// now is the run that comes of it, once that is known.
	now *Run
}

func (w *rewinder) addWarning(format string, values ...any) {
	w.Hazards = append(w.Hazards, fmt.Sprintf(format, values...))
}

// addQuestion notes a reason to ask once more.
func (w *rewinder) addQuestion(format string, values ...any) {
	w.Asks = append(w.Asks, fmt.Sprintf(format, values...))
}

// joinNames names nodes.
func joinNames(nodes []string) string {
	return conversation.List(nodes, func(name string) string { return shortenText(name, maxName) })
}

// olderVersion returns the older version that ended with the same snapshot and that a start
// goes on with; nil if there is no such version. It records the nodes that were next at
// that time.
func (w *rewinder) olderVersion(older []*Run) *Run {
	id := w.steps[w.to].id
	for _, v := range older {
		last := len(v.steps) - 1
		same := last == w.to && v.steps[last].id == id && v.summary.Kind == w.summary.Kind
		for k := 0; same && k < last; k++ {
			a, b := &v.steps[k], &w.steps[k]
			same = a.node == b.node && (a.id == b.id || b.replaced)
		}
		if same && len(v.summary.Next) > 0 && !v.workOut && !v.steps[last].waits && len(v.summary.Waiting) == 0 {
			return v
		}
	}
	return nil
}

// checkRewound reads the new record as an SDK would, and describes the next start.
func (w *rewinder) checkRewound() (Rewound, error) {
	tape, _, err := jsontape.ParseTolerant(w.Document)
	if err != nil {
		return Rewound{}, unableError("the record that would be written does not parse: %v", err)
	}
	from := w.Run
	if w.now != nil {
		from = w.now
	}
	now := Decode(tape, tape.LookupPointer(from.tape.Pointer(from.root)), w.place)
	for _, f := range now.faults {
		if f.Severity == model.Stops {
			return Rewound{}, unableError("the rest of the record does not load: %s: the SDK %s; repair the record first", f.Meaning, f.Verdict)
		}
	}
	if last := len(now.steps) - 1; last != w.to || now.steps[last].id != w.steps[w.to].id {
		return Rewound{}, unableError("the rest of the record would not be the run as it was after %s", shortenText(w.steps[w.to].node, maxName))
	}
	w.now = now
	w.Next = now.summary.Next
	w.sayStart()
	return w.Rewound, nil
}

// sayStart describes the next start, and warns of its consequences.
func (w *rewinder) sayStart() {
	var again []string
	seen := make(map[string]bool)
	for _, s := range w.steps[w.to+1:] {
		if !seen[s.node] {
			seen[s.node] = true
			again = append(again, s.node)
		}
	}
	kind := w.summary.Kind.String()
	var names []string
	for _, n := range w.summary.Waiting {
		names = append(names, orWord(n, "without a name"))
	}
	if len(names) > 0 {
		w.addQuestion("an interrupt that waits for an answer goes: %s; a later answer is refused", joinNames(names))
	}
	w.addWarning("what ran since (%s) may run again, with its models and tools; what it did outside (files, messages, payments) stays done", joinNames(again))
	w.addWarning("the agents of the nodes begin their conversations anew: only their last words are stored")
	if isTypeScript(w.tape, w.root) {
		w.Loads = "the record is loaded, and what runs is " + w.now.next
		call, then := kind+`.invoke("…")`, "runs "+w.now.next+"; the nodes get the text"
		if w.summary.Kind == Swarm {
			then = "runs " + w.now.next + ", with the words and the context that were handed over; the text is for the first node only"
		} else if w.summary.Task == "" {
			w.addWarning("the task is not stored: pass the same text again")
		}
		w.Resume = append(w.Resume, model.Resume{Call: call, Then: then})
		return
	}
	if w.now.workOut {
		w.Loads = "the first start runs nothing and stores which nodes the edges make ready; the start after it runs them"
		w.Resume = append(w.Resume, startTwice)
		w.addWarning("which nodes ran side by side is not stored, so that the SDK has to say which are next: it takes two starts, and the first one ends at once")
		return
	}
	w.Loads = "the record is loaded, and what runs next is " + joinNames(w.Next)
	w.Resume = append(w.Resume, model.Resume{Call: kind + `("…")`, Then: "runs " + joinNames(w.Next) + "; " + storedTask})
}

func (w *rewinder) sayKept() {
	w.addWarning("the record is put back as it was at that moment; that version was kept")
}
