package old

import (
	"context"
	"path"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/store/journal"
	"hindcast/store/lineage"
)

// What Hindcast has written to a place decides three things in its timeline. Rows
// that a restore left say so, with the time. A file that was set aside because
// no SDK can load it, or list it, is a row that was left, too: the journal has it. And
// so is a snapshot_latest.json that an undo brought back and an agent then wrote over.

// entriesOf returns what the journal knows of a place, the oldest first: all writes but
// forks that are undone, which took all along that was in them. One that was broken off
// may have set something aside.
func (s *Store) entriesOf(ctx context.Context, p *place) (list []journal.Entry) {
	folder := s.writer.name(p) + "/"
	for _, e := range s.writer.entries(ctx) {
		if !(e.Undone && e.NewSession != "") && slices.ContainsFunc(e.Changes, func(c journal.Change) bool { return strings.HasPrefix(c.Path, folder) }) {
			list = append(list, e)
		}
	}
	return list
}

// keptItems returns the snapshots of a place that the journal alone still has, with
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
			list = append(list, item{id: id, name: path.Base(c.Path), kept: &c.Before, back: e.Undone})
		}
	}
	return list
}

// addOverwritten adds the snapshots that an undo brought back and that an agent wrote
// over. They come before the latest, which may go on from one of them. latest is nil for
// none.
func (s *Store) addOverwritten(l *line, kept []item, latest *item) {
	h := l.history
	for _, i := range kept {
		if !i.back {
			continue
		}
		m, ok := s.readKept(&i)
		same := func(other item) bool { return other.Sum == i.Sum }
		if ok && !slices.ContainsFunc(h.items, same) && (latest == nil || !same(*latest)) {
			l.add(i, &m)
		}
	}
}

// addSetAside adds the other snapshots that the journal alone has. They come behind all
// others, so that none of them can be taken to follow one. Where one holds what is
// loaded now, it was mended, and stood where that stands.
func (s *Store) addSetAside(l *line, kept []item) {
	h := l.history
	for _, i := range kept {
		m, ok := s.readKept(&i)
		if i.back || !ok {
			continue
		}
		l.add(i, &m)
		it := &h.items[len(h.items)-1]
		if it.How == lineage.Beginning && it.Parent == h.latest && it.Shared == it.messages {
			it.Link = h.items[h.latest].Link
		}
	}
}

// readKept reads what the journal has of an item; false if that was purged.
func (s *Store) readKept(i *item) (m messages, ok bool) {
	data, err := s.writer.journal.Read(*i.kept)
	if err != nil {
		return m, false
	}
	i.capture, m = readCapture(data)
	return m, true
}

// leftBy reports whether a change took a snapshot away for which no other file of
// the place stands now, and returns the id that it had.
func (s *Store) leftBy(p *place, e *journal.Entry, c journal.Change) (id string, ok bool) {
	name := path.Base(c.Path)
	if c.Before.None() || c.Before.Folder || c.Path != s.writer.file(p, name) {
		return "", false
	}
	if e.Undone { // it is back, and agents write over the latest alone
		return latestID, name == latestFile && e.From == latestID
	}
	if slices.ContainsFunc(e.Changes, func(other journal.Change) bool { return other.After.SHA256 == c.Before.SHA256 }) {
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

// moves returns the times that Hindcast put the head of the place elsewhere, as the rows
// are now.
func (h *history) moves() (list []model.Move) {
	for i := range h.entries {
		e := &h.entries[i]
		if e.Undone || e.Op != model.OpRestore && e.Op != model.OpRepair || e.NewSession != "" || e.Broken != "" {
			continue
		}
		m := model.Move{To: e.To, Why: &model.Reason{Kind: model.ReasonRestore, At: e.At, TargetID: e.To, TargetIndex: h.index(max(0, h.find(e.To)))}}
		if from := h.before(e); from >= 0 {
			m.From = h.items[from].id
		}
		list = append(list, m)
	}
	return list
}

// before returns the item that was the head before an entry, -1 if it is not known:
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
		if e := &h.entries[i]; !e.Undone && e.NewSession == "" && e.Broken == "" {
			return h.head() >= 0 && e.To == h.items[h.head()].id
		}
	}
	return false
}
