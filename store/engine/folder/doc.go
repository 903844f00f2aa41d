// Package folder is the engine of kinds that are made of files. A format is a pure
// function of a tree of files and a time to a log. The rest is the same function on
// another tree: a plan is the log of the disk beside the log of the disk with steps laid
// over it; so are an undo, a redo, and what a write set aside.
//
//	log.go      what a format reads: a log
//	writes.go   what the journal tells of a log: rows that Hindcast wrote, or set aside
//	plan.go     what a plan says of two logs; this half needs no files
//	writer.go   the journal of a storage, and what Hindcast itself wrote
//	storage.go  a folder of sessions with its journal: plan and apply
//	back.go     undo and redo
//	port.go     what the port calls plans, and the journal
//	purge.go    what a purge forgets
package folder
