//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package disk

import (
	"slices"

	"golang.org/x/sys/unix"
)

// ReadDescriptor reads the regular file that a descriptor stands for, from where it
// is, into buf as far as that is large enough, and says in found what the system
// told of the file before. The errors are ErrNotRegular, ErrTooLarge and those of
// the system. The descriptor stays open.
func ReadDescriptor(file int, buf []byte, found *unix.Stat_t) ([]byte, error) {
	if err := Retry(func() error { return unix.Fstat(file, found) }); err != nil {
		return buf[:0], err
	}
	switch {
	case found.Mode&unix.S_IFMT != unix.S_IFREG:
		return buf[:0], ErrNotRegular
	case found.Size > MaxSize:
		return buf[:0], ErrTooLarge
	}
	data := slices.Grow(buf[:0], int(found.Size))
	for {
		if len(data) == cap(data) { // of a size that is not known before
			data = slices.Grow(data, max(len(data), 8<<10))
		}
		var n int
		err := Retry(func() (err error) {
			n, err = unix.Read(file, data[len(data):cap(data)])
			return err
		})
		if err != nil {
			return data, err
		}
		data = data[:len(data)+n]
		switch {
		case n == 0, int64(len(data)) == found.Size:
			return data, nil
		case len(data) > MaxSize:
			return data, ErrTooLarge
		}
	}
}

// Retry calls the system until no signal interrupts it.
func Retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}
