package tui

import (
	"errors"
	"strings"

	"hindcast/keymap"
	"hindcast/query"
	"hindcast/tui/cell"
)

// searchRows are the rows of the field: the text with the scope, and what can be typed.
const searchRows = 2

// searchBox returns the box of the search.
func (m *Model) searchBox() box {
	b := box{rect: m.layout.list, edge: m.styles.Focus, pane: searchPane{blank{m: m}}, title: m.titleOf("Search"), foot: m.search.results.Status()}
	if m.search.typed == "" {
		b.foot = m.list.Status()
		return b
	}
	if b.from, b.to = m.search.results.Thumb(); b.to > 0 {
		b.from, b.to = b.from+searchRows, b.to+searchRows
	}
	return b
}

// searchPane draws the field, and below it what was found: the list as long as nothing is typed.
type searchPane struct{ blank }

func (p searchPane) AppendRow(dst []byte, y int) []byte {
	m, w := p.m, p.m.layout.list.insideBorder().w
	switch {
	case y == 0:
		return m.appendSearchField(dst, w)
	case y == 1:
		return m.appendSearchHint(dst, w)
	case m.search.typed == "" && m.list.Len() > 0:
		return m.list.AppendRow(dst, y-searchRows)
	}
	return m.search.results.AppendRow(dst, y-searchRows)
}

// appendSearchField draws the typed text, and at the right the scope and how it is read.
func (m *Model) appendSearchField(dst []byte, w int) []byte {
	s, g := m.search, &m.styles.Glyphs
	chips := []string{s.scopes[s.scope].name}
	if s.regexp {
		chips = append(chips, "regexp")
	}
	width := 1
	for _, chip := range chips {
		width += min(cell.Width(chip), w/3) + 3
	}
	r := cell.Begin(dst, g, w-width)
	r.Fill(m.styles.Text, 1)
	r.Put(m.styles.Key, g.Into+" ")
	if s.typing {
		s.Draw(&r)
	} else {
		r.Put(m.styles.Text, s.Text())
	}
	r = cell.Begin(r.End(m.styles.Text), g, width)
	for _, chip := range chips {
		r.Fill(m.styles.Text, 1)
		r.Put(m.styles.Badge, "[")
		r.Column(m.styles.Badge, chip, min(cell.Width(chip), w/3))
		r.Put(m.styles.Badge, "]")
	}
	return r.End(m.styles.Text)
}

// appendSearchHint draws the words that narrow the search as they are understood, or else those that there are.
func (m *Model) appendSearchHint(dst []byte, w int) []byte {
	s, st := m.search, m.styles
	r := cell.Begin(dst, &st.Glyphs, w)
	r.Fill(st.Text, 3)
	var mistake *query.WordError
	switch {
	case errors.As(s.wrong, &mistake):
		r.Put(st.Warn, mistake.Name+mistake.Value+": "+mistake.Err.Error())
	case len(s.words.Spans) == 0:
		r.Put(st.Muted, strings.Join(query.WordNames(), " "))
		if label := keymap.Label(m.keys.Keys(keymap.Browse, keymap.Help)); label != "" && s.typed == "" {
			r.Fill(st.Text, apart)
			r.Put(st.Key, label)
			r.Put(st.KeyHelp, " what they mean")
		}
	}
	for _, word := range s.words.Spans {
		if s.wrong == nil {
			r.Put(st.Badge, "["+strings.TrimSpace(strings.Replace(word.Name, ":", " ", 1)+word.Value)+"]")
			r.Fill(st.Text, 1)
		}
	}
	return r.End(st.Text)
}
