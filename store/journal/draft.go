package journal

import (
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
	guards  []Guard
	// contents has the new ones by SHA-256, sources the files that have them.
	contents map[string][]byte
	sources  map[string]string
	paths    map[string]int
	err      error
}

// Draft begins a write.
func (j *Journal) Draft() *Draft {
	return &Draft{j: j, contents: map[string][]byte{}, sources: map[string]string{}, paths: map[string]int{}}
}

// Err gives the first error.
func (d *Draft) Err() error { return d.err }

// Changes gives what is collected. The caller may not write to it.
func (d *Draft) Changes() []Change { return d.changes }

// Put writes a file with the content, or replaces the one that is there, which
// keeps its mode. A new one gets that of the newest file beside it, else 0600.
// A content that is there already is no change.
func (d *Draft) Put(name string, data []byte) {
	before := d.before(name)
	mode := before.Mode
	if before.None() {
		mode = 0o600
	}
	after := versionOf(data, mode)
	d.contents[after.SHA256] = data
	does := model.FileReplaced
	if before.None() {
		does = model.FileWritten
	}
	d.add(Change{name, does, before, after})
}

// SetAside takes a file away. It stays kept.
func (d *Draft) SetAside(name string) {
	before := d.before(name)
	if before.None() {
		d.fail(fmt.Errorf("set aside %s: %w", name, fs.ErrNotExist))
	}
	d.add(Change{name, model.FileSetAside, before, Version{}})
}

// Link makes a file with the content of another file of the store, which it
// shares with it as long as nobody writes into one of them in place.
func (d *Draft) Link(name, from string) {
	after, before := d.before(from), d.before(name)
	if after.None() || after.Folder {
		d.fail(fmt.Errorf("link %s: %w", from, fs.ErrNotExist))
	}
	d.sources[after.SHA256] = from
	d.guards = append(d.guards, Guard{Path: from, Version: after})
	d.add(Change{name, model.FileLinked, before, after})
}

// PutBack gives a path a content that is kept.
func (d *Draft) PutBack(name string, v Version) {
	d.add(Change{name, model.FilePutBack, d.before(name), v})
}

// Expect says that a file must stay as it is, or that a folder may get and lose no
// names but those of the changes.
func (d *Draft) Expect(name string) {
	d.guards = append(d.guards, Guard{Path: name, Version: d.before(name)})
}

func (d *Draft) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// before is what a path holds, the changes so far not counted.
func (d *Draft) before(name string) Version {
	v, err := d.j.Version(name)
	if err != nil {
		d.fail(err)
	}
	return v
}

// add appends a change, below the folders that it needs.
func (d *Draft) add(c Change) {
	switch {
	case !fs.ValidPath(c.Path):
		d.fail(fmt.Errorf("write %q: %w", c.Path, fs.ErrInvalid))
	case !c.After.None():
		d.makeFolders(path.Dir(c.Path))
	}
	if _, twice := d.paths[c.Path]; twice {
		d.fail(errors.New("write " + c.Path + " twice"))
	}
	if c.Before == c.After {
		return
	}
	d.paths[c.Path] = len(d.changes)
	d.changes = append(d.changes, c)
}

func (d *Draft) makeFolders(dir string) {
	var missing []string
	for ; dir != "." && d.before(dir).None(); dir = path.Dir(dir) {
		if _, there := d.paths[dir]; there {
			break
		}
		missing = append(missing, dir)
	}
	for _, dir := range slices.Backward(missing) {
		d.paths[dir] = len(d.changes)
		d.changes = append(d.changes, Change{dir, model.FileMade, Version{}, Version{Folder: true, Mode: 0o700}})
	}
}

// Plan completes a plan with the files of the draft, which it then carries. The
// draft may not be used after that.
func (d *Draft) Plan(plan model.Plan) (model.Plan, error) {
	if d.err != nil {
		return model.Plan{}, d.err
	}
	for _, c := range d.changes {
		size := c.After.Size
		if c.After.None() {
			size = c.Before.Size
		}
		plan.Files = append(plan.Files, model.PlanFile{Path: c.Path, Does: c.Does, Size: size})
	}
	plan.Carry = d
	return plan, nil
}
