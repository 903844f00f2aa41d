package sheet

import "hindcast/tui/theme"

// Lines collects labelled texts under headings: the content of a [Tab].
type Lines struct{ Paragraphs []Paragraph }

// Add adds a text and its label.
func (l *Lines) Add(label, text string, pick Pick) {
	l.Paragraphs = append(l.Paragraphs, Paragraph{Label: label, LabelPick: Muted, Text: text, Pick: pick})
}

// AddPath adds a text that leads to a path or an address.
func (l *Lines) AddPath(label, text, link string) {
	l.Paragraphs = append(l.Paragraphs, Paragraph{Label: label, LabelPick: Muted, Text: text, Link: link})
}

// AddCall adds a call that a person copies.
func (l *Lines) AddCall(label, text string) {
	l.Paragraphs = append(l.Paragraphs, Paragraph{Label: label, LabelPick: Muted, Text: text, Pick: Strong, Call: true})
}

// AddHeading adds a heading, with an empty row before it.
func (l *Lines) AddHeading(text string) {
	if len(l.Paragraphs) > 0 {
		l.Paragraphs = append(l.Paragraphs, Paragraph{})
	}
	l.Paragraphs = append(l.Paragraphs, Paragraph{Text: text, Pick: Title, Wide: true})
}

func (l *Lines) paragraphs() []Paragraph { return l.Paragraphs }

// Content is a pointer to a struct that embeds [Lines].
type Content interface {
	comparable
	paragraphs() []Paragraph
}

// Tab is a sheet to read, of one content at a time. Make it with NewTab.
type Tab[C Content] struct {
	*Sheet
	title string
}

// NewTab makes an empty tab with a title.
func NewTab[C Content](styles *theme.Styles, title string) *Tab[C] {
	return &Tab[C]{NewPage(styles), title}
}

// Title returns the name of the tab.
func (t *Tab[C]) Title() string { return t.title }

// Set shows another content; nil shows nothing.
func (t *Tab[C]) Set(c C) {
	var none C
	if c == none {
		t.Sheet.Set(nil)
		return
	}
	t.Sheet.Set(c.paragraphs())
}

// Click does nothing: there is nothing to choose.
func (t *Tab[C]) Click(_, _ int) {}
