package runs

import (
	"fmt"
	"strings"

	"hindcast/model"
	"hindcast/model/jsontape"
)

// mostMends bounds how often what was mended is looked at again.
const mostMends = 256

// Mend returns the document with what keeps the Python SDK from starting on the record
// mended, or waits for an answer that leads nowhere, and says what that was; no words where there is nothing. What goes is what
// the SDK does not need, or could not read anyway: an interrupt state that cannot be
// made, a status, which does not matter when a run is gone on with, counts, what the
// nodes shared. The error is a *model.UnsupportedError that names what is left: a
// result that cannot be read is not guessed, and a run without it would hand nothing
// on.
func (r *Run) Mend() (document []byte, words []string, err error) {
	document, now := r.Source(), r
	for range mostMends {
		f, stops := now.firstFatal()
		if !stops {
			return document, words, nil
		}
		changed, text := now.mend(&f)
		if text == "" {
			return nil, nil, &model.UnsupportedError{Op: model.OpRepair, Reason: fmt.Sprintf("%s: %s (%s)", f.Path, f.Meaning, f.Verdict)}
		}
		document, words = changed, append(words, text)
		tape, _, err := jsontape.ParseTolerant(document)
		if err != nil {
			return nil, nil, fmt.Errorf("mend the record of %q: %w", r.summary.ID, err)
		}
		now = Decode(tape, tape.LookupPointer(r.tape.Pointer(r.root)), r.place)
	}
	return nil, nil, &model.UnsupportedError{Op: model.OpRepair, Reason: "there is too much that would have to be mended"}
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

// mend mends what a fault names, "" where it cannot be.
func (r *Run) mend(f *model.Fault) (changed []byte, words string) {
	t := r.tape
	if t.Kind(r.root) != jsontape.Object || isTypeScript(t, r.root) {
		return nil, ""
	}
	n := t.LookupPointer(strings.TrimPrefix(f.Path, r.place.Pointer))
	at := ""
	if n >= 0 {
		at = strings.TrimPrefix(t.Pointer(n), t.Pointer(r.root))
	}
	p := jsontape.NewPatch(t)
	brief := func(n jsontape.Node) string { return r.brief(n, maxText) }
	switch is := func(suffix string) bool { return strings.HasSuffix(at, suffix) }; {
	case f.Code == FaultInterrupt && r.mendable(n):
		return r.mendInterrupt(n)
	case strings.HasPrefix(at, "/_internal_state"):
		p.Put(r.root, "_internal_state", []byte(`{"interrupt_state": {"interrupts": {}, "context": {}, "activated": false}}`))
		words = fmt.Sprintf("the interrupt state becomes an empty one (%s); it was %s", f.Meaning, brief(t.Find(r.root, "_internal_state")))
	case f.Code == FaultMember && n >= 0 && t.Find(n, "status") < 0:
		status := `"completed"`
		if n == r.root {
			status = `"executing"`
		}
		p.Put(n, "status", []byte(status))
		words = fmt.Sprintf("what is at %q gets the status %s", at, status)
	case f.Code == FaultStatus && n >= 0:
		status := `"completed"`
		if at == "/status" {
			status = `"executing"`
		}
		p.Set(n, []byte(status))
		words = fmt.Sprintf("the status at %s becomes %s, and was %s", at, status, brief(n))
	case f.Code == FaultMember && n == r.root && t.Find(n, "context") < 0:
		p.Put(r.root, "context", []byte(`{}`))
		words = "gets an empty context: what the nodes shared is not stored"
	case f.Code == FaultShape && at == "/context":
		p.Set(n, []byte(`{}`))
		words = "the context becomes an empty one, and was " + brief(n)
	case f.Code == FaultShape && (is("/execution_time") || is("/execution_count")):
		p.Set(n, []byte("0"))
		words = fmt.Sprintf("the count at %s becomes 0, and was %s", at, brief(n))
	case f.Code == FaultShape && (is("/accumulated_usage") || is("/accumulated_metrics")):
		p.Set(n, []byte("{}"))
		words = fmt.Sprintf("the counts at %s become none, and were %s", at, brief(n))
	case is("/interrupts") || f.Code == FaultInterrupt:
		list := n
		for list >= 0 && list != r.root && t.Key(list) != "interrupts" {
			list = t.Parent(list)
		}
		if list < 0 || list == r.root {
			return nil, ""
		}
		p.Set(list, []byte("[]"))
		words = fmt.Sprintf("the interrupts of a result go: %s", brief(list))
	case f.Code == FaultCheckpoint && n >= 0:
		p.Set(n, []byte("null"))
		words = fmt.Sprintf("a checkpoint in a result goes, as the SDK rejects it: %s", brief(n))
	default:
		return nil, ""
	}
	return p.Bytes(), words
}

// mendable reports whether a fault of an interrupt is one of how it is written: it is
// at one of several, or at a member of one. The last one that is no object leaves a
// question that nobody can answer.
func (r *Run) mendable(n jsontape.Node) bool {
	t := r.tape
	holder := t.Parent(n)
	if n < 0 || holder < 0 || t.Kind(t.Parent(holder)) != jsontape.Object {
		return false
	}
	inside := strings.HasPrefix(strings.TrimPrefix(t.Pointer(n), t.Pointer(r.root)), "/_internal_state/")
	one := t.Key(holder) == "interrupts"
	return inside && (one && (t.Kind(n) == jsontape.Object || t.Count(holder) > 1) || t.Key(t.Parent(holder)) == "interrupts")
}

// mendInterrupt mends one of the interrupts that the SDK makes of exactly what is
// stored: a key that it does not know goes, and so does what is no object; an id or a
// name that is missing becomes the key under which it is stored.
func (r *Run) mendInterrupt(n jsontape.Node) (changed []byte, words string) {
	t := r.tape
	p := jsontape.NewPatch(t)
	holder := t.Parent(n)
	switch {
	case t.Kind(n) == jsontape.Object && t.Key(holder) == "interrupts":
		for _, key := range []string{"id", "name"} {
			if t.Find(n, key) < 0 {
				p.Put(n, key, jsontape.AppendQuoted(nil, t.Key(n)))
				words = fmt.Sprintf("an interrupt gets the %s %q", key, shorten(t.Key(n), maxName))
			}
		}
	case t.Key(holder) == "interrupts":
		words = fmt.Sprintf("an interrupt goes that is %s", t.Kind(n))
	default:
		words = fmt.Sprintf("the key %q of an interrupt goes: %s", shorten(t.Key(n), maxName), r.brief(n, maxText))
	}
	if !p.Changed() {
		p.Remove(holder, func(m jsontape.Node) bool { return m == n })
	}
	return p.Bytes(), words
}
