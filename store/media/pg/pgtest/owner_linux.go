package pgtest

import (
	"os"
	"syscall"
)

// attributes has a process run as the owner, and end when the tests do.
func (o *owner) attributes() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if o != nil {
		a.Credential = &syscall.Credential{Uid: o.uid, Gid: o.gid}
	}
	return a
}

// send sends a process the signal of a mode.
func (m Mode) send(process *os.Process) error {
	return process.Signal(map[Mode]os.Signal{Fast: syscall.SIGINT, Immediate: syscall.SIGQUIT, Kill: syscall.SIGKILL}[m])
}
