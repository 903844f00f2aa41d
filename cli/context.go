package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/clipperhouse/displaywidth"
	"github.com/spf13/cobra"

	"hindcast/diff"
	"hindcast/model"
	"hindcast/model/printable"
	"hindcast/model/request"
	"hindcast/model/transcript"
	"hindcast/query"
)

// contextCommand is `hindcast context`.
func (a *App) contextCommand() *cobra.Command {
	var body, dropped bool
	cmd := a.readingCommand(oneOrHead, &cobra.Command{
		Use:   "context [STORE...] [SESSION] [SNAPSHOT | A..B]",
		Short: "show what the model was sent at a snapshot, and what it no longer saw",
		Long: `Context shows the request that the answer of a snapshot came from: the system prompt,
the tools and the messages in the order in which they were sent, with the bytes that
each takes. At a snapshot that is no answer it is the request of the next one. Without
SNAPSHOT it is that of the head.

Claude Code keeps its requests. One is "proven" where the digest that Claude Code kept
is that of what is shown: all of it but the metadata and the billing header, which it
neither digests nor keeps. All other requests are "rebuilt" from what the store has, and
a line says what of them is not known.

It is compared with the request before it, or with that of A: + is new in it, and - is
what it no longer has, with --dropped in full. A line says what a cache of the request
before could not be used for; below it is how a part of the system prompt, or a
message, was rewritten.`,
		Example: `  hindcast context projects 7ffd5cb9
  hindcast context projects 7ffd5cb9 '#3..#8' --dropped
  hindcast context projects 7ffd5cb9 head --body | jq .tools`,
	}, func(ctx context.Context, p *printer, of *subject) error {
		c, err := of.compareRequests(ctx)
		if err != nil {
			return err
		}
		switch {
		case body:
			_, err = a.harmlessWriter(p).Write(append(c.later.Body, '\n'))
			return err
		case p.json:
			return p.writeDocument(contextOf(c))
		case dropped:
			p.writeDropped(c)
		default:
			p.writeContext(c)
		}
		return nil
	})
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if body && dropped {
			return usagef("--body and --dropped are two answers: give one of them")
		}
		return nil
	}
	cmd.Flags().BoolVar(&body, "body", false, "print the JSON of the request alone, for trying it elsewhere")
	cmd.Flags().BoolVar(&dropped, "dropped", false, "print the messages that the request before had and this one has not")
	return cmd
}

// comparedRequest is a request, and the one that it is compared with.
type comparedRequest struct {
	header         model.Header
	later, earlier *query.Sent // earlier is nil for none
	comparison     *request.Comparison
}

// compareRequests finds the requests that are meant.
func (o *subject) compareRequests(ctx context.Context) (*comparedRequest, error) {
	spec := o.firstSnapshot()
	from, to, both := strings.Cut(spec, "..")
	if both {
		spec = to
	}
	t, n, err := o.resolveVisit(ctx, spec)
	if err != nil {
		return nil, err
	}
	read := func(n model.Node) (*query.Sent, error) {
		at := query.AroundOf(t, n)
		sent, err := query.RequestAt(ctx, o.store, at)
		if errors.Is(err, query.ErrNoRequest) {
			err = &advisedError{fmt.Errorf("context: %s: %w", at.Name, err), "messages shows what the state has; log lists the snapshots"}
		}
		return sent, err
	}
	c := &comparedRequest{header: t.Header(n)}
	if c.later, err = read(n); err != nil {
		return nil, err
	}
	if !both {
		c.earlier, err = query.RequestBefore(ctx, o.store, query.AroundOf(t, n), c.later)
	} else if n, err = findVisit(t, from); err == nil {
		c.earlier, err = read(n)
	}
	if c.earlier != nil {
		c.comparison = request.Compare(c.earlier.Outline, c.later.Outline)
	}
	return c, err
}

// contextJSON is `context --json`.
type contextJSON struct {
	Name      string            `json:"name"`
	ID        string            `json:"id"`
	SessionID string            `json:"sessionId"`
	Proof     string            `json:"proof"`
	Unknown   []string          `json:"unknown"`
	Model     string            `json:"model,omitempty"`
	Purpose   string            `json:"purpose,omitempty"`
	SentAt    *time.Time        `json:"sentAt,omitempty"`
	Answer    string            `json:"answer,omitempty"`
	Tokens    *requestTokens    `json:"tokens,omitempty"`
	Bytes     requestBytes      `json:"bytes"`
	Tools     int               `json:"tools"`
	Messages  int               `json:"messages"`
	Blocks    []requestBlock    `json:"blocks"`
	Against   *requestsCompared `json:"against,omitempty"`
}

// requestTokens are the tokens that the answer counts.
type requestTokens struct {
	Input      float64 `json:"input"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
	Output     float64 `json:"output"`
}

type requestBytes struct {
	System   int `json:"system"`
	Tools    int `json:"tools"`
	Messages int `json:"messages"`
}

// requestBlock is a block of a request.
type requestBlock struct {
	Kind    string `json:"kind"`
	Message *int   `json:"message,omitempty"`
	Name    string `json:"name,omitempty"`
	Title   string `json:"title"`
	Bytes   int    `json:"bytes"`
	Cached  bool   `json:"cached,omitempty"`
}

// requestsCompared compares a request with an earlier one.
type requestsCompared struct {
	Name     string          `json:"name"`
	ID       string          `json:"id"`
	Messages int             `json:"messages"`
	Common   int             `json:"common"`
	Kept     []int           `json:"kept"`
	Dropped  []int           `json:"dropped"`
	New      []int           `json:"new"`
	Changes  []requestChange `json:"changes"`
	// DroppedBlocks are the blocks of the messages that were dropped.
	DroppedBlocks []requestBlock `json:"droppedBlocks"`
}

type requestChange struct {
	Kind   string `json:"kind"`
	Text   string `json:"text"`
	Breaks bool   `json:"breaks"`
	Patch  string `json:"patch,omitempty"`
}

func contextOf(c *comparedRequest) *contextJSON {
	s := c.later
	doc := &contextJSON{
		Name: c.later.Of.Name, ID: c.later.Of.ID, SessionID: c.later.Of.Session, Proof: s.Proof(), Unknown: append([]string{}, s.Unknown...),
		Model: s.Model, Purpose: s.Purpose, Bytes: requestBytes{s.SystemBytes, s.ToolBytes, s.MessageBytes}, Tools: s.Tools, Messages: s.Messages(),
		Blocks: blocksOf(s.Outline, func(*request.Block) bool { return true }),
	}
	if !s.At.IsZero() {
		doc.SentAt = &s.At
	}
	doc.Answer = s.AnsweredAt.Name
	if u := s.Usage; u.Counted {
		doc.Tokens = &requestTokens{u.Input, u.CacheRead, u.CacheWrite, u.Output}
	}
	if c.earlier == nil {
		return doc
	}
	of := c.comparison
	doc.Against = &requestsCompared{
		Name: c.earlier.Of.Name, ID: c.earlier.Of.ID, Messages: of.Messages, Common: of.Common,
		Kept: append([]int{}, of.Kept...), Dropped: append([]int{}, of.Dropped...), New: append([]int{}, of.New...), Changes: []requestChange{},
		DroppedBlocks: blocksOf(c.earlier.Outline, of.IsDropped),
	}
	for _, change := range of.Changes {
		doc.Against.Changes = append(doc.Against.Changes, requestChange{change.Kind.String(), change.Text, change.Kind.Breaks(), c.patchOf(&change)})
	}
	return doc
}

// blocksOf returns the blocks of a request that are taken.
func blocksOf(o *request.Outline, takes func(*request.Block) bool) []requestBlock {
	list := []requestBlock{}
	for i := range o.Blocks {
		b := &o.Blocks[i]
		if !takes(b) {
			continue
		}
		block := requestBlock{Kind: b.Kind.String(), Name: b.Name, Title: b.Title, Bytes: b.Bytes, Cached: b.Cached}
		if b.Message >= 0 {
			block.Message = &b.Message
		}
		list = append(list, block)
	}
	return list
}

// writeContext writes a request for people, a line for each block.
func (p *printer) writeContext(c *comparedRequest) {
	p.writeRequestHead(c)
	largest := 1
	for i := range c.later.Blocks {
		largest = max(largest, c.later.Blocks[i].Bytes)
	}
	fmt.Fprintln(p)
	for i := range c.later.Blocks {
		b := &c.later.Blocks[i]
		sign, sgr := " ", ""
		if c.comparison != nil && c.comparison.IsNew(b) {
			sign, sgr = "+", green
		}
		p.writeBlock(sign, sgr, b, largest)
	}
	if c.comparison == nil {
		return
	}
	for i := range c.earlier.Blocks {
		if b := &c.earlier.Blocks[i]; c.comparison.IsDropped(b) {
			p.writeBlock("-", red, b, max(largest, b.Bytes))
		}
	}
}

// writeRequestHead writes what a request is, and what it has of the one before it.
func (p *printer) writeRequestHead(c *comparedRequest) {
	fmt.Fprintln(p, p.paint.in(bold, p.fitLine(fmt.Sprintf("%s %s  %s", printable.String(c.later.Of.Session), c.later.Of.Name, printable.String(c.header.Title)), 0)))
	fmt.Fprintln(p, p.fitLine(p.glyphs.Sentence(c.later.Summary()), 0))
	if len(c.later.Unknown) > 0 {
		p.writeSentence("", "not known: "+strings.Join(c.later.Unknown, ", "))
	}
	if c.earlier == nil {
		return
	}
	p.writeSentence("", fmt.Sprintf("against %s: %s", c.earlier.Of.Name, c.comparison.Counts()))
	for _, change := range c.comparison.Changes {
		if change.Kind != request.Dropped {
			p.writeSentence("  ", change.Text)
			p.writePatch(c.patchOf(&change))
		}
	}
}

// patchOf returns how a part of the system prompt or a message changed, in the lines of a diff; "" for other changes, and
// where one of the requests lacks it.
func (c *comparedRequest) patchOf(of *request.Change) string {
	if of.Old < 0 || of.New < 0 {
		return ""
	}
	return diff.TextLines(of.Texts(c.earlier.Outline, c.later.Outline))
}

// writePatch writes the lines of a diff behind an indent.
func (p *printer) writePatch(patch string) {
	for line := range strings.Lines(patch) {
		sgr := map[byte]string{'+': green, '-': red, '@': faint}[line[0]]
		fmt.Fprintln(p, p.paint.in(sgr, p.fitLine("    "+printable.String(strings.TrimSuffix(line, "\n")), 0)))
	}
}

// barWidth is how wide the bar of a block is, and kindWidth the words before it.
const barWidth, kindWidth = 10, 8

// writeBlock writes a line about a block.
func (p *printer) writeBlock(sign, sgr string, b *request.Block, largest int) {
	bar := p.glyphs.DrawBlocks(float64(b.Bytes)/float64(largest), barWidth)
	bar += strings.Repeat(" ", barWidth-displaywidth.String(bar))
	where := "     "
	if b.Message >= 0 {
		where = fmt.Sprintf("%5s", fmt.Sprintf("[%d]", b.Message))
	}
	head := fmt.Sprintf("%s %s %-*s %9s  %s  ", sign, where, kindWidth, b.Kind, model.AppendSize(nil, int64(b.Bytes)), bar)
	title := printable.String(strings.TrimSpace(b.Name + "  " + b.Title))
	if b.Kind == request.Call {
		title = printable.String(b.Title)
	}
	fmt.Fprintln(p, p.paint.in(sgr, strings.TrimRight(head+p.fitLine(title, displaywidth.String(head)), " ")))
}

// writeDropped writes the messages that the later request no longer has.
func (p *printer) writeDropped(c *comparedRequest) {
	p.writeRequestHead(c)
	if c.comparison == nil || len(c.comparison.Dropped) == 0 {
		p.writeSentence("", "the model still saw all that it was sent before")
		return
	}
	for i, m := range transcript.Of(c.earlier.Only(c.comparison.Dropped)) {
		m.Index = c.comparison.Dropped[i]
		p.writeMessage(&m)
	}
}
