package painter

import (
	"github.com/charmbracelet/x/term"
	"golang.org/x/sys/windows"
)

// keyboard is where a terminal is read from whatever the standard input is.
const keyboard = "CONIN$"

// raw has each key read as it comes and sequences understood, both ways, and returns how the
// terminal was before.
func raw(in, out term.File) (kept []saved, err error) {
	if in != nil {
		state, err := term.MakeRaw(in.Fd())
		if err != nil {
			return kept, err
		}
		kept = append(kept, saved{in, state})
		if err := add(in, windows.ENABLE_VIRTUAL_TERMINAL_INPUT); err != nil {
			return kept, err
		}
	}
	if out != nil {
		state, err := term.GetState(out.Fd())
		if err != nil {
			return kept, err
		}
		kept = append(kept, saved{out, state})
		if err := add(out, windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING); err != nil {
			return kept, err
		}
	}
	return kept, nil
}

// add adds to the modes of a console.
func add(file term.File, more uint32) error {
	var mode uint32
	if err := windows.GetConsoleMode(windows.Handle(file.Fd()), &mode); err != nil {
		return err
	}
	return windows.SetConsoleMode(windows.Handle(file.Fd()), mode|more)
}

// Follow does nothing: a console tells its size with the keys.
func (p *Painter) Follow(func(width, height int)) (end func()) { return func() {} }
