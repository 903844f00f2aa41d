package genkit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"hindcast/store/media/files"
	"hindcast/store/media/tree"
)

const (
	rowSuffix      = ".json"
	pointersFolder = ".pointers"
	// defaultPrefix is the folder that the SDKs write to unless they are told a
	// tenant's: defaultPrefix of ai/exp/localstore.
	defaultPrefix = "global"

	// mostDepth and mostFolders bound the search for rows. Prefixes of tenants
	// are two or three deep.
	mostDepth   = 12
	mostFolders = 20_000
)

// base is a folder below which rows are looked for, and the storage that it is in.
//
// Hindcast's journal lies beside the rows of all agents and tenants, in the folder that
// is the storage as a whole, so that it is the same one whichever folder of the storage
// was opened:
//
//	.genkit/snapshots/.hindcast    for all that is below .genkit/snapshots
//	.snapshots…/.hindcast          for all that is below a folder of such a name
//	DIR/.hindcast                  of any other folder DIR that is opened; where
//	                               that is a "global", of the folder it lies in
//
// A project may have several of these. No SDK looks at the name: Go and JavaScript take the *.json of the
// very folder of a tenant, and Python reads its single folder.
//
// Names below are relative to the storage; shown and inside translate between these and the names below the
// opened folder, by which a store tells of its files.
type base struct {
	// dir is the folder, below the opened one, with slashes.
	dir string
	// label is the prefix of the names of its sessions, or "".
	label string
	// up is the path from the storage down to it, if the storage lies above the opened folder, or "".
	up string
}

// upOf returns how many folders above one of a whole name its storage is.
func upOf(whole string) (n int) {
	for at := whole; n <= mostDepth; n++ {
		if isStorage(at) {
			return n
		}
		next := path.Dir(at)
		if next == at {
			break
		}
		at = next
	}
	if path.Base(whole) == defaultPrefix {
		return 1
	}
	return 0
}

// isStorage reports whether a folder has a name under which projects keep rows.
func isStorage(dir string) bool {
	name := path.Base(dir)
	return strings.HasPrefix(name, ".snapshots") || name == "snapshots" && path.Base(path.Dir(dir)) == ".genkit"
}

// storageName returns the name in the storage of a name below the opened folder.
func (b base) storageName(name string) string {
	if b.dir == "." {
		return path.Join(b.up, name)
	}
	if name == b.dir {
		return "."
	}
	return strings.TrimPrefix(name, b.dir+"/")
}

// shownName returns the name below the opened folder of a name in the storage. It begins with
// "../" where that is elsewhere.
func (b base) shownName(name string) string {
	if b.up == "" {
		return path.Join(b.dir, name)
	}
	if name == b.up {
		return "."
	}
	if below, ok := strings.CutPrefix(name, b.up+"/"); ok {
		return below
	}
	return strings.Repeat("../", strings.Count(b.up, "/")+1) + name
}

// findBases returns where rows are looked for in an opened folder, whose whole name is given. In a
// project these are the places that the SDKs' samples use: what else is in it is not gone
// through.
func findBases(t tree.Tree, whole string) (list []base) {
	if tree.IsFolder(t, ".genkit/snapshots") {
		list = append(list, base{dir: ".genkit/snapshots"})
	}
	names, err := t.List(".")
	if err != nil {
		return []base{{dir: "."}}
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		if strings.HasPrefix(name, ".snapshots") && tree.IsFolder(t, name) {
			list = append(list, base{dir: name, label: name})
		}
	}
	if path.Base(whole) == ".genkit" && tree.IsFolder(t, "snapshots") {
		list = append(list, base{dir: "snapshots"})
	}
	if len(list) == 0 {
		list = []base{{dir: "."}}
	}
	return list
}

// place is a folder that may have rows in it.
type place struct {
	// dir is its name in the storage.
	dir string
	// rows are the names of the files, in order.
	rows []string
	// pointers says that there is a folder of pointers.
	pointers bool
	// leftovers and links are names that are passed over.
	leftovers, links []string
}

// isGlobal reports whether the place is a "global" whose name its sessions do
// not bear.
func (p *place) isGlobal() bool { return path.Base(p.dir) == defaultPrefix }

// labelOf returns the label of a folder of the storage: what the names of its sessions
// begin with. Two have the same one where "global" is beside rows that lie flat.
func (b base) labelOf(dir string) string {
	dir = b.shownName(dir)
	below := strings.TrimPrefix(strings.TrimPrefix(dir, b.dir), "/")
	if b.dir == "." {
		below = dir
	}
	if path.Base(below) == defaultPrefix {
		below = path.Dir(below)
	}
	if label := path.Join(b.label, below); label != "." {
		return label
	}
	return ""
}

// isPassedOver reports whether a folder of that name is not gone into.
func isPassedOver(name string) bool {
	return strings.HasPrefix(name, ".") || name == "node_modules"
}

// listFolder reads the names in a folder. subfolders are the folders to search next.
func listFolder(t tree.Tree, dir string) (p place, subfolders []string, err error) {
	p = place{dir: dir}
	names, err := t.List(dir)
	if err != nil {
		return p, nil, err
	}
	folders, err := t.Folders(dir)
	if err != nil {
		return p, nil, err
	}
	slices.Sort(folders)
	for _, name := range slices.Sorted(slices.Values(names)) {
		switch id, isRow := strings.CutSuffix(name, rowSuffix); {
		case isRow && id != "":
			p.rows = append(p.rows, name)
		case isTemporary(name):
			p.leftovers = append(p.leftovers, name)
		case name == pointersFolder:
			p.pointers = tree.IsFolder(t, path.Join(dir, name))
		case isPassedOver(name):
		default:
			if _, is := slices.BinarySearch(folders, name); !is {
				continue
			}
			at, err := t.Stamp(path.Join(dir, name))
			switch {
			case err != nil:
			case at.Kind == files.Directory:
				subfolders = append(subfolders, name)
			case at.Kind == files.Link:
				p.links = append(p.links, name)
			}
		}
	}
	return p, subfolders, nil
}

// searchFolders goes through the folders of a storage, from one on, and hands on each that may
// have rows, a folder before those in it, until visit says stop. A folder that cannot be
// read is handed to unreadable; so is the first that is not looked at because there are
// too many, with errFarOff.
func searchFolders(ctx context.Context, t tree.Tree, from string, visit func(place) bool, unreadable func(dir string, err error)) error {
	type step struct {
		at    string
		depth int
	}
	open := []step{{from, 0}}
	for looked := 0; len(open) > 0 && looked < mostFolders; looked++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		s := open[0]
		open = open[1:]
		p, subfolders, err := listFolder(t, s.at)
		if errors.Is(err, fs.ErrClosed) {
			return err
		}
		if err != nil {
			unreadable(s.at, files.Cause(err))
			continue
		}
		if (len(p.rows) > 0 || p.pointers || len(p.leftovers) > 0 || len(p.links) > 0) && !visit(p) {
			return nil
		}
		if s.depth < mostDepth {
			for _, name := range subfolders {
				open = append(open, step{path.Join(s.at, name), s.depth + 1})
			}
		}
	}
	if len(open) > 0 {
		unreadable(open[0].at, errFarOff)
	}
	return ctx.Err()
}

// errFarOff: the search for rows ended before a folder.
var errFarOff = fmt.Errorf("more than %d folders come before this one: it is not searched for rows, nor are those behind it", mostFolders)

// candidateFolders returns the folders of the storage that a session of a label may be in: in
// "global" and flat. A label is data; only folders that search would find are given.
func (b base) candidateFolders(t tree.Tree, label string) (list []string) {
	label, flatOnly := strings.CutSuffix("/"+label, "/.")
	label = strings.TrimPrefix(label, "/")
	below, ok := label, true
	if b.label != "" {
		below, ok = strings.CutPrefix(label+"/", b.label+"/")
		below = strings.TrimSuffix(below, "/")
	}
	if !ok || !isLocal(below) {
		return nil
	}
	dirs := []string{path.Join(b.dir, below, defaultPrefix), path.Join(b.dir, below)}
	if flatOnly {
		dirs = dirs[1:]
	}
	for _, dir := range dirs {
		dir = b.storageName(dir)
		if leadsDown(t, b.storageName(b.dir), dir) && b.labelOf(dir) == label {
			list = append(list, dir)
		}
	}
	return list
}

// leadsDown reports whether the way from one folder to another below it goes through folders
// only: links are not gone into.
func leadsDown(t tree.Tree, from, dir string) bool {
	for ; dir != from && dir != "."; dir = path.Dir(dir) {
		if at, err := t.Stamp(dir); err != nil || at.Kind != files.Directory {
			return false
		}
	}
	return true
}

// isLocal reports whether a label leads to folders that are gone into, and none
// other.
func isLocal(label string) bool {
	if label == "" {
		return true
	}
	segments := strings.Split(label, "/")
	return len(segments) <= mostDepth && !slices.ContainsFunc(segments, func(s string) bool { return s == "" || isPassedOver(s) || strings.ContainsRune(s, 0) })
}

// isTemporary reports whether a name is a temporary name, which the SDKs write before they rename:
// "<id>.json.<digits>.tmp" in Go, "<id>.json.<pid>.<uuid>.tmp" in JavaScript, "<id>.json.tmp" in Python.
func isTemporary(name string) bool { return strings.HasSuffix(name, ".tmp") }

// isGone reports whether an error says that a file went while it was looked at.
func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) }
