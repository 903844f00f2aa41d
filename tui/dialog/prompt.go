package dialog

import (
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/tui/cell"
	"hindcast/tui/sheet"
	"hindcast/tui/theme"
)

// longestName bounds what can be typed.
const longestName = 256

// Prompt asks for a short text: the name of a new session.
type Prompt struct {
	box
	keys  *keymap.Map
	label string
	input textinput.Model
	done  bool
}

// NewPrompt makes a prompt with a text to begin with.
func NewPrompt(styles *theme.Styles, keys *keymap.Map, heading, label, value string) *Prompt {
	d := &Prompt{box: box{styles: styles, title: heading, text: sheet.New(styles)}, keys: keys, label: label, input: textinput.New()}
	d.input.CharLimit = longestName
	// Pasting through the component would run a program of the desktop; terminals
	// paste by themselves.
	d.input.KeyMap.Paste.SetEnabled(false)
	d.input.Focus()
	d.input.SetValue(value)
	d.Refuse("")
	return d
}

// Scope gives the scope of the dialog's keys.
func (d *Prompt) Scope() keymap.Scope { return keymap.Input }

// Type hands the prompt a key that is not bound to an action.
func (d *Prompt) Type(k tea.KeyMsg) {
	d.input, _ = d.input.Update(k)
	d.Refuse("")
}

// Value gives what was typed so far, Done whether it was accepted.
func (d *Prompt) Value() string { return d.input.Value() }

// Done reports whether the text was accepted.
func (d *Prompt) Done() bool { return d.done }

// Refuse keeps the prompt open and says why the text will not do; "" takes that
// away again.
func (d *Prompt) Refuse(reason string) {
	d.done = false
	paragraphs := []sheet.Paragraph{{Label: d.label, LabelPick: muted, Text: " "}}
	if reason != "" {
		paragraphs = append(paragraphs, sheet.Paragraph{Text: reason, Pick: bad})
	}
	d.text.Set(paragraphs)
	d.foot = append(keyHelp(d.keys, keymap.Input, keymap.Accept, "go on"), keyHelp(d.keys, keymap.Input, keymap.Back, "cancel")...)
	d.Resize(d.maxW, d.maxH)
}

// Do carries out an action; it reports whether it knew it.
func (d *Prompt) Do(a keymap.Action) bool {
	d.done = a == keymap.Accept
	return d.done
}

// AppendRow draws the dialog; the first row is the text with its cursor.
func (d *Prompt) AppendRow(dst []byte, y int) []byte {
	if y != 1 || d.h <= frame {
		return d.box.AppendRow(dst, y)
	}
	r := cell.Begin(dst, &d.styles.Glyphs, d.w)
	d.inside(&r, func(dst []byte, w int) []byte {
		in := cell.Begin(dst, &d.styles.Glyphs, w)
		in.Put(d.styles.Muted, d.label)
		in.Fill(d.styles.Text, 2)
		before, under, after := around(d.input, in.Room())
		in.Put(d.styles.Text, before)
		in.Put(d.styles.Selected.Strong, under)
		in.Put(d.styles.Text, after)
		return in.End(d.styles.Text)
	})
	return r.End(d.styles.Text)
}

// around cuts what was typed at the cursor, and drops as much of its beginning
// as it takes for the cursor to be in sight.
func around(input textinput.Model, room int) (before, under, after string) {
	runes, at := []rune(input.Value()), input.Position()
	from := 0
	for from < at && cell.Width(string(runes[from:at])) >= room {
		from++
	}
	before, under = string(runes[from:at]), " "
	if at < len(runes) {
		under, after = string(runes[at]), string(runes[at+1:])
	}
	return before, under, after
}
