// Package gitobjects reads the objects of Git repositories: trees and the files in them. It runs no program and reads
// no configuration, so a prepared repository can do nothing.
//
//	OBJECTS/12/34…                a loose object
//	OBJECTS/pack/pack-….{idx,pack} many objects
//	OBJECTS/info/alternates       other folders of objects, a line each
//
// The id of each object is checked against its content. Ids are SHA-1.
package gitobjects

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"hindcast/store/media/tree"
)

var (
	// ErrMissing says that no folder has an object.
	ErrMissing = errors.New("the object is missing")
	// ErrTooLarge says that an object is larger than the bound.
	ErrTooLarge = errors.New("the object is too large")

	errDamaged = errors.New("the object is damaged")
)

// Bounds of reading.
const (
	// MostBytes bounds an object.
	MostBytes = 8 << 20
	// mostFolders bounds the folders of objects, mostPacks the packs of one, and mostDepth the folders within each
	// other.
	mostFolders, mostPacks, mostDepth = 64, 1000, 200
	// mostAlternates bounds the file that names other folders.
	mostAlternates = 64 << 10
)

// Objects are the objects of some folders. Close it. It is not safe for concurrent use.
type Objects struct {
	folders []*folder
	close   []io.Closer
	trees   map[string][]Entry // that were read last
}

// folder is a folder of objects.
type folder struct {
	tree.Tree
	dir    string
	packs  []*pack
	packed bool // packs are known
}

// Open returns the objects of folders of a tree. The folders that they name as alternates are looked into as well, if
// the tree is on this machine.
func Open(t tree.Tree, dirs []string) *Objects {
	o := &Objects{trees: map[string][]Entry{}}
	for _, dir := range dirs {
		if len(o.folders) < mostFolders {
			o.folders = append(o.folders, &folder{Tree: t, dir: dir})
		}
	}
	if t.Remote() != nil {
		return o
	}
	known := map[string]bool{}
	for i := 0; i < len(o.folders) && len(o.folders) < mostFolders; i++ {
		f := o.folders[i]
		text, err := tree.Head(f.Tree, path.Join(f.dir, "info/alternates"), mostAlternates)
		if err != nil {
			continue // it names none
		}
		for line := range strings.Lines(string(text)) {
			dir := strings.TrimRight(line, "\r\n")
			if !filepath.IsAbs(dir) || known[dir] || len(o.folders) >= mostFolders {
				continue
			}
			known[dir] = true
			if disk, err := tree.OpenDisk(dir); err == nil {
				o.folders, o.close = append(o.folders, &folder{Tree: disk, dir: "."}), append(o.close, disk)
			}
		}
	}
	return o
}

// Close closes all packs and folders.
func (o *Objects) Close() (err error) {
	for _, f := range o.folders {
		for _, p := range f.packs {
			err = errors.Join(err, p.closeFiles())
		}
	}
	for _, c := range o.close {
		err = errors.Join(err, c.Close())
	}
	return err
}

// kinds are the words for the kinds of objects, by their numbers in a pack.
var kinds = [...]string{1: "commit", 2: "tree", 3: "blob", 4: "tag"}

// readObject returns an object. The error is ErrMissing, ErrTooLarge, or one of a damaged object or of the medium.
func (o *Objects) readObject(id string, most int64) (kind string, data []byte, err error) {
	raw, err := hex.DecodeString(id)
	if err != nil || len(raw) != sha1.Size {
		return "", nil, ErrMissing
	}
	err = ErrMissing
	for _, f := range o.folders {
		var failed error
		if kind, data, failed = f.readLoose(id, most); errors.Is(failed, ErrMissing) {
			kind, data, failed = f.readPacked(raw, most)
		}
		if failed == nil {
			if sum := sha1.Sum(append(fmt.Appendf(nil, "%s %d\x00", kind, len(data)), data...)); !bytes.Equal(sum[:], raw) {
				failed = errDamaged
			}
		}
		if failed == nil {
			return kind, data, nil
		}
		if !errors.Is(failed, ErrMissing) {
			err = failed
		}
	}
	return "", nil, err
}

// ResolvePrefix returns the id that begins with some of its digits, or "" for no object or several.
func (o *Objects) ResolvePrefix(prefix string) (id string) {
	if len(prefix) < 4 || len(prefix) > 2*sha1.Size || strings.Trim(prefix, "0123456789abcdef") != "" {
		return ""
	}
	ids := map[string]bool{}
	for _, f := range o.folders {
		names, _ := f.List(path.Join(f.dir, prefix[:2])) // there may be none
		for _, name := range names {
			if id := prefix[:2] + name; len(id) == 2*sha1.Size && strings.HasPrefix(id, prefix) {
				ids[id] = true
			}
		}
		f.openPacks()
		for _, p := range f.packs {
			p.resolvePrefix(prefix, ids)
		}
	}
	if len(ids) > 1 {
		return ""
	}
	for id = range ids {
		break
	}
	return id
}

// readLoose reads an object that has a file of its own.
func (f *folder) readLoose(id string, most int64) (kind string, data []byte, err error) {
	file, err := f.OpenFile(path.Join(f.dir, id[:2], id[2:]))
	if err != nil {
		return "", nil, ErrMissing
	}
	defer file.Close() // it was only read
	z, err := zlib.NewReader(io.NewSectionReader(file, 0, 1<<40))
	if err != nil {
		return "", nil, errDamaged
	}
	const header = 64
	text, err := io.ReadAll(io.LimitReader(z, most+header))
	head, data, found := bytes.Cut(text, []byte{0})
	kind, size, _ := strings.Cut(string(head[:min(len(head), header)]), " ")
	n, failed := strconv.ParseInt(size, 10, 64)
	switch {
	case err != nil || failed != nil || !found:
		return "", nil, errDamaged
	case n > most:
		return "", nil, ErrTooLarge
	case n != int64(len(data)):
		return "", nil, errDamaged
	}
	return kind, data, nil
}

// ReadBlob returns the content of a file of at most so many bytes.
func (o *Objects) ReadBlob(id string, most int64) ([]byte, error) {
	kind, data, err := o.readObject(id, min(most, MostBytes))
	if err == nil && kind != "blob" {
		err = errDamaged
	}
	return data, err
}

// Entry is an entry of a tree. The zero value stands for no entry.
type Entry struct {
	Name, ID string
	// Folder is true of a folder, and Regular of a file that is no link and no other repository.
	Folder, Regular bool
}

// mostKept bounds the trees that are remembered.
const mostKept = 4096

// readEntries returns the entries of a tree by their names; "" is the empty tree.
func (o *Objects) readEntries(id string) (list []Entry, err error) {
	if list, known := o.trees[id]; known || id == "" {
		return list, nil
	}
	kind, data, err := o.readObject(id, MostBytes)
	if err != nil {
		return nil, err
	}
	if kind != "tree" {
		return nil, errDamaged
	}
	for len(data) > 0 {
		mode, rest, found := bytes.Cut(data, []byte(" "))
		name, rest, ends := bytes.Cut(rest, []byte{0})
		if !found || !ends || len(rest) < sha1.Size {
			return nil, errDamaged
		}
		list = append(list, Entry{Name: string(name), ID: hex.EncodeToString(rest[:sha1.Size]), Folder: string(mode) == "40000", Regular: bytes.HasPrefix(mode, []byte("100"))})
		data = rest[sha1.Size:]
	}
	slices.SortFunc(list, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	if len(o.trees) >= mostKept {
		clear(o.trees)
	}
	o.trees[id] = list
	return list, nil
}

// CompareTrees calls found with each file that differs between two trees, by their paths; a tree "" has no files. Only folders
// that differ are read. An error of found ends it.
func (o *Objects) CompareTrees(ctx context.Context, a, b string, found func(path string, before, after Entry) error) error {
	return o.compareTrees(ctx, "", a, b, 0, found)
}

func (o *Objects) compareTrees(ctx context.Context, dir, a, b string, depth int, found func(path string, before, after Entry) error) error {
	if a == b {
		return ctx.Err()
	}
	if depth > mostDepth {
		return errDamaged
	}
	before, err := o.readEntries(a)
	if err != nil {
		return err
	}
	after, err := o.readEntries(b)
	if err != nil {
		return err
	}
	for i, j := 0, 0; i < len(before) || j < len(after); {
		var x, y Entry
		switch {
		case j == len(after) || i < len(before) && before[i].Name < after[j].Name:
			x, i = before[i], i+1
		case i == len(before) || after[j].Name < before[i].Name:
			y, j = after[j], j+1
		default:
			x, y, i, j = before[i], after[j], i+1, j+1
		}
		if x == y {
			continue
		}
		name := path.Join(dir, cmp.Or(x.Name, y.Name))
		if x.Folder || y.Folder {
			folderOf := func(e Entry) string {
				if e.Folder {
					return e.ID
				}
				return ""
			}
			if err := o.compareTrees(ctx, name, folderOf(x), folderOf(y), depth+1, found); err != nil {
				return err
			}
		}
		if x.Folder {
			x = Entry{}
		}
		if y.Folder {
			y = Entry{}
		}
		if x.ID != y.ID {
			if err := found(name, x, y); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// CommitTrees returns the tree of a commit and that of its first parent, "" of one without a parent, and when it was
// committed.
func (o *Objects) CommitTrees(commit string) (parent, tree string, at time.Time, err error) {
	headers := func(id string) (tree, parent string, err error) {
		kind, data, err := o.readObject(id, MostBytes)
		if err == nil && kind != "commit" {
			err = errDamaged
		}
		for line := range strings.Lines(string(data)) {
			key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			switch {
			case key == "":
				return tree, parent, err
			case key == "tree":
				tree = value
			case key == "parent":
				parent = cmp.Or(parent, value)
			case key == "committer" && id == commit:
				at = commitTime(value)
			}
		}
		return tree, parent, err
	}
	tree, before, err := headers(commit)
	if err == nil && before != "" {
		parent, _, err = headers(before)
	}
	return parent, tree, at, err
}

// commitTime returns the time behind a name in a commit, as "A <a@b> 1764489608 +0100" has it; the zero time without one.
func commitTime(by string) time.Time {
	_, stamp, _ := strings.Cut(by, "> ")
	seconds, _, _ := strings.Cut(stamp, " ")
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(n, 0).UTC()
}
