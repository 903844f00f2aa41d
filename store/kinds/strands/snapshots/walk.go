package snapshots

import (
	"context"
	"slices"
	"sync"

	"hindcast/store/kinds/strands/lineage"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
)

// Who follows whom takes time that grows with the messages of all snapshots together. A plan
// asks it of the same files again and again, and so does a screen that follows an agent: of
// files that did not change it is remembered.

// walk is the immutable snapshots of a place up to some file, each with its parent.
type walk struct {
	dir    string
	names  []string
	stamps []tree.Stamp
	items  []item
	known  []int
	tree   *lineage.Tree
	last   *scanned // what was made of the last file
}

// walks are the last ones that were made, the newest first.
type walks struct {
	mu   sync.Mutex
	list []*walk
}

const (
	// mostWalks bounds those that are remembered, and fewFiles is how many files are not
	// worth one.
	mostWalks = 4
	fewFiles  = 32
)

// walk puts the immutable snapshots of a history into a line.
func (ws *walks) walk(ctx context.Context, h *history) (*line, error) {
	dir, names, l := h.name(historyDir), h.listing.history, newLine(h)
	defer h.in.Hold(dir)()
	stamps := make([]tree.Stamp, len(names))
	for i, name := range names {
		stamps[i], _ = h.in.Stamp(tree.Join(dir, name)) // to read it is an error
	}
	from, c := 0, codec
	if w := ws.find(dir, names, stamps); w != nil {
		last := *w.last
		last.room = nil // another one goes on from it, too
		from, c.First = len(w.names), &last
		h.items, l.known, l.tree = slices.Clone(w.items), slices.Clone(w.known), w.tree.Clone()
	}
	list, err := tree.Notes(ctx, h.in.Tree, h.in.Memo, dir, names[from:], c)
	if err != nil {
		return nil, err
	}
	l.addNoted(list)
	if len(list) > 0 && len(names) >= fewFiles && !slices.ContainsFunc(list, func(n tree.Noted[*scanned]) bool { return n.Err != nil }) {
		ws.add(&walk{dir, names, stamps, slices.Clone(h.items), slices.Clone(l.known), l.tree.Clone(), list[len(list)-1].Is})
	}
	return l, nil
}

// find returns the longest walk that is a prefix of the folder's current content, or nil.
func (ws *walks) find(dir string, names []string, stamps []tree.Stamp) (found *walk) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, w := range ws.list {
		if w.dir == dir && len(w.names) <= len(names) && (found == nil || len(w.names) > len(found.names)) &&
			slices.Equal(w.names, names[:len(w.names)]) && slices.EqualFunc(w.stamps, stamps[:len(w.names)], surelySame) {
			found = w
		}
	}
	return found
}

// surelySame reports whether two stamps of a file are surely of one content.
func surelySame(a, b tree.Stamp) bool {
	if a.Tag != "" || b.Tag != "" {
		return a.Is(b)
	}
	return a.Kind == files.Regular && a.Stamp.Same(b.Stamp)
}

func (ws *walks) add(w *walk) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.list = append([]*walk{w}, ws.list[:min(len(ws.list), mostWalks-1)]...)
}
