// Package report writes a session as one page of HTML that any browser opens: the tree with its abandoned
// branches, and for each snapshot its header, the changes since the one before, and the new messages.
//
// The page stands alone. It asks for nothing: its policy forbids every request and every script and style but
// its own two, by their hashes. All that comes from a session is text; invisible characters are shown as the
// terminal shows them. Without scripts the page is whole: a row of the tree is a link to its snapshot, and
// only the linked snapshot shows.
//
//	page.go      the page around, the tree, the header of a snapshot
//	outline.go   the messages that a state shares with the state before it
//	changes.go   the changes between two states
//	messages.go  the messages
//	style.css    light and dark, wide and narrow, on paper
//	keys.js      j and k
//
// The page holds the changes and messages of a state, and the whole state only for the first of a root. Each
// value is cut where it is long, so that a page of 1,000 snapshots has a few megabytes.
package report

import (
	"bufio"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"io"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/printable"
	"hindcast/store"
)

var (
	//go:embed style.css
	style string
	//go:embed keys.js
	keys string
)

// policy is the content security policy of the page.
var policy = fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'", hash(style), hash(keys))

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// Session is the subject of a report.
type Session struct {
	// Store has the states, and Timeline the headers and labels of the session ID.
	Store    store.Store
	Timeline *model.Timeline
	ID       string
	// States returns a reader of the states of the headers of Timeline, each of them asked for
	// once; nil to read each by itself.
	States func([]model.Header) store.StateReader
	// Notes are lines that stand on top of the page, such as on what was left out.
	Notes []string
}

// Write writes the page. It holds two states at a time, and parses of each what is new in it
// where its messages begin as those of the state before. A state that cannot be read is told
// on the page in its place; the error is ctx's, or that of w.
func Write(ctx context.Context, w io.Writer, s Session) error {
	p := &page{Writer: bufio.NewWriterSize(w, 64<<10), Session: s}
	headers := make([]model.Header, s.Timeline.Len())
	for n := range headers {
		headers[n] = s.Timeline.Header(model.Node(n))
	}
	read := func(ctx context.Context, i int) ([]byte, error) { return s.Store.State(ctx, headers[i].Ref()) }
	if s.States != nil {
		read = s.States(headers)
	}
	p.writeBegin()
	p.writeTree()
	p.putHTML(`</nav><div id="shown">`)
	first := p.firstShown()
	for n := range model.Node(s.Timeline.Len()) {
		if err := ctx.Err(); err != nil {
			return err
		}
		data, err := read(ctx, int(n))
		p.writeSnapshot(ctx, p.newState(ctx, n, data, err), n == first)
	}
	p.putHTML("</div></main><script>")
	p.putHTML(keys)
	p.putHTML("</script></body></html>\n")
	return errors.Join(ctx.Err(), p.Flush())
}

// page is a page while it is written. The writer keeps its first error.
type page struct {
	*bufio.Writer
	Session
	// last is the state that was read last: mostly the one that the next is compared with.
	last *state
}

// state is a state that was read. Its view and its outline are nil until it is compared.
type state struct {
	node    model.Node
	data    []byte
	view    *view
	outline *outline
	gaps    model.Gaps
	err     error
}

// putHTML writes HTML, which is the page's own.
func (p *page) putHTML(html string) { p.WriteString(html) }

// writeText writes a text on one line, of a session or not.
func (p *page) writeText(text string) { p.WriteString(html.EscapeString(printable.String(text))) }

// writeLines writes a text with its lines.
func (p *page) writeLines(text string) { p.WriteString(html.EscapeString(printable.Text(text))) }

// writeElement writes a text of one line in an element of a class.
func (p *page) writeElement(name, class, text string) {
	p.putHTML("<" + name + ` class="` + class + `">`)
	p.writeText(text)
	p.putHTML("</" + name + ">")
}

// formatMoment returns a time as the page shows it, the same for each reader.
func formatMoment(t time.Time) string {
	if t.IsZero() {
		return "unknown"
	}
	return t.UTC().Format(time.DateTime) + " UTC"
}

// newState returns the state of a snapshot as it was read.
func (p *page) newState(ctx context.Context, n model.Node, data []byte, err error) *state {
	s := &state{node: n, data: data, err: err}
	if err == nil {
		s.gaps, s.err = store.Gaps(ctx, p.Store, p.Timeline.Header(n).Ref())
	}
	return s
}

// cutText returns the beginning of a text of most bytes, never a part of a character, and whether
// that is all.
func cutText(text string, most int) (string, bool) {
	if len(text) <= most {
		return text, true
	}
	return strings.ToValidUTF8(text[:most], ""), false
}

// formatSize returns a length for people.
func formatSize(n int) string { return string(model.AppendSize(nil, int64(n))) }
