package snapshots

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/files"
	"hindcast/store/folder"
	"hindcast/store/strands/runs"
)

// orchestrators reads and changes the records of orchestrators.
type orchestrators struct{ s *Store }

// Name implements folder.Format.
func (orchestrators) Name() string { return "Strands" }

// Read implements folder.Format.
func (orchestrators) Read(ctx context.Context, in folder.In, at folder.Place) (*folder.Log, error) {
	r, err := at.Own.(place).records(ctx, in)
	if err != nil {
		return nil, err
	}
	return r.log(at), nil
}

// records are the files of an orchestrator, the latest last. SDKs write that one alone; a
// program can save others, and so does a restore.
type records struct {
	*history
	list []record
}

// record is one file of an orchestrator, with the run in it.
type record struct {
	item
	doc files.Document
	run *runs.Run // nil where the file cannot be read
}

// records reads the files of an orchestrator.
func (p place) records(ctx context.Context, in folder.In) (*records, error) {
	h, err := p.read(ctx, in, &walks{})
	if err != nil {
		return nil, err
	}
	rs := &records{history: h}
	for _, i := range h.items {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("read snapshots: %w", err)
		}
		if i.aside != nil {
			continue
		}
		r := record{item: i, doc: files.ReadDocument(folder.From(in.Tree), p.kept(i.name), nil)}
		switch {
		case errors.Is(r.doc.Err, fs.ErrNotExist):
			continue
		case r.doc.Err == nil:
			r.run = r.decode(&p)
		case r.Problem == "":
			r.capture = unread(r.doc.Err)
		}
		rs.list = append(rs.list, r)
	}
	return rs, nil
}

// sum puts the title and the size into info.
func (rs *records) sum(info *model.SessionInfo) error {
	for i := range rs.list {
		r := &rs.list[i]
		info.Size += int64(len(r.doc.Data))
		if info.Title == "" && r.run != nil {
			info.Title = r.run.Summary().Task
		}
	}
	return rs.gone
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

// log returns the rows of an orchestrator: the node executions of its latest record, and
// those that only an earlier one has.
func (rs *records) log(place folder.Place) *folder.Log {
	log := &folder.Log{Place: place, Head: -1, Own: rs, Aside: map[string]*folder.Aside{}, Written: rs.written()}
	at := make(map[string]int)
	for i := range rs.list {
		r := &rs.list[i]
		for _, h := range r.headers(&rs.place) {
			known, ok := at[h.ID]
			if !ok {
				known = len(log.Rows)
				at[h.ID] = known
				log.Rows, log.Files = append(log.Rows, h), append(log.Files, "")
			}
			if h.Head && r.name == latestFile {
				log.Head = known
			}
			log.Rows[known], log.Files[known] = h, rs.kept(r.name)
		}
		if i < len(rs.list)-1 || r.name != latestFile {
			leave(log.Rows, rs.left(r))
		}
	}
	return log
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
func (rs *records) left(r *record) *model.Reason {
	if m := rs.in.Told.Made(rs.kept(r.name)); m != nil && m.Op == model.OpRestore {
		return &model.Reason{Kind: model.ReasonRestore, At: m.At, TargetID: m.To, TargetIndex: m.ToIndex}
	}
	return pointer
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

// row returns the record that tells of a row, the latest if several do, and which
// of its executions the row is.
func (rs *records) row(id string) (r *record, n int, err error) {
	for i := len(rs.list) - 1; i >= 0; i-- {
		switch r := &rs.list[i]; {
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

func (rs *records) facts(id string) (model.Facts, error) {
	r, n, err := rs.row(id)
	if err != nil {
		return nil, err
	}
	return append(r.run.Facts(n), r.item.facts(&rs.place)...), nil
}

func (rs *records) gaps(id string) (model.Gaps, error) {
	r, _, err := rs.row(id)
	if err != nil {
		return model.Gaps{}, err
	}
	return r.run.Gaps(), nil
}
