// Package inspect looks for the faults of a session of any store: states that cannot be read or do not match
// their ids, messages that a framework rejects, and records whose texts no message shows.
package inspect
