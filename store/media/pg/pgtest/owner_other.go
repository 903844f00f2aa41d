//go:build !linux

package pgtest

import (
	"os"
	"syscall"
)

// attributes leaves a process as it is: elsewhere tests do not run as root.
func (o *owner) attributes() *syscall.SysProcAttr { return nil }

// send ends a process.
func (m Mode) send(process *os.Process) error { return process.Signal(os.Interrupt) }
