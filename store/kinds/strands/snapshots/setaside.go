package snapshots

import (
	"path"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/store/engine"
	"hindcast/store/kinds/strands/lineage"
)

// What Hindcast has written to a place shows in its timeline. A file that was set aside or
// replaced because no SDK can load it, or list it, is a row that was left: the journal has
// it. And so is a snapshot_latest.json that an undo brought back and an agent then wrote
// over.

// keptPrefix begins the ids of snapshots that have none of their own. Their SHA-256 follows.
const keptPrefix = "kept-"

// listAside returns the snapshots of the place that the journal may have alone, read, but those
// that were purged.
func (h *history) listAside() (list []kept) {
	taken := make(map[string]bool, len(h.listing.history)+1)
	for _, name := range slices.Concat(h.listing.history, h.latest) {
		taken[idOf(name)] = true
	}
	for _, a := range h.placeWrites(h.in).ListAside() {
		id := h.idAside(a)
		if id == "" {
			continue
		}
		if short := keptPrefix + a.Version.SHA256; id == latestID || taken[id] {
			id = short[:len(keptPrefix)+12]
		}
		if taken[id] {
			continue
		}
		taken[id] = true
		if data, err := h.placeWrites(h.in).Read(a); err == nil {
			k := kept{item: item{id: id, name: path.Base(a.Name), aside: a}}
			k.capture, k.messages = readCapture(data)
			list = append(list, k)
		}
	}
	return list
}

// kept is a snapshot that the journal has.
type kept struct {
	item
	messages messages
}

// idAside returns the id that a snapshot had for which no other file of the place stands,
// "" for any other content.
func (h *history) idAside(a *engine.Aside) string {
	name := path.Base(a.Name)
	m := historyName().FindStringSubmatch(name)
	switch {
	case a.Name != h.storageName(name) || a.Saved != "" || a.How == engine.Undone:
	case name == latestFile && (a.Head == latestID || strings.HasPrefix(a.Head, keptPrefix)): // where an immutable one was the head, it holds the same
		return latestID
	case m != nil && a.How == engine.SetAside:
		return m[1]
	}
	return ""
}

// holdsData reports whether a snapshot that is there has the same data.
func (h *history) holdsData(k *kept, latest *scanned) bool {
	return latest != nil && latest.Sum == k.Sum || slices.ContainsFunc(h.items, func(i item) bool { return i.aside == nil && i.Sum == k.Sum })
}

// addOverwritten adds the snapshots that an undo brought back and that an agent overwrote.
// They come before the latest, which may go on from one of them. latest may be nil.
func (l *line) addOverwritten(aside []kept, latest *scanned) {
	for i := range aside {
		if k := &aside[i]; k.aside.How == engine.BroughtBack && !l.history.holdsData(k, latest) {
			l.addSnapshot(k.item, &k.messages)
		}
	}
}

// addSetAside adds the other snapshots that the journal alone has. They come behind all
// others, so that none of them can be taken to follow one. Where one holds what is
// loaded now, it was mended, and stood where that stands.
func (l *line) addSetAside(aside []kept) {
	h := l.history
	for i := range aside {
		k := &aside[i]
		if k.aside.How == engine.BroughtBack || k.name == latestFile && k.Sum != "" && h.holdsData(k, nil) {
			continue
		}
		l.addSnapshot(k.item, &k.messages)
		it := &h.items[len(h.items)-1]
		if it.How == lineage.Beginning && it.Parent == h.at && it.Shared == it.messages {
			it.Link = h.items[h.at].Link
		}
	}
}

// isRestored reports whether the head is the snapshot that Hindcast last restored.
func (h *history) isRestored() bool {
	last := h.placeWrites(h.in).Last()
	return last != nil && h.headPosition() >= 0 && last.To == h.items[h.headPosition()].id
}

// What a place alone knows of a row that is off the path.
var (
	overwritten = &model.Reason{Kind: model.ReasonOverwritten}
	failedLeaf  = &model.Reason{Kind: model.ReasonFailedLeaf}
	pointer     = &model.Reason{Kind: model.ReasonPointer}
)
