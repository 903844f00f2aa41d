package diff

// SetAside returns the result with the changes that own reports true for, by the path that [Result.Path] returns, behind the
// others, in a group of their own of the operation [Aside]. What is inside of an own value is own, too. Paths
// stay as they are. It returns r where the whole state was replaced, or nothing is own.
func (r *Result) SetAside(own func(path string) bool) *Result {
	if len(r.Entries) == 0 || r.Entries[0].Op != Within {
		return r
	}
	isOwn, found := make([]bool, len(r.Entries)), false
	for i := 1; i < len(r.Entries); i++ {
		e := &r.Entries[i]
		isOwn[i] = isOwn[e.Parent] || own(r.Path(e))
		found = found || isOwn[i]
	}
	if !found {
		return r
	}
	left := *r
	left.Entries = pickChanges(r.Entries, func(i int) bool { return !isOwn[i] })
	aside := pickChanges(r.Entries, func(i int) bool { return isOwn[i] })
	at := int32(len(left.Entries))
	aside[0] = Entry{Op: Aside, OldIndex: -1, NewIndex: -1}
	for _, e := range aside {
		e.Parent, e.End, e.Depth = e.Parent+at, e.End+at, e.Depth+1
		left.Entries = append(left.Entries, e)
	}
	end := int32(len(left.Entries))
	left.Entries[at].Parent, left.Entries[at].End = 0, end
	left.Entries[0].End = end
	return &left
}

// pickChanges returns the root, the changes that keep reports true for, by their positions, and the groups that they are in.
func pickChanges(entries []Entry, keep func(i int) bool) []Entry {
	kept := make([]bool, len(entries))
	for i := len(entries) - 1; i >= 0; i-- {
		e := &entries[i]
		kept[i] = kept[i] || i == 0 || e.Op != Within && keep(i)
		if kept[i] && e.Parent >= 0 {
			kept[e.Parent] = true
		}
	}
	before := make([]int32, len(entries)+1) // entries that are kept before each
	var list []Entry
	for i, is := range kept {
		if before[i+1] = before[i]; is {
			before[i+1]++
			list = append(list, entries[i])
		}
	}
	for i := range list {
		e := &list[i]
		if e.End = before[e.End]; e.Parent >= 0 {
			e.Parent = before[e.Parent]
		}
	}
	return list
}
