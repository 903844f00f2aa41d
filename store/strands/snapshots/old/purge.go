package old

import (
	"context"
	"fmt"
	"strings"

	"hindcast/model"
	"hindcast/store/journal"
)

// planPurge plans that what the journal keeps of a session is forgotten, all of it or the
// snapshots whose messages say something else in the head. What lies in the session
// itself stays: the older snapshots are the SDK's own, and the plan says so where they
// hold what was redacted.
func (s *Store) planPurge(ctx context.Context, session string, what model.PurgeScope) (model.Plan, error) {
	p, err := s.locate(session)
	if err != nil {
		return model.Plan{}, err
	}
	m, err := s.begin(ctx, p, model.OpPurge)
	if err != nil {
		return model.Plan{}, err
	}
	m.plan.Target = m.plan.Head
	now := m.headDocument()
	if err := m.forget(ctx, func(file []byte) bool {
		if what == model.PurgeAll {
			return true
		}
		d := parsed(file)
		return d.Err == nil && d.redactedHazard(now) != ""
	}); err != nil {
		return model.Plan{}, err
	}
	if len(m.draft.Changes()) == 0 {
		return model.Plan{}, &model.NothingToError{Op: model.OpPurge}
	}
	m.stays(now)
	return m.draft.Plan(m.plan)
}

// forget drafts that the journal forgets those of its contents that were in the
// place, are not there now, and are chosen. What belongs to another place as well
// stays.
func (m *move) forget(ctx context.Context, chosen func(file []byte) bool) error {
	w := &m.s.writer
	folder := w.name(&m.place) + "/"
	elsewhere := make(map[string]bool)
	entries := w.entries(ctx)
	for _, e := range entries {
		for _, c := range e.Changes {
			if !strings.HasPrefix(c.Path, folder) {
				elsewhere[c.Before.SHA256], elsewhere[c.After.SHA256] = true, true
			}
		}
	}
	seen := make(map[journal.Version]bool)
	for _, e := range entries {
		for _, c := range e.Changes {
			if !strings.HasPrefix(c.Path, folder) {
				continue
			}
			now, err := w.journal.Version(c.Path)
			if err != nil {
				return err
			}
			for _, v := range []journal.Version{c.Before, c.After} {
				if v.SHA256 == "" || v.SHA256 == now.SHA256 || elsewhere[v.SHA256] || seen[v] {
					continue
				}
				seen[v] = true
				if data, err := w.journal.Read(v); err == nil && chosen(data) {
					m.draft.Forget(c.Path, v)
				}
			}
		}
	}
	return ctx.Err()
}

// stays tells of the snapshots that hold what was redacted and are not Hindcast's
// to forget.
func (m *move) stays(now *document) {
	n := 0
	for i := range m.h.items {
		it := &m.h.items[i]
		if it.isLatest() || it.kept != nil || m.place.scope != scopeAgent {
			continue
		}
		data, err := m.s.contentOf(&m.place, it)
		if err != nil {
			continue
		}
		if d := parsed(data); d.Err == nil && d.redactedHazard(now) != "" {
			n++
		}
	}
	if n > 0 {
		m.hazards(fmt.Sprintf("%d snapshots of the session itself hold messages as they were before: they are the SDK's own, and stay", n))
	}
}
