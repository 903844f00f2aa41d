// Package dialog holds the panes that open over the screen: the plan of a
// write with its question, the journal, the help, the menu of things to copy,
// a name to type, and a text to read.
//
// A dialog is a plain struct that draws itself and keeps what was chosen; it
// may not know the store, the other panes or the root model. (In the making by
// the integrating engineer: do not write this package, use it.)
package dialog
