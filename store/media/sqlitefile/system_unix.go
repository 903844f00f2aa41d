//go:build unix

package sqlitefile

import "syscall"

// denied returns why the system does not let a file or a folder be used, nil if it
// does. It does not open it: to close a file gives up the locks that SQLite has on it.
func denied(name string, use uint32) error { return syscall.Access(name, use) }
