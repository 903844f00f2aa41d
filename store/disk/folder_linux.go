package disk

import (
	"golang.org/x/sys/unix"
)

// openFolder opens a folder below another, through no link, to name things in it.
// That is one call of the system where the kernel is not older than 5.6.
func openFolder(root int, name string) (dir int, err error) {
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	}
	err = again(func() error {
		dir, err = unix.Openat2(root, name, &how)
		return err
	})
	switch err {
	case nil:
		return dir, nil
	case unix.ELOOP:
		return -1, ErrSymlink
	case unix.ENOENT, unix.EACCES, unix.EMFILE, unix.ENFILE:
		return -1, err
	}
	return walk(root, name) // it is not known here, is forbidden, or says more there
}

func renameNew(from int, old string, to int, new string) error {
	return unix.Renameat2(from, old, to, new, unix.RENAME_NOREPLACE)
}

func exchange(from int, old string, to int, new string) error {
	return unix.Renameat2(from, old, to, new, unix.RENAME_EXCHANGE)
}

func syncFile(file int) error { return again(func() error { return unix.Fsync(file) }) }
