package genkit

import (
	"context"
	"path"
	"time"

	"hindcast/model"
	"hindcast/store/folder"
)

// format reads and changes the sessions of a storage.
type format struct{}

// Name implements folder.Format.
func (format) Name() string { return "Genkit" }

// spot is where a session is: a folder, and its name among the sessions in it.
type spot struct{ dir, name string }

// placeOf returns the place of the session of a name, see grouping, in a folder of the
// storage.
func placeOf(dir, name string) folder.Place {
	session := escapeSlashes.Replace(name)
	if dir != "." {
		session = dir + "/" + session
	}
	return folder.Place{Session: session, Folders: []string{dir, path.Join(dir, pointersFolder)}, Own: spot{dir, name}}
}

// Place implements folder.Format. The name of a session is that of its folder and of the
// session in it.
func (format) Place(session string) folder.Place {
	dir, name := path.Split(session)
	return placeOf(path.Clean(dir), unescapeSlashes.Replace(name))
}

// Read implements folder.Format.
func (format) Read(ctx context.Context, in folder.In, at folder.Place) (*folder.Log, error) {
	where := at.Own.(spot)
	p, _, err := list(in, where.dir)
	if err != nil {
		return nil, err
	}
	g, err := group(ctx, in, p)
	if err != nil {
		return nil, err
	}
	one := g.sessions[where.name]
	if one == nil {
		one = g.empty(in, where.name)
	}
	return one.read(at, in.Now), nil
}

// sessionOf returns the session of a log. One whose rows the journal alone has keeps
// the layout of these.
func sessionOf(log *folder.Log) *session {
	one := log.Own.(*session)
	if whole, ok := log.Whole.(*session); ok && len(one.rows) == 0 {
		one.layout = whole.layout
	}
	return one
}

// changed returns when the row was written last, by what it says.
func (r *row) changed() time.Time {
	if r.updated.at.After(r.created.at) {
		return r.updated.at
	}
	return r.created.at
}

// read returns the log of a session.
func (s *session) read(at folder.Place, now time.Time) *folder.Log {
	n := len(s.rows)
	log := &folder.Log{Place: at, Rows: make([]model.Header, n), Files: make([]string, n), Written: make([]time.Time, n), Head: -1, Own: s}
	head := s.head()
	leads := make(map[string]bool, n)
	for _, r := range s.rows {
		leads[r.parentID] = leads[r.parentID] || r.parentID != r.id
	}
	for i, r := range s.rows {
		h := &log.Rows[i]
		*h = r.header(now)
		h.SessionID, h.TurnIndex = at.Session, model.TurnUnknown
		switch {
		case h.EventName == "" || leads[r.id]:
		case h.EventName == statusPending:
			h.Reason = pendingLeaf
		default:
			h.Reason = failedLeaf
		}
		log.Files[i], log.Written[i] = s.file(r.id), r.changed()
		if r == head {
			log.Head = i
		}
	}
	log.Pointed = s.pointed() != nil
	s.log, s.now = log, now
	return log
}
