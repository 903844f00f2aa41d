// Package genkit reads the snapshots that agents of Genkit keep in files, as the
// SDKs for Go, JavaScript, Dart and Python ship it: one JSON file for each
// snapshot, a "row", which names its parent.
//
//	STORE/…PREFIX…/<snapshot>.json           Go, JavaScript, Dart; PREFIX is "global" or a tenant's
//	STORE/…PREFIX…/.pointers/<session>.json  the newest row of a session
//	STORE/<snapshot>.json                    Python, without pointers
//
// A row tells no index, no turn and not what is abandoned: that is worked out
// from the parents, the times, and the rule by which the SDK that wrote the row
// chooses the one to resume. Nothing is ever written.
//
// The package may not know how anything is shown, nor any other kind of store.
package genkit
