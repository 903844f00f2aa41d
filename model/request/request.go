// Package request reads what was sent to a model: which blocks in which order, how large each is, and what another
// request had of it.
//
//	request.go  a request, as far as a store has it
//	outline.go  its blocks
//	compare.go  what one request has that another had not, and why its cache was of no use
//
// Texts are untrusted.
package request

import (
	"bytes"
	"slices"
	"time"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
)

// Request is a request to a model, as far as a store has it.
type Request struct {
	// Body is its JSON: an object with the messages, and with the system prompt and the tools as far as they are
	// known. Nil says that the store has nothing of requests.
	Body []byte
	// Digest is the SHA-256 that the agent kept of the request: of its JSON with the keys of objects sorted, in hex; ""
	// where it kept none.
	Digest string
	// Proven says that Body was sent as it stands, but for the order of keys, and for what the agent's digest leaves
	// out: it has the Digest. Else it is put together from the store. [NewOutline] finds it out.
	Proven bool
	// Unknown names the parts of the request that the store does not have, such as "tools".
	Unknown []string
	// At is when it was sent; the zero time if that is not recorded. Purpose is the agent's word for why, or "".
	At      time.Time
	Purpose string
	// ByState says that the messages of the states tell the answer, and that Answer and Usage are not set.
	ByState bool
	// Answer is the id of the snapshot of the answer, "" where none came, and Usage what the answer cost.
	Answer string
	Usage  conversation.Usage
	// Window is how many tokens the model takes, 0 if the store does not tell.
	Window int64
}

// HasMessages reports whether the body has messages.
func (r Request) HasMessages() bool { return jsontape.FindMember(r.Body, `"messages"`) != nil }

// Put sets a member of the body to a JSON value, such as "system", "tools" or "model"; of an empty value, and of null,
// nothing. No member is set twice.
func (r *Request) Put(key string, value []byte) {
	if value = bytes.TrimSpace(value); len(value) == 0 || string(value) == "null" {
		return
	}
	body := []byte(`{`)
	if n := len(r.Body) - 1; n > 1 {
		body = append(slices.Clip(r.Body[:n]), ',')
	}
	body = append(jsontape.AppendQuoted(body, key), ':')
	r.Body = append(append(body, value...), '}')
}

// PromptKeys returns the members of a state that have the system prompt: those of Strands's snapshots.
func PromptKeys() []string { return []string{"system_prompt", "systemPrompt"} }

// WithMessages returns the request with the first n messages of a state, where the store has not kept its messages. The
// other members of the body stay, and Unknown names those that it lacks. A first message of the system is the system
// prompt, and a message that repeats the system prompt of the body is left out.
func (r Request) WithMessages(c *conversation.Conversation, n int) Request {
	t, list := c.Tape(), []byte(nil)
	for _, key := range PromptKeys() {
		if jsontape.FindMember(r.Body, `"system"`) == nil {
			r.Put("system", rawOf(t, t.Find(0, key)))
		}
	}
	prompt := jsontape.FindMember(r.Body, `"system"`)
	hasPrompt := prompt != nil
	for m := range n {
		message := c.Message(m)
		if message.Held {
			continue // it is kept for later
		}
		if message.Role == conversation.System {
			if blocks := c.Blocks(m); hasPrompt && len(blocks) == 1 && bytes.Equal(rawOf(t, blocks[0].Body), prompt) {
				continue
			}
			hasPrompt = hasPrompt || list == nil
		}
		list = appendSent(append(list, ','), t, message.Node)
	}
	return r.complete(bytes.TrimPrefix(list, []byte(",")), hasPrompt)
}

// With returns the request with messages, each of them JSON. The other members of the body stay, and Unknown names those
// that it lacks.
func (r Request) With(messages [][]byte) Request {
	return r.complete(bytes.Join(messages, []byte(",")), jsontape.FindMember(r.Body, `"system"`) != nil)
}

// complete puts the elements of a list of messages, and the model that the answer names, into the body.
func (r Request) complete(list []byte, hasPrompt bool) Request {
	if jsontape.FindMember(r.Body, `"model"`) == nil && r.Usage.Model != "" {
		r.Put("model", jsontape.AppendQuoted(nil, r.Usage.Model))
	}
	r.Unknown = r.listMissing(hasPrompt && !slices.Contains(r.Unknown, PromptUnknown))
	r.Put("messages", slices.Concat([]byte{'['}, list, []byte{']'}))
	return r
}

// PromptUnknown is the part of Unknown that says that the system prompt is not known.
const PromptUnknown = "system prompt"

// listMissing returns Unknown with the parts that a body without messages lacks. Settings are never known to be all.
func (r Request) listMissing(hasPrompt bool) (missing []string) {
	tools, settings := "tools", "settings"
	for m := range jsontape.Members(r.Body) {
		switch string(m.Key) {
		case "", `"system"`:
		case `"tools"`:
			tools = ""
		default:
			settings = "other settings"
		}
	}
	if !hasPrompt {
		missing = append(missing, PromptUnknown)
	}
	if tools != "" {
		missing = append(missing, tools)
	}
	missing = append(missing, settings)
	for _, other := range r.Unknown {
		if other != PromptUnknown {
			missing = append(missing, other)
		}
	}
	return missing
}

// appendSent appends a message as it is sent. Of a message that has the agent's own record beside it, that is the role
// and the content.
func appendSent(dst []byte, t *jsontape.Tape, n jsontape.Node) []byte {
	role, content := t.Find(n, "role"), t.Find(n, "content")
	if t.Find(n, "raw") < 0 || role < 0 || content < 0 {
		return append(dst, t.Raw(n)...)
	}
	dst = append(append(dst, `{"role":`...), t.Raw(role)...)
	return append(append(append(dst, `,"content":`...), t.Raw(content)...), '}')
}

// Proof returns "proven" or "rebuilt".
func (r Request) Proof() string {
	if r.Proven {
		return "proven"
	}
	return "rebuilt"
}
