package tui

import (
	"hindcast/model/printable"
	"hindcast/tui/sheet"
	"hindcast/tui/theme"
)

// showUnusable shows why there is nothing to show: a screen of its own, with the
// whole text.
func (m *Model) showUnusable(what string, err error) {
	m.place, m.trouble = nowhere, m.troubleSheet(what, err)
	m.resize(m.layout.w, m.layout.h)
}

// troubleSheet returns a pane that shows an error.
func (m *Model) troubleSheet(what string, err error) *sheet.Sheet {
	s := sheet.New(m.styles)
	s.Set([]sheet.Paragraph{
		{Text: what, Pick: func(t *theme.Tokens) theme.Style { return t.Error }},
		{},
		{Text: printable.Addresses(err.Error())},
	})
	return s
}
