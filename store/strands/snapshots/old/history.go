package old

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"hindcast/store/files"
	"hindcast/store/journal"
	"hindcast/store/lineage"
)

// latestID is the id of the row of snapshot_latest.json.
const latestID = "latest"

// historyName is the pattern by which both SDKs tell a snapshot among the files
// of immutable_history.
var historyName = regexp.MustCompile(`^snapshot_([\w-]+)\.json$`)

// uuid7 is the pattern of the ids that both SDKs make.
var uuid7 = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// timeOfID returns the time that a UUID of version 7 begins with, to the
// millisecond.
func timeOfID(id string) (at time.Time, ok bool) {
	if !uuid7.MatchString(id) {
		return time.Time{}, false
	}
	ms, err := strconv.ParseInt(id[:8]+id[9:13], 16, 64)
	return time.UnixMilli(ms).UTC(), err == nil
}

// item is one snapshot file of a place, with what was worked out about it.
type item struct {
	id   string
	name string // in its folder
	capture
	// err is why the file cannot be read at all.
	err error
	// kept is the version by which the journal has a file that is no longer in its
	// folder; nil for a file that is.
	kept *journal.Version
	// back says that an undo brought it back: if it lies nowhere, an agent wrote over it.
	back bool

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
func (i *item) isLatest() bool { return i.name == latestFile && i.kept == nil }

// created returns when the snapshot was taken: as it says itself, else as its id
// says.
func (i *item) created() time.Time {
	if !i.Created.IsZero() {
		return i.Created
	}
	at, _ := timeOfID(i.id)
	return at
}

// saved returns when the snapshot was saved: as its id says, else as it says
// itself.
func (i *item) saved() time.Time {
	if at, ok := timeOfID(i.id); ok {
		return at
	}
	return i.Created
}

// history is the snapshots of one place in the order in which both SDKs list
// them, which is that of their names.
type history struct {
	place
	items []item
	// latest is the position of snapshot_latest.json, -1 for none. It comes behind
	// all others but those that the journal alone has, which are no part of the
	// list.
	latest int
	// same is the position of the immutable snapshot whose data are those of
	// snapshot_latest.json, -1 for none.
	same int
	// entries is what Hindcast wrote to the store.
	entries []journal.Entry
}

// file returns the name of a snapshot's file, relative to the store.
func (p *place) file(name string) string {
	if name == latestFile {
		return p.path(name)
	}
	return p.path(historyDir, name)
}

// opened holds the two folders of a place open.
type opened struct {
	latest, history *files.Folder // nil where there is none
	// unlisted is why the second cannot be opened; nil where it can, or is not
	// there. The SDKs start without it.
	unlisted error
}

// open opens the folders of a place.
func (s *Store) open(p *place) (o opened, err error) {
	if o.latest, err = files.OpenFolder(s.root, p.path()); err != nil {
		return opened{}, fmt.Errorf("%s: %w", p.path(), err)
	}
	o.history, err = files.OpenFolder(s.root, p.path(historyDir))
	if err != nil {
		o.history = nil
		if !errors.Is(err, fs.ErrNotExist) {
			o.unlisted = err
		}
	}
	return o, nil
}

// close lets go of the folders, from which was only read.
func (o *opened) close() {
	for _, f := range []*files.Folder{o.latest, o.history} {
		if f != nil {
			f.Close()
		}
	}
}

// folder returns the folder that a file is in.
func (o *opened) folder(name string) *files.Folder {
	if name == latestFile {
		return o.latest
	}
	return o.history
}

// items lists the snapshots of a place, unread, in the order of the SDKs.
func (o *opened) items() ([]item, error) {
	var list []item
	if o.history != nil {
		names, err := o.history.Names()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", historyDir, err)
		}
		for _, name := range names {
			if m := historyName.FindStringSubmatch(name); m != nil && m[1] != latestID {
				list = append(list, item{id: m[1], name: name})
			}
		}
	}
	slices.SortFunc(list, func(a, b item) int { return strings.Compare(a.id, b.id) })
	if _, err := o.latest.Stat(latestFile); err == nil {
		list = append(list, item{id: latestID, name: latestFile})
	}
	return list, nil
}

// history reads the snapshots of a place, as far as they are not known, and
// works out who follows whom.
func (s *Store) history(ctx context.Context, p place) (*history, error) {
	o, err := s.open(&p)
	if err != nil {
		return nil, err
	}
	defer o.close()
	items, err := o.items()
	if err != nil {
		return nil, err
	}
	h := &history{place: p, latest: -1, same: -1, entries: s.entriesOf(ctx, &p)}
	line := newLine(h)
	kept := s.keptItems(&p, h.entries, items)
	placed := false
	err = s.readAll(ctx, &p, &o, items, func(i item, m *messages) {
		if errors.Is(i.err, fs.ErrNotExist) {
			return // it was deleted since it was listed
		}
		if i.isLatest() {
			s.addOverwritten(line, kept, &i)
			placed = true
		}
		line.add(i, m)
	})
	if err != nil {
		return nil, err
	}
	h.compare()
	if !placed {
		s.addOverwritten(line, kept, nil)
	}
	s.addSetAside(line, kept)
	return h, nil
}

// line puts snapshots into a history, each with its parent.
type line struct {
	history *history
	tree    *lineage.Tree
	// known are the positions of those whose messages are known, which are all
	// that the tree has.
	known []int
}

func newLine(h *history) *line { return &line{history: h, tree: lineage.NewTree()} }

// add adds the next snapshot. One of whose messages nothing can be read hangs on
// the one that is listed before it: nothing says otherwise.
func (l *line) add(i item, m *messages) {
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
	h.items = append(h.items, i)
}

// compare finds the immutable snapshot that snapshot_latest.json is: the last
// one with the same data, and of several the one taken at the same time.
func (h *history) compare() {
	n := len(h.items)
	if n == 0 || !h.items[n-1].isLatest() {
		return
	}
	h.latest = n - 1
	latest := &h.items[h.latest]
	if latest.Sum == "" {
		return
	}
	h.same = h.shown(&latest.capture)
}

// shown returns the position of the immutable snapshot by which people know what is
// loaded, -1 for none: that with the same data and of the same time, else with the
// same data; of several the last.
func (h *history) shown(latest *capture) int {
	found := -1
	for i := range h.items {
		it := &h.items[i]
		if it.isLatest() || it.kept != nil || it.Sum != latest.Sum {
			continue
		}
		if found < 0 || it.Created.Equal(latest.Created) || !h.items[found].Created.Equal(latest.Created) {
			found = i
		}
	}
	return found
}

// index returns the number by which people know an item: the latest has none of its
// own where an immutable snapshot holds the same.
func (h *history) index(i int) int {
	if h.same >= 0 && i > h.latest {
		return i - 1
	}
	return i
}

// head returns the position of the snapshot that an SDK loads on start, -1 for
// none.
func (h *history) head() int {
	if h.same >= 0 {
		return h.same
	}
	return h.latest
}

// lastChange returns the newest time that the snapshots of a place tell of: the
// latest itself, and the others in their names.
func (s *Store) lastChange(ctx context.Context, p place) (latest time.Time, err error) {
	o, err := s.open(&p)
	if err != nil {
		return time.Time{}, nil // it is listed, and Faults says why
	}
	defer o.close()
	items, err := o.items()
	if err != nil {
		return time.Time{}, nil
	}
	for i := range items {
		it := &items[i]
		if it.isLatest() {
			it.Created = s.timeOfLatest(&o)
		}
		if at := it.saved(); at.After(latest) {
			latest = at
		}
	}
	return latest, ctx.Err()
}
