// Package disktest has disks for tests of code that writes: one that fails, or is killed,
// at the n-th call, and one in memory that tells what may be left of it after a
// power failure.
package disktest
