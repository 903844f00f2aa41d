package snapshots

import (
	"errors"
	"fmt"

	"hindcast/model"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
)

// A repair makes an SDK start again. The newest loadable snapshot replaces the one that
// the SDK does not start from. If there is no loadable snapshot, the place is emptied, so
// that the SDK begins anew. Snapshots that the SDK lists and cannot restore are set
// aside. The journal keeps the old files, and the timeline shows them.

// planRepair plans a repair. The error is a model.NothingToError where nothing keeps the
// SDK from starting, and a *model.UnsupportedError where something does that no file can
// mend.
func (m *move) planRepair() error {
	if head := m.h.headPosition(); head >= 0 {
		m.Target = m.h.pointOf(head)
	}
	if err := m.mendLatest(); err != nil {
		return err
	}
	m.mendHistory()
	if len(m.Steps) == 0 {
		return m.nothingToMend()
	}
	m.addGuard()
	m.addHazards(running)
	m.Writes = append(m.Writes, journaled)
	return nil
}

// mendLatest plans what an SDK starts from, or that it begins anew.
func (m *move) mendLatest() error {
	name := m.place.storageName(latestFile)
	data, err := m.readLatest()
	if errors.Is(err, files.ErrTooLarge) || errors.Is(err, files.ErrSymlink) {
		return &model.UnsupportedError{Op: model.OpRepair, Reason: err.Error() + ": Hindcast does not write to it"}
	}
	if err != nil || m.h.at < 0 {
		return err
	}
	doc := parseFile(data)
	fatal, _ := m.judgeLatest(&doc)
	if len(fatal) == 0 && !m.isForeign(&doc) {
		return nil
	}
	if len(fatal) > 0 {
		if fatal[0].Code == FaultSchema {
			m.askSchema(&doc)
		}
		m.addHazards("the SDK does not start from the snapshot that it loads: " + fatal[0].Meaning)
	}
	for i := len(m.h.items) - 1; i >= 0; i-- {
		good := &m.h.items[i]
		if i == m.h.at || good.aside != nil || m.isForeign(&doc) && good.Dialect == doc.Dialect {
			continue
		}
		d, err := m.soundDocument(good)
		if refused := (*RefusedError)(nil); errors.As(err, &refused) || errors.Is(err, model.ErrNoSnapshot) {
			continue
		}
		if err != nil {
			return err
		}
		m.target, m.doc = i, d
		m.Target = m.h.pointOf(i)
		content, said := d.resumableBytes(m.sdkVersions(&d))
		m.addHazards(said)
		m.addStep(tree.Step{Name: name, Data: content})
		return nil
	}
	m.Target = model.Point{}
	m.Asks = append(m.Asks, "there is no snapshot that the SDK would start from: it begins anew, without messages")
	m.addStep(tree.Step{Name: name, Aside: true})
	return nil
}

// isForeign reports whether a document is of another SDK than all the others, and
// asks whether that is the wrong one.
func (m *move) isForeign(d *document) bool {
	others := 0
	for i := range m.h.items {
		it := &m.h.items[i]
		if i == m.h.at || it.aside != nil || it.Dialect == unknownDialect {
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
	m.Asks = append(m.Asks, fmt.Sprintf("the snapshot says that it is of schema %.40q: if a newer SDK wrote it, take that SDK and leave the file as it is", d.Schema))
}

// mendHistory plans what is to become of the immutable snapshots that an SDK
// lists and cannot restore.
func (m *move) mendHistory() {
	for i := range m.h.items {
		it := &m.h.items[i]
		switch {
		case it.isLatest() || it.aside != nil || it.err != nil:
		case it.Problem != "":
			m.addStep(tree.Step{Name: m.place.storageName(it.name), Aside: true})
			m.addHazards(fmt.Sprintf("%s cannot be read and is set aside: %s", it.name, it.Problem))
		case !uuid7().MatchString(it.id):
			m.addStep(tree.Step{Name: m.place.storageName(it.name), Aside: true})
			m.addHazards(fmt.Sprintf("%s has no name of a snapshot and is set aside", it.name))
		}
	}
}

// nothingToMend says why nothing is mended: because there is nothing, or because no file
// is at fault.
func (m *move) nothingToMend() error {
	c := checkup{place: &m.place, tree: m.in, running: &m.s.running, said: make(map[string]bool), dialect: m.h.startDialect()}
	c.checkIdentifiers()
	for _, f := range c.list.All() {
		if f.Severity == model.Stops {
			return &model.UnsupportedError{Op: model.OpRepair, Reason: f.Meaning + ", which Strands for TypeScript refuses: fork the session under another name"}
		}
	}
	return &model.NothingToError{Op: model.OpRepair}
}
