package coding

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"hindcast/model"
	"hindcast/store/engine/folder"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
)

// engine is the format of a store for package folder.
type engine struct {
	agent  *Agent
	format Format
	// dir is the folder of the storage on the disk; "" for none.
	dir string
	// memo is nil where nothing is remembered.
	memo *memo
}

// Name implements folder.Format.
func (e engine) Name() string { return e.agent.Framework }

// place returns the place of a session for the engine.
func (e engine) place(at Spot) folder.Place {
	return folder.Place{Session: at.Name(), Format: e, Own: at}
}

// memo remembers sessions that were read, with all that was seen of the tree for each, or
// with the mark of one in a database.
type memo struct {
	mu      sync.Mutex
	known   map[string]remembered
	entries int
}

type remembered struct {
	*Session
	seen tree.Seen
	mark string
}

// Marker is a [Format] that reads databases, whose changes no tree tells.
type Marker interface {
	// Mark returns a text that is another one when what a database has of a session changed.
	Mark(ctx context.Context, at Spot) (string, error)
}

// mostRemembered bounds the entries of the sessions that are remembered.
const mostRemembered = 200_000

// session returns a session, as it was read before where nothing of what it was made from
// changed.
func (e engine) session(ctx context.Context, in folder.In, at Spot) (*Session, error) {
	was, known := e.memo.recall(at.Name())
	mark := ""
	if m, ok := e.format.(Marker); ok {
		var err error
		if mark, err = m.Mark(ctx, at); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if known && was.Spot.ID == at.ID && was.mark == mark && was.seen.FindMoved(in.Tree) == "" {
		return was.Session, ctx.Err()
	}
	view := tree.NewView(in.Tree)
	in.Tree = view
	s, err := e.format.Read(ctx, in, at)
	if errors.Is(err, fs.ErrNotExist) {
		s, err = &Session{Spot: at, Head: -1}, nil
	}
	if err != nil {
		return nil, err
	}
	s.agent, s.dir = e.agent, e.dir
	s.finish()
	if view.FindChange() == nil {
		e.memo.remember(at.Name(), remembered{s, view.Seen(), mark})
	}
	return s, nil
}

func (m *memo) recall(name string) (r remembered, known bool) {
	if m == nil {
		return r, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r, known = m.known[name]
	return r, known
}

func (m *memo) remember(name string, r remembered) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if was, known := m.known[name]; known {
		m.entries -= len(was.Entries)
	}
	if m.entries += len(r.Entries); m.known == nil || m.entries > mostRemembered {
		m.known, m.entries = map[string]remembered{}, len(r.Entries)
	}
	m.known[name] = r
}

// Read implements folder.Format.
func (e engine) Read(ctx context.Context, in folder.In, at folder.Place) (*folder.Log, error) {
	s, err := e.session(ctx, in, at.Own.(Spot))
	if err != nil {
		return nil, err
	}
	n := len(s.Entries)
	log := &folder.Log{Place: at, Rows: make([]model.Header, n), Files: make([]string, n), Head: s.Head, Pointed: s.Pointed, Own: s}
	for i := range s.Entries {
		log.Rows[i] = s.Entries[i].header(s.Spot.ID)
		if row := &log.Rows[i]; s.Head < 0 { // no entry is resumed, whichever is the last
			row.Orphaned = true
			if s.Pointed || row.Reason == nil { // a pointer names nothing, or what is not there
				row.Reason = &model.Reason{Kind: model.ReasonPointer}
			}
		}
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
	case e.Said.Role == User:
		h.Event, h.EventName = model.SnapshotEventNamed, eventUser
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

// Move implements folder.Mover.
func (e engine) Move(_ context.Context, in folder.In, before *folder.Log, c model.Change) (*folder.Move, error) {
	if len(before.Rows) == 0 {
		return nil, model.ErrNoSession
	}
	if why := e.agent.lacks(c.Op, e.format); why != "" {
		return nil, &model.UnsupportedError{Op: c.Op, Reason: why}
	}
	if c.Op == model.OpFork && c.Join {
		return e.join(in, before, c)
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
		next.Calls = s.noteLost(m.Own.([]model.Resume))
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
	_, joiner := s.format.(Joiner)
	joins := joiner && one.joins()
	list = append(list, s.lockFaults(one)...)
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
