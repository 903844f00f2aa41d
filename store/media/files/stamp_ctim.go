//go:build linux || openbsd || dragonfly

package files

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// identify completes the stamp with facts that only some systems report.
func (s *Stamp) identify(sys any) {
	switch sys := sys.(type) {
	case *syscall.Stat_t:
		s.changed = time.Unix(sys.Ctim.Unix())
		s.inode, s.device = uint64(sys.Ino), uint64(sys.Dev)
	case *unix.Stat_t:
		s.changed = time.Unix(sys.Ctim.Unix())
		s.inode, s.device = uint64(sys.Ino), uint64(sys.Dev)
	}
}
