//go:build unix

package painter

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/charmbracelet/x/term"
)

// keyboard is where a terminal is read from whatever the standard input is.
const keyboard = "/dev/tty"

// raw has each key read as it comes, and returns how the terminal was before.
func raw(in, _ term.File) ([]saved, error) {
	if in == nil {
		return nil, nil
	}
	state, err := term.MakeRaw(in.Fd())
	if err != nil {
		return nil, err
	}
	return []saved{{in, state}}, nil
}

// Follow calls resized after each change of the terminal's size. It returns at once; end stops the calls and
// waits for the last one to return.
func (p *Painter) Follow(resized func(width, height int)) (end func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGWINCH)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range signals {
			if w, h, known := p.Size(); known {
				resized(w, h)
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
		<-done
	}
}
