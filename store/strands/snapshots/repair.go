package snapshots

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/files"
)

// A repair makes that an SDK starts again. What the SDK does not start from is
// mended where the mend loses nothing; else the newest snapshot that it does start
// from takes the place; and where there is none, the place is emptied, so that the
// SDK begins anew. Beside that, what the SDK lists and cannot restore goes: files
// that cannot be read are set aside, and those whose name is no id get one. The
// journal keeps what was there, and the timeline shows it.

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
	if err := m.mendHistory(); err != nil {
		return model.Plan{}, err
	}
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

// mendLatest drafts what an SDK starts from, and gives it; nil if it then begins
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
		if mended, ok := m.mend(doc, fatal); ok {
			m.draft.Put(name, mended)
			m.plan.Target = model.Point{ID: latestID, Index: m.h.index(m.h.latest)}
			return mended, nil
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

// mend tries to take the faults of a document away one after the other, as far as
// that loses nothing of the conversation.
func (m *move) mend(d document, fatal []model.Fault) (data []byte, ok bool) {
	const most = 20 // each round takes one away
	var said []string
	for range most {
		if len(fatal) == 0 {
			m.hazards(said...)
			return d.Data, true
		}
		next, words := m.mendOne(&d, fatal[0].Code)
		if next == nil {
			return nil, false
		}
		if !slices.Contains(said, words) {
			said = append(said, words)
		}
		d = parsed(next)
		fatal, _ = m.judged(&d)
	}
	return nil, false
}

// mendOne takes one fault away, and says how in words; nil if that cannot be.
func (m *move) mendOne(d *document, code string) (data []byte, said string) {
	t := d.Tape
	if t == nil || t.Kind(0) != jsontape.Object {
		return nil, ""
	}
	key := func(python, typeScriptName string) string {
		if d.Dialect == typeScript {
			return typeScriptName
		}
		return python
	}
	set := func(object jsontape.Node, key, value, said string) ([]byte, string) {
		if t.Kind(object) != jsontape.Object {
			return nil, ""
		}
		p := jsontape.NewPatch(t)
		p.Put(object, key, []byte(value))
		return p.Bytes(), said
	}
	switch code {
	case FaultEncoding:
		if cut, ok := bytes.CutPrefix(d.Data, []byte("\ufeff")); ok {
			return cut, "the byte order mark goes"
		}
	case FaultSchema:
		m.askSchema(d)
		return set(0, key("schema_version", "schemaVersion"), `"1.0"`, "the schema version becomes 1.0")
	case FaultScope:
		return set(0, "scope", `"`+m.place.scope+`"`, "the scope becomes that of the folder")
	case FaultCreated:
		at := m.s.writer.Now()
		if info, err := m.s.root.Lstat(m.place.path(latestFile)); err == nil {
			at = info.ModTime()
		}
		return set(0, key("created_at", "createdAt"), `"`+isoformat(at)+`"`, "the time of creation becomes that of the file")
	case FaultRemovedCount:
		return set(t.Find(d.data, "conversation_manager_state"), "removed_message_count", "0", "the count of removed messages becomes 0")
	case FaultManager:
		return d.without("conversation_manager_state"), "the state of the conversation manager goes: the program's begins anew"
	case FaultInterruptState:
		none := `{"interrupts": {}, "context": {}, "activated": false}`
		if d.Dialect == typeScript {
			none = `{"interrupts": {}, "activated": false}`
		}
		return set(d.data, key("interrupt_state", "interrupts"), none, "the state of the interrupts begins anew: none waits for an answer")
	}
	return nil, ""
}

// askSchema asks before a version becomes another.
func (m *move) askSchema(d *document) {
	if d.Schema == "" {
		return
	}
	m.plan.Asks = append(m.plan.Asks, fmt.Sprintf("the snapshot says that it is of schema %.40q: if a newer SDK wrote it, take that SDK and leave the file as it is", d.Schema))
}

// without returns the document without a member of its data, nil where there is
// none.
func (d *document) without(key string) []byte {
	t := d.Tape
	n := t.Find(d.data, key)
	if n < 0 {
		return nil
	}
	p := jsontape.NewPatch(t)
	p.Remove(d.data, func(m jsontape.Node) bool { return m == n })
	return p.Bytes()
}

// mendHistory drafts what is to become of the immutable snapshots that an SDK
// lists and cannot restore.
func (m *move) mendHistory() error {
	p, w := &m.place, &m.s.writer
	// An id is minted for the time of the snapshot, so that it is listed where it
	// belongs.
	ids := minter{random: w.random}
	for i := range m.h.items {
		it := &m.h.items[i]
		switch {
		case it.isLatest() || it.kept != nil || it.err != nil:
		case it.Problem != "":
			m.draft.SetAside(w.file(p, it.name))
			m.hazards(fmt.Sprintf("%s cannot be read and is set aside: %s", it.name, it.Problem))
		case !uuid7.MatchString(it.id):
			id, err := ids.mint(it.created())
			if err != nil {
				return err
			}
			data, err := m.s.contentOf(p, it)
			if err != nil {
				return err
			}
			m.draft.Put(w.name(p, historyDir, "snapshot_"+id+".json"), data)
			m.draft.SetAside(w.file(p, it.name))
			m.hazards(fmt.Sprintf("%s gets the name of a snapshot, %s", it.name, id))
			if m.plan.Target.ID == it.id {
				m.plan.Target.ID = id
			}
		}
	}
	return nil
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
