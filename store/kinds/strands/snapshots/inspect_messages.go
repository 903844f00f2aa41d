package snapshots

import (
	"fmt"
	"slices"
	"strings"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/sdk"
)

// call is a tool call or a tool result of a message.
type call struct {
	id   string
	node jsontape.Node
}

func (c call) text() string { return c.id }

// talk is the context that the next message and its calls and results have to fit.
type talk struct {
	calls []call
	node  jsontape.Node
	conversation.Utterance
}

// checkMessages looks at the messages.
func (in *inspector) checkMessages(list jsontape.Node) {
	t := in.t
	switch t.Kind(list) {
	case jsontape.Array:
	case jsontape.Invalid:
		in.fault(FaultData, 0, "the data have no messages", verdict{sdk.Loads("without messages"), sdk.Loads("without messages")})
		return
	default:
		in.fault(FaultData, list, "the messages are no list",
			verdict{sdk.Loses("the next prompt is a TypeError or an AttributeError"), sdk.Refuses("TypeError: messages is not iterable")})
		return
	}
	before := talk{node: jsontape.None}
	for n := t.First(list); n >= 0; n = t.Next(n) {
		before = in.checkMessage(n, before)
	}
	// Of Python that is where a turn stands before its tools run: a call goes on there.
	if last := before; last.node >= 0 && len(last.calls) > 0 && !in.item.Interrupted && in.item.Dialect == typeScript {
		in.sayOnce(FaultUnanswered, last.calls[0].node, last.calls[0].id,
			fmt.Sprintf("the last message calls a tool, %.60q, and there is no result", last.calls[0].id), both(refusedLater))
	}
}

// sayOnce notes a fault of a message, unless it was told of a newer snapshot.
func (in *inspector) sayOnce(code string, n jsontape.Node, id, meaning string, v verdict) {
	if in.once(code, id, meaning) {
		in.fault(code, n, meaning, v)
	}
}

// checkMessage looks at one message, as Message.fromMessageData of TypeScript
// does. Python takes everything and stumbles later.
func (in *inspector) checkMessage(n jsontape.Node, before talk) talk {
	t := in.t
	now := talk{node: n, Utterance: conversation.Utterance{Pieces: true}} // behind which anything may stand
	if t.Kind(n) != jsontape.Object {
		in.sayOnce(FaultMessage, n, string(t.Raw(n)[:min(40, len(t.Raw(n)))]), "a message is no object",
			verdict{sdk.Loses("the next prompt is a TypeError"), sdk.Refuses("TypeError: Cannot read properties of undefined (reading 'map')")})
		return now
	}
	in.checkRole(t.Find(n, "role"), n)
	content := t.Find(n, "content")
	switch t.Kind(content) {
	case jsontape.Array:
	case jsontape.Invalid:
		in.sayOnce(FaultMessage, n, in.known(n), "a message has no content",
			verdict{sdk.Loses("the next prompt is a KeyError: 'content'"), sdk.Refuses("TypeError: Cannot read properties of undefined (reading 'map')")})
		return now
	default:
		in.sayOnce(FaultMessage, content, in.known(n), "the content of a message is no list of blocks",
			verdict{sent, sdk.Refuses("TypeError: data.content.map is not a function")})
		return now
	}
	if role := t.Find(n, "role"); t.Kind(role) == jsontape.String && roles[t.Text(role)] != 0 {
		now.Utterance = conversation.Utterance{Role: roles[t.Text(role)]}
	}
	var results []call
	blank := t.Count(content) > 0
	for b := t.First(content); b >= 0; b = t.Next(b) {
		in.checkBlock(b)
		text := t.Find(b, "text")
		blank = blank && t.Kind(text) == jsontape.String && strings.TrimSpace(t.Text(text)) == ""
		if use := t.Find(b, "toolUse"); use >= 0 {
			now.calls = append(now.calls, call{in.callID(use), b})
		}
		if result := t.Find(b, "toolResult"); result >= 0 {
			results = append(results, call{in.callID(result), b})
		}
		now.Ends = t.Find(b, "toolResult") >= 0
	}
	now.Calls, now.Answers = len(now.calls) > 0, len(results) > 0
	in.pair(before, results)
	if blank {
		in.trouble(conversation.EmptyContent, content, now.Role)
	}
	in.trouble(now.Disorder(before.Utterance), n, now.Role)
	return now
}

// roles are the roles that the SDKs know.
var roles = map[string]conversation.Role{"user": conversation.User, "assistant": conversation.Assistant}

// trouble notes a trouble in a message of a role, if an SDK or a provider minds it.
func (in *inspector) trouble(code string, n jsontape.Node, of conversation.Role) {
	v := both(sdk.Ignores("it is sent to the model as it is"))
	severity, text, mindsPython := conversation.Judge(kind, code, of)
	if mindsPython {
		v.python = sdk.Of(severity, text)
	}
	severity, text, mindsTypeScript := conversation.Judge(kindTypeScript, code, of)
	if mindsTypeScript {
		v.typeScript = sdk.Of(severity, text)
	}
	if mindsPython || mindsTypeScript {
		in.sayOnce(code, n, string(in.t.Raw(n)), conversation.Meaning(code), v)
	}
}

func (in *inspector) checkRole(role, message jsontape.Node) {
	switch {
	case role < 0:
		in.sayOnce(FaultRole, message, in.known(message), "a message has no role", verdict{sdk.Loses("the next prompt is a KeyError: 'role'"), sent})
	case in.t.Kind(role) != jsontape.String || !slices.Contains([]string{"user", "assistant"}, in.t.Text(role)):
		in.sayOnce(FaultRole, role, in.known(message), fmt.Sprintf("no SDK is known to write the role %.40s", in.t.Raw(role)), both(sent))
	}
}

// known returns the id of a message, "" if it has no id.
func (in *inspector) known(message jsontape.Node) string {
	if id := in.key(message, "tracking_id", "trackingId"); in.t.Kind(id) == jsontape.String {
		return string(in.t.AppendText(nil, id, maxText))
	}
	return ""
}

// callID returns the id of a call or a result for comparing: a string decoded,
// anything else as it is.
func (in *inspector) callID(n jsontape.Node) string {
	id := in.t.Find(n, "toolUseId")
	switch in.t.Kind(id) {
	case jsontape.Invalid:
		return ""
	case jsontape.String:
		return in.t.Text(id)
	}
	return string(in.t.Raw(id))
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
			in.sayOnce(FaultBlock, c, raw, "no SDK is known to write such a block into a tool result", both(sdk.Refuses("Error: Unknown ToolResultContentData type")))
		}
	}
}

// pair compares the results of a message with the calls of the one before.
// Neither SDK mends what lies before the last message.
func (in *inspector) pair(before talk, results []call) {
	switch {
	case len(results) > 0 && before.node < 0:
		in.sayOnce(FaultLeadingResult, results[0].node, results[0].id,
			fmt.Sprintf("the messages begin with the result of %.60q, without its call", results[0].id), both(refusedLater))
		return
	case len(results) > 0 && len(before.calls) == 0:
		in.sayOnce(FaultOrphanResult, results[0].node, results[0].id,
			fmt.Sprintf("the result of %.60q follows a message that calls no tool", results[0].id), both(refusedLater))
		return
	}
	pairs := conversation.Pair(before.calls, results, call.text, call.text)
	for _, i := range pairs.Missing {
		code, c := FaultMissingResult, before.calls[i]
		if len(results) > 0 {
			code = FaultPartialResult
		}
		in.sayOnce(code, c.node, c.id, fmt.Sprintf("the tool call %.60q has no result in the next message", c.id), both(refusedLater))
	}
	for _, i := range pairs.Stale {
		in.sayOnce(FaultStaleResult, results[i].node, results[i].id, fmt.Sprintf("the result of %.60q has no call in the message before", results[i].id), both(refusedLater))
	}
	for _, i := range pairs.Again {
		in.sayOnce(FaultDuplicateResult, results[i].node, results[i].id, fmt.Sprintf("a second result of %.60q", results[i].id), both(refusedLater))
	}
}
