package report

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"hindcast/diff"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/model/splice"
	"hindcast/model/transcript"
)

const (
	// mostText bounds a text of a message, mostSummary what stands on the line of a fold, in bytes.
	mostText    = 1 << 20
	mostSummary = 200
	// mostPatch bounds the texts of an edit that are compared.
	mostPatch = 64 << 10
)

// isPrompt reports whether a person typed the message.
func isPrompt(m transcript.Message) bool {
	if m.Role != conversation.User.String() {
		return false
	}
	_, by := conversation.FirstTyped(func(yield func(string) bool) {
		for i := range m.Parts {
			if m.Parts[i].Kind == conversation.Text.String() && !yield(conversation.Cut(m.Parts[i].Text, mostPatch)) {
				return
			}
		}
	})
	return by == conversation.Prompt
}

// hasParts reports whether a message has more than results, which stand with their calls.
func hasParts(m transcript.Message) bool { return len(m.Parts) > 0 }

// writeMessage writes a message. The instructions of an agent are a fold.
func (p *page) writeMessage(m *transcript.Message) {
	if !hasParts(*m) {
		return
	}
	if m.Role == conversation.System.String() {
		p.beginFold("given", m.Role, m.Parts[0].Text)
		defer p.putHTML("</details>")
	}
	class := m.Role
	if isPrompt(*m) {
		class = "person"
	}
	p.putHTML(`<article class="` + class + `">`)
	head := cmp.Or(m.Speaker, m.Role)
	if remarks := m.Remarks(); remarks != nil {
		head += " (" + strings.Join(remarks, ", ") + ")"
	}
	p.writeElement("h3", "", head)
	for i := range m.Parts {
		p.writePart(&m.Parts[i])
	}
	p.putHTML("</article>")
}

func (p *page) writePart(part *transcript.Part) {
	switch {
	case part.IsToolPart():
		p.writeCall(part)
	case part.Thought() && part.Text != "":
		p.beginFold("thought", "thinking", part.Text)
		p.writeProse(part.Text)
		p.putHTML("</details>")
	case part.Text != "" && part.Heading() != "":
		p.beginFold("given", part.Heading(), part.Text)
		p.writePre("", part.Text)
		p.putHTML("</details>")
	case part.Text != "":
		p.writeProse(part.Text)
	case part.ShownJSON() != nil:
		p.beginFold("given", cmp.Or(part.Label, part.Kind), "")
		p.writeValue(part.ShownJSON())
		p.putHTML("</details>")
	default:
		p.writePictures(part)
		p.writeElement("p", "quiet", "▣ "+cmp.Or(part.Label, part.Kind))
	}
}

// beginFold begins a fold whose line has a word and the first line of a text.
func (p *page) beginFold(class, word, text string) {
	p.putHTML(`<details class="` + class + `"><summary>`)
	p.writeElement("b", "", word)
	if line := firstLine(text); line != "" {
		p.putHTML(" ")
		p.writeText(line)
	}
	p.putHTML("</summary>")
}

// firstLine returns the first line of a text that says something.
func firstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = conversation.OneLine(conversation.Cut(line, mostSummary)); strings.ContainsFunc(line, isTelling) {
			return line
		}
	}
	return conversation.OneLine(conversation.Cut(text, mostSummary))
}

// isTelling reports whether a character is more than a sign around texts.
func isTelling(r rune) bool { return !strings.ContainsRune(" \t\r\n{}[]()<>`\"'*#=-_~|,;:.", r) }

// tellingArguments are the arguments of a call that say what it does, the best first.
var tellingArguments = []string{"command", "cmd", "file_path", "filePath", "path", "file", "pattern", "query", "url", "uri", "prompt", "description", "question", "name", "text"}

// callLine returns the telling argument of a call on one line, or all of its arguments.
func callLine(input json.RawMessage) string {
	tape, err := jsontape.Parse(input)
	if err != nil {
		return conversation.OneLine(conversation.Cut(transcript.Plain(input), mostSummary))
	}
	for _, key := range tellingArguments {
		n := tape.Find(0, key)
		switch tape.Kind(n) {
		case jsontape.String:
			if line := firstLine(string(tape.AppendText(nil, n, 4*mostSummary))); line != "" {
				return line
			}
		case jsontape.Array:
			return conversation.OneLine(conversation.Cut(string(jsontape.AppendCompact(nil, tape.Raw(n))), mostSummary))
		}
	}
	if tape.Kind(0) == jsontape.Object && tape.First(0) == jsontape.None {
		return ""
	}
	return conversation.OneLine(conversation.Cut(transcript.Plain(input), mostSummary))
}

// writeCall writes a call with its result as a fold. The line has the argument, and the first line of the result.
func (p *page) writeCall(part *transcript.Part) {
	class := "tool"
	if part.Status == "error" {
		class = "tool failed"
	}
	p.putHTML(`<details class="` + class + `"><summary>`)
	if part.Label != "" {
		p.writeText(part.Verb() + " ")
	}
	p.writeElement("b", "", part.Tool)
	if line := callLine(part.Input); line != "" {
		p.putHTML(" ")
		p.writeElement("code", "", line)
	}
	outcome := part.StatusText()
	for _, output := range part.Output {
		if line := firstLine(transcript.Plain(output)); line != "" {
			if outcome = line; part.Status == "error" {
				outcome = "✗ " + line
			}
			break
		}
	}
	p.putHTML(" ")
	p.writeElement("span", "", "→ "+outcome)
	p.putHTML("</summary>")
	p.writeInput(part.Input)
	for _, output := range part.Output {
		p.putHTML(`<div class="out">`)
		p.writeValue(output)
		p.putHTML("</div>")
	}
	p.putHTML("</details>")
	p.writePictures(part)
}

// writeInput writes the arguments of a call: texts as texts, an edit as the words that it changes.
func (p *page) writeInput(input json.RawMessage) {
	tape, err := jsontape.Parse(input)
	if err != nil || tape.Kind(0) != jsontape.Object {
		if len(input) > 0 {
			p.writeValue(input)
		}
		return
	}
	text := func(keys ...string) (string, string) {
		for _, key := range keys {
			if n := tape.Find(0, key); tape.Kind(n) == jsontape.String {
				return tape.Text(n), key
			}
		}
		return "", ""
	}
	old, oldKey := text("old_string", "oldString", "old_str", "old_text", "oldText")
	now, newKey := text("new_string", "newString", "new_str", "new_text", "newText")
	edits := oldKey != "" && newKey != "" && len(old)+len(now) <= mostPatch
	p.putHTML(`<dl class="in">`)
	for n := tape.First(0); n != jsontape.None; n = tape.Next(n) {
		key := tape.Key(n)
		if edits && key == oldKey {
			continue
		}
		if edits && key == newKey {
			p.putHTML(`<dt>edit</dt><dd><pre class="diff">`)
			p.writeEdit(old, now)
			p.putHTML("</pre></dd>")
			continue
		}
		p.writeElement("dt", "", key)
		p.putHTML("<dd>")
		p.writeArgument(key, tape, n)
		p.putHTML("</dd>")
	}
	p.putHTML("</dl>")
}

// writeArgument writes the value of an argument.
func (p *page) writeArgument(key string, tape *jsontape.Tape, n jsontape.Node) {
	if tape.Kind(n) != jsontape.String {
		p.writeValue(tape.Raw(n))
		return
	}
	language := ""
	switch key {
	case "command", "cmd":
		language = "sh"
	case "patch", "diff", "input":
		if text := tape.Text(n); strings.HasPrefix(text, "*** Begin Patch") || strings.HasPrefix(text, "--- ") || strings.HasPrefix(text, "diff ") {
			language = "diff"
		}
	}
	p.writePre(language, tape.Text(n))
}

// writeEdit writes two texts as one, with the words that went and the words that came.
func (p *page) writeEdit(old, now string) {
	for _, s := range diff.Text(old, now, 50*time.Millisecond).Spans {
		switch s.Op {
		case diff.Deleted:
			p.putHTML("<del>")
			p.writeLines(s.Text)
			p.putHTML("</del>")
		case diff.Inserted:
			p.putHTML("<ins>")
			p.writeLines(s.Text)
			p.putHTML("</ins>")
		default:
			p.writeLines(s.Text)
		}
	}
}

// writeValue writes a JSON value: a text as text, and anything else indented.
func (p *page) writeValue(value []byte) {
	if len(value) > 0 && value[0] == '"' {
		text := jsontape.Unquote(value)
		language := ""
		if strings.HasPrefix(text, "diff --git ") || strings.HasPrefix(text, "--- ") && strings.Contains(text, "\n@@ ") {
			language = "diff"
		}
		p.writePre(language, text)
		return
	}
	p.writePre("json", string(splice.Pretty(value)))
}

// writePictures shows the pictures of a part.
func (p *page) writePictures(part *transcript.Part) {
	for _, picture := range part.Pictures {
		p.putHTML(`<img alt="" src="data:image/` + picture.Format + `;base64,`)
		text := base64.NewEncoder(base64.StdEncoding, p)
		_, _ = text.Write(picture.Data) // the page keeps its error
		_ = text.Close()
		p.putHTML(`">`)
	}
}
