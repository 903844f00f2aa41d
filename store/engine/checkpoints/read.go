package checkpoints

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/store/engine"
	"hindcast/store/media/files"
	"hindcast/store/media/journal"
	"hindcast/store/media/tree"
)

// mostFolders bounds how many folders are looked into, fewFolders to recognise one.
const (
	mostFolders = 1_000
	fewFolders  = 64
)

// read is the folder as it was read.
type read struct {
	sessions map[string][]Item
	// flawed are the files that cannot be read, with why.
	flawed []flawed
}

type flawed struct{ file, why string }

// listFolders returns the folders in which files can be, down to a depth and at most so many, the
// one that was opened first.
func (k *Kind) listFolders(t tree.Tree, depth, most int) []string {
	dirs, level := []string{"."}, []string{"."}
	for range depth {
		var below []string
		for _, dir := range level {
			names, err := t.Folders(dir)
			if err != nil {
				continue // reading it says so
			}
			slices.Sort(names)
			for _, name := range names {
				full := tree.Join(dir, name)
				if strings.HasPrefix(name, ".") || k.Format.Is(full) || len(dirs) == most {
					continue
				}
				if at, err := t.Stamp(full); err == nil && at.Kind == files.Directory {
					dirs, below = append(dirs, full), append(below, full)
				}
			}
		}
		level = below
	}
	return dirs
}

// itemCodec makes items of files.
func (k *Kind) itemCodec(dir string) tree.Codec[Decoded] {
	return tree.Codec[Decoded]{
		Decode: func(f tree.File) (Decoded, bool) {
			d := k.Format.Decode(tree.Join(dir, f.Name), f.Data)
			return d, d.Flaw == ""
		},
		Note: func(d Decoded) []byte {
			text, err := json.Marshal(notesOf(d))
			if err != nil {
				return nil // the file is read again
			}
			return text
		},
		Recall: func(f tree.File) (Decoded, error) {
			var n notes
			err := json.Unmarshal(f.Data, &n)
			return n.decodeNotes(), err
		},
	}
}

// notes are the cached items of a file.
type notes struct {
	Items []note `json:"items,omitempty"`
	Flaw  string `json:"flaw,omitempty"`
}

// note is an item. A header has a JSON of its own, for people, which is not read back.
type note struct {
	Session, ID, Parent string
	Created             time.Time
	Turn                int
	Event               model.SnapshotEvent
	EventName, Title    string
	Size                int64
	Marks               model.Marks
	Opening             string
	Own                 []byte
}

func notesOf(d Decoded) notes {
	n := notes{Flaw: d.Flaw}
	for _, it := range d.Items {
		n.Items = append(n.Items, note{
			it.Session, it.ID, it.ParentID, it.CreatedAt, it.TurnIndex, it.Event, it.EventName, it.Title, it.Size, it.Marks, it.Opening, it.Own,
		})
	}
	return n
}

func (n *notes) decodeNotes() Decoded {
	d := Decoded{Flaw: n.Flaw}
	for _, it := range n.Items {
		d.Items = append(d.Items, Item{Session: it.Session, Opening: it.Opening, Own: it.Own, Header: model.Header{
			ID: it.ID, ParentID: it.Parent, CreatedAt: it.Created, TurnIndex: it.Turn, Event: it.Event, EventName: it.EventName,
			Title: it.Title, Size: it.Size, Marks: it.Marks,
		}})
	}
	return d
}

// readFiles reads all files of the folder.
func (k *Kind) readFiles(ctx context.Context, in engine.In) (*read, error) {
	all := &read{sessions: map[string][]Item{}}
	for _, dir := range k.listFolders(in.Tree, k.Depth, mostFolders) {
		names, err := in.List(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		var mine []string
		for _, name := range names {
			if k.Format.Is(tree.Join(dir, name)) && !k.Temporary(name) {
				mine = append(mine, name)
			}
		}
		slices.Sort(mine)
		noted, err := tree.Notes(ctx, in.Tree, in.Memo, dir, mine, k.itemCodec(dir))
		if err != nil {
			return nil, err
		}
		for i := range noted {
			all.addFile(tree.Join(dir, noted[i].Name), &noted[i])
		}
	}
	return all, nil
}

func (r *read) addFile(file string, n *tree.Noted[Decoded]) {
	switch {
	case errors.Is(n.Err, fs.ErrNotExist), errors.Is(n.Err, files.ErrNotRegular), errors.Is(n.Err, files.ErrSymlink):
		return
	case n.Err != nil:
		r.flawed = append(r.flawed, flawed{file, files.Cause(n.Err).Error()})
	case n.Is.Flaw != "":
		r.flawed = append(r.flawed, flawed{file, n.Is.Flaw})
	}
	for _, item := range n.Is.Items {
		item.File = file
		r.sessions[item.Session] = append(r.sessions[item.Session], item)
	}
}

// reader reads and changes the sessions of a folder.
type reader struct {
	*Kind
	dir     string
	storage *engine.Storage
}

// readSession returns the log of a session.
func (r reader) readSession(ctx context.Context, in engine.In, at engine.Place, _ string) (*engine.Log, error) {
	all, err := r.readFiles(ctx, in)
	if err != nil {
		return nil, err
	}
	return r.buildLog(in, at, all.sessions[at.Session]), nil
}

// buildLog makes the log of a session of its items.
func (r reader) buildLog(in engine.In, at engine.Place, items []Item) *engine.Log {
	log := &engine.Log{Place: at, Head: -1}
	if len(items) > 0 {
		log.Head = r.Format.Arrange(items)
	}
	for i := range items {
		h := items[i].Header
		h.SessionID = at.Session
		log.Rows, log.Files = append(log.Rows, h), append(log.Files, items[i].File)
	}
	log.Own = items
	if newest := len(items) - 1; newest >= 0 {
		name := items[newest].File
		if stamp, err := in.Stamp(name); err == nil {
			log.Written = []engine.Written{{Name: name, At: stamp.Modified}}
		}
	}
	return log
}

// itemsOf returns the items of a log, including the items that only the journal has.
func itemsOf(log *engine.Log) []Item {
	if whole, ok := log.Whole.([]Item); ok {
		return whole
	}
	items, _ := log.Own.([]Item)
	return items
}

// findPlace returns the place of a session, which may be one that is not there.
func (r reader) findPlace(_ context.Context, in engine.In, session string) (engine.Place, error) {
	return r.placeOf(in, session), nil
}

func (r reader) placeOf(in engine.In, session string) engine.Place {
	return engine.Place{Session: session, Folders: r.listFolders(in.Tree, r.Depth, mostFolders)}
}

// isForeign reports whether a name is nothing of the framework's.
func (k *Kind) isForeign(name string) bool {
	return name == journal.Folder || k.Temporary(path.Base(name))
}

// compareAge orders items by their time, then by their id.
func compareAge(a, b *Item) int {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), strings.Compare(a.ID, b.ID))
}

// ByTime puts items in the order of their times, then of their ids.
func ByTime(items []Item) {
	slices.SortFunc(items, func(a, b Item) int { return compareAge(&a, &b) })
}
