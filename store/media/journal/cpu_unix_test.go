//go:build unix

package journal_test

import (
	"syscall"
	"time"
)

// cpu returns the processor time that this process has used: a clock does not tell what
// a write costs where others use the processors as well.
func cpu() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
