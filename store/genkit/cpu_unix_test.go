//go:build unix

package genkit

import (
	"syscall"
	"testing"
	"time"
)

// perCPU reports the bytes for each second of processor time, which is what
// counts where other programs take their share of the machine.
func perCPU(b *testing.B, bytes int) (report func()) {
	before := used()
	return func() {
		b.ReportMetric(float64(bytes)*float64(b.N)/(used()-before).Seconds()/1e6, "MB/cpu-s")
	}
}

func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
