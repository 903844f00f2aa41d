package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"hindcast/model"
	"hindcast/store/engine"
	"hindcast/store/media/files"
)

// Marker is a [Format] that reads databases, whose changes no tree tells.
type Marker interface {
	// Mark returns a text that is another one when what a database has of a session changed.
	Mark(ctx context.Context, at Spot) (string, error)
}

// enginePlace returns the place of a session for the engine.
func (s *Store) enginePlace(at Spot) engine.Place {
	return engine.Place{Session: at.Name(), ID: at.ID, Own: at}
}

// decodeSession reads a session, and returns a session without entries if its file does not exist.
func (s *Store) decodeSession(ctx context.Context, in engine.In, at Spot) (*Session, error) {
	one, err := s.format.Read(ctx, in, at)
	if errors.Is(err, fs.ErrNotExist) {
		one, err = &Session{Spot: at, Head: -1}, nil
	}
	if err != nil {
		return nil, err
	}
	one.agent, one.dir = s.agent, s.folder
	one.finishEntries()
	return one, nil
}

// readLog returns the log of a session, and notes for the list what a large one tells.
func (s *Store) readLog(ctx context.Context, in engine.In, place engine.Place, _ string) (*engine.Log, error) {
	at := place.Own.(Spot)
	look, _ := at.latestStamp(in) // of what is not there nothing is remembered
	one, err := s.decodeSession(ctx, in, at)
	if err != nil {
		return nil, err
	}
	log := one.engineLog(in, place)
	if len(log.Rows) == 0 {
		switch err := s.isThere(ctx, in, at); {
		case err == nil:
			log.Empty = true
		case !errors.Is(err, model.ErrNoSession):
			return nil, err
		}
	}
	s.rememberLarge(in, look, one)
	return log, nil
}

// engineLog returns the session as the engine has it.
func (s *Session) engineLog(in engine.In, at engine.Place) *engine.Log {
	n := len(s.Entries)
	log := &engine.Log{Place: at, Rows: make([]model.Header, n), Files: make([]string, n), Head: s.Head, Pointed: s.Pointed, Own: s}
	for i := range s.Entries {
		log.Rows[i] = s.Entries[i].newHeader(s.Spot.ID)
		if row := &log.Rows[i]; s.Head < 0 { // no entry is resumed, whichever is the last
			row.Orphaned = true
			if s.Pointed || row.Reason == nil { // a pointer names nothing, or what is not there
				row.Reason = &model.Reason{Kind: model.ReasonPointer}
			}
		}
		log.Files[i] = cmp.Or(s.Entries[i].File, at.Session)
	}
	for _, part := range append([]Spot{s.Spot}, s.Spot.otherFiles()...) {
		if look, err := part.latestStamp(in); err == nil && look.Kind != files.Nothing {
			log.Written = append(log.Written, engine.Written{Name: part.File, At: look.Modified})
		}
	}
	return log
}

// eventModel is the event of an answer that does not end its turn.
const eventModel = "after model"

// newHeader returns the header of an entry.
func (e *Entry) newHeader(session string) model.Header {
	h := model.Header{ID: e.ID, ParentID: e.Parent, SessionID: session, CreatedAt: e.At, TurnIndex: model.TurnUnknown, Title: e.Title, Marks: e.Marks, Reason: e.Reason}
	if e.Turn > 0 {
		h.TurnIndex = e.Turn - 1
	}
	if e.Child != "" {
		h.Title += " → " + e.Child[strings.LastIndexByte(e.Child, '/')+1:]
	}
	switch {
	case e.Event != "":
		h.Event, h.EventName = model.SnapshotEventNamed, e.Event
	case e.Said.Role == Tool, len(e.Said.Results) > 0:
		h.Event = model.SnapshotEventToolIterationEnd
	case e.Said.Aside:
		h.Event, h.EventName = model.SnapshotEventNamed, EventContext
	case e.Said.Role == User:
		h.Event, h.EventName = model.SnapshotEventNamed, EventUser
	case e.Said.Role == Assistant && len(e.Said.Calls) > 0:
		h.Event, h.EventName, h.Position = model.SnapshotEventNamed, eventModel, model.PositionAfterModel
	case e.Said.Role == Assistant && e.GoesOn:
		h.Event, h.EventName = model.SnapshotEventNamed, eventModel
	case e.Said.Role == Assistant:
		h.Event = model.SnapshotEventTurnEnd
	default:
		h.Event, h.EventName = model.SnapshotEventNamed, e.Said.Role.String()
	}
	return h
}

// planMove plans a change.
func (s *Store) planMove(ctx context.Context, in engine.In, before *engine.Log, c model.Change) (*engine.Move, error) {
	at := before.At(c.Ref.ID)
	switch {
	case c.Op == model.OpFork && c.Drop[0] != "":
		return s.planDrop(in, before, at, c)
	case c.Op == model.OpFork && c.Join:
		return s.planJoin(in, before, c)
	case c.Op == model.OpEdit:
		return s.planEdit(ctx, in, before, at, c)
	case c.Op == model.OpRestore:
		return s.planRestore(in, before, at, c)
	}
	return s.planFork(in, before, at, c)
}

// predictNext describes how the agent continues a session after a plan.
func (s *Store) predictNext(_ context.Context, _ engine.In, _, after *engine.Log, m *engine.Move) (next engine.Next, err error) {
	one := after.Own.(*Session)
	if m != nil {
		next.Calls = one.noteLost(m.Own.([]model.Resume))
	}
	if one.Head >= 0 {
		next.Loads = fmt.Sprintf("%s loads %s", s.agent.Framework, model.Count(len(one.Reads(one.Head)), "message"))
	} else {
		next.Loads = s.agent.Framework + " finds no such session"
	}
	return next, nil
}

// sessionFaults returns the faults of a session: of its files, and of its lineage as far as that matters.
func (s *Store) sessionFaults(log *engine.Log) (list []model.Fault) {
	one := log.Own.(*Session)
	list = append(list, one.Faults...)
	list = append(list, s.lockFaults(one)...)
	if len(log.Rows) == len(one.Entries) && one.isLinked() {
		return list
	}
	_, joiner := s.format.(Joiner)
	joins := joiner && one.needsJoin()
	for _, f := range model.NewTimeline(log.Rows).Faults() {
		switch f.Code {
		case model.FaultMissingParent, model.FaultSelfParent, model.FaultParentCycle:
			id := strings.TrimPrefix(f.File, one.Spot.ID+"/")
			f.File, f.Path = one.Spot.File, strings.TrimSpace(id+" "+f.Path)
			if i := one.At(id); i >= 0 {
				e := &one.Entries[i]
				if f.File = cmp.Or(e.File, f.File); s.agent.Breaks != "" && one.OnHeadPath(e) {
					f.Severity = model.Stops
				}
			}
			f.Joins = joins
			f.Verdict = cmp.Or(s.agent.Breaks, s.agent.Framework+" takes it for the first message")
			list = append(list, f)
		}
	}
	return list
}
