//go:build unix

package query_test

import (
	"syscall"
	"testing"
	"time"
)

// perCPU reports the CPU time of what is done until the function that it returns is called.
func perCPU(b *testing.B) func() {
	spent := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := spent()
	return func() { b.ReportMetric(float64((spent()-before).Milliseconds())/float64(b.N), "cpu-ms/op") }
}
