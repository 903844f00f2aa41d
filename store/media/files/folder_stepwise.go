//go:build !linux

package files

import (
	"errors"
	"slices"
)

// openBelow opens a folder below f in one call of the system; nil where that cannot be.
func (f *Folder) openBelow(string) (*Folder, error) { return nil, errors.ErrUnsupported }

// listFolders lists the names from where the listing stands that are folders or links.
func (f *Folder) listFolders() ([]string, error) {
	names, err := f.dir.Readdirnames(-1)
	return slices.DeleteFunc(names, func(name string) bool { return !f.leadsOn(name) }), err
}
