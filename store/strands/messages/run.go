package messages

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/store/files"
	"hindcast/store/folder"
	"hindcast/store/sdk"
	"hindcast/store/strands/runs"
)

// orchestrator is the record of one orchestrator, a Graph or a Swarm, as it lies
// on disk.
type orchestrator struct {
	folders
	run *runs.Run // nil if there is none
	// aside are the versions of the record that are kept, see rewind.go.
	aside []asideRun
	// sum is the SHA-256 of the record, "" where it cannot be read.
	sum string
	// err names the file that cannot be read, and why.
	err error
}

// openRun reads the record of an orchestrator as it lies. There is nothing to close.
func (s *Store) openRun(p place) *orchestrator {
	w := s.storage.Writes(context.Background())
	return s.readRun(p, folder.In{Tree: p.tree, Told: w.Told(p.name())})
}

// readRun reads the record of an orchestrator.
func (s *Store) readRun(p place, in folder.In) *orchestrator {
	o := &orchestrator{folders: s.folders(p)}
	o.tree = in.Tree
	o.checkSession()
	dir := path.Join(p.session, "multi_agents", p.orchestrator)
	o.leftovers(dir)
	name := p.recordPath()
	d := files.ReadDocument(folder.From(o.tree), name, nil)
	o.written += int64(len(d.Data))
	if len(d.Data) > 0 {
		o.sum = fmt.Sprintf("%x", sha256.Sum256(d.Data))
	}
	o.aside = s.asideRuns(p, in.Told.Entries(), o.sum)
	if d.Err != nil {
		o.unreadable(name, &d)
		return o
	}
	for _, f := range slices.Concat(encodingFlaws(&d), oddities(&d, sdk.Loads("but the SDK cannot write the file again: UnicodeEncodeError"))) {
		o.flaw(name, f)
	}
	// The record has no time. The file is written anew whenever it changes.
	written := time.Time{}
	if at, err := o.tree.Stamp(name); err == nil {
		written = at.Modified.UTC()
	}
	if written.After(o.updated) {
		o.updated = written
	}
	o.run = runs.Decode(d.Tape, 0, runs.Place{
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
		o.flaw(name, flaw{code: FaultRunFile, meaning: "there is no multi_agent.json", verdict: sdk.Says(model.Odd, "starts from the beginning, and writes the file")})
		return
	}
	o.flaw(name, fileFlaw(FaultRunFile, d))
	o.err = fmt.Errorf("%s: %w", o.shown(name), d.Err)
}

// now returns the headers of the node executions that the record has.
func (o *orchestrator) now() []model.Header {
	if o.run == nil {
		return nil
	}
	return o.run.Headers()
}

// headers returns the headers of all node executions, those that are aside behind the
// one that they follow.
func (o *orchestrator) headers() []model.Header {
	now := o.now()
	leaving := o.branches(now)
	list := leaving[""]
	for _, h := range now {
		list = append(append(list, h), leaving[h.ID]...)
	}
	return list
}

// find returns the run of a snapshot and its number there: of the record, or else of
// the newest version that is kept and has it. The errors are that of the file, and
// model.ErrNoSnapshot.
func (o *orchestrator) find(id string) (*runs.Run, int, error) {
	runs := []*runs.Run{o.run}
	for _, a := range slices.Backward(o.aside) {
		if a.shown {
			runs = append(runs, a.run)
		}
	}
	for _, r := range runs {
		if r == nil {
			continue
		}
		if i := r.Find(id); i >= 0 {
			return r, i, nil
		}
	}
	return nil, 0, cmp.Or(o.err, model.ErrNoSnapshot)
}

// info returns what a list of sessions shows.
func (o *orchestrator) info() model.SessionInfo {
	info := model.SessionInfo{ID: o.id, Kind: kind, UpdatedAt: o.updated, Faults: len(o.faults.All()), Size: o.written}
	if o.run != nil {
		info.Title = o.run.Summary().Task
	}
	info.Count(o.headers())
	return info
}
