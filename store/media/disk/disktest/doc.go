// Package disktest has disks for tests of code that writes: a disk that fails, or is
// killed, at the n-th call, and a disk in memory that shows what a power failure may
// leave of it.
package disktest
