package tui

import (
	"context"
	"errors"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/model"
	"hindcast/store"
	"hindcast/tui/picker"
	"hindcast/tui/sheet"
)

// A wide list has the end of the session under the cursor beside it. It is read once the cursor rests.

// preview holds the preview of the list.
type preview struct {
	pane *sheet.Tab[*previewContent]
	// wanted is the row whose preview shows, or is read.
	wanted previewKey
	// shown is its content; nil while it is read.
	shown *previewContent
	// cached are the last previews, the oldest first.
	cached []*previewContent
}

// previewKey tells rows apart, and what a row was before it changed.
type previewKey struct {
	picker.Name
	of picker.Stamp
}

// previewContent holds the end of a session for a preview.
type previewContent struct {
	sheet.Lines
	key previewKey
	// prompt and answer are the last words of the person and of the model, files the last ones that were written, and
	// call goes on from the head.
	prompt, answer string
	files          []string
	call           string
	err            error
}

const (
	// restsAfter is how long the cursor stands still before a preview is read.
	restsAfter = 120 * time.Millisecond
	// mostPreviews is how many previews are kept.
	mostPreviews = 16
	// longestWords bounds the words of each speaker in bytes, and mostFiles the files.
	longestWords, mostFiles = 800, 8
	// mostPromptRows and mostAnswerRows bound the rows of the words.
	mostPromptRows, mostAnswerRows = 6, 10
)

// followRow has the preview follow the cursor of the list.
func (m *Model) followRow() tea.Cmd {
	p := &m.preview
	key, ok := m.rowKey()
	if m.place != atList || m.layout.preview.w == 0 || !ok {
		if p.wanted != (previewKey{}) {
			m.stop(previewing)
			p.wanted, p.shown = previewKey{}, nil
			p.pane.Set(nil)
		}
		return nil
	}
	if key == p.wanted {
		return nil
	}
	same := key.Name == p.wanted.Name
	p.wanted = key
	for _, content := range p.cached {
		if content.key == key {
			m.stop(previewing)
			m.putPreview(content)
			return nil
		}
	}
	if !same {
		p.shown = nil
		p.pane.Set(nil)
	}
	return m.startPreview()
}

// startPreview reads the preview of the row under the cursor, once the cursor rests.
func (m *Model) startPreview() tea.Cmd {
	row, _ := m.list.SelectedRow()
	o, after := m.o, m.o.After
	return m.start(previewing, "", func(ctx context.Context, _ *progress) fact {
		select {
		case <-after(restsAfter):
		case <-ctx.Done():
			return nil
		}
		content := o.readPreview(ctx, row)
		return func() tea.Cmd {
			m.keepPreview(content)
			m.putPreview(content)
			return nil
		}
	})
}

// rowKey returns the key of the row under the cursor; false if no row shows.
func (m *Model) rowKey() (previewKey, bool) {
	row, ok := m.list.SelectedRow()
	return keyOf(&row), ok
}

func keyOf(row *picker.Row) previewKey {
	return previewKey{picker.NameOf(row), picker.StampOf([]picker.Row{*row})}
}

// keepPreview keeps a preview in place of the oldest one.
func (m *Model) keepPreview(content *previewContent) {
	p := &m.preview
	if p.cached = append(p.cached, content); len(p.cached) > mostPreviews {
		p.cached = p.cached[1:]
	}
}

// readPreview reads what a session ends with.
func (o *Options) readPreview(ctx context.Context, row picker.Row) *previewContent {
	c := &previewContent{key: keyOf(&row), err: row.Err}
	if c.err != nil {
		return c
	}
	opened, err := row.Store.Open(ctx)
	if err == nil {
		err = c.readHead(ctx, &source{opened, opened.Features(), newStates(opened, stateBudget), o.Now, o.Zone}, &row)
	}
	c.err = err
	return c
}

// readHead reads the head of a session.
func (c *previewContent) readHead(ctx context.Context, from *source, row *picker.Row) error {
	head, err := findHead(ctx, from.store, row)
	if err != nil {
		return err
	}
	conv, err := from.conversationOf(ctx, head)
	if err != nil {
		return err
	}
	c.prompt, c.answer = conv.LastPrompt(longestWords), conv.LastAnswer(longestWords)
	c.files = conv.WrittenFiles(mostFiles)
	ways, err := from.prepareResume(ctx, subject{subjectKey: subjectKey{ref: head, head: true}, header: model.Header{Head: true}})
	if err != nil {
		return err
	}
	c.call = firstText(ways.Calls())
	return nil
}

// errNoHead: a session has no snapshot yet.
var errNoHead = errors.New("it has no snapshot yet")

// findHead returns the head of a session of the list.
func findHead(ctx context.Context, s store.Store, row *picker.Row) (head model.Ref, err error) {
	if row.Head.ID != "" {
		return model.Ref{Session: row.ID, ID: row.Head.ID}, nil
	}
	if tail := s.Features().Tail; tail != nil {
		headers, _, err := tail(ctx, row.ID, tailSize)
		for i := range headers {
			if headers[i].Head {
				return headers[i].Ref(), err
			}
		}
	}
	for h, err := range s.Headers(ctx, row.ID) {
		if err != nil {
			return head, err
		}
		if h.Head {
			head = h.Ref()
		}
	}
	if head.ID == "" {
		return head, errNoHead
	}
	return head, nil
}

// putPreview shows a preview, with the sums of its row as far as they are known.
func (m *Model) putPreview(c *previewContent) {
	m.preview.shown, m.dirty = c, true
	row, _ := m.list.SelectedRow()
	c.Lines = sheet.Lines{}
	c.AddHeading(titleOf(&row))
	if row.Project != "" {
		c.Add("project", m.fromHome(row.Project), nil)
	}
	if row.Err == nil {
		c.AddPath("store", m.fromHome(row.Store.At), row.Store.At)
		c.Add("session", row.ID, nil)
	}
	if !row.UpdatedAt.IsZero() {
		c.Add("changed", row.UpdatedAt.In(m.o.Zone).Format("2006-01-02 15:04"), nil)
	}
	sums, danger := m.list.SumText(&row)
	if sums != "" {
		c.Add("sums", sums, nil)
	}
	if danger != "" {
		c.Add("danger", danger, sheet.Error)
	}
	if c.call != "" {
		c.AddCall("resume", c.call)
	}
	if c.err != nil {
		c.Add("not read", c.err.Error(), sheet.Error)
	}
	c.addWords("prompt", c.prompt, mostPromptRows)
	c.addWords("answer", c.answer, mostAnswerRows)
	if len(c.files) > 0 {
		c.Add("", "", nil)
	}
	for i, path := range c.files {
		label := "wrote"
		if i > 0 {
			label = ""
		}
		c.Add(label, m.fromHome(path), nil)
	}
	m.preview.pane.Set(c)
}

// addWords adds the words of a speaker in up to so many rows, below an empty one.
func (c *previewContent) addWords(label, text string, rows int) {
	if text != "" {
		c.Add("", "", nil)
		c.Paragraphs = append(c.Paragraphs, sheet.Paragraph{Label: label, LabelPick: sheet.Muted, Text: text, Most: rows})
	}
}

// titleOf returns the heading of a preview.
func titleOf(row *picker.Row) string {
	switch {
	case row.Err != nil:
		return row.Store.At
	case row.Title == "":
		return row.ID
	}
	return row.Title
}

// copyRowCall copies the call that goes on from the session under the cursor of the list.
func (m *Model) copyRowCall() tea.Cmd {
	row, ok := m.list.SelectedRow()
	if !ok || m.place != atList {
		m.say("no session is selected")
		return nil
	}
	const what = "the resume call"
	ctx, o, shown := m.ctx, m.o, m.preview.shown
	if shown == nil || shown.key != keyOf(&row) {
		shown = nil
	}
	return makeCommand(func() fact {
		if shown == nil {
			shown = o.readPreview(ctx, row)
		}
		switch {
		case shown.call != "":
			return m.tellCopy(what, shown.call, o.copyOut(ctx, shown.call))
		case shown.err != nil:
			return m.tellCopy(what, "", copyResult{err: shown.err})
		}
		return m.tellCopy(what, "", copyResult{err: errors.New("the store knows none for this session")})
	})
}
