//go:build unix

package genkit

import (
	"syscall"
	"testing"
	"time"
)

// perCPU reports the time of processors that each round takes, which is what
// counts where other programs take their share of the machine; and of a number
// of bytes how many are done in a second of it.
func perCPU(b *testing.B, bytes int) (report func()) {
	before := used()
	return func() {
		each := (used() - before) / time.Duration(b.N)
		b.ReportMetric(float64(each.Microseconds())/1e3, "cpu-ms/op")
		if bytes > 0 {
			b.ReportMetric(float64(bytes)/each.Seconds()/1e6, "MB/cpu-s")
		}
	}
}

func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
