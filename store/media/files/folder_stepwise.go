//go:build !linux

package files

import "errors"

// below opens a folder below f in one call of the system; nil where that cannot be.
func (f *Folder) below(string) (*Folder, error) { return nil, errors.ErrUnsupported }
