package strands

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/files"
	"hindcast/store/strands/multiagent"
)

// planRunRepair computes what lets the SDK start on the record of an orchestrator.
func (s *Store) planRunRepair(ctx context.Context, p place) (model.Plan, error) {
	o := s.openRun(p)
	m := &mender{s: s}
	m.session(&o.folders)
	plan := model.Plan{Op: model.OpRepair, Session: p.id, Target: model.Ref{Session: p.id}, ExpectedHead: model.Ref{Session: p.id},
		Orphans: []model.PlanItem{}, Reactivates: []model.PlanItem{}, Hazards: []string{}}
	if list := o.now(); len(list) > 0 {
		head := &list[len(list)-1]
		plan.ExpectedHead, plan.HeadID, plan.HeadIndex = head.Ref(), head.ID, head.Index
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
		plan.Reactivates = []model.PlanItem{}
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
			head := &list[len(list)-1]
			plan.Target, plan.TargetID, plan.TargetIndex = head.Ref(), head.ID, head.Index
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
func decodeRecord(p place, data []byte) *multiagent.Run {
	tape, _, err := jsontape.ParseTolerant(data)
	if err != nil {
		tape, _, _ = jsontape.ParseTolerant([]byte("null"))
	}
	return multiagent.Decode(tape, 0, multiagent.Place{Session: p.id, Orchestrator: strings.TrimPrefix(p.orchestrator, runPrefix), File: p.recordPath()})
}

// record mends the record of an orchestrator. It gives the new content, nil where it
// stays, and whether the record has to go: a run of which the results cannot be read
// cannot be gone on with, and the SDK starts on nothing better than on that.
func (m *mender) record(o *orchestrator, name string) (data []byte, goes bool) {
	d := files.ReadDocument(files.From(m.s.root), name, nil)
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
	data = d.Data
	if text, words := mendText(&d); words != "" {
		m.did(name, "%s", words)
		data = text
	}
	for range mostRounds {
		f, stops := firstRefusal(decodeRecord(o.place, data))
		if !stops {
			break
		}
		changed, words := mendRecord(data, &f)
		if words == "" {
			return drop(fmt.Sprintf("%s (%s)", f.Meaning, f.Verdict))
		}
		m.did(name, "%s", words)
		data = changed
	}
	if string(data) == string(d.Data) {
		return nil, false
	}
	return data, false
}

// firstRefusal gives the first fault that keeps the SDK from starting.
func firstRefusal(r *multiagent.Run) (f model.Fault, stops bool) {
	for _, f := range r.Faults() {
		if strings.HasPrefix(f.Verdict, refuses) {
			return f, true
		}
	}
	return f, false
}

// mendRecord mends what a fault names in a record of the Python SDK, "" where only
// the run's end would: the interrupt state, a status, which does not matter, and the
// counts.
func mendRecord(data []byte, f *model.Fault) (changed []byte, words string) {
	t, err := files.Parse(data)
	if err != nil || t.Kind(0) != jsontape.Object {
		return nil, ""
	}
	p := patch{tape: t}
	internal := t.Find(0, "_internal_state")
	n := t.LookupPointer(f.Path)
	switch {
	case strings.HasPrefix(f.Path, "/_internal_state"):
		p.put(0, "_internal_state", []byte(`{"interrupt_state": `+calmInterrupts+`}`))
		return p.bytes(), fmt.Sprintf("the interrupt state becomes an empty one (%s); it was %.200s", f.Meaning, t.Raw(max(0, internal)))
	case f.Code == multiagent.FaultMember && strings.Contains(f.Verdict, "'status'") && f.Path == "":
		p.put(0, "status", []byte(`"executing"`))
		return p.bytes(), "gets a status, which the SDK does not look at when it goes on"
	case f.Code == multiagent.FaultStatus && n >= 0:
		value := `"completed"`
		if f.Path == "/status" {
			value = `"executing"`
		}
		was := t.Raw(n)
		p.set(n, []byte(value))
		return p.bytes(), fmt.Sprintf("the status at %s becomes %s, and was %.40s", f.Path, value, was)
	case f.Code == multiagent.FaultMember && strings.Contains(f.Verdict, "'context'"):
		p.put(0, "context", []byte(`{}`))
		return p.bytes(), "gets an empty context: what the nodes shared is not stored"
	case f.Code == multiagent.FaultShape && f.Path == "/context":
		p.set(n, []byte(`{}`))
		return p.bytes(), "the context becomes an empty one: what the nodes shared cannot be read"
	case f.Code == multiagent.FaultShape && n >= 0 && (strings.HasSuffix(f.Path, "/execution_time") || strings.HasSuffix(f.Path, "/execution_count")):
		p.set(n, []byte("0"))
		return p.bytes(), fmt.Sprintf("the count at %s becomes 0", f.Path)
	case f.Code == multiagent.FaultShape && n >= 0 && (strings.HasSuffix(f.Path, "/accumulated_usage") || strings.HasSuffix(f.Path, "/accumulated_metrics")):
		p.set(n, []byte("{}"))
		return p.bytes(), fmt.Sprintf("the count at %s becomes an empty one", f.Path)
	}
	return nil, ""
}
