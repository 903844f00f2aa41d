package filechange

import (
	"cmp"
	"strings"

	"hindcast/model/jsontape"
)

// Where the agents record what a call did
//
// A message in the state of a coding agent has the agent's own record under "raw", or a list of them. places has
// the paths of a call's result and of the call's id in a record, shapes the members of such a result that tell of a
// file. Sources: stores recorded with Claude Code 2.1.330, Codex 0.169 and 0.77, Gemini CLI 0.61, opencode 1.18,
// Copilot CLI 1.0, pi 0.74 and 1.6, OpenHands SDK 1.58, crush 0.10.

// place is a place in a record. A step "*" is each element of a list. ID is the path of the call's id beside the
// element, or from the record's beginning where there is no "*"; nil for a record of one result.
//
// With trims the agent leaves the white space out of its diffs that all lines of one begin with. With splits it
// compares texts that it split at the ends of lines: behind the last end is one more line, which is empty, and a last line
// without an end is not told as one.
type place struct {
	at, id        []string
	trims, splits bool
}

var places = []place{
	{at: []string{"toolUseResult"}},                                                        // Claude Code
	{at: []string{"payload", "item"}, id: []string{"payload", "item", "id"}},               // Codex: FileChange, CommandExecution
	{at: []string{"payload"}, id: []string{"payload", "call_id"}},                          // Codex: patch_apply_end, exec_command_end
	{at: []string{"toolCalls", "*", "resultDisplay"}, id: []string{"id"}},                  // Gemini CLI
	{at: []string{"parts", "*", "state", "metadata"}, id: []string{"callID"}, trims: true}, // opencode
	{at: []string{"data", "result"}, id: []string{"data", "toolCallId"}, splits: true},     // Copilot CLI
	{at: []string{"message", "details"}, id: []string{"message", "toolCallId"}},            // pi
	{at: []string{"observation"}, id: []string{"tool_call_id"}},                            // OpenHands
	{at: []string{"parts", "*", "data", "metadata"}, id: []string{"data", "tool_call_id"}}, // crush
	{at: []string{"parts", "*", "state", "time"}, id: []string{"callID"}},                  // opencode: how long
	{at: []string{"data", "shellExecution"}, id: []string{"data", "toolCallId"}},           // Copilot CLI: how it ended
	{at: []string{"payload", "output", "metadata"}, id: []string{"payload", "call_id"}},    // Codex to 0.118
}

// findResults calls found with each value in a record that tells of the result of a call.
func findResults(t *jsontape.Tape, record jsontape.Node, call string, alone bool, found func(n jsontape.Node, p *place)) {
	for i := range places {
		p := &places[i]
		for n, of := range t.LookupAll(record, p.at...) {
			if p.id == nil && alone || p.id != nil && textAt(t, of, p.id) == call {
				found(n, p)
			}
		}
	}
}

// textAt returns the string at a path, "" for anything else.
func textAt(t *jsontape.Tape, n jsontape.Node, path []string) string {
	for _, key := range path {
		n = t.Find(n, key)
	}
	return textOf(t, n)
}

func textOf(t *jsontape.Tape, n jsontape.Node) string {
	if t.Kind(n) != jsontape.String {
		return ""
	}
	return t.Text(n)
}

// reading reads the results of a call.
type reading struct {
	*jsontape.Tape
	// whole says that the whole texts are asked for.
	whole bool
	// path is the path that the input of the call names, or "", and asked the texts that it replaces.
	path  string
	asked []Replacement
	// written is the text that the input of the call writes, or nil.
	written *string
	*place
	// created says that there was no file before.
	created bool
	to      *Effect
}

// shapes read the changes of a result, the first that finds some.
var shapes = []func(r *reading, n jsontape.Node) bool{
	(*reading).readBash, (*reading).readStructured, (*reading).readChanges, (*reading).readFiles,
	(*reading).readTexts, (*reading).readDiff, (*reading).readNotebook,
}

// userRefused is Claude Code's record of a call that the person refused.
const userRefused = "User rejected tool use"

// readResult reads a result.
func (r *reading) readResult(n jsontape.Node) {
	if r.Kind(n) == jsontape.String { // JSON in a string
		text := []byte(r.Text(n))
		r.to.Refused = string(text) == userRefused
		if len(text) > 0 && text[0] == '{' {
			if inner, err := jsontape.Parse(text); err == nil {
				of := *r
				of.Tape = inner
				of.readResult(0)
			}
		}
		return
	}
	if r.Kind(n) != jsontape.Object {
		return
	}
	r.readEnd(n)
	r.created = r.created || r.Kind(r.Find(n, "exists")) == jsontape.False
	if len(r.to.Changes) > 0 {
		return
	}
	for _, read := range shapes {
		if read(r, n) {
			return
		}
	}
}

// readEnd reads how a command ended, and how long it took.
func (r *reading) readEnd(n jsontape.Node) {
	for _, key := range []string{"exit_code", "exitCode", "exit"} {
		if c := r.Find(n, key); r.Kind(c) == jsontape.Number {
			r.to.Exit = string(r.Raw(c))
		}
	}
	if r.Kind(r.Find(n, "stdout")) == jsontape.String && r.Kind(r.Find(n, "interrupted")) == jsontape.False &&
		r.Find(n, "returnCodeInterpretation") < 0 && r.Find(n, "backgroundTaskId") < 0 {
		r.to.Exit = "0" // of Claude Code: another one is an error, without such a record
	}
	number := func(n jsontape.Node, key string) (float64, bool) { return r.Float(r.Find(n, key)) }
	took := r.Find(n, "duration")
	switch secs, is := number(took, "secs"); {
	case is:
		nanos, _ := number(took, "nanos")
		r.to.Milliseconds = secs*1e3 + nanos/1e6
	default:
		for key, scale := range map[string]float64{"duration_ms": 1, "durationMs": 1, "duration_seconds": 1e3} {
			if took, is := number(n, key); is {
				r.to.Milliseconds = took * scale
			}
		}
		if from, is := number(n, "start"); is {
			if to, is := number(n, "end"); is && to >= from {
				r.to.Milliseconds = to - from
			}
		}
	}
}

// wholeText returns a string, or nil for any other value, and where whole texts are not asked for.
func (r *reading) wholeText(n jsontape.Node) *string {
	if !r.whole || r.Kind(n) != jsontape.String {
		return nil
	}
	text := r.Text(n)
	return &text
}

func (r *reading) add(c Change) { r.to.Changes = append(r.to.Changes, c) }

// readBash reads what Claude Code notes of a command: the hunks of some files, and the names of all.
func (r *reading) readBash(n jsontape.Node) bool {
	d := r.Find(n, "bashEditDiff")
	if r.Kind(d) != jsontape.Object {
		return false
	}
	told := map[string]bool{}
	eachOf(r.Tape, r.Find(d, "files"), func(f jsontape.Node) {
		c := Change{Path: textOf(r.Tape, r.Find(f, "filePath")), Hunks: HunksOf(r.Tape, r.Find(f, "hunks"))}
		switch {
		case r.Kind(r.Find(f, "created")) == jsontape.True:
			c.Kind = Created
		case r.Kind(r.Find(f, "deleted")) == jsontape.True:
			c.Kind = Deleted
		case len(c.Hunks) == 0:
			c.Known = NotRecorded
		}
		told[c.Path] = true
		r.add(c)
	})
	if r.to.Changes = JoinMoves(r.to.Changes); !r.whole {
		r.to.ForgetTexts()
	}
	more := intOf(r.Tape, r.Find(d, "moreFiles"))
	eachOf(r.Tape, r.Find(d, "changedFiles"), func(f jsontape.Node) {
		if path := textOf(r.Tape, f); path != "" && !told[path] {
			more--
			r.add(Change{Path: path, Known: NotRecorded})
		}
	})
	if more > 0 {
		r.add(Change{Known: NotRecorded, More: more})
	}
	return true
}

// eachOf calls do with each element of a list.
func eachOf(t *jsontape.Tape, list jsontape.Node, do func(jsontape.Node)) {
	if t.Kind(list) != jsontape.Array {
		return
	}
	for n := t.First(list); n >= 0; n = t.Next(n) {
		do(n)
	}
}

// readStructured reads what Claude Code notes of an edit and of a text that was written.
func (r *reading) readStructured(n jsontape.Node) bool {
	list, path := r.Find(n, "structuredPatch"), textOf(r.Tape, r.Find(n, "filePath"))
	if r.Kind(list) != jsontape.Array || path == "" {
		return false
	}
	before := max(r.Find(n, "originalFile"), r.Find(n, "originalFileContents"))
	content := r.Find(n, "content")
	c := Change{Path: path, Hunks: HunksOf(r.Tape, list), Before: r.wholeText(before), After: r.wholeText(content)}
	old, now := r.Find(n, "oldString"), r.Find(n, "newString")
	switch {
	case textOf(r.Tape, r.Find(n, "type")) == "create",
		r.Kind(before) != jsontape.String && r.Kind(old) == jsontape.String && textOf(r.Tape, old) == "" && len(c.Hunks) <= 1 && r.startsEmpty(c.Hunks):
		c.Kind, c.Before = Created, nil
		if text := textOf(r.Tape, content); len(c.Hunks) == 0 && text != "" {
			c.Hunks = Compare("", text)
		}
	case len(c.Hunks) == 0:
		return true // it is as it was
	}
	if c.hasIndent() {
		r.restoreTabs(&c, before, content, old, now)
	}
	r.add(c)
	return true
}

// startsEmpty reports whether hunks have no line of the text before.
func (r *reading) startsEmpty(hunks []Hunk) bool {
	for i := range hunks {
		if before, _ := hunks[i].Size(); before > 0 {
			return false
		}
	}
	return len(hunks) > 0
}

// hasIndent reports whether a line may have had a tab in place of two spaces.
func (c *Change) hasIndent() bool {
	for i := range c.Hunks {
		for _, line := range c.Hunks[i].Lines {
			if len(line) > 2 && line[1:3] == "  " {
				return true
			}
		}
	}
	return false
}

// restoreTabs puts back the tabs at the beginning of lines, where Claude Code writes two spaces into a
// patch: from the text before and the texts of the call, as far as these are recorded.
func (r *reading) restoreTabs(c *Change, before, content, old, now jsontape.Node) {
	has := func(n jsontape.Node) bool {
		return r.Kind(n) == jsontape.String && strings.Contains(string(r.Raw(n)), `\t`)
	}
	var lines, after []string
	if r.Kind(before) == jsontape.String {
		if !has(before) && !has(content) && !has(now) {
			return
		}
		text := r.Text(before)
		lines = splitLines(text)
		switch {
		case r.Kind(content) == jsontape.String:
			after = splitLines(r.Text(content))
		case r.Kind(old) == jsontape.String && textOf(r.Tape, old) != "":
			n := 1
			if r.Kind(r.Find(r.Parent(old), "replaceAll")) == jsontape.True {
				n = -1
			}
			after = splitLines(strings.Replace(text, textOf(r.Tape, old), textOf(r.Tape, now), n))
		}
	}
	if lines == nil {
		if c.Spelling = MaybeSpaces; r.Kind(old) == jsontape.String && textOf(r.Tape, old) != "" {
			c.Replaced = []Replacement{{textOf(r.Tape, old), textOf(r.Tape, now), r.Kind(r.Find(r.Parent(old), "replaceAll")) == jsontape.True}}
		}
	}
	spelled := map[string]string{} // by how it stands in the patch
	for _, node := range []jsontape.Node{now, content, old} {
		if has(node) {
			if lines == nil {
				c.Spelling = Spaces
			}
			for _, line := range splitLines(r.Text(node)) {
				line = strings.TrimSuffix(line, "\n")
				spelled[spellTabs(line)] = line
			}
		}
	}
	for i := range c.Hunks {
		h := &c.Hunks[i]
		x, y := h.Old-1, h.New-1
		for k, line := range h.Lines {
			sign := line[:min(len(line), 1)]
			from, at := lines, x
			if sign == "+" {
				from, at = after, y
			}
			words := line[len(sign):]
			exact, known := spelled[words]
			if at >= 0 && at < len(from) {
				if line := strings.TrimSuffix(from[at], "\n"); spellTabs(line) == words {
					exact, known = line, true
				}
			}
			if known && sign != `\` && sign != "" {
				h.Lines[k] = sign + exact
			}
			switch sign {
			case "+":
				y++
			case "-":
				x++
			case `\`:
			default:
				x, y = x+1, y+1
			}
		}
	}
}

// readChanges reads the changes of a patch that Codex applied: by their paths, and the kind of each in a type, or as
// the key of an object.
func (r *reading) readChanges(n jsontape.Node) bool {
	list := r.Find(n, "changes")
	if r.Kind(list) != jsontape.Object {
		return false
	}
	if status := textOf(r.Tape, r.Find(n, "status")); status == "failed" || status == "declined" || r.Kind(r.Find(n, "success")) == jsontape.False {
		r.to.Failed = true
		return true
	}
	for f := r.First(list); f >= 0; f = r.Next(f) {
		is, of := textOf(r.Tape, r.Find(f, "type")), f
		if is == "" && r.Kind(f) == jsontape.Object && r.First(f) >= 0 {
			is, of = r.Key(r.First(f)), r.First(f)
		}
		c := Change{Path: r.Key(f)}
		content := r.Find(of, "content")
		switch is {
		case "add":
			c.Kind, c.Hunks, c.After = Created, Compare("", textOf(r.Tape, content)), r.wholeText(content)
		case "delete":
			c.Kind, c.Hunks, c.Before = Deleted, Compare(textOf(r.Tape, content), ""), r.wholeText(content)
			if r.Kind(content) != jsontape.String {
				c.Known = NotRecorded
			}
		default:
			for _, one := range ParseUnified(textOf(r.Tape, r.Find(of, "unified_diff"))) {
				c.Hunks = append(c.Hunks, one.Hunks...)
			}
			if to := textOf(r.Tape, r.Find(of, "move_path")); to != "" && to != c.Path {
				c.Kind, c.From, c.Path = Moved, c.Path, to
			}
			if len(c.Hunks) == 0 && c.Kind != Moved {
				c.Known = NotRecorded
			}
		}
		r.add(c)
	}
	return true
}

// readFiles reads the files of a patch that opencode applied.
func (r *reading) readFiles(n jsontape.Node) bool {
	list := r.Find(n, "files")
	some := false
	eachOf(r.Tape, list, func(f jsontape.Node) {
		path := cmp.Or(textOf(r.Tape, r.Find(f, "filePath")), textOf(r.Tape, r.Find(f, "file")))
		if r.Kind(f) != jsontape.Object || path == "" {
			return
		}
		some = true
		r.readTwoTexts(f, path, r.Find(f, "before"), r.Find(f, "after"), cmp.Or(textOf(r.Tape, r.Find(f, "patch")), textOf(r.Tape, r.Find(f, "diff"))))
		c := &r.to.Changes[len(r.to.Changes)-1]
		switch textOf(r.Tape, r.Find(f, "type")) {
		case "add":
			c.Kind = Created
		case "delete":
			c.Kind = Deleted
		case "move":
			if to := textOf(r.Tape, r.Find(f, "movePath")); to != "" {
				c.Kind, c.From, c.Path = Moved, path, to
			}
		}
	})
	return some
}

// readTwoTexts adds a change by the texts before and after it, or else by a patch.
func (r *reading) readTwoTexts(n jsontape.Node, path string, before, after jsontape.Node, patch string) {
	c := Change{Path: path, Before: r.wholeText(before), After: r.wholeText(after)}
	switch {
	case r.Kind(before) == jsontape.String && r.Kind(after) == jsontape.String:
		c.Hunks = Compare(r.Text(before), r.Text(after))
	case patch != "":
		for _, one := range ParseUnified(patch) {
			c.Hunks = append(c.Hunks, one.Hunks...)
			if one.Kind == Created || one.Kind == Deleted {
				c.Kind = one.Kind
			}
		}
		r.indent(&c)
	case r.Kind(after) == jsontape.String:
		c.Hunks = Compare(textOf(r.Tape, before), r.Text(after))
	default:
		c.Known = NotRecorded
	}
	if r.Kind(r.Find(n, "isNewFile")) == jsontape.True || r.Kind(r.Find(n, "prev_exist")) == jsontape.False || r.Kind(after) == jsontape.String && (before < 0 || r.Kind(before) == jsontape.Null) && patch == "" {
		c.Kind, c.Before = Created, nil
	}
	r.add(c)
}

// readTexts reads the texts before and after of Gemini CLI, opencode, OpenHands and crush.
func (r *reading) readTexts(n jsontape.Node) bool {
	if d := r.Find(n, "filediff"); r.Kind(d) == jsontape.Object {
		n = d
	}
	for _, keys := range [][4]string{
		{"filePath", "originalContent", "newContent", "fileDiff"}, {"fileName", "originalContent", "newContent", "fileDiff"},
		{"file", "before", "after", "patch"}, {"path", "old_content", "new_content", ""}, {"", "old_content", "new_content", ""},
	} {
		path, before, after := r.path, r.Find(n, keys[1]), r.Find(n, keys[2])
		if keys[0] != "" {
			path = textOf(r.Tape, r.Find(n, keys[0]))
		}
		patch := ""
		if keys[3] != "" {
			patch = textOf(r.Tape, r.Find(n, keys[3]))
		}
		if path == "" || r.Kind(after) != jsontape.String && patch == "" {
			continue
		}
		if r.Kind(before) == jsontape.String && r.Kind(after) == jsontape.String && r.Text(before) == r.Text(after) {
			return true // a file that was only looked at
		}
		r.readTwoTexts(n, path, before, after, patch)
		return true
	}
	return false
}

// readDiff reads a unified diff of opencode, Copilot CLI, pi and crush.
func (r *reading) readDiff(n jsontape.Node) bool {
	for _, key := range []string{"patch", "diff", "detailedContent"} {
		list := ParseUnified(textOf(r.Tape, r.Find(n, key)))
		some := false
		for _, c := range list {
			if c.Path = cmp.Or(c.Path, r.path); len(list) == 1 && r.path != "" {
				c.Path = r.path // the names in a diff may be relative, or without their first slash
			}
			if c.Path == "" || len(c.Hunks) == 0 {
				continue
			}
			r.indent(&c)
			r.joinLines(&c)
			r.add(c)
			some = true
		}
		if some {
			return true
		}
	}
	return false
}

// joinLines ends the last lines of a change, which an agent that splits texts at line ends leaves without.
func (r *reading) joinLines(c *Change) {
	if !r.splits || len(c.Hunks) == 0 {
		return
	}
	if c.Kind == Created {
		if r.written != nil {
			c.Hunks = Compare("", *r.written)
		}
		return
	}
	last := len(c.Hunks) - 1
	h := c.Hunks[last]
	after := 0 // lines behind the last one that changes
	for after < len(h.Lines) && strings.HasPrefix(h.Lines[len(h.Lines)-1-after], " ") {
		after++
	}
	if after >= contextSize { // the file may end here, or go on
		if h.Lines[len(h.Lines)-1] == " " {
			c.Hunks[last].Lines = h.Lines[:len(h.Lines)-1]
		}
		return
	}
	var old, now []string
	for _, line := range h.Lines {
		sign, text := line[:min(len(line), 1)], line[min(len(line), 1):]
		if sign != "+" {
			old = append(old, text)
		}
		if sign != "-" {
			now = append(now, text)
		}
	}
	c.Hunks = c.Hunks[:last]
	for _, of := range Compare(strings.Join(old, "\n"), strings.Join(now, "\n")) {
		of.Old, of.New = of.Old+h.Old-1, of.New+h.New-1
		c.Hunks = append(c.Hunks, of)
	}
}

// indent puts the white space before the lines of a change that the agent left out, where the texts of the call have a
// line whole: one behind their first.
func (r *reading) indent(c *Change) {
	if !r.trims {
		return
	}
	c.Spelling, c.Replaced = Unindented, r.asked
	lines := map[string]bool{} // without their white space
	for _, h := range c.Hunks {
		for _, line := range h.Lines {
			lines[line[min(len(line), 1):]] = true
		}
	}
	for _, asked := range r.asked {
		for _, text := range []string{asked.New, asked.Old} {
			whole := splitLines(text)
			for i := 1; i < len(whole)-1; i++ {
				line := strings.TrimSuffix(whole[i], "\n")
				bare := strings.TrimLeft(line, " \t")
				for cut := 0; bare != "" && cut <= len(line)-len(bare); cut++ {
					if lines[line[cut:]] {
						c.Spelling = Exact
						c.prefixLines(line[:cut])
						return
					}
				}
			}
		}
	}
}

// prefixLines puts white space before each line that is not empty.
func (c *Change) prefixLines(space string) {
	for i := range c.Hunks {
		for k, line := range c.Hunks[i].Lines {
			if len(line) > 1 && line[0] != '\\' {
				c.Hunks[i].Lines[k] = line[:1] + space + line[1:]
			}
		}
	}
}

// readNotebook reads what Claude Code notes of a cell that was edited.
func (r *reading) readNotebook(n jsontape.Node) bool {
	path, before, after := textOf(r.Tape, r.Find(n, "notebook_path")), r.Find(n, "original_file"), r.Find(n, "updated_file")
	if path == "" || r.Kind(after) != jsontape.String {
		return false
	}
	r.readTwoTexts(n, path, before, after, "")
	return true
}
