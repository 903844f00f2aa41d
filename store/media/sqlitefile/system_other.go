//go:build !unix

package sqlitefile

// whyDenied returns nil: what SQLite says is all that is known.
func whyDenied(string, uint32) error { return nil }
