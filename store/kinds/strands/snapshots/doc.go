// Package snapshots reads, and puts back, the snapshots that the Strands
// Agents SDKs write: SnapshotSessionManager of Python, and SessionManager of TypeScript.
//
//	[STORE/session/]SESSION/scopes/agent/AGENT/snapshots/snapshot_latest.json
//	                                                     immutable_history/snapshot_<uuid7>.json
//	                       scopes/multiAgent/ORCHESTRATOR/snapshots/…
//
// Unified storage of both SDKs has the folder session/, legacy storage of
// TypeScript has not. A store is the folder around session/, that folder, the
// folder of a legacy storage, or the folder of one session. The two SDKs write
// other payloads to the same names, so the dialect is told file by file: Python
// writes schema_version, TypeScript schemaVersion.
//
// # Rows
//
// Each immutable snapshot is a row, its id the UUID in its name. What an SDK
// loads on start is snapshot_latest.json, and so the head; it is a row of its
// own, with the id "latest", unless its data are those of an immutable one, byte
// for byte: then that is the head. Where there is no snapshot_latest.json the SDK
// starts anew, and no row is on the path.
//
// The order is that in which both SDKs list them, by name: a UUID of version 7
// begins with the time. The latest comes last. Snapshots name no parent: package
// lineage finds it in the messages, by tracking id where there is one, so every
// edge is an inferred one. A file of whose messages nothing can be read hangs on
// the one before it. Where rows that were saved later go on from an earlier
// point, those behind that point were cut off by a rewind to it; of rows that
// come after the head, the framework's pointer names another.
//
// A turn ends with an answer that asks for no tool. Such messages are counted
// along the path: those that a snapshot adds to its parent's, on top of the
// parent's own. So a window that slides takes nothing away from the count; what
// was taken out before the first snapshot of a path was saved is not known, and
// is not counted.
//
// The state of a row is the member "data" of its file, byte for byte.
//
// An orchestrator has one snapshot that is written over and over; its rows are
// the executions of its nodes, see package runs.
//
// # Reading
//
// Every snapshot holds the whole conversation, so that a session of n snapshots
// has n² messages. A file is therefore read once: what a timeline needs of it is
// found by skipping over the rest, and kept for as long as the file does not
// change. Only State and Faults read it again.
//
// Names of sessions and agents are what stands in the names of their folders,
// whatever characters that is. Files are only ever reached through an [os.Root].
//
// # Writing
//
// An SDK loads snapshot_latest.json when it starts, and nothing else. So to put a
// session back is to give that file the bytes of another snapshot, after what it
// holds was saved beside the immutable ones; see restore.go. Of an orchestrator
// the record is put back; see orchestrator.go. A fork shares its files with the original
// by copies (fork.go), an edit changes the data alone and on their bytes (edit.go), and
// what an SDK does not start from is mended or gives way to the newest that it does start
// from (repair.go). What the journal keeps is
// forgotten on request (purge.go). By which call a program
// then goes on is worked out from where the messages end (resume.go).
//
// All of it is steps over a tree of files (layout.go, restore.go). Package folder does the
// rest: plans, undo, what was set aside, and the journal. That lies beside session/, or
// beside the sessions of legacy storage: never where an SDK lists or deletes. What was set
// aside, and what a restore has left, shows in the timeline (setaside.go). Reading writes
// nothing, but that opening a store finishes a write of Hindcast's own that was broken off.
package snapshots
