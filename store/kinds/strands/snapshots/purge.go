package snapshots

import (
	"fmt"

	"hindcast/model"
)

// planPurge plans that what the journal keeps of a session is forgotten, all of it or the
// snapshots whose messages say something else in the head. What lies in the session
// itself stays: the older snapshots are the SDK's own, and the plan says so where they
// hold what was redacted.
func (m *move) planPurge(what model.PurgeScope) {
	if head := m.h.headPosition(); head >= 0 {
		m.Target = m.h.pointOf(head)
	}
	now := m.headDocument()
	m.Forget = func(_ string, file []byte) bool {
		if what == model.PurgeAll {
			return true
		}
		d := parseFile(file)
		return d.Err == nil && d.redactedHazard(now) != ""
	}
	m.warnRedacted(now)
}

// warnRedacted tells of the snapshots that hold what was redacted and are not Hindcast's
// to forget.
func (m *move) warnRedacted(now *document) {
	n := 0
	for i := range m.h.items {
		it := &m.h.items[i]
		if it.isLatest() || it.aside != nil || m.place.scope != scopeAgent {
			continue
		}
		data, err := m.h.readContent(it)
		if err != nil {
			continue
		}
		if d := parseFile(data); d.Err == nil && d.redactedHazard(now) != "" {
			n++
		}
	}
	if n > 0 {
		m.addHazards(fmt.Sprintf("%d snapshots of the session itself hold messages as they were before: they are the SDK's own, and stay", n))
	}
}
