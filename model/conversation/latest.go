package conversation

import (
	"encoding/json"
	"slices"
	"strings"

	"hindcast/model/jsontape"
)

// LastPrompt returns the last words that a person typed to the model, on one line of up to limit bytes; "" without any.
func (c *Conversation) LastPrompt(limit int) string {
	for m := range c.backwards() {
		if c.messages[m].Role != User {
			continue
		}
		if _, by, around := c.typedText(m); around && by == Wrapped {
			continue // a program wrote it
		}
		if words := c.messageWords(m, limit); words != "" {
			return words
		}
	}
	return ""
}

// LastAnswer returns the last words of the model, on one line of up to limit bytes; "" without any.
func (c *Conversation) LastAnswer(limit int) string {
	for m := range c.backwards() {
		if c.messages[m].Role == Assistant && c.hasKind(m, Text) {
			if words := c.messageWords(m, limit); words != "" {
				return words
			}
		}
	}
	return ""
}

// backwards yields the numbers of the messages, the last first.
func (c *Conversation) backwards() func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for m := c.Len() - 1; m >= 0 && yield(m); m-- {
		}
	}
}

var (
	// writers are parts of the names of tools that write files.
	writers = []string{"edit", "write", "patch", "replace", "create", "insert"}
	// patchLines begin the lines of a patch that name a file.
	patchLines = []string{"*** Update File: ", "*** Add File: ", "*** Delete File: "}
)

// WrittenFiles returns the paths of up to n files that tools were called to write, the last first. They are untrusted.
func (c *Conversation) WrittenFiles(n int) (paths []string) {
	for i := len(c.blocks) - 1; i >= 0 && len(paths) < n; i-- {
		b := &c.blocks[i]
		if b.Kind != ToolCall || b.Body < 0 {
			continue
		}
		for _, path := range c.pathsOf(b) {
			if len(paths) < n && path != "" && !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// pathsOf returns the paths of the files that a tool call writes, the last first.
func (c *Conversation) pathsOf(call *Block) (paths []string) {
	input := c.tape.Raw(call.Body)
	if text := ""; c.tape.Kind(call.Body) == jsontape.String && json.Unmarshal(input, &text) == nil {
		input = []byte(text) // arguments as they are sent, or a patch
	}
	name := strings.ToLower(c.ToolName(call))
	if slices.ContainsFunc(writers, func(part string) bool { return strings.Contains(name, part) }) {
		for _, name := range PathNames {
			var path string
			if value := jsontape.FindMember(input, `"`+name+`"`); value != nil && json.Unmarshal(value, &path) == nil {
				return []string{path}
			}
		}
	}
	for line := range strings.Lines(strings.ReplaceAll(string(input), `\n`, "\n")) {
		for _, begin := range patchLines {
			if _, path, is := strings.Cut(line, begin); is {
				paths = append([]string{strings.TrimRight(path, "\r\n\"\\")}, paths...)
			}
		}
	}
	return paths
}
