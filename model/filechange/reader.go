package filechange

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
)

// Reader reads the effects of calls from the messages of a session, in their order. The zero value is ready.
type Reader struct {
	// Whole has the texts before and after a change read, where they are recorded.
	Whole bool

	calls map[string]*Effect // without a result yet
}

// Read reads a message, and returns the effects of the calls whose results it has, where they ran a command or
// changed files. A call without a result has no effect yet.
func (r *Reader) Read(c *conversation.Conversation, m int) (list []Effect) {
	t, blocks := c.Tape(), c.Blocks(m)
	raw := t.Find(c.Message(m).Node, "raw")
	results := 0
	for i := range blocks {
		if blocks[i].Kind == conversation.ToolResult {
			results++
		}
	}
	for i := range blocks {
		b := &blocks[i]
		id := textOf(t, b.ID)
		switch b.Kind {
		case conversation.ToolCall:
			e := r.readCall(t, b)
			r.readRecords(t, raw, id, false, e)
			if r.calls == nil {
				r.calls = map[string]*Effect{}
			}
			r.calls[id] = e
		case conversation.ToolResult:
			e := r.calls[id]
			if e == nil {
				e = &Effect{ID: id, Tool: textOf(t, b.Name), Milliseconds: -1}
			}
			delete(r.calls, id)
			r.readRecords(t, raw, id, results == 1, e)
			if r.finish(t, b, e); e.Command != "" || len(e.Changes) > 0 {
				list = append(list, *e)
			}
		case conversation.Text:
			if c.Message(m).Role == conversation.Assistant {
				if e := readBlocks(t, b.Body, appliedIn(t, blocks[i+1:])); len(e.Changes) > 0 {
					list = append(list, e)
				}
			}
		}
	}
	return list
}

// finish completes the effect of a call by its result.
func (r *Reader) finish(t *jsontape.Tape, b *conversation.Block, e *Effect) {
	var y conversation.Yield
	if b.Body >= 0 && (e.Command != "" || slices.ContainsFunc(e.Changes, func(c Change) bool { return c.Known == Inferred })) {
		y = conversation.ReadYield(t.Raw(b.Body)) // of a recorded change the text tells nothing more
	}
	e.Failed = e.Failed || b.Status == conversation.Failed || y.Failed
	if e.Command != "" {
		e.Exit = cmp.Or(e.Exit, y.Exit)
		e.Failed = e.Failed || e.Exit != "" && e.Exit != "0"
	}
	kept := e.Changes[:0]
	for _, c := range e.Changes {
		if !e.Failed || c.Known != Inferred { // a call that failed did not do what it asks for
			kept = append(kept, c)
		}
	}
	e.Changes = kept
}

// readRecords reads what the agent's records beside a message tell of a call. Then nothing is inferred from its
// input.
func (r *Reader) readRecords(t *jsontape.Tape, raw jsontape.Node, id string, alone bool, e *Effect) {
	if raw < 0 {
		return
	}
	of := reading{Tape: t, whole: r.Whole, to: &Effect{Milliseconds: e.Milliseconds, Exit: e.Exit}}
	if len(e.Changes) > 0 {
		of.path, of.asked, of.written = e.Changes[0].Path, e.Changes[0].Replaced, e.Changes[0].After
	}
	take := func(n jsontape.Node, at *place) {
		of.place = at
		of.readResult(n)
	}
	if t.Kind(raw) == jsontape.Array {
		for n := t.First(raw); n >= 0; n = t.Next(n) {
			findResults(t, n, id, alone, take)
		}
	} else {
		findResults(t, raw, id, alone, take)
	}
	e.Milliseconds, e.Exit, e.Failed = of.to.Milliseconds, of.to.Exit, e.Failed || of.to.Failed
	e.Refused = e.Refused || of.to.Refused
	if len(of.to.Changes) > 0 {
		e.Changes = of.to.Changes
	} else if of.created && len(e.Changes) == 1 {
		e.Changes[0].create()
	}
}

// writers are the words in the names of tools of programs that write a text into a file.
var writers = []string{"write", "create", "save", "edit", "replace", "update", "patch", "put"}

// readCall reads what the input of a call asks for. Its changes are inferred.
func (r *Reader) readCall(t *jsontape.Tape, b *conversation.Block) *Effect {
	e := &Effect{ID: textOf(t, b.ID), Tool: textOf(t, b.Name), Milliseconds: -1}
	n := b.Body
	if n < 0 {
		return e
	}
	act := conversation.NewAct(e.Tool, t.Raw(n))
	e.Text = act.Text
	if t.Kind(n) == jsontape.String { // JSON in a string, or a patch alone
		text := t.Text(n)
		inner, err := jsontape.Parse([]byte(text))
		if err != nil || inner.Kind(0) != jsontape.Object {
			e.addPatch(text)
			return e
		}
		t, n = inner, 0
	}
	if t.Kind(n) != jsontape.Object {
		return e
	}
	if act.Verb.IsCommand() {
		e.Command = commandOf(t, n)
	}
	for _, key := range []string{"input", "patch", "patchText", "patch_text", "diff", "command", "cmd", "script"} {
		if e.addPatch(commandText(t, t.Find(n, key))) {
			return e
		}
	}
	lower := strings.ToLower(e.Tool)
	writes := act.Verb.Writes() || act.Verb == 0 && hasWord(lower, writers)
	if path := firstText(t, n, conversation.PathNames); path != "" && writes {
		r.readEdit(t, n, path, e)
	}
	return e
}

// hasWord reports whether a name has one of the words.
func hasWord(name string, words []string) bool {
	for _, word := range words {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// CommandOf returns the command that a call runs, by its input as JSON; "" where the input names none.
func CommandOf(input []byte) string {
	t, err := jsontape.Parse(input)
	switch {
	case err != nil:
		return ""
	case t.Kind(0) == jsontape.String:
		return t.Text(0)
	}
	return commandOf(t, 0)
}

// commandOf returns the command that a call runs.
func commandOf(t *jsontape.Tape, n jsontape.Node) string {
	for _, key := range append(conversation.CommandNames[:len(conversation.CommandNames):len(conversation.CommandNames)], "input") {
		if text := commandText(t, t.Find(n, key)); text != "" {
			return text
		}
	}
	return ""
}

// commandText returns a command: a string, or the strings of a list. A script that a shell is given alone is itself.
func commandText(t *jsontape.Tape, n jsontape.Node) string {
	if n < 0 {
		return ""
	}
	var words []string
	eachOf(t, n, func(word jsontape.Node) { words = append(words, textOf(t, word)) })
	if len(words) == 3 && (words[1] == "-lc" || words[1] == "-c") {
		return words[2]
	}
	if words != nil {
		return strings.Join(words, " ")
	}
	return textOf(t, n)
}

// firstText returns the first string member with one of the names, or "".
func firstText(t *jsontape.Tape, n jsontape.Node, names []string) string {
	for _, name := range names {
		if text := textOf(t, t.Find(n, name)); text != "" {
			return text
		}
	}
	return ""
}

// addPatch adds the changes of a patch that stands in a text, and reports whether there is one.
func (e *Effect) addPatch(text string) bool {
	var list []Change
	switch {
	case strings.Contains(text, conversation.PatchBegin):
		list = ParsePatch(text)
	case strings.Contains(text, "\n@@ -") && strings.Contains(text, "\n+++ "):
		list = ParseUnified(text)
	}
	for _, c := range list {
		c.Known = Inferred
		e.Changes = append(e.Changes, c)
	}
	return len(list) > 0
}

// readEdit reads the input of a call that edits or writes a file.
func (r *Reader) readEdit(t *jsontape.Tape, n jsontape.Node, path string, e *Effect) {
	c := Change{Path: path, Known: Inferred}
	if textOf(t, t.Find(n, "command")) == "view" {
		return
	}
	r.addReplacement(t, n, &c)
	eachOf(t, t.Find(n, "edits"), func(edit jsontape.Node) { r.addReplacement(t, edit, &c) })
	if len(c.Replaced) == 0 && c.After == nil {
		for _, key := range []string{"content", "file_text", "contents", "text", "new_source"} {
			if at := t.Find(n, key); t.Kind(at) == jsontape.String {
				text := t.Text(at)
				if key != "new_source" && textOf(t, t.Find(n, "command")) != "insert" {
					c.After = &text
				}
				c.Hunks = []Hunk{{Old: -1, New: -1, Lines: signLines(nil, "+", text)}}
				break
			}
		}
	}
	if c.Replaced != nil || c.Hunks != nil {
		e.Changes = append(e.Changes, c)
	}
}

// addReplacement adds the texts of an edit. An edit without an old text inserts, or writes, the new one.
func (r *Reader) addReplacement(t *jsontape.Tape, n jsontape.Node, c *Change) {
	find := func(names []string) (string, bool) {
		for _, name := range names {
			if at := t.Find(n, name); t.Kind(at) == jsontape.String {
				return t.Text(at), true
			}
		}
		return "", false
	}
	old, from := find(conversation.OldNames)
	now, to := find(conversation.NewNames)
	if !to || !from && t.Find(n, "insert_line") < 0 {
		return
	}
	if from && old == "" && t.Find(n, "insert_line") < 0 { // there was no file
		c.After, c.Hunks = &now, Compare("", now)
		c.create()
		return
	}
	all := t.Kind(max(t.Find(n, "replace_all"), t.Find(n, "replaceAll"), t.Find(n, "allow_multiple"))) == jsontape.True
	c.addReplacement(Replacement{old, now, all})
}

// create says of an inferred change that there was no file before.
func (c *Change) create() {
	if c.Kind = Created; c.After != nil {
		c.Hunks = Compare("", *c.After)
	}
}

// addReplacement adds a text in place of another, and the lines that differ.
func (c *Change) addReplacement(r Replacement) {
	c.Replaced = append(c.Replaced, r)
	for _, h := range Compare(endLine(r.Old), endLine(r.New)) {
		c.Hunks = append(c.Hunks, Hunk{Old: -1, New: -1, Lines: h.Lines})
	}
}

// endLine returns a text whose last line has an end: a part of a line is told as a line.
func endLine(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// The lines of aider's blocks.
const (
	searchLine, dividerLine, replaceLine = "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE"
)

// searchWord stands in each spelling of a searchLine: some writers of JSON escape its signs.
var searchWord = []byte(" SEARCH")

// appliedIn returns whether aider says behind an answer that it wrote the blocks of a file. It is true of any file where it
// says nothing.
func appliedIn(t *jsontape.Tape, behind []conversation.Block) func(path string) bool {
	k := slices.IndexFunc(behind, func(b conversation.Block) bool { return b.Kind == conversation.JSON })
	if k < 0 {
		return func(string) bool { return true }
	}
	said := "\n" + textOf(t, behind[k].Body) + "\n"
	return func(path string) bool { return strings.Contains(said, "\nApplied edit to "+path+"\n") }
}

// readBlocks reads the blocks of aider in the text of an answer:
//
//	src/a.py
//	```python
//	<<<<<<< SEARCH
//	old
//	=======
//	new
//	>>>>>>> REPLACE
//	```
//
// applied reports whether it wrote the blocks of a file.
func readBlocks(t *jsontape.Tape, n jsontape.Node, applied func(path string) bool) Effect {
	e := Effect{Tool: "SEARCH/REPLACE", Milliseconds: -1}
	if t.Kind(n) != jsontape.String || !bytes.Contains(t.Raw(n), searchWord) {
		return e
	}
	var old, now strings.Builder
	var into *strings.Builder
	path, last := "", "" // last is the line before a fence
	for line := range strings.Lines(t.Text(n)) {
		bare := strings.TrimRight(line, "\r\n ")
		switch {
		case bare == searchLine:
			path = cmp.Or(last, path)
			old.Reset()
			now.Reset()
			into = &old
		case bare == dividerLine && into == &old:
			into = &now
		case bare == replaceLine && into == &now:
			if into = nil; path == "" || !applied(path) {
				continue
			}
			c := Change{Path: path, Known: Inferred}
			if old.Len() == 0 {
				text := now.String()
				c.Kind, c.After = Created, &text
				c.Hunks = Compare("", text)
			} else {
				c.addReplacement(Replacement{Old: old.String(), New: now.String()})
			}
			e.Changes = append(e.Changes, c)
			last = ""
		case into != nil:
			into.WriteString(line)
		case !strings.HasPrefix(bare, "```"):
			last = strings.Trim(bare, "`* ")
		}
	}
	return e
}
