//go:build !unix

package sqlitefile

// denied returns nil: what SQLite says is all that is known.
func denied(string, uint32) error { return nil }

// lockless is empty: SQLite's way without locks was not tried on this system.
const lockless = ""
