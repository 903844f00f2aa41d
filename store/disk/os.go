package disk

import (
	"errors"
	"io/fs"
	"os"
)

// Open opens a folder. Nothing is written.
func Open(dir string) (*OS, error) { return open(dir) }

var _ Disk = (*OS)(nil)

// Read implements Disk.
func (d *OS) Read(name string) ([]byte, error) {
	data, _, err := d.Load(name, nil)
	return data, err
}

// pathError names the file of an error, once.
func pathError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		err = path.Err
	case errors.As(err, &link):
		err = link.Err
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// linkError names the two files of an error, once.
func linkError(op, old, new string, err error) error {
	if err = pathError(op, old, err); err != nil {
		err = &os.LinkError{Op: op, Old: old, New: new, Err: err.(*fs.PathError).Err}
	}
	return err
}
