package model

import (
	"math"
	"slices"
	"time"
)

// Headers is the headers of a session in the order in which they were recorded, packed: a million take a
// third of the memory of as many of [Header], and the garbage collector follows a few thousand pointers in
// them instead of millions. The zero value is empty. Reading is safe for concurrent use while nothing is
// added.
//
//	chunks   a row of 64 bytes for each header, without a pointer
//	pages    texts, one behind the other: the id, the parent's id unless the header
//	         before has it, the title, the alias and the attributes
//	kinds    values that many headers share, once: session, event, position and zone
//	reasons  each once, as headers that left the path together share one
//	odd      headers that have a number or a text too large for a row, whole
type Headers struct {
	n      int
	chunks [][]packedHeader
	pages  []string
	page   []byte // the last page, still open
	lastID string

	kinds    []headerKind
	kindAt   map[headerKind]uint32 // nil while there are few
	zones    map[headerZone]*time.Location
	reasons  []*Reason // the first is nil
	reasonAt map[*Reason]uint32
	odd      map[int]Header
}

const (
	// headersChunk is how many rows a chunk has. The first one grows, so that a short
	// session takes no more than it needs.
	headersChunk = 1024
	// headersPage is how many bytes close a page.
	headersPage = 64 << 10
	// fewKinds are searched one by one.
	fewKinds = 12
)

// packedHeader is one row. The lengths measure the texts, which start at its field text.
type packedHeader struct {
	seconds                  int64 // since 1970
	size                     uint32
	visit, parentVisit       uint32
	nanoseconds, index, turn int32
	kind, reason             uint32
	page, text               uint32
	id, parent, title        uint16
	alias, attributes        uint16
	marks                    Marks
	flags                    packedFlags
}

// packedFlags holds the flags of a row in one byte.
type packedFlags uint8

const (
	packedOrphaned packedFlags = 1 << iota
	packedHead
	packedFollows // the parent's id is that of the header before
	packedOdd     // the header is kept whole
)

// headerKind holds the values that many headers share.
type headerKind struct {
	session, eventName, position string
	event                        SnapshotEvent
	zone                         *time.Location
}

// headerZone is a zone by its name and its seconds east of UTC: times that were parsed
// have a zone of their own each.
type headerZone struct {
	name string
	east int
}

// Len returns how many headers there are.
func (g *Headers) Len() int { return g.n }

// Add adds a copy of a header behind the others.
func (g *Headers) Add(h *Header) {
	row, fits := g.packRow(h)
	if !fits {
		if g.odd == nil {
			g.odd = map[int]Header{}
		}
		g.odd[g.n] = *h
		row = packedHeader{flags: packedOdd}
	}
	g.lastID = h.ID
	last := len(g.chunks) - 1
	if last < 0 || len(g.chunks[last]) == headersChunk {
		var chunk []packedHeader
		if last++; last > 0 {
			chunk = make([]packedHeader, 0, headersChunk)
		}
		g.chunks = append(g.chunks, chunk)
	}
	g.chunks[last] = append(g.chunks[last], row)
	g.n++
}

// packRow returns the row of a header, and whether it fits into one.
func (g *Headers) packRow(h *Header) (row packedHeader, fits bool) {
	row = packedHeader{
		seconds: h.CreatedAt.Unix(), nanoseconds: int32(h.CreatedAt.Nanosecond()),
		size: uint32(h.Size), visit: uint32(h.Visit), parentVisit: uint32(h.ParentVisit),
		index: int32(h.Index), turn: int32(h.TurnIndex), marks: h.Marks,
	}
	fits = int64(row.size) == h.Size && int64(row.visit) == h.Visit && int64(row.parentVisit) == h.ParentVisit &&
		int(row.index) == h.Index && int(row.turn) == h.TurnIndex &&
		max(len(h.ID), len(h.ParentID), len(h.Title), len(h.Alias), len(h.Attributes)) <= math.MaxUint16
	if !fits {
		return row, false
	}
	if h.Orphaned {
		row.flags |= packedOrphaned
	}
	if h.Head {
		row.flags |= packedHead
	}
	row.kind, row.reason = g.kindOf(h), g.reasonOf(h.Reason)
	parent := h.ParentID
	if g.n > 0 && parent == g.lastID {
		row.flags |= packedFollows
		parent = ""
	}
	if len(g.page) >= headersPage {
		g.closePage()
	}
	row.page, row.text = uint32(len(g.pages)), uint32(len(g.page))
	row.id, row.parent, row.title = uint16(len(h.ID)), uint16(len(parent)), uint16(len(h.Title))
	row.alias, row.attributes = uint16(len(h.Alias)), uint16(len(h.Attributes))
	g.page = append(append(append(g.page, h.ID...), parent...), h.Title...)
	g.page = append(append(g.page, h.Alias...), h.Attributes...)
	return row, true
}

// closePage closes the open page, so that texts can be sliced from it without a copy.
func (g *Headers) closePage() {
	if len(g.page) > 0 {
		g.pages, g.page = append(g.pages, string(g.page)), g.page[:0]
	}
}

// kindOf returns the place of the kind of a header.
func (g *Headers) kindOf(h *Header) uint32 {
	kind := headerKind{h.SessionID, h.EventName, h.Position, h.Event, g.zoneOf(h.CreatedAt)}
	if g.kindAt == nil {
		if at := slices.Index(g.kinds, kind); at >= 0 {
			return uint32(at)
		}
	} else if at, ok := g.kindAt[kind]; ok {
		return at
	}
	at := uint32(len(g.kinds))
	g.kinds = append(g.kinds, kind)
	switch {
	case g.kindAt != nil:
		g.kindAt[kind] = at
	case len(g.kinds) > fewKinds:
		g.kindAt = make(map[headerKind]uint32, 2*fewKinds)
		for i, k := range g.kinds {
			g.kindAt[k] = uint32(i)
		}
	}
	return at
}

// zoneOf returns the zone of a time, the same one for all times of that zone.
func (g *Headers) zoneOf(at time.Time) *time.Location {
	zone := at.Location()
	if zone == time.UTC || zone == time.Local {
		return zone
	}
	var key headerZone
	key.name, key.east = at.Zone()
	if known := g.zones[key]; known != nil {
		return known
	}
	if g.zones == nil {
		g.zones = map[headerZone]*time.Location{}
	}
	g.zones[key] = zone
	return zone
}

// reasonOf returns the place of a reason.
func (g *Headers) reasonOf(r *Reason) uint32 {
	if r == nil {
		return 0
	}
	if last := len(g.reasons) - 1; last > 0 && g.reasons[last] == r {
		return uint32(last)
	}
	at, ok := g.reasonAt[r]
	if !ok {
		if g.reasonAt == nil {
			g.reasons, g.reasonAt = []*Reason{nil}, map[*Reason]uint32{}
		}
		at = uint32(len(g.reasons))
		g.reasons, g.reasonAt[r] = append(g.reasons, r), at
	}
	return at
}

// row returns the row of header i.
func (g *Headers) row(i int) *packedHeader { return &g.chunks[i/headersChunk][i%headersChunk] }

// cutText returns a part of the texts of a row.
func (g *Headers) cutText(row *packedHeader, skip uint32, size uint16) string {
	from := row.text + skip
	if int(row.page) < len(g.pages) {
		return g.pages[row.page][from : from+uint32(size)]
	}
	return string(g.page[from : from+uint32(size)])
}

// id returns the id of header i.
func (g *Headers) id(i int) string {
	row := g.row(i)
	if row.flags&packedOdd != 0 {
		return g.odd[i].ID
	}
	return g.cutText(row, 0, row.id)
}

// parentID returns the id that header i names as that of its parent.
func (g *Headers) parentID(i int) string {
	switch row := g.row(i); {
	case row.flags&packedOdd != 0:
		return g.odd[i].ParentID
	case row.flags&packedFollows != 0:
		return g.id(i - 1)
	default:
		return g.cutText(row, uint32(row.id), row.parent)
	}
}

// treeFacts returns the fields of header i from which the tree is built, besides ids.
func (g *Headers) treeFacts(i int) (parentVisit int64, orphaned, traced bool) {
	row := g.row(i)
	if row.flags&packedOdd != 0 {
		h := g.odd[i]
		return h.ParentVisit, h.Orphaned, h.Marks.Has(MarkTraced)
	}
	return int64(row.parentVisit), row.flags&packedOrphaned != 0, row.marks.Has(MarkTraced)
}

// index returns the index of header i.
func (g *Headers) index(i int) int {
	row := g.row(i)
	if row.flags&packedOdd != 0 {
		return g.odd[i].Index
	}
	return int(row.index)
}

// session returns the session of header i.
func (g *Headers) session(i int) string {
	row := g.row(i)
	if row.flags&packedOdd != 0 {
		return g.odd[i].SessionID
	}
	return g.kinds[row.kind].session
}

// visit returns the number of the visit of header i.
func (g *Headers) visit(i int) int64 {
	row := g.row(i)
	if row.flags&packedOdd != 0 {
		return g.odd[i].Visit
	}
	return int64(row.visit)
}

// isHead reports whether header i says that it is the head.
func (g *Headers) isHead(i int) bool {
	row := g.row(i)
	if row.flags&packedOdd != 0 {
		return g.odd[i].Head
	}
	return row.flags&packedHead != 0
}

// At returns header i, from 0.
func (g *Headers) At(i int) Header {
	row := g.row(i)
	if row.flags&packedOdd != 0 {
		return g.odd[i]
	}
	kind := &g.kinds[row.kind]
	h := Header{
		ID: g.cutText(row, 0, row.id), ParentID: g.parentID(i), SessionID: kind.session,
		CreatedAt: time.Unix(row.seconds, int64(row.nanoseconds)).In(kind.zone),
		Index:     int(row.index), TurnIndex: int(row.turn),
		Event: kind.event, EventName: kind.eventName, Position: kind.position,
		Title: g.cutText(row, uint32(row.id)+uint32(row.parent), row.title),
		Visit: int64(row.visit), ParentVisit: int64(row.parentVisit), Size: int64(row.size),
		Orphaned: row.flags&packedOrphaned != 0, Head: row.flags&packedHead != 0, Marks: row.marks,
	}
	if row.alias|row.attributes != 0 {
		h.Alias = g.cutText(row, row.textBeforeAlias(), row.alias)
		h.Attributes = Attributes(g.cutText(row, row.textBeforeAlias()+uint32(row.alias), row.attributes))
	}
	if row.reason != 0 {
		h.Reason = g.reasons[row.reason]
	}
	return h
}

// textBeforeAlias returns how many bytes of the texts of a row are before the alias.
func (r *packedHeader) textBeforeAlias() uint32 {
	return uint32(r.id) + uint32(r.parent) + uint32(r.title)
}

// alias returns the alias of header i.
func (g *Headers) alias(i int) string {
	row := g.row(i)
	if row.flags&packedOdd != 0 {
		return g.odd[i].Alias
	}
	return g.cutText(row, row.textBeforeAlias(), row.alias)
}

// Slice returns copies of all headers, or nil.
func (g *Headers) Slice() []Header {
	if g.n == 0 {
		return nil
	}
	g.closePage()
	all := make([]Header, g.n)
	for i := range all {
		all[i] = g.At(i)
	}
	return all
}

// setHead says whether header i is the head.
func (g *Headers) setHead(i int, head bool) {
	row := g.row(i)
	if row.flags&packedOdd != 0 {
		h := g.odd[i]
		h.Head = head
		g.odd[i] = h
		return
	}
	row.flags &^= packedHead
	if head {
		row.flags |= packedHead
	}
}
