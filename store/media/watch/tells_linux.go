package watch

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"syscall"
)

// local are the file systems of Linux that only this system writes to, by their magic numbers:
// inotify does not tell what another one writes to a shared one.
var local = []int64{
	0xef53,     // ext2, ext3, ext4
	0x01021994, // tmpfs
	0x58465342, // XFS
	0x9123683e, // Btrfs
	0xf2f52010, // F2FS
	0x2fc12fc1, // ZFS
	0x794c7630, // overlay
}

// tells reports whether the system tells of all that happens in a folder that it watches.
func tells(dir string) bool {
	var s syscall.Statfs_t
	return syscall.Statfs(dir, &s) == nil && slices.Contains(local, int64(s.Type)&0xffffffff)
}

// hasOneName reports whether there is nothing at a path, or a file that has no other name.
func hasOneName(path string) bool {
	info, err := os.Lstat(path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	sys, known := info.Sys().(*syscall.Stat_t)
	return known && info.Mode().IsRegular() && sys.Nlink == 1
}
