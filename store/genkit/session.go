package genkit

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"hindcast/model"
)

// session is the rows of one session in one place.
type session struct {
	// id is what the port calls it; sid is its id in the rows, "" for rows that
	// name none.
	id, sid string
	place   place
	// rows are in order: by the instant at which they were created, then by id.
	rows    []*row
	byID    map[string]*row
	pointer *pointer // nil for none
	layout  layout
	// written is what Hindcast's journal tells, nil for nothing, and aside are the
	// rows that it alone has: no SDK sees them.
	written *written
	aside   []asideRow
	// blocking are the files of the place that are not JSON: on these every search
	// of JavaScript's fails.
	blocking []string
	// get gives any row of the place, nil for none. Parents may be in another
	// session.
	get func(id string) *row
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

// layoutOf tells whose rules hold. A pointer says it: Go alone writes down when
// its row was created. Without one it is told by the rows: Go sorts the keys of
// each; Python alone puts rows beside nothing else.
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

// sessionName returns what the port calls a session. Slashes part it, so that none
// may be in the id itself; the SDKs refuse such an id.
func sessionName(label, sid string) string {
	if label == "" {
		return escapeSlashes.Replace(sid)
	}
	return label + "/" + escapeSlashes.Replace(sid)
}

var escapeSlashes = strings.NewReplacer("%", "%25", "/", "%2F")

// unnamed begins the name of rows that name no session: those of one lineage are
// one session, which is called after its first row.
const unnamed = "(no session) "

// grouping sorts the rows of a place into sessions.
type grouping struct {
	place    place
	sessions map[string]*session // by sid
	lost     []*row              // rows that name no session
	strays   []*stray
	blocking []string // names of files that are not JSON, or cannot be read
}

// group reads a place. wanted says which sessions' rows are kept; nil keeps all.
func (s *Store) group(ctx context.Context, p place, wanted func(sid string) bool) (*grouping, error) {
	g := &grouping{place: p, sessions: map[string]*session{}}
	r, err := s.openPlace(p)
	if err != nil {
		return nil, err
	}
	defer r.close()
	err = r.each(ctx, func(one *reading) {
		switch {
		case one.gone:
		case one.stray != nil:
			g.strays = append(g.strays, one.stray)
			if one.stray.isBlocking() {
				g.blocking = append(g.blocking, one.stray.name)
			}
		default:
			if one.row.broken {
				g.blocking = append(g.blocking, one.row.id+rowSuffix)
			}
			sid := one.row.session()
			if sid != "" && wanted != nil && !wanted(sid) {
				return
			}
			kept := one.row // one is lent
			if sid == "" {
				g.lost = append(g.lost, &kept)
			} else {
				g.add(sid, &kept)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	g.addLost()
	written := s.written(ctx, p)
	for i := range written.aside {
		// One that has no other rows is a session still.
		if r := written.aside[i].row; r != nil && g.sessions[r.session()] == nil && (wanted == nil || wanted(r.session())) {
			g.sessions[r.session()] = &session{id: sessionName(p.label, r.session()), sid: r.session(), place: p}
		}
	}
	for _, one := range g.sessions {
		one.blocking = g.blocking
		s.settle(one)
		one.keep(&written)
	}
	return g, nil
}

func (g *grouping) add(sid string, r *row) {
	one := g.sessions[sid]
	if one == nil {
		one = &session{id: sessionName(g.place.label, sid), sid: sid, place: g.place}
		g.sessions[sid] = one
	}
	one.rows = append(one.rows, r)
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
		key := unnamed + roots[r.id]
		one := g.sessions[key]
		if one == nil {
			one = &session{id: sessionName(g.place.label, key), place: g.place}
			g.sessions[key] = one
		}
		one.rows = append(one.rows, r)
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

// settle puts the rows in order and finds the pointer.
func (s *Store) settle(one *session) {
	slices.SortFunc(one.rows, compareRows)
	one.byID = make(map[string]*row, len(one.rows))
	for _, r := range one.rows {
		one.byID[r.id] = r
	}
	one.pointer = readPointer(s.root, one.place, one.sid)
	one.layout = one.layoutOf()
	one.get = func(id string) *row {
		if r := one.byID[id]; r != nil {
			return r
		}
		return s.lookUp(one.place, id)
	}
}

// lookUp reads one row of a place, nil for none.
func (s *Store) lookUp(p place, id string) *row {
	if _, ok := slices.BinarySearch(p.rows, id); !ok {
		return nil
	}
	r, err := s.openPlace(p)
	if err != nil {
		return nil
	}
	defer r.close()
	one, _ := r.read(id, nil)
	if one.stray != nil {
		return nil
	}
	return &one.row
}

// find returns the session that the port calls id. Of two places that have the
// same label, "global" comes first.
func (s *Store) find(ctx context.Context, id string) (*session, error) {
	label, name := path.Split(id)
	label = strings.TrimSuffix(label, "/")
	for _, p := range candidates(s.root, s.bases(), label) {
		p, _, err := p.base.list(s.root, p.dir, everyName)
		if err != nil {
			continue // it went, or cannot be read
		}
		g, err := s.group(ctx, p, func(sid string) bool { return escapeSlashes.Replace(sid) == name })
		if err != nil {
			return nil, err
		}
		for sid, one := range g.sessions {
			if escapeSlashes.Replace(sid) == name {
				one.id = id
				return one, nil
			}
		}
	}
	return nil, model.ErrNoSession
}
