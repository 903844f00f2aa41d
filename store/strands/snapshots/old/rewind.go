package old

import (
	"bytes"
	"context"
	"errors"
	"io/fs"

	"hindcast/model"
	"hindcast/store/files"
	"hindcast/store/strands/runs"
)

// An orchestrator has one record that is written over and over. To put it back is
// to take out of the record what ran since; package runs knows how. The
// record as it was is saved as an immutable snapshot, which no SDK writes for an
// orchestrator or looks for, and which shows in the timeline.

// rewind is a plan in the making for the record of an orchestrator.
type rewind struct {
	*move
	records []record
	rows    []model.Header
	dialect dialect
	made    runs.Rewound
}

// beginRewind works out the record that stands at a row.
func (s *Store) beginRewind(ctx context.Context, p place, op model.Op, id string) (*rewind, error) {
	m, err := s.begin(ctx, p, op)
	if err != nil {
		return nil, err
	}
	r := &rewind{move: m}
	if r.records, err = s.records(ctx, &p); err != nil {
		return nil, err
	}
	from, n, err := find(r.records, id)
	if err != nil {
		return nil, err
	}
	r.rows = r.runHeaders()
	r.plan.Head = model.Point{}
	for i := range r.rows {
		h := &r.rows[i]
		if h.Head {
			r.plan.Head = h.Point()
		}
		if h.ID == id {
			r.plan.Target = h.Point()
		}
	}
	if r.made, err = r.rewound(ctx, from, n); err != nil {
		return nil, err
	}
	r.dialect = from.Dialect
	r.hazards(r.made.Hazards...)
	r.plan.Asks = append(r.plan.Asks, r.made.Asks...)
	r.plan.Loads, r.plan.Resume = r.made.Loads, r.made.Resume
	d := parsed(r.made.Document)
	if fatal, _ := r.judged(&d); len(fatal) > 0 {
		return nil, &RefusedError{p.file(from.name), fatal}
	}
	return r, nil
}

func (r *rewind) runHeaders() []model.Header { return runHeaders(&r.place, r.records, r.h.entries) }

// rewound returns the record as it stands after an execution. After its last one that
// is the record itself, also of a run that has ended or that waits for an answer: it
// may be one that was set aside.
func (r *rewind) rewound(ctx context.Context, from *record, n int) (runs.Rewound, error) {
	if n < len(from.run.Headers())-1 {
		return from.run.Rewind(n, r.older(ctx, from))
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
func (r *rewind) older(ctx context.Context, than *record) (list []*runs.Run) {
	for i := range r.records {
		if other := &r.records[i]; other != than && other.run != nil {
			list = append(list, other.run)
		}
	}
	latest := r.s.writer.file(&r.place, latestFile)
	seen := make(map[string]bool)
	for _, e := range r.s.writer.entries(ctx) {
		for _, c := range e.Changes {
			if c.Path != latest || c.Before.None() || seen[c.Before.SHA256] {
				continue
			}
			seen[c.Before.SHA256] = true
			data, err := r.s.writer.journal.Read(c.Before)
			if err != nil {
				continue
			}
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

// leave notes which rows leave the path and come back.
func (r *rewind) leave() error {
	run := r.run(r.made.Document)
	if run == nil {
		return errors.New("the record that was put back cannot be read")
	}
	on := make(map[string]bool)
	for _, h := range run.Headers() {
		on[h.ID] = true
	}
	for i := range r.rows {
		h := &r.rows[i]
		switch {
		case !h.Orphaned && !on[h.ID]:
			r.plan.Orphans = append(r.plan.Orphans, h.Point())
		case h.Orphaned && on[h.ID]:
			r.plan.Reactivates = append(r.plan.Reactivates, h.Point())
		}
	}
	return nil
}

func (s *Store) planRewind(ctx context.Context, p place, id string) (model.Plan, error) {
	r, err := s.beginRewind(ctx, p, model.OpRestore, id)
	if err != nil {
		return model.Plan{}, err
	}
	if err := r.leave(); err != nil {
		return model.Plan{}, err
	}
	latest, err := r.latest()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return model.Plan{}, err
	}
	if !bytes.Equal(latest, r.made.Document) {
		r.running()
	}
	if err := r.put(r.made.Document); err != nil {
		return model.Plan{}, err
	}
	r.plan.Writes = append(r.plan.Writes, "journal: one entry")
	return r.draft.Plan(r.plan)
}

func (s *Store) planRunFork(ctx context.Context, p place, id, as string) (model.Plan, error) {
	r, err := s.beginRewind(ctx, p, model.OpFork, id)
	if err != nil {
		return model.Plan{}, err
	}
	r.doc.Dialect = r.dialect
	to, err := r.found(as)
	if err != nil {
		return model.Plan{}, err
	}
	r.draft.Put(s.writer.name(&to, latestFile), r.made.Document)
	r.plan.Writes = append(r.plan.Writes, "journal: one entry")
	return r.draft.Plan(r.plan)
}
