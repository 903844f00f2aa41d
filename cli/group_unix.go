//go:build unix

package cli

import (
	"os/exec"
	"syscall"
)

// inGroup has a command run in a process group of its own. When the context ends the whole
// group is killed: a test is often a script that waits for another program.
func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
