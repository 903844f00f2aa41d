package strandssnapshots

import (
	"context"
	"path"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/store/journal"
	"hindcast/store/lineage"
)

// What Hindcast has written to a place decides two things in its timeline. Rows
// that a restore left say so, with the time. And a file that was set aside because
// no SDK can load it, or list it, is a row that was left, too: the journal has it.

// entriesOf gives what the journal knows of a place, the oldest first: the writes
// that are not undone. One that was broken off may have set something aside.
func (s *Store) entriesOf(ctx context.Context, p *place) (list []journal.Entry) {
	folder := s.writer.name(p) + "/"
	for _, e := range s.writer.entries(ctx) {
		if !e.Undone && slices.ContainsFunc(e.Changes, func(c journal.Change) bool { return strings.HasPrefix(c.Path, folder) }) {
			list = append(list, e)
		}
	}
	return list
}

// keptItems gives the snapshots of a place that the journal alone still has, with
// the ids of present ones left out.
func (s *Store) keptItems(p *place, entries []journal.Entry, present []item) (list []item) {
	taken := make(map[string]bool, len(present))
	for i := range present {
		taken[present[i].id] = true
	}
	for _, e := range entries {
		for _, c := range e.Changes {
			id, ok := s.leftBy(p, &e, c)
			if short := "kept-" + c.Before.SHA256; ok && (id == latestID || taken[id]) {
				id = short[:min(len(short), 17)]
			}
			if !ok || taken[id] {
				continue
			}
			taken[id] = true
			list = append(list, item{id: id, name: path.Base(c.Path), kept: &c.Before})
		}
	}
	return list
}

// addKept adds a snapshot that the journal alone has. It comes behind all others,
// so that none of them can be taken to follow it. Where it holds what is loaded
// now, it was mended, and stood where that stands.
func (s *Store) addKept(l *line, i item) {
	data, err := s.writer.journal.Read(*i.kept)
	if err != nil {
		return // it was purged
	}
	c, m := readCapture(data)
	i.capture = c
	l.add(i, &m)
	h := l.history
	it := &h.items[len(h.items)-1]
	if it.How == lineage.Beginning && it.Parent == h.latest && it.Shared == it.messages {
		it.Link = h.items[h.latest].Link
	}
}

// leftBy reports whether a change took a snapshot away for which no other file of
// the place stands now, and gives the id that it had.
func (s *Store) leftBy(p *place, e *journal.Entry, c journal.Change) (id string, ok bool) {
	name := path.Base(c.Path)
	if c.Before.None() || c.Before.Folder || c.Path != s.writer.file(p, name) ||
		slices.ContainsFunc(e.Changes, func(other journal.Change) bool { return other.After.SHA256 == c.Before.SHA256 }) {
		return "", false
	}
	if name == latestFile {
		// Where an immutable snapshot was the head, it holds the same.
		return latestID, e.From == latestID
	}
	m := historyName.FindStringSubmatch(name)
	if m == nil || !c.After.None() {
		return "", false
	}
	return m[1], true
}

// left gives for each item the restore that it was left by last; nil for none.
func (h *history) left() []*model.Reason {
	left := make([]*model.Reason, len(h.items))
	for i := range h.entries {
		e := &h.entries[i]
		if e.Op != model.OpRestore && e.Op != model.OpRepair || e.NewSession != "" || e.Broken != "" {
			continue
		}
		to := h.find(e.To)
		on := h.path(to)
		why := &model.Reason{Kind: model.ReasonRestore, At: e.At, TargetID: e.To, TargetIndex: h.index(max(0, to))}
		for i := range h.path(h.before(e)) {
			if !on[i] {
				left[i] = why
			}
		}
		for i := range on {
			left[i] = nil
		}
	}
	return left
}

// before gives the item that was the head before an entry, -1 if it is not known:
// what was the latest is now saved beside the others, or set aside.
func (h *history) before(e *journal.Entry) int {
	if e.From != latestID {
		return h.find(e.From)
	}
	for _, c := range e.Changes {
		m := historyName.FindStringSubmatch(path.Base(c.Path))
		if c.Before.None() && m != nil && path.Base(path.Dir(c.Path)) == historyDir {
			return h.find(m[1])
		}
	}
	for _, c := range e.Changes {
		if path.Base(c.Path) != latestFile {
			continue
		}
		for i := range h.items {
			if kept := h.items[i].kept; kept != nil && *kept == c.Before && h.items[i].name == latestFile {
				return i
			}
		}
	}
	return -1
}

// restored reports whether what is loaded is what Hindcast last put there.
func (h *history) restored() bool {
	for i := len(h.entries) - 1; i >= 0; i-- {
		if e := &h.entries[i]; e.NewSession == "" && e.Broken == "" {
			return h.head() >= 0 && e.To == h.items[h.head()].id
		}
	}
	return false
}
