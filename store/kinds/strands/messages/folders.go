package messages

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/sdk"
)

// folders are the folders of a session around one place, and the faults of the files in
// them.
type folders struct {
	place
	// tree is the tree that they are read from: the tree of the place, or a tree over it.
	tree tree.Tree
	// running is the SDK version that is known to run, or nil.
	running *sdk.Version
	// written counts the bytes of the files besides those of messages.
	written int64
	// faults are the faults of the names, agent.json and session.json.
	faults store.FaultList
}

// foldersOf returns the folders of a place in a tree.
func foldersOf(p place, t tree.Tree) folders {
	return folders{place: p, tree: t, running: p.root.running.Of(sdk.StrandsPython)}
}

// flaw notes what is wrong with a file that is no message.
func (f *folders) flaw(file string, w flaw) {
	f.faults.Add(w.fault(file, versions(f.running), stand{}))
}

// checkSession reads session.json: the SDK makes a session only from a file
// that has both of its fields, and does not start one that has a folder alone.
func (f *folders) checkSession() {
	name := path.Join(f.session, "session.json")
	d := files.ReadDocument(tree.From(f.tree), name, nil)
	f.written += int64(len(d.Data))
	refused := func(meaning, exception string) {
		f.flaw(name, flaw{code: FaultSessionFile, meaning: meaning, verdict: sdk.Refuses(exception)})
	}
	switch {
	case errors.Is(d.Err, fs.ErrNotExist):
		refused("there is no session.json", "SessionException: the session already exists")
	case d.Err != nil:
		f.flaw(name, fileFlaw(FaultSessionFile, &d))
	case d.Tape.Kind(0) != jsontape.Object:
		refused("the file holds no object", "AttributeError")
	default:
		for _, w := range encodingFlaws(&d) {
			f.flaw(name, w)
		}
		f.updated = timeOf(d.Tape, d.Tape.Find(0, "updated_at"))
		for _, key := range []string{"session_id", "session_type"} {
			if d.Tape.Find(0, key) < 0 {
				refused("there is no "+key, "TypeError: missing argument '"+key+"'")
			}
		}
	}
	f.leftovers(f.session)
	if f.link != nil {
		f.flaw(".", flaw{code: FaultSymlink, verdict: sdk.Ignores("the SDK follows links to folders"),
			meaning: fmt.Sprintf("the folder is a link to the session %s: it is read there, and written only where that folder is opened, as strands:%s", f.link.to, f.link.to)})
	}
}

// broken reports whether something is wrong that a repair mends.
func (f *folders) broken() bool { return slices.ContainsFunc(f.faults.All(), isFatal) }

// shownIn names the files of faults as they are below the folder that was opened.
func (p place) shownIn(list []model.Fault) []model.Fault {
	for i := range list {
		list[i].File = p.shown(list[i].File)
	}
	return list
}

// leftovers notes the temporary files in a folder. A folder that cannot be
// listed is told of where it is needed.
func (f *folders) leftovers(dir string) {
	names, err := f.tree.List(dir)
	if err != nil {
		return
	}
	for _, name := range names {
		if isTemporary(name) {
			f.leftover(path.Join(dir, name))
		}
	}
}

// leftover notes a temporary file, unless its writer may still be at work.
func (f *folders) leftover(name string) {
	if at, err := f.tree.Stamp(name); err == nil && at.IsAbandoned() {
		f.flaw(name, flaw{code: FaultLeftover, meaning: "a writer was stopped before it was done", verdict: sdk.Loads("the file is ignored")})
	}
}
