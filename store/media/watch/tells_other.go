//go:build !linux

package watch

// tells reports false: what the system tells of a folder may not be all.
func tells(string) bool { return false }

// hasOneName reports false: it is not known.
func hasOneName(string) bool { return false }
