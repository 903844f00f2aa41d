package conversation

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	_ "image/gif"  // their sizes
	_ "image/jpeg" // are told
	_ "image/png"  // by image.DecodeConfig
	"io"
	"slices"
	"strings"
	"sync"

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
		if c.tape.Kind(n) == jsontape.String {
			label = append(label, ' ')
			label = c.tape.AppendText(label, n, maxName)
		}
	}
	switch b.Kind {
	case Unknown:
		if kind := c.tape.Find(b.Node, "type"); c.tape.Kind(kind) == jsontape.String {
			word(kind)
		} else if first := c.tape.First(b.Node); c.tape.Kind(b.Node) == jsontape.Object && first >= 0 {
			key := c.tape.Key(first)
			label = append(append(label, ' '), key[:min(len(key), maxName)]...)
		}
	case Document:
		if text := c.pictureLabel(b); text != "" {
			return text
		}
		word(b.Name)
		word(c.tape.Find(c.tape.Find(b.Node, "document"), "name"))
	case Image, Video, Audio, Media, ToolCall, ToolResult:
		if text := c.pictureLabel(b); text != "" {
			return text
		}
		word(b.Name)
	case Context:
		word(b.Name)
		word(c.tape.Find(c.tape.Parent(b.Body), "name"))
	}
	if size := c.Bytes(b); size >= 0 {
		label = append(label, ' ')
		return string(AppendSize(label, size))
	}
	word(c.fileAddress(b))
	return string(label)
}

// Bytes returns the size of the file inside a picture and its like, or of hidden
// reasoning, worked out from the length of its base64, or that of the text of a
// context; -1 where the state does not hold one.
func (c *Conversation) Bytes(b *Block) int64 {
	if b.Kind == Context {
		return int64(len(c.tape.Text(b.Body)))
	}
	raw := c.base64Of(b)
	if raw == nil {
		return -1
	}
	digits := len(raw) - bytes.Count(raw[max(0, len(raw)-2):], []byte("="))
	return int64(digits) * 3 / 4
}

// IsEncrypted reports whether a block is reasoning that the provider encrypted.
func (c *Conversation) IsEncrypted(b *Block) bool {
	return b.Kind == Reasoning && b.Body >= 0 && slices.Contains(encryptedKeys, c.tape.Key(b.Body))
}

// encryptedKeys are where Strands, OpenAI and Anthropic keep such reasoning.
var encryptedKeys = []string{"redactedContent", "encrypted_content", "data"}

// base64Of returns the base64 text of a file, or nil. Strands for Python marks its
// bytes ({"__bytes_encoded__": true, "data": …}, session.py), the TypeScript
// SDK writes them bare, Genkit and OpenAI use data URLs, Gemini inline data.
func (c *Conversation) base64Of(b *Block) []byte {
	t, n := c.tape, b.Body
	if inner := t.Find(n, "bytes"); inner >= 0 {
		n = inner
	}
	if t.Kind(t.Find(n, "__bytes_encoded__")) == jsontape.True {
		n = t.Find(n, "data")
	}
	if inner := t.Find(n, "data"); b.Kind == Media && inner >= 0 {
		n = inner
	}
	if t.Kind(n) != jsontape.String {
		return nil
	}
	raw := bytes.TrimSuffix(bytes.TrimPrefix(t.Raw(n), []byte{'"'}), []byte{'"'})
	if bytes.IndexByte(raw, '\\') >= 0 { // some writers escape a slash
		raw = []byte(t.Text(n))
	}
	if data := dataOf(raw); data != nil {
		return data
	}
	if n != b.Body || c.IsEncrypted(b) || inBase64[t.Key(n)] && !bytes.Contains(raw[:min(len(raw), maxURLHead)], []byte("://")) {
		return raw
	}
	return nil
}

// inBase64 are the members of a file that are base64 without a mark: those of Anthropic, MCP,
// LangChain, OpenAI and the AI SDK.
var inBase64 = map[string]bool{"data": true, "base64": true, "blob": true, "file_data": true, "image": true}

// pictureLabel returns the label of a file that the state holds and whose type is known, such as
// "image/png 1×1, 68 B"; "" of another.
func (c *Conversation) pictureLabel(b *Block) string {
	raw, is := c.base64Of(b), ""
	if raw == nil { // an address tells where it is
		return ""
	}
	if c.tape.Kind(b.Name) == jsontape.String {
		is = string(c.tape.AppendText(nil, b.Name, maxName))
	}
	if !strings.Contains(is, "/") {
		head := string(c.tape.AppendText(nil, b.Body, maxURLHead))
		rest, data := strings.CutPrefix(head, "data:")
		if is, _, _ = strings.Cut(rest, ";"); !data || !strings.Contains(is, "/") {
			return ""
		}
	}
	label := []byte(Cut(OneLine(is), maxName))
	if w, h := sizeOf(raw); w > 0 && strings.HasPrefix(is, "image/") {
		label = fmt.Appendf(label, " %d×%d", w, h)
	}
	return string(AppendSize(append(label, ", "...), c.Bytes(b)))
}

// sizeOf returns how many pixels wide and high a picture in base64 is, as PNG, GIF, JPEG and WebP tell at
// their beginning; 0 of any other.
func sizeOf(raw []byte) (width, height int) {
	encoding := base64.StdEncoding
	if bytes.ContainsAny(raw, "-_") { // as Python's SDK of Gemini writes it
		encoding = base64.URLEncoding
	}
	var head [30]byte
	n, _ := io.ReadFull(base64.NewDecoder(encoding, bytes.NewReader(raw)), head[:]) // a short one is no WebP
	if width, height = webpSize(head[:n]); width > 0 {
		return width, height
	}
	is, _, _ := image.DecodeConfig(base64.NewDecoder(encoding, bytes.NewReader(raw))) // zero where it fails
	return is.Width, is.Height
}

// Picture returns the picture that a block holds, with its format: "png", "jpeg", "gif" or "webp" by its first bytes.
// The format is "" for any other block.
func (c *Conversation) Picture(b *Block) (format string, picture []byte) {
	if b.Kind != Image && b.Kind != Media && b.Kind != Document {
		return "", nil
	}
	raw := bytes.TrimRight(c.base64Of(b), "=")
	encoding := base64.RawStdEncoding
	if bytes.ContainsAny(raw, "-_") {
		encoding = base64.RawURLEncoding
	}
	picture = make([]byte, encoding.DecodedLen(len(raw)))
	n, err := encoding.Decode(picture, raw)
	if err != nil || n == 0 {
		return "", nil
	}
	picture = picture[:n]
	if w, _ := webpSize(picture); w > 0 {
		return "webp", picture
	}
	_, format, _ = image.DecodeConfig(bytes.NewReader(picture)) // "" where it fails
	return format, picture
}

// webpSize returns how many pixels wide and high a WebP picture is, by its first bytes; 0 for another file.
func webpSize(head []byte) (width, height int) {
	if len(head) < 30 || string(head[:4]) != "RIFF" || string(head[8:12]) != "WEBP" {
		return 0, 0
	}
	b := head[20:]
	switch string(head[12:16]) {
	case "VP8X":
		return 1 + (int(b[4]) | int(b[5])<<8 | int(b[6])<<16), 1 + (int(b[7]) | int(b[8])<<8 | int(b[9])<<16)
	case "VP8 ":
		return int(b[6]) | int(b[7]&0x3f)<<8, int(b[8]) | int(b[9]&0x3f)<<8
	case "VP8L":
		return 1 + (int(b[1]) | int(b[2]&0x3f)<<8), 1 + (int(b[2]>>6) | int(b[3])<<2 | int(b[4]&0xf)<<10)
	}
	return 0, 0
}

// FileLabel returns the label of a block that is a picture or another file, from its JSON; "" for
// any other block. It is untrusted.
func FileLabel(block []byte) string {
	t, err := jsontape.Parse(block)
	if err != nil {
		return ""
	}
	b, ok := fileIn(t, 0)
	if !ok {
		return ""
	}
	return (&Conversation{tape: t}).Label(&b)
}

// fileTypes has the types that blocks of files have, with the kind of file.
var fileTypes = sync.OnceValue(func() map[string]BlockKind {
	return map[string]BlockKind{
		"image": Image, "input_image": Image, "image_url": Image, "audio": Audio, "input_audio": Audio, "video": Video,
		"document": Document, "input_file": Document, "file": Media, "media": Media, "data": Media, "resource": Document, "blob": Media,
	}
})

// What the members of a file are called: where its bytes or its address are, and its type.
var (
	fileBodies = []string{"data", "base64", "blob", "file_data", "image", "image_url", "url", "uri", "file_uri", "fileUri"}
	fileNames  = []string{"media_type", "mediaType", "mime_type", "mimeType", "mime", "contentType"}
	fileInner  = []string{"source", "image_url", "input_audio", "file", "resource"}
)

// fileIn reads a block that says in its type that it is a file: those of Anthropic, OpenAI, LangChain,
// MCP, pi, the AI SDK and Agent Framework. The bytes may be in an object of it.
func fileIn(t *jsontape.Tape, n Node) (b Block, ok bool) {
	b = newBlock(n)
	b.Body = jsontape.None
	word := t.Find(n, "type")
	if t.Kind(word) != jsontape.String { // Gemini's inline data has none
		in := max(t.Find(n, "inlineData"), t.Find(n, "inline_data"))
		b.Kind, b.Name, b.Body = Media, max(t.Find(in, "mimeType"), t.Find(in, "mime_type")), t.Find(in, "data")
		return b, b.Body >= 0
	}
	kind, known := fileTypes()[string(t.AppendText(nil, word, maxName))]
	if !known {
		return b, false
	}
	b.Kind = kind
	look := func(in Node) {
		for _, key := range fileNames {
			if at := t.Find(in, key); b.Name < 0 && t.Kind(at) == jsontape.String {
				b.Name = at
			}
		}
		for _, key := range fileBodies {
			if at := t.Find(in, key); b.Body < 0 && t.Kind(at) == jsontape.String {
				b.Body = at
			}
		}
	}
	look(n)
	for _, key := range fileInner {
		look(t.Find(n, key))
	}
	if b.Name < 0 {
		b.Name = max(t.Find(n, "format"), t.Find(t.Find(n, "input_audio"), "format"))
	}
	return b, b.Body >= 0
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

// fileAddress returns the string that says where a file is that the state does not
// hold, or None.
func (c *Conversation) fileAddress(b *Block) Node {
	t := c.tape
	switch b.Kind {
	case Image, Document, Video, Audio, Media:
	default:
		return jsontape.None
	}
	if t.Kind(b.Body) == jsontape.String {
		return b.Body
	}
	for _, key := range []string{"url", "location", "s3Location"} {
		n := t.Find(b.Body, key)
		if t.Kind(n) == jsontape.Object {
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
