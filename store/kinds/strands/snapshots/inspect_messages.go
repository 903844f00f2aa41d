package snapshots

import (
	"fmt"
	"slices"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/sdk"
)

// checkMessages looks at the messages.
func (in *inspector) checkMessages(list jsontape.Node) {
	t := in.t
	switch t.Kind(list) {
	case jsontape.Array:
	case jsontape.Invalid:
		in.addFaultAt(FaultData, 0, "the data have no messages", verdict{sdk.Loads("without messages"), sdk.Loads("without messages")})
		return
	default:
		in.addFaultAt(FaultData, list, "the messages are no list",
			verdict{sdk.Loses("the next prompt is a TypeError or an AttributeError"), sdk.Refuses("TypeError: messages is not iterable")})
		return
	}
	for n := t.First(list); n >= 0; n = t.Next(n) {
		in.checkMessage(n)
	}
	c := conversation.Decode(t)
	for _, trouble := range c.Troubles() {
		in.addTrouble(c, trouble)
	}
}

// addTrouble notes what an SDK or a provider minds in the order of messages, calls and results.
func (in *inspector) addTrouble(c *conversation.Conversation, of conversation.Trouble) {
	sends, typed := kind, in.item.Dialect == typeScript
	if typed {
		sends = kindTypeScript
	}
	// Of Python that is where a turn stands before its tools run: a call goes on there.
	if of.Code == conversation.UnansweredCall && of.Open && typed && !in.item.Interrupted {
		in.sayOnce(FaultUnanswered, c.Block(of.Block).Node, c.CallText(of),
			"the last message calls a tool, "+c.CallText(of)+", and there is no result", sameVerdict(sdk.Loses("it is sent to the model as it is, and most providers refuse it")))
		return
	}
	n := c.Message(of.Message).Node
	if of.Block >= 0 {
		n = c.Block(of.Block).Node
	}
	if f, is := c.Fault(sends, of); is {
		in.sayOnce(f.Code, n, string(in.t.Raw(n)), f.Meaning, sameVerdict(sdk.Of(f.Severity, f.Verdict)))
	}
}

// sayOnce notes a fault of a message, unless it was told of a newer snapshot.
func (in *inspector) sayOnce(code string, n jsontape.Node, id, meaning string, v verdict) {
	if in.isFirst(code, id, meaning) {
		in.addFaultAt(code, n, meaning, v)
	}
}

// checkMessage looks at one message, as Message.fromMessageData of TypeScript
// does. Python takes everything and stumbles later.
func (in *inspector) checkMessage(n jsontape.Node) {
	t := in.t
	if t.Kind(n) != jsontape.Object {
		in.sayOnce(FaultMessage, n, string(t.Raw(n)[:min(40, len(t.Raw(n)))]), "a message is no object",
			verdict{sdk.Loses("the next prompt is a TypeError"), sdk.Refuses("TypeError: Cannot read properties of undefined (reading 'map')")})
		return
	}
	in.checkRole(t.Find(n, "role"), n)
	content := t.Find(n, "content")
	switch t.Kind(content) {
	case jsontape.Array:
	case jsontape.Invalid:
		in.sayOnce(FaultMessage, n, in.messageID(n), "a message has no content",
			verdict{sdk.Loses("the next prompt is a KeyError: 'content'"), sdk.Refuses("TypeError: Cannot read properties of undefined (reading 'map')")})
		return
	default:
		in.sayOnce(FaultMessage, content, in.messageID(n), "the content of a message is no list of blocks",
			verdict{sent, sdk.Refuses("TypeError: data.content.map is not a function")})
		return
	}
	for b := t.First(content); b >= 0; b = t.Next(b) {
		in.checkBlock(b)
	}
}

func (in *inspector) checkRole(role, message jsontape.Node) {
	switch {
	case role < 0:
		in.sayOnce(FaultRole, message, in.messageID(message), "a message has no role", verdict{sdk.Loses("the next prompt is a KeyError: 'role'"), sent})
	case in.t.Kind(role) != jsontape.String || !slices.Contains([]string{"user", "assistant"}, in.t.Text(role)):
		in.sayOnce(FaultRole, role, in.messageID(message), fmt.Sprintf("no SDK is known to write the role %.40s", in.t.Raw(role)), sameVerdict(sent))
	}
}

// messageID returns the id of a message, "" if it has no id.
func (in *inspector) messageID(message jsontape.Node) string {
	if id := in.memberByKey(message, "tracking_id", "trackingId"); in.t.Kind(id) == jsontape.String {
		return string(in.t.AppendText(nil, id, maxText))
	}
	return ""
}

// The keys of the blocks: those of ContentBlock in types/content.py of Python,
// and those that contentBlockFromData and toolResultContentFromData of TypeScript
// take.
var (
	pythonBlocks = []string{"text", "toolUse", "toolResult", "reasoningContent", "image", "document", "video", "audio",
		"citationsContent", "cachePoint", "guardContent"}
	typeScriptBlocks = []string{"text", "toolUse", "toolResult", "reasoning", "cachePoint", "guardContent", "audio", "image",
		"video", "document", "citations"}
	resultBlocks = []string{"text", "json", "image", "video", "document"}
)

// checkBlock looks at one block of a message.
func (in *inspector) checkBlock(b jsontape.Node) {
	t := in.t
	raw := string(t.Raw(b)[:min(80, len(t.Raw(b)))])
	if t.Kind(b) != jsontape.Object {
		v := verdict{sent, sdk.Refuses("TypeError: Cannot use 'in' operator to search for 'text'")}
		if t.Kind(b) != jsontape.String && t.Kind(b) != jsontape.Array {
			v.python = sdk.Loses("the next prompt is a TypeError")
		}
		in.sayOnce(FaultBlock, b, raw, "a block of a message is no object", v)
		return
	}
	blocks := pythonBlocks
	if in.item.Dialect == typeScript {
		if blocks = typeScriptBlocks; !in.sdk.NewestFollows(takesAudio) {
			blocks = slices.DeleteFunc(slices.Clone(blocks), func(key string) bool { return key == "audio" })
		}
	}
	if !in.hasAny(b, blocks) {
		in.sayOnce(FaultBlock, b, raw, "no SDK of this dialect is known to write a block of this shape", verdict{sent, sdk.Refuses("Error: Unknown ContentBlockData type")})
	}
	if in.item.Dialect != typeScript {
		return
	}
	content := t.Find(t.Find(b, "toolResult"), "content")
	if t.Kind(content) != jsontape.Array {
		return
	}
	for c := t.First(content); c >= 0; c = t.Next(c) {
		if !in.hasAny(c, resultBlocks) {
			in.sayOnce(FaultBlock, c, raw, "no SDK is known to write such a block into a tool result", sameVerdict(sdk.Refuses("Error: Unknown ToolResultContentData type")))
		}
	}
}
