//go:build !unix

package cli

import "os/exec"

// inGroup does nothing: the command alone is killed when its context ends.
func inGroup(*exec.Cmd) {}
