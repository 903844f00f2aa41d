package genkit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hindcast/store/files"
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

// base is a folder below which rows are looked for. Names are those of a root,
// with slashes.
type base struct {
	dir string
	// label is what the names of the sessions in it begin with, "" for nothing.
	label string
}

// bases returns where rows are looked for in an opened folder. In a project these
// are the places that the SDKs' samples use: what else is in it is not gone
// through. Of its names no more than most are looked at.
func bases(root *os.Root, address string, most int) (list []base) {
	if files.IsFolder(root, ".genkit/snapshots") {
		list = append(list, base{dir: ".genkit/snapshots"})
	}
	names, err := namesIn(root, ".", most)
	if err != nil {
		return []base{{dir: "."}}
	}
	slices.Sort(names)
	for _, name := range names {
		if strings.HasPrefix(name, ".snapshots") && files.IsFolder(root, name) {
			list = append(list, base{dir: name, label: name})
		}
	}
	if whole, err := filepath.Abs(address); err == nil && filepath.Base(whole) == ".genkit" && files.IsFolder(root, "snapshots") {
		list = append(list, base{dir: "snapshots"})
	}
	if len(list) == 0 {
		list = []base{{dir: "."}}
	}
	return list
}

// place is a folder that may have rows in it.
type place struct {
	// base is what it is below.
	base base
	dir  string
	// label is what the names of its sessions begin with; two places have the
	// same one where "global" is beside rows that lie flat.
	label string
	// rows are the names of the files, without ".json", in order.
	rows []string
	// pointers says that there is a folder of pointers.
	pointers bool
	// leftovers and links are names that are passed over.
	leftovers, links []string
}

// isGlobal reports whether the place is a "global" whose name its sessions do
// not bear.
func (p *place) isGlobal() bool { return path.Base(p.dir) == defaultPrefix }

// labelOf returns the label of a folder below a base.
func (b base) labelOf(dir string) string {
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

// everyName is for folders of which all names are wanted.
const everyName = -1

// namesIn returns the names in a folder, no more than most.
func namesIn(root *os.Root, dir string, most int) (names []string, err error) {
	f, err := root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if names, err = f.Readdirnames(most); errors.Is(err, io.EOF) {
		err = nil // it is empty
	}
	return names, err
}

// list reads the names in a folder, no more than most. subfolders are those to go
// into.
func (b base) list(root *os.Root, dir string, most int) (p place, subfolders []string, err error) {
	p = place{base: b, dir: dir, label: b.labelOf(dir)}
	names, err := namesIn(root, dir, most)
	if err != nil {
		return p, nil, err
	}
	slices.Sort(names)
	for _, name := range names {
		switch id, isRow := strings.CutSuffix(name, rowSuffix); {
		case isRow && id != "":
			p.rows = append(p.rows, id)
		case isTemporary(name):
			p.leftovers = append(p.leftovers, name)
		case name == pointersFolder:
			p.pointers = files.IsFolder(root, path.Join(dir, name))
		case isPassedOver(name):
		default:
			info, err := root.Lstat(path.Join(dir, name))
			switch {
			case err != nil:
			case info.IsDir():
				subfolders = append(subfolders, name)
			case info.Mode()&fs.ModeSymlink != 0:
				p.links = append(p.links, name)
			}
		}
	}
	return p, subfolders, nil
}

// search goes through the folders of a store and hands on each that may have
// rows, a folder before those in it, until visit says stop. A folder that cannot
// be read is handed to unreadable; so is the first that is not looked at because
// there are too many, with errFarOff.
func search(ctx context.Context, root *os.Root, below []base, visit func(place) bool, unreadable func(dir string, err error)) error {
	type step struct {
		base
		at    string
		depth int
	}
	var open []step
	for _, b := range below {
		open = append(open, step{b, b.dir, 0})
	}
	for looked := 0; len(open) > 0 && looked < mostFolders; looked++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		s := open[0]
		open = open[1:]
		p, subfolders, err := s.list(root, s.at, everyName)
		if err != nil {
			unreadable(s.at, files.Cause(err))
			continue
		}
		if (len(p.rows) > 0 || p.pointers || len(p.leftovers) > 0 || len(p.links) > 0) && !visit(p) {
			return nil
		}
		if s.depth < mostDepth {
			for _, name := range subfolders {
				open = append(open, step{s.base, path.Join(s.at, name), s.depth + 1})
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

// candidates returns the places that a session of a label may be in: in "global"
// and flat. A label is data; only folders that search would find are given, their
// rows not listed.
func candidates(root *os.Root, below []base, label string) (list []place) {
	label, flatOnly := strings.CutSuffix("/"+label, "/.")
	label = strings.TrimPrefix(label, "/")
	for _, b := range below {
		folder, ok := label, true
		if b.label != "" {
			folder, ok = strings.CutPrefix(label+"/", b.label+"/")
			folder = strings.TrimSuffix(folder, "/")
		}
		if !ok || !isLocal(folder) {
			continue
		}
		dirs := []string{path.Join(b.dir, folder, defaultPrefix), path.Join(b.dir, folder)}
		if flatOnly {
			dirs = dirs[1:]
		}
		for _, dir := range dirs {
			if !b.leads(root, dir) {
				continue
			}
			if b.labelOf(dir) == label {
				list = append(list, place{base: b, dir: dir, label: label, pointers: files.IsFolder(root, path.Join(dir, pointersFolder))})
			}
		}
	}
	return list
}

// leads reports whether the way from the base to a folder below it goes through
// folders only: links are not gone into.
func (b base) leads(root *os.Root, dir string) bool {
	for ; dir != b.dir && dir != "."; dir = path.Dir(dir) {
		if info, err := root.Lstat(dir); err != nil || !info.IsDir() {
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

// isTemporary reports whether a name is one that the SDKs write to before they
// rename: "<id>.json.<digits>.tmp" in Go, "<id>.json.<pid>.<uuid>.tmp" in
// JavaScript, "<id>.json.tmp" in Python.
func isTemporary(name string) bool { return strings.HasSuffix(name, ".tmp") }

// isGone reports whether an error says that a file went while it was looked at.
func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) }
