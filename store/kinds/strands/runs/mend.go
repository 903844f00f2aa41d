package runs

import (
	"fmt"
	"strings"

	"hindcast/model"
	"hindcast/model/jsontape"
)

// Mend empties an interrupt state on which the Python SDK does not start, or whose answer
// leads nowhere. It returns the document and a description of the removed state; no words
// if nothing is in the way. The error is a *model.UnsupportedError that names any other
// fault in the way.
func (r *Run) Mend() (document []byte, words []string, err error) {
	document = r.sourceText()
	f, stops := r.firstFatal()
	if !stops {
		return document, nil, nil
	}
	n := r.tape.LookupPointer(strings.TrimPrefix(f.Path, r.place.Pointer))
	if at := strings.TrimPrefix(r.tape.Pointer(max(0, n)), r.tape.Pointer(r.root)); n >= 0 && strings.HasPrefix(at, "/_internal_state") && !isTypeScript(r.tape, r.root) {
		p := jsontape.NewPatch(r.tape)
		p.Put(r.root, "_internal_state", []byte(`{"interrupt_state": {"interrupts": {}, "context": {}, "activated": false}}`))
		words = []string{fmt.Sprintf("the interrupt state becomes an empty one (%s); it was %s", f.Meaning, r.briefValue(r.tape.Find(r.root, "_internal_state"), maxText))}
		tape, _, err := jsontape.ParseTolerant(p.Bytes())
		if err != nil {
			return nil, nil, fmt.Errorf("mend the record of %q: %w", r.summary.ID, err)
		}
		document = p.Bytes()
		f, stops = Decode(tape, tape.LookupPointer(r.tape.Pointer(r.root)), r.place).firstFatal()
	}
	if stops {
		return nil, nil, &model.UnsupportedError{Op: model.OpRepair, Reason: fmt.Sprintf("%s: %s (%s)", f.Path, f.Meaning, f.Verdict)}
	}
	return document, words, nil
}

// firstFatal returns the first fault that is in the way.
func (r *Run) firstFatal() (f model.Fault, is bool) {
	for _, f := range r.faults {
		if f.Severity >= model.Loses {
			return f, true
		}
	}
	return f, false
}
