package messages

import (
	"context"
	"errors"
	"strings"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/files"
	"hindcast/store/folder"
	"hindcast/store/strands/runs"
)

// planRunRepair computes what lets the SDK start on the record of an orchestrator.
func (s *Store) planRunRepair(ctx context.Context, p place) (model.Plan, error) {
	o := s.openRun(p)
	m := &mender{s: s}
	m.session(&o.folders)
	plan := model.Plan{Op: model.OpRepair, Session: p.id}
	if list := o.now(); len(list) > 0 {
		plan.Head = list[len(list)-1].Point()
	}
	name := p.recordPath()
	data, goes := m.record(o, name)
	if len(m.stays) > 0 {
		return model.Plan{}, &model.UnsupportedError{Op: model.OpRepair, Reason: strings.Join(m.stays, "; ")}
	}
	if len(m.words) == 0 {
		return model.Plan{}, &model.NothingToError{Op: model.OpRepair}
	}
	draft := s.journal.Draft()
	switch {
	case goes:
		draft.SetAside(s.onDesk(name))
		o.moves(&plan, decodeRecord(p, []byte("{}")), 0)
		plan.Reactivates = nil
		plan.Loads = "there is no record: a start begins at the first nodes, with the task that it is given"
		plan.Resume = []model.Resume{{Call: `orchestrator("…")`, Then: "begins at the first nodes"}}
	default:
		r := o.run
		if data != nil {
			draft.Put(s.onDesk(name), data)
			r = decodeRecord(p, data)
			o.moves(&plan, r, r.Len()-1)
		}
		if r != nil {
			list := r.Headers()
			plan.Target = list[len(list)-1].Point()
			o.putBack(&plan, r)
		}
	}
	if m.sessionFile != nil {
		draft.Put(s.onDesk(p.session+"/session.json"), m.sessionFile)
	}
	plan.Writes, plan.Asks = m.words, m.asks
	if ask := s.busy(name); ask != "" {
		plan.Asks = append(plan.Asks, ask)
	}
	return draft.Plan(plan)
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
	d := files.ReadDocument(folder.From(m.s.tree), name, nil)
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
