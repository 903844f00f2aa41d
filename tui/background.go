package tui

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"hindcast/tui/theme"
)

// The terminal is asked for the colour behind the text, and its answer comes among the keys, whenever it likes or
// never. Until then the environment has told between dark and light:
//
//	asked     ESC ] 11 ; ? BEL
//	answered  ESC ] 11 ; rgb:fdfd/f6f6/e3e3 BEL     or with ESC \ at its end
const (
	answerBegin = "\x1b]11;"
	// mostAnswer bounds an answer in bytes. A longer text is typed.
	mostAnswer = 64
	// answerTime is how long the end of the program waits for an answer that would else be typed into the shell.
	answerTime = 150 * time.Millisecond
)

// keyboard is a terminal's input. It tells when the terminal is gone, as Bubble Tea would go on without it for ever,
// unseen, and takes the answer about the background out of the keys.
type keyboard struct {
	*os.File
	gone func()
	// answer is called once with the answer of the terminal; waits says that it is still to come.
	answer func(light bool)
	waits  atomic.Bool
	asked  time.Time
	// begun is the begin of an answer that the last read ended with.
	begun []byte
}

// Read implements io.Reader.
func (k *keyboard) Read(p []byte) (int, error) {
	if !k.waits.Load() || len(p) <= 2*mostAnswer {
		return k.readKeys(p)
	}
	before := copy(p, k.begun)
	n, err := k.readKeys(p[before:])
	n += before
	k.begun = nil
	from, to, light := findAnswer(p[:n])
	switch {
	case to > 0:
		k.waits.Store(false)
		go k.answer(light) // the program may not take messages yet
		n = from + copy(p[from:], p[to:n])
	case from < n && n-from < mostAnswer && err == nil:
		k.begun = bytes.Clone(p[from:n])
		n = from
	}
	return n, err
}

// readKeys reads, and tells when the terminal is gone.
func (k *keyboard) readKeys(p []byte) (int, error) {
	n, err := k.File.Read(p)
	if err != nil {
		go k.gone()
	}
	return n, err
}

// findAnswer returns the span of an answer among keys, and whether the background is light. to is 0 where no answer is
// whole; from then is where one begins, or the end. A single escape is a key.
func findAnswer(keys []byte) (from, to int, light bool) {
	from = bytes.Index(keys, []byte(answerBegin))
	if from < 0 {
		for n := min(len(answerBegin)-1, len(keys)); n > 1; n-- {
			if bytes.HasSuffix(keys, []byte(answerBegin[:n])) {
				return len(keys) - n, 0, false
			}
		}
		return len(keys), 0, false
	}
	colour := keys[from+len(answerBegin):]
	end, width := bytes.IndexByte(colour, '\a'), 1
	if st := bytes.Index(colour, []byte("\x1b\\")); st >= 0 && (end < 0 || st < end) {
		end, width = st, 2
	}
	if end < 0 {
		return from, 0, false
	}
	return from, from + len(answerBegin) + end + width, isLight(string(colour[:end]))
}

// isLight reports whether a colour is nearer to white than to black: "rgb:" or "rgba:", and the parts in hexadecimal
// digits, one to four each. Another text is dark.
func isLight(colour string) bool {
	_, parts, _ := strings.Cut(colour, ":")
	// ITU-R BT.601 gives these weights to red, green and blue.
	sum, weights := 0.0, [...]float64{0.299, 0.587, 0.114}
	for i, part := range strings.Split(parts, "/") {
		n, err := strconv.ParseUint(part, 16, 16)
		if err != nil || i == len(weights) {
			return sum > 0.5 && i == len(weights) // behind the colours is how opaque it is
		}
		sum += weights[i] * float64(n) / float64(uint64(1)<<(4*len(part))-1)
	}
	return sum > 0.5
}

// askBackground returns the question for the terminal. The answer, whenever it comes, sets the colours.
func (m *Model) askBackground(k *keyboard, send func(tea.Msg)) string {
	k.asked = time.Now()
	k.answer = func(light bool) {
		send(fact(func() tea.Cmd {
			m.recolour(light)
			return nil
		}))
	}
	k.waits.Store(true)
	return ansi.RequestBackgroundColor
}

// holdQuit returns a message. While the terminal may be about to answer, it drops the end of the program and calls quit
// a moment later: the shell would take the answer for typing.
func (k *keyboard) holdQuit(msg tea.Msg, quit func()) tea.Msg {
	if _, quits := msg.(tea.QuitMsg); !quits || k == nil || !k.waits.Load() {
		return msg
	}
	left := answerTime - time.Since(k.asked)
	if left <= 0 {
		return msg
	}
	time.AfterFunc(left, quit)
	return nil
}

// recolour takes the colours for a background.
func (m *Model) recolour(light bool) {
	palette := theme.Dark
	if light {
		palette = theme.Light
	}
	m.styles.Recolour(palette)
	m.message.style = m.styles.Text
	m.dirty = true
}
