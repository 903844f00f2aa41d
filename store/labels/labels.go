// Package labels keeps the labels of snapshots: names and notes that a person gives them.
// They lie beside the store, in Hindcast's own files, and never in a framework's:
//
//	STORE/.hindcast/labels      of a store made of files, beside the journal
//	trips.db-labels             of Hindcast's own store
//	DATA/labels/<hash>          of any other store, and of a store without write access, in
//	                            the user's data folder; the hash is of kind and address
//
// A file of labels is JSON lines, one for each time that a label was set or removed. The
// last line about a name counts:
//
//	{"session":"trip","id":"18d2…","visit":14,"name":"emptied","note":"here it went wrong","at":"…"}
//	{"session":"trip","name":"emptied","removed":true,"at":"…"}
//
// A line is appended in one write, so that several programs may set labels at once. A killed
// program leaves at most a part of its own line, which readers skip. The file has mode 0600.
// Other programs may write it, so its content is untrusted: readers skip lines that are no
// label, and bound the size.
//
// A label names an id and a visit, so it stays when a session grows, and through a restore,
// an undo and a redo. While its snapshot is away, it waits.
package labels

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/media/disk"
	"hindcast/store/media/watch"
)

const (
	// mostBytes bounds a file of labels.
	mostBytes = 4 << 20
	// folder has the files of labels in the user's folder for data.
	folder = "labels"
)

var (
	// ErrTooLarge: a file of labels has more bytes than are read.
	ErrTooLarge = fmt.Errorf("the file has more than %d bytes; move it away to begin anew", mostBytes)
	// ErrNoPlace: there is no folder in which the labels of a store could be kept.
	ErrNoPlace = errors.New("there is no folder to keep labels in: set XDG_DATA_HOME")
	// ErrNoLabel: a session has no label of that name.
	ErrNoLabel = errors.New("no such label")
)

// Labels are the labels of the sessions of all stores. The zero value has no folder of the user. It is safe for concurrent use, by
// several programs at once too.
type Labels struct{ data string }

// New returns the labels of a user whose folder for data is at a path. It is made when there
// is something to keep in it. With "", only stores that have a place of their own can have labels.
func New(data string) Labels { return Labels{data} }

// place is where the labels of a session may be: a file, and the session's name in it.
type place struct{ dir, file, session string }

func (p place) path() string { return filepath.Join(p.dir, filepath.FromSlash(p.file)) }

// places returns where the labels of a session may be, the place beside the store first.
func (l Labels) places(ctx context.Context, s store.Store, session string) (list []place) {
	if f := s.Features(); f.LabelFile != nil {
		if dir, file, name := f.LabelFile(ctx, session); dir != "" {
			list = append(list, place{dir, file, name})
		}
	}
	if p, ok := l.ownPlace(s, folder); ok {
		p.session = session
		list = append(list, p)
	}
	return list
}

// ownPlace returns the label file of a store in the user's data folder; ok is false if the user has no data
// folder, or the store is standard input.
func (l Labels) ownPlace(s store.Store, folder string) (p place, ok bool) {
	if l.data == "" || s.Address() == "-" {
		return place{}, false
	}
	address := s.Address()
	if at, err := filepath.Abs(address); err == nil && !strings.Contains(address, "://") {
		address = at
		if real, err := filepath.EvalSymlinks(at); err == nil {
			address = real
		}
	}
	sum := sha256.Sum256([]byte(s.Kind() + "\x00" + address))
	return place{dir: l.data, file: path.Join(folder, hex.EncodeToString(sum[:]))}, true
}

// event is a line of a file of labels.
type event struct {
	Session string `json:"session"`
	ID      string `json:"id,omitempty"`
	Visit   int64  `json:"visit,omitempty"`
	model.Label
	Removed bool `json:"removed,omitempty"`
}

// Of returns the labels of a session, by name. It returns no labels for a session that does not exist.
func (l Labels) Of(ctx context.Context, s store.Store, session string) ([]model.Label, error) {
	byName := map[string]model.Label{}
	if f := s.Features(); f.Labels != nil {
		carried, err := f.Labels(ctx, session)
		if err != nil && !errors.Is(err, model.ErrNoSession) {
			return nil, fmt.Errorf("labels of session %q: %w", session, err)
		}
		for _, label := range carried {
			byName[label.Name] = label
		}
	}
	for _, p := range l.places(ctx, s, session) {
		data, err := read(p)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("labels: read %q: %w", p.path(), err)
		}
		for line := range bytes.Lines(data) {
			var e event
			if json.Unmarshal(line, &e) != nil || e.Session != p.session || !e.Removed && e.ID == "" || e.Check() != nil {
				continue
			}
			delete(byName, e.Name)
			if !e.Removed {
				e.Label.Session, e.Label.ID, e.Label.Visit = session, e.ID, e.Visit
				byName[e.Name] = e.Label
			}
		}
		break
	}
	list := make([]model.Label, 0, len(byName))
	for _, label := range byName {
		list = append(list, label)
	}
	slices.SortFunc(list, func(a, b model.Label) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// Set labels a snapshot of a session, in place of the label of that name that another
// one had, and returns it as it is kept. It is durable when Set returns. The errors are a [model.LabelError],
// [ErrNoPlace], [ErrTooLarge], and those of the file system.
func (l Labels) Set(ctx context.Context, s store.Store, label model.Label) (model.Label, error) {
	if err := label.Check(); err != nil {
		return model.Label{}, err
	}
	label.At = cmp.Or(label.At, time.Now()).UTC().Truncate(time.Second)
	return label, l.add(ctx, s, label.Session, event{ID: label.ID, Visit: label.Visit, Label: label})
}

// Remove takes a label away. The errors are [ErrNoLabel] and those of Set.
func (l Labels) Remove(ctx context.Context, s store.Store, session, name string) error {
	labels, err := l.Of(ctx, s, session)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(labels, func(label model.Label) bool { return label.Name == name }) {
		return fmt.Errorf("label %.80q of session %.80q: %w", name, session, ErrNoLabel)
	}
	gone := model.Label{Name: name, At: time.Now().UTC().Truncate(time.Second)}
	return l.add(ctx, s, session, event{Label: gone, Removed: true})
}

// Watch tells that labels of a session may have changed, as [store.Features].Watch does. The channel
// is closed when ctx ends.
func (l Labels) Watch(ctx context.Context, s store.Store, session string) <-chan struct{} {
	var sources []<-chan struct{}
	for _, p := range l.places(ctx, s, session) {
		sources = append(sources, watch.File(ctx, p.path()))
	}
	return watch.Any(sources...)
}

// ImportLabels sets the labels of rows that were imported into a store, at the snapshots that the
// rows became, and returns how many it set. The labels that a session has stay as they are.
func (l Labels) ImportLabels(ctx context.Context, s store.Store, rows []store.Row) (set int, err error) {
	for len(rows) > 0 {
		session, n := rows[0].Header.SessionID, 1
		for n < len(rows) && rows[n].Header.SessionID == session {
			n++
		}
		var here []model.Header
		for h, err := range s.Headers(ctx, session) {
			if err != nil {
				return set, fmt.Errorf("labels of session %q: %w", session, err)
			}
			here = append(here, h)
		}
		taken, err := l.Of(ctx, s, session)
		if err != nil {
			return set, err
		}
		for _, row := range rows[:n] {
			h := findCopy(here, &row.Header)
			for _, label := range row.Labels {
				if h == nil || slices.ContainsFunc(taken, func(l model.Label) bool { return l.Name == label.Name }) {
					continue
				}
				label.Session, label.ID, label.Visit = h.SessionID, h.ID, h.Visit
				if _, err := l.Set(ctx, s, label); err != nil {
					return set, err
				}
				taken = append(taken, label)
				set++
			}
		}
		rows = rows[n:]
	}
	return set, nil
}

// findCopy returns the header of the visit that an imported row became. An import may number visits anew, so
// among the visits with the row's id it prefers the one with the same event.
func findCopy(here []model.Header, row *model.Header) (found *model.Header) {
	for i := range here {
		switch h := &here[i]; {
		case h.ID != row.ID:
		case h.Index == row.Index && h.Event == row.Event && h.CreatedAt.Equal(row.CreatedAt):
			return h
		case found == nil:
			found = h
		}
	}
	return found
}

// read returns the lines at a place.
func read(p place) ([]byte, error) {
	d, err := disk.Open(p.dir)
	if err != nil {
		return nil, err
	}
	data, err := readFrom(d, p.file)
	return data, errors.Join(err, d.Close())
}

func readFrom(d *disk.OS, name string) ([]byte, error) {
	info, err := d.Lstat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > mostBytes {
		return nil, ErrTooLarge
	}
	return d.Read(name)
}

// add appends a line at the first place where there are labels, or else can be.
func (l Labels) add(ctx context.Context, s store.Store, session string, e event) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	places := l.places(ctx, s, session)
	if len(places) == 0 {
		return ErrNoPlace
	}
	for _, p := range places {
		if _, err := os.Lstat(p.path()); err == nil {
			places = []place{p}
			break
		}
	}
	var err error
	for _, p := range places {
		e.Session = p.session
		if !utf8.ValidString(e.Session) || !utf8.ValidString(e.ID) {
			return errors.New("the name of the session or the id is no UTF-8, and a file of labels holds no other text")
		}
		if err = write(p, e); err == nil {
			return nil
		}
		err = fmt.Errorf("labels: write %q: %w", p.path(), err)
		if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) {
			break
		}
	}
	return err
}

// write appends a line to the file at a place, which is made if it is missing.
func write(p place, what any) (err error) {
	line, err := json.Marshal(what)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	d, err := disk.Open(p.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if dir := path.Dir(p.file); dir != "." {
		if err := d.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	// Several programs may make the file at once, so what is in it was appended.
	switch err := d.Create(p.file, nil, 0o600); {
	case err == nil:
		if err := d.Sync(path.Dir(p.file)); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrExist):
		return err
	}
	data, err := readFrom(d, p.file)
	if err != nil {
		return err
	}
	if len(data)+len(line) > mostBytes {
		return ErrTooLarge
	}
	if len(data) > 0 && data[len(data)-1] != '\n' {
		line = append([]byte{'\n'}, line...) // the part of a line that a program left
	}
	return d.Append(p.file, line)
}
