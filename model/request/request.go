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
	// Proven says that Body was sent as it stands, but for the order of keys: it has the digest that the agent kept of
	// the request. Else it is put together from the store.
	Proven bool
	// Unknown names the parts of the request that the store does not have, such as "tools".
	Unknown []string
	// At is when it was sent; the zero time if that is not recorded. Purpose is the agent's word for why, or "".
	At      time.Time
	Purpose string
	// Answer is the id of the snapshot of the answer, "" where none came, and Usage what the answer cost.
	Answer string
	Usage  conversation.Usage
	// Window is how many tokens the model takes, 0 if the store does not tell.
	Window int64
}

// HasMessages reports whether the body has messages.
func (r Request) HasMessages() bool { return jsontape.FindMember(r.Body, `"messages"`) != nil }

// WithMessages returns the request with the first n messages of a state, where the store has not kept its messages. The
// other members of the body stay. Without a body nothing is known but the messages.
func (r Request) WithMessages(c *conversation.Conversation, n int) Request {
	t, list := c.Tape(), []byte(nil)
	system := false
	for m := range n {
		message := c.Message(m)
		if message.Held {
			continue // it is kept for later
		}
		system = system || message.Role == conversation.System
		list = appendSent(append(list, ','), t, message.Node)
	}
	if r.Body == nil {
		r.Body = []byte(`{}`)
		if !system {
			r.Unknown = append(r.Unknown, "system prompt")
		}
		r.Unknown = append(r.Unknown, "tools", "settings")
	}
	body := slices.Clip(r.Body[:len(r.Body)-1])
	if len(body) > 1 {
		body = append(body, ',')
	}
	r.Body = slices.Concat(body, []byte(`"messages":[`), bytes.TrimPrefix(list, []byte(",")), []byte(`]}`))
	return r
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
