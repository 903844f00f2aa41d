// Package journal carries out what a plan says about files, so that all of it
// happens or nothing, and can take it back and do it again. Every kind of store
// that is a folder of files writes through it and in no other way.
//
// It keeps a folder of its own beside the sessions and never inside one, where a
// framework would list or delete it:
//
//	STORE/.hindcast/journal   what was written, one record a line, only appended to
//	                kept/     every content that was replaced or set aside, or that
//	                          was written, named by its SHA-256 and mode
//	                out/      files on their way from one place to another
//	                lock      held by whoever writes
//
// A write goes like this. Under the lock, every file must be as the plan saw it
// ([ConflictError] otherwise). Then all contents, old and new, are kept and
// synced; then the intent is appended to the journal and synced: from here on it
// will be done, whatever happens. Then the files change one after the other, in
// an order in which the store is sound at any moment, and the folders are synced.
// It is verified, and the journal says done.
//
// If that is broken off, [Journal.Recover] finishes it: every file is still as it
// was before or already as it is to be, and both contents are kept. A file that is
// neither was written by somebody else, and is never touched.
//
// The package may not know any kind of store, nor what is in a file.
package journal
