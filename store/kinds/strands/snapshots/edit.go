package snapshots

import (
	"errors"
	"fmt"
	"slices"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/media/tree"
)

// PlaceError says which place of an edited state cannot be as it is.
type PlaceError struct {
	// Place is a JSON Pointer into the state.
	Place string
	// Why describes the error there, and what to do.
	Why string
}

func (e *PlaceError) Error() string { return e.Place + ": " + e.Why }

// planEdit plans an edited fork: as fork, and the latest snapshot of the new
// session has the given state for its data. Everything around the data stays as
// it was saved. The state must be one that the SDK loads; the error is a
// *PlaceError where it is not, and those of fork.
//
// Where messages at the end are gone or others, an interrupt that waits for an
// answer to them is taken back, unless it was edited, too.
func (m *move) planEdit(as string, state []byte) error {
	edited, err := m.editedDocument(state)
	if err != nil {
		return err
	}
	to, err := m.findPlace(as)
	if err != nil {
		return err
	}
	content, said := edited.resumableBytes(m.sdkVersions(&edited))
	m.addHazards(said)
	m.forkHistory(&to)
	m.addStep(tree.Step{Name: to.storageName(latestFile), Data: content})
	return m.completeFork(&to)
}

// editedDocument returns the document of the target with another state, and refuses one
// that the SDK would not load.
func (m *move) editedDocument(state []byte) (document, error) {
	old := &m.doc
	if _, err := jsontape.Parse(state); err != nil {
		if _, _, tolerant := jsontape.ParseTolerant(state); tolerant != nil || old.Dialect == typeScript {
			return document{}, fmt.Errorf("the edited state is no JSON: %w", err)
		}
	}
	p := jsontape.NewPatch(old.Tape)
	p.Set(old.data, state)
	d := parseFile(p.Bytes())
	if d.Err != nil {
		return d, fmt.Errorf("the edited state cannot be read: %w", d.Err)
	}
	if d.Tape.Kind(d.data) != jsontape.Object {
		return d, &PlaceError{"/", "the state is an object with the messages"}
	}
	if d.Tape.Kind(d.Tape.Find(d.data, "messages")) != jsontape.Array {
		return d, &PlaceError{"/messages", "the messages are a list"}
	}
	if err := m.settleInterrupt(&d); err != nil {
		return d, err
	}
	return d, m.checkEdit(&d)
}

// checkEdit refuses an edited document that the SDK would not load, or that would break it at
// the next input. It warns of the other faults that the edit caused.
func (m *move) checkEdit(d *document) error {
	fatal, others := m.judgeLatest(d)
	_, before := m.judgeLatest(&m.doc)
	for _, f := range append(fatal, others...) {
		same := func(other model.Fault) bool {
			return f.Code == other.Code && f.Meaning == other.Meaning && f.Verdict == other.Verdict
		}
		switch {
		case slices.ContainsFunc(before, same):
		case slices.ContainsFunc(fatal, same) || f.Code == FaultMessage || f.Code == FaultRole || f.Code == FaultBlock:
			return &PlaceError{inState(f.Path), f.Meaning + " (" + f.Verdict + ")"}
		case f.Code != FaultUnanswered && f.Code != FaultInterrupt:
			m.addHazards(fmt.Sprintf("%s: %s (%s)", inState(f.Path), f.Meaning, f.Verdict))
		}
	}
	return nil
}

// inState returns the place of a fault below the data of a file.
func inState(pointer string) string {
	const data = "/data"
	if len(pointer) >= len(data) && pointer[:len(data)] == data {
		pointer = pointer[len(data):]
	}
	if pointer == "" {
		return "/"
	}
	return pointer
}

// errNoLonger is why an interrupt cannot stay.
var errNoLonger = errors.New("an interrupt waits for an answer to tools that the messages no longer end with")

// settleInterrupt takes an interrupt back that waits at messages which are gone. One that
// was edited has to fit as it is.
func (m *move) settleInterrupt(d *document) error {
	old := &m.doc
	state := d.interruptState()
	if d.Tape.Kind(d.Tape.Find(state, "activated")) != jsontape.True {
		return nil
	}
	was := old.interruptState()
	if was < 0 || !jsontape.Equal(old.Tape, was, d.Tape, state) {
		if d.fitsInterrupt() {
			return nil
		}
		return &PlaceError{inState(d.Tape.Pointer(state)), errNoLonger.Error() + `; leave it as it was, and it is taken back, or set "activated" to false`}
	}
	if old.endsAs(d) || d.Dialect == python && d.fitsInterrupt() {
		return nil
	}
	none := `{"interrupts": {}, "context": {}, "activated": false}`
	if d.Dialect == typeScript {
		none = `{"interrupts": {}, "activated": false}`
	}
	p := jsontape.NewPatch(d.Tape)
	p.Set(state, []byte(none))
	*d = parseFile(p.Bytes())
	m.addHazards("the interrupt is taken back: " + errNoLonger.Error())
	return d.Err
}

// endsAs reports whether two documents have as many messages, and the same last
// one.
func (d *document) endsAs(other *document) bool {
	a, n := d.lastMessage()
	b, k := other.lastMessage()
	return n == k && (n == 0 || jsontape.Equal(d.Tape, a, other.Tape, b))
}

// lastMessage returns the last message, or -1, and the number of messages.
func (d *document) lastMessage() (last jsontape.Node, n int) {
	messages := d.Tape.Find(d.data, "messages")
	last = jsontape.None
	if d.Tape.Kind(messages) != jsontape.Array {
		return last, 0
	}
	for m := d.Tape.First(messages); m >= 0; m = d.Tape.Next(m) {
		last = m
		n++
	}
	return last, n
}

// fitsInterrupt reports whether an interrupt waits at the end of the messages. The SDK for
// Python has the message that asks for the tools in both places, that for
// TypeScript takes it out of the messages until the tools have run. So there the
// messages must be such that it can follow: the user alone said the last.
func (d *document) fitsInterrupt() bool {
	t := d.Tape
	pending := d.pendingMessage()
	if pending < 0 {
		return true // the interrupt is of no tool
	}
	last, _ := d.lastMessage()
	if d.Dialect == typeScript {
		return last >= 0 && textAt(t, last, "role") == "user"
	}
	return last >= 0 && slices.Equal(callIDs(t, last), callIDs(t, pending))
}

func callIDs(t *jsontape.Tape, message jsontape.Node) (ids []string) {
	eachCall(t, message, func(use jsontape.Node) { ids = append(ids, textAt(t, use, "toolUseId")) })
	return ids
}
