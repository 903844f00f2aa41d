package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"hindcast/diff"
	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/model/printable"
	"hindcast/model/splice"
	"hindcast/model/transcript"
)

// messagesCommand is `hindcast messages`.
func (a *App) messagesCommand() *cobra.Command {
	var markdown bool
	how := sharing{leaves: true}
	cmd := a.readingCommand(oneOrHead, &cobra.Command{
		Use:   "messages [STORE...] [SESSION] [SNAPSHOT]",
		Short: "print the conversation in a snapshot as a transcript",
		Long: `Messages prints the conversation in a snapshot: who speaks, the texts, each tool
call with its arguments and its result, and a line for media. Without SNAPSHOT it
is the head, without SESSION the session that changed last.

With --md, an edit of a file is a diff, and a command or another long argument has a
fence of its own. A text with HTML, images, links or addresses stands in a fence, so
that no viewer loads or follows what a model wrote. The prompt text of an agent's vendor
is left out of it, unless --with-prompts is given.`,
		Example: `  hindcast messages trips.db trip-planner
  hindcast messages trips.db trip-planner '#3' --md > step3.md
  hindcast messages trips.db trip-planner head --json | jq '.messages[-1]'`,
	}, func(ctx context.Context, p *printer, of *subject) error {
		t, n, err := of.resolveVisit(ctx, of.firstSnapshot())
		if err != nil {
			return err
		}
		h := t.Header(n)
		state, err := of.store.State(ctx, h.Ref())
		if err != nil {
			return err
		}
		if r, _ := how.newRedactor(); r != nil && markdown && !p.json {
			state, err = r.State(state)
		}
		tape := (*jsontape.Tape)(nil)
		if err == nil {
			tape, err = jsontape.Parse(state)
		}
		if err != nil {
			return fmt.Errorf("messages: read the state of %s: %w", t.Name(n), err)
		}
		talk := transcriptJSON{Name: t.Name(n), ID: h.ID, SessionID: h.SessionID, Messages: transcript.Of(conversation.Decode(tape))}
		switch {
		case p.json:
			return p.writeDocument(talk)
		case markdown:
			p.writeMarkdown(&talk)
		default:
			p.writeTranscript(&talk)
		}
		return nil
	})
	cmd.Flags().BoolVar(&markdown, "md", false, "print Markdown")
	how.addPromptsFlag(cmd)
	return cmd
}

// transcriptJSON is `messages --json`.
type transcriptJSON struct {
	Name      string               `json:"name"`
	ID        string               `json:"id"`
	SessionID string               `json:"sessionId"`
	Messages  []transcript.Message `json:"messages"`
}

// speakerLine says who speaks, and what is special about the message.
func speakerLine(m *transcript.Message) string {
	words := []string{fmt.Sprintf("[%d]", m.Index), cmp.Or(printable.String(m.Speaker), m.Role)}
	for _, remark := range m.Remarks() {
		words = append(words, "("+remark+")")
	}
	return strings.Join(words, " ")
}

// writeTranscript writes a conversation for people, each part behind an indent.
func (p *printer) writeTranscript(talk *transcriptJSON) {
	fmt.Fprintf(p, "%s\n", p.paint.in(bold, fmt.Sprintf("%s %s  %s", printable.String(talk.SessionID), talk.Name, model.Count(len(talk.Messages), "message"))))
	for i := range talk.Messages {
		p.writeMessage(&talk.Messages[i])
	}
}

// writeMessage writes a message below a line about it. One without parts has results that stand with their calls.
func (p *printer) writeMessage(m *transcript.Message) {
	if len(m.Parts) == 0 {
		return
	}
	fmt.Fprintf(p, "\n%s\n", p.paint.in(bold, speakerLine(m)))
	for k := range m.Parts {
		p.writePart(&m.Parts[k])
	}
}

// writePart writes a part of a message.
func (p *printer) writePart(part *transcript.Part) {
	switch {
	case part.IsToolPart():
		p.writeIndented("  ", strings.TrimRight(part.Verb()+" "+part.Tool+" "+string(jsontape.AppendCompact(nil, part.Input)), " "))
		sgr := yellow
		switch part.Status {
		case "ok":
			sgr = green
		case "error":
			sgr = red
		}
		fmt.Fprintf(p, "    %s %s\n", p.glyphs.Arrow, p.paint.in(sgr, part.StatusText()))
		for _, output := range part.Output {
			p.writeIndented("      ", transcript.Plain(output))
		}
	case part.Heading() != "" && part.Text != "":
		p.writeIndented("  ", part.Heading())
		p.writeIndented("    ", part.Text)
	case part.Text != "":
		p.writeIndented("  ", part.Text)
	case part.ShownJSON() != nil:
		p.writeIndented("  ", transcript.Plain(part.ShownJSON()))
	default:
		p.writeIndented("  ", cmp.Or(part.Label, part.Kind))
	}
}

// printedAtOnce is how much of a line is made printable at a time, in bytes.
const printedAtOnce = 64 << 10

// writeIndented writes untrusted text with its lines behind an indent.
func (p *printer) writeIndented(indent, text string) {
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		p.WriteString(indent)
		for line = strings.TrimSuffix(line, "\n"); line != ""; {
			part := printable.Part(line, printedAtOnce)
			p.WriteString(printable.Text(part))
			line = line[len(part):]
		}
		p.WriteByte('\n')
	}
}

// writeMarkdown writes a conversation as Markdown. Texts are quoted line by line, and values and
// texts with Markdown that does something are fenced, so that no content can end what it
// stands in and no viewer loads what a model names.
func (p *printer) writeMarkdown(talk *transcriptJSON) {
	fmt.Fprintf(p, "# %s %s\n", inlineMarkdown(talk.SessionID), talk.Name)
	for i := range talk.Messages {
		m := &talk.Messages[i]
		if len(m.Parts) == 0 {
			continue
		}
		fmt.Fprintf(p, "\n## %s\n", inlineMarkdown(speakerLine(m)))
		for k := range m.Parts {
			p.WriteByte('\n')
			p.markdownPart(&m.Parts[k])
		}
	}
}

func (p *printer) markdownPart(part *transcript.Part) {
	switch {
	case part.IsToolPart():
		fmt.Fprintf(p, "%s %s\n\n", part.Verb(), inlineMarkdown(part.Tool))
		if part.Input != nil {
			p.writeArguments(part.Input)
		}
		fmt.Fprintf(p, "%s\n", part.StatusText())
		for _, output := range part.Output {
			p.WriteByte('\n')
			p.fencedValue(output)
		}
	case part.Text != "":
		if above := part.Heading(); above != "" {
			fmt.Fprintf(p, "%s\n\n", inlineMarkdown(above))
		}
		p.writeQuote(part.Text)
	case part.ShownJSON() != nil:
		p.fencedValue(part.ShownJSON())
	default:
		fmt.Fprintf(p, "%s\n", inlineMarkdown(cmp.Or(part.Label, part.Kind)))
	}
}

// longestInline bounds the bytes of a string that stays in the JSON of the arguments.
const longestInline = 48

// writeArguments writes the arguments of a call: an edit as a diff, and a long text or one of several lines in a fence
// of its own below its name. The other arguments stay JSON.
func (p *printer) writeArguments(input []byte) {
	t, err := jsontape.Parse(input)
	if err != nil {
		p.writeFence("text", string(input))
		p.WriteByte('\n')
		return
	}
	if edits := diff.Edits(t, 0); edits != "" {
		p.writeFence("diff", edits)
		p.WriteByte('\n')
		return
	}
	var long []jsontape.Node
	rest := []byte{'{'}
	for c := t.First(0); t.Kind(0) == jsontape.Object && c >= 0; c = t.Next(c) {
		if raw := t.Raw(c); t.Kind(c) == jsontape.String && (len(raw) > longestInline || bytes.Contains(raw, []byte(`\n`))) {
			long = append(long, c)
			continue
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		rest = append(append(append(rest, t.RawKey(c)...), ':'), t.Raw(c)...)
	}
	if rest = append(rest, '}'); len(long) == 0 {
		rest = input
	}
	for _, c := range long {
		fmt.Fprintf(p, "%s\n\n", inlineMarkdown(t.Key(c)))
		p.writeFence(transcript.LanguageOf(t, 0, c), t.Text(c))
		p.WriteByte('\n')
	}
	if len(long) == 0 || len(rest) > len("{}") {
		p.fencedValue(rest)
		p.WriteByte('\n')
	}
}

// writeQuote writes untrusted text line by line behind >. A text that a viewer would load
// something for, or make a link of, is fenced instead.
func (p *printer) writeQuote(text string) {
	if live().MatchString(text) {
		p.writeFence("text", text)
		return
	}
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		p.WriteString(strings.TrimRight("> "+string(printable.AppendFile(nil, strings.TrimSuffix(line, "\n"))), " ") + "\n")
	}
}

// live matches what a viewer of Markdown does more with than to show it: HTML, images, links,
// definitions, footnotes, entities, addresses, templates, and code that is drawn.
// https://spec.commonmark.org/0.31.2/ and https://github.github.com/gfm/#autolinks-extension-
var live = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)<[a-z/!?]|!\[|\][(\[:]|\[[\^!]|&#?\w+;|://|www\.|mailto:|\w@\w|\{[{%]` +
		"|(?:`{3}|~{3})[ \\t]*\\{?\\.?(?:mermaid|math|geojson|topojson|stl|plantuml|dot|graphviz|d2)")
})

// fencedValue writes a text decoded, and any other value as JSON.
func (p *printer) fencedValue(value []byte) {
	if len(value) > 0 && value[0] == '"' {
		text, language := jsontape.Unquote(value), "text"
		if diff.IsPatch(text) {
			language = "diff"
		}
		p.writeFence(language, text)
	} else {
		p.writeFence("json", string(splice.Pretty(value)))
	}
}

// writeFence writes untrusted text between fences that are longer than any run of
// backticks in it.
func (p *printer) writeFence(language, text string) {
	text = string(printable.AppendFile(nil, strings.TrimRight(text, "\n")))
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

// inlineMarkdown returns a text on one line in which Markdown means nothing.
func inlineMarkdown(text string) string {
	var out strings.Builder
	for _, r := range printable.String(text) {
		if strings.ContainsRune("\\`*_{}[]<>()#+-.!|~&:@$", r) {
			out.WriteByte('\\')
		}
		out.WriteRune(r)
	}
	return out.String()
}
