package conversation

import (
	"bytes"

	"hindcast/model"
	"hindcast/model/jsontape"
)

// maxName bounds the names, formats and addresses in a label, in bytes.
const maxName = 80

// Label says in a few words what a block is where its content cannot be shown
// as text: "image png 12.3 kB", "document txt notes 11 B", "video mp4
// s3://bucket/v.mp4". It is untrusted and short.
func (c *Conversation) Label(b *Block) string {
	label := []byte(b.Kind.String())
	word := func(n Node) {
		if isKind(c.tape, n, jsontape.String) {
			label = append(label, ' ')
			label = c.tape.AppendText(label, n, maxName)
		}
	}
	switch b.Kind {
	case Unknown:
		if kind := find(c.tape, b.Node, "type"); isKind(c.tape, kind, jsontape.String) {
			word(kind)
		} else if first := c.tape.First(b.Node); isKind(c.tape, b.Node, jsontape.Object) && first >= 0 {
			key := c.tape.Key(first)
			label = append(append(label, ' '), key[:min(len(key), maxName)]...)
		}
	case Document:
		word(b.Name)
		word(find(c.tape, find(c.tape, b.Node, "document"), "name"))
	case Image, Video, Audio, Media, ToolCall, ToolResult:
		word(b.Name)
	case Context:
		word(b.Name)
		word(c.tape.Find(c.tape.Parent(b.Body), "name"))
	}
	if size := c.Bytes(b); size >= 0 {
		label = append(label, ' ')
		return string(AppendSize(label, size))
	}
	word(c.address(b))
	return string(label)
}

// Bytes returns the size of the file inside a picture and its like, or of hidden
// reasoning, worked out from the length of its base64, or that of the text of a
// context; -1 where the state does not hold one.
func (c *Conversation) Bytes(b *Block) int64 {
	if b.Kind == Context {
		return int64(len(c.tape.Text(b.Body)))
	}
	raw := c.base64(b)
	if raw == nil {
		return -1
	}
	digits := len(raw) - bytes.Count(raw[max(0, len(raw)-2):], []byte("="))
	return int64(digits) * 3 / 4
}

// Hidden reports whether a block is reasoning that the provider encrypted.
func (c *Conversation) Hidden(b *Block) bool {
	return b.Kind == Reasoning && b.Body >= 0 && (c.tape.Key(b.Body) == "redactedContent" || c.tape.Key(b.Body) == "encrypted_content")
}

// base64 returns the base64 text of a file, or nil. Strands for Python marks its
// bytes ({"__bytes_encoded__": true, "data": …}, session.py), the TypeScript
// SDK writes them bare, Genkit and OpenAI use data URLs, Gemini inline data.
func (c *Conversation) base64(b *Block) []byte {
	t, n := c.tape, b.Body
	if inner := find(t, n, "bytes"); inner >= 0 {
		n = inner
	}
	if isKind(t, find(t, n, "__bytes_encoded__"), jsontape.True) {
		n = t.Find(n, "data")
	}
	if inner := find(t, n, "data"); b.Kind == Media && inner >= 0 {
		n = inner
	}
	if !isKind(t, n, jsontape.String) {
		return nil
	}
	raw := bytes.TrimSuffix(bytes.TrimPrefix(t.Raw(n), []byte{'"'}), []byte{'"'})
	if n != b.Body || c.Hidden(b) {
		return raw
	}
	return dataOf(raw)
}

// maxURLHead is how far into a data URL its base64 begins at the latest.
const maxURLHead = 256

// dataOf returns the base64 of a data URL, or nil for any other text.
func dataOf(raw []byte) []byte {
	const separator = ";base64,"
	if !bytes.HasPrefix(raw, []byte("data:")) {
		return nil
	}
	i := bytes.Index(raw[:min(len(raw), maxURLHead)], []byte(separator))
	if i < 0 {
		return nil
	}
	return raw[i+len(separator):]
}

// address returns the string that says where a file is that the state does not
// hold, or None.
func (c *Conversation) address(b *Block) Node {
	t := c.tape
	switch b.Kind {
	case Image, Document, Video, Audio, Media:
	default:
		return jsontape.None
	}
	if isKind(t, b.Body, jsontape.String) {
		return b.Body
	}
	for _, key := range []string{"url", "location", "s3Location"} {
		n := find(t, b.Body, key)
		if isKind(t, n, jsontape.Object) {
			n = t.Find(n, "uri")
		}
		if n >= 0 {
			return n
		}
	}
	return jsontape.None
}

// AppendSize appends a number of bytes for people, see [model.AppendSize].
func AppendSize(dst []byte, size int64) []byte { return model.AppendSize(dst, size) }
