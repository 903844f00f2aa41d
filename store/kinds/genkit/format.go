package genkit

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/store/engine"
	"hindcast/store/media/tree"
)

// engineFormat returns the functions by which the engine reads and writes the storage.
func (p *part) engineFormat() engine.Format {
	return engine.Format{
		Name: kind, Framework: framework, IDs: "Genkit named the row",
		Sessions: p.listSessions, Place: p.findPlace, Read: p.readSession, State: p.readState, About: p.describeRow, Steps: p.addSteps, Faults: p.findFaults, Info: p.fillInfo,
		Check: p.checkFiles, Lacks: lacks, Move: p.planMove, Next: p.predictNext,
	}
}

// spot is where a session is: a folder, and its name among the sessions in it.
type spot struct{ dir, name string }

// placeOf returns the place of the session of a name, see grouping, in a folder of the
// storage. The port calls it id.
func placeOf(dir, name, id string) engine.Place {
	session := escapeSlashes.Replace(name)
	if dir != "." {
		session = dir + "/" + session
	}
	return engine.Place{Session: session, ID: id, Folders: []string{dir, path.Join(dir, pointersFolder)}, Own: spot{dir, name}}
}

// placeNamed returns the place of a session of the storage, which is named after its folder
// and the session in it. A flat one has another id where a "global" beside it has one of its name.
func (p *part) placeNamed(in engine.In, session string) engine.Place {
	at := spotNamed(session)
	label := p.labelOf(at.dir)
	if global := path.Join(at.dir, defaultPrefix); path.Base(at.dir) != defaultPrefix && tree.IsFolder(in, global) {
		beside, err := p.readSession(context.Background(), in, placeOf(global, at.name, ""), "")
		if err == nil && len(beside.Rows) > 0 {
			label = flatLabel(label)
		}
	}
	return placeOf(at.dir, at.name, sessionName(label, at.name))
}

// spotNamed returns where the session of such a name is.
func spotNamed(session string) spot {
	dir, name := path.Split(session)
	return spot{path.Clean(dir), unescapeSlashes.Replace(name)}
}

// findPlace returns where the session is that the port calls id: in "global", unless it is in the rows that
// lie flat beside that alone. It need not be there.
func (p *part) findPlace(ctx context.Context, in engine.In, id string) (engine.Place, error) {
	label, name := path.Split(id)
	dirs := p.candidateFolders(in, strings.TrimSuffix(label, "/"))
	if len(dirs) == 0 {
		return engine.Place{}, model.ErrNoSession
	}
	name = unescapeSlashes.Replace(name)
	first := placeOf(dirs[0], name, id)
	if len(dirs) == 1 {
		return first, nil
	}
	flat := placeOf(dirs[1], name, id)
	if beside, _, err := listFolder(in, dirs[1]); (err != nil || len(beside.rows) == 0) && in.Writes.ForSession(flat.Session) == nil {
		return first, nil
	}
	log, err := p.readSession(ctx, in, first, "")
	if ctx.Err() != nil {
		return engine.Place{}, ctx.Err()
	}
	if err == nil && len(log.Rows) > 0 || len(in.Writes.ForSession(first.Session).ListAside()) > 0 {
		return first, nil
	}
	return flat, nil
}

// listSessions returns the sessions of the storage. Those of places called "global" come first, so
// that they keep their names where there are others of the same name beside them.
func (p *part) listSessions(ctx context.Context, in engine.In) (listed []engine.Listed, err error) {
	var global, flat []place
	err = searchFolders(ctx, in, p.storageName(p.dir), func(at place) bool {
		switch {
		case len(at.rows) == 0:
		case at.isGlobal():
			global = append(global, at)
		default:
			flat = append(flat, at)
		}
		return true
	}, func(string, error) {})
	if err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	for _, at := range append(global, flat...) {
		g, err := p.readPlace(ctx, in, at)
		if err != nil {
			return nil, ctx.Err() // a folder that cannot be read is told of by Faults
		}
		g.addAside(in)
		for name, one := range g.sessions {
			id := sessionName(p.labelOf(at.dir), name)
			if taken[id] {
				id = sessionName(flatLabel(p.labelOf(at.dir)), name)
			}
			taken[id] = true
			where := placeOf(at.dir, name, id)
			listed = append(listed, engine.Listed{Place: where, Log: one.buildLog(where, in)})
		}
	}
	return listed, nil
}

// addAside adds the sessions whose rows the journal alone has.
func (g *grouping) addAside(in engine.In) {
	for _, session := range in.Writes.Sessions() {
		at := spotNamed(session)
		if at.dir == g.place.dir && g.sessions[at.name] == nil {
			g.sessions[at.name] = g.emptySession(in, at.name)
		}
	}
}

// flatLabel is the label of a place whose sessions "global" beside it has, too.
func flatLabel(label string) string {
	if label == "" {
		return "."
	}
	return label + "/."
}

// fillInfo completes what the list of sessions shows of one.
func (p *part) fillInfo(log *engine.Log, info *model.SessionInfo) {
	one := sessionOf(log)
	for _, r := range one.rows {
		info.Title = cmp.Or(info.Title, r.opening)
		info.Size += r.written
		if at := r.lastWritten(); at.After(info.UpdatedAt) {
			info.UpdatedAt = at
		}
	}
	for _, r := range one.rows { // one that lost its first rows has what is left
		info.Title = cmp.Or(info.Title, r.title)
	}
	info.Faults = len(model.Harmful(one.sessionFaults().All()))
}

// readSession returns the log of a session, with all of its rows.
func (p *part) readSession(ctx context.Context, in engine.In, at engine.Place, _ string) (*engine.Log, error) {
	where := at.Own.(spot)
	rows, _, err := listFolder(in, where.dir)
	if err != nil && !isGone(err) { // an undo may have taken the folder away
		return nil, err
	}
	g, err := p.readPlace(ctx, in, rows)
	if err != nil {
		return nil, err
	}
	one := g.sessions[where.name]
	if one == nil {
		one = g.emptySession(in, where.name)
	}
	return one.buildLog(at, in), nil
}

// sessionOf returns the session of a log. One whose rows the journal alone has keeps
// the layout of these.
func sessionOf(log *engine.Log) *session {
	one := *log.Own.(*session)
	one.log = log
	if whole, ok := log.Whole.(*session); ok && len(one.rows) == 0 {
		one.layout = whole.layout
	}
	return &one
}

// lastWritten returns when the row was written last, by its own times.
func (r *row) lastWritten() time.Time {
	if r.updated.at.After(r.created.at) {
		return r.updated.at
	}
	return r.created.at
}

// buildLog returns the log of a session.
func (s *session) buildLog(at engine.Place, in engine.In) *engine.Log {
	n, told := len(s.rows), in.Writes.ForSession(at.Session)
	log := &engine.Log{Place: at, Rows: make([]model.Header, n), Files: make([]string, n), Written: make([]engine.Written, n), Head: -1, Own: s}
	head := s.headRow()
	s.made = map[*row]bool{}
	leads := make(map[string]bool, n)
	for _, r := range s.rows {
		leads[r.parentID] = leads[r.parentID] || r.parentID != r.id
	}
	for i, r := range s.rows {
		h := &log.Rows[i]
		*h = r.newHeader(in.Now)
		h.SessionID, h.TurnIndex = at.SessionName(), model.TurnUnknown
		switch {
		case h.EventName == "" || leads[r.id]:
		case h.EventName == statusPending:
			h.Reason = pendingLeaf
		default:
			h.Reason = failedLeaf
		}
		log.Files[i] = s.fileOf(r.id)
		log.Written[i] = engine.Written{Name: log.Files[i], At: r.lastWritten()}
		if dies := r.expiresAt(); dies.After(in.Now) && (log.Until.IsZero() || dies.Before(log.Until)) {
			log.Until = dies
		}
		if m := told.MakerOf(log.Files[i]); m != nil {
			h.Reason = nil
			s.made[r] = true
			if h.EventName == "" {
				h.Event, h.EventName = model.SnapshotEventNamed, string(m.Op)
			}
		}
		if r == head {
			log.Head = i
		}
	}
	log.Pointed = s.pointedRow() != nil
	s.log, s.now = log, in.Now
	return log
}

// readState returns the bytes of a row's state as they are in the file, "null" for a row without one.
func (p *part) readState(ctx context.Context, in engine.In, row *engine.Row) ([]byte, error) {
	if isStep(row.ID) {
		return p.stepState(ctx, row)
	}
	r, data, err := p.readRow(in, row)
	if err != nil {
		return nil, err
	}
	state, err := r.stateIn(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.shownName(path.Join(row.Place.Own.(spot).dir, row.ID+rowSuffix)), err)
	}
	return state, nil
}

// readRow reads a row and its bytes. The file is named by the id, and the row in it says whether it is of the
// session: no other file need be looked at.
func (p *part) readRow(in engine.In, of *engine.Row) (*row, []byte, error) {
	at := of.Place.Own.(spot)
	r, data, failed := rowIn(in, at.dir, of.ID)
	if failed == nil && of.Visit == 0 && r.ownSession() == at.name {
		return r, data, nil
	}
	log, _, err := of.In()
	if err != nil {
		return nil, nil, err
	}
	a := log.Aside[of.ID]
	if a == nil {
		return r, data, failed
	}
	if data, err = in.Writes.ForSession(of.Place.Session).Read(a); err != nil {
		return nil, nil, err
	}
	kept, _ := decodeRow(of.ID, data)
	return &kept, data, nil
}

// rowIn reads the row of an id in a folder.
func rowIn(in engine.In, dir, id string) (*row, []byte, error) {
	is, data, err := tree.DecodeFile(in.Tree, in.Memo, dir, id+rowSuffix, rowCodec)
	if err != nil {
		return nil, nil, err
	}
	if !is.isRow() {
		return nil, nil, model.ErrNoSnapshot
	}
	return is, data, nil
}
