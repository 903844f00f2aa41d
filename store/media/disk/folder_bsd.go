//go:build freebsd || netbsd || openbsd || dragonfly

package disk

import (
	"errors"

	"golang.org/x/sys/unix"
)

func openFolder(root int, name string) (int, error) { return walkFolders(root, name) }

func openFile(root int, name string) (int, error) { return openStepwise(root, name) }

func renameNew(from int, old string, to int, new string) error { return errors.ErrUnsupported }

func exchange(from int, old string, to int, new string) error { return errors.ErrUnsupported }

func syncFile(file int) error { return Retry(func() error { return unix.Fsync(file) }) }

func syncAll(int) error { return errors.ErrUnsupported }

func reflink(from, to int) error { return errors.ErrUnsupported }
