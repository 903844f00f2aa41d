//go:build linux || darwin || freebsd

package sqlitefile

import "syscall"

// isFull reports whether the file system of a folder has no room for one write of SQLite's.
func isFull(dir string) bool {
	var s syscall.Statfs_t
	return syscall.Statfs(dir, &s) == nil && int64(s.Bavail)*int64(s.Bsize) < 64<<10
}
