package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/model/printable"
	"hindcast/model/splice"
)

// messages is `hindcast messages`.
func (a *App) messages() *cobra.Command {
	var markdown bool
	cmd := &cobra.Command{
		Use:   "messages [STORE] [SESSION] [SNAPSHOT]",
		Short: "print the conversation in a snapshot as a transcript",
		Long: `Messages prints the conversation in a snapshot: who speaks, the texts, each tool
call with its arguments and its result, and a line for media. Without SNAPSHOT it
is the head, without SESSION the session that changed last.`,
		Example: `  hindcast messages trips.db trip-planner
  hindcast messages trips.db trip-planner '#3' --md > step3.md
  hindcast messages trips.db trip-planner head --json | jq '.messages[-1]'`,
		Args:              oneOrHead.args(),
		ValidArgsFunction: a.completeSnapshot(1),
		RunE: a.reading(a.placed(oneOrHead, func(ctx context.Context, p *printer, args []string) error {
			s, err := a.open(ctx, args[0])
			if err != nil {
				return err
			}
			defer s.Close()
			session, spec := args[1], "head"
			if len(args) > 2 {
				spec = args[2]
			}
			t, err := a.timeline(ctx, s, session)
			if err != nil {
				return err
			}
			n, err := visit(t, spec)
			if err != nil {
				return err
			}
			h := t.Header(n)
			state, err := s.State(ctx, h.Ref())
			if err != nil {
				return err
			}
			tape, err := jsontape.Parse(state)
			if err != nil {
				return fmt.Errorf("messages: read the state of %s: %w", t.Name(n), err)
			}
			talk := transcriptJSON{Name: t.Name(n), ID: h.ID, SessionID: h.SessionID, Messages: transcript(conversation.Decode(tape))}
			switch {
			case p.json:
				return p.document(talk)
			case markdown:
				p.markdown(&talk)
			default:
				p.transcript(&talk)
			}
			return nil
		})),
	}
	cmd.Flags().BoolVar(&markdown, "md", false, "print Markdown")
	return cmd
}

// transcriptJSON is `messages --json`.
type transcriptJSON struct {
	Name      string        `json:"name"`
	ID        string        `json:"id"`
	SessionID string        `json:"sessionId"`
	Messages  []messageJSON `json:"messages"`
}

type messageJSON struct {
	Index    int        `json:"index"`
	Role     string     `json:"role"`
	Speaker  string     `json:"speaker,omitempty"`
	Redacted bool       `json:"redacted,omitempty"`
	Held     bool       `json:"held,omitempty"`
	Parts    []partJSON `json:"parts"`
}

// partJSON is a part of a message. A result stands in the part of its call.
type partJSON struct {
	Kind   string            `json:"kind"`
	Text   string            `json:"text,omitempty"`
	Tool   string            `json:"tool,omitempty"`
	CallID string            `json:"callId,omitempty"`
	Input  json.RawMessage   `json:"input,omitempty"`
	Status string            `json:"status,omitempty"`
	Output []json.RawMessage `json:"output,omitempty"`
	Value  json.RawMessage   `json:"value,omitempty"`
	Label  string            `json:"label,omitempty"`
}

// partKinds are the words of the kinds of part; of any other it is its one word.
var partKinds = map[conversation.BlockKind]string{
	conversation.Unknown:    "unknown",
	conversation.ToolCall:   "toolCall",
	conversation.ToolResult: "toolResult",
	conversation.CachePoint: "cachePoint",
	conversation.Guard:      "guardContent",
}

func partKind(k conversation.BlockKind) string { return cmp.Or(partKinds[k], k.String()) }

// transcript returns the messages of a conversation, never nil. A message that
// holds only results of calls has no parts.
func transcript(c *conversation.Conversation) []messageJSON {
	list := make([]messageJSON, 0, c.Len())
	for m := range c.Len() {
		msg := c.Message(m)
		out := messageJSON{Index: m, Role: msg.Role.String(), Redacted: msg.Redacted, Held: msg.Held, Parts: []partJSON{}}
		if speaker := c.RoleText(m); speaker != out.Role {
			out.Speaker = speaker
		}
		for i := range c.Blocks(m) {
			b := c.Block(c.FirstBlock(m) + i)
			if b.Kind == conversation.ToolResult && b.Pair >= 0 {
				continue
			}
			out.Parts = append(out.Parts, partOf(c, b))
		}
		list = append(list, out)
	}
	return list
}

// partOf returns a part of a message, a call with its result.
func partOf(c *conversation.Conversation, b *conversation.Block) partJSON {
	t := c.Tape()
	out := partJSON{Kind: partKind(b.Kind)}
	switch b.Kind {
	case conversation.ToolCall, conversation.ToolResult:
		out.Tool, out.Status = c.ToolName(b), "pending"
		if b.ID >= 0 {
			out.CallID = t.Text(b.ID)
		}
		result := b
		if b.Kind == conversation.ToolCall {
			if b.Body >= 0 {
				out.Input = t.Raw(b.Body)
			}
			if b.Pair < 0 {
				return out
			}
			result = c.Block(int(b.Pair))
		}
		out.Status = statusWord(result.Status)
		for part := range c.Parts(result) {
			out.Output = append(out.Output, outputOf(c, &part))
		}
	case conversation.Text, conversation.Guard, conversation.Reasoning:
		if b.Body < 0 || c.Hidden(b) {
			out.Label = c.Label(b)
			break
		}
		out.Text = t.Text(b.Body)
	case conversation.Citations:
		var texts []string
		for part := range c.Parts(b) {
			if part.Kind == conversation.Text && part.Body >= 0 {
				texts = append(texts, t.Text(part.Body))
			}
		}
		out.Text = strings.Join(texts, "\n")
	case conversation.JSON, conversation.Unknown:
		out.Value, out.Label = t.Raw(b.Node), c.Label(b)
	default:
		out.Label = c.Label(b)
	}
	return out
}

func statusWord(s conversation.Status) string {
	switch s {
	case conversation.OK:
		return "ok"
	case conversation.Failed:
		return "error"
	}
	return "none"
}

// outputOf returns a part of a result: a text or a value as it is, else a label.
func outputOf(c *conversation.Conversation, b *conversation.Block) json.RawMessage {
	if b.Body >= 0 && (b.Kind == conversation.Text || b.Kind == conversation.JSON) {
		return c.Tape().Raw(b.Body)
	}
	return jsontape.AppendQuoted(nil, c.Label(b))
}

// head says who speaks, and what is special about the message.
func (m *messageJSON) head() string {
	words := []string{fmt.Sprintf("[%d]", m.Index), cmp.Or(printable.String(m.Speaker), m.Role)}
	if m.Redacted {
		words = append(words, "("+model.MarkRedacted.Word()+")")
	}
	if m.Held {
		words = append(words, "(held in the interrupt state)")
	}
	return strings.Join(words, " ")
}

// ended says how a call ended.
func (part *partJSON) ended() string {
	switch part.Status {
	case "pending":
		return "no result"
	case "none":
		return "result"
	}
	return part.Status
}

// transcript writes a conversation for people, each part behind an indent.
func (p *printer) transcript(talk *transcriptJSON) {
	fmt.Fprintf(p, "%s\n", p.paint.in(bold, fmt.Sprintf("%s %s  %s", printable.String(talk.SessionID), talk.Name, model.Count(len(talk.Messages), "message"))))
	for i := range talk.Messages {
		m := &talk.Messages[i]
		if len(m.Parts) == 0 {
			continue // its results stand with their calls
		}
		fmt.Fprintf(p, "\n%s\n", p.paint.in(bold, m.head()))
		for k := range m.Parts {
			p.part(&m.Parts[k])
		}
	}
}

// part writes a part of a message.
func (p *printer) part(part *partJSON) {
	switch {
	case part.Tool != "" || part.Status != "":
		call := "call"
		if part.Kind == partKinds[conversation.ToolResult] {
			call = "result of a call that is not here:"
		}
		p.indented("  ", strings.TrimRight(call+" "+part.Tool+" "+string(jsontape.AppendCompact(nil, part.Input)), " "))
		sgr := yellow
		switch part.Status {
		case "ok":
			sgr = green
		case "error":
			sgr = red
		}
		fmt.Fprintf(p, "    %s %s\n", p.glyphs.Arrow, p.paint.in(sgr, part.ended()))
		for _, output := range part.Output {
			p.indented("      ", plainText(output))
		}
	case part.Kind == conversation.Reasoning.String() && part.Text != "":
		p.indented("  ", part.Kind)
		p.indented("    ", part.Text)
	case part.Text != "":
		p.indented("  ", part.Text)
	case part.Value != nil:
		p.indented("  ", string(jsontape.AppendCompact(nil, part.Value)))
	default:
		p.indented("  ", cmp.Or(part.Label, part.Kind))
	}
}

// plainText returns a JSON text decoded, any other value compact.
func plainText(value json.RawMessage) string {
	if len(value) > 0 && value[0] == '"' {
		return jsontape.Unquote(value)
	}
	return string(jsontape.AppendCompact(nil, value))
}

// indented writes untrusted text with its lines behind an indent.
func (p *printer) indented(indent, text string) {
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		fmt.Fprintf(p, "%s%s\n", indent, printable.String(strings.TrimSuffix(line, "\n")))
	}
}

// markdown writes a conversation as Markdown. Texts are quoted line by line and
// values are fenced, so that no content can end what it stands in.
func (p *printer) markdown(talk *transcriptJSON) {
	fmt.Fprintf(p, "# %s %s\n", inline(talk.SessionID), talk.Name)
	for i := range talk.Messages {
		m := &talk.Messages[i]
		if len(m.Parts) == 0 {
			continue
		}
		fmt.Fprintf(p, "\n## %s\n", inline(m.head()))
		for k := range m.Parts {
			p.WriteByte('\n')
			p.markdownPart(&m.Parts[k])
		}
	}
}

func (p *printer) markdownPart(part *partJSON) {
	switch {
	case part.Tool != "" || part.Status != "":
		call := "call"
		if part.Kind == partKinds[conversation.ToolResult] {
			call = "result of a call that is not here:"
		}
		fmt.Fprintf(p, "%s %s\n\n", call, inline(part.Tool))
		if part.Input != nil {
			p.fenced("json", string(splice.Pretty(part.Input)))
			p.WriteByte('\n')
		}
		fmt.Fprintf(p, "%s\n", part.ended())
		for _, output := range part.Output {
			p.WriteByte('\n')
			if len(output) > 0 && output[0] == '"' {
				p.fenced("text", jsontape.Unquote(output))
			} else {
				p.fenced("json", string(splice.Pretty(output)))
			}
		}
	case part.Text != "":
		if part.Kind == conversation.Reasoning.String() {
			fmt.Fprintf(p, "%s\n\n", part.Kind)
		}
		for line := range strings.Lines(strings.TrimRight(part.Text, "\n")) {
			p.WriteString(strings.TrimRight("> "+printable.String(strings.TrimSuffix(line, "\n")), " ") + "\n")
		}
	case part.Value != nil:
		p.fenced("json", string(splice.Pretty(part.Value)))
	default:
		fmt.Fprintf(p, "%s\n", inline(cmp.Or(part.Label, part.Kind)))
	}
}

// fenced writes untrusted text between fences that are longer than any run of
// backticks in it.
func (p *printer) fenced(language, text string) {
	text = string(printable.AppendText(nil, strings.TrimRight(text, "\n")))
	longest, run := 0, 0
	for _, r := range text {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", max(3, longest+1))
	fmt.Fprintf(p, "%s%s\n%s\n%s\n", fence, language, text, fence)
}

// inline returns a text on one line in which Markdown means nothing.
func inline(text string) string {
	var out strings.Builder
	for _, r := range printable.String(text) {
		if strings.ContainsRune("\\`*_{}[]<>()#+-.!|~&", r) {
			out.WriteByte('\\')
		}
		out.WriteRune(r)
	}
	return out.String()
}
