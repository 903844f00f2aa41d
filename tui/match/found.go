package match

import "context"

// Most bounds how many matches a search keeps.
const Most = 10_000

// Found holds the matches of a search in a tab, in the order in which the tab shows them. The zero Found is no
// search.
type Found[T comparable] struct {
	Query Query
	At    []T
	more  bool
}

// Find searches n parts of a content for a text, whatever its case, and stops at [Most] matches. look adds the
// matches of part i; a match that equals the one before counts once. The error is the context's.
func Find[T comparable](ctx context.Context, text string, n int, look func(q Query, i int, add func(T))) (Found[T], error) {
	f := Found[T]{Query: New(text)}
	if f.Query.Empty() {
		return f, ctx.Err()
	}
	add := func(at T) {
		switch last := len(f.At) - 1; {
		case last >= 0 && f.At[last] == at:
		case len(f.At) == Most:
			f.more = true
		default:
			f.At = append(f.At, at)
		}
	}
	for i := 0; i < n && !f.more && ctx.Err() == nil; i++ {
		look(f.Query, i, add)
	}
	return f, ctx.Err()
}

// Len returns the number of matches, and whether there are more than are kept.
func (f *Found[T]) Len() (n int, more bool) { return len(f.At), f.more }

// Step returns the match of many that is n matches on from the cursor, going round at the ends. i is the first
// match at or after the cursor; on says that the cursor is on it.
func Step(i int, on bool, n, many int) int {
	if !on && n > 0 {
		n--
	}
	return ((i+n)%many + many) % many
}

// ShowMatch calls show with the match that [Step] returns. It returns the number of that from 1 and the number of matches, 0
// and 0 without matches.
func (f *Found[T]) ShowMatch(i int, on bool, n int, show func(T)) (at, of int) {
	if of = len(f.At); of == 0 {
		return 0, 0
	}
	i = Step(i, on, n, of)
	show(f.At[i])
	return i + 1, of
}
