package genkit

import (
	"context"
	"path"
	"time"

	"hindcast/model"
	"hindcast/store/engine/folder"
	"hindcast/store/sdk"
)

// format reads and changes the sessions of a storage.
type format struct {
	// running is the versions of the SDKs that are said to run.
	running *sdk.Running
}

// Name implements folder.Format.
func (format) Name() string { return "Genkit" }

// spot is where a session is: a folder, and its name among the sessions in it.
type spot struct{ dir, name string }

// placeOf returns the place of the session of a name, see grouping, in a folder of the
// storage.
func (f format) placeOf(dir, name string) folder.Place {
	session := escapeSlashes.Replace(name)
	if dir != "." {
		session = dir + "/" + session
	}
	return folder.Place{Session: session, Format: f, Folders: []string{dir, path.Join(dir, pointersFolder)}, Own: spot{dir, name}}
}

// placeNamed returns the place of a session of the storage, which is named after its folder
// and the session in it.
func (f format) placeNamed(session string) folder.Place {
	at := spotNamed(session)
	return f.placeOf(at.dir, at.name)
}

// spotNamed returns where the session of such a name is.
func spotNamed(session string) spot {
	dir, name := path.Split(session)
	return spot{path.Clean(dir), unescapeSlashes.Replace(name)}
}

// Read implements folder.Format.
func (f format) Read(ctx context.Context, in folder.In, at folder.Place) (*folder.Log, error) {
	where := at.Own.(spot)
	p, _, err := list(in, where.dir)
	if err != nil {
		return nil, err
	}
	g, err := f.group(ctx, in, p)
	if err != nil {
		return nil, err
	}
	one := g.sessions[where.name]
	if one == nil {
		one = g.empty(in, where.name)
	}
	return one.read(at, in), nil
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
func (s *session) read(at folder.Place, in folder.In) *folder.Log {
	n := len(s.rows)
	log := &folder.Log{Place: at, Rows: make([]model.Header, n), Files: make([]string, n), Written: make([]folder.Written, n), Head: -1, Own: s}
	head := s.head()
	s.made = map[*row]bool{}
	leads := make(map[string]bool, n)
	for _, r := range s.rows {
		leads[r.parentID] = leads[r.parentID] || r.parentID != r.id
	}
	for i, r := range s.rows {
		h := &log.Rows[i]
		*h = r.header(in.Now)
		h.SessionID, h.TurnIndex = at.Session, model.TurnUnknown
		switch {
		case h.EventName == "" || leads[r.id]:
		case h.EventName == statusPending:
			h.Reason = pendingLeaf
		default:
			h.Reason = failedLeaf
		}
		log.Files[i] = s.file(r.id)
		log.Written[i] = folder.Written{Name: log.Files[i], At: r.changed()}
		if m := in.Told.Made(log.Files[i]); m != nil {
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
	log.Pointed = s.pointed() != nil
	s.log, s.now = log, in.Now
	return log
}
