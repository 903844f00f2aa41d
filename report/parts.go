package report

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"
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

// hasParts reports whether a message has more than results, which stand with their calls.
func hasParts(m spoken) bool { return len(m.Parts) > 0 }

// writeMessage writes a message. Instructions, and what a program wrote for the user, are a fold.
func (p *page) writeMessage(m *spoken) {
	if !hasParts(*m) {
		return
	}
	isText := func(part transcript.Part) bool { return part.Text != "" && part.Heading() == "" && !part.IsToolPart() }
	if m.Role == conversation.System.String() || m.Role == conversation.User.String() && !m.prompt && slices.ContainsFunc(m.Parts, isText) {
		p.beginFold("given", cmp.Or(m.Speaker, m.Role), m.Parts[0].Text)
		defer p.putHTML("</details>")
	}
	class := m.Role
	if m.prompt {
		class = "person"
	}
	p.putHTML(`<article class="` + class + `">`)
	head := cmp.Or(m.Speaker, m.Role)
	if remarks := m.Remarks(); remarks != nil {
		head += " (" + strings.Join(remarks, ", ") + ")"
	}
	p.writeElement("h3", "", head)
	var given []*transcript.Part
	for i := range m.Parts {
		if part := &m.Parts[i]; part.Kind == conversation.Context.String() {
			given = append(given, part)
		} else {
			p.writePart(part)
		}
	}
	p.putHTML("</article>")
	p.writeGiven(given)
}

// writeGiven writes the texts that an agent gave beside a message: several of them as one fold.
func (p *page) writeGiven(given []*transcript.Part) {
	if len(given) > 1 {
		var names []string
		for _, part := range given {
			names = append(names, strings.TrimPrefix(cmp.Or(part.Label, part.Kind), conversation.Context.String()+" "))
		}
		p.beginFold("given", "context", strings.Join(names, ", "))
		defer p.putHTML("</details>")
	}
	for _, part := range given {
		p.writePart(part)
	}
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
	case part.Kind == conversation.Image.String(), part.Kind == conversation.Media.String():
		p.writePictures(part)
		p.writeElement("p", "quiet", "▣ "+cmp.Or(part.Label, part.Kind))
	default: // an empty text
		p.writeElement("p", "quiet", cmp.Or(part.Label, part.Kind))
	}
}

// beginFold begins a fold whose line has a word and the first line of a text.
func (p *page) beginFold(class, word, text string) {
	p.putHTML(`<details class="` + class + `"><summary>`)
	p.writeElement("b", "", word)
	if line := conversation.OneLine(conversation.Cut(text, mostSummary)); line != "" {
		p.putHTML(" ")
		p.writeText(line)
	}
	p.putHTML("</summary>")
}

// writeCall writes a call with its result as a fold. Its line is as a row has it.
func (p *page) writeCall(part *transcript.Part) {
	class := "tool"
	if part.Status == "error" {
		class = "tool failed"
	}
	p.putHTML(`<details class="` + class + `"><summary>`)
	if part.Label != "" {
		p.writeText(part.Verb() + " ")
	}
	act := conversation.NewAct(part.Tool, part.Input)
	p.writeElement("b", "", part.Tool)
	if line := strings.TrimSpace(strings.TrimPrefix(act.Text, part.Tool)); line != "" {
		p.putHTML(" ")
		p.writeElement("code", "", line)
	}
	if outcome := outcomeOf(part, &act); outcome != "" {
		p.putHTML(" ")
		p.writeElement("span", "", "→ "+outcome)
	}
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

// outcomeOf describes the result of a call as a row does.
func outcomeOf(part *transcript.Part, act *conversation.Act) string {
	if len(part.Output) == 0 {
		return part.StatusText()
	}
	y := conversation.ReadYield(part.Output[0])
	for _, output := range part.Output[1:] {
		next := conversation.ReadYield(output)
		y.First, y.Lines = cmp.Or(y.First, next.First), y.Lines+next.Lines
	}
	if y.Failed = y.Failed || part.Status == "error"; y.Failed {
		return "✗ " + act.Outcome(y)
	}
	return act.Outcome(y)
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
	text := func(keys []string) (string, string) {
		for _, key := range keys {
			if n := tape.Find(0, key); tape.Kind(n) == jsontape.String {
				return tape.Text(n), key
			}
		}
		return "", ""
	}
	old, oldKey := text(conversation.OldNames)
	now, newKey := text(conversation.NewNames)
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
		several := ""
		if key == "edits" {
			several = diff.Edits(tape, 0)
		}
		if several != "" {
			p.writePre("diff", several)
		} else {
			p.writeArgument(key, tape, n)
		}
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
	text, language := tape.Text(n), ""
	switch {
	case diff.IsPatch(text):
		language = "diff"
	case slices.Contains(conversation.CommandNames, key):
		language = "sh"
	}
	p.writePre(language, text)
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
		if diff.IsPatch(text) {
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
