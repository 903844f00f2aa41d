//go:build !unix

package sqlitefile

// denied returns nil: what SQLite says is all that is known.
func denied(string, uint32) error { return nil }
