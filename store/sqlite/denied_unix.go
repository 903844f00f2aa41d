//go:build unix

package sqlite

import "syscall"

// denied returns why the system does not let a file or a folder be written, nil if it
// does. It does not open it: to close a file gives up the locks that SQLite has on it.
func denied(name string) error {
	const write = 2
	return syscall.Access(name, write)
}
