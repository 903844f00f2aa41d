package conversation

import (
	"fmt"
	"sync"

	"hindcast/model/jsontape"
)

// EditedTexts says which values of a coding agent's state can be edited.
const EditedTexts = "only texts of messages and of tool results can be edited"

// fixed says of the kinds of block without a text that can be edited why that is so.
var fixed = sync.OnceValue(func() map[BlockKind]string {
	return map[BlockKind]string{
		Reasoning: "a provider signs or encrypts the thoughts of its model, and refuses other ones",
		ToolCall:  "the tool ran with this input, and a provider may have signed the call: edit its result, or a text",
		Context:   "the agent attached it beside the words, and no one said it",
		Failure:   "it tells of a failure, and the model is not sent it",
	}
})

// EditableText returns the text that can be edited where a person picks a value of a coding agent's state: the value
// itself, or the only one in it, or in the block or the message that it is in. Without one text is -1, and why says why.
func (c *Conversation) EditableText(picked Node) (text Node, why string) {
	m := -1
	if picked > 0 {
		m = c.Find(picked)
	}
	if m < 0 || picked < c.messages[m].Node || picked >= c.tape.End(c.messages[m].Node) {
		return jsontape.None, EditedTexts
	}
	if role := c.messages[m].Role; role != User && role != Assistant && role != Tool {
		return jsontape.None, fmt.Sprintf("message %d is the %s's, which the agent writes itself", m, role)
	}
	in := Block{Node: c.messages[m].Node, Kind: Unknown}
	var list []Node
	for _, b := range c.Blocks(m) {
		texts := c.textsOf(&b)
		if picked >= b.Node && picked < c.tape.End(b.Node) {
			in, list = b, texts
			break
		}
		list = append(list, texts...)
	}
	for _, n := range list {
		if n == picked {
			return n, ""
		}
	}
	switch {
	case len(list) == 1:
		return list[0], ""
	case len(list) > 1:
		return jsontape.None, fmt.Sprintf("there are %d texts in message %d: select one of them", len(list), m)
	case fixed()[in.Kind] != "":
		return jsontape.None, fixed()[in.Kind]
	}
	return jsontape.None, fmt.Sprintf("message %d has no text there: %s", m, EditedTexts)
}

// textsOf returns the strings of a block that can be edited: its text, or the texts that a tool gave.
func (c *Conversation) textsOf(b *Block) (list []Node) {
	switch {
	case b.Body < 0:
	case b.Kind == Text && c.tape.Kind(b.Body) == jsontape.String:
		list = append(list, b.Body)
	case b.Kind == ToolResult && c.tape.Kind(b.Body) == jsontape.Array:
		for part := c.tape.First(b.Body); part >= 0; part = c.tape.Next(part) {
			if n := c.tape.Find(part, "text"); n >= 0 && c.tape.Kind(n) == jsontape.String {
				list = append(list, n)
			}
		}
	}
	return list
}
