//go:build linux

package files_test

import (
	"testing"

	"golang.org/x/sys/unix"
)

// BenchmarkReadRaw is what the system alone takes for what BenchmarkRead does.
func BenchmarkReadRaw(b *testing.B) {
	dir, names := messages(b, 100_000)
	folder, err := unix.Open(dir, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer unix.Close(folder)
	buf := make([]byte, 8<<10)
	b.SetBytes(1800 * int64(len(names)))
	for b.Loop() {
		for _, name := range names {
			file, err := unix.Openat(folder, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
			if err != nil {
				b.Fatal(err)
			}
			var info unix.Stat_t
			if err := unix.Fstat(file, &info); err != nil {
				b.Fatal(err)
			}
			if n, err := unix.Read(file, buf); err != nil || n != 1800 {
				b.Fatal(n, err)
			}
			if err := unix.Close(file); err != nil {
				b.Fatal(err)
			}
		}
	}
}
