package snapshots

import (
	"context"
	"fmt"

	"hindcast/model"
	"hindcast/store/files"
	"hindcast/store/folder"
	"hindcast/store/strands/runs"
)

// An orchestrator has one record that is written over and over. To put it back is
// to take out of the record what ran since; package runs knows how. The
// record as it was is saved as an immutable snapshot, which no SDK writes for an
// orchestrator or looks for, and which shows in the timeline.

// rewind is a plan in the making for the record of an orchestrator.
type rewind struct {
	*move
	records *records
	made    runs.Rewound
}

// Move implements folder.Mover.
func (f orchestrators) Move(_ context.Context, in folder.In, before *folder.Log, c model.Change) (*folder.Move, error) {
	rs := before.Own.(*records)
	m := f.s.begin(in, rs.history)
	switch c.Op {
	case model.OpPurge:
		return m.Move, m.purge(c.Scope)
	case model.OpEdit:
		return nil, &model.UnsupportedError{Op: c.Op, Reason: "what the nodes of an orchestrator said is not what it goes on from"}
	case model.OpRepair:
		return nil, &model.UnsupportedError{Op: c.Op, Reason: "the record of an orchestrator has no older one: remove " + rs.file(latestFile) + " to run it from the beginning"}
	}
	r := &rewind{move: m, records: rs}
	m.Own = r
	if err := r.aim(before, c.Ref.ID); err != nil {
		return nil, err
	}
	if c.Op == model.OpFork {
		to, err := r.found(c.As)
		if err != nil {
			return nil, err
		}
		m.step(folder.Step{Name: to.kept(latestFile), Data: r.made.Document})
		m.Writes = append(m.Writes, journaled)
		return m.Move, nil
	}
	if err := m.put(r.made.Document); err != nil {
		return nil, err
	}
	if len(m.Steps) > 0 {
		m.hazards(running)
	}
	m.Writes = append(m.Writes, journaled)
	return m.Move, nil
}

// aim works out the record that stands at a row.
func (r *rewind) aim(before *folder.Log, id string) error {
	from, n, err := r.records.row(id)
	if err != nil {
		return err
	}
	if at := before.At(id); at >= 0 {
		r.Target = before.Rows[at].Point()
	}
	if r.made, err = r.rewound(from, n); err != nil {
		return err
	}
	r.hazards(r.made.Hazards...)
	r.Asks = append(r.Asks, r.made.Asks...)
	d := parsed(r.made.Document)
	if fatal, _ := r.judged(&d); len(fatal) > 0 {
		return &RefusedError{r.place.file(from.name), fatal}
	}
	r.doc.Dialect = from.Dialect
	return nil
}

// rewound returns the record as it stands after an execution. After its last one that
// is the record itself, also of a run that has ended or that waits for an answer: it
// may be one that was set aside.
func (r *rewind) rewound(from *record, n int) (runs.Rewound, error) {
	if n < len(from.run.Headers())-1 {
		return from.run.Rewind(n, r.older(from))
	}
	made := from.run.AsItIs()
	if in := r.place.versions(&r.s.running, from.Dialect, from.doc.Tape); from.Dialect == typeScript && !in.Shown(answersNodes) {
		made = from.run.Unanswered()
	}
	if ended := from.run.Ended(); ended != "" {
		made.Hazards, made.Asks = nil, []string{ended}
	}
	return made, nil
}

// older returns the other versions of a record: those that are there, and those that
// the journal has.
func (r *rewind) older(than *record) (list []*runs.Run) {
	for i := range r.records.list {
		if other := &r.records.list[i]; other != than && other.run != nil {
			list = append(list, other.run)
		}
	}
	for _, a := range r.in.Told.Aside() {
		if a.Name != r.place.kept(latestFile) || a.How == folder.Undone {
			continue
		}
		if data, err := r.in.Told.Read(a); err == nil {
			if run := r.run(data); run != nil {
				list = append(list, run)
			}
		}
	}
	return list
}

// run decodes the record of a file, nil for none.
func (r *rewind) run(file []byte) *runs.Run {
	d := record{item: item{id: latestID, name: latestFile}, doc: files.ReadDocument(func(string, []byte) ([]byte, error) { return file, nil }, "", nil)}
	if d.doc.Err != nil {
		return nil
	}
	d.capture, _ = readCapture(file)
	return d.decode(&r.place)
}

// Next implements folder.Mover.
func (orchestrators) Next(before, after *folder.Log, mv *folder.Move) (folder.Next, error) {
	if mv != nil {
		r := mv.Own.(*rewind)
		return folder.Next{Loads: r.made.Loads, Calls: r.made.Resume}, nil
	}
	was, now := before.Own.(*records), after.Own.(*records)
	return was.back(now.history, func() folder.Next {
		return folder.Next{Loads: fmt.Sprintf("orchestrator %q of session %q goes on from its record as it then is", now.agent, now.sessionDir.id)}
	}), nil
}
