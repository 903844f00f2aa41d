package disk

import (
	"errors"
	"io/fs"
	"os"
)

// Open opens a folder. Nothing is written.
func Open(dir string) (*OS, error) { return open(dir) }

// Hold opens a file, which is made if it is missing, and locks it until it is closed by
// all that have it, or they end. It returns the errors of [Disk].Lock.
func Hold(name string) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|asItself, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err == nil {
		err = lock(file)
	}
	if err != nil {
		return nil, pathError("lock", name, errors.Join(err, file.Close()))
	}
	return file, nil
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
