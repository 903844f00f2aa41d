// Package painter holds the terminal while the screen is up: it takes it, paints frames on it, lends
// it to an editor or a shell, and hands it back as it was.
//
// It takes the place of Bubble Tea's renderer, which looks for a new frame 120 times a second for as
// long as the program runs. A painter sleeps until it is given a frame.
package painter

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
)

// Painter paints on one terminal. Its methods may be called from several goroutines at once.
type Painter struct {
	in  term.File // nil where keys come from no terminal
	out io.Writer

	mu    sync.Mutex
	up    bool
	query string  // for the terminal, when it is taken next
	saved []saved // how the terminal was before

	width, height int // 0 where it is not known
	frame         string
	// painted is the frame that stands on the terminal, "" where that is not known, shown its lines.
	painted string
	shown   []string
	// last is when a frame was painted, due the timer that paints the next one, or nil.
	last time.Time
	due  *time.Timer
}

// saved is the state of a terminal.
type saved struct {
	file  term.File
	state *term.State
}

// New returns a painter on the terminal that in reads from and out writes to. Either may be
// something else than a terminal, which has no size and no state to keep.
func New(in io.Reader, out io.Writer) *Painter { return &Painter{in: terminalOf(in), out: out} }

// terminalOf returns a file that is a terminal, nil for anything else.
func terminalOf(file any) term.File {
	if f, is := file.(term.File); is && term.IsTerminal(f.Fd()) {
		return f
	}
	return nil
}

// Size returns the columns and rows of the terminal, and false where they are not known.
func (p *Painter) Size() (width, height int, known bool) {
	f := terminalOf(p.out)
	if f == nil {
		return 0, 0, false
	}
	width, height, err := term.GetSize(f.Fd())
	return width, height, err == nil
}

// What begins the full screen and what ends it. Nothing wraps in between: a terminal that counts
// more cells in a row than there are would go on in the next one and scroll the frame away.
const (
	enter = ansi.ResetModeAutoWrap + ansi.SetModeAltScreenSaveCursor + ansi.EraseEntireScreen + ansi.CursorHomePosition +
		ansi.HideCursor + ansi.SetModeBracketedPaste + ansi.SetModeMouseButtonEvent + ansi.SetModeMouseExtSgr
	leave = ansi.ResetModeMouseExtSgr + ansi.ResetModeMouseButtonEvent + ansi.ResetModeBracketedPaste + ansi.ShowCursor +
		ansi.SetModeAutoWrap + ansi.ResetModeAltScreenSaveCursor
)

// Take takes the terminal: each key is read as it comes, and the full screen is up. The last frame,
// if there is one, is painted again. A terminal that was taken stays so.
func (p *Painter) Take() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.up {
		return nil
	}
	kept, err := raw(p.in, terminalOf(p.out))
	p.saved = kept
	if err != nil {
		return errors.Join(err, p.restoreTerminal())
	}
	p.up = true
	p.writeBytes(enter)
	p.paintWhole()
	p.writeBytes(p.query)
	p.query = ""
	return nil
}

// Ask has the terminal asked a question when it is taken next, behind the frame. The answer comes with the keys.
func (p *Painter) Ask(query string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.query = query
}

// Send writes to the terminal what is no part of a frame. It is lost where the terminal is not taken.
func (p *Painter) Send(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.up {
		p.writeBytes(text)
	}
}

// settles is how long a terminal may take to stop sending the mouse, whose reports a shell would
// take for typing.
const settles = 10 * time.Millisecond

// Give hands the terminal back as it was. Frames that come before it is taken again wait. The error
// is the terminal's, which may be gone.
func (p *Painter) Give() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.up {
		return nil
	}
	p.up = false
	if p.due != nil {
		p.due.Stop()
		p.due = nil
	}
	p.writeBytes(leave)
	if p.saved != nil {
		time.Sleep(settles)
	}
	return p.restoreTerminal()
}

// restoreTerminal puts the terminal into the states that it had before.
func (p *Painter) restoreTerminal() (err error) {
	for _, s := range p.saved {
		err = errors.Join(err, term.Restore(s.file.Fd(), s.state))
	}
	p.saved = nil
	return err
}

// Lend runs run, which has the terminal as it was before, and takes it again. It returns both errors.
func (p *Painter) Lend(run func() error) error {
	_ = p.Give() // who borrows it sets it up
	err := run()
	return errors.Join(err, p.Take())
}

// Resize tells the painter how large the terminal is. The next frame is painted whole.
func (p *Painter) Resize(width, height int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.width, p.height = width, height
	p.painted, p.shown = "", nil
}

// Clear wipes the terminal, whatever stands on it, and paints the last frame again.
func (p *Painter) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.up {
		p.writeBytes(ansi.EraseEntireScreen)
		p.paintWhole()
	}
}

// between is the least time from one frame to the next.
const between = time.Second / 60

// Paint paints a frame, lines that newlines end: at once where the last frame is older than a
// sixtieth of a second, else as soon as it is, unless another frame follows until then.
func (p *Painter) Paint(frame string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frame = frame
	if !p.up || p.due != nil || frame == p.painted {
		return
	}
	if wait := between - time.Since(p.last); wait > 0 {
		p.due = time.AfterFunc(wait, p.paintDue)
		return
	}
	p.paintLines()
}

// paintDue paints the frame that waited.
func (p *Painter) paintDue() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.due != nil {
		p.due = nil
		p.paintLines()
	}
}

// paintWhole paints the frame over whatever stands on the terminal.
func (p *Painter) paintWhole() {
	p.painted, p.shown = "", nil
	p.paintLines()
}

// paintLines writes the lines that differ from those on the terminal, each to its row.
func (p *Painter) paintLines() {
	if p.frame == "" {
		return // nothing was drawn yet
	}
	lines := strings.Split(p.frame, "\n")
	if p.height > 0 {
		lines = lines[:min(len(lines), p.height)]
	}
	var b strings.Builder
	for y, line := range lines {
		if y < len(p.shown) && p.shown[y] == line {
			continue
		}
		b.WriteString(ansi.CursorPosition(1, y+1))
		width := ansi.StringWidth(line)
		if p.width > 0 && width > p.width {
			line = ansi.Truncate(line, p.width, "")
		}
		b.WriteString(line)
		if width < p.width {
			b.WriteString(ansi.EraseLineRight)
		}
	}
	if len(lines) < len(p.shown) || p.shown == nil && len(lines) < p.height {
		b.WriteString(ansi.CursorPosition(1, len(lines)+1) + ansi.EraseScreenBelow)
	}
	p.painted, p.shown, p.last = p.frame, lines, time.Now()
	if b.Len() > 0 {
		p.writeBytes(b.String())
	}
}

// writeBytes writes to the terminal in one piece. That it is gone is told by the keys that end.
func (p *Painter) writeBytes(text string) { _, _ = io.WriteString(p.out, text) }

// OpenKeyboard opens the terminal to read keys from where the standard input is something else.
func OpenKeyboard() (*os.File, error) { return os.OpenFile(keyboard, os.O_RDWR, 0) }
