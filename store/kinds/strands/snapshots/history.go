package snapshots

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/engine"
	"hindcast/store/kinds/strands/lineage"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
)

// latestID is the id of the row of snapshot_latest.json.
const latestID = "latest"

// historyName is the pattern by which both SDKs tell a snapshot among the files
// of immutable_history.
var historyName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^snapshot_([\w-]+)\.json$`) })

// uuid7 is the pattern of the ids that both SDKs make.
var uuid7 = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
})

// timeOfID returns the time that a UUID of version 7 begins with, to the
// millisecond.
func timeOfID(id string) (at time.Time, ok bool) {
	half, ok := halfOf(id)
	if !ok {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(half >> 16)).UTC(), true
}

// item is one snapshot file of a place, with the facts derived about it.
type item struct {
	id   string
	name string // in its folder
	capture
	// err is why the file cannot be read at all.
	err error
	// aside is the journal's record of a snapshot without a file; nil if the file exists.
	aside *engine.Aside

	lineage.Link
	messages int // in the list
	// turns counts the turns that ended up to here, along the path.
	turns int
	// failed says that a tool failed since the parent.
	failed bool
	// written is how many bytes the file has.
	written int64
}

// isLatest reports whether it is snapshot_latest.json.
func (i *item) isLatest() bool { return i.name == latestFile && i.aside == nil }

// createdAt returns when the snapshot was taken: as it says itself, else as its id
// says.
func (i *item) createdAt() time.Time {
	if !i.Created.IsZero() {
		return i.Created
	}
	at, _ := timeOfID(i.id)
	return at
}

// savedAt returns when the snapshot was saved: as its id says, else as it says
// itself.
func (i *item) savedAt() time.Time {
	if at, ok := timeOfID(i.id); ok {
		return at
	}
	return i.Created
}

// listing is the names of the snapshots of a place.
type listing struct {
	// history are the files of the immutable ones, in the order in which both SDKs list
	// them, which is that of their names.
	history []string
	// latest is snapshot_latest.json, if it is there.
	latest []string
	// unlisted is why the immutable ones cannot be listed; nil where they can, or are not
	// there. The SDKs start without them.
	unlisted error
}

// listFiles lists the snapshots of a place. The error is that of its folder.
func (p *place) listFiles(t tree.Tree) (l listing, err error) {
	if _, err := t.List(p.nameOf()); err != nil {
		return l, fmt.Errorf("%s: %w", p.pathOf(), err)
	}
	names, err := t.List(p.nameOf(historyDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.unlisted = err
	}
	for _, name := range names {
		if m := historyName().FindStringSubmatch(name); m != nil && m[1] != latestID {
			l.history = append(l.history, name)
		}
	}
	slices.SortFunc(l.history, func(a, b string) int { return strings.Compare(idOf(a), idOf(b)) })
	if at, err := t.Stamp(p.storageName(latestFile)); err == nil && at.Kind != files.Nothing {
		l.latest = []string{latestFile}
	}
	return l, nil
}

// idOf returns the id of the snapshot in a file.
func idOf(name string) string {
	return strings.TrimSuffix(strings.TrimPrefix(name, "snapshot_"), ".json")
}

// newItems returns the snapshots of a listing, unread.
func (l *listing) newItems() (list []item) {
	for _, name := range slices.Concat(l.history, l.latest) {
		list = append(list, item{id: idOf(name), name: name})
	}
	return list
}

// history is the snapshots of one place in the order in which both SDKs list
// them.
type history struct {
	place
	listing
	in    engine.In
	items []item
	// at is the position of snapshot_latest.json, or -1. It comes last in the list; only
	// the snapshots that were set aside, which are no part of the list, follow it.
	at int
	// same is the position of the immutable snapshot with the same data as
	// snapshot_latest.json, or -1.
	same int
	// gone is why there is no folder; nil where there is one.
	gone error
}

// readHistory reads the snapshots of a place, as far as they are not known, and works out who
// follows whom. The error is that of the folder, unless it is not there.
func (p place) readHistory(ctx context.Context, in engine.In) (*history, error) {
	h := &history{place: p, in: in, at: -1, same: -1}
	if h.listing, h.gone = p.listFiles(in.Tree); h.gone != nil {
		if errors.Is(h.gone, fs.ErrNotExist) {
			return h, nil
		}
		return nil, h.gone
	}
	line, err := h.walkSnapshots(ctx)
	if err != nil {
		return nil, fmt.Errorf("read snapshots: %w", err)
	}
	now, err := tree.Notes(ctx, in.Tree, in.Memo, p.nameOf(), h.latest, codec)
	if err != nil {
		return nil, fmt.Errorf("read snapshots: %w", err)
	}
	aside := h.listAside()
	var latest *scanned
	if len(now) > 0 {
		latest = now[0].Is
	}
	line.addOverwritten(aside, latest)
	line.addNoted(now)
	h.findLatest()
	line.addSetAside(aside)
	h.in.Memo = nil // what is kept of a session does not keep what was decoded
	return h, nil
}

// withInput returns the history with what it reads from in.
func (h *history) withInput(in engine.In) *history {
	is := *h
	is.in = in
	return &is
}

// line puts snapshots into a history, each with its parent.
type line struct {
	history *history
	tree    *lineage.Tree
	// known are the positions of the snapshots whose messages are known: all snapshots
	// that the tree has.
	known []int
}

func newLine(h *history) *line { return &line{history: h, tree: lineage.NewTree()} }

// addNoted adds the files of a folder but those that were deleted since it was listed.
func (l *line) addNoted(list []tree.Noted[*scanned]) {
	for _, n := range list {
		i, m := item{id: idOf(n.Name), name: n.Name, err: n.Err}, new(messages)
		switch {
		case errors.Is(n.Err, fs.ErrNotExist):
			continue
		case n.Err != nil:
			i.capture = unreadCapture(n.Err)
			if at, err := l.history.in.Stamp(l.history.storageName(n.Name)); err == nil {
				i.written = at.Size
			}
		default:
			i.capture, i.written, m = n.Is.capture, n.Is.written, &n.Is.messages
		}
		l.addSnapshot(i, m)
	}
}

// addSnapshot adds the next snapshot. If none of its messages can be read, its parent is the
// snapshot listed before it, for lack of better evidence.
func (l *line) addSnapshot(i item, m *messages) {
	h := l.history
	if i.messages = len(m.prints); i.Problem != "" && i.messages == 0 {
		i.Link = lineage.Link{Parent: len(h.items) - 1}
		if i.Parent >= 0 {
			i.How = lineage.Guess
		}
	} else {
		i.Link = l.tree.Add(m.prints, i.Removed)
		if i.Parent >= 0 {
			i.Parent = l.known[i.Parent]
		}
		l.known = append(l.known, len(h.items))
	}
	if i.Parent >= 0 {
		i.turns = h.items[i.Parent].turns
	}
	for _, s := range m.shapes[i.Shared:] {
		if s&endsTurn != 0 {
			i.turns++
		}
		i.failed = i.failed || s&failed != 0
	}
	if i.isLatest() {
		h.at = len(h.items)
	}
	h.items = append(h.items, i)
}

// findLatest finds the immutable snapshot that snapshot_latest.json is: the last
// one with the same data, and of several the one taken at the same time.
func (h *history) findLatest() {
	if h.at >= 0 && h.items[h.at].Sum != "" {
		h.same = h.shownPosition(&h.items[h.at].capture)
	}
}

// shownPosition returns the position of the immutable snapshot that is shown for the loaded one,
// or -1. It prefers the same data and time, then the same data, then the last.
func (h *history) shownPosition(latest *capture) int {
	found := -1
	for i := range h.items {
		it := &h.items[i]
		if it.isLatest() || it.aside != nil || it.Sum != latest.Sum {
			continue
		}
		if found < 0 || it.Created.Equal(latest.Created) || !h.items[found].Created.Equal(latest.Created) {
			found = i
		}
	}
	return found
}

// indexOf returns the number of an item as people see it. The latest has no number of its
// own if an immutable snapshot has the same data.
func (h *history) indexOf(i int) int {
	if h.same >= 0 && i > h.at {
		return i - 1
	}
	return i
}

// headPosition returns the position of the snapshot that an SDK loads on start, or -1.
func (h *history) headPosition() int {
	if h.same >= 0 {
		return h.same
	}
	return h.at
}

// findRow returns the position of the row of an id, or -1.
func (h *history) findRow(id string) int {
	for i := range h.items {
		if h.items[i].id == id && (i != h.at || h.same < 0) {
			return i
		}
	}
	return -1
}

// pointOf returns the visit of an item.
func (h *history) pointOf(i int) model.Point {
	return model.Point{ID: h.items[i].id, Index: h.indexOf(i)}
}

// pathTo returns the items from the root to one, itself included.
func (h *history) pathTo(i int) map[int]bool {
	on := make(map[int]bool)
	for ; i >= 0 && !on[i]; i = h.items[i].Parent {
		on[i] = true
	}
	return on
}

// readContent reads the file of an item. The error is model.ErrNoSnapshot where it is
// gone.
func (h *history) readContent(i *item) ([]byte, error) { return h.place.readContent(h.in, i) }

func (p *place) readContent(in engine.In, i *item) (data []byte, err error) {
	if i.aside != nil {
		data, err = p.placeWrites(in).Read(i.aside)
	} else {
		data, _, err = in.Read(p.storageName(i.name), nil)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, model.ErrNoSnapshot
	case err != nil:
		return nil, fmt.Errorf("%s: %w", p.fileOf(i.name), err)
	}
	return data, nil
}

// lastChange returns the newest time that the snapshots of a place tell of: the
// latest itself, and the others in their names.
func (p place) lastChange(t tree.Tree) (latest time.Time) {
	l, err := p.listFiles(t)
	if err != nil {
		return time.Time{} // it is listed, and Faults says why
	}
	for _, it := range l.newItems() {
		if it.isLatest() {
			it.Created = p.timeOfLatest(t)
		}
		if at := it.savedAt(); at.After(latest) {
			latest = at
		}
	}
	return latest
}

// timeOfLatest returns the time that snapshot_latest.json says of itself. In all
// that the SDKs write it comes before the data, so that these need not be
// skipped over.
func (p *place) timeOfLatest(t tree.Tree) time.Time {
	data, _, err := t.Read(p.storageName(latestFile), nil)
	if err != nil {
		return time.Time{}
	}
	for m, err := range jsontape.Members(bytes.TrimPrefix(data, []byte("\ufeff"))) {
		if err != nil {
			break
		}
		if key := string(m.Key); key == `"created_at"` || key == `"createdAt"` {
			return timeOf(m.Value)
		}
	}
	return time.Time{}
}
