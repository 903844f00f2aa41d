package messages

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/engine"
	"hindcast/store/kinds/strands/runs"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/sdk"
)

// recordFiles are the SDK's files for the records of orchestrators: one for each,
// overwritten again and again. The journal has the contents that Hindcast replaced.
type recordFiles struct{}

// recordPath returns the name in the storage of the file of an orchestrator.
func (p place) recordPath() string {
	return path.Join(p.session, "multi_agents", p.orchestrator, "multi_agent.json")
}

// recordFile is the file of an orchestrator, and what surrounds it.
type recordFile struct {
	folders
	doc files.Document
}

// infoOf returns the list's entry for the record of an orchestrator.
func infoOf(rs *runs.Records) model.SessionInfo {
	o := rs.Own.(*recordFile)
	info := model.SessionInfo{ID: o.id, Kind: kind, UpdatedAt: o.updated, Title: rs.Title(), Faults: len(o.faults.All()), Size: o.written}
	info.Count(rs.Headers())
	return info
}

// Records implements runs.Files.
func (f recordFiles) Records(ctx context.Context, in engine.In, at engine.Place) (*runs.Records, error) {
	p := at.Own.(place)
	name := p.recordPath()
	o := &recordFile{folders: foldersOf(p, in.Tree)}
	o.checkSession()
	o.leftovers(path.Dir(name))
	o.doc = files.ReadDocument(tree.From(in.Tree), name, nil)
	o.written += int64(len(o.doc.Data))
	v := runs.Version{Data: o.doc.Data, File: name, Loaded: true}
	rs := &runs.Records{File: name, Own: o}
	switch {
	case errors.Is(o.doc.Err, fs.ErrNotExist): // the SDK makes the folder first
		o.flaw(name, flaw{code: FaultRunFile, meaning: "there is no multi_agent.json", verdict: sdk.Says(model.Odd, "starts from the beginning, and writes the file")})
		return rs, ctx.Err()
	case o.doc.Err != nil:
		o.flaw(name, fileFlaw(FaultRunFile, &o.doc))
		v.Err = fmt.Errorf("%s: %w", o.shown(name), o.doc.Err)
	default:
		v.Run = o.decode(&rs.Written)
	}
	rs.Versions = []runs.Version{v}
	return rs, ctx.Err()
}

// decode reads the run of a file that parsed, and notes what is wrong with it. The record
// has no time, but the file is written anew whenever it changes.
func (o *recordFile) decode(written *[]engine.Written) *runs.Run {
	name, at := o.recordPath(), time.Time{}
	if stamp, err := o.tree.Stamp(name); err == nil {
		at = stamp.Modified.UTC()
		*written = []engine.Written{{Name: name, At: at}}
	}
	if at.After(o.updated) {
		o.updated = at
	}
	for _, f := range slices.Concat(encodingFlaws(&o.doc), oddities(&o.doc, sdk.Loads("but the SDK cannot write the file again: UnicodeEncodeError"))) {
		o.flaw(name, f)
	}
	run := o.run(o.doc.Tape, at)
	for _, f := range run.Faults() {
		o.faults.Add(f)
	}
	return run
}

func (o *recordFile) run(t *jsontape.Tape, at time.Time) *runs.Run {
	return runs.Decode(t, 0, runs.Place{Session: o.id, Orchestrator: strings.TrimPrefix(o.orchestrator, runPrefix), File: o.recordPath(), Updated: at})
}

// Decode implements runs.Files.
func (recordFiles) Decode(rs *runs.Records, data []byte) *runs.Run {
	tape, _, err := jsontape.ParseTolerant(data)
	if err != nil {
		return nil
	}
	return rs.Own.(*recordFile).run(tape, time.Time{})
}

// Put implements runs.Files.
func (recordFiles) Put(m *runs.Move) error {
	if why, stands := m.Stands(); stands {
		return why
	}
	m.Steps = tree.Steps{m.Step()}
	m.Guard()
	m.Writes = []string{"record of " + asItWas(m)}
	if m.Busy {
		m.Hazards = append(m.Hazards, "a run that still goes on writes the record over when the next node ends, so stop it first")
	}
	return nil
}

// asItWas names the record of a move.
func asItWas(m *runs.Move) string {
	run := m.From.Run.Summary()
	return fmt.Sprintf("%s %q: as it was after #%d", run.Kind, run.ID, m.At)
}

// New implements runs.Files: the session has session.json and the record, and nothing of
// the agents beside it.
func (f recordFiles) New(m *runs.Move, as string) error {
	if err := checkName(m.In.Tree, model.OpFork, as); err != nil {
		return err
	}
	o := m.Records.Own.(*recordFile)
	session, err := sessionFile(m.In.Tree, o.session, as)
	if err != nil {
		return err
	}
	p := place{id: as, session: sessionPrefix + as, root: o.root, orchestrator: o.orchestrator}
	to := p.at()
	m.New = &to
	// Until there is a session.json, the SDK does not take the folder for a session.
	m.Steps = tree.Steps{{Name: p.recordPath(), Data: m.Made.Document}, {Name: path.Join(p.session, "session.json"), Data: session}}
	m.Writes = []string{fmt.Sprintf("session %q: session.json, and the record of %s", as, strings.Replace(asItWas(m), ":", "", 1))}
	m.Made.Loads = fmt.Sprintf("with %s: %s", manager(o.on, as), m.Made.Loads)
	return nil
}

// Mend implements runs.Files.
func (f recordFiles) Mend(m *runs.Move) error {
	o, loaded := m.Records.Own.(*recordFile), m.Records.LoadedVersion()
	r := &mender{in: m.In, place: o.place}
	r.session(&o.folders)
	data, goes := r.record(m.Records)
	if err := r.err(); err != nil {
		return err
	}
	m.Guard()
	switch {
	case goes:
		m.Target = model.Point{}
		m.Steps = append(m.Steps, tree.Step{Name: m.Records.File, Aside: true})
		m.Made = runs.Rewound{
			Loads:  "there is no record: a start begins at the first nodes, with the task that it is given",
			Resume: []model.Resume{{Call: `orchestrator("…")`, Then: "begins at the first nodes"}},
		}
	case data != nil:
		m.Steps = append(m.Steps, tree.Step{Name: m.Records.File, Data: data})
		m.DescribeRepair(f.Decode(m.Records, data))
	case loaded != nil && loaded.Run != nil:
		m.DescribeRepair(loaded.Run)
	}
	if r.sessionFile != nil {
		m.Steps = append(m.Steps, tree.Step{Name: path.Join(o.session, "session.json"), Data: r.sessionFile})
	}
	m.Writes, m.Asks = r.words, r.asks
	return nil
}

// record mends the record of an orchestrator. It returns the new content, nil where it
// stays, and whether the record has to go: a run whose results cannot be read
// cannot be gone on with, and the SDK starts on nothing better than on that.
func (m *mender) record(rs *runs.Records) (data []byte, goes bool) {
	drop := func(reason string) (data []byte, goes bool) {
		m.did(rs.File, "set aside: %s", reason)
		m.ask("the record of the run goes, with all results: a start begins anew")
		return nil, true
	}
	v, d := rs.LoadedVersion(), &rs.Own.(*recordFile).doc
	syntax := (*jsontape.SyntaxError)(nil)
	switch {
	case v == nil:
		return nil, false
	case errors.As(d.Err, &syntax):
		return drop("it cannot be read: " + d.Err.Error())
	case d.Err != nil:
		m.unreadable(rs.File, d.Err)
		return nil, false
	}
	for _, f := range encodingFlaws(d) {
		return drop(f.meaning)
	}
	mended, words, err := v.Run.Mend()
	if unsupported := (*model.UnsupportedError)(nil); errors.As(err, &unsupported) {
		return drop(unsupported.Reason)
	} else if err != nil {
		return drop(err.Error())
	}
	for _, text := range words {
		m.did(rs.File, "%s", text)
		m.ask("the record of the run: %s", text)
	}
	if string(mended) == string(d.Data) {
		return nil, false
	}
	return mended, false
}

// Back implements runs.Files.
func (f recordFiles) Back(before, after *runs.Records, next engine.Next) engine.Next {
	was, now := before.Own.(*recordFile), after.Own.(*recordFile)
	switch {
	case after.LoadedVersion() == nil:
		return engine.Next{Loads: goneWords(was.on, was.id)}
	case before.LoadedVersion() == nil:
		return engine.Next{Loads: thereWords(now.id)}
	case now.broken() && !was.broken():
		return engine.Next{Loads: brokenAgain, Hazards: []string{brokenAgain}}
	case was.broken() && !now.broken():
		return engine.Next{Loads: mendedAgain}
	}
	return next
}
