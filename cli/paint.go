package cli

import "hindcast/look"

// paint puts colour around a text that is safe to print. Colour only helps:
// every line says the same without it.
type paint bool

const (
	bold   = "1"
	faint  = "2"
	red    = "31"
	green  = "32"
	yellow = "33"

	boldGreen = bold + ";" + green // the head
)

func (p paint) in(sgr, s string) string {
	if !p {
		return s
	}
	return string(appendIn(nil, p, sgr, s))
}

// appendIn appends a text with the colour around it to dst.
func appendIn[T ~string | ~[]byte](dst []byte, p paint, sgr string, s T) []byte {
	if !p || len(s) == 0 || sgr == "" {
		return append(dst, s...)
	}
	dst = append(append(append(dst, "\x1b["...), sgr...), 'm')
	return append(append(dst, s...), "\x1b[0m"...)
}

// newPaint returns colour on a terminal only, and nowhere when NO_COLOR is set
// (no-color.org: to anything but the empty text) or the terminal is a dumb one.
func (a *App) newPaint() paint {
	return paint(a.OutTerminal && a.Getenv("NO_COLOR") == "" && !look.Dumb(a.Getenv))
}
