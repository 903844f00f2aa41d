package disk

import (
	"golang.org/x/sys/unix"
)

// openFolder opens a folder below another, through no link, to name things in it.
func openFolder(root int, name string) (int, error) {
	return atOnce(root, name, unix.O_PATH|unix.O_DIRECTORY, walkFolders)
}

// openFile opens a file below a folder, through no link, to read it.
func openFile(root int, name string) (int, error) {
	return atOnce(root, name, unix.O_RDONLY|unix.O_NONBLOCK, openStepwise)
}

// atOnce opens a name below a folder, through no link, in one call of the system.
// Where the kernel is older than 5.6, forbids that, or does not say enough of why it
// cannot, it is done the other way.
func atOnce(root int, name string, flags uint64, otherwise func(root int, name string) (int, error)) (file int, err error) {
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS}
	err = Retry(func() error {
		file, err = unix.Openat2(root, name, &how)
		return err
	})
	switch err {
	case nil:
		return file, nil
	case unix.ELOOP:
		return -1, ErrSymlink
	case unix.ENOENT, unix.EACCES, unix.EMFILE, unix.ENFILE:
		return -1, err
	}
	return otherwise(root, name)
}

func renameNew(from int, old string, to int, new string) error {
	return unix.Renameat2(from, old, to, new, unix.RENAME_NOREPLACE)
}

func exchange(from int, old string, to int, new string) error {
	return unix.Renameat2(from, old, to, new, unix.RENAME_EXCHANGE)
}

func syncFile(file int) error { return Retry(func() error { return unix.Fsync(file) }) }

// syncAll makes all durable that is on the file system of a folder.
func syncAll(folder int) error { return Retry(func() error { return unix.Syncfs(folder) }) }

// reflink has a file share the blocks of another until one of them is written to.
func reflink(from, to int) error { return unix.IoctlFileClone(to, from) }
