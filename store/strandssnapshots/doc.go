// Package strandssnapshots reads the snapshots that the Strands Agents SDKs
// write: SnapshotSessionManager of Python, and SessionManager of TypeScript.
//
// The package may not know how anything is shown, nor any other kind of store.
package strandssnapshots
