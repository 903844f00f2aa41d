package snapshots

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"path"
	"slices"
	"sync/atomic"
	"syscall"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/sdk"
)

// findFaults returns the faults of a session: what the SDKs do not start on, what they load
// although it cannot work, and what is odd. It reads each file whole.
func (s *Store) findFaults(ctx context.Context, in engine.In, log *engine.Log) ([]model.Fault, error) {
	p := log.Place.Own.(place)
	return s.checkPlaces(ctx, in, &p, log, math.MaxInt64)
}

// quickBytes is how much of a session is read whole for the list of sessions.
// A larger one is looked at more closely by Faults alone.
const quickBytes = 32 << 20

// checkPlaces looks for the faults of a place. log is its session, nil where that cannot be read. It reads at most most bytes of files: the newest
// files first, and at least the first of them.
func (s *Store) checkPlaces(ctx context.Context, in engine.In, p *place, log *engine.Log, most int64) ([]model.Fault, error) {
	c := checkup{place: p, tree: in, running: &s.running, said: make(map[string]bool)}
	if err := s.files.Storage.Broken(); err != nil {
		c.addFault(journalFault(err.Error()))
	}
	l, err := p.listFiles(in.Tree)
	if err != nil {
		c.addFault(model.Fault{Code: FaultDirectory, File: p.pathOf(), Meaning: "the folder cannot be read: " + files.Cause(err).Error(), Severity: model.Stops, Verdict: "refuses to start: it cannot be read"})
		return c.list.All(), nil
	}
	if l.unlisted != nil {
		c.addFault(plainFault(model.Fault{Code: FaultDirectory, File: p.pathOf(historyDir), Meaning: "the folder cannot be read: " + l.unlisted.Error()}, unstoredVerdict("it cannot be read")))
	}
	c.checkNames(in.Tree)
	if log == nil {
		return c.list.All(), ctx.Err()
	}
	switch read := sessionIn(log).(type) {
	case *records:
		c.checkRecords(read)
	case *history:
		err = c.checkSnapshots(ctx, read.withInput(in), most, &s.checks)
	}
	return c.list.All(), err
}

// checkSnapshots looks at the snapshots of an agent.
func (c *checkup) checkSnapshots(ctx context.Context, h *history, most int64, checks *atomic.Int64) error {
	c.dialect = h.startDialect()
	c.checkIdentifiers()
	defer h.in.Hold(h.nameOf(historyDir))()
	for i := len(h.items) - 1; i >= 0; i-- {
		if most <= 0 {
			break
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		it := &h.items[i]
		if it.aside != nil {
			continue // no SDK meets it
		}
		doc := files.ReadDocument(tree.From(h.in.Tree), h.storageName(it.name), nil)
		checks.Add(1)
		most -= int64(len(doc.Data))
		c.checkFile(it, &doc)
	}
	c.checkHistory(h)
	return nil
}

// checkRecords looks at the records of an orchestrator.
func (c *checkup) checkRecords(rs *records) {
	for i := range slices.Backward(rs.Versions) {
		r, lies := rs.Versions[i].Own.(*record)
		if !lies {
			continue // no SDK meets it
		}
		c.dialect = r.Dialect
		if i == len(rs.Versions)-1 {
			c.checkIdentifiers()
		}
		c.checkFile(&r.item, &r.doc)
		if run := rs.Versions[i].Run; run != nil {
			for _, f := range run.Faults() {
				c.addFault(f)
			}
		}
	}
}

// checkup gathers what is wrong with one place.
type checkup struct {
	*place
	tree    tree.Tree
	running *sdk.Running
	// dialect is the one of the SDK that starts here, as far as that is known.
	dialect dialect
	list    store.FaultList
	// said are the faults of messages that were told, because the same messages
	// are in many snapshots; prompts are the system prompts.
	said    map[string]bool
	prompts []prompt
	manager string // the class of the newest snapshot
}

// prompt is a system prompt and the file that has it.
type prompt struct{ text, file string }

func (c *checkup) addFault(f model.Fault) { c.list.Add(f) }

// plainFault returns a fault with a verdict for all versions.
func plainFault(f model.Fault, v sdk.Verdict) model.Fault {
	return sdk.From(sdk.First).WithVerdict(f, v)
}

// judgeFault returns a fault of a file with the verdict of the SDK that wrote it: on a start
// or, for an older snapshot, on a restore.
func (c *checkup) judgeFault(f model.Fault, it *item, v verdict, in sdk.Span) model.Fault {
	word := func(v sdk.Verdict) model.Fault {
		f := in.WithVerdict(f, v)
		if f.Severity == model.Stops && !it.isLatest() {
			return plainFault(f, unstoredVerdict(v.Text()))
		}
		return f
	}
	d := it.Dialect
	if d == unknownDialect {
		d = c.dialect
	}
	switch {
	case d == python || v.python == v.typeScript:
		return word(v.python)
	case d == typeScript:
		return word(v.typeScript)
	}
	py, ts := word(v.python), word(v.typeScript)
	py.Severity, py.Verdict = max(py.Severity, ts.Severity), "Strands for Python "+py.Verdict+"; for TypeScript "+ts.Verdict
	return py
}

// startDialect returns the SDK that starts on a history: the one that wrote what it
// loads, else the newest.
func (h *history) startDialect() dialect {
	for i := len(h.items) - 1; i >= 0; i-- {
		if d := h.items[i].Dialect; d != unknownDialect {
			return d
		}
	}
	return unknownDialect
}

// findUnlisted finds the folders that look like a session and are not listed.
func (s *Store) findUnlisted(_ context.Context, in engine.In) ([]model.Fault, error) {
	dirs, err := s.sessionDirs(in)
	if err != nil {
		return nil, err
	}
	var faults store.FaultList
	for _, d := range dirs {
		places, err := s.placesIn(in, d)
		if err != nil {
			faults.Add(model.Fault{Code: FaultDirectory, File: path.Join(d.dir, scopesDir), Meaning: "a folder cannot be read: " + files.Cause(err).Error(), Severity: model.Stops, Verdict: "refuses to start: it cannot be read"})
			continue
		}
		if len(places) == 0 {
			faults.Add(model.Fault{Code: FaultSession, File: path.Join(d.dir, scopesDir), Meaning: "the folder holds no snapshots", Verdict: "starts anew"})
		}
		s.strayScopes(in, d, &faults)
	}
	s.findLinks(in, namespace, &faults)
	s.findLinks(in, ".", &faults)
	return faults.All(), nil
}

// strayScopes finds the entries in the folder of scopes that are not scopes.
func (s *Store) strayScopes(in engine.In, d sessionDir, faults *store.FaultList) {
	dir := path.Join(d.dir, scopesDir)
	names, err := in.List(path.Join(s.wayDown(), dir))
	if err != nil {
		return // it is told by those who need it
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		if !slices.Contains(scopes, name) {
			faults.Add(files.Stray(model.Fault{Code: FaultStray, File: path.Join(dir, name), Meaning: "it is no scope that an SDK knows", Verdict: "loads; it is not looked at"}))
		}
	}
}

// findLinks finds the links to folders that lead out of the store.
func (s *Store) findLinks(in engine.In, dir string, faults *store.FaultList) {
	if s.single != nil {
		return
	}
	names, err := in.List(path.Join(s.wayDown(), dir))
	if err != nil {
		return // it is told by those who need it, or not there
	}
	for _, base := range slices.Sorted(slices.Values(names)) {
		name := path.Join(dir, base)
		at, err := in.Stamp(path.Join(s.wayDown(), name))
		if err != nil || at.Kind != files.Link {
			continue
		}
		if _, err := in.List(path.Join(s.wayDown(), name)); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			faults.Add(model.Fault{Code: FaultSymlink, File: name, Meaning: "a link that leads out of the store; it is not followed", Verdict: "loads; the SDKs follow links to folders"})
		}
	}
}
