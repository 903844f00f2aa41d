//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// asItself has a file opened that is no link, without waiting for the other end of a pipe.
const asItself = unix.O_NOFOLLOW | unix.O_NONBLOCK

// lock locks a file. The end of the process lets go of it.
func lock(f *os.File) error { return flock(int(f.Fd())) }

func flock(file int) error {
	err := Retry(func() error { return unix.Flock(file, unix.LOCK_EX|unix.LOCK_NB) })
	if err == unix.EWOULDBLOCK {
		err = ErrLocked
	}
	return err
}
