// Package transcript lists a conversation as data: who said what, each call with its result. Documents show
// the messages of a state in this form, and pages are written from it.
package transcript

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
)

// Message is one message. Its texts are untrusted.
type Message struct {
	Index    int    `json:"index"`
	Role     string `json:"role"`
	Speaker  string `json:"speaker,omitempty"`
	Redacted bool   `json:"redacted,omitempty"`
	Held     bool   `json:"held,omitempty"`
	Parts    []Part `json:"parts"`
}

// Part is a part of a message. A result stands in the part of its call, and its texts are untrusted.
type Part struct {
	Kind   string            `json:"kind"`
	Text   string            `json:"text,omitempty"`
	Tool   string            `json:"tool,omitempty"`
	CallID string            `json:"callId,omitempty"`
	Input  json.RawMessage   `json:"input,omitempty"`
	Status string            `json:"status,omitempty"`
	Output []json.RawMessage `json:"output,omitempty"`
	Value  json.RawMessage   `json:"value,omitempty"`
	Label  string            `json:"label,omitempty"`
	// Pictures are the pictures in the part and in its result. No document has them.
	Pictures []Picture `json:"-"`
}

// Picture is a picture in a format that its bytes tell: "png", "jpeg", "gif" or "webp".
type Picture struct {
	Format string
	Data   []byte
	// Output is the index of the picture's label among those of the result, -1 for a picture of the part itself.
	Output int
}

// MediaType returns the media type of the picture: "image/png".
func (p *Picture) MediaType() string { return "image/" + p.Format }

// EncodeData returns the bytes in base64, as APIs take them.
func (p *Picture) EncodeData() string { return base64.StdEncoding.EncodeToString(p.Data) }

// DataURL returns the picture as a URL.
func (p *Picture) DataURL() string { return "data:" + p.MediaType() + ";base64," + p.EncodeData() }

// partKinds are the words of the kinds of part; of any other it is its one word.
var partKinds = map[conversation.BlockKind]string{
	conversation.Unknown:    "unknown",
	conversation.ToolCall:   "toolCall",
	conversation.ToolResult: "toolResult",
	conversation.CachePoint: "cachePoint",
	conversation.Guard:      "guardContent",
}

func partKind(k conversation.BlockKind) string { return cmp.Or(partKinds[k], k.String()) }

// Of returns the messages of a conversation, never nil. A message that holds only results
// of calls has no parts.
func Of(c *conversation.Conversation) []Message {
	list := make([]Message, 0, c.Len())
	for m := range c.Len() {
		msg := c.Message(m)
		out := Message{Index: m, Role: msg.Role.String(), Redacted: msg.Redacted, Held: msg.Held, Parts: []Part{}}
		if speaker := c.RoleText(m); speaker != out.Role {
			out.Speaker = speaker
		}
		for i := range c.Blocks(m) {
			b := c.Block(c.FirstBlock(m) + i)
			if b.Kind == conversation.ToolResult && b.Pair >= 0 {
				continue
			}
			out.Parts = append(out.Parts, PartOf(c, b))
		}
		list = append(list, out)
	}
	return list
}

// PartOf returns a block as a part of a message, a call with its result.
func PartOf(c *conversation.Conversation, b *conversation.Block) Part {
	t := c.Tape()
	out := Part{Kind: partKind(b.Kind)}
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
		} else {
			out.Label = "result of " + b.Answers()
		}
		out.Status = statusWord(result.Status)
		for part := range c.Parts(result) {
			out.Output = append(out.Output, outputOf(c, &part))
			out.addPicture(c, &part, len(out.Output)-1)
		}
	case conversation.Failure:
		out.Text, out.Label = t.Text(b.Body), b.Kind.String()
	case conversation.Context:
		out.Text, out.Label = t.Text(b.Body), c.Label(b)
	case conversation.Text, conversation.Guard, conversation.Reasoning:
		if b.Body < 0 || c.IsEncrypted(b) {
			out.Label = c.Label(b)
			break
		}
		if b.Kind != conversation.Reasoning && c.IsBlank(b) {
			out.Label = conversation.BlankText
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
		if b.Kind == conversation.JSON && b.Body >= 0 && t.Kind(b.Body) == jsontape.String {
			out.Value = t.Raw(b.Body) // what a tool printed
		}
	default:
		out.addPicture(c, b, -1)
		if out.Label = c.Label(b); t.Key(b.Node) == "json" { // a document has what the agent wrote
			out.Value = t.Raw(t.Parent(b.Node))
		}
	}
	return out
}

// addPicture adds the picture that a block holds, if it holds one.
func (part *Part) addPicture(c *conversation.Conversation, b *conversation.Block, output int) {
	if format, data := c.Picture(b); format != "" {
		part.Pictures = append(part.Pictures, Picture{format, data, output})
	}
}

// ShownJSON returns the JSON value to show for the part, or nil: a file shows only its label.
func (part *Part) ShownJSON() json.RawMessage {
	if part.Kind != partKinds[conversation.Unknown] && part.Kind != conversation.JSON.String() {
		return nil
	}
	return part.Value
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

// Remarks returns the special properties of a message, each in a few words.
func (m *Message) Remarks() (words []string) {
	if m.Redacted {
		words = append(words, model.MarkRedacted.Word())
	}
	if m.Held {
		words = append(words, "held in the interrupt state")
	}
	return words
}

// Verb returns the word to show before the name of the tool: "call", or why a result stands alone.
func (part *Part) Verb() string {
	if part.Label == "" {
		return "call"
	}
	return part.Label + ":"
}

// IsToolPart reports whether the part is a call of a tool, or a result.
func (part *Part) IsToolPart() bool { return part.Tool != "" || part.Status != "" }

// Thought reports whether the part is reasoning of the model.
func (part *Part) Thought() bool { return part.Kind == conversation.Reasoning.String() }

// Heading returns the heading above the text of the part, which names its kind if it is neither prompt nor
// answer. It is untrusted, and "" for other parts.
func (part *Part) Heading() string {
	switch {
	case part.Thought():
		return part.Kind
	case part.Text != "":
		return part.Label
	}
	return ""
}

// StatusText says in a word or two how a call ended.
func (part *Part) StatusText() string {
	switch part.Status {
	case "pending":
		return "no result"
	case "none":
		return "result"
	}
	return part.Status
}

// Plain returns a JSON text decoded, and any other value compact.
func Plain(value json.RawMessage) string {
	if len(value) > 0 && value[0] == '"' {
		return jsontape.Unquote(value)
	}
	return string(jsontape.AppendCompact(nil, value))
}

// LanguageOf returns the language of a text among the arguments of a call, as a fence has it: that of a command, or of
// the file that the call names; "" for another text.
func LanguageOf(t *jsontape.Tape, call, text jsontape.Node) string {
	if slices.Contains(conversation.CommandNames, t.Key(text)) {
		return "sh"
	}
	for _, key := range conversation.PathNames {
		if name := t.Find(call, key); t.Kind(name) == jsontape.String {
			language := strings.ToLower(strings.TrimPrefix(path.Ext(t.Text(name)), "."))
			if strings.Trim(language, "abcdefghijklmnopqrstuvwxyz0123456789") == "" {
				return language
			}
		}
	}
	return ""
}
