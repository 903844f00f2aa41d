//go:build unix

package sqlitefile

import "syscall"

// whyDenied returns why the system does not let a file or a folder be used, nil if it
// does. It does not open it: to close a file gives up the locks that SQLite has on it.
func whyDenied(name string, use uint32) error { return syscall.Access(name, use) }
