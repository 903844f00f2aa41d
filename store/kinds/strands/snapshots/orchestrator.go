package snapshots

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/engine"
	"hindcast/store/kinds/strands/runs"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
)

// orchestrators are the files that the SDKs put the records of orchestrators in: the
// record is data.state of snapshot_latest.json. A program can save others, and so does a
// restore: an immutable snapshot, which no SDK looks for, has the record as it was.
type orchestrators struct{ s *Store }

// records are the files of an orchestrator.
type records struct {
	*history
	*runs.Records
}

// record is one of them.
type record struct {
	item
	doc files.Document
}

// Records implements runs.Files.
func (f orchestrators) Records(ctx context.Context, in engine.In, at engine.Place) (*runs.Records, error) {
	h, err := at.Own.(place).readHistory(ctx, in)
	if err != nil {
		return nil, err
	}
	rs := &runs.Records{File: h.storageName(latestFile), Written: h.writtenAt()}
	rs.Own = &records{h, rs}
	for _, i := range h.items {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("read snapshots: %w", err)
		}
		if i.aside != nil {
			continue
		}
		r := &record{item: i, doc: files.ReadDocument(tree.From(in.Tree), h.storageName(i.name), nil)}
		v := runs.Version{File: h.storageName(i.name), Data: r.doc.Data, Loaded: i.isLatest(), Own: r}
		switch {
		case errors.Is(r.doc.Err, fs.ErrNotExist):
			continue
		case r.doc.Err == nil:
			v.Run = f.decodeRun(r, &h.place)
		case r.Problem == "":
			r.capture = unreadCapture(r.doc.Err)
		}
		if v.Run == nil {
			v.Err, v.Row = errors.New(r.Problem), r.unreadableRow(&h.place)
		}
		if !v.Loaded {
			v.Left = h.reasonLeft(&i)
		}
		rs.Versions = append(rs.Versions, v)
	}
	return rs, nil
}

// Decode implements runs.Files.
func (f orchestrators) Decode(rs *runs.Records, data []byte) *runs.Run {
	d := parseFile(data)
	if d.Err != nil {
		return nil
	}
	r := &record{item{id: latestID, name: latestFile, capture: d.capture}, d.Document}
	return f.decodeRun(r, &rs.Own.(*records).place)
}

// decodeRun reads the run of a file that parsed.
func (f orchestrators) decodeRun(r *record, p *place) *runs.Run {
	t := r.doc.Tape
	data := t.Find(0, "data")
	in := p.sdkVersions(&f.s.running, r.Dialect, t)
	at := runs.Place{Session: p.id, Orchestrator: p.agent, File: p.fileOf(r.name), Updated: r.createdAt(), Unanswered: r.Dialect == typeScript && !in.NewestFollows(answersNodes)}
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

// unreadableRow returns the header that is shown for an unreadable file.
func (r *record) unreadableRow(p *place) *model.Header {
	return &model.Header{
		ID: r.id, SessionID: p.id, CreatedAt: r.createdAt(), Event: model.SnapshotEventNamed, EventName: r.Event,
		Title: r.Title, Marks: model.MarkDamaged, Head: true,
	}
}

// reasonLeft says why a record is not the latest: Hindcast saved it before it put
// another there, or the SDK has gone on.
func (h *history) reasonLeft(i *item) *model.Reason {
	if m := h.placeWrites(h.in).MakerOf(h.storageName(i.name)); m != nil && m.Op == model.OpRestore {
		return &model.Reason{Kind: model.ReasonRestore, At: m.At, TargetID: m.To, TargetIndex: m.ToIndex}
	}
	return pointer
}

// planMove returns a plan for the files of an orchestrator. The error is a *RefusedError
// where the SDK would not start from the record.
func (f orchestrators) planMove(m *runs.Move) (*move, error) {
	h := m.Records.Own.(*records).history
	own := &move{Move: m.Move, s: f.s, place: h.place, in: m.In, h: h.withInput(m.In), doc: parseFile(m.Made.Document)}
	fatal, _ := own.judgeLatest(&own.doc)
	if len(fatal) == 0 {
		return own, nil
	}
	name := latestFile
	if r, lies := m.From.Own.(*record); lies {
		name = r.name
	}
	return nil, &RefusedError{h.fileOf(name), fatal}
}

// Put implements runs.Files.
func (f orchestrators) Put(m *runs.Move) error {
	own, err := f.planMove(m)
	if err != nil {
		return err
	}
	if err := own.putLatest(m.Made.Document); err != nil {
		return err
	}
	if len(own.Steps) > 0 {
		own.addHazards(running)
	}
	own.Writes = append(own.Writes, journaled)
	return nil
}

// New implements runs.Files.
func (f orchestrators) New(m *runs.Move, as string) error {
	own, err := f.planMove(m)
	if err != nil {
		return err
	}
	to, err := own.findPlace(as)
	if err != nil {
		return err
	}
	own.addStep(tree.Step{Name: to.storageName(latestFile), Data: m.Made.Document})
	own.Writes = append(own.Writes, journaled)
	return nil
}

// Mend implements runs.Files.
func (orchestrators) Mend(m *runs.Move) error {
	return &model.UnsupportedError{Op: model.OpRepair, Reason: "the record of an orchestrator has no older one: remove " + m.Records.Own.(*records).fileOf(latestFile) + " to run it from the beginning"}
}

// Back implements runs.Files.
func (orchestrators) Back(before, after *runs.Records, next engine.Next) engine.Next {
	was, now := before.Own.(*records), after.Own.(*records)
	return was.describeReversal(now.history, func() engine.Next {
		next.Loads = fmt.Sprintf("orchestrator %q of session %q: %s", now.agent, now.sessionDir.id, next.Loads)
		return next
	})
}

// fillInfo puts the title and the size into info.
func (rs *records) fillInfo(info *model.SessionInfo) error {
	info.Title = rs.Title()
	for i := range rs.Versions {
		if v := &rs.Versions[i]; v.Aside == nil {
			info.Size += int64(len(v.Data))
		}
	}
	return rs.gone
}

func (rs *records) describeRow(id string) (about engine.About, err error) {
	v, n, err := rs.Row(id)
	if err != nil {
		return about, err
	}
	about.Facts, about.Gaps = v.Run.Facts(n), v.Run.Gaps()
	if r, lies := v.Own.(*record); lies {
		about.Facts = append(about.Facts, r.item.fileFacts(&rs.place)...)
	}
	return about, nil
}
