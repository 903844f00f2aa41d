package disk

import (
	"errors"

	"golang.org/x/sys/unix"
)

func openFolder(root int, name string) (int, error) { return walkFolders(root, name) }

func openFile(root int, name string) (int, error) { return openStepwise(root, name) }

func renameNew(from int, old string, to int, new string) error {
	return unix.RenameatxNp(from, old, to, new, unix.RENAME_EXCL)
}

func exchange(from int, old string, to int, new string) error {
	return unix.RenameatxNp(from, old, to, new, unix.RENAME_SWAP)
}

// syncFile asks the drive as well: fsync alone does not, here.
func syncFile(file int) error {
	err := Retry(func() error {
		_, err := unix.FcntlInt(uintptr(file), unix.F_FULLFSYNC, 0)
		return err
	})
	if errors.Is(err, errors.ErrUnsupported) || err == unix.ENOTTY || err == unix.EINVAL {
		err = Retry(func() error { return unix.Fsync(file) })
	}
	return err
}

func syncAll(int) error { return errors.ErrUnsupported }

func reflink(from, to int) error { return errors.ErrUnsupported }
