package keep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/media/journal"
)

// Which files belong to a store
//
// A kind lists the sessions of a store, and a recorder notes the files that it looks at. These belong to it, and:
//
//	all files below a folder that holds one of them         attachments, results, records that a list does not read
//	below the hidden folder around that                      the traces of a tool that has all in .tool
//	below a folder that is called as one without its ending  the sub-agents and results of a transcript
//	beside one in the opened folder, with the same ending    messages that a list does not read
//
// The opened folder itself is not taken whole: a tool may have its credentials there. A database beside transcripts is
// left out, unless the kind reads it as a file.

// errElsewhere: a store is no files and no SQLite databases.
var errElsewhere = errors.New("sessions on a server and of Hindcast's own stores are not kept: hindcast convert copies one")

// errInPlace: a store is made of files, and its kind reads them where they are.
var errInPlace = errors.New("its files are read in place alone, and are not kept yet: hindcast convert copies a session")

// picked is a file that belongs to a store.
type picked struct {
	name string // whole, with slashes
	info fs.FileInfo
}

// pickFiles returns the files of a store, ordered by name.
func (a *Archive) pickFiles(ctx context.Context, k engine.Kind, at string, databases []string) ([]picked, error) {
	info, err := os.Stat(at)
	if err != nil {
		return nil, err
	}
	if !k.Copied || !info.IsDir() && len(databases) > 0 {
		return pickBeside(ctx, k, at, info, databases)
	}
	seen := newRecorder()
	if err := listThrough(ctx, k, at, info.IsDir(), seen); err != nil {
		return nil, err
	}
	all := pickedFiles{}
	root := filepath.ToSlash(at)
	whole, endings := map[string]bool{}, map[string]bool{}
	for name := range seen.seen {
		info, err := os.Lstat(filepath.FromSlash(name))
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		all.addRegular(name, info)
		switch dir := path.Dir(name); {
		case dir == root:
			endings[path.Ext(name)] = true
		case strings.HasPrefix(dir, strings.TrimSuffix(root, "/")+"/"):
			whole[ownFolder(root, dir)] = true
		}
		if stem := strings.TrimSuffix(name, path.Ext(name)); stem != name {
			whole[stem] = true
		}
	}
	if len(endings) > 0 && info.IsDir() {
		if err := eachEntry(root, func(name string, info fs.FileInfo) {
			if endings[path.Ext(name)] && !isDatabase(name) {
				all.addRegular(name, info)
			}
		}); err != nil {
			return nil, err
		}
	}
	last := ""
	for _, dir := range slices.Sorted(maps.Keys(whole)) {
		if last != "" && strings.HasPrefix(dir, last+"/") {
			continue
		}
		if info, err := os.Lstat(filepath.FromSlash(dir)); err != nil || !info.IsDir() {
			continue
		}
		last = dir
		if err := addBelow(ctx, dir, all.addRegular); err != nil {
			return nil, err
		}
	}
	return all.sortByName(), nil
}

// pickedFiles are files that belong to a store, by their names.
type pickedFiles map[string]fs.FileInfo

// addRegular adds a file, unless it is a folder, a link or a device.
func (all pickedFiles) addRegular(name string, info fs.FileInfo) {
	if info.Mode().IsRegular() {
		all[name] = info
	}
}

// sortByName returns the files ordered by name.
func (all pickedFiles) sortByName() []picked {
	list := make([]picked, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, picked{name, all[name]})
	}
	return list
}

// pickBeside returns the files that belong to the sessions of databases, or to a store that is read in place.
func pickBeside(ctx context.Context, k engine.Kind, at string, info fs.FileInfo, databases []string) ([]picked, error) {
	switch {
	case k.Tables == nil:
		return nil, errElsewhere
	case info.IsDir() && len(k.Tables.In) == 0:
		return nil, errInPlace
	case !info.IsDir():
		if len(databases) == 0 {
			return nil, errElsewhere
		}
		return nil, nil
	}
	names, err := matchAll(at, k.Tables.Beside)
	if err != nil {
		return nil, err
	}
	all := pickedFiles{}
	for _, name := range names {
		info, err := os.Lstat(filepath.FromSlash(name))
		switch {
		case err != nil: // it went meanwhile
		case info.IsDir():
			if err := addBelow(ctx, name, all.addRegular); err != nil {
				return nil, err
			}
		default:
			all.addRegular(name, info)
		}
	}
	return all.sortByName(), nil
}

// ownFolder returns the outermost hidden folder between root and a folder below it, which is the tool's own, or else the
// folder.
func ownFolder(root, dir string) string {
	own := dir
	for above := dir; len(above) > len(root); above = path.Dir(above) {
		if strings.HasPrefix(path.Base(above), ".") {
			own = above
		}
	}
	return own
}

// listThrough lists the sessions of a store by its kind, so that the recorder notes what that looks at.
func listThrough(ctx context.Context, k engine.Kind, at string, isFolder bool, seen *recorder) error {
	source, err := recordPath(seen, at, isFolder)
	if err != nil {
		return err
	}
	defer source.closeAll() // it was only read
	s, err := k.OpenAt(ctx, engine.Site{On: source})
	if err != nil {
		return err
	}
	if tally := s.Features().Tally; k.NoIndex && tally != nil { // it looks at the files, and reads none
		_, _, err = tally(ctx)
	} else {
		for _, failed := range store.AnyOrder(ctx, s) {
			if err = failed; err != nil {
				break
			}
		}
	}
	if err != nil {
		err = fmt.Errorf("list %q: %w", at, err)
	}
	return errors.Join(err, s.Close())
}

// eachEntry calls a function with what is in a folder. What cannot be looked at is left out.
func eachEntry(dir string, found func(name string, info fs.FileInfo)) error {
	entries, err := os.ReadDir(filepath.FromSlash(dir))
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			found(path.Join(dir, e.Name()), info)
		}
	}
	return err
}

// addBelow adds all files below a folder. Links are not followed; what vanishes meanwhile is left out.
func addBelow(ctx context.Context, dir string, add func(name string, info fs.FileInfo)) error {
	var below []string
	err := eachEntry(dir, func(name string, info fs.FileInfo) {
		switch own := path.Base(dir) == journal.Folder; {
		case info.IsDir() && !(own && info.Name() == "out"):
			below = append(below, name)
		case !isDatabase(name) && !(own && info.Name() == "lock"):
			add(name, info)
		}
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	for i := 0; i < len(below) && err == nil; i++ {
		if err = ctx.Err(); err == nil {
			err = addBelow(ctx, below[i], add)
		}
	}
	return err
}

// isDatabase reports whether a file is a database by its name.
func isDatabase(name string) bool {
	for _, end := range []string{"-wal", "-shm", "-journal"} {
		name = strings.TrimSuffix(name, end)
	}
	return slices.Contains([]string{".db", ".db3", ".sqlite", ".sqlite3", ".vscdb"}, path.Ext(name))
}
