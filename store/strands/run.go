package strands

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/store/files"
	"hindcast/store/strands/multiagent"
)

// orchestrator is the record of one orchestrator, a Graph or a Swarm, as it lies
// on disk.
type orchestrator struct {
	folders
	run *multiagent.Run // nil if there is none
	// err names the file that cannot be read, and why.
	err error
}

// openRun reads the record of an orchestrator. There is nothing to close.
func (s *Store) openRun(p place) *orchestrator {
	o := &orchestrator{folders: folders{place: p, root: s.root}}
	o.checkSession()
	dir := path.Join(p.session, "multi_agents", p.orchestrator)
	o.leftovers(dir)
	name := path.Join(dir, "multi_agent.json")
	d := files.ReadDocument(files.From(s.root), name, nil)
	if d.Err != nil {
		o.unreadable(name, &d)
		return o
	}
	for _, f := range slices.Concat(encodingFlaws(&d), oddities(&d, "but the SDK cannot write the file again: UnicodeEncodeError")) {
		o.faults.Add(model.Fault{Code: f.code, File: name, Path: f.path, Meaning: f.meaning, Verdict: f.verdict})
	}
	// The record has no time. The file is written anew whenever it changes.
	written := time.Time{}
	if info, err := s.root.Lstat(name); err == nil {
		written = info.ModTime().UTC()
	}
	if written.After(o.updated) {
		o.updated = written
	}
	o.run = multiagent.Decode(d.Tape, 0, multiagent.Place{
		Session: p.id, Orchestrator: strings.TrimPrefix(p.orchestrator, runPrefix), File: name, Updated: written,
	})
	for _, f := range o.run.Faults() {
		o.faults.Add(f)
	}
	return o
}

// unreadable notes that there is no record. Without the file there is nothing to
// go on with, and no error either: the SDK makes the folder first.
func (o *orchestrator) unreadable(name string, d *files.Document) {
	if errors.Is(d.Err, fs.ErrNotExist) {
		o.faults.Add(model.Fault{Code: FaultRunFile, File: name, Meaning: "there is no multi_agent.json", Verdict: "starts from the beginning, and writes the file"})
		return
	}
	o.faults.Add(fileFault(FaultRunFile, name, d))
	o.err = fmt.Errorf("%s: %w", name, d.Err)
}

// headers gives the headers of the node executions.
func (o *orchestrator) headers() []model.Header {
	if o.run == nil {
		return nil
	}
	return o.run.Headers()
}

// find gives the number of a snapshot. The errors are that of the file, and
// model.ErrNoSnapshot.
func (o *orchestrator) find(id string) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	if o.run != nil {
		if i := o.run.Find(id); i >= 0 {
			return i, nil
		}
	}
	return 0, model.ErrNoSnapshot
}

// info gives what a list of sessions shows.
func (o *orchestrator) info() model.SessionInfo {
	info := model.SessionInfo{ID: o.id, Kind: kind, UpdatedAt: o.updated, Faults: len(o.faults.All())}
	list := o.headers()
	if info.Snapshots = len(list); info.Snapshots > 0 {
		head := &list[len(list)-1]
		info.Head, info.HeadIndex = head.ID, head.Index
	}
	return info
}
