// Package picker is the list of sessions with its filter.
//
// A picker is a plain struct that draws itself and keeps what was chosen; it
// may not know the store, the other panes or the root model. (In the making by
// the integrating engineer: do not write this package, use it.)
package picker
