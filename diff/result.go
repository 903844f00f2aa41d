package diff

import (
	"iter"
	"slices"
	"strconv"

	"hindcast/model/jsontape"
)

// Op is the kind of change of a value.
type Op uint8

const (
	// Within: a container that is in both states and that has changes inside.
	// It is no change itself, but the group that its changes are in.
	Within Op = iota
	// Added: the value is in the new state only.
	Added
	// Removed: the value was in the old state only.
	Removed
	// Replaced: another value is in its place.
	Replaced
	// Moved: an element of an array is at another place among its siblings.
	// There are entries below it if numbers in it are respelled.
	Moved
	// Respelled: the same number is spelled in another way, such as 1 and 1.0.
	Respelled
	// Aside: no change and no value, but the group that [Result.SetAside] makes.
	Aside
)

var opNames = [...]string{"within", "add", "remove", "replace", "move", "respell", "aside"}

// String returns the name of RFC 6902 where there is one ("add", "remove",
// "replace", "move"), else "within", "respell" or "aside".
func (o Op) String() string {
	if int(o) < len(opNames) {
		return opNames[o]
	}
	return "unknown"
}

// Span is a run of bytes in a state, from Start up to End.
type Span struct{ Start, End uint32 }

// Entry is one change, or one container that has changes inside.
//
// The entries of a [Result] are a tree in the manner of a tape: a container
// comes before its entries, End is where those that follow its subtree start,
// and Parent is -1 for the root.
type Entry struct {
	Op Op
	// Old and New are the value's bytes in the two states; empty where it is
	// in only one of them.
	Old, New Span
	// Key is the key with its quotes, in the old state if the value was
	// Removed and else in the new one; empty if the value is in no object.
	Key Span
	// OldIndex and NewIndex are the places in the array in the two states, from
	// 0; -1 where the value is not in one or not in an array.
	OldIndex, NewIndex int32
	Parent, End, Depth int32
	// Unchanged counts the direct members or elements that are the same in both
	// states; only for Within.
	Unchanged int32

	// unnamed: a member of this object cannot be addressed by its key alone.
	unnamed bool
}

// Result is the result of Compare. It keeps references to the two states' bytes, never changes, and is safe
// for concurrent use.
type Result struct {
	// Entries are the changes and the containers they are in. The members of
	// an object come in the old state's order, added ones behind them; elements
	// of an array in the order of both. None if nothing changed.
	Entries []Entry
	// Added, Removed, Replaced, Moved and Respelled count the entries of each
	// kind. Respelled numbers are no changes of value.
	Added, Removed, Replaced, Moved, Respelled int
	// Coarse: the states were too different in some array for the best
	// alignment, so that there may be more changes than need be. All of them
	// are right all the same.
	Coarse bool
	// Duplicates: an object that had changes has a key twice; the last counts.
	Duplicates bool

	old, new []byte
}

// Equal reports whether both states have the same value.
func (r *Result) Equal() bool { return r.Added+r.Removed+r.Replaced+r.Moved == 0 }

// Without returns the result without what changed at the keys at the top of the
// states that out reports true for, as if neither state had them. Where the whole
// state was replaced, it stays so.
func (r *Result) Without(out func(key string) bool) *Result {
	gone := make([]bool, len(r.Entries))
	for i := 1; i < len(r.Entries); i++ {
		e := &r.Entries[i]
		if gone[i] = gone[e.Parent]; e.Depth == 1 && e.Key != (Span{}) {
			key, _ := r.Key(e)
			gone[i] = out(key)
		}
	}
	left := *r
	if len(r.Entries) > 0 {
		left.Entries = pickChanges(r.Entries, func(i int) bool { return !gone[i] })
	}
	if len(left.Entries) == 1 && left.Entries[0].Op == Within {
		left.Entries = nil
	}
	left.count()
	return &left
}

// WithCommon returns the result for states whose array at a JSON Pointer has n more elements, equal in
// both states: behind gone elements of the old state, and before all of the new one.
func (r *Result) WithCommon(pointer string, gone, n int) *Result {
	more := *r
	more.Entries = slices.Clone(r.Entries)
	for i := range more.Entries {
		e := &more.Entries[i]
		if e.Op != Within || e.New.Start == e.New.End || r.new[e.New.Start] != '[' || r.Path(e) != pointer {
			continue
		}
		e.Unchanged += int32(n)
		for k := int32(i) + 1; k < e.End; k = more.Entries[k].End {
			child := &more.Entries[k]
			if child.OldIndex >= int32(gone) {
				child.OldIndex += int32(n)
			}
			if child.NewIndex >= 0 {
				child.NewIndex += int32(n)
			}
		}
	}
	return &more
}

// Changes returns the entries that are changes, respelled numbers included, with
// their positions in Entries.
func (r *Result) Changes() iter.Seq2[int, *Entry] {
	return func(yield func(int, *Entry) bool) {
		for i := range r.Entries {
			if e := &r.Entries[i]; e.Op != Within && e.Op != Aside && !yield(i, e) {
				return
			}
		}
	}
}

// Old returns the value's bytes in the old state, nil if it was not there. The
// caller may not write to them.
func (r *Result) Old(e *Entry) []byte { return cutSpan(r.old, e.Old) }

// New returns the value's bytes in the new state, nil if it is not there. The
// caller may not write to them.
func (r *Result) New(e *Entry) []byte { return cutSpan(r.new, e.New) }

func cutSpan(data []byte, s Span) []byte {
	if s.Start == s.End {
		return nil
	}
	return data[s.Start:s.End:s.End]
}

// Key returns the value's decoded key (untrusted text) and whether it is in an
// object at all.
func (r *Result) Key(e *Entry) (key string, ok bool) {
	data := r.new
	if e.Op == Removed {
		data = r.old
	}
	quoted := cutSpan(data, e.Key)
	return jsontape.Unquote(quoted), quoted != nil
}

// Path returns the JSON Pointer (RFC 6901) of the entry in the new state, or in the old state if it was
// Removed. Keys in it are untrusted text.
func (r *Result) Path(e *Entry) string {
	if e.Op == Removed {
		return r.OldPath(e)
	}
	return r.NewPath(e)
}

// OldPath returns the JSON Pointer of the entry in the old state. It is "" for the root and for an Added
// entry.
func (r *Result) OldPath(e *Entry) string {
	if e.Op == Added {
		return ""
	}
	return r.path(e, func(e *Entry) int32 { return e.OldIndex })
}

// NewPath returns the JSON Pointer of the entry in the new state. It is "" for the root and for a Removed
// entry.
func (r *Result) NewPath(e *Entry) string {
	if e.Op == Removed {
		return ""
	}
	return r.path(e, func(e *Entry) int32 { return e.NewIndex })
}

func (r *Result) path(e *Entry, index func(*Entry) int32) string {
	var steps []*Entry
	for ; e.Parent >= 0; e = &r.Entries[e.Parent] {
		if e.Op != Aside {
			steps = append(steps, e)
		}
	}
	var path []byte
	for _, e := range slices.Backward(steps) {
		path = r.appendStep(path, e, index(e))
	}
	return string(path)
}

// appendStep appends one step of a JSON Pointer: the entry's key, or index.
func (r *Result) appendStep(path []byte, e *Entry, index int32) []byte {
	path = append(path, '/')
	if key, ok := r.Key(e); ok {
		return jsontape.AppendPointerToken(path, key)
	}
	return strconv.AppendInt(path, int64(index), 10)
}

// count brings the numbers up to date with the entries.
func (r *Result) count() {
	var n [Aside + 1]int
	for i := range r.Entries {
		n[r.Entries[i].Op]++
	}
	r.Added, r.Removed, r.Replaced, r.Moved, r.Respelled = n[Added], n[Removed], n[Replaced], n[Moved], n[Respelled]
}
