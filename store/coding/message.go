package coding

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strconv"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
)

// Message is one message in the shape that all coding agents get here: the blocks are those
// of Strands, which package conversation reads.
//
//	{"role": "assistant",
//	 "content": [{"text": …}, {"reasoning": {"text": …}}, {"toolUse": {…}}, {"toolResult": {…}},
//	             {"context": {"type": "file", "name": …, "text": …}}],
//	 "id": …, "model": …, "usage": {"inputTokens": …, …}, "cost": …,
//	 "raw": the agent's record, whole, or a list of several}
type Message struct {
	Role   Role
	Blocks []Block
	// ID is the id of the model's answer, "" for none.
	ID    string
	Model string
	// Usage is what the answer cost, counted once for an ID.
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
	// Body is JSON: the string of a text or a thought, the input of a call, the result of
	// one, whatever another block is. Nil for none.
	Body []byte
	// Failed says of a result that the tool failed. Inferred are the words where its text alone
	// tells so: "exit code 2".
	Failed   bool
	Inferred string
}

// Exited notes of a result that its text gives an exit code which is not zero. told finds the code
// where the agent writes it: at the beginning of the text, or at its end.
func (b *Block) Exited(told *regexp.Regexp) {
	const most = 512
	text := b.Body
	if len(text) > 2*most {
		text = slices.Concat(text[:most], text[len(text)-most:])
	}
	if m := told.FindSubmatch(text); !b.Failed && m != nil && string(m[1]) != "0" {
		b.Failed, b.Inferred = true, "exit code "+string(m[1])
	}
}

// TextBlock returns a block of text from a JSON string.
func TextBlock(body []byte) Block { return Block{Kind: conversation.Text, Body: body} }

// ContextBlock returns a block of what the agent gave the model beside the conversation: is
// names it in the agent's word, and about what it is about, "" for nothing in particular.
func ContextBlock(is, about, text string) Block {
	return Block{Kind: conversation.Context, ID: is, Name: about, Body: jsontape.AppendQuoted(nil, text)}
}

// leastGrown is the size from which a message has its room at once: to grow step by step copies it.
const leastGrown = 1 << 20

// AppendJSON appends the message as JSON, without white space of its own.
func (m *Message) AppendJSON(dst []byte) []byte {
	size := 0
	for i := range m.Blocks {
		size += len(m.Blocks[i].Body)
	}
	for _, raw := range m.Raw {
		size += len(raw)
	}
	if size > leastGrown {
		dst = slices.Grow(dst, size+size/64)
	}
	dst = append(append(append(dst, `{"role":"`...), m.Role.String()...), `","content":[`...)
	for i := range m.Blocks {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = m.Blocks[i].appendJSON(dst)
	}
	dst = append(dst, ']')
	dst = appendText(dst, "id", m.ID)
	dst = appendText(dst, "model", m.Model)
	if u := m.Usage; u.Counted {
		dst = append(dst, `,"usage":{"inputTokens":`...)
		dst = appendNumber(dst, u.Input)
		dst = append(dst, `,"outputTokens":`...)
		dst = appendNumber(dst, u.Output)
		dst = append(dst, `,"totalTokens":`...)
		dst = appendNumber(dst, u.Input+u.Output)
		dst = append(dst, `,"cacheReadInputTokens":`...)
		dst = appendNumber(dst, u.CacheRead)
		dst = append(dst, `,"cacheWriteInputTokens":`...)
		dst = append(appendNumber(dst, u.CacheWrite), '}')
	}
	if m.Usage.Milliseconds > 0 {
		dst = append(dst, `,"metadata":{"metrics":{"latencyMs":`...)
		dst = append(appendNumber(dst, m.Usage.Milliseconds), "}}"...)
	}
	if m.Usage.Priced {
		dst = append(dst, `,"cost":`...)
		dst = appendNumber(dst, m.Usage.Cost)
	}
	switch len(m.Raw) {
	case 0:
	case 1:
		dst = append(append(dst, `,"raw":`...), m.Raw[0]...)
	default:
		dst = append(append(append(dst, `,"raw":[`...), bytes.Join(m.Raw, []byte(","))...), ']')
	}
	return append(dst, '}')
}

func appendText(dst []byte, key, text string) []byte {
	if text == "" {
		return dst
	}
	dst = append(append(append(dst, `,"`...), key...), `":`...)
	return jsontape.AppendQuoted(dst, text)
}

func appendNumber(dst []byte, n float64) []byte { return strconv.AppendFloat(dst, n, 'f', -1, 64) }

func (b *Block) appendJSON(dst []byte) []byte {
	body := b.Body
	switch b.Kind {
	case conversation.Text:
		return append(append(append(dst, `{"text":`...), orNull(body)...), '}')
	case conversation.Context:
		dst = appendText(jsontape.AppendQuoted(append(dst, `{"context":{"type":`...), b.ID), "name", b.Name)
		return append(append(append(dst, `,"text":`...), orNull(body)...), "}}"...)
	case conversation.Reasoning:
		return append(append(append(dst, `{"reasoning":{"text":`...), orNull(body)...), "}}"...)
	case conversation.ToolCall:
		dst = jsontape.AppendQuoted(append(dst, `{"toolUse":{"toolUseId":`...), b.ID)
		dst = jsontape.AppendQuoted(append(dst, `,"name":`...), b.Name)
		return append(append(append(dst, `,"input":`...), orNull(body)...), "}}"...)
	case conversation.ToolResult:
		dst = jsontape.AppendQuoted(append(dst, `{"toolResult":{"toolUseId":`...), b.ID)
		dst = appendText(dst, "name", b.Name)
		status := "success"
		if b.Failed {
			status = "error"
		}
		dst = append(append(append(dst, `,"status":"`...), status...), `","content":`...)
		return append(appendResult(dst, orNull(body)), "}}"...)
	}
	return append(append(append(dst, `{"json":`...), orNull(body)...), '}')
}

// appendResult appends the content of a result: a list of blocks as it is, a text or any
// other value as the one block.
func appendResult(dst, body []byte) []byte {
	switch body[0] {
	case '[':
		return append(dst, body...)
	case '"':
		return append(append(append(dst, `[{"text":`...), body...), "}]"...)
	}
	return append(append(append(dst, `[{"json":`...), body...), "}]"...)
}

func orNull(body []byte) []byte {
	if len(body) == 0 {
		return []byte("null")
	}
	return body
}

const (
	// mostTitle and mostPart bound a title in bytes, and the words of one that says
	// something else besides; mostName bounds the name of a tool.
	mostTitle, mostPart, mostName = conversation.MaxTitle, 60, 80
)

// Said is what a timeline shows of a message: it is small. The texts are untrusted.
type Said struct {
	Role Role
	// Words are the first that it says, on one line, or what it is without any. Of a message of
	// the user they are what a person typed, where By says so.
	Words string
	By    conversation.Typed
	// Calls are the tools that it calls, and Results what tools gave.
	Calls   []Call
	Results []Result
}

// Call is a tool call.
type Call struct{ ID, Name string }

// Result is the result of a tool call: Name is "" where the message does not name the tool,
// and Why is how one that failed begins.
type Result struct {
	Call
	Failed bool
	Why    string
	// Inferred says that the text of the result alone tells that the tool failed.
	Inferred bool
}

// Said returns what a timeline shows of the message.
func (m *Message) Said() Said {
	s := Said{Role: m.Role}
	if m.Role == User {
		s.Words, s.By = m.typed()
	}
	for i := range m.Blocks {
		b := &m.Blocks[i]
		call := Call{b.ID, conversation.Cut(conversation.OneLine(b.Name), mostName)}
		switch b.Kind {
		case conversation.ToolCall:
			s.Calls = append(s.Calls, call)
		case conversation.ToolResult:
			r := Result{Call: call, Failed: b.Failed, Inferred: b.Inferred != ""}
			if b.Failed {
				r.Why = cmp.Or(b.Inferred, resultWords(b.Body))
			}
			s.Results = append(s.Results, r)
		case conversation.Text:
			if s.Words == "" {
				s.Words = Words(b.Body, mostTitle)
			}
		}
	}
	if s.Words == "" && len(s.Calls)+len(s.Results) == 0 {
		s.Words = m.label()
	}
	return s
}

// typed returns what a person typed of a message, on one line.
func (m *Message) typed() (words string, by conversation.Typed) {
	words, by = conversation.FirstTyped(func(yield func(string) bool) {
		for i := range m.Blocks {
			b := &m.Blocks[i]
			if b.Kind == conversation.Text && len(b.Body) > 0 && b.Body[0] == '"' && !yield(beginning(b.Body)) {
				return
			}
		}
	})
	return conversation.Cut(conversation.OneLine(conversation.Cut(words, 4*mostTitle)), mostTitle), by
}

// beginning returns a JSON string, a long one as far as tells what a person typed.
func beginning(body []byte) string {
	const enough = 1 << 20
	if len(body) > enough {
		return string(jsontape.Prefix(body, enough).AppendText(nil, 0, enough))
	}
	return jsontape.Unquote(body)
}

// label says what a message is that has no words: what the model thought, what the agent told
// it as the system, or the kind of its first block, in the agent's word where Hindcast has none:
// "image".
func (m *Message) label() string {
	if len(m.Blocks) == 0 {
		return ""
	}
	first := &m.Blocks[0]
	if first.Kind == conversation.Reasoning || m.Role == System {
		if words := Words(first.Body, mostTitle); words != "" {
			return words
		}
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

// Title returns one line on the message, as package conversation words it. tools are the
// names of tools by the ids of their calls. failed says that a tool failed.
func (s *Said) Title(tools map[string]string) (title string, failed bool) {
	if len(s.Results) > 0 {
		return conversation.List(s.Results, func(r Result) string {
			name := cmp.Or(r.Name, tools[r.ID], "tool")
			failed = failed || r.Failed
			switch {
			case !r.Failed:
				return name + " ok"
			case r.Why == "":
				return name + " failed"
			}
			return name + ": " + r.Why
		}), failed
	}
	if len(s.Calls) == 0 {
		return s.Words, false
	}
	calls := conversation.List(s.Calls, func(c Call) string { return cmp.Or(c.Name, "tool") })
	if s.Words == "" {
		return "calls " + calls, false
	}
	return conversation.Cut(s.Words, mostPart) + " (calls " + calls + ")", false
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

// resultWords returns the first words of what a tool gave.
func resultWords(body []byte) string {
	if text := Words(body, mostPart); text != "" {
		return text
	}
	for part, err := range jsontape.Members(body) {
		if err != nil {
			return ""
		}
		if text := Words(jsontape.FindMember(part.Value, `"text"`), mostPart); text != "" {
			return text
		}
	}
	return ""
}
