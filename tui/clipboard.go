package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/aymanbagabas/go-osc52/v2"
	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/model/conversation"
	"hindcast/tui/dialog"
)

// longestCopy bounds what is sent to the clipboard, in bytes of base64: what
// tmux and xterm take. A longer one would be cut or dropped in silence.
const longestCopy = 74_994

// copier is a tab with a cursor on a value that can be copied.
type copier interface {
	// Value gives the value, nil where there is none.
	Value() []byte
	// Path gives its JSON Pointer.
	Path() string
}

// askYank asks what to copy.
func (m *Model) askYank() {
	id := m.subject().header.ID
	copied := func(what, text string) func() tea.Cmd {
		return func() tea.Cmd { return m.copyText(what, text) }
	}
	items := []dialog.Item{
		{Action: keymap.YankID, Text: id, Do: copied("the id", id)},
		{Action: keymap.YankValue, Disabled: "no value is selected"},
		{Action: keymap.YankPath, Disabled: "no value is selected"},
		{Action: keymap.YankCall, Text: m.onward.call, Do: copied("the resume call", m.onward.call)},
		{Action: keymap.YankResume, Text: "what goes on from the checkpoint here", Do: m.copyResume},
	}
	if c := m.selected(); c != nil {
		value, path := c.Value(), c.Path()
		items[1] = dialog.Item{Action: keymap.YankValue, Text: sizeOf(value), Do: func() tea.Cmd { return m.copyText("the value", string(value)) }}
		items[2] = dialog.Item{Action: keymap.YankPath, Text: path, Do: copied("the path", path)}
		if path == "" {
			items[2].Text = "the whole state"
		}
	}
	if m.onward.call == "" {
		items[3].Disabled = "nothing was written that says how to go on"
	}
	m.offer(dialog.NewMenu(m.styles, m.keys, keymap.Menu, "Copy", "copy", items))
}

// selected gives the tab in which a value is selected, or nil.
func (m *Model) selected() copier {
	t := m.tabs[m.current]
	if c, is := t.pane.(copier); is && t.content != nil && c.Value() != nil {
		return c
	}
	return nil
}

// sizeOf gives the length of data for people.
func sizeOf(data []byte) string { return string(conversation.AppendSize(nil, int64(len(data)))) }

// copyText sends a text to the clipboard.
func (m *Model) copyText(what, text string) tea.Cmd {
	ctx := m.ctx
	return run(func() tea.Msg { return m.o.copyOut(ctx, what, text) })
}

// copyResume works out the payload that resumes from the snapshot under the
// cursor, and sends it to the clipboard.
func (m *Model) copyResume() tea.Cmd {
	const what = "the resume payload"
	s, from, ctx := m.subject(), m.source, m.ctx
	return run(func() tea.Msg {
		content, err := from.prepareResume(ctx, s)
		switch {
		case err != nil:
			return copiedMsg{what: what, err: err}
		case content.Payload() == nil:
			return copiedMsg{what: what, err: errors.New("there is no checkpoint to resume from here")}
		}
		return m.o.copyOut(ctx, what, string(content.Payload()))
	})
}

// copyOut gives a text to tmux where the screen is in it, else to the terminal's
// clipboard. It is only ever called for a key that says so.
func (o *Options) copyOut(ctx context.Context, what, text string) copiedMsg {
	msg := copiedMsg{what: what, text: text}
	if server := o.Getenv("TMUX"); server != "" {
		if msg.err = loadBuffer(ctx, server, text); msg.err == nil {
			msg.tmux = true
			return msg
		}
	}
	if err := o.toTerminal(text); err != nil {
		msg.err = errors.Join(err, msg.err)
		return msg
	}
	msg.err = nil
	return msg
}

// tmuxTime is how long tmux may take to answer.
const tmuxTime = 2 * time.Second

// loadBuffer has the tmux server that TMUX names take a text as its newest buffer, and
// send it on to the clipboard of the terminal outside where its options let it. tmux
// takes the text from its standard input, and no shell is asked.
func loadBuffer(ctx context.Context, server, text string) error {
	ctx, cancel := context.WithTimeout(ctx, tmuxTime)
	defer cancel()
	command := exec.CommandContext(ctx, "tmux", "load-buffer", "-w", "-")
	command.Env = append(os.Environ(), "TMUX="+server)
	command.Stdin = strings.NewReader(text)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("tmux did not take it: %w: %.200s", err, out)
	}
	return nil
}

// toTerminal sends a text to the terminal's clipboard by OSC 52. No terminal says
// whether it took it.
func (o *Options) toTerminal(text string) error {
	term := o.Getenv("TERM")
	if term == "" || term == "dumb" {
		return fmt.Errorf("this terminal has no clipboard (TERM is %q)", term)
	}
	seq := osc52.New(text)
	if o.Getenv("TMUX") == "" && strings.HasPrefix(term, "screen") {
		seq = seq.Screen()
	}
	encoded := seq.String()
	if len(encoded) > longestCopy {
		return fmt.Errorf("it is too long for a terminal's clipboard: %s, of at most %s",
			sizeOf([]byte(text)), conversation.AppendSize(nil, longestCopy*3/4))
	}
	// One write, so that it cannot fall into the middle of a frame.
	_, err := o.Output.Write([]byte(encoded))
	return err
}

// copied says where a text is now, as far as that can be known. The text can be shown
// to select it by hand, and is shown at once where it could not be sent.
func (m *Model) copied(msg copiedMsg) {
	switch {
	case msg.err != nil && msg.text == "":
		m.fail(fmt.Errorf("copy %s: %w", msg.what, msg.err))
		return
	case msg.err != nil:
		m.fail(fmt.Errorf("copy %s: %w", msg.what, msg.err))
		m.open(dialog.NewText(m.styles, m.keys, "Select "+msg.what+" by hand", msg.text), nil)
	case msg.tmux:
		m.confirmed(msg.what + " is in tmux's newest buffer")
	default:
		m.confirmed(msg.what + " was sent to the terminal's clipboard")
	}
	m.message.about, m.message.whole = msg.what, msg.text
}
