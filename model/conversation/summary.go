package conversation

import (
	"strings"

	"hindcast/model/jsontape"
)

// summaryTools bounds how many tools a summary names.
const summaryTools = 8

// AppendSummary appends one line on message m to dst: the beginning of its
// text, the tools that it calls, or the tools that answered and how
// ("tool result book_train → ok"). Its length is limit bytes at most, give or
// take a name. arrow leads from a tool to its status. The line is untrusted
// and may hold the newlines of the text.
func (c *Conversation) AppendSummary(dst []byte, m, limit int, arrow string) []byte {
	start, tools, last := len(dst), 0, Unknown
	blocks := c.Blocks(m)
	for i := range blocks {
		b := &blocks[i]
		if b.isAside() && len(blocks) > 1 || b.Kind == CachePoint {
			continue
		}
		if len(dst)-start >= limit || tools == summaryTools {
			return append(dst, " …"...)
		}
		isTool, follows := b.Kind == ToolCall || b.Kind == ToolResult, len(dst) > start
		switch {
		case follows && isTool && b.Kind == last:
			dst = append(dst, ", "...)
		case follows:
			dst = append(dst, " · "...)
		}
		if isTool && b.Kind != last {
			dst = append(append(dst, b.Kind.String()...), ' ')
		}
		if isTool {
			tools++
		}
		dst = c.appendBrief(dst, b, max(0, limit-(len(dst)-start)), arrow)
		last = b.Kind
	}
	return dst
}

// appendBrief appends what a summary says of one block.
func (c *Conversation) appendBrief(dst []byte, b *Block, limit int, arrow string) []byte {
	switch b.Kind {
	case ToolCall:
		return append(dst, c.ToolName(b)...)
	case ToolResult:
		dst = append(dst, c.ToolName(b)...)
		if status := b.Status.String(); status != "" {
			dst = append(append(append(dst, ' '), arrow...), ' ')
			dst = append(dst, status...)
		}
		return dst
	case Text, Guard, Reasoning, Failure:
		if c.tape.Kind(b.Body) == jsontape.String && !c.IsEncrypted(b) {
			return c.tape.AppendText(dst, b.Body, limit)
		}
	case Citations:
		for part := range c.Parts(b) {
			if part.Kind == Text {
				return c.tape.AppendText(dst, part.Body, limit)
			}
		}
	case JSON:
		return append(dst, c.tape.Raw(b.Body)[:min(limit, len(c.tape.Raw(b.Body)))]...)
	}
	return append(dst, c.Label(b)...)
}

// ToolName returns the name of the tool that a call or a result is about: its
// own, or that of the call it answers, or else the id. It is untrusted and at
// most 80 bytes long.
func (c *Conversation) ToolName(b *Block) string {
	if b.Name < 0 && b.Kind == ToolResult && b.Pair >= 0 {
		b = c.Block(int(b.Pair))
	}
	for _, n := range []Node{b.Name, b.ID} {
		if c.tape.Kind(n) == jsontape.String {
			name := string(c.tape.AppendText(nil, n, maxName))
			if c.tape.Key(n) == "type" { // of a part of the AI SDK
				name = strings.TrimPrefix(name, "tool-")
			}
			return name
		}
	}
	return "tool"
}

// String returns the status in a word: "ok", "error", or "".
func (s Status) String() string {
	switch s {
	case OK:
		return "ok"
	case Failed:
		return "error"
	}
	return ""
}

// isAside reports whether a block is no title where its message has another: a thought, or a
// context.
func (b *Block) isAside() bool { return b.Kind == Reasoning || b.Kind == Context || b.Kind == Failure }
