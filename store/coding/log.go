package coding

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"hindcast/model"
	"hindcast/store/files"
	"hindcast/store/folder"
)

// engine is the format of a store for package folder.
type engine struct {
	agent  *Agent
	format Format
	// dir is the folder of the storage.
	dir string
}

// Name implements folder.Format.
func (e engine) Name() string { return e.agent.Framework }

// place returns the place of a session for the engine.
func (e engine) place(at Spot) folder.Place {
	return folder.Place{Session: at.Name(), Format: e, Own: at}
}

// Read implements folder.Format.
func (e engine) Read(ctx context.Context, in folder.In, at folder.Place) (*folder.Log, error) {
	s, err := e.format.Read(ctx, in, at.Own.(Spot))
	if errors.Is(err, fs.ErrNotExist) {
		s, err = &Session{Spot: at.Own.(Spot), Head: -1}, nil
	}
	if err != nil {
		return nil, err
	}
	s.finish()
	n := len(s.Entries)
	log := &folder.Log{Place: at, Rows: make([]model.Header, n), Files: make([]string, n), Head: s.Head, Pointed: s.Pointed, Own: s}
	for i := range s.Entries {
		log.Rows[i] = s.Entries[i].header(s.Spot.ID)
		log.Files[i] = cmp.Or(s.Entries[i].File, at.Session)
	}
	for _, part := range append([]Spot{s.Spot}, s.Spot.more()...) {
		if look, err := part.stamp(in); err == nil && look.Kind != files.Nothing {
			log.Written = append(log.Written, folder.Written{Name: part.File, At: look.Modified})
		}
	}
	return log, nil
}

// Events of entries that the seed's integers do not cover.
const (
	eventUser  = "user input"
	eventModel = "after model"
)

// header returns the header of an entry.
func (e *Entry) header(session string) model.Header {
	h := model.Header{ID: e.ID, ParentID: e.Parent, SessionID: session, CreatedAt: e.At, TurnIndex: model.TurnUnknown, Title: e.Title, Marks: e.Marks, Reason: e.Reason}
	if e.Child != "" {
		h.Title += " → " + e.Child[strings.LastIndexByte(e.Child, '/')+1:]
	}
	switch {
	case e.Event != "":
		h.Event, h.EventName = model.SnapshotEventNamed, e.Event
	case e.Said.Role == Tool:
		h.Event = model.SnapshotEventToolIterationEnd
	case e.Said.Role == User:
		h.Event, h.EventName = model.SnapshotEventNamed, eventUser
	case e.Said.Role == Assistant && len(e.Said.Calls) == 0:
		h.Event = model.SnapshotEventTurnEnd
	case e.Said.Role == Assistant:
		h.Event, h.EventName, h.Position = model.SnapshotEventNamed, eventModel, model.PositionAfterModel
	default:
		h.Event, h.EventName = model.SnapshotEventNamed, e.Said.Role.String()
	}
	return h
}

// Move implements folder.Mover.
func (e engine) Move(_ context.Context, in folder.In, before *folder.Log, c model.Change) (*folder.Move, error) {
	if len(before.Rows) == 0 {
		return nil, model.ErrNoSession
	}
	if why := e.agent.lacks(c.Op, e.format); why != "" {
		return nil, &model.UnsupportedError{Op: c.Op, Reason: why}
	}
	at := before.At(c.Ref.ID)
	if at < 0 {
		return nil, model.ErrNoSnapshot
	}
	if c.Op == model.OpRestore {
		return e.restore(in, before, at, c)
	}
	return e.fork(in, before, at, c)
}

// Next implements folder.Mover.
func (e engine) Next(_ context.Context, _, after *folder.Log, m *folder.Move) (next folder.Next, err error) {
	s := after.Own.(*Session)
	if m != nil {
		next.Calls = m.Own.([]model.Resume)
	}
	if s.Head >= 0 {
		next.Loads = fmt.Sprintf("%s loads %s", e.agent.Framework, model.Count(len(s.Reads(s.Head)), "message"))
	} else {
		next.Loads = e.agent.Framework + " finds no such session"
	}
	return next, nil
}

// faults returns what is wrong with a session: its files, and its lineage as far as that
// matters.
func (s *Store) faults(log *folder.Log) (list []model.Fault) {
	one := log.Own.(*Session)
	list = append(list, one.Faults...)
	list = append(list, s.lockFaults(one)...)
	for _, f := range model.NewTimeline(log.Rows).Faults() {
		switch f.Code {
		case model.FaultMissingParent, model.FaultSelfParent, model.FaultParentCycle:
			f.File, f.Path = one.Spot.File, strings.TrimSpace(f.File+" "+f.Path)
			f.Verdict = cmp.Or(f.Verdict, s.agent.Breaks, s.agent.Framework+" takes it for the first message")
			list = append(list, f)
		}
	}
	return list
}
