// Package prompts finds the texts in a state that the vendor of an agent wrote for the model: the system prompt, the
// descriptions of tools, and the instructions that the agent puts between messages.
//
// A coding agent's message has the agent's own record beside its content, as "raw". The record tells who wrote it:
//
//	agent        its record                              the vendor's              the person's, which stays
//	Codex        a message of role developer             its texts                 AGENTS.md, a message of the user
//	OpenHands    kind SystemPromptEvent                  system_prompt, tools      dynamic_context, with AGENTS.md
//	Copilot CLI  type system.message                     content                   -
//	pi           a message of role system                preamble, tools, rules,   project_context, addendum, skills,
//	                                                     docs among its sections   a prompt of the person's own
//	Claude Code  type attachment, that names no subject  all of it                 what names a file or a hook, as CLAUDE.md
//
// Codex puts the developer_instructions of config.toml into such a message too, and Copilot CLI the instructions of a
// repository into its prompt: nothing tells these apart. The system prompt of a framework is its program's own.
package prompts

import (
	"fmt"
	"strings"

	"hindcast/model"
	"hindcast/model/jsontape"
)

// Part is a value of a state that a vendor wrote.
type Part struct {
	Node jsontape.Node
	// What names it in one or two words: "system prompt".
	What string
	// Text is the text, or the JSON of a value that is no text.
	Text string
}

// The words of Part.What.
const (
	System       = "system prompt"
	Tools        = "list of tools"
	Instructions = "instructions"
	Context      = "context"
)

// record describes the records of an agent that have texts of its vendor.
type record struct {
	// path leads to the member that is such a record's: the text is.
	path []string
	is   string
	// parts are the texts in it.
	parts []recordPart
}

// recordPart is a path to values in a record; * leads to each element.
type recordPart struct {
	what string
	path []string
}

func newPart(what, path string) recordPart { return recordPart{what, strings.Split(path, "/")} }

// attachment is the type of Claude Code's records of texts beside messages.
const attachment = "attachment"

var records = []record{
	{[]string{"payload", "role"}, "developer", []recordPart{newPart(Instructions, "payload/content/*/text")}},
	{[]string{"role"}, "developer", []recordPart{newPart(Instructions, "content/*/text")}},
	{[]string{"kind"}, "SystemPromptEvent", []recordPart{newPart(System, "system_prompt/text"), newPart(Tools, "tools")}},
	{[]string{"type"}, "system.message", []recordPart{newPart(System, "data/content")}},
	{[]string{"message", "role"}, "system", []recordPart{
		newPart(System, "message/sections/preamble"), newPart(Tools, "message/sections/tools"), newPart(System, "message/sections/rules"), newPart(System, "message/sections/docs"),
	}},
	{[]string{"type"}, attachment, []recordPart{newPart(Context, attachment), newPart(Context, "rendered")}},
}

// FindParts returns the parts of a state that a vendor wrote, message by message.
func FindParts(t *jsontape.Tape) (list []Part) {
	for m := range t.LookupAll(0, "messages", "*") {
		raw := t.Find(m, "raw")
		if t.Kind(raw) == jsontape.Object {
			list = appendRecord(list, t, m, raw)
		}
		for r := range t.LookupAll(raw, "*") {
			list = appendRecord(list, t, m, r)
		}
	}
	return list
}

// appendRecord appends the parts of a record, and the blocks of its message that repeat them.
func appendRecord(list []Part, t *jsontape.Tape, message, raw jsontape.Node) []Part {
	for i := range records {
		r := &records[i]
		if is := memberAt(t, raw, r.path); t.Kind(is) != jsontape.String || t.Text(is) != r.is {
			continue
		}
		before := len(list)
		if r.is == attachment {
			if list = appendContext(list, t, message, memberAt(t, raw, []string{attachment, "type"})); len(list) == before {
				return list
			}
		}
		for _, p := range r.parts {
			for n := range t.LookupAll(raw, p.path...) {
				list = appendPart(list, t, n, p.what)
			}
		}
		return appendCopies(list, before, t, message)
	}
	return list
}

// memberAt returns the node that keys lead to, or None.
func memberAt(t *jsontape.Tape, n jsontape.Node, path []string) jsontape.Node {
	for _, key := range path {
		n = t.Find(n, key)
	}
	return n
}

// appendPart appends a value, unless it is empty, or was left out before.
func appendPart(list []Part, t *jsontape.Tape, n jsontape.Node, what string) []Part {
	switch t.Kind(n) {
	case jsontape.String:
		if text := t.Text(n); text != "" && !isNotice(text) {
			return append(list, Part{n, what, text})
		}
	case jsontape.Array, jsontape.Object:
		return append(list, Part{n, what, string(t.Raw(n))})
	}
	return list
}

// appendContext appends the texts of a type of context in a message, unless they name what they are about.
func appendContext(list []Part, t *jsontape.Tape, message, is jsontape.Node) []Part {
	for b := range t.LookupAll(message, "content", "*") {
		context := t.Find(b, "context")
		of := t.Find(context, "type")
		if t.Kind(of) == jsontape.String && t.Kind(is) == jsontape.String && t.Text(of) == t.Text(is) && t.Find(context, "name") < 0 {
			list = appendPart(list, t, t.Find(context, "text"), Context)
		}
	}
	return list
}

// appendCopies appends the texts in the content of a message that stand among its parts, from one on.
func appendCopies(list []Part, from int, t *jsontape.Tape, message jsontape.Node) []Part {
	parts := list[from:]
	for b := range t.LookupAll(message, "content", "*") {
		text := t.Find(b, "text")
		for i := range parts {
			if t.Kind(text) == jsontape.String && t.Text(text) == parts[i].Text {
				list = append(list, Part{text, parts[i].What, parts[i].Text})
				break
			}
		}
	}
	return list
}

const noticeBegin, noticeEnd = "[the vendor's ", "; --with-prompts keeps it]"

// Notice returns the text that stands in the place of a part that is left out.
func (p *Part) Notice() string {
	return noticeBegin + p.What + ", " + string(model.AppendSize(nil, int64(len(p.Text)))) + ", left out" + noticeEnd
}

func isNotice(text string) bool {
	const most = 100
	return len(text) < most && strings.HasPrefix(text, noticeBegin) && strings.HasSuffix(text, noticeEnd)
}

// NoticeOf returns the notice that the last message of a state has in the place of all its words; "" where it has
// other words.
func NoticeOf(state []byte) (notice string) {
	t, err := jsontape.Parse(state)
	if err != nil {
		return ""
	}
	last := jsontape.None
	for m := range t.LookupAll(0, "messages", "*") {
		last = m
	}
	for b := range t.LookupAll(last, "content", "*") {
		text := t.Find(b, "text")
		if t.Kind(text) != jsontape.String || !isNotice(t.Text(text)) {
			return ""
		}
		notice = t.Text(text)
	}
	return notice
}

// Left counts what was left out.
type Left struct {
	// What is that of [Part], and Bytes the length of the different texts.
	What  string `json:"what"`
	Bytes int    `json:"bytes"`
}

// DescribeLeft lists the parts that were left out, with their sizes: "system prompt 15.2 kB, list of tools 3.9 kB".
func DescribeLeft(list []Left) string {
	var parts []string
	for _, of := range list {
		parts = append(parts, fmt.Sprintf("%s %s", of.What, model.AppendSize(nil, int64(of.Bytes))))
	}
	return strings.Join(parts, ", ")
}
