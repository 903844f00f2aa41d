//go:build !linux

package files

import "os"

// below opens a folder below f in one call of the system; nil where that cannot be.
func (f *Folder) below(string) *os.File { return nil }
