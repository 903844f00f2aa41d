package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"hindcast/model"
)

// Draft collects what a write changes, in the order in which it will be done. The
// first error stays, see [Draft.Err]. Make one with [Journal.Draft]; it is not
// safe for concurrent use.
type Draft struct {
	j       *Journal
	changes []Change
	guards  []guarded
	stays   []Change
	// contents has the new ones by the names under which they will be kept, sources
	// the files that have them.
	contents map[string][]byte
	sources  map[string]string
	// paths has the paths that change, folders the folders that exist or will.
	paths   map[string]bool
	folders map[string]bool
	// unread are the changes whose Before is not looked up yet: it is done for many
	// at once.
	unread []int
	// modes has the mode for new files by folder, made the mode of each new folder.
	modes, made map[string]fs.FileMode
	was, head   string
	rows        []string // folders whose names the entry records
	err         error
}

// guarded is a guard in the making.
type guarded struct {
	Guard
	names []string // of a folder
}

// Draft begins a write.
func (j *Journal) Draft() *Draft {
	return &Draft{
		j: j, contents: map[string][]byte{}, sources: map[string]string{},
		paths: map[string]bool{}, folders: map[string]bool{".": true}, modes: map[string]fs.FileMode{}, made: map[string]fs.FileMode{},
	}
}

// Err returns the first error.
func (d *Draft) Err() error {
	d.readPending()
	return d.err
}

// Changes returns the collected changes. The caller may not write to them.
func (d *Draft) Changes() []Change {
	d.readPending()
	return d.changes
}

// Put writes a file with the content, or replaces the one that is there, which
// keeps its mode. A new one gets that of the newest file beside it, else 0600, and
// a folder that it needs what all folders beside it allow, else 0700. A content
// that is there already is no change. The bytes may not be written to until the
// plan is carried out.
func (d *Draft) Put(name string, data []byte) { d.PutAs(name, data, 0) }

// PutAs is like Put, and a new file gets the mode, unless that is 0.
func (d *Draft) PutAs(name string, data []byte, mode fs.FileMode) {
	before, does := d.versionBefore(name), model.FileReplaced
	switch {
	case before.Folder:
		d.noteError(fmt.Errorf("write %s: it is a folder", name))
	case !before.None():
		mode = before.Mode
	default:
		does = model.FileWritten
		if mode == 0 {
			mode = d.modeBeside(name)
		}
	}
	after := versionOf(data, mode)
	d.contents[after.baseName()] = data
	d.addChange(Change{name, does, before, after})
}

// MakeFolder makes a folder, and those that it is in, where they are not there.
func (d *Draft) MakeFolder(name string) {
	if !fs.ValidPath(name) {
		d.noteError(fmt.Errorf("make folder %q: %w", name, fs.ErrInvalid))
		return
	}
	d.makeFolders(name)
}

// SetAside takes a file away. It stays kept. That the file is there is looked up
// later, together with others: a missing one is a ConflictError of [Draft.Err] and
// [Draft.Plan], because the caller met it a moment ago.
func (d *Draft) SetAside(name string) {
	d.addChange(Change{Path: name, Does: model.FileSetAside})
}

// Copy makes a file with the content of another file of the store.
func (d *Draft) Copy(name, from string) {
	after, before := d.versionBefore(from), d.versionBefore(name)
	if !after.file() {
		d.noteError(fmt.Errorf("copy %s: %w", from, fs.ErrNotExist))
	}
	d.sources[after.baseName()] = from
	d.addChange(Change{name, model.FileCopied, before, after})
}

// PutBack gives a path a content that is kept.
func (d *Draft) PutBack(name string, v Version) {
	_, err := d.j.disk.Lstat(v.keptPath())
	if errors.Is(err, fs.ErrNotExist) || !v.file() || !v.sound() {
		gone := &PurgedError{Path: name}
		if h, failed := d.j.readHistory(); failed == nil {
			gone.By = h.forgotBy(v)
		}
		err = gone
	}
	if err != nil {
		d.noteError(fmt.Errorf("put back %s: %w", name, err))
	}
	d.addChange(Change{name, model.FilePutBack, d.versionBefore(name), v})
}

// Forget deletes a kept content for good, in whatever mode it is kept. path is
// where it was, and stays as it is. A draft that forgets changes nothing else.
func (d *Draft) Forget(path string, v Version) {
	if !v.file() || !v.sound() {
		d.noteError(fmt.Errorf("forget %s: %w", path, fs.ErrNotExist))
		return
	}
	c := Change{path, model.FileForgotten, v, Version{}}
	if slices.ContainsFunc(d.changes, func(old Change) bool { return old.Before.SHA256 == v.SHA256 && old.Does == c.Does }) {
		return
	}
	d.changes = append(d.changes, c)
}

// Expect says that a file must stay as it is now, or that a folder may get and lose
// no names but those of the changes. Names that [Options].Ignore knows come and go.
func (d *Draft) Expect(name string) {
	g := guarded{Guard: Guard{Path: name, Version: d.versionBefore(name)}}
	if g.Version.Folder {
		names, err := d.j.disk.Names(name)
		d.noteError(err)
		g.names = names
	}
	d.guards = append(d.guards, g)
}

// Keep has the write keep what a file holds, which stays where it is as it is. The file
// may not be one that changes. That it is there is looked up with the next call: a missing
// one is a ConflictError of [Draft.Err] and [Draft.Plan]. [Journal.Apply] returns one
// where it is another file by then.
func (d *Draft) Keep(name string) { d.stays = append(d.stays, Change{Path: name}) }

// Was puts down what the store was before the write, in the kind's own words: an agent
// writes between two writes, and the journal does not see that. Text is UTF-8.
func (d *Draft) Was(text string) { d.was = text }

// Leads puts down the row that is the head after the write.
func (d *Draft) Leads(head string) { d.head = head }

// findContent returns a new content; a nil draft has no contents.
func (d *Draft) findContent(v Version) (data []byte, ok bool) {
	if d == nil || !v.file() {
		return nil, false
	}
	data, ok = d.contents[v.baseName()]
	return data, ok
}

// findSource returns a file of the store that has a content; a nil draft has no sources.
func (d *Draft) findSource(v Version) (name string, ok bool) {
	if d == nil {
		return "", false
	}
	name, ok = d.sources[v.baseName()]
	return name, ok
}

// noteError records the first error; it ignores nil.
func (d *Draft) noteError(err error) {
	if d.err == nil {
		d.err = err
	}
}

// versionBefore returns the version at a path, not counting the changes so far.
func (d *Draft) versionBefore(name string) Version {
	v, err := d.j.Version(name)
	d.noteError(err)
	return v
}

// readPending looks up what those files hold that were not looked at yet.
func (d *Draft) readPending() {
	unread := d.unread
	d.unread = nil
	err := d.j.runParallel(len(unread), func(i int, buf *[]byte) (err error) {
		c := &d.changes[unread[i]]
		c.Before, err = d.j.fileVersion(c.Path, buf)
		return explainCause("set aside", c.Path, err)
	})
	if err == nil {
		err = d.j.runParallel(len(d.stays), func(i int, buf *[]byte) (err error) {
			s := &d.stays[i]
			if s.Before.None() {
				s.Before, err = d.j.fileVersion(s.Path, buf)
				s.After = s.Before
			}
			return explainCause("keep", s.Path, err)
		})
	}
	d.noteError(err)
}

// explainCause says in an error what was to be done to a path; a conflict says all itself.
func explainCause(does, name string, err error) error {
	if err != nil && !errors.Is(err, model.ErrHeadMoved) {
		err = fmt.Errorf("%s %s: %w", does, name, err)
	}
	return err
}

// fileVersion returns the version at a path, which has to be a file.
func (j *Journal) fileVersion(name string, buf *[]byte) (Version, error) {
	found, err := j.lookAt(name, buf)
	switch {
	case err == nil && found.None():
		err = &ConflictError{Path: name, Found: "was removed"}
	case err == nil && found.Folder:
		err = errors.New("it is a folder")
	}
	return found.Version, err
}

// addChange appends a change, below the folders that it needs.
func (d *Draft) addChange(c Change) {
	switch {
	case !ours(c.Path):
		d.noteError(fmt.Errorf("write %q: %w", c.Path, fs.ErrInvalid))
		return
	case d.paths[c.Path]:
		d.noteError(errors.New("write " + c.Path + " twice"))
		return
	}
	if c.Does == model.FileSetAside {
		d.unread = append(d.unread, len(d.changes))
	} else {
		if c.Before == c.After {
			return
		}
		d.makeFolders(path.Dir(c.Path))
	}
	d.paths[c.Path] = true
	d.changes = append(d.changes, c)
}

func (d *Draft) makeFolders(dir string) {
	var missing []string
	for ; !d.folders[dir]; dir = path.Dir(dir) {
		found := d.versionBefore(dir)
		if found.file() {
			d.noteError(fmt.Errorf("write into %s: it is a file", dir))
		}
		d.folders[dir] = true
		if !found.None() {
			break
		}
		missing = append(missing, dir)
	}
	for _, dir := range slices.Backward(missing) {
		d.paths[dir] = true
		d.made[dir] = d.folderModeBeside(dir)
		d.changes = append(d.changes, Change{dir, model.FileMade, Version{}, Version{Folder: true, Mode: d.made[dir]}})
	}
}

// beside is how many neighbours of a new file are looked at for its mode.
const beside = 32

// modeBeside returns the mode for a new file: that of the newest of a few that stand
// beside it.
func (d *Draft) modeBeside(name string) fs.FileMode {
	dir := path.Dir(name)
	if mode, ok := d.modes[dir]; ok {
		return mode
	}
	mode := fs.FileMode(0o600)
	if d.j.o.Private {
		return mode
	}
	var newest fs.FileInfo
	d.eachBeside(dir, func(info fs.FileInfo) {
		if info.Mode().IsRegular() && (newest == nil || info.ModTime().After(newest.ModTime())) {
			newest, mode = info, info.Mode().Perm()
		}
	})
	d.modes[dir] = mode
	return mode
}

// folderModeBeside returns the mode for a new folder: what a few that stand beside it
// all allow, and its owner everything. In a new one it is the mode of that.
func (d *Draft) folderModeBeside(name string) fs.FileMode {
	if mode, ok := d.made[path.Dir(name)]; ok {
		return mode
	}
	if d.j.o.Private {
		return 0o700
	}
	mode, some := fs.FileMode(0o777), false
	d.eachBeside(path.Dir(name), func(info fs.FileInfo) {
		if info.IsDir() {
			mode, some = mode&info.Mode().Perm(), true
		}
	})
	if !some {
		mode = 0
	}
	return mode | 0o700
}

// eachBeside looks at the last few of a folder that the kind does not ignore.
func (d *Draft) eachBeside(dir string, look func(fs.FileInfo)) {
	names, err := d.j.disk.Names(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // else it will be made
		d.noteError(err)
	}
	seen := 0
	for _, name := range slices.Backward(names) {
		if seen == beside {
			return
		}
		if d.j.o.Ignore(name) || name == Folder {
			continue
		}
		info, err := d.j.disk.Lstat(path.Join(dir, name))
		switch {
		case err == nil:
			look(info)
			seen++
		case !errors.Is(err, fs.ErrNotExist):
			d.noteError(err)
		}
	}
}

// Plan completes a plan with the files of the draft, which it then carries. The
// draft may not be used after that. A draft that changes nothing makes a plan that
// writes nothing, not even in the journal, and asks nothing. A purge asks once more
// for all that it makes impossible.
func (d *Draft) Plan(plan model.Plan) (model.Plan, error) {
	d.readPending()
	if d.err == nil {
		d.err = d.checkForgets(&plan)
	}
	if d.err != nil {
		return model.Plan{}, d.err
	}
	for i := range d.guards {
		if g := &d.guards[i]; g.Version.Folder {
			g.Others = d.j.hashOthers(g.Path, g.names, d.paths)
		}
	}
	if len(d.changes) == 0 {
		plan.Writes, plan.Asks = []string{}, nil
	}
	plan.Files = append(plan.Files, planFiles(d.changes)...)
	plan.Carry = d
	return plan, nil
}

// checkForgets checks what a draft forgets, and says in the plan what that makes
// impossible.
func (d *Draft) checkForgets(plan *model.Plan) error {
	gone := map[string]bool{}
	for _, c := range d.changes {
		if c.Does == model.FileForgotten {
			gone[c.Before.SHA256] = true
		}
	}
	switch {
	case len(gone) == 0:
		if plan.Op == model.OpPurge {
			return &model.NothingToError{Op: model.OpPurge}
		}
		return nil
	case plan.Op != model.OpPurge || len(gone) != len(d.changes):
		return errors.New("only a purge forgets contents, and it does nothing else")
	}
	h, err := d.j.readHistory()
	if err != nil {
		return err
	}
	plan.Asks = append(plan.Asks, "forgotten contents cannot be brought back, not by undo either")
	for _, e := range h.entries {
		op, needs := model.OpUndo, func(c Change) Version { return c.Before }
		if e.Undone {
			op, needs = model.OpRedo, func(c Change) Version { return c.After }
		}
		lost := slices.ContainsFunc(e.Changes(), func(c Change) bool { return c.Does != model.FileForgotten && gone[needs(c).SHA256] })
		if lost && !e.TakenBack && e.Broken == "" && e.Op != model.OpPurge && !h.superseded[e.ID] {
			plan.Asks = append(plan.Asks, fmt.Sprintf("write %d, a %s of %s, can then not be taken back any more", e.ID, e.Op, e.Session))
			if op == model.OpRedo {
				plan.Asks[len(plan.Asks)-1] = fmt.Sprintf("write %d, a %s of %s that is undone, can then not be done again", e.ID, e.Op, e.Session)
			}
		}
	}
	return nil
}

// hashOthers returns the hash of the names in a folder that neither change nor are
// ignored. The names are in order.
func (j *Journal) hashOthers(dir string, names []string, changing map[string]bool) string {
	sum := sha256.New()
	for _, name := range names {
		if !j.o.Ignore(name) && name != Folder && !changing[path.Join(dir, name)] {
			sum.Write(append([]byte(name), 0))
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}
