package messages

import (
	"errors"
	"path"
	"strings"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/files"
	"hindcast/store/folder"
	"hindcast/store/strands/runs"
)

// repair plans what lets the SDK start on the record.
func (m *rewind) repair() error {
	r := &mender{s: m.s, in: m.in, place: m.place}
	r.session(&m.folders)
	name := m.recordPath()
	data, goes := r.record(m.orchestrator, name)
	if err := r.err(); err != nil {
		return err
	}
	m.uses()
	switch {
	case goes:
		m.Steps = append(m.Steps, folder.Step{Name: name, Aside: true})
		m.next.Loads = "there is no record: a start begins at the first nodes, with the task that it is given"
		m.next.Calls = []model.Resume{{Call: `orchestrator("…")`, Then: "begins at the first nodes"}}
	default:
		run := m.run
		if data != nil {
			m.Steps = append(m.Steps, folder.Step{Name: name, Data: data})
			run = decodeRecord(m.place, data)
		}
		if run != nil {
			list := run.Headers()
			m.Target = list[len(list)-1].Point()
			m.putBack(run)
		}
	}
	if r.sessionFile != nil {
		m.Steps = append(m.Steps, folder.Step{Name: path.Join(m.session, "session.json"), Data: r.sessionFile})
	}
	m.Writes, m.Asks = r.words, r.asks
	return nil
}

// decodeRecord reads a record that parses.
func decodeRecord(p place, data []byte) *runs.Run {
	tape, _, err := jsontape.ParseTolerant(data)
	if err != nil {
		tape, _, _ = jsontape.ParseTolerant([]byte("null"))
	}
	return runs.Decode(tape, 0, runs.Place{Session: p.id, Orchestrator: strings.TrimPrefix(p.orchestrator, runPrefix), File: p.recordPath()})
}

// record mends the record of an orchestrator. It returns the new content, nil where it
// stays, and whether the record has to go: a run whose results cannot be read
// cannot be gone on with, and the SDK starts on nothing better than on that.
func (m *mender) record(o *orchestrator, name string) (data []byte, goes bool) {
	d := files.ReadDocument(folder.From(m.in.Tree), name, nil)
	syntax := (*jsontape.SyntaxError)(nil)
	drop := func(reason string) (data []byte, goes bool) {
		m.did(name, "set aside: %s", reason)
		m.ask("the record of the run goes, with all results: a start begins anew")
		return nil, true
	}
	switch {
	case o.run == nil && d.Err == nil || d.Err != nil && !errors.As(d.Err, &syntax):
		if !o.faults.Has(FaultRunFile) || o.err == nil {
			return nil, false // there is none
		}
		m.unreadable(name, d.Err)
		return nil, false
	case d.Err != nil:
		return drop("it cannot be read: " + d.Err.Error())
	}
	for _, f := range encodingFlaws(&d) {
		return drop(f.meaning)
	}
	mended, words, err := o.run.Mend()
	if unsupported := (*model.UnsupportedError)(nil); errors.As(err, &unsupported) {
		return drop(unsupported.Reason)
	} else if err != nil {
		return drop(err.Error())
	}
	for _, text := range words {
		m.did(name, "%s", text)
		m.ask("the record of the run: %s", text)
	}
	if string(mended) == string(d.Data) {
		return nil, false
	}
	return mended, false
}
