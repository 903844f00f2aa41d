// Package folder is the engine of kinds that are made of files. A format is a pure
// function of a tree of files and a time to a log. The rest is the same function on
// another tree: a plan is the log of the disk beside the log of the disk with steps laid
// over it; so are an undo, a redo, and what a write set aside.
//
//	tree.go     trees of files, and one plan's view of them
//	overlay.go  a tree with steps laid over it
//	notes.go    what files hold, remembered until they change
package folder
