// Package journal carries out what a plan says about files, so that all of it
// happens or nothing, and can take it back and do it again. Every kind of store
// that is a folder of files writes through it and in no other way.
//
// It keeps a folder of its own beside the sessions and never inside one, where a
// framework would list or delete it:
//
//	STORE/.hindcast/journal   what was written, one record a line, only appended to;
//	                          some 600 kB for a write of 10,000 files, and some 3 kB
//	                          for the next of the same; never more than can be read
//	                          ([ErrFull] says what to do then)
//	                kept/     every content that was replaced or set aside, or that
//	                          was written, named by its SHA-256 and mode
//	                out/      files on their way from one place to another
//	                lock      held by the program that writes
//
// A write goes like this. Under the lock, what was broken off before is finished
// first. Every file must be as the plan saw it, and every [Guard] hold
// ([ConflictError] otherwise). All new contents are put into kept/ and synced; then
// the intent is appended to the journal and synced: from here on it will be done,
// whatever happens. Then the files change one after the other, in the order of the
// plan, in which the store is sound at any moment, and the folders are synced. The
// guards must still hold, the kind reads its store again, and the journal says done.
//
// Nothing that another program wrote is lost. A file that is set aside is moved into
// kept/, one that is replaced is exchanged with its successor; then what came out is
// looked at, and goes back where it is not what the plan saw. There is no moment at
// which a file that is replaced is not there. Whatever lies in out/ and is in no
// other place goes into kept/.
//
// What a journal says is carried out, and it may come from elsewhere: a record that no
// journal could have written is passed over, and no path in it leads out of the store
// or into the folder of the journal.
//
// If a write is broken off, [Journal.Recover] finishes it: every file is still as it
// was before or already as it is to be, and both contents are kept. A file that is
// neither was written by another program; then nothing is touched any more, and the
// entry says so ([model.JournalEntry].Broken).
//
// What is set aside is moved, and as durable as its writer made it. What comes back,
// and what a fork takes along, is a copy with the time of the original: no file of the
// store shares its bytes with a kept one or with another, because an editor may write
// in place. The copies are made and synced before the intent is. Files that a fork
// copies are not kept: if that is broken off, it is taken back. Where a file system
// cannot exchange files, the file is compared just before it is renamed over.
//
// An entry tells besides which names came since the entry before, and which row was the
// head after it: an agent writes between two entries. Each record of an entry names the
// format of the journal. One of another format is refused, and stays as it is
// ([FormatError]).
//
// A kept file that is not what its name says, [Journal.Check] tells of; nothing is
// written that needs it ([KeptError]).
package journal
