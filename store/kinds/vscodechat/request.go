package vscodechat

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/engine/chat"
)

// How a request becomes messages.
//
//	message, variableData          the person's words, what is attached, and what Copilot Chat put around them
//	result.metadata.toolCallRounds an answer of the model each, with the calls; and their results in toolCallResults
//	response                       what VS Code shows: texts, thoughts, calls and edits, without what a call was given
//
// Where there are no rounds the response is the answer. Where there are, it adds what no round says: edits and warnings.

// request is a request as far as the timeline shows it.
type request struct {
	id          string
	at, done    time.Time
	model, mode string
	// hidden says that an undo took it out.
	hidden bool
	said   chat.Said
	// members has the values of all members but the answer, in order.
	members []piece
	parts   []part
	result  *result
	// owned says that no other request has the members and parts.
	owned bool
}

// piece is a value in the file, and how a message shows it.
type piece struct {
	chat.Span
	as pieceKind
	// key is the member's, or the id of a call; name is the tool's, or the words of a failure.
	key, name string
	failed    bool
}

// pieceKind says which part of a message a value is.
type pieceKind uint8

const (
	asMember  pieceKind = iota // of a request
	asContext                  // what was sent with the person's words
	asPart                     // of a response, without the result of a call
	asOutput                   // the result in a part of a response
	asRound
	asResult  // of a call in a round
	asFailure // why an answer is not whole
)

// part is a part of a response.
type part struct {
	piece
	said chat.Said
	// speaks says that it is a text, calls that it is a call, and done that the call has a result.
	speaks, calls, done bool
	yield               chat.Said // of the result
	// begins is the beginning of its text, on one line.
	begins string
}

// result is the outcome of an answer.
type result struct {
	rounds  []round
	context []piece
	failure []piece
	// text has the texts and thoughts of all rounds, each on one line.
	text    string
	model   string
	usage   conversation.Usage
	elapsed time.Duration
}

// round is an answer of the model with the results of its calls.
type round struct {
	piece
	at      time.Time
	said    chat.Said
	results []piece
	yield   chat.Said
}

// newRequest reads a request that is so far from the beginning of its file.
func newRequest(v chat.Value, at int64, carried *[]chat.Value) (r request) {
	for member := range v.Each() {
		r.learnMember(member.Key(), member, at, carried)
	}
	if r.id == "" {
		r.id = "request"
	}
	return r
}

// learnMember reads a member of a request; the keys of one deep inside are joined with dots.
func (r *request) learnMember(key string, v chat.Value, at int64, carried *[]chat.Value) {
	if _, one := partOf(key); one {
		if v.There() {
			r.parts, *carried = []part{newPart(v, at)}, append(*carried, v)
		}
		return
	}
	switch key {
	case "response":
		r.parts = nil
		for is := range v.Each() {
			p := newPart(is, at)
			if r.parts = append(r.parts, p); !p.calls {
				*carried = append(*carried, is)
			}
		}
		return
	case "result":
		r.result = newResult(v, at, carried)
		return
	case "requestId":
		r.id = strings.TrimPrefix(v.Text(), "request_")
	case "timestamp":
		r.at = v.Time()
	case "modelId":
		r.model = strings.TrimPrefix(v.Text(), "copilot/")
	case "modeInfo":
		r.mode = cmp.Or(v.Get("modeId").Text(), v.Get("kind").Text())
	case "modelState":
		r.done = v.Get("completedAt").Time()
	case "shouldBeRemovedOnSend":
		r.hidden = v.Kind() == jsontape.Object && v.Get("afterUndoStop").Text() == ""
	case "isHidden":
		r.hidden = r.hidden || v.True()
	case "message", "message.text":
		m := chat.Message{Role: chat.User, Blocks: []chat.Block{textBlock(textOf(v))}}
		r.said = m.Summarise()
		*carried = append(*carried, v)
	}
	if span := v.Span(); span.Len > 0 {
		r.members = append(r.members, piece{Span: chat.Span{At: at + span.At, Len: span.Len}, key: key})
	}
}

// partOf returns the place of the part of an answer that a key names, and false for the key of a member.
func partOf(key string) (n int, one bool) {
	at, of := strings.CutPrefix(key, "response.")
	n, err := strconv.Atoi(at)
	return n, of && err == nil && n >= 0
}

// changeMember takes a member as a line has it. pushes says that it extends the one that was there, which is cut first.
func (r *request) changeMember(key string, is *request, pushes bool, from int) {
	if !r.owned {
		r.members, r.parts, r.owned = slices.Clone(r.members), slices.Clone(r.parts), true
	}
	if n, one := partOf(key); one {
		r.parts = slices.Replace(r.parts, min(n, len(r.parts)), min(n+1, len(r.parts)), is.parts...)
		return
	}
	switch key {
	case "response":
		if !pushes {
			from = 0
		}
		r.parts = append(r.parts[:cutAt(from, len(r.parts))], is.parts...)
		return
	case "result":
		r.result = is.result
		return
	case "requestId":
		r.id = is.id
	case "timestamp":
		r.at = is.at
	case "modelId":
		r.model = is.model
	case "modeInfo":
		r.mode = is.mode
	case "modelState":
		r.done = is.done
	case "shouldBeRemovedOnSend", "isHidden":
		r.hidden = is.hidden
	case "message", "message.text":
		r.said = is.said
	}
	if !pushes {
		r.members = slices.DeleteFunc(r.members, func(p piece) bool { return p.key == key })
	}
	r.members = append(r.members, is.members...)
}

// textOf returns the text of a message, of a Markdown string, or of a tree of texts.
func textOf(v chat.Value) string {
	if v.Kind() == jsontape.String {
		return v.Text()
	}
	for _, key := range []string{"text", "value"} {
		if is := v.Get(key); is.Kind() == jsontape.String {
			return is.Text()
		}
	}
	return strings.Join(slices.Collect(chat.Texts(v)), "")
}

func quoteText(text string) []byte { return jsontape.AppendQuoted(nil, text) }

func textBlock(text string) chat.Block { return chat.TextBlock(quoteText(text)) }

// newPart reads a part of a response.
func newPart(v chat.Value, at int64) part {
	blocks, output := partBlocks(v)
	m := chat.Message{Role: chat.Assistant, Blocks: blocks}
	span := v.Span()
	p := part{piece: piece{Span: chat.Span{At: at + span.At, Len: span.Len}, as: asPart}, said: m.Summarise()}
	if len(blocks) > 0 {
		p.calls, p.speaks = blocks[0].Kind == conversation.ToolCall, blocks[0].Kind == conversation.Text
		p.begins = chat.Words(blocks[0].Body, mostBegun)
		if blocks[0].Kind == conversation.Unknown {
			p.begins, p.said.Words = "", v.Get("kind").Words()+": "+conversation.OneLine(textOf(v))
		}
	}
	if p.done = output.Body != nil; p.done {
		m := chat.Message{Role: chat.Tool, Blocks: []chat.Block{output}}
		p.yield = m.Summarise()
	}
	return p
}

// mostBegun bounds the beginning of a text by which a part is found in a round, in bytes.
const mostBegun = 60

// partBlocks returns the blocks of a part of a response, and the result of a call, whose Body is nil without a result.
func partBlocks(v chat.Value) (blocks []chat.Block, output chat.Block) {
	switch v.Get("kind").Text() {
	case "", "markdownContent", "markdownVuln":
		text := textOf(v.Get("content"))
		if v.Get("value").There() {
			text = textOf(v.Get("value"))
		}
		if text != "" {
			blocks = append(blocks, textBlock(text))
		}
	case "inlineReference":
		is := v.Get("inlineReference")
		name := cmp.Or(v.Get("name").Text(), is.Get("name").Text(), is.Get("fsPath").Text(), is.Get("path").Text(), is.Get("uri", "path").Text(), is.Get("location", "uri", "path").Text())
		blocks = append(blocks, textBlock("`"+name[strings.LastIndexAny(name, `/\`)+1:]+"`"))
	case "thinking":
		if text := textOf(v.Get("value")); strings.TrimSpace(text) != "" {
			blocks = append(blocks, chat.Block{Kind: conversation.Reasoning, Body: quoteText(text)})
		}
	case "toolInvocationSerialized":
		id, name := v.Get("toolCallId").Text(), strings.TrimPrefix(v.Get("toolId").Text(), "copilot_")
		blocks = append(blocks, chat.Block{Kind: conversation.ToolCall, ID: id, Name: name, Body: inputOf(v)})
		if v.Get("isComplete").True() {
			output = outputOf(v)
			output.Kind, output.ID, output.Name = conversation.ToolResult, id, name
		}
	default:
		if chat.HasText(v) { // VS Code shows it, and the model does not read it
			blocks = append(blocks, chat.Block{Kind: conversation.Unknown, Body: v.Raw()})
		}
	}
	return blocks, output
}

// inputOf returns the input of a call, as far as the part of a response tells.
func inputOf(v chat.Value) []byte {
	data, said := v.Get("toolSpecificData"), textOf(v.Get("invocationMessage"))
	if raw := data.Get("rawInput"); raw.Kind() == jsontape.Object {
		return raw.Raw()
	}
	if raw := []byte(v.Get("resultDetails", "input").Text()); len(raw) > 0 && jsontape.Valid(raw) {
		return jsontape.AppendCompact(nil, raw)
	}
	key, text := "description", cmp.Or(said, textOf(v.Get("pastTenseMessage")))
	if line := cmp.Or(data.Get("commandLine", "original").Text(), data.Get("command").Text()); line != "" {
		key, text = "command", line
	} else if prompt := data.Get("prompt").Text(); prompt != "" {
		key, text = "prompt", prompt
	}
	return slices.Concat([]byte(`{"`+key+`":`), quoteText(text), []byte("}"))
}

// outputOf returns the result of a call, as far as the part of a response tells.
func outputOf(v chat.Value) (b chat.Block) {
	data, details := v.Get("toolSpecificData"), v.Get("resultDetails")
	text := cmp.Or(data.Get("terminalCommandOutput", "text").Text(), data.Get("result").Text())
	for one := range details.Get("output").Each() {
		text += one.Get("value").Text()
	}
	b.Body = quoteText(cmp.Or(text, textOf(v.Get("pastTenseMessage"))))
	b.Failed = details.Get("isError").True() || data.Get("terminalCommandState", "exitCode").Number() != 0
	return b
}

// newResult reads the outcome of an answer.
func newResult(v chat.Value, at int64, carried *[]chat.Value) *result {
	r := &result{}
	place := func(v chat.Value, as pieceKind, key string) piece {
		return piece{Span: chat.Span{At: at + v.Span().At, Len: v.Span().Len}, as: as, key: key}
	}
	data := v.Get("metadata")
	for _, key := range []string{"renderedGlobalContext", "renderedUserMessage"} {
		if is := data.Get(key); chat.HasText(is) {
			r.context = append(r.context, place(is, asContext, key))
		}
	}
	if why := v.Get("errorDetails", "message"); why.Text() != "" {
		p := place(why, asFailure, "")
		p.name = why.Words()
		r.failure = append(r.failure, p)
	}
	r.model = data.Get("resolvedModel").Text()
	r.usage.Input, r.usage.Output = data.Get("promptTokens").Number(), data.Get("outputTokens").Number()
	r.usage.Counted = r.usage.Input+r.usage.Output > 0
	r.elapsed = time.Duration(v.Get("timings", "totalElapsed").Number()) * time.Millisecond
	gave := data.Get("toolCallResults")
	var texts []string
	for is := range data.Get("toolCallRounds").Each() {
		m := chat.Message{Role: chat.Assistant, Blocks: roundBlocks(is)}
		one := round{piece: place(is, asRound, ""), at: is.Get("timestamp").Time(), said: m.Summarise()}
		answer := chat.Message{Role: chat.Tool}
		for _, b := range m.Blocks {
			switch b.Kind {
			case conversation.ToolCall:
				if is := gave.Get(b.ID); is.There() {
					p := place(is, asResult, b.ID)
					p.name = b.Name
					one.results = append(one.results, p)
					answer.Blocks = append(answer.Blocks, resultBlock(is, p))
					*carried = append(*carried, is)
				}
			default:
				texts = append(texts, conversation.OneLine(jsontape.Unquote(b.Body)))
			}
		}
		*carried = append(*carried, is)
		one.yield = answer.Summarise()
		r.rounds = append(r.rounds, one)
	}
	r.text = strings.Join(texts, " ")
	return r
}

// roundBlocks returns the blocks of an answer of the model.
func roundBlocks(v chat.Value) (list []chat.Block) {
	if text := textOf(v.Get("thinking", "text")); strings.TrimSpace(text) != "" {
		list = append(list, chat.Block{Kind: conversation.Reasoning, Body: quoteText(text)})
	}
	if text := v.Get("response").Text(); strings.TrimSpace(text) != "" {
		list = append(list, chat.TextBlock(v.Get("response").Raw()))
	}
	for call := range v.Get("toolCalls").Each() {
		list = append(list, callOf(call.Get("id"), call))
	}
	return list
}

// callOf returns the block of a call, whose arguments are JSON in a text.
func callOf(id, call chat.Value) chat.Block {
	b := chat.Block{Kind: conversation.ToolCall, ID: id.Text(), Name: call.Get("name").Text()}
	if b.Body = call.Get("arguments").UnwrapJSON(); call.Get("arguments").Kind() == jsontape.String {
		b.Body = jsontape.AppendCompact(nil, b.Body)
	}
	return b
}

// resultBlock returns the block of the result of a call.
func resultBlock(v chat.Value, p piece) chat.Block {
	content := v.Get("content")
	return chat.Block{Kind: conversation.ToolResult, ID: p.key, Name: p.name, Body: quoteText(textOf(content)), Failed: p.failed}
}
