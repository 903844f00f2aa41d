// Package report writes a session as one page of HTML that reads from top to bottom in any browser: a card, the tree
// with its abandoned branches and why they were left, and the whole conversation, each branch where it parted.
//
// The page stands alone. It asks for nothing: its policy forbids every request and every script and style but its own
// two, by their hashes; a picture is shown out of the page itself. All that comes from a session is text, and its
// markdown becomes elements only after the text is escaped. Without scripts the page is whole.
//
//	page.go     the card, the tree, the sections of snapshots and branches
//	pair.go     two lines beside each other
//	talk.go     the messages that snapshots add, decoded once
//	parts.go    the parts of a message: texts, calls, pictures
//	prose.go    markdown and code as HTML
//	state.go    the changes of a state beside its messages
//	secrets.go  what is hidden
//	rows.go     the session itself, for Hindcast to open the page as a store
//	style.css   light and dark, wide and narrow, on paper
//	keys.js     keys and the search field
//
// Each message is read once and stands in the page once, at the snapshot that adds it. No state is made.
package report

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"hindcast/model"
	"hindcast/model/printable"
	"hindcast/query"
	"hindcast/redact"
	"hindcast/store"
)

var (
	//go:embed style.css
	style string
	//go:embed keys.js
	keys string
)

// policy is the content security policy of the page.
var policy = sync.OnceValue(func() string {
	return fmt.Sprintf("default-src 'none'; img-src data:; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'", policyHash(style), policyHash(keys))
})

func policyHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// Session is the subject of a report.
type Session struct {
	// Store has the states, and Timeline the headers and labels of the session ID.
	Store    store.Store
	Timeline *model.Timeline
	ID       string
	// Title is the heading of the page, "" for the ID.
	Title string
	// Name is the heading of this line on a page on two lines.
	Name string
	// Facts returns the lines of the card from the stats of the visits; it may be nil.
	Facts func(stats []query.Stat) []model.Fact
	// Prices are the prices of models, in Currency; nil leaves all prices out.
	Prices   query.Prices
	Currency string
	// Redactor hides secrets; nil hides none.
	Redactor *redact.Redactor
	// Notes returns lines that stand on top of the page, such as on what was left out, once all is redacted. It may
	// be nil.
	Notes func() []string
	// Rows writes the session as a portable file, without its secrets, for the page of a small session to hold; it may
	// be nil.
	Rows func(w io.Writer) error
	// Progress is called often with how far a stage of the page is; it may be nil.
	Progress func(at Stage)
}

// Stage tells how far a page is: of its snapshots, or of its messages while secrets are looked for, Done of All.
type Stage struct {
	// Name is "read", "look for secrets in", "hide secrets in" or "write".
	Name string
	// Unit is the noun that Done and All count, in the singular.
	Unit      string
	Done, All int
}

// Write writes the page. It holds the messages of the session once. A state that cannot be read is told on the page in
// its place; the error is ctx's, that of w, or one of the Redactor.
func Write(ctx context.Context, w io.Writer, s Session) error {
	p := &page{Writer: bufio.NewWriterSize(w, 64<<10), Session: s}
	if err := p.readSession(ctx); err != nil {
		return err
	}
	if err := redactAll(ctx, s.Redactor, p); err != nil {
		return err
	}
	p.writeBegin(cmp.Or(p.Title, p.ID))
	p.writeCard()
	p.writeBar()
	p.writeTree()
	p.putHTML(`</nav><div id="talk">`)
	if err := p.writeTalk(ctx); err != nil {
		return err
	}
	p.writeScript()
	if err := p.writeRows(); err != nil {
		return err
	}
	return p.writeEnd(ctx)
}

// writeScript ends the talk and writes the script.
func (p *page) writeScript() { p.putHTML("</div></main><script>" + keys + "</script>") }

// writeEnd ends the page. It returns the error of the context, and the first one of the writer.
func (p *page) writeEnd(ctx context.Context) error {
	p.putHTML("</body></html>\n")
	return errors.Join(ctx.Err(), p.Flush())
}

// tellStage tells how far a stage is.
func (p *page) tellStage(name, unit string, done, all int) {
	if p.Progress != nil {
		p.Progress(Stage{name, unit, done, all})
	}
}

// page is a page while it is written. The writer keeps its first error.
type page struct {
	*bufio.Writer
	Session
	// prefix begins the anchors of a page that shares its file with another one.
	prefix string
	// additions has one element a visit, and messages has the messages that these add.
	additions []query.Addition
	messages  query.Messages
	// titles are the titles of the visits, without secrets, and opens has the visits that open a turn.
	titles []string
	opens  map[model.Node]bool
	// folds tell which calls stand in the rows of their results.
	folds *model.Folds
	// told are the messages of states without a list that were shown, by their hashes.
	told map[[sha256.Size]byte]bool
	// parsed counts the bytes of states that were parsed beside messages.
	parsed int
	// written counts the visits that were written.
	written int
}

// readSession reads what each visit adds.
func (p *page) readSession(ctx context.Context) error {
	p.additions = make([]query.Addition, p.Timeline.Len())
	p.titles = make([]string, p.Timeline.Len())
	p.told, p.opens = map[[sha256.Size]byte]bool{}, map[model.Node]bool{}
	turns := model.FindTurns(p.Timeline)
	p.folds = model.NewFolds(p.Timeline, turns)
	for i := 0; turns.HasPrompts() && i < turns.Len(); i++ {
		p.opens[turns.Turn(i).First] = true
	}
	visits := 0
	for a, err := range query.Open(p.Store, p.Timeline).Additions(ctx, &p.messages) {
		if err != nil {
			return err
		}
		p.additions[a.Visit] = a
		h := p.Timeline.Header(a.Visit)
		p.titles[a.Visit] = h.Title
		visits++
		p.tellStage("read", "snapshot", visits, p.Timeline.Len())
	}
	return ctx.Err()
}

// putHTML writes HTML, which is the page's own.
func (p *page) putHTML(html string) { p.WriteString(html) }

// escape escapes a text for an element. In attributes, which are in double quotes, it escapes these too.
var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// writeText writes a text on one line, of a session or not.
func (p *page) writeText(text string) { escape.WriteString(p, printable.String(text)) }

// writeLines writes a text with its lines.
func (p *page) writeLines(text string) { escape.WriteString(p, printable.Text(text)) }

// writeElement writes a text of one line in an element of a class.
func (p *page) writeElement(name, class, text string) {
	p.putHTML("<" + name)
	if class != "" {
		p.putHTML(` class="` + class + `"`)
	}
	p.putHTML(">")
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

// formatMinute returns a time as the tree shows it, where there is less room.
func formatMinute(t time.Time) string {
	if t.IsZero() {
		return "unknown"
	}
	return t.UTC().Format("2006-01-02 15:04")
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
