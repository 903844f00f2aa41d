package genkit

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"hindcast/store/engine"
	"hindcast/store/media/tree"
	"hindcast/store/sdk"
)

// session is the rows of one session in one place.
type session struct {
	// sid is its id in the rows, "" for rows that name none.
	sid string
	*grouping
	// rows are in order: by the instant at which they were created, then by id.
	rows    []*row
	byID    map[string]*row
	pointer *pointer // nil for none
	layout  layout
	now     time.Time
	// made are the rows that Hindcast wrote.
	made map[*row]bool
	// log is the session with the rows that Hindcast's journal alone has: no SDK sees
	// them.
	log *engine.Log
}

// layout is the SDK whose rules hold for a session.
type layout uint8

const (
	layoutGo layout = iota
	// layoutJS is that of JavaScript, and of Dart.
	layoutJS
	layoutPython
)

var layoutNames = [...]string{"Go", "JavaScript", "Python"}

func (l layout) String() string { return layoutNames[l] }

// layoutOf returns the layout of the SDK whose rules hold. A pointer shows it: Go alone writes down when
// its row was created. Without one it is told by the rows: Go sorts the keys of each; Python alone puts
// rows beside nothing else.
func (s *session) layoutOf() layout {
	switch {
	case s.pointer != nil && s.pointer.err == nil && s.pointer.isGo():
		return layoutGo
	case s.pointer != nil && s.pointer.err == nil:
		return layoutJS
	case len(s.rows) > 0 && s.rows[len(s.rows)-1].style == styleGo:
		return layoutGo
	case s.place.pointers || s.place.isGlobal():
		return layoutJS
	}
	return layoutPython
}

// compareRows returns the order of rows.
func compareRows(a, b *row) int {
	return cmp.Or(a.created.at.Compare(b.created.at), strings.Compare(a.id, b.id))
}

// sessionName returns the name of a session in the port. Slashes separate its parts, so a slash in the id is
// escaped; the SDKs refuse such an id.
func sessionName(label, sid string) string {
	if label == "" {
		return escapeSlashes.Replace(sid)
	}
	return label + "/" + escapeSlashes.Replace(sid)
}

var (
	escapeSlashes   = strings.NewReplacer("%", "%25", "/", "%2F")
	unescapeSlashes = strings.NewReplacer("%25", "%", "%2F", "/")
)

// unnamed begins the name of rows that name no session: those of one lineage are
// one session, which is called after its first row.
const unnamed = "(no session) "

// grouping is the rows of a place, sorted into sessions.
type grouping struct {
	place    place
	running  *sdk.Running
	noted    []tree.Noted[*row]
	sessions map[string]*session // by sid, or by the name of one that has none
	lost     []*row              // rows that name no session
	strays   []*stray
	// blocking are the names of files that are not JSON, or cannot be read: on these
	// every search of JavaScript's fails.
	blocking []string
}

// readPlace reads a place.
func (p *part) readPlace(ctx context.Context, in engine.In, at place) (*grouping, error) {
	g := &grouping{place: at, running: &p.opened.running, sessions: map[string]*session{}}
	var err error
	if g.noted, err = tree.Notes(ctx, in.Tree, in.Memo, at.dir, at.rows, rowCodec); err != nil {
		return nil, err
	}
	for i := range g.noted {
		r, name := g.noted[i].Is, g.noted[i].Name
		switch one := strayOf(&g.noted[i]); {
		case one != nil && isGone(one.err):
		case one != nil:
			g.strays = append(g.strays, one)
			if one.isBlocking() {
				g.blocking = append(g.blocking, name)
			}
		case r.ownSession() == "":
			g.lost = append(g.lost, r)
		default:
			g.addRow(r.ownSession(), r.ownSession(), r)
		}
		if r != nil && r.isRow() && r.broken {
			g.blocking = append(g.blocking, name)
		}
	}
	g.addLost()
	for _, one := range g.sessions {
		one.settleRows(in)
	}
	return g, nil
}

// rowOfPlace returns any row of the place, or nil. Parents may be in another session.
func (g *grouping) rowOfPlace(id string) *row {
	at, there := slices.BinarySearchFunc(g.noted, id+rowSuffix, func(n tree.Noted[*row], name string) int { return strings.Compare(n.Name, name) })
	if there && strayOf(&g.noted[at]) == nil {
		return g.noted[at].Is
	}
	return nil
}

// hasFile reports whether the place has a file of a row's name.
func (g *grouping) hasFile(id string) bool {
	_, there := slices.BinarySearch(g.place.rows, id+rowSuffix)
	return there
}

// addRow adds a row to the session of a name.
func (g *grouping) addRow(name, sid string, r *row) {
	one := g.sessions[name]
	if one == nil {
		one = &session{sid: sid, grouping: g}
		g.sessions[name] = one
	}
	one.rows = append(one.rows, r)
}

// emptySession returns a session without rows.
func (g *grouping) emptySession(in engine.In, name string) *session {
	one := &session{sid: name, grouping: g}
	if strings.HasPrefix(name, unnamed) {
		one.sid = ""
	}
	one.settleRows(in)
	return one
}

// addLost makes sessions of the rows that name none: a row belongs with its
// parent, if that names none either.
func (g *grouping) addLost() {
	byID := make(map[string]*row, len(g.lost))
	for _, r := range g.lost {
		byID[r.id] = r
	}
	roots := make(map[string]string, len(g.lost))
	for _, r := range g.lost {
		var way []string
		at := r.id
		// A circle is named after its least id, whichever row one starts from.
		for round := map[string]bool{}; ; at = byID[at].parentID {
			if root, known := roots[at]; known {
				at = root
				break
			}
			if round[at] {
				at = leastOf(byID, at)
				break
			}
			round[at] = true
			way = append(way, at)
			if byID[byID[at].parentID] == nil {
				break
			}
		}
		for _, id := range way {
			roots[id] = at
		}
	}
	for _, r := range g.lost {
		g.addRow(unnamed+roots[r.id], "", r)
	}
}

// leastOf returns the least id of the circle that a row is on.
func leastOf(byID map[string]*row, start string) string {
	least := start
	for at := byID[start].parentID; at != start; at = byID[at].parentID {
		least = min(least, at)
	}
	return least
}

// settleRows puts the rows in order and finds the pointer.
func (s *session) settleRows(in engine.In) {
	slices.SortFunc(s.rows, compareRows)
	s.byID = make(map[string]*row, len(s.rows))
	for _, r := range s.rows {
		s.byID[r.id] = r
	}
	s.pointer = readPointer(in, s.place, s.sid)
	s.layout = s.layoutOf()
}

// findRow returns a row of the session, or any other of the place; or nil.
func (s *session) findRow(id string) *row {
	if r := s.byID[id]; r != nil {
		return r
	}
	return s.rowOfPlace(id)
}
