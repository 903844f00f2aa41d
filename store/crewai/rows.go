package crewai

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/rows"
)

// run names the run that a row is of, as body.session does; jsonb is read as crewAI reads it.
const run = `iif(json_valid(data, 9),
	coalesce(nullif(json_extract(data, '$.entities[0].name'), ''), nullif(json_extract(data, '$.entities[0].role'), ''), json_extract(data, '$.entities[0].entity_type'), 'crew')
	|| '-' || substr(coalesce(json_extract(data, '$.entities[0].checkpoint_kickoff_event_id'), json_extract(data, '$.entities[0].checkpoint_state.id'), 'run'), 1, 8),
	'(damaged)')`

// rowsKind returns the kind of the file at a path.
func rowsKind(path string) store.Kind {
	if whole, err := filepath.Abs(path); err == nil {
		path = whole
	}
	return rows.Kind{
		Name: name, Framework: "crewAI",
		IDs:       folderKind.IDs,
		Lacks:     "crewAI's SQLite is only read as yet; the calls on the Resume tab go on from any checkpoint, on its branch or on a new one",
		Tables:    map[string]string{"checkpoints": "id created_at parent_id branch data"},
		Snapshots: "checkpoints",
		Key:       []string{run},
		ID:        "id",
		Format:    table{path},
	}.Kind()
}

// table implements rows.Format. The path is that of the file.
type table struct{ path string }

// document is a row's, as crewAI reads it; one that is damaged is null.
const document = "iif(json_valid(data, 9), json(data), NULL)"

// Log implements rows.Format. Which checkpoint follows which is known from all of them alone.
func (table) Log(ctx context.Context, t rows.Tx, at rows.Place, from string) (log rows.Log, err error) {
	var lineage []row
	var sizes []int64
	err = t.Each(ctx, func(scan func(...any) error) error {
		r, h, size := row{}, model.Header{}, int64(0)
		var data []byte
		if err := scan(&r.id, &r.recorded, &data, &size); err != nil {
			return err
		}
		h.ID, h.CreatedAt, h.Size = r.id, secondOf(r.id), int64(len(data))
		b, err := bodyOf(data)
		if err != nil {
			h.Event, h.EventName, h.Marks = model.SnapshotEventNamed, "checkpoint", model.MarkDamaged
		} else {
			prints, last := b.prints()
			if r.events = prints; last.After(h.CreatedAt) {
				h.CreatedAt = last
			}
			b.describe(&h)
			log.Title = cmp.Or(log.Title, b.opening())
		}
		h.TurnIndex, h.Index = 0, len(log.Headers) // a kickoff is one turn
		lineage, log.Headers, sizes = append(lineage, r), append(log.Headers, h), append(sizes, size)
		return nil
	}, "SELECT id, ifnull(parent_id, ''), "+document+", length(data) FROM checkpoints WHERE "+run+" = ? ORDER BY rowid", at.Key...)
	if err != nil {
		return log, err
	}
	for i, parent := range parents(lineage) {
		log.Headers[i].ParentID = parent
	}
	log.Head.Newest = true
	if at := slices.IndexFunc(log.Headers, func(h model.Header) bool { return h.ID == from }); at > 0 {
		log.Headers, sizes = log.Headers[at:], sizes[at:]
	}
	for i, size := range sizes {
		if log.Size += size; i == 0 {
			log.First = size
		}
	}
	return log, nil
}

// read returns a row's document. The error is model.ErrNoSnapshot where there is none.
func read(ctx context.Context, t rows.Tx, at rows.Place, id string) (data []byte, parent string, err error) {
	found, err := t.First(ctx, []any{&data, &parent}, "SELECT "+document+", ifnull(parent_id, '') FROM checkpoints WHERE "+run+" = ? AND id = ?", append(append([]any(nil), at.Key...), id)...)
	if err != nil || !found {
		return nil, "", cmp.Or(err, model.ErrNoSnapshot)
	}
	return data, parent, nil
}

// State implements rows.Format.
func (table) State(ctx context.Context, t rows.Tx, at rows.Place, id string) ([]byte, error) {
	data, _, err := read(ctx, t, at, id)
	if err == nil && data == nil {
		data = []byte("null")
	}
	return data, err
}

// About implements rows.Format.
func (f table) About(ctx context.Context, t rows.Tx, at rows.Place, id string) (about rows.About, err error) {
	data, recorded, err := read(ctx, t, at, id)
	if err != nil {
		return about, err
	}
	b, err := bodyOf(data)
	if err != nil {
		return about, nil // the log tells of it
	}
	about.Facts = b.facts()
	about.Facts.Add("recorded parent", recorded)
	about.Resume = calls(b.subject().Type, f.path+"#"+id)
	return about, nil
}
