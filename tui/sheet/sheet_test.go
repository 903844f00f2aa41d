package sheet

import (
	"fmt"
	"strings"
	"testing"

	"github.com/muesli/termenv"

	"hindcast/keymap"
	"hindcast/tui/screentest"
	"hindcast/tui/theme"
)

var colourless = screentest.Colourless()

func TestSheet_wrapsBesideTheLabels(t *testing.T) {
	paragraphs := []Paragraph{
		{Text: "A heading", Wide: true},
		{Label: "call", Text: "agent(None) goes on from here"},
		{Label: "a", Text: "two\nlines"},
	}
	for _, c := range []struct {
		name string
		s    *Sheet
		want string
	}{
		{"plain", New(colourless), "A heading\ncall  agent(None)\n      goes on from\n      here\na     two\n      lines\n"},
		{"page", NewPage(colourless), " A heading\n call  agent(None\n       ) goes on\n       from here\n a     two\n       lines\n"},
		{"list", NewList(colourless), "A heading\ncall  agent(None)…\na     two↵lines\n\n\n\n"},
	} {
		c.s.Resize(18, 6)
		c.s.Set(paragraphs)
		if got := screentest.Draw(c.s, 6); got != c.want {
			t.Errorf("%s:\n%swant:\n%s", c.name, got, c.want)
		}
	}
}

// A call is not broken inside a word or a quotation: its rows, without the backslashes at their ends, are the call.
func TestSheet_breaksNoCall(t *testing.T) {
	for _, call := range []string{
		"claude --resume e6ca128b-87f8-49e4-9842-52eca349264e",
		"cd '/home/me/a project with spaces' && codex resume 019d22a1-b2c3-4d5e-8f60-718293a4b5c6",
		`agent([{"interruptResponse": {"interruptId": "a b", "response": 1}}])`,
	} {
		for w := 62; w < 100; w++ {
			s := New(colourless)
			s.Resize(w, 20)
			s.Set([]Paragraph{{Label: "then", Text: call, Call: true}})
			rows := strings.Split(strings.TrimRight(screentest.Draw(s, 20), "\n"), "\n")
			text := strings.TrimPrefix(rows[0], "then")
			for _, row := range rows[1:] {
				text = strings.TrimSuffix(text, ` \`) + " " + strings.TrimSpace(row)
			}
			if got := strings.TrimSpace(text); got != call {
				t.Errorf("%d cells: %q, want %q", w, got, call)
			}
		}
	}
	s := New(colourless)
	s.Resize(30, 4)
	s.Set([]Paragraph{{Label: "then", Text: "claude --resume e6ca128b-87f8-49e4-9842-52eca349264e", Call: true}})
	if got, want := screentest.Draw(s, 4), "then\nclaude --resume \\\ne6ca128b-87f8-49e4-9842-52eca\\\n349264e\n"; got != want {
		t.Errorf("it is\n%swant\n%s", got, want)
	}
	s.Resize(56, 4)
	s.Set([]Paragraph{{Label: "then", Text: "claude --resume e6ca128b-87f8-49e4-9842-52eca349264e", Call: true}})
	if got, want := screentest.Draw(s, 2), "then\nclaude --resume e6ca128b-87f8-49e4-9842-52eca349264e\n"; got != want {
		t.Errorf("it is\n%swant\n%s", got, want)
	}
}

// A label goes on below itself, so that its words are read at every width of a tab.
func TestSheet_wrapsALabel(t *testing.T) {
	labels := []string{"tokens from a cache, of the session", "premium requests, of the session", "id"}
	for _, w := range []int{42, 58, 98} { // a tab on a screen of 100, 60 and 200 columns
		s := NewPage(colourless)
		s.Resize(w, 20)
		s.Set([]Paragraph{{Label: labels[0], Text: "60"}, {Label: labels[1], Text: strings.Repeat("word ", 40)}, {Label: labels[2], Text: "x"}})
		var words []string
		for row := range strings.Lines(screentest.Draw(s, 20)) {
			words = append(words, strings.Fields(row[:min(len(row), s.labels+2)])...)
		}
		if got, want := strings.Join(words, " "), strings.Join(labels, " "); got != want {
			t.Errorf("%d cells: the labels read %q, want %q", w, got, want)
		}
	}
	s := New(colourless)
	s.Resize(18, 4)
	s.Set([]Paragraph{{Label: "tokens read, of the session", Text: "7"}})
	if got, want := screentest.Draw(s, 4), "tokens     7\nread, of\nthe\nsession\n"; got != want {
		t.Errorf("it is\n%swant\n%s", got, want)
	}
}

func TestSheet_rowsAreExactAndClean(t *testing.T) {
	const hostile = "x\x1b[2J\u202e\u009b\x00 wide 你好 and\ttabs\r\n and lines"
	for _, s := range []*Sheet{New(colourless), NewPage(colourless), NewList(colourless)} {
		for w := range 60 {
			s.Resize(w, 9)
			s.Set([]Paragraph{{Label: hostile, Text: hostile}, {Text: hostile, Wide: true}, {Label: "b", Text: strings.Repeat(hostile, 9)}})
			screentest.Exact(t, s, w, 11)
		}
	}
}

func TestSheet_boundsAParagraph(t *testing.T) {
	s := New(colourless)
	s.Resize(80, 10)
	s.Set([]Paragraph{{Text: strings.Repeat("x ", 1<<20)}})
	if s.Len() > longest/40+2 {
		t.Errorf("two megabytes take %d rows", s.Len())
	}
	s.Do(keymap.Bottom)
	if got := screentest.Draw(s, 10); !strings.Contains(got, "(cut here)") {
		t.Errorf("nothing says that the text was cut:\n%s", got)
	}
}

func TestSheet_boundsALabel(t *testing.T) {
	s := New(colourless)
	s.Set([]Paragraph{{Label: strings.Repeat("é", 1<<20), Text: "text"}})
	s.Resize(20, 9)
	if got, rest := screentest.Draw(s, 9), strings.Repeat("éééééééééé\n", mostLabelRows-2); got != "éééééééééé  text\n"+rest+"ééééééééé…\n"+strings.Repeat("\n", 9-mostLabelRows) {
		t.Errorf("the rows are\n%s", got)
	}
	if got := len(s.paragraphs[0].Label); got > longestLabel {
		t.Errorf("the label is kept with %d bytes", got)
	}
}

func TestSheet_scrollsOrMovesItsCursor(t *testing.T) {
	var paragraphs []Paragraph
	for i := range 20 {
		paragraphs = append(paragraphs, Paragraph{Text: fmt.Sprint("row ", i)})
	}
	text, list := New(colourless), NewList(colourless)
	for _, s := range []*Sheet{text, list} {
		s.Resize(20, 5)
		s.Set(paragraphs)
	}
	for _, c := range []struct {
		do           keymap.Action
		first        int // the first row of the text that shows
		cursorOfList int
	}{
		{keymap.MoveDown, 1, 1}, {keymap.PageDown, 5, 5}, {keymap.HalfDown, 7, 7}, {keymap.MoveUp, 6, 6},
		{keymap.Bottom, 15, 19}, {keymap.MoveDown, 15, 19}, {keymap.PageUp, 11, 15}, {keymap.HalfUp, 9, 13}, {keymap.Top, 0, 0},
	} {
		if !text.Do(c.do) || !list.Do(c.do) {
			t.Errorf("%s does not move", c.do)
		}
		if want := fmt.Sprint("row ", c.first, "\n"); !strings.HasPrefix(screentest.Draw(text, 1), want) {
			t.Errorf("after %s the text begins with %q, not %q", c.do, screentest.Draw(text, 1), want)
		}
		if list.Cursor() != c.cursorOfList {
			t.Errorf("after %s the cursor is at %d, not %d", c.do, list.Cursor(), c.cursorOfList)
		}
	}
	if text.Do(keymap.Restore) || list.Do(keymap.Restore) {
		t.Error("an action that does not move counts as one that does")
	}
	if got := text.Status(); got != "1-5 of 20" {
		t.Errorf("the status is %q", got)
	}
	if text.Click(2) || !list.Click(2) || list.Cursor() != 2 || list.Click(7) {
		t.Errorf("a click moves a text, or not the cursor of a list (at %d)", list.Cursor())
	}
	text.Wheel(3)
	list.Wheel(3)
	if !strings.HasPrefix(screentest.Draw(text, 1), "row 3\n") || list.Cursor() != 5 {
		t.Errorf("the wheel leads to %q and %d", screentest.Draw(text, 1), list.Cursor())
	}
}

// A link leads from each row of its text, takes no cells, and no byte of its path ends it.
func TestSheet_links(t *testing.T) {
	path := "/home/me/a\x1b\\b\u009c/" + strings.Repeat("deep/", 5)
	draw := func(links bool) string {
		s := New(theme.New(theme.Choice{Palette: theme.None, Profile: termenv.Ascii, Glyphs: theme.ASCII, Links: links}))
		s.Set([]Paragraph{{Label: "store", Text: path, Link: path}, {Label: "server", Text: "s3://bucket", Link: "s3://bucket"}})
		s.Resize(30, 5)
		var rows []byte
		for y := range s.Len() {
			rows = append(s.AppendRow(rows, y), '\n')
		}
		return string(rows)
	}
	const begin, end = "\x1b]8;;file:///home/me/a%1B%5Cb%C2%9C/deep/deep/deep/deep/deep/\x1b\\", "\x1b]8;;\x1b\\"
	linked, plain := draw(true), draw(false)
	if got := strings.ReplaceAll(strings.ReplaceAll(linked, begin, ""), end, ""); got != plain || strings.Contains(plain, "\x1b") {
		t.Errorf("%q is not %q with links", linked, plain)
	}
	if rows := strings.Count(plain, "\n") - 1; rows < 2 || strings.Count(linked, begin) != rows || strings.Count(linked, end) != rows {
		t.Errorf("%d rows: %q", rows, linked)
	}
}
