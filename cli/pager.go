package cli

import (
	"errors"
	"io"
	"os/exec"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// defaultPager ends by itself where the output fits on the screen, passes colours
// on, and leaves on the screen what it showed.
const defaultPager = "less -FRX"

// Pager returns the command that long output goes through on a terminal, from
// HINDCAST_PAGER, else PAGER, else less, or "". lookup reads the environment:
// an empty value, or cat, means none.
func Pager(lookup func(string) (string, bool)) string {
	for _, name := range []string{"HINDCAST_PAGER", "PAGER"} {
		if command, set := lookup(name); set {
			if command = strings.TrimSpace(command); command == "cat" {
				command = ""
			}
			return command
		}
	}
	return defaultPager
}

// startPager starts the pager and returns where to write, and what waits until the
// person has left it. Without a terminal or a pager that can be started, the output
// goes where it would go anyway.
func (a *App) startPager(cmd *cobra.Command) (out io.Writer, wait func() error) {
	plain := func() error { return nil }
	off, err := cmd.Flags().GetBool("no-pager")
	words := strings.Fields(a.Pager)
	if !a.OutTerminal || err != nil || off || len(words) == 0 {
		return a.Out, plain
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		return a.Out, plain
	}
	pager := exec.Command("sh", "-c", a.Pager)
	pager.Stdout, pager.Stderr = a.Out, a.Err
	in, err := pager.StdinPipe()
	if err != nil || pager.Start() != nil {
		return a.Out, plain
	}
	return left{in}, func() error {
		in.Close() // the end of the output
		var exit *exec.ExitError
		if err := pager.Wait(); err != nil && !errors.As(err, &exit) {
			return err
		}
		return nil // how a pager ended is its own business
	}
}

// left is the input of a pager. What is written after the person left it is
// dropped: that is no error.
type left struct{ io.Writer }

func (l left) Write(data []byte) (int, error) {
	_, err := l.Writer.Write(data)
	if errors.Is(err, syscall.EPIPE) {
		err = nil
	}
	return len(data), err
}
