package snapshots

import (
	"cmp"
	"fmt"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/sdk"
)

// document is the file of one snapshot, read to become what an SDK starts from.
type document struct {
	files.Document
	capture
	data jsontape.Node // the member of that name; -1 for none
}

// parseFile reads a file's bytes.
func parseFile(file []byte) (d document) {
	d.Document = files.ReadDocument(func(string, []byte) ([]byte, error) { return file, nil }, "", nil)
	d.capture, _ = readCapture(file)
	if d.data = jsontape.None; d.Err == nil {
		d.data = d.Tape.Find(0, "data")
	}
	return d
}

// RefusedError says that an SDK would not start from a snapshot.
type RefusedError struct {
	// File is the snapshot's, relative to the store.
	File string
	// Faults are the faults for which the SDK refuses it. There is at least one.
	Faults []model.Fault
}

func (e *RefusedError) Error() string {
	f := e.Faults[0]
	place := e.File
	if f.Path != "" {
		place += ": " + f.Path
	}
	return fmt.Sprintf("%s: %s: Strands %s; choose another snapshot", place, f.Meaning, f.Verdict)
}

// judgeLatest looks at a document as if it was snapshot_latest.json of a place. The
// first list are the faults for which the SDK that wrote it would not start, the
// other one everything else.
func (m *move) judgeLatest(d *document) (fatal, others []model.Fault) {
	return faultsOf(m.in, &m.s.running, &m.place, d, m.h.startDialect())
}

// faultsOf is judged in any place; other is the SDK that starts there where the
// document does not tell.
func faultsOf(t tree.Tree, running *sdk.Running, p *place, d *document, other dialect) (fatal, others []model.Fault) {
	c := checkup{place: p, tree: t, running: running, said: make(map[string]bool), dialect: cmp.Or(d.Dialect, other)}
	c.checkFile(&item{id: latestID, name: latestFile, capture: d.capture}, &d.Document)
	for _, f := range c.list.All() {
		if f.Severity == model.Stops {
			fatal = append(fatal, f)
		} else {
			others = append(others, f)
		}
	}
	if d.Err == nil && d.Dialect == unknownDialect && len(fatal) == 0 {
		fatal = append(fatal, model.Fault{Code: FaultSchema, File: p.pathOf(latestFile), Meaning: "it is of neither SDK", Severity: model.Stops, Verdict: "refuses to start: no schema version"})
	}
	return fatal, others
}

// soundDocument returns the document of an item, and refuses one that an SDK would not
// start from.
func (m *move) soundDocument(it *item) (document, error) {
	data, err := m.h.readContent(it)
	if err != nil {
		return document{}, err
	}
	d := parseFile(data)
	if fatal, _ := m.judgeLatest(&d); len(fatal) > 0 {
		return d, &RefusedError{m.place.fileOf(it.name), fatal}
	}
	return d, nil
}

// sdkVersions returns the SDK versions that may read the target snapshot; without a target,
// the versions that may read a document.
func (m *move) sdkVersions(d *document) sdk.Span {
	if m.doc.Tape != nil {
		d = &m.doc
	}
	return m.place.sdkVersions(&m.s.running, d.Dialect, d.Tape)
}

// resumableBytes returns the bytes of a document as the SDK can go on from them. They differ
// from the document only where the SDK for TypeScript would send tool calls without their
// results. That SDK keeps the message with the calls out of the list until the tools have
// run, and stores it in the interrupt state. resumable does the same, and says so in
// words, unless a version in question would drop the message with that state.
func (d *document) resumableBytes(in sdk.Span) (data []byte, said string) {
	t := d.Tape
	at := d.readStanding(in)
	if d.Dialect != typeScript || at.stance != atCalls || !in.AllFollow(keepsInterrupts) {
		return d.Data, ""
	}
	messages, p := t.Find(d.data, "messages"), jsontape.NewPatch(t)
	last := t.First(messages)
	for n := last; n >= 0; n = t.Next(n) {
		last = n
	}
	p.Remove(messages, func(n jsontape.Node) bool { return n == last })
	pending := `{"assistantMessageData": ` + string(t.Raw(last)) + `, "completedToolResults": {}}`
	if state := d.interruptState(); t.Kind(state) == jsontape.Object {
		p.Put(state, "pendingToolExecution", []byte(pending))
	} else {
		p.Put(d.data, "interrupts", []byte(`{"interrupts": {}, "activated": false, "pendingToolExecution": `+pending+`}`))
	}
	return p.Bytes(),
		"it is converted: the last message, which asks for tools, goes from the messages to the tools that are to run, because Strands for TypeScript would send it without results"
}
