//go:build darwin || freebsd || netbsd

package files

import (
	"io/fs"
	"syscall"
	"time"
)

// identify completes the stamp with what only some systems say.
func (s *Stamp) identify(info fs.FileInfo) {
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.changed = time.Unix(sys.Ctimespec.Unix())
		s.inode, s.device = uint64(sys.Ino), uint64(sys.Dev)
	}
}
