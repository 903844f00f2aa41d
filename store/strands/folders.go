package strands

import (
	"errors"
	"io/fs"
	"os"
	"path"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/files"
)

// folders are those of a session that one place is in, and what is wrong with
// what lies in them.
type folders struct {
	place
	root *os.Root // the store
	// written counts the bytes of the files besides those of messages.
	written int64
	// faults are what the names, agent.json and session.json tell.
	faults store.FaultList
}

// checkSession reads session.json: the SDK makes a session only from a file
// that has both of its fields, and does not start one that has a folder alone.
func (f *folders) checkSession() {
	name := path.Join(f.session, "session.json")
	d := files.ReadDocument(files.From(f.root), name, nil)
	f.written += int64(len(d.Data))
	fault := model.Fault{Code: FaultSessionFile, File: name}
	switch {
	case errors.Is(d.Err, fs.ErrNotExist):
		fault.Meaning, fault.Verdict = "there is no session.json", refuses+"SessionException: the session already exists"
	case d.Err != nil:
		fault = fileFault(FaultSessionFile, name, &d)
	case d.Tape.Kind(0) != jsontape.Object:
		fault.Meaning, fault.Verdict = "the file holds no object", refuses+"AttributeError"
	default:
		for _, w := range encodingFlaws(&d) {
			f.faults.Add(model.Fault{Code: w.code, File: name, Path: w.path, Meaning: w.meaning, Verdict: w.verdict})
		}
		f.updated = timeOf(d.Tape, d.Tape.Find(0, "updated_at"))
		for _, key := range []string{"session_id", "session_type"} {
			if d.Tape.Find(0, key) < 0 {
				fault.Meaning, fault.Verdict = "there is no "+key, refuses+"TypeError: missing argument '"+key+"'"
			}
		}
	}
	if fault.Meaning != "" {
		f.faults.Add(fault)
	}
	f.leftovers(f.session)
}

// leftovers notes the temporary files in a folder. A folder that cannot be
// listed is told of where it is needed.
func (f *folders) leftovers(dir string) {
	names, err := files.Names(f.root, dir)
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
	if files.Abandoned(f.root, name) {
		f.faults.Add(model.Fault{Code: FaultLeftover, File: name, Meaning: "a writer was stopped before it was done", Verdict: loads + "the file is ignored"})
	}
}
