package mapped

import (
	"slices"

	"hindcast/model"
)

// session is the rows of one session as they were found.
type session struct {
	// home is the file or folder that gave the session its name; "" where the
	// rows did.
	home string
	rows []row
	// states gives for each id the position of its first row.
	states map[string]int
	// headers are the headers of the rows, in order, for a session that is being read.
	headers []model.Header
}

// arrange returns the rows in the order in which they are to be imported, with
// their index, their parent and the head.
func (s *session) arrange(m Map) []*row {
	_, named := m.columns[columnParent]
	var list []*row
	if named {
		list = s.byParent()
	} else {
		list = s.byTime()
	}
	for i, r := range list {
		h := &r.header
		if !r.hasIndex {
			h.Index = i
		}
		if !named && i > 0 {
			h.ParentID = list[i-1].header.ID
			h.Marks |= model.MarkInferred
		}
	}
	if m.appends {
		s.sumSizes()
	}
	if head := headOf(list); head != nil {
		head.header.Head = true
	}
	return list
}

// parentOf returns the first row of the id of a row's parent, -1 if it is not there.
func (s *session) parentOf(r *row) int {
	if i, there := s.states[r.header.ParentID]; there && r.header.ParentID != "" {
		return i
	}
	return -1
}

// sumSizes adds to the size of each row's messages those before it. Each row is visited once.
func (s *session) sumSizes() {
	none := int64(len(joinMessages()))
	done := make([]bool, len(s.rows))
	for i := range s.rows {
		var line []int
		for at := i; at >= 0 && !done[at]; at = s.parentOf(&s.rows[at]) {
			done[at] = true
			line = append(line, at)
		}
		for _, at := range slices.Backward(line) {
			of, p := &s.rows[at].header, s.parentOf(&s.rows[at])
			if p < 0 || p == at {
				continue
			}
			before := s.rows[p].header.Size
			if of.Size > none && before > none {
				before += int64(len(","))
			}
			of.Size += before - none
		}
	}
}

func (s *session) inGivenOrder() []*row {
	list := make([]*row, len(s.rows))
	for i := range s.rows {
		list[i] = &s.rows[i]
	}
	return list
}

// byTime returns the rows as they were found, or turned around if their times only
// ever go back.
func (s *session) byTime() []*row {
	list := s.inGivenOrder()
	back := false
	for i, r := range list {
		at := r.header.CreatedAt
		if at.IsZero() || i > 0 && at.After(list[i-1].header.CreatedAt) {
			return list
		}
		back = back || i > 0 && at.Before(list[i-1].header.CreatedAt)
	}
	if back {
		slices.Reverse(list)
	}
	return list
}

// byParent returns the rows as they were found, or turned around if all parents
// come after their children, and then each parent that comes too late brought
// before its first child.
func (s *session) byParent() []*row {
	list := s.inGivenOrder()
	earlier, later := 0, 0
	seen := map[string]bool{}
	for _, r := range list {
		switch parent := r.header.ParentID; {
		case parent == "", parent == r.header.ID:
		case seen[parent]:
			earlier++
		default:
			if _, comes := s.states[parent]; comes {
				later++
			}
		}
		seen[r.header.ID] = true
	}
	if later == 0 {
		return list
	}
	if earlier == 0 {
		slices.Reverse(list)
	}
	return parentsFirst(list)
}

// parentsFirst brings the first row of each id before those that name it as
// their parent, and leaves the order as it is otherwise. A circle is left as it
// comes.
func parentsFirst(list []*row) []*row {
	first := make(map[string]int, len(list))
	for i, r := range slices.Backward(list) {
		first[r.header.ID] = i
	}
	placed := make([]bool, len(list))
	ordered := make([]*row, 0, len(list))
	var way []int
	for i := range list {
		way = way[:0]
		for at := i; !placed[at]; {
			placed[at] = true
			way = append(way, at)
			parent, known := first[list[at].header.ParentID]
			if list[at].header.ParentID == "" || !known {
				break
			}
			at = parent
		}
		for _, at := range slices.Backward(way) {
			ordered = append(ordered, list[at])
		}
	}
	return ordered
}

// headOf returns the last row that calls itself the head. Without one, it takes the last row that is not
// orphaned and no parent of such a row. Else it takes the last row that is not orphaned, else nil.
func headOf(list []*row) *row {
	parents := map[string]bool{}
	for _, r := range slices.Backward(list) {
		if r.headed {
			return r
		}
		if !r.header.Orphaned && r.header.ParentID != r.header.ID {
			parents[r.header.ParentID] = true
		}
	}
	var last *row
	for _, r := range slices.Backward(list) {
		if r.header.Orphaned {
			continue
		}
		if !parents[r.header.ID] {
			return r
		}
		if last == nil {
			last = r
		}
	}
	return last
}
