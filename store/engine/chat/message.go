package chat

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
)

// Message is one message in the shape that every coding agent is converted to. Its blocks are the blocks of
// Strands, which package conversation reads.
//
//	{"role": "assistant",
//	 "content": [{"text": …}, {"reasoning": {"text": …}}, {"toolUse": {…}}, {"toolResult": {…}},
//	             {"context": {"type": "file", "name": …, "text": …}}],
//	 "id": …, "model": …, "usage": {"inputTokens": …, …}, "cost": …,
//	 "raw": the agent's record, whole, or a list of several}
type Message struct {
	Role   Role
	Blocks []Block
	// ID is the id of the model's answer, or "".
	ID    string
	Model string
	// Usage is the cost of the answer, counted once for each ID.
	Usage conversation.Usage
	// Raw are the records, as they stand in the file.
	Raw [][]byte
}

// Block is a part of a message.
type Block struct {
	Kind conversation.BlockKind
	// ID joins a tool call and its result, or is the agent's word for a context; Name names the
	// tool, or what the context is about.
	ID, Name string
	// Body is JSON: the string of a text or a thought, the input or the result of a call, or any value of
	// another block. It may be nil.
	Body []byte
	// Failed says of a result that the tool failed. Inferred are the words where its text alone
	// tells so: "exit code 2".
	Failed   bool
	Inferred string
}

// exitWords stand before the exit code in [Block].Inferred.
const exitWords = "exit code "

// NoteExit notes of a result that its text gives an exit code which is not zero. told finds the code
// where the agent writes it: at the beginning of the text, or at its end, in a match that has one of words.
func (b *Block) NoteExit(told func() *regexp.Regexp, words ...string) {
	const most = 512
	text := b.Body
	if len(text) > 2*most {
		text = slices.Concat(text[:most], text[len(text)-most:])
	}
	if b.Failed || !slices.ContainsFunc(words, func(word string) bool { return bytes.Contains(text, []byte(word)) }) {
		return
	}
	if m := told().FindSubmatch(text); m != nil && string(m[1]) != "0" {
		b.Failed, b.Inferred = true, exitWords+string(m[1])
	}
}

// TextBlock returns a block of text from a JSON string.
func TextBlock(body []byte) Block { return Block{Kind: conversation.Text, Body: body} }

// ContextBlock returns a block of context that the agent gave the model beside the conversation. is is the
// agent's word for it, about its subject or "".
func ContextBlock(is, about, text string) Block {
	return Block{Kind: conversation.Context, ID: is, Name: about, Body: jsontape.AppendQuoted(nil, text)}
}

// FailureBlock returns a block that says why a message is not whole, from a JSON string.
func FailureBlock(why []byte) Block { return Block{Kind: conversation.Failure, Body: why} }

// AppendJSON appends the message as JSON, without white space of its own.
func (m *Message) AppendJSON(dst []byte) []byte {
	text := joined{data: dst}
	m.writeJSON(&text)
	return text.data
}

// writeJSON writes what AppendJSON appends.
func (m *Message) writeJSON(to *joined) { m.writeBlocks(to, func(*Block, int) {}) }

// writeBlocks writes what AppendJSON appends, and calls wrote with each block that was written from a place on.
func (m *Message) writeBlocks(to *joined, wrote func(b *Block, from int)) {
	to.addText(`{"role":"`, m.Role.String(), `","content":[`)
	for i := range m.Blocks {
		if i > 0 {
			to.addText(`,`)
		}
		from := len(to.data)
		m.Blocks[i].writeJSON(to)
		wrote(&m.Blocks[i], from)
	}
	to.addText(`]`)
	writeMember(to, "id", m.ID)
	writeMember(to, "model", m.Model)
	if u := m.Usage; u.Counted {
		to.addText(`,"usage":{"inputTokens":`, formatNumber(u.Input), `,"outputTokens":`, formatNumber(u.Output), `,"totalTokens":`, formatNumber(u.Input+u.Output),
			`,"cacheReadInputTokens":`, formatNumber(u.CacheRead), `,"cacheWriteInputTokens":`, formatNumber(u.CacheWrite), `}`)
	}
	if m.Usage.Milliseconds > 0 {
		to.addText(`,"metadata":{"metrics":{"latencyMs":`, formatNumber(m.Usage.Milliseconds), `}}`)
	}
	if m.Usage.Priced {
		to.addText(`,"cost":`, formatNumber(m.Usage.Cost))
	}
	for i, raw := range m.Raw {
		switch {
		case i > 0:
			to.addText(`,`)
		case len(m.Raw) > 1:
			to.addText(`,"raw":[`)
		default:
			to.addText(`,"raw":`)
		}
		to.addBytes(raw)
	}
	if len(m.Raw) > 1 {
		to.addText(`]`)
	}
	to.addText(`}`)
}

func writeMember(to *joined, key, text string) {
	if text != "" {
		to.addText(`,"`, key, `":`, quoteJSON(text))
	}
}

func quoteJSON(text string) string { return string(jsontape.AppendQuoted(nil, text)) }

func formatNumber(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

func (b *Block) writeJSON(to *joined) {
	body := b.Body
	if len(body) == 0 {
		body = []byte("null")
	}
	switch b.Kind {
	case conversation.Text:
		to.addText(`{"text":`)
		to.addBytes(body)
		to.addText(`}`)
	case conversation.Context:
		to.addText(`{"context":{"type":`, quoteJSON(b.ID))
		writeMember(to, "name", b.Name)
		to.addText(`,"text":`)
		to.addBytes(body)
		to.addText(`}}`)
	case conversation.Failure:
		to.addText(`{"failure":{"text":`)
		to.addBytes(body)
		to.addText(`}}`)
	case conversation.Reasoning:
		to.addText(`{"reasoning":{"text":`)
		to.addBytes(body)
		to.addText(`}}`)
	case conversation.ToolCall:
		to.addText(`{"toolUse":{"toolUseId":`, quoteJSON(b.ID), `,"name":`, quoteJSON(b.Name), `,"input":`)
		to.addBytes(body)
		to.addText(`}}`)
	case conversation.ToolResult:
		to.addText(`{"toolResult":{"toolUseId":`, quoteJSON(b.ID))
		writeMember(to, "name", b.Name)
		status := "success"
		if b.Failed {
			status = "error"
		}
		to.addText(`,"status":"`, status, `","content":`)
		writeResult(to, body)
		to.addText(`}}`)
	default:
		to.addText(`{"json":`)
		to.addBytes(body)
		to.addText(`}`)
	}
}

// writeResult writes the content of a result: a list of blocks as it is, a text or any
// other value as the one block.
func writeResult(to *joined, body []byte) {
	before, after := `[{"json":`, `}]`
	switch body[0] {
	case '[':
		before, after = "", ""
	case '"':
		before = `[{"text":`
	}
	to.addText(before)
	to.addBytes(body)
	to.addText(after)
}

const (
	// mostTitle bounds a title in bytes, and mostName the name of a tool.
	mostTitle, mostName = conversation.MaxTitle, 80
)

// Said is the small part of a message that a timeline shows. The texts are untrusted.
type Said struct {
	Role Role
	// Words are the beginning of the first text, on one line, or a label if the message has no text. By says
	// whether a person typed the Words of a user's message.
	Words string
	By    conversation.Typed
	// Aside says that the program wrote all of a user's message.
	Aside bool
	// Calls are the tools that it calls, and Results what tools gave.
	Calls   []Call
	Results []Result
}

// Call is a tool call, and Act describes it.
type Call struct {
	ID, Name string
	Act      conversation.Act
}

// Result is the result of the call ID: Name is "" where the message does not name the tool.
type Result struct {
	ID, Name string
	conversation.Yield
	// Inferred says that the text of the result alone tells that the tool failed.
	Inferred bool
}

// Summarise returns the part of the message that a timeline shows.
func (m *Message) Summarise() Said {
	s := Said{Role: m.Role}
	if m.Role == User {
		s.Words, s.By = m.typedWords()
	}
	for i := range m.Blocks {
		b := &m.Blocks[i]
		switch name := conversation.Cut(conversation.OneLine(b.Name), mostName); b.Kind {
		case conversation.ToolCall:
			s.Calls = append(s.Calls, Call{b.ID, name, conversation.NewAct(name, b.Body)})
		case conversation.ToolResult:
			r := Result{ID: b.ID, Name: name, Yield: conversation.ReadYield(b.Body), Inferred: b.Inferred != ""}
			r.Failed, r.Exit = b.Failed || r.Failed, cmp.Or(strings.TrimPrefix(b.Inferred, exitWords), r.Exit)
			s.Results = append(s.Results, r)
		case conversation.Text:
			if s.Words == "" {
				s.Words = m.firstWords(b.Body)
			}
		}
	}
	attached := slices.ContainsFunc(m.Blocks, func(b Block) bool { return b.Kind != conversation.Text })
	s.Aside = m.Role == User && s.By == conversation.Wrapped && s.Words != "" && !attached
	if s.Words == "" && len(s.Calls)+len(s.Results) == 0 {
		s.Words = m.blockLabel()
	}
	return s
}

// typedWords returns the words of the message that a person typed, on one line.
func (m *Message) typedWords() (words string, by conversation.Typed) {
	words, by = conversation.FirstTyped(func(yield func(string) bool) {
		for i := range m.Blocks {
			b := &m.Blocks[i]
			if b.Kind == conversation.Text && len(b.Body) > 0 && b.Body[0] == '"' && !yield(stringHead(b.Body)) {
				return
			}
		}
	})
	return conversation.Cut(conversation.OneLine(conversation.Cut(words, 4*mostTitle)), mostTitle), by
}

// firstWords returns the beginning of a JSON string on one line, without the tags that a program wrote around it.
func (m *Message) firstWords(body []byte) string {
	const tagged = 64 // bytes in which the first tag begins
	if m.Role == Assistant || len(body) == 0 || body[0] != '"' || bytes.IndexByte(body[:min(len(body), tagged)], '<') < 0 {
		return Words(body, mostTitle)
	}
	const enough, spelled = 4 * mostTitle, 6 // bytes of the text, and of the longest spelling of one
	head := string(jsontape.Prefix(body, enough*spelled).AppendText(nil, 0, enough))
	return conversation.Cut(conversation.UnwrapText(conversation.OneLine(head)), mostTitle)
}

// stringHead returns a JSON string, cut where it is long enough to tell the words that a person typed.
func stringHead(body []byte) string {
	const enough = 1 << 20
	if len(body) > enough {
		return string(jsontape.Prefix(body, enough).AppendText(nil, 0, enough))
	}
	return jsontape.Unquote(body)
}

// blockLabel describes a message without words: by the model's thought, by the agent's system text, or by the kind
// of the first block. Where Hindcast does not know the kind, label uses the agent's word: "image".
func (m *Message) blockLabel() string {
	if len(m.Blocks) == 0 {
		return ""
	}
	first := &m.Blocks[0]
	if first.Kind == conversation.Failure {
		return ""
	}
	if first.Kind == conversation.Reasoning || m.Role == System {
		if words := m.firstWords(first.Body); words != "" {
			return words
		}
	}
	if first.Kind == conversation.Text {
		return conversation.BlankText
	}
	is := first.Kind.String()
	if first.Kind == conversation.Unknown {
		if file := conversation.FileLabel(first.Body); file != "" {
			return file
		}
		is = cmp.Or(ParseHead(first.Body).Get("type").Words(), is)
	}
	return "(" + is + ")"
}

// Title returns one line on the message, as package conversation words it. calls are the calls by
// their ids, and dir is the folder that the session is about. failed says that a tool failed.
func (s *Said) Title(calls map[string]*Call, dir string) (title string, failed bool) {
	var acts conversation.Acts
	told := map[string]bool{}
	for i := range s.Calls {
		c := &s.Calls[i]
		if r := slices.IndexFunc(s.Results, func(r Result) bool { return r.ID == c.ID }); r >= 0 {
			told[c.ID] = true
			acts.Add(c.Act.TextIn(dir), c.Act.Outcome(s.Results[r].Yield), s.Results[r].Failed)
		} else {
			acts.Add(c.Act.TextIn(dir), "", false)
		}
	}
	for i := range s.Results {
		r := &s.Results[i]
		if failed = failed || r.Failed; told[r.ID] {
			continue
		}
		act := &conversation.Act{Text: cmp.Or(r.Name, "tool")}
		if call := calls[r.ID]; call != nil {
			act = &call.Act
		}
		acts.Add(act.TextIn(dir), act.Outcome(r.Yield), r.Failed)
	}
	switch {
	case len(s.Calls) > 0:
		return conversation.Calls(s.Words, acts.Title()), failed
	case len(s.Results) > 0:
		return acts.Title(), failed
	}
	return s.Words, false
}

// Words returns the beginning of a JSON string on one line, at most limit bytes; "" for
// anything else.
func Words(body []byte, limit int) string {
	if len(body) == 0 || body[0] != '"' {
		return ""
	}
	const spelled = 6 // bytes of the longest spelling of a character
	text := ""
	if len(body) > 4*spelled*limit {
		text = string(jsontape.Prefix(body, 4*spelled*limit).AppendText(nil, 0, 4*limit))
	} else {
		text = jsontape.Unquote(body)
	}
	return conversation.Cut(conversation.OneLine(conversation.Cut(text, 4*limit)), limit)
}

// AddContent adds the blocks of a content as Anthropic's API has them, or of a text. A message with the result of a tool
// is the tool's.
func (m *Message) AddContent(content Value) {
	if content.Kind() != jsontape.Array {
		if content.There() {
			m.Blocks = append(m.Blocks, TextBlock(content.Raw()))
		}
		return
	}
	for v := range content.Each() {
		b := Block{Kind: conversation.Unknown, Body: v.Raw()}
		switch v.Get("type").Text() {
		case "text":
			b = TextBlock(v.Get("text").Raw())
		case "thinking":
			words := v.Get("thinking")
			if !words.There() { // Droid's first versions
				words = v.Get("text")
			}
			b = Block{Kind: conversation.Reasoning, Body: words.Raw()}
		case "tool_use":
			b = Block{Kind: conversation.ToolCall, ID: v.Get("id").Text(), Name: v.Get("name").Text(), Body: v.Get("input").Raw()}
		case "tool_result":
			b = Block{Kind: conversation.ToolResult, ID: v.Get("tool_use_id").Text(), Body: v.Get("content").Raw(), Failed: v.Get("is_error").True()}
			m.Role = Tool
		}
		m.Blocks = append(m.Blocks, b)
	}
}
