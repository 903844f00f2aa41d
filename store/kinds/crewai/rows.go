package crewai

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/planning"
	"hindcast/store/engine/rows"
)

// subject is a query for the path of a checkpoint's subject: the first of its entities that executes no agent.
const subject = `(SELECT CASE coalesce(json_extract(data, '$.entities[0].executor_type'), '') WHEN '' THEN '$.entities[0]'
	ELSE (SELECT fullkey FROM json_each(data, '$.entities') WHERE coalesce(json_extract(value, '$.executor_type'), '') = '' LIMIT 1) END AS at)`

// run names the run that a row is of, as body.runName does; jsonb is read as crewAI reads it.
const run = `iif(json_valid(data, 9),
	(SELECT coalesce(nullif(json_extract(data, at || '.name'), ''), nullif(json_extract(data, at || '.role'), ''), json_extract(data, at || '.entity_type'), 'crew')
	|| '-' || substr(coalesce(json_extract(data, at || '.checkpoint_kickoff_event_id'), json_extract(data, at || '.checkpoint_state.id'), 'run'), 1, 8) FROM ` + subject + `),
	'(damaged)')`

// kindOfRows returns the kind of the file at a path.
func kindOfRows(path string) rows.Kind {
	return rows.Kind{
		Name: name, Framework: "crewAI",
		IDs:       folderKind.IDs,
		Own:       folderKind.Own,
		Does:      []model.Op{model.OpRestore},
		Refuses:   map[model.Op]string{model.OpFork: itself},
		Tables:    map[string]string{"checkpoints": "id created_at parent_id branch data"},
		Held:      []engine.RowSet{{Table: "checkpoints", Where: run + " = ?1"}},
		Large:     []string{"data"},
		Snapshots: "checkpoints",
		Key:       []string{run},
		ID:        "id",
		Reads:     "id, " + document + " AS data",
		Format:    table{path},
	}
}

// table implements rows.Format. The path is that of the file.
type table struct{ path string }

// document is a row's, as crewAI reads it; one that is damaged is null.
const document = "iif(json_valid(data, 9), json(data), NULL)"

// logged is a row as the log has it.
type logged struct {
	row
	header  model.Header
	size    int64
	opening string
	// inside is that of own.
	inside []string
}

// readAll returns the checkpoints of a run: which follows which is known from all of them alone.
func readAll(ctx context.Context, t rows.Tx, at rows.Place) (list []logged, err error) {
	err = t.Each(ctx, func(scan func(...any) error) error {
		var one logged
		var branch string
		var data []byte
		if err := scan(&one.id, &one.recorded, &branch, &data, &one.size); err != nil {
			return err
		}
		h := &one.header
		h.ID, h.CreatedAt, h.Size = one.id, secondOf(one.id), int64(len(data))
		b, err := bodyOf(data)
		if err != nil {
			h.Event, h.EventName, h.Marks = model.SnapshotEventNamed, "checkpoint", model.MarkDamaged
		} else {
			prints, last := b.eventPrints()
			if one.events = prints; last.After(h.CreatedAt) {
				h.CreatedAt = last
			}
			b.describeRow(h)
			one.opening, one.inside = b.firstTask(), b.mismatchedPlace(one.recorded, branch)
		}
		h.TurnIndex, h.Index = 0, len(list) // a kickoff is one turn
		list = append(list, one)
		return nil
	}, "SELECT id, ifnull(parent_id, ''), ifnull(branch, ''), "+document+", length(data) FROM checkpoints WHERE "+run+" = ? ORDER BY rowid", at.Key...)
	lineage := make([]row, len(list))
	for i := range list {
		lineage[i] = list[i].row
	}
	for i, parent := range parentsOf(lineage) {
		list[i].header.ParentID = parent
	}
	return list, err
}

// Log implements rows.Format.
func (table) Log(ctx context.Context, t rows.Tx, at rows.Place, from string) (log rows.Log, err error) {
	list, err := readAll(ctx, t, at)
	if err != nil {
		return log, err
	}
	log.Facts.Newest = true
	for i := range list {
		log.Title = cmp.Or(log.Title, list[i].opening)
	}
	if at := slices.IndexFunc(list, func(one logged) bool { return one.id == from }); at > 0 {
		list = list[at:]
	}
	for i := range list {
		log.AddRow(list[i].header, list[i].size)
	}
	return log, nil
}

// Faults implements rows.Doctor.
func (table) Faults(ctx context.Context, t rows.Tx, at rows.Place) ([]model.Fault, error) {
	list, err := readAll(ctx, t, at)
	var faults store.FaultList
	for i := range list {
		one := &list[i]
		lineageFaults(&faults, one.id, one.header.ParentID, one.recorded, one.inside)
	}
	return faults.All(), err
}

// readRow returns a row's document. The error is model.ErrNoSnapshot if the row does not exist.
func readRow(ctx context.Context, t rows.Tx, at rows.Place, id string) (data []byte, parent string, err error) {
	found, err := t.First(ctx, []any{&data, &parent}, "SELECT "+document+", ifnull(parent_id, '') FROM checkpoints WHERE "+run+" = ? AND id = ?", append(append([]any(nil), at.Key...), id)...)
	if err != nil || !found {
		return nil, "", cmp.Or(err, model.ErrNoSnapshot)
	}
	return data, parent, nil
}

// State implements rows.Format.
func (table) State(ctx context.Context, t rows.Tx, at rows.Place, id string) ([]byte, error) {
	data, _, err := readRow(ctx, t, at, id)
	if err == nil && data == nil {
		data = []byte("null")
	}
	return data, err
}

// Weave implements rows.Weaver: states share no rows, and all are read by one query.
func (table) Weave(ctx context.Context, t rows.Tx, at rows.Place, ids []string, to store.Loom) error {
	if len(ids) == 1 {
		return nil
	}
	wanted := make(map[string]int, len(ids))
	for i, id := range ids {
		wanted[id] = i
	}
	return t.Each(ctx, func(scan func(...any) error) error {
		var id string
		var data []byte
		if err := scan(&id, &data); err != nil {
			return err
		}
		if i, ok := wanted[id]; ok {
			if data == nil {
				data = []byte("null")
			}
			to.Take(i, store.Rope{State: data})
		}
		return nil
	}, "SELECT id, "+document+" FROM checkpoints WHERE "+run+" = ? ORDER BY rowid", at.Key...)
}

// About implements rows.Format.
func (f table) About(ctx context.Context, t rows.Tx, at rows.Place, id string) (about rows.About, err error) {
	data, recorded, err := readRow(ctx, t, at, id)
	if err != nil {
		return about, err
	}
	b, err := bodyOf(data)
	if err != nil {
		return about, nil // the log tells of it
	}
	about.Facts = b.otherFacts()
	about.Facts.Add("recorded parent", recorded)
	about.Resume = b.resumeCalls(f.path + "#" + id)
	return about, nil
}

// Move implements rows.Mover: a copy under a new id, on a branch of its own, and the newest row.
func (f table) Move(ctx context.Context, t rows.Tx, before *rows.Session, change model.Change) (*rows.Move, error) {
	at := before.At(change.Ref.ID)
	m := &rows.Move{Move: engine.Move{Target: before.Rows[at].Point()}}
	if before.Rows[at].Head {
		return m, nil
	}
	data, _, err := readRow(ctx, t, before.Place, change.Ref.ID)
	if err != nil {
		return nil, err
	}
	b, err := bodyOf(data)
	if err != nil {
		return nil, &model.UnsupportedError{Op: change.Op, Reason: "crewAI cannot resume the checkpoint: " + err.Error()}
	}
	list, err := rows.Rows(ctx, t, "checkpoints", " WHERE id = ?", change.Ref.ID)
	if err != nil || len(list) == 0 {
		return nil, cmp.Or(err, model.ErrNoSnapshot)
	}
	var times []time.Time
	if err := t.Each(ctx, func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		times = append(times, secondOf(id))
		return err
	}, "SELECT id FROM checkpoints"); err != nil {
		return nil, err
	}
	o := b.noteOwn()
	c, err := copyOf(data, &o, change.Ref.ID, f.path, secondAfter(before.Now, times))
	if err != nil {
		return nil, err
	}
	row := list[0].With("id", c.id).With("parent_id", change.Ref.ID).With("branch", c.branch)
	second, _, _ := strings.Cut(c.id, "_")
	row["created_at"], row["data"] = second, string(c.data)
	if _, binary := list[0]["data"].([]byte); binary {
		var stored []byte
		if err := t.Row(ctx, "SELECT jsonb(?)", string(c.data)).Scan(&stored); err != nil {
			return nil, err
		}
		row["data"] = append([]byte{}, stored...)
	}
	m.Steps = []rows.Step{{Table: "checkpoints", After: row}}
	m.Hazards, m.Asks = c.hazards, c.asks
	return m, nil
}

// Next implements rows.Mover.
func (f table) Next(ctx context.Context, t rows.Tx, after *rows.Session, _ *rows.Move) (next planning.Next, err error) {
	if len(after.Rows) == 0 { // a run that was given back is taken out again
		return next, nil
	}
	newest := after.Rows[len(after.Rows)-1].ID
	data, _, err := readRow(ctx, t, after.Place, newest)
	if err != nil {
		return next, err
	}
	next.Loads = loads(newest)
	if b, err := bodyOf(data); err == nil { // the log tells of one that is damaged
		next.Calls = b.resumeCalls(f.path + "#" + newest)
	}
	return next, nil
}

// Hangs implements rows.Mover: checkpoints that follow one that went.
func (table) Hangs(ctx context.Context, t rows.Tx, went []rows.Step) (what string, err error) {
	for i := range went {
		var n int
		id := went[i].Before.Text("id")
		if err := t.Row(ctx, "SELECT count(*) FROM checkpoints WHERE parent_id = ?", id).Scan(&n); err != nil {
			return "", err
		}
		if n > 0 {
			return "a checkpoint followed " + id, nil
		}
	}
	return "", nil
}
