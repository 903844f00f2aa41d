package transcript

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
)

// SchemaURL names the version of OpenTelemetry's semantic conventions whose attributes for generative AI spans have.
const SchemaURL = "https://opentelemetry.io/schemas/1.37.0"

// SpansMap is the map with which a document of [Traces] opens as a store: see `hindcast help import`.
const SpansMap = "rows=$.resourceSpans[*].scopeSpans[*].spans[*],where=attributes[?@.key=='gen_ai.operation.name'].value.stringValue==chat," +
	"session=attributes[?@.key=='gen_ai.conversation.id'].value.stringValue,id=spanId,time=startTimeUnixNano,event=name,messages=append," +
	"state=attributes[?@.key=='gen_ai.input.messages'].value.stringValue|fromjson,answer=attributes[?@.key=='gen_ai.output.messages'].value.stringValue|fromjson"

// Traces is a document of OTLP in JSON. Its texts are untrusted. Use NewTraces.
type Traces struct {
	Resources []resourceSpans `json:"resourceSpans"`
}

type resourceSpans struct {
	Resource struct {
		Attributes []attribute `json:"attributes"`
	} `json:"resource"`
	Scopes    []scopeSpans `json:"scopeSpans"`
	SchemaURL string       `json:"schemaUrl"`
}

type scopeSpans struct {
	Scope struct {
		Name string `json:"name"`
	} `json:"scope"`
	Spans     []*span `json:"spans"`
	SchemaURL string  `json:"schemaUrl"`
}

type span struct {
	Trace      string      `json:"traceId"`
	ID         string      `json:"spanId"`
	Parent     string      `json:"parentSpanId,omitempty"`
	Name       string      `json:"name"`
	Kind       int         `json:"kind"`
	Start      string      `json:"startTimeUnixNano"`
	End        string      `json:"endTimeUnixNano"`
	Attributes []attribute `json:"attributes"`
}

type attribute struct {
	Key   string         `json:"key"`
	Value map[string]any `json:"value"`
}

// The kinds of spans in OTLP.
const spanInternal, spanClient = 1, 3

// spokenMessage is a message in the conventions' JSON.
type spokenMessage struct {
	Role   string           `json:"role"`
	Parts  []map[string]any `json:"parts"`
	Finish string           `json:"finish_reason,omitempty"`
}

// NewTraces returns a document without spans. service names the program that had the conversations.
func NewTraces(service string) *Traces {
	of := resourceSpans{SchemaURL: SchemaURL, Scopes: []scopeSpans{{SchemaURL: SchemaURL, Spans: []*span{}}}}
	of.Resource.Attributes = []attribute{textAttribute("service.name", service)}
	of.Scopes[0].Scope.Name = "hindcast"
	return &Traces{[]resourceSpans{of}}
}

// Len returns the number of spans.
func (t *Traces) Len() int { return len(t.Resources[0].Scopes[0].Spans) }

// AddConversation adds the spans of a conversation: one for the agent's invocation, and below it one for each answer of the model. A span of an answer
// has the messages since the answer before as its input, so that a document is as long as the conversation. Messages after the last answer are the
// input of a span without output. at returns the time of a message, the zero time where it is not known. Hidden reasoning is left out, and files
// are their labels. Without a message it adds nothing.
func (t *Traces) AddConversation(session string, agent TrajectoryAgent, c *conversation.Conversation, at func(m int) time.Time) {
	w := spanWriter{t: t, session: session, agent: agent, c: c, at: at}
	first := t.Len()
	t.addSpan(&span{}) // the invocation's place
	for m := range c.Len() {
		w.takeMessage(m)
	}
	w.flushSpan("", nil)
	spans := t.Resources[0].Scopes[0].Spans
	if len(spans) == first+1 {
		t.Resources[0].Scopes[0].Spans = spans[:first]
		return
	}
	*spans[first] = span{Trace: w.newID(16, "trace"), ID: w.newID(8, "root"), Name: "invoke_agent " + agent.Name, Kind: spanInternal,
		Start: spans[first+1].Start, End: spans[len(spans)-1].End,
		Attributes: append(w.commonAttributes("invoke_agent"), textAttribute("gen_ai.agent.name", agent.Name))}
}

func (t *Traces) addSpan(s *span) {
	t.Resources[0].Scopes[0].Spans = append(t.Resources[0].Scopes[0].Spans, s)
}

// spanWriter makes the spans of one conversation.
type spanWriter struct {
	t       *Traces
	session string
	agent   TrajectoryAgent
	c       *conversation.Conversation
	at      func(m int) time.Time

	// input are the messages since the last answer, begun the time of the first, and now that of the last message.
	input      []spokenMessage
	begun, now int64
	made       int
}

// takeMessage takes in a message.
func (w *spanWriter) takeMessage(m int) {
	if at := w.at(m); !at.IsZero() {
		w.now = max(w.now, at.UnixNano())
	}
	if w.begun == 0 {
		w.begun = w.now
	}
	said := w.newMessage(m)
	if len(said.Parts) == 0 {
		return
	}
	if said.Role != "assistant" {
		w.input = append(w.input, said)
		return
	}
	said.Finish = "stop"
	for _, part := range said.Parts {
		if part["type"] == "tool_call" {
			said.Finish = "tool_call"
		}
	}
	usage := conversation.UsageOf(w.c.Tape(), w.c.Message(m).Node)
	more := []attribute{messagesAttribute("gen_ai.output.messages", []spokenMessage{said})}
	if usage.Model != "" {
		more = append(more, textAttribute("gen_ai.response.model", usage.Model))
	}
	if usage.Counted {
		more = append(more, intAttribute("gen_ai.usage.input_tokens", count(usage.Input)), intAttribute("gen_ai.usage.output_tokens", count(usage.Output)))
	}
	w.flushSpan(usage.Model, more)
}

// flushSpan adds the span of an answer. Without an answer and without input it adds nothing.
func (w *spanWriter) flushSpan(model string, answer []attribute) {
	if answer == nil && len(w.input) == 0 {
		return
	}
	if w.input == nil {
		w.input = []spokenMessage{}
	}
	name := "chat"
	if model == "" {
		model = w.agent.Model
	}
	attributes := w.commonAttributes("chat")
	if model != "" {
		name += " " + model
		attributes = append(attributes, textAttribute("gen_ai.request.model", model))
	}
	attributes = append(append(attributes, messagesAttribute("gen_ai.input.messages", w.input)), answer...)
	w.made++
	w.t.addSpan(&span{Trace: w.newID(16, "trace"), ID: w.newID(8, "span", strconv.Itoa(w.made)), Parent: w.newID(8, "root"), Name: name, Kind: spanClient,
		Start: strconv.FormatInt(w.begun, 10), End: strconv.FormatInt(w.now, 10), Attributes: attributes})
	w.input, w.begun = nil, w.now
}

// commonAttributes returns the attributes of every span.
func (w *spanWriter) commonAttributes(operation string) []attribute {
	return []attribute{textAttribute("gen_ai.operation.name", operation), textAttribute("gen_ai.provider.name", w.agent.Name), textAttribute("gen_ai.conversation.id", w.session)}
}

// newID returns the hex of n bytes of a hash: ids are the same each time that a session is written.
func (w *spanWriter) newID(n int, words ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q", w.session, words))
	return hex.EncodeToString(sum[:n])
}

// spokenRoles are the conventions' words for roles.
var spokenRoles = map[conversation.Role]string{conversation.Assistant: "assistant", conversation.Tool: "tool", conversation.System: "system"}

// newMessage returns a message with its parts.
func (w *spanWriter) newMessage(m int) spokenMessage {
	said := spokenMessage{Role: spokenRoles[w.c.Message(m).Role], Parts: []map[string]any{}}
	if said.Role == "" {
		said.Role = "user"
	}
	first := w.c.FirstBlock(m)
	for i := range w.c.Blocks(m) {
		b := w.c.Block(first + i)
		part := PartOf(w.c, b)
		switch b.Kind {
		case conversation.CachePoint:
		case conversation.ToolCall:
			said.Role = "assistant"
			said.Parts = append(said.Parts, map[string]any{"type": "tool_call", "id": w.callID(first + i), "name": part.Tool, "arguments": orEmpty(part.Input)})
		case conversation.ToolResult:
			response := map[string]any{"type": "tool_call_response", "id": w.callID(first + i), "response": responseOf(&part)}
			if part.Status == statusWord(conversation.Failed) {
				response["is_error"] = true
			}
			said.Parts = append(said.Parts, response)
		case conversation.Reasoning:
			if part.Text != "" {
				said.Role = "assistant"
				said.Parts = append(said.Parts, map[string]any{"type": "reasoning", "content": part.Text})
			}
		default:
			var texts content
			texts.addPart(&Part{Text: part.Text, Value: part.Value, Kind: part.Kind, Label: part.Label})
			for _, of := range texts {
				said.Parts = append(said.Parts, map[string]any{"type": "text", "content": *of.Text})
			}
		}
	}
	return said
}

// callID returns the id of the call in a block, or of the call that a result answers: its own, or the number of the call's block.
func (w *spanWriter) callID(n int) string {
	b := w.c.Block(n)
	if b.Kind == conversation.ToolResult && b.Pair >= 0 {
		n = int(b.Pair)
		b = w.c.Block(n)
	}
	id := ""
	if b.ID >= 0 {
		id = w.c.Tape().Text(b.ID)
	}
	if id == "" {
		id = fmt.Sprintf("call_%d", n)
	}
	return id
}

// responseOf returns the output of a result: a text, or the JSON of a single output.
func responseOf(part *Part) any {
	if len(part.Output) == 1 {
		return part.Output[0]
	}
	list := make([]map[string]any, 0, len(part.Output))
	for _, output := range part.Output {
		list = append(list, map[string]any{"type": "text", "content": Plain(output)})
	}
	return list
}

// orEmpty returns JSON, an empty object for nothing.
func orEmpty(value json.RawMessage) json.RawMessage {
	if !jsontape.Valid(value) {
		return json.RawMessage("{}")
	}
	return value
}

func textAttribute(key, value string) attribute {
	return attribute{key, map[string]any{"stringValue": value}}
}

// intAttribute returns an attribute that is an integer, which OTLP writes as a text.
func intAttribute(key string, n int64) attribute {
	return attribute{key, map[string]any{"intValue": strconv.FormatInt(n, 10)}}
}

// messagesAttribute returns an attribute of messages, as the JSON text that a span takes.
func messagesAttribute(key string, list []spokenMessage) attribute {
	return textAttribute(key, string(jsontape.EncodePlain(list)))
}
