package dialog

import (
	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/tui/cell"
	"hindcast/tui/field"
	"hindcast/tui/sheet"
	"hindcast/tui/theme"
)

// Prompt asks for a short text: the name of a new session.
type Prompt struct {
	box
	keys  *keymap.Map
	label string
	field *field.Field
	// meanings tell what can be typed; they show below the field while explains is set.
	meanings []sheet.Paragraph
	explains bool
	// accept takes the text; the prompt stays open. left runs when the person leaves the prompt.
	accept func(text string) tea.Cmd
	left   func() tea.Cmd
}

// NewPrompt makes a prompt that begins with a text. meanings tell what can be typed. accept takes each text that the
// person enters, and the prompt stays open. left runs when the person leaves the prompt.
func NewPrompt(styles *theme.Styles, keys *keymap.Map, heading, label, value string, meanings []sheet.Paragraph, accept func(text string) tea.Cmd, left func() tea.Cmd) *Prompt {
	d := &Prompt{
		box: box{styles: styles, title: heading, text: sheet.New(styles)}, keys: keys, label: label,
		field: field.New(styles, value), meanings: meanings, accept: accept, left: left,
	}
	d.Refuse("")
	return d
}

// Scope returns the scope of the dialog's keys.
func (d *Prompt) Scope() keymap.Scope { return keymap.Input }

// Type hands the prompt a key that is not bound to an action.
func (d *Prompt) Type(k tea.KeyMsg) {
	if a, _ := d.keys.Action(keymap.Browse, k.String()); a == keymap.Help && d.field.IsUntouched() {
		d.explain()
		return
	}
	d.field.Type(k)
	d.Refuse("")
}

// Refuse says why the text will not do; "" takes that away again.
func (d *Prompt) Refuse(reason string) {
	paragraphs := []sheet.Paragraph{{Label: d.label, LabelPick: sheet.Muted, Text: " "}}
	if reason != "" {
		paragraphs = append(paragraphs, sheet.Paragraph{Text: reason, Pick: sheet.Error})
	}
	if d.explains {
		paragraphs = append(paragraphs, d.meanings...)
	}
	d.text.Set(paragraphs)
	d.foot = append(keyHelp(d.keys, keymap.Input, keymap.Accept, "go on"), keyHelp(d.keys, keymap.Input, keymap.Back, "cancel")...)
	if len(d.meanings) > 0 {
		scope := keymap.Input
		if d.field.IsUntouched() {
			scope = keymap.Browse
		}
		d.foot = append(d.foot, keyHelp(d.keys, scope, keymap.Help, "what can be typed")...)
	}
	d.Resize(d.maxW, d.maxH)
}

// explain shows what can be typed, or no longer.
func (d *Prompt) explain() {
	d.explains = !d.explains
	d.Refuse("")
}

// Do carries out an action.
func (d *Prompt) Do(a keymap.Action) (then func() tea.Cmd, closes bool) {
	switch a {
	case keymap.Help:
		d.explain()
	case keymap.Accept:
		return func() tea.Cmd { return d.accept(d.field.Text()) }, false
	case keymap.Back:
		return d.left, true
	}
	return nil, false
}

// AppendRow draws the dialog; the first row is the text with its cursor.
func (d *Prompt) AppendRow(dst []byte, y int) []byte {
	if y != 1 || d.h <= frame {
		return d.box.AppendRow(dst, y)
	}
	r := cell.Begin(dst, &d.styles.Glyphs, d.w)
	d.drawInside(&r, func(dst []byte, w int) []byte {
		in := cell.Begin(dst, &d.styles.Glyphs, w)
		in.Put(d.styles.Muted, d.label)
		in.Fill(d.styles.Text, 2)
		d.field.Draw(&in)
		return in.End(d.styles.Text)
	})
	return r.End(d.styles.Text)
}
