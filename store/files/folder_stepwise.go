//go:build !linux

package files

import (
	"errors"
	"os"
)

// below opens a folder below f in one call of the system; nil where that cannot be.
func (f *Folder) below(string) (*os.File, error) { return nil, errors.ErrUnsupported }
