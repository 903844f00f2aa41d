package old

import (
	"context"
	"errors"
	"fmt"

	"hindcast/model"
	"hindcast/store/files"
)

// A repair makes that an SDK starts again. The newest snapshot that it starts from takes
// the place of one that it does not start from; where there is none, the place is
// emptied, so that the SDK begins anew. What the SDK lists and cannot restore is set
// aside. The journal keeps what was there, and the timeline shows it.

// planRepair plans a repair. The error is a model.NothingToError where nothing keeps the
// SDK from starting, and a *model.UnsupportedError where something does that no file can
// mend.
func (s *Store) planRepair(ctx context.Context, session string) (model.Plan, error) {
	p, err := s.locate(session)
	if err != nil {
		return model.Plan{}, err
	}
	if p.scope == scopeMultiAgent {
		return model.Plan{}, &model.UnsupportedError{Op: model.OpRepair, Reason: "the record of an orchestrator has no older one: remove " + p.file(latestFile) + " to run it from the beginning"}
	}
	m, err := s.begin(ctx, p, model.OpRepair)
	if err != nil {
		return model.Plan{}, err
	}
	m.plan.Target = m.plan.Head
	content, err := m.mendLatest()
	if err != nil {
		return model.Plan{}, err
	}
	m.mendHistory()
	if len(m.draft.Changes()) == 0 {
		return model.Plan{}, m.beyond()
	}
	m.guard()
	m.running()
	if content == nil {
		m.plan.Loads = "the SDK finds no " + latestFile + " and begins anew"
		m.plan.Writes = append(m.plan.Writes, "journal: one entry")
	} else {
		m.tell(content, p.sessionDir.id)
	}
	return m.draft.Plan(m.plan)
}

// mendLatest drafts what an SDK starts from, and returns it; nil if it then begins
// anew.
func (m *move) mendLatest() (content []byte, err error) {
	p, name := &m.place, m.s.writer.file(&m.place, latestFile)
	if m.h.latest < 0 {
		return nil, nil
	}
	it := &m.h.items[m.h.latest]
	data, err := m.s.contentOf(p, it)
	if errors.Is(err, files.ErrTooLarge) || errors.Is(err, files.ErrSymlink) {
		return nil, &model.UnsupportedError{Op: model.OpRepair, Reason: err.Error() + ": Hindcast does not write to it"}
	}
	if err != nil {
		return nil, err
	}
	doc := parsed(data)
	fatal, _ := m.judged(&doc)
	if len(fatal) == 0 && !m.foreign(&doc) {
		return data, nil
	}
	if len(fatal) > 0 {
		if fatal[0].Code == FaultSchema {
			m.askSchema(&doc)
		}
		m.hazards("the SDK does not start from what is loaded now: " + fatal[0].Meaning)
	}
	for i := len(m.h.items) - 1; i >= 0; i-- {
		good := &m.h.items[i]
		if i == m.h.latest || good.kept != nil || m.foreign(&doc) && good.Dialect == doc.Dialect {
			continue
		}
		d, err := m.sound(good)
		if refused := (*RefusedError)(nil); errors.As(err, &refused) || errors.Is(err, model.ErrNoSnapshot) {
			continue
		}
		if err != nil {
			return nil, err
		}
		m.target, m.doc = i, d
		m.plan.Target = m.h.point(i)
		content, said := d.resumable(m.versions(&d))
		m.hazards(said)
		m.leave(i)
		m.draft.Put(name, content)
		return content, nil
	}
	m.plan.Target = model.Point{}
	m.plan.Asks = append(m.plan.Asks, "there is no snapshot that the SDK would start from: it begins anew, without messages")
	m.leave(-1)
	m.draft.SetAside(name)
	return nil, nil
}

// foreign reports whether a document is of another SDK than all the others, and
// asks whether that is the wrong one.
func (m *move) foreign(d *document) bool {
	others := 0
	for i := range m.h.items {
		it := &m.h.items[i]
		if i == m.h.latest || it.kept != nil || it.Dialect == unknownDialect {
			continue
		}
		if it.Dialect == d.Dialect {
			return false
		}
		others++
	}
	return others > 0 && d.Dialect != unknownDialect
}

// askSchema asks before a version becomes another.
func (m *move) askSchema(d *document) {
	if d.Schema == "" {
		return
	}
	m.plan.Asks = append(m.plan.Asks, fmt.Sprintf("the snapshot says that it is of schema %.40q: if a newer SDK wrote it, take that SDK and leave the file as it is", d.Schema))
}

// mendHistory drafts what is to become of the immutable snapshots that an SDK
// lists and cannot restore.
func (m *move) mendHistory() {
	p, w := &m.place, &m.s.writer
	for i := range m.h.items {
		it := &m.h.items[i]
		switch {
		case it.isLatest() || it.kept != nil || it.err != nil:
		case it.Problem != "":
			m.draft.SetAside(w.file(p, it.name))
			m.hazards(fmt.Sprintf("%s cannot be read and is set aside: %s", it.name, it.Problem))
		case !uuid7.MatchString(it.id):
			m.draft.SetAside(w.file(p, it.name))
			m.hazards(fmt.Sprintf("%s has no name of a snapshot and is set aside", it.name))
		}
	}
}

// beyond says why nothing is mended: because there is nothing, or because no file
// is at fault.
func (m *move) beyond() error {
	c := checkup{place: &m.place, root: m.s.root, running: &m.s.running, said: make(map[string]bool), dialect: m.h.dialect()}
	c.identifiers()
	for _, f := range c.list.All() {
		if f.Severity == model.Stops {
			return &model.UnsupportedError{Op: model.OpRepair, Reason: f.Meaning + ", which Strands for TypeScript refuses: fork the session under another name"}
		}
	}
	return &model.NothingToError{Op: model.OpRepair}
}
