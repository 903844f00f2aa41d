package picker

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"hindcast/tui/cell"
	"hindcast/tui/theme"
	"hindcast/tui/when"
)

// Store is a store that can be picked.
type Store struct {
	// Kind and Path tell it from all others.
	Kind, Path string
	// Shown is the path as the list has it.
	Shown string
	// Changed is when it changed last, zero if that is not known.
	Changed time.Time
	// Sessions is how many it has, less than 0 if that is not known.
	Sessions int
}

// Stores lists stores. A row's name is the store's path as it is shown.
type Stores = Pane[Store]

// NewStores makes an empty list. now returns the time against which ages are shown.
func NewStores(styles *theme.Styles, now func() time.Time) *Stores {
	return &Stores{styles: styles, now: now, look: look[Store]{
		noun: "store", title: "store",
		name:     func(s *Store) string { return s.Shown },
		filtered: func(s *Store) string { return s.Kind + " " + s.Shown },
		fitted:   fittedPath,
		columns:  storeColumns,
		orders:   storeOrders,
	}}
}

var storeColumns = []column[Store]{
	{name: "kind", rank: 1, width: 17, text: func(_ *Stores, s *Store) string { return s.Kind }},
	{name: "sessions", rank: 3, width: 8, text: func(_ *Stores, s *Store) string { return knownText(s.Sessions) }},
	{name: "age", rank: 2, width: 9,
		known: func(s *Store) bool { return !s.Changed.IsZero() },
		text: func(p *Stores, s *Store) string {
			return strings.TrimSuffix(when.Ago(p.now(), s.Changed), " ago")
		}},
}

var storeOrders = []order[Store]{
	{words: "as they were found", less: nil},
	{words: "last changed first", less: func(a, b *Store) int { return b.Changed.Compare(a.Changed) }},
	{words: "by path", less: func(a, b *Store) int { return strings.Compare(a.Shown, b.Shown) }},
	{words: "most sessions first", less: func(a, b *Store) int { return cmp.Compare(b.Sessions, a.Sessions) }},
}

func knownText(n int) string {
	if n < 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// fittedPath leaves out the beginning of a path that is too long: paths differ in
// their ends.
func fittedPath(path string, cells int, ellipsis string) string {
	if cell.Width(path) <= cells {
		return path
	}
	for i, c := range path {
		if tail := path[i:]; i > 0 && strings.ContainsRune(`/\`, c) && cell.Width(tail)+cell.Width(ellipsis) <= cells {
			return ellipsis + tail
		}
	}
	return path
}
