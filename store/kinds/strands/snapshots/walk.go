package snapshots

import (
	"context"
	"slices"

	"hindcast/store/kinds/strands/lineage"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
)

// Who follows whom takes time that grows with the messages of all snapshots together. A plan
// asks it of the same files again and again, and so does a screen that follows an agent: of
// files that did not change it is remembered.

// walk is the immutable snapshots of a place up to some file, each with its parent. It does not change.
type walk struct {
	names  []string
	stamps []tree.Stamp
	items  []item
	known  []int
	tree   *lineage.Tree
	last   *scanned // what was made of the last file
}

const (
	// fewFiles is how many files are not worth a walk, and moreFiles how many more not worth another: a plan
	// looks at one more than there are.
	fewFiles  = 32
	moreFiles = 8
)

// walkSnapshots puts the immutable snapshots of a history into a line.
func (h *history) walkSnapshots(ctx context.Context) (*line, error) {
	dir, names, l := h.nameOf(historyDir), h.listing.history, newLine(h)
	defer h.in.Hold(dir)()
	stamps := make([]tree.Stamp, len(names))
	for i, name := range names {
		stamps[i], _ = h.in.Stamp(tree.Join(dir, name)) // to read it is an error
	}
	from, c := 0, codec
	if w, ok := h.in.Memo.FindKept("walk " + dir).(*walk); ok && w.beginsWith(names, stamps) {
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
	if len(names) >= fewFiles && len(list) > moreFiles && !slices.ContainsFunc(list, func(n tree.Noted[*scanned]) bool { return n.Err != nil }) {
		h.in.Memo.Keep("walk "+dir, &walk{names, stamps, slices.Clone(h.items), slices.Clone(l.known), l.tree.Clone(), list[len(list)-1].Is})
	}
	return l, nil
}

// beginsWith reports whether the files of a folder begin with those of the walk.
func (w *walk) beginsWith(names []string, stamps []tree.Stamp) bool {
	n := len(w.names)
	return n <= len(names) && slices.Equal(w.names, names[:n]) && slices.EqualFunc(w.stamps, stamps[:n], surelySame)
}

// surelySame reports whether two stamps of a file are surely of one content.
func surelySame(a, b tree.Stamp) bool {
	if a.Tag != "" || b.Tag != "" {
		return a.Is(b)
	}
	return a.Kind == files.Regular && a.Stamp.Same(b.Stamp)
}
