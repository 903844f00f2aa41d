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
	"hindcast/tui/resumetab"
)

// longestCopy bounds what is sent to the clipboard, in bytes of base64: what
// tmux and xterm take. A longer one would be cut or dropped in silence.
const longestCopy = 74_994

// copier is a tab with a cursor on a value that can be copied.
type copier interface {
	// Value returns the value, or nil.
	Value() []byte
	// Path returns its JSON Pointer.
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
	}
	for _, call := range m.knownCalls() {
		items = append(items, dialog.Item{Action: keymap.YankCall, Text: call, Do: copied("the resume call", call)})
	}
	if items[len(items)-1].Action != keymap.YankCall {
		text := "what goes on from here"
		if m.features.Resume == nil && !m.subject().header.Head {
			text += ", after a restore"
		}
		items = append(items, dialog.Item{Action: keymap.YankCall, Text: text, Do: func() tea.Cmd {
			return m.copyResume("the resume call", func(c *resumetab.Content) string { return firstText(c.Calls()) })
		}})
	}
	items = append(items, dialog.Item{Action: keymap.YankResume, Text: "what goes on from the checkpoint here", Do: func() tea.Cmd {
		return m.copyResume("the resume payload", func(c *resumetab.Content) string { return string(c.Payload()) })
	}})
	if c := m.selectedTab(); c != nil {
		value, path := c.Value(), c.Path()
		items[1] = dialog.Item{Action: keymap.YankValue, Text: sizeOf(value), Do: func() tea.Cmd { return m.copyText("the value", string(value)) }}
		items[2] = dialog.Item{Action: keymap.YankPath, Text: path, Do: copied("the path", path)}
		if path == "" {
			items[2].Text = "the whole state"
		}
	}
	share := dialog.Item{Action: keymap.Share, Text: "the session or a part of it, in a file", Do: func() tea.Cmd {
		m.askWhatToShare()
		return nil
	}}
	if m.o.Share == nil {
		share.Disabled = "nothing is shared from here"
	}
	items = append(items, share)
	m.openDialog(dialog.NewMenu(m.styles, m.keys, keymap.Menu, "Copy", "copy", items))
}

// selectedTab returns the tab in which a value is selected, or nil.
func (m *Model) selectedTab() copier {
	t := m.tabs[m.current]
	if c, is := t.pane.(copier); is && t.content != nil && c.Value() != nil {
		return c
	}
	return nil
}

// sizeOf returns the length of data for people.
func sizeOf(data []byte) string { return string(conversation.AppendSize(nil, int64(len(data)))) }

// copyText sends a text to the clipboard.
func (m *Model) copyText(what, text string) tea.Cmd {
	ctx, o := m.ctx, m.o
	return makeCommand(func() fact { return m.tellCopy(what, text, o.copyOut(ctx, text)) })
}

// knownCalls returns the calls that go on from the snapshot under the cursor, the
// best one first, where they are known already: what was written led to the
// head, or the Resume tab shows them.
func (m *Model) knownCalls() []string {
	t := m.tabs[tabOf(keymap.ShowResume)]
	content, shown := t.content.(*resumetab.Content)
	switch {
	case m.onward.call != "" && m.subject().header.Head:
		return []string{m.onward.call}
	case shown && t.shows == m.subject().subjectKey:
		return content.Calls()
	}
	return nil
}

// copyResume works out how to go on from the snapshot under the cursor, and
// sends what of it is wanted to the clipboard.
func (m *Model) copyResume(what string, of func(*resumetab.Content) string) tea.Cmd {
	s, from, ctx, o := m.subject(), m.source, m.ctx, m.o
	return makeCommand(func() fact {
		content, err := from.prepareResume(ctx, s)
		text := ""
		if err == nil {
			text = of(content)
		}
		if err == nil && text == "" {
			err = errors.New("there is none at this snapshot")
		}
		if err != nil {
			return m.tellCopy(what, "", copyResult{err: err})
		}
		return m.tellCopy(what, text, o.copyOut(ctx, text))
	})
}

// firstText returns the first text, or "" if there are no texts.
func firstText(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return texts[0]
}

// copyResult says where a text was sent: to a buffer of tmux, or else to the terminal, or why nowhere.
type copyResult struct {
	tmux bool
	err  error
}

// copyOut sends a text to tmux where the screen is in it, else to the terminal's
// clipboard. It is only ever called for a key that says so.
func (o *Options) copyOut(ctx context.Context, text string) copyResult {
	var refused error
	if server := o.Getenv("TMUX"); server != "" {
		if refused = loadBuffer(ctx, server, text); refused == nil {
			return copyResult{tmux: true}
		}
	}
	if err := o.toTerminal(text); err != nil {
		return copyResult{err: errors.Join(err, refused)}
	}
	return copyResult{}
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

// tellCopy says where a text is now, as far as that can be known. The text can be shown
// to select it by hand, and is shown at once where it could not be sent.
func (m *Model) tellCopy(what, text string, r copyResult) fact {
	return func() tea.Cmd {
		switch {
		case r.err != nil:
			m.fail(fmt.Errorf("copy %s: %w", what, r.err))
			if text == "" {
				return nil
			}
			m.openDialog(dialog.NewText(m.styles, m.keys, "Select "+what+" by hand", text))
		case r.tmux:
			m.confirm(what + " is in tmux's newest buffer")
		default:
			m.confirm(what + " was sent to the terminal's clipboard")
		}
		m.message.about, m.message.whole = what, text
		return nil
	}
}
