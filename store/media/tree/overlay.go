package tree

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"hindcast/store/media/files"
	"hindcast/store/media/journal"
)

// Step is one name that a plan changes.
type Step struct {
	Name string
	// Data is the content of the file after the step; it counts where Version is zero.
	Data []byte
	// Mode has the permission bits of a new file; 0: those of the files beside it.
	Mode fs.FileMode
	// Version is a content that the journal keeps and that the file gets back, or a
	// folder.
	Version journal.Version
	// From is the file of the tree that the step copies, "" if it copies no file.
	From string
	// Aside says that the file, or the empty folder, is taken away.
	Aside bool
}

// Steps are in the order in which they are safe.
type Steps []Step

// Kept reads a content that the journal keeps.
type Kept func(journal.Version) ([]byte, error)

// Overlay returns a tree with steps laid over it: the tree as it is after them. Of two
// steps of one name the last counts. The folders that a file needs are there.
func Overlay(below Tree, steps Steps, kept Kept) Tree {
	o := &overlay{below: below, kept: kept, steps: make(map[string]laid, len(steps)), dirs: map[string]map[string]bool{}}
	for _, s := range steps {
		o.steps[s.Name] = laid{s, s.stampAfter()}
		for at := s.Name; at != "."; at = path.Dir(at) {
			dir := path.Dir(at)
			if o.dirs[dir] == nil {
				o.dirs[dir] = map[string]bool{}
			}
			o.dirs[dir][path.Base(at)] = true
		}
	}
	return o
}

// overlay is a tree with steps over it.
type overlay struct {
	below Tree
	kept  Kept
	steps map[string]laid
	// dirs are the names in each folder that the steps have, or that lead to them.
	dirs map[string]map[string]bool
}

// laid is a step with the stamp that its name has after it.
type laid struct {
	Step
	at Stamp
}

// stampAfter returns the stamp of the name after the step: the content is known, the time is not.
func (s *Step) stampAfter() (at Stamp) {
	switch {
	case s.Aside:
	case s.Version.Folder:
		at.Kind = files.Directory
	case s.From != "":
		at.Kind = files.Regular
	case s.Version.None():
		at.Kind, at.Size, at.Tag = files.Regular, int64(len(s.Data)), fmt.Sprintf("%x", sha256.Sum256(s.Data))
	default:
		at.Kind, at.Size, at.Tag = files.Regular, s.Version.Size, s.Version.SHA256
	}
	return at
}

// Hold implements Tree.
func (o *overlay) Hold(dir string) (release func()) { return o.below.Hold(dir) }

// Remote implements Tree.
func (o *overlay) Remote() Remote { return o.below.Remote() }

// List implements Tree.
func (o *overlay) List(dir string) ([]string, error) {
	own, stepped := o.steps[dir]
	names, err := o.below.List(dir)
	switch {
	case stepped && own.at.Kind != files.Directory:
		return nil, fs.ErrNotExist
	case err != nil && !isFree(err), o.dirs[dir] == nil && !stepped:
		return names, err
	}
	laid := o.dirs[dir]
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return laid[name] })
	for name := range laid {
		now, failed := o.Stamp(Join(dir, name))
		if failed != nil {
			return nil, failed
		}
		if now.Kind != files.Nothing {
			names = append(names, name)
		}
	}
	if err != nil && len(names) == 0 && !stepped {
		return nil, err
	}
	return names, nil
}

// Folders implements Tree.
func (o *overlay) Folders(dir string) ([]string, error) { return FoldersOf(o, dir) }

// Read implements Tree.
func (o *overlay) Read(name string, buf []byte) ([]byte, Stamp, error) {
	s, stepped := o.steps[name]
	switch {
	case !stepped:
		return o.below.Read(name, buf)
	case s.Aside:
		return buf[:0], Stamp{}, fs.ErrNotExist
	case s.Version.Folder:
		return buf[:0], Stamp{}, files.ErrNotRegular
	case s.From != "":
		data, at, err := o.below.Read(s.From, buf)
		at.From = s.From
		return data, at, err
	case s.Version.None():
		return append(buf[:0], s.Data...), s.at, nil
	}
	data, err := o.kept(s.Version)
	return data, s.at, err
}

// OpenFile implements Tree.
func (o *overlay) OpenFile(name string) (Opened, error) {
	if _, stepped := o.steps[name]; !stepped {
		return o.below.OpenFile(name)
	}
	data, _, err := o.Read(name, nil)
	if err != nil {
		return nil, err
	}
	return InMemory(data), nil
}

// Stamp implements Tree.
func (o *overlay) Stamp(name string) (Stamp, error) {
	switch s, stepped := o.steps[name]; {
	case stepped && s.From != "":
		at, err := o.below.Stamp(s.From)
		at.From = s.From
		return at, err
	case stepped:
		return s.at, nil
	}
	at, err := o.below.Stamp(name)
	if err != nil || o.dirs[name] == nil {
		return at, err
	}
	if at.Kind != files.Nothing { // what is remembered of the folder below is not of this one
		at.Tag, err = o.tagFolder(name)
		return at, err
	}
	switch _, err := o.List(name); { // a folder that is made for what is in it
	case isFree(err):
		return Stamp{}, nil
	case err != nil:
		return Stamp{}, err
	}
	return Stamp{Stamp: files.Stamp{Kind: files.Directory}}, nil
}

// tagFolder returns a tag for the names that the steps put into a folder and take away.
func (o *overlay) tagFolder(dir string) (tag string, err error) {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(o.dirs[dir])) {
		at, err := o.Stamp(Join(dir, name))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%q %d\n", name, at.Kind)
	}
	return fmt.Sprintf("names %x", sum.Sum(nil)), nil
}

// Proven returns the tree in which steps were carried out: the journal has read each file
// that they wrote, and found the content that it was to have. What is made of that content
// is known from the plan.
func Proven(on Tree, steps Steps) Tree {
	p := &provenTree{Tree: on, at: make(map[string]Stamp, len(steps))}
	for i := range steps {
		if at := steps[i].stampAfter(); at.Tag != "" {
			p.at[steps[i].Name] = at
		}
	}
	return p
}

// provenTree is a tree that adds a tag to the stamps of files whose content is known.
type provenTree struct {
	Tree
	at map[string]Stamp
}

// Stamp implements Tree.
func (p *provenTree) Stamp(name string) (Stamp, error) {
	at, err := p.Tree.Stamp(name)
	return p.namedStamp(name, at), err
}

// Read implements Tree.
func (p *provenTree) Read(name string, buf []byte) ([]byte, Stamp, error) {
	data, at, err := p.Tree.Read(name, buf)
	return data, p.namedStamp(name, at), err
}

// namedStamp returns the stamp of a file with the name of its content.
func (p *provenTree) namedStamp(name string, at Stamp) Stamp {
	if is := p.at[name]; at.Kind == is.Kind && at.Size == is.Size {
		at.Tag = is.Tag
	}
	return at
}
