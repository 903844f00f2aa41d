package old

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/files"
	"hindcast/store/journal"
	"hindcast/store/strands/runs"
)

// record is one file of an orchestrator, with the run in it.
type record struct {
	item
	doc files.Document
	run *runs.Run // nil where the file cannot be read
}

// records reads the files of an orchestrator, the latest last. SDKs write that
// one alone; a program can save others.
func (s *Store) records(ctx context.Context, p *place) ([]record, error) {
	o, err := s.open(p)
	if err != nil {
		return nil, err
	}
	defer o.close()
	items, err := o.items()
	if err != nil {
		return nil, err
	}
	var list []record
	for _, i := range items {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("read snapshots: %w", err)
		}
		r := record{item: i, doc: files.ReadDocument(o.folder(i.name).Read, i.name, nil)}
		switch {
		case errors.Is(r.doc.Err, fs.ErrNotExist):
			continue
		case r.doc.Err != nil:
			// What can be told of it is told all the same.
			if r.capture, _ = readCapture(r.doc.Data); r.Problem == "" {
				r.capture = unread(r.doc.Err)
			}
		default:
			r.capture, _ = readCapture(r.doc.Data)
			r.run = r.decode(p)
		}
		list = append(list, r)
	}
	return list, nil
}

// decode reads the run of a file that parsed.
func (r *record) decode(p *place) *runs.Run {
	t := r.doc.Tape
	data := t.Find(0, "data")
	at := runs.Place{Session: p.id, Orchestrator: p.agent, File: p.file(r.name), Updated: r.created()}
	if id := orchestratorID(t, data); t.Kind(id) == jsontape.String {
		at.Orchestrator = string(t.AppendText(nil, id, maxText))
	}
	return runs.Decode(t, t.Find(data, "state"), at)
}

// orchestratorID returns the node of the id that the SDK compares.
func orchestratorID(t *jsontape.Tape, data jsontape.Node) jsontape.Node {
	if id := t.Find(data, "orchestrator_id"); id >= 0 {
		return id
	}
	return t.Find(data, "orchestratorId")
}

// runHeaders returns the rows of an orchestrator: the node executions of its
// latest record, and those that only an earlier one has.
func runHeaders(p *place, records []record, entries []journal.Entry) []model.Header {
	var headers []model.Header
	at := make(map[string]int)
	for i := range records {
		r := &records[i]
		for _, h := range r.headers(p) {
			h.Head = h.Head && r.name == latestFile
			known, ok := at[h.ID]
			if !ok {
				known = len(headers)
				at[h.ID] = known
				headers = append(headers, h)
			}
			headers[known] = h
		}
		if i < len(records)-1 || r.name != latestFile {
			leave(headers, r.left(entries))
		}
	}
	for i := range headers {
		headers[i].Index = i
	}
	return headers
}

// leave marks rows as those of a record that is not the latest. What the latest
// has, too, is then told by that.
func leave(headers []model.Header, why *model.Reason) {
	for i := range headers {
		if headers[i].Orphaned = true; headers[i].Reason == nil {
			headers[i].Reason = why
		}
	}
}

// left says why a record is not the latest: Hindcast saved it before it put
// another there, or the SDK has gone on.
func (r *record) left(entries []journal.Entry) *model.Reason {
	for i := range entries {
		e := &entries[i]
		wrote := func(c journal.Change) bool { return c.Before.None() && path.Base(c.Path) == r.name }
		if !e.Undone && e.Op == model.OpRestore && e.Broken == "" && slices.ContainsFunc(e.Changes, wrote) {
			return &model.Reason{Kind: model.ReasonRestore, At: e.At, TargetID: e.To, TargetIndex: e.ToIndex}
		}
	}
	return &model.Reason{Kind: model.ReasonPointer}
}

func (r *record) headers(p *place) []model.Header {
	if r.run != nil {
		return r.run.Headers()
	}
	return []model.Header{{
		ID: r.id, SessionID: p.id, CreatedAt: r.created(), Event: model.SnapshotEventNamed, EventName: r.Event,
		Title: r.Title, Marks: model.MarkDamaged, Head: true,
	}}
}

// find returns the record that tells of a row, the latest if several do, and which
// of its executions the row is.
func find(records []record, id string) (r *record, n int, err error) {
	for i := len(records) - 1; i >= 0; i-- {
		switch r := &records[i]; {
		case r.run == nil && r.id == id:
			return nil, 0, errors.New(r.Problem)
		case r.run != nil:
			if n := r.run.Find(id); n >= 0 {
				return r, n, nil
			}
		}
	}
	return nil, 0, model.ErrNoSnapshot
}

// runState returns the state of a row of an orchestrator.
func (s *Store) runState(ctx context.Context, p *place, id string) ([]byte, error) {
	records, err := s.records(ctx, p)
	if err != nil {
		return nil, err
	}
	r, n, err := find(records, id)
	if err != nil {
		return nil, err
	}
	return r.run.State(n), nil
}
