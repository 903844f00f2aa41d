//go:build unix

package scratch

import (
	"io/fs"
	"os"
	"syscall"
)

// isOwn reports whether a folder is of the user who runs this process.
func isOwn(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}
