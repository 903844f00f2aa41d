package files

import (
	"cmp"
	"os"

	"golang.org/x/sys/unix"

	"hindcast/store/media/disk"
)

// below opens a folder below f in one call of the system, where os.Root takes one for each
// part of the name. It is nil where that cannot be. The error is fs.ErrNotExist where there is
// no such folder; any other one says nothing of what os.Root would find.
func (f *Folder) below(dir string) (*Folder, error) {
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS}
	var fd int
	var err error
	failed := descriptor{f.dir}.hold(func(at int) {
		err = disk.Uninterrupted(func() (err error) {
			fd, err = unix.Openat2(at, dir, &how)
			return err
		})
	})
	if failed != nil || err != nil {
		return nil, cmp.Or(failed, err)
	}
	return folderOf(os.NewFile(uintptr(fd), dir)), nil
}
