package chat

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/media/watch"
)

// Agent describes the kind of store that one coding agent writes.
type Agent struct {
	// Name is that of the kind, Framework that of the agent for people.
	Name, Framework string
	// IDs are the text of [store.Features].DerivedIDs.
	IDs string
	// Roots are where in a folder that a person names the storage may be, such as
	// "projects" in "~/.claude"; "." for the folder itself. The first that has sessions counts.
	// Others than "." count in a folder alone whose name has the word Home in it, "" for any:
	// a folder that happens to have such a one is not taken for the agent's.
	Roots []string
	Home  string
	// Inner returns how many folders above an opened folder the storage is: 1 for the folder of one project.
	// t is the tree of the opened folder.
	Inner func(dir string, t tree.Tree) int
	// Files are the names of files that are a storage each, as patterns of path.Match: see
	// store.Kind. A folder is recognised as one by Roots alone.
	Files []string
	// Local says that sessions are in databases, which are read on a disk alone.
	Local bool
	// Shape says in a few words which files tell a storage: "PROJECT/SESSION.jsonl".
	Shape string
	// Signs says of a file whether it is a session, by its beginning. A file that a person opened is
	// one where it does, whatever it is called and wherever it lies.
	Signs func(in Spot, head []byte) Sign
	// Noun names such a file, "a Codex rollout", and Traces are texts near its beginning. They identify a
	// file of the agent that cannot be opened.
	Noun   string
	Traces []string
	// Format returns the format of one opened store. dir is the folder of its storage on the disk, which a
	// database needs because no tree of files can read it; "" if the storage is on no disk.
	Format func(dir string) Format
	// Levels are how deep a change may be, for [store.Features].Watch.
	Levels []watch.Level
	// Places is documented at store.Kind. Moved points the agent to another place, and Database is the file
	// that it opens there; "" if sessions are files of their own.
	Places func(store.Surroundings) []string
	Moved  Moved
	// Others are the places where other programs keep sessions of the agent, which does not look there; or nil.
	Others   func(store.Surroundings) []string
	Database string
	// Lacks says why no session can be made that the agent resumes, "" where one can.
	Lacks string
	// NoIndex is that of [engine.Kind].
	NoIndex bool
	// Tables are the rows of its sessions in databases; nil for an agent without databases.
	Tables *engine.Tables
	// Passes says how the agent treats a damaged record.
	Passes string
	// Lifetime returns how long the agent keeps a session that does not change, by the folder of the storage; 0 for ever.
	// Nil is for an agent that keeps all.
	Lifetime func(dir string) time.Duration
	// Breaks describes how the agent treats a message on the path to the head whose parent is missing. It is
	// the same for a lineage that runs in a circle. "" means that the agent takes the message for the first.
	Breaks string
}

// Kind returns the kind for the list of kinds. cache keeps titles from one run of the program
// to the next; nil remembers them in this process only.
func (a *Agent) Kind(cache *files.Cache) engine.Kind {
	_, continues := a.Format("").(Continuer)
	return engine.Kind{
		Kind: store.Kind{Name: a.Name, Framework: a.Framework, Files: a.Files, Likens: true, Places: a.allPlaces, Continues: continues},
		Sign: a.sign, Copied: !a.Local, Tables: a.Tables, NoIndex: a.NoIndex,
		OpenAt: func(ctx context.Context, at engine.Site) (store.Store, error) { return a.Open(ctx, at, cache) },
	}.Derive()
}

// allPlaces returns the places of the agent, and those of other programs behind them.
func (a *Agent) allPlaces(around store.Surroundings) (list []string) {
	for _, places := range []func(store.Surroundings) []string{a.Places, a.Others} {
		if places != nil {
			list = append(list, places(around)...)
		}
	}
	return list
}

// root is a folder of a site, up folders above which the storage may be. only is the one file that was opened, or "".
type root struct {
	engine.Site
	only string
	up   int
}

// roots returns the folders of a site that may have the storage.
func (a *Agent) roots(at engine.Site) (list []root, err error) {
	if at.Err != nil {
		return nil, at.Err
	}
	if !at.IsFolder() {
		if around, name, ok := at.Around(); ok {
			list = append(list, root{around, name, a.inner(around)})
		}
		return list, nil
	}
	for _, below := range a.below(path.Base(at.Whole())) {
		if in, ok := at.Below(below); ok {
			list = append(list, root{in, "", a.inner(in)})
		}
	}
	return list, nil
}

// below returns where in a folder of a name the storage may be.
func (a *Agent) below(name string) (list []string) {
	for _, below := range a.Roots {
		if below == "." || strings.Contains(strings.ToLower(name), a.Home) {
			list = append(list, below)
		}
	}
	return list
}

// InDashed is the Inner of an agent that names the folder of a project by its path, -home-demo.
func InDashed(dir string, _ tree.Tree) int {
	if strings.HasPrefix(filepath.Base(dir), "-") {
		return 1
	}
	return 0
}

// inner returns how many folders above a folder the storage is.
func (a *Agent) inner(at engine.Site) int {
	if a.Inner == nil {
		return 0
	}
	t, done, err := at.Tree()
	if err != nil {
		return 0 // opening it says why
	}
	defer done()
	return a.Inner(at.Whole(), t)
}

// mostSigned bounds the files of a folder that sign reads. signSize bytes of a file are usually enough,
// and longSize bytes are read of a file that begins with long records.
const (
	mostSigned = 8
	signSize   = 8 << 10
	longSize   = 48 << 10
)

// sign looks for a file that is named as a session's and begins as one.
func (a *Agent) sign(ctx context.Context, at engine.Site) (why string, ok bool, err error) {
	_, said, why, err := a.findRoot(ctx, at)
	if said.yes {
		why = a.Shape
	}
	return why, said.yes, err
}

// findRoot returns the first root of a site that has sessions, or else the last root, with the verdict on its files. The
// root is nil if the site has no roots. why is the first reason against a root.
func (a *Agent) findRoot(ctx context.Context, at engine.Site) (found *root, said signed, why string, err error) {
	roots, err := a.roots(at)
	for i := 0; i < len(roots) && err == nil && !said.yes; i++ {
		found = &roots[i]
		said, err = a.isStorage(ctx, *found)
		why = cmp.Or(why, said.foreign, said.misses)
	}
	return found, said, why, err
}

// misses says why a file of a tree is no session that looks as if it were meant to be one; "" of any other.
func (a *Agent) misses(heads tree.Tree, file string) string {
	if len(a.Traces) == 0 {
		return ""
	}
	head, err := tree.Head(heads, file, longSize)
	if err != nil {
		return ""
	}
	head = bytes.TrimPrefix(head, bom)
	if foreign := a.foreign(a.Signs(Spot{File: path.Base(file)}, head)); foreign != "" {
		return foreign
	}
	if !slices.ContainsFunc(a.Traces, func(trace string) bool { return bytes.Contains(head, []byte(trace)) }) {
		return ""
	}
	return "it looks like " + a.Noun + ", but " + unreadable(head)
}

// unreadable explains why the beginning of a file of lines has no record.
func unreadable(head []byte) string {
	line := bytes.TrimSpace(headLines(bytes.TrimSpace(head))[0])
	switch _, err := Parse(line); {
	case len(line) == 1:
		return "its records go over several lines: one on each line is read"
	case err != nil && len(line) < longSize:
		return "line 1 is no record: " + err.Error()
	}
	return "no line at its beginning is a record that tells a session"
}

// signed is the verdict on the first files of a folder.
type signed struct {
	// yes reports that the format reads one of the sessions. If it reads no session, foreign describes the
	// first of another program, and misses says why the file that was opened is no session.
	yes             bool
	foreign, misses string
	asked           int // is the number of files
}

// isStorage asks the first files of a folder whether it has sessions. The beginning of each is read once.
func (a *Agent) isStorage(ctx context.Context, r root) (said signed, err error) {
	s, err := a.openRoot(r, nil)
	if err != nil {
		return said, ctx.Err()
	}
	if r.On == nil {
		defer func() { _ = errors.Join(s.storage.Close(), s.closeDatabases()) }() // it was only looked at
	}
	in := s.storage.In()
	heads, release := tree.Beginnings(in.Tree, longSize)
	defer release()
	all := s.storage.Way == "." && s.only == ""
	for _, most := range []int64{firstListed, mostListed} { // the first folders of a large storage mostly tell
		look := &few{
			Tree: heads, way: s.storage.Way, most: most, read: map[string]bool{},
			means: func(file string) bool { return all || s.isMeant(file) },
		}
		in.Tree = look
		said, err = s.askSamples(ctx, in, heads)
		if err != nil || said.yes || said.asked == mostSigned || look.listed.Load() <= most {
			break
		}
	}
	if r.only != "" && err == nil && !said.yes {
		said.misses = a.misses(heads, path.Join(s.storage.Way, s.only))
	}
	return said, err
}

// askSamples returns the verdict on the first sessions of a tree, whose beginnings heads has.
func (s *Store) askSamples(ctx context.Context, in engine.In, heads tree.Tree) (said signed, err error) {
	if d, ok := s.format.(based); ok {
		if names, err := d.Names(ctx, in); err != nil || slices.ContainsFunc(names, func(name string) bool { return s.only == "" || s.isMeant(name) }) {
			return signed{yes: err == nil}, ctx.Err()
		}
		said.foreign = d.foreignReason(func(name string) bool { return s.only == "" || s.isMeant(name) })
	}
	spots, err := s.samples(ctx, in)
	if err != nil {
		return said, ctx.Err()
	}
	for _, at := range spots[:min(len(spots), mostSigned)] {
		said.asked++
		if s.agent.Signs == nil {
			return signed{yes: true}, nil
		}
		for _, size := range []int64{signSize, longSize} {
			head, err := tree.Head(heads, at.File, size)
			if err != nil {
				break
			}
			sign := s.agent.Signs(at, bytes.TrimPrefix(head, bom))
			if sign.Read() {
				return signed{yes: true}, nil
			}
			if int64(len(head)) < size || size == longSize {
				said.foreign = cmp.Or(said.foreign, s.agent.foreign(sign))
				break
			}
		}
	}
	return said, nil
}

// samples returns sessions in the folder or file that was opened. It does not look for the agent's own ids.
func (s *Store) samples(ctx context.Context, in engine.In) ([]Spot, error) {
	list, err := s.format.Spots(ctx, in)
	if err != nil || s.storage.Way == "." && s.only == "" {
		return list, err
	}
	meant := slices.DeleteFunc(slices.Clone(list), func(at Spot) bool { return !s.isSpotMeant(&at) })
	if len(meant) > 0 {
		return meant, nil
	}
	return s.openedSpots(ctx, in, nil)
}

// few is a tree that lists no more than the first names of each folder, and no more than the
// first folders, and reads no more than the first files: enough to tell what the storage is. The way
// to the folder that was opened, and what is in that, it lists whole. Of files it reads those that
// were opened alone.
type few struct {
	tree.Tree
	way    string
	means  func(file string) bool
	most   int64 // bounds listed
	listed atomic.Int64

	mu   sync.Mutex
	read map[string]bool
}

const mostNamed, firstListed, mostListed, mostOpened = 2000, 8, 500, 32

func (f *few) List(dir string) ([]string, error) {
	whole := f.way != "." && (dir == "." || strings.HasPrefix(f.way+"/", dir+"/") || strings.HasPrefix(dir, f.way+"/"))
	if f.listed.Add(1) > f.most && !whole {
		return nil, nil
	}
	names, err := f.Tree.List(dir)
	if whole {
		return names, err
	}
	return names[:min(len(names), mostNamed)], err
}

// isOver reports whether a file comes after the first mostOpened files.
func (f *few) isOver(name string) bool {
	if !f.means(name) {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.read) < mostOpened {
		f.read[name] = true
	}
	return !f.read[name]
}

// OpenFile implements tree.Tree: a file after the first ones does not exist.
func (f *few) OpenFile(name string) (tree.Opened, error) {
	if f.isOver(name) {
		return nil, fs.ErrNotExist
	}
	return f.Tree.OpenFile(name)
}

// Read implements tree.Tree, as OpenFile does.
func (f *few) Read(name string, buf []byte) ([]byte, tree.Stamp, error) {
	if f.isOver(name) {
		return buf[:0], tree.Stamp{}, fs.ErrNotExist
	}
	return f.Tree.Read(name, buf)
}

// lacks returns why there is no such operation in a format.
func (a *Agent) lacks(op model.Op, f Format) string {
	switch op {
	case model.OpFork, model.OpUndo, model.OpRedo:
		return a.Lacks
	case model.OpContinue:
		if _, ok := f.(Continuer); ok {
			return ""
		}
	case model.OpRestore:
		if _, ok := f.(Restorer); ok || a.Lacks != "" {
			return a.Lacks
		}
		return "the files of " + a.Framework + " are not changed: a fork is a new session from here, which it resumes"
	case model.OpEdit:
		if _, ok := f.(Editor); ok {
			return ""
		}
		return cmp.Or(a.Lacks, "a fork of "+a.Framework+" has its records as they are: fork from before the message, and say it anew")
	}
	return store.Cannot(a.Name, op)
}
