// Package genkit reads the snapshots that agents of Genkit keep in files, as the
// SDKs for Go, JavaScript, Dart and Python ship it: one JSON file for each
// snapshot, a "row", which names its parent.
//
//	STORE/…PREFIX…/<snapshot>.json           Go, JavaScript, Dart; PREFIX is "global" or a tenant's
//	STORE/…PREFIX…/.pointers/<session>.json  the row that a session resumes
//	STORE/<snapshot>.json                    Python, without pointers
//
// A folder of rows is a "place". What is opened may be one, or a folder that has
// some below it: several agents, several tenants, a project with .genkit/snapshots
// or .snapshots in it.
//
// A session is called by its own id where its rows are flat in the opened folder
// or in its "global"; else by the way to its place before that:
// "barista/sess-main", "org-42/user-7/sess-t". In a project the way begins below
// .genkit/snapshots, and with the name of any other place. The same id in two
// places is two sessions. Where one is both in "global" and flat beside it, the
// flat one is called "./sess-main". A slash in an id is written %2F, as none
// belongs there. Rows that name no session, neither themselves nor in their
// state, are put with their parents, and called "(no session) " and the id of the
// first.
//
// A row tells no index, no turn and not what is abandoned. The rows of a session
// are in the order of the instants at which they were created, then of their ids;
// that gives the index. The turn is the number of completed rows on the way to a
// row. The head is the row that the SDK itself would resume, see resume.go: each
// has a rule of its own. What is not on the way to it is orphaned, and why is
// told.
//
// A status is an event of its name, but for "completed", which ends a turn.
// Genkit works out "expired" on reading, and so does this package, by a clock that
// can be set.
//
// The state of a row is the bytes of its member "state", as they were written.
//
// What the traces of a project know of the turns is joined with the rows, see
// joined.go. Reading writes nothing: no pointer is repaired, no folder is made. What
// a plan writes goes through a journal beside the rows, see place.go, and no row is
// ever rewritten: a session is put back by a row of its own, see restore.go.
//
// A session is read by one function of a tree of files, see format.go, and changed by
// steps over that tree. Package engine does the rest: lists, plans, undo, what was set aside.
package genkit
