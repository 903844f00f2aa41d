package tui

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-osc52/v2"
	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/model/conversation"
	"hindcast/tui/dialog"
)

// longestCopy bounds what is sent to the clipboard, in bytes of base64: what
// tmux and xterm take. A longer one would be cut or dropped in silence.
const longestCopy = 74_994

// copier is a tab in which something is selected that can be copied.
type copier interface {
	// Value gives the JSON text of the value under the cursor and its JSON
	// Pointer; ok is false where there is none.
	Value() (text []byte, pointer string, ok bool)
}

// resumer is a tab that knows the payload that resumes from what it shows.
type resumer interface{ Payload() []byte }

// askYank asks what to copy.
func (m *Model) askYank() {
	items := []dialog.Item{{Action: keymap.YankID, Text: m.subject().header.ID}}
	value := dialog.Item{Action: keymap.YankValue, Disabled: "no value is selected"}
	path := dialog.Item{Action: keymap.YankPath, Disabled: "no value is selected"}
	if text, pointer, ok := m.selectedValue(); ok {
		value.Disabled, path.Disabled = "", ""
		value.Text = string(conversation.AppendSize(nil, int64(len(text))))
		path.Text = pointer
		if pointer == "" {
			path.Text = "the whole state"
		}
	}
	resume := dialog.Item{Action: keymap.YankResume, Disabled: "open the checkpoint tab: none is known here"}
	if payload := m.payload(); payload != nil {
		resume.Disabled, resume.Text = "", string(conversation.AppendSize(nil, int64(len(payload))))
	}
	m.open(dialog.NewMenu(m.styles, m.keys, "Copy", append(items, value, path, resume)))
}

// selectedValue gives the JSON value that is selected in the tab.
func (m *Model) selectedValue() (text []byte, pointer string, ok bool) {
	t := m.tabs[m.current]
	if c, is := t.pane.(copier); is && t.content != nil {
		return c.Value()
	}
	return nil, "", false
}

// payload gives the resume payload of the snapshot under the cursor, or nil
// where no tab has worked it out.
func (m *Model) payload() []byte {
	for _, t := range m.tabs {
		if r, is := t.pane.(resumer); is && t.content != nil && t.shows == m.wanted.subjectKey {
			return r.Payload()
		}
	}
	return nil
}

// answerMenu carries out an action in the menu of things to copy.
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
		text, _, _ := m.selectedValue()
		return m.copyText("the value", string(text))
	case keymap.YankPath:
		m.close()
		_, pointer, _ := m.selectedValue()
		return m.copyText("the path", pointer)
	case keymap.YankResume:
		m.close()
		return m.copyText("the resume payload", string(m.payload()))
	}
	return nil
}

// copyText sends a text to the terminal's clipboard by OSC 52. It is only ever
// called for a key that says so.
func (m *Model) copyText(what, text string) tea.Cmd {
	out, getenv := m.o.Output, m.o.Getenv
	return run(func() tea.Msg {
		term := getenv("TERM")
		if term == "" || term == "dumb" {
			return copiedMsg{what, fmt.Errorf("this terminal has no clipboard (TERM is %q)", term)}
		}
		seq := osc52.New(text)
		if getenv("TMUX") == "" && strings.HasPrefix(term, "screen") {
			seq = seq.Screen()
		}
		encoded := seq.String()
		if len(encoded) > longestCopy {
			return copiedMsg{what, fmt.Errorf("%s is too long for a terminal's clipboard: %s, of at most %s",
				what, conversation.AppendSize(nil, int64(len(text))), conversation.AppendSize(nil, longestCopy*3/4))}
		}
		// One write, so that it cannot fall into the middle of a frame.
		_, err := out.Write([]byte(encoded))
		return copiedMsg{what, err}
	})
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
