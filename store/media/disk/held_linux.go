package disk

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// IsHeld reports whether a process has the lock of a file, see [Disk].Lock, without taking it. It
// is false where the system does not tell.
func IsHeld(path string) bool {
	var file unix.Stat_t
	locks, err := os.ReadFile("/proc/locks")
	if err != nil || unix.Lstat(path, &file) != nil {
		return false
	}
	// 1: FLOCK  ADVISORY  WRITE 1234 00:2f:5678 0 EOF
	place := fmt.Sprintf("%02x:%02x:%d", unix.Major(file.Dev), unix.Minor(file.Dev), file.Ino)
	for line := range strings.Lines(string(locks)) {
		if words := strings.Fields(line); len(words) > 5 && words[1] == "FLOCK" && words[5] == place {
			return true
		}
	}
	return false
}
