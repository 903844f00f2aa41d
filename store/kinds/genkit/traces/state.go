package traces

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"

	"hindcast/model/jsontape"
	"hindcast/store/media/files"
)

// State returns the state of a step by its id, or of a turn's end.
//
// The state of a turn's end is the output of the turn span, byte for byte.
//
// The state of a step is put together, in the shape of a session's state: "messages" as they went to the
// model, its answer, and the answers of the tools; "sessionId"; and "trace" with further data of the trace.
// Each message is as the trace holds it, byte for byte. Messages from the agent's prompt, which no state of
// a session holds, are in "trace" under "prompt", so that the difference between two steps is the addition
// of the second. The custom state and the artifacts are left out: in the middle of a turn no trace knows
// them.
//
// The answers of the tools are taken from the input of the next model call. Without such a call, because
// the turn failed or was interrupted, they are made from the tools' own outputs, and a tool without an
// output has no answer.
//
// The errors are ErrUnknown, ErrNoState, and errors of reading a file.
func (t *Traces) State(ctx context.Context, id string) ([]byte, error) {
	spanID, name, ok := split(id)
	if !ok {
		return nil, fmt.Errorf("genkit: trace of %.80q: %w", id, ErrUnknown)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	file := path.Join(t.folder(), name)
	doc := files.ReadDocument(t.read, file, nil)
	if doc.Err != nil {
		return nil, fmt.Errorf("genkit: read %s: %w", file, doc.Err)
	}
	d, err := takeApart(doc.Tape)
	if err != nil {
		return nil, fmt.Errorf("genkit: read %s: %w", file, err)
	}
	state, err := d.state(spanID, name)
	if err != nil {
		return nil, fmt.Errorf("genkit: %s: span %.80q: %w", file, spanID, err)
	}
	return state, nil
}

// state finds a span among the turns and returns its state.
func (d *document) state(id, trace string) ([]byte, error) {
	for agent := range d.spans {
		session := d.attr(agent, attrSession)
		if d.spans[agent].subtype != "agent" || !validID(session) {
			continue
		}
		for _, turn := range d.turnsOf(agent) {
			if d.spans[turn].id == id {
				return d.endState(turn)
			}
			rounds := d.rounds(turn)
			for k := range rounds {
				if d.spans[rounds[k].model].id == id {
					return d.stepState(rounds, k, session, trace)
				}
			}
		}
	}
	return nil, ErrUnknown
}

// endState returns the state in the output of a turn.
func (d *document) endState(turn int) ([]byte, error) {
	output := []byte(d.attr(turn, attrOutput))
	if len(output) == 0 {
		return nil, ErrNoState
	}
	for m, err := range jsontape.Members(output) {
		if err != nil {
			return nil, fmt.Errorf("output: %w", err)
		}
		if string(m.Key) == `"state"` && jsontape.Valid(m.Value) {
			return m.Value, nil
		}
	}
	return nil, ErrNoState
}

// stepState puts the state of a step together.
func (d *document) stepState(rounds []round, k int, session, trace string) ([]byte, error) {
	r := rounds[k]
	given, err := d.given(r.model)
	if err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	answer, err := d.answer(r.model)
	if err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	messages := given
	if rest := d.continuedMessages(rounds[k+1:], given, answer); rest != nil {
		messages = append(messages, rest...)
	} else if answer != nil {
		messages = append(messages, answer)
		if told := d.toolMessage(r.tools, answer); told != nil {
			messages = append(messages, told)
		}
	}
	var b bytes.Buffer
	var prompt [][]byte
	b.WriteString(`{"messages":[`)
	sep := ""
	for _, m := range messages {
		if ofPrompt(m) {
			prompt = append(prompt, m)
			continue
		}
		b.WriteString(sep)
		b.Write(m)
		sep = ","
	}
	b.WriteString(`],"sessionId":`)
	b.Write(quoteJSON(session))
	b.WriteString(`,"trace":`)
	d.appendTrace(&b, r, prompt, trace)
	b.WriteByte('}')
	return b.Bytes(), nil
}

// appendTrace writes what the trace tells of a step besides its messages. The
// times are as the trace has them, in milliseconds since 1970.
func (d *document) appendTrace(b *bytes.Buffer, r round, prompt [][]byte, trace string) {
	b.WriteString(`{"traceId":`)
	b.Write(quoteJSON(trace))
	d.appendSpan(b, ',', r.model)
	b.WriteString(`,"tools":[`)
	for i, tool := range r.tools {
		if i > 0 {
			b.WriteByte(',')
		}
		d.appendSpan(b, '{', tool)
		b.WriteByte('}')
	}
	b.WriteByte(']')
	if len(prompt) > 0 {
		b.WriteString(`,"prompt":[`)
		b.Write(bytes.Join(prompt, []byte(",")))
		b.WriteByte(']')
	}
	b.WriteByte('}')
}

// appendSpan writes the members that tell of one span, first the byte before.
func (d *document) appendSpan(b *bytes.Buffer, before byte, i int) {
	s := &d.spans[i]
	b.WriteByte(before)
	b.WriteString(`"spanId":`)
	b.Write(quoteJSON(s.id))
	b.WriteString(`,"name":`)
	b.Write(quoteJSON(s.name))
	for _, key := range []string{"startTime", "endTime"} {
		if n := d.tape.Find(s.node, key); n >= 0 && jsontape.Valid(d.tape.Raw(n)) {
			b.WriteString(`,"` + key + `":`)
			b.Write(d.tape.Raw(n))
		}
	}
	if why := d.failure(i); why != "" {
		key := "error"
		if s.tool() && d.isInterrupt(i) {
			key = "interrupted"
		}
		b.WriteString(`,"` + key + `":`)
		b.Write(quoteJSON(why))
	}
}

// quoteJSON returns a text as JSON, with <, > and & as they are.
func quoteJSON(text string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(text) != nil {
		return []byte(`""`) // it cannot be
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// given returns the messages that a model was called with.
func (d *document) given(model int) ([][]byte, error) {
	input := []byte(d.attr(model, attrInput))
	if !jsontape.Valid(input) {
		_, err := jsontape.Parse(input)
		return nil, err
	}
	var list [][]byte
	for m, err := range elements(input, `"messages"`) {
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}

// answer returns the message with which a model answered, nil if it did not.
func (d *document) answer(model int) ([]byte, error) {
	output := d.attr(model, attrOutput)
	if output == "" {
		return nil, nil
	}
	if !jsontape.Valid([]byte(output)) {
		_, err := jsontape.Parse([]byte(output))
		return nil, err
	}
	if message := jsontape.FindMember([]byte(output), `"message"`); len(message) > 0 && message[0] == '{' {
		return message, nil
	}
	return nil, nil
}

// maxLater bounds how many later calls are looked at for the one that goes on from
// a call. It is nearly always the next; an agent that asks several models at once
// has the calls of all between.
const maxLater = 16

// continuedMessages returns the messages that the next call of the conversation was given after the messages of
// this one: its answer and the tools' results. It is nil where no later call goes on from here.
func (d *document) continuedMessages(later []round, given [][]byte, answer []byte) [][]byte {
	n := len(given)
	for _, r := range later[:min(len(later), maxLater)] {
		next, err := d.given(r.model)
		if err != nil || len(next) <= n+1 || !equal(next[n], answer) {
			continue
		}
		// The first call after this one that has its answer was given the tools'
		// answers next; a later one has more.
		end := n + 1
		for end < len(next) && role(next[end]) == "tool" {
			end++
		}
		if end > n+1 {
			return next[n:end]
		}
	}
	return nil
}

// equal reports whether two messages are the same but for their metadata, in
// which an interrupt may be noted.
func equal(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, errX := jsontape.Parse(a)
	y, errY := jsontape.Parse(b)
	if errX != nil || errY != nil {
		return false
	}
	p, q := x.Find(0, "content"), y.Find(0, "content")
	return p >= 0 && q >= 0 && jsontape.Equal(x, p, y, q)
}

// maxSame bounds the runs of one tool that are looked at for one request.
const maxSame = 100

// toolMessage makes the message of the tools from what they gave themselves, in the
// order of the requests; nil if none gave anything.
func (d *document) toolMessage(tools []int, answer []byte) []byte {
	runs := make(map[string][]int) // those that answered no request yet, by name
	for _, tool := range tools {
		name := d.spans[tool].name
		runs[name] = append(runs[name], tool)
	}
	var b bytes.Buffer
	for part, err := range elements(answer, `"content"`) {
		if err != nil {
			break
		}
		request := jsontape.FindMember(part, `"toolRequest"`)
		if request == nil {
			continue
		}
		// Models may ask for one tool several times; the runs are then in the order
		// of the requests, as far as the trace can tell.
		name := jsontape.FindMember(request, `"name"`)
		left := runs[jsontape.Unquote(name)]
		for k, tool := range left[:min(len(left), maxSame)] {
			if d.sameInput(tool, request) {
				runs[d.spans[tool].name] = slices.Delete(left, k, k+1)
				d.appendResponse(&b, tool, name, jsontape.FindMember(request, `"ref"`))
				break
			}
		}
	}
	if b.Len() == 0 {
		return nil
	}
	return append(append([]byte(`{"content":[`), b.Bytes()...), `],"role":"tool"}`...)
}

// sameInput reports whether a run was given what a request asks for.
func (d *document) sameInput(tool int, request []byte) bool {
	want, have := jsontape.FindMember(request, `"input"`), []byte(d.attr(tool, attrInput))
	if want == nil || bytes.Equal(want, have) {
		return true
	}
	x, errX := jsontape.Parse(want)
	y, errY := jsontape.Parse(have)
	return errX == nil && errY == nil && jsontape.Equal(x, 0, y, 0)
}

// appendResponse writes the part with which a tool answers, if its span has an
// output. A tool of the second version gives an object of parts and output.
func (d *document) appendResponse(b *bytes.Buffer, tool int, name, ref []byte) {
	given := []byte(d.attr(tool, attrOutput))
	if d.failure(tool) != "" || !jsontape.Valid(given) {
		return
	}
	var content, output []byte
	if d.spans[tool].subtype == "tool" {
		output = given
	} else {
		content, output = jsontape.FindMember(given, `"content"`), jsontape.FindMember(given, `"output"`)
	}
	if b.Len() > 0 {
		b.WriteByte(',')
	}
	b.WriteString(`{"toolResponse":{`)
	sep := ""
	for _, m := range []struct {
		key   string
		value []byte
	}{{"content", content}, {"name", name}, {"output", output}, {"ref", ref}} {
		if m.value != nil {
			b.WriteString(sep + `"` + m.key + `":`)
			b.Write(m.value)
			sep = ","
		}
	}
	b.WriteString(`}}`)
}

// ofPrompt reports whether a message comes from the agent's prompt and not from
// the session: what the SDKs leave out of the state. Go and JavaScript mark them.
func ofPrompt(message []byte) bool {
	metadata := jsontape.FindMember(message, `"metadata"`)
	return role(message) == "system" ||
		string(jsontape.FindMember(metadata, `"_genkit_prompt"`)) == "true" || string(jsontape.FindMember(metadata, `"agentPreamble"`)) == "true"
}

func role(message []byte) string { return jsontape.Unquote(jsontape.FindMember(message, `"role"`)) }
