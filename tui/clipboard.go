package tui

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-osc52/v2"
	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/model/conversation"
	"hindcast/store"
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
	items := []dialog.Item{{Action: keymap.YankID, Text: m.subject().header.ID}}
	value := dialog.Item{Action: keymap.YankValue, Disabled: "no value is selected"}
	path := dialog.Item{Action: keymap.YankPath, Disabled: "no value is selected"}
	if c := m.selected(); c != nil {
		value.Disabled, path.Disabled = "", ""
		value.Text, path.Text = sizeOf(c.Value()), c.Path()
		if path.Text == "" {
			path.Text = "the whole state"
		}
	}
	call := dialog.Item{Action: keymap.YankCall, Text: m.onward.call}
	if m.onward.call == "" {
		call.Disabled = "nothing was written that says how to go on"
	}
	resume := dialog.Item{Action: keymap.YankResume, Text: "what goes on from the checkpoint here"}
	m.open(dialog.NewMenu(m.styles, m.keys, keymap.Menu, "Copy", "copy", append(items, value, path, call, resume)))
}

// selected gives the tab in which a value is selected, or nil.
func (m *Model) selected() copier {
	t := m.tabs[m.current]
	if c, is := t.pane.(copier); is && t.content != nil && c.Value() != nil {
		return c
	}
	return nil
}

// answerMenu carries out an action in the menu that is open.
func (m *Model) answerMenu(menu *dialog.Menu, a keymap.Action) tea.Cmd {
	if a == keymap.Back {
		m.close()
		return nil
	}
	menu.Do(a)
	switch menu.Chosen() {
	case keymap.YankID:
		m.close()
		return m.copyText("the id", m.subject().header.ID)
	case keymap.YankValue:
		m.close()
		return m.copyText("the value", string(m.selected().Value()))
	case keymap.YankPath:
		m.close()
		return m.copyText("the path", m.selected().Path())
	case keymap.YankCall:
		m.close()
		return m.copyText("the resume call", m.onward.call)
	case keymap.YankResume:
		m.close()
		return m.copyResume()
	case keymap.EditState, keymap.EditMessage, keymap.EditResult, keymap.EditValue:
		m.close()
		return m.beginEdit(menu.Chosen())
	case keymap.PurgeRedacted:
		m.close()
		return m.planPurge(m.purged, store.PurgeRedacted)
	case keymap.PurgeAll:
		m.close()
		return m.planPurge(m.purged, store.PurgeAll)
	}
	return nil
}

// sizeOf gives the length of data for people.
func sizeOf(data []byte) string { return string(conversation.AppendSize(nil, int64(len(data)))) }

// copyText sends a text to the clipboard.
func (m *Model) copyText(what, text string) tea.Cmd {
	return run(func() tea.Msg { return m.o.copyOut(what, text) })
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
			return copiedMsg{what, err}
		case content.Payload() == nil:
			return copiedMsg{what, errors.New("there is no checkpoint to resume from here")}
		}
		return m.o.copyOut(what, string(content.Payload()))
	})
}

// copyOut sends a text to the terminal's clipboard by OSC 52. It is only ever
// called for a key that says so.
func (o *Options) copyOut(what, text string) copiedMsg {
	term := o.Getenv("TERM")
	if term == "" || term == "dumb" {
		return copiedMsg{what, fmt.Errorf("this terminal has no clipboard (TERM is %q)", term)}
	}
	seq := osc52.New(text)
	if o.Getenv("TMUX") == "" && strings.HasPrefix(term, "screen") {
		seq = seq.Screen()
	}
	encoded := seq.String()
	if len(encoded) > longestCopy {
		return copiedMsg{what, fmt.Errorf("%s is too long for a terminal's clipboard: %s, of at most %s",
			what, sizeOf([]byte(text)), conversation.AppendSize(nil, longestCopy*3/4))}
	}
	// One write, so that it cannot fall into the middle of a frame.
	_, err := o.Output.Write([]byte(encoded))
	return copiedMsg{what, err}
}

// copied says that a text is on the clipboard, as far as one can know: no
// terminal answers.
func (m *Model) copied(msg copiedMsg) {
	if msg.err != nil {
		m.fail(fmt.Errorf("copy %s: %w", msg.what, msg.err))
		return
	}
	m.confirmed(msg.what + " was sent to the terminal's clipboard")
}
